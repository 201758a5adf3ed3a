// Help for a camera that does not work, with every other way that the picture allows.
import * as app from "../app.js";
import { actions, announce, button, h, heading, hero, lead } from "../dom.js";
import { track } from "../events.js";
import { t } from "../i18n.js";
import * as router from "../router.js";

export const isTouch = () => matchMedia("(pointer: coarse)").matches;

/** The ways with a file. `photo` is from the phone's own camera app, which works even if pages may not use the camera.
 * @typedef {{photo: {input: Node, open: () => void}, file: {input: Node, open: () => void} | null, problem: Node}} Files */

/**
 * @param {import("../flow.js").Side} side
 * @param {string} code
 * @param {string | null} inApp
 * @param {Files | null} files null: the picture must be live
 * @returns {router.Screen}
 */
export function trouble(side, code, inApp, files) {
  const isPhone = isTouch();
  const isSecond = files !== null && isPhone && code !== "permission_denied";
  const again = button(isSecond ? "secondary" : "primary", t("page.retry"), async () => {
    track("camera", "retried");
    const { cameraSupport } = await import("../capture/camera.js");
    const { ok } = await cameraSupport();
    if (ok) router.show(side, { part: "camera" });
    else announce(t(`trouble.${code}.title`));
  });
  const isHopeless = ["insecure", "unsupported", "in_app_browser"].includes(code);
  const elsewhere =
    inApp !== null && !app.facts().claimed ? button("secondary", t("trouble.otherbrowser"), () => router.show("device", { part: "link", params: { from: side } }), "link")
    : isPhone && files !== null ? null
    : otherDevice(side, files === null && isHopeless);
  return {
    body: [
      hero("camera", "wait"),
      heading(t(`trouble.${code}.title`)),
      lead(t(`trouble.${code}.body`, { app: inApp && inApp !== "WebView" ? inApp : t("trouble.in_app_browser.app") })),
      code === "permission_denied" ? h("div", { class: "panel" }, h("h2", { class: "small" }, t("trouble.help.title")), h("p", null, t(`trouble.help.${browser()}`))) : null,
      files?.problem ?? null,
      actions(
        files && isPhone ? button(code === "permission_denied" ? "secondary" : "primary", t("picture.useapp"), files.photo.open, "camera") : null,
        isHopeless ? null : again,
        elsewhere,
        files?.file ? button("plain", t("picture.usefile"), files.file.open) : null,
      ),
      files?.file?.input ?? null,
      files?.photo.input ?? null,
    ],
  };
}

/** The button to continue on another device. @param {import("../flow.js").Side} side @param {boolean} [isFirst] */
export const otherDevice = (side, isFirst = false) =>
  button(isFirst ? "primary" : "secondary", t("trouble.otherdevice"), () => router.show("device", { params: { from: side } }), "phone");

/** The browser whose instructions apply. */
function browser() {
  const agent = navigator.userAgent;
  if (/iPhone|iPad/.test(agent) || (/Macintosh/.test(agent) && isTouch())) return "ios";
  if (/Android/.test(agent)) return "android";
  if (/Firefox\//.test(agent)) return "firefox";
  return /Chrome\//.test(agent) ? "chrome" : "safari";
}
