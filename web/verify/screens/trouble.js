// Help for a camera that does not work, with every other way that the picture allows.
import * as app from "../app.js";
import { actions, announce, button, h, heading, hero, lead } from "../dom.js";
import { track } from "../events.js";
import { t } from "../i18n.js";
import * as router from "../router.js";
import { cameraHelp, watchPermission } from "./camera-help.js";

export const isTouch = () => matchMedia("(pointer: coarse)").matches;

/** Causes that no new request can remove. */
const HOPELESS = ["insecure", "unsupported", "in_app_browser", "embedded"];
/** Whether the page's developer was told that the page around it does not permit the camera. */
let isReported = false;

/** The ways with a file. `photo` is from the phone's own camera app, which works even if pages may not use the camera.
 * @typedef {{photo: {input: Node, open: () => void}, file: {input: Node, open: () => void} | null, problem: Node}} Files */

/**
 * @param {import("../flow.js").Side} side
 * @param {string} reason why there is no picture
 * @param {Files | null} files null: the picture must be live
 * @returns {Promise<router.Screen>}
 */
export async function trouble(side, reason, files) {
  const { blocksCamera, cameraSupport, inAppBrowser } = await import("../capture/camera.js");
  const inApp = inAppBrowser(navigator.userAgent);
  // Such an app has no place where the person could allow the camera.
  const code = reason === "permission_denied" && blocksCamera(navigator.userAgent) ? "in_app_browser" : reason;
  const isDenied = code === "permission_denied";
  const isHopeless = HOPELESS.includes(code);
  const isPhone = isTouch();
  const openCamera = () => router.show(side, { part: "camera" });
  const again = button(files !== null && isPhone && !isDenied ? "secondary" : "primary", t("page.retry"), async () => {
    track("camera", "retried");
    const { ok } = await cameraSupport();
    if (ok) openCamera();
    else announce(t(`trouble.${code}.title`));
  });
  // Some browsers do not tell whether the website around refused the camera. In a window of its own, the page has it.
  const needsOwnWindow = inApp !== null || code === "embedded" || (isDenied && window.parent !== window);
  const elsewhere =
    needsOwnWindow && !app.facts().claimed ? button(isHopeless && files === null ? "primary" : "secondary", t("trouble.otherbrowser"), () => router.show("device", { part: "link", params: { from: side } }), "link")
    : isPhone && files !== null ? null
    : otherDevice(side, isHopeless && (files === null || code === "embedded"));
  if (code === "embedded") reportEmbedding();
  let unwatch = () => {};
  return {
    body: [
      hero("camera", "wait"),
      heading(t(`trouble.${code}.title`)),
      isDenied ? cameraHelp(inApp) : lead(t(`trouble.${code}.body`, { app: inApp && inApp !== "WebView" ? inApp : t("trouble.in_app_browser.app") })),
      files?.problem ?? null,
      actions(
        isDenied ? again : null,
        files && isPhone ? button(isDenied ? "secondary" : "primary", t("picture.useapp"), files.photo.open, "camera") : null,
        isDenied || isHopeless ? null : again,
        elsewhere,
        files?.file ? button("plain", t("picture.usefile"), files.file.open) : null,
      ),
      files?.file?.input ?? null,
      files?.photo.input ?? null,
    ],
    shown: () => {
      if (isDenied) unwatch = watchPermission(openCamera);
    },
    cleanup: () => unwatch(),
  };
}

/** Whether the person or the page around this one refused the camera. @param {string} code */
export const isRefusal = (code) => code === "permission_denied" || code === "embedded";

/** Records why no camera can be requested. @param {string | null} reason */
export const trackSupport = (reason) => track("camera", reason === "embedded" ? "denied" : "failed", reason ?? undefined);

/** The button to continue on another device. @param {import("../flow.js").Side} side @param {boolean} [isFirst] */
export const otherDevice = (side, isFirst = false) =>
  button(isFirst ? "primary" : "secondary", t("trouble.otherdevice"), () => router.show("device", { params: { from: side } }), "phone");

/** Names the fix for the developer of the page around this one. */
function reportEmbedding() {
  if (isReported) return;
  isReported = true;
  const { origin } = location;
  console.error(
    `Bonafide: the page around this one does not permit the camera. Give the iframe the attribute allow="camera", and if that page sends a Permissions-Policy, add camera=(self "${origin}")`,
  );
}
