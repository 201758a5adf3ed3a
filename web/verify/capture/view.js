/** The elements of the live view and their states. index.js decides which state to show. It loads the view's stylesheet. */

import { h, moveNotices } from "../dom.js";
import { frameIn } from "./geometry.js";
import { STEADY } from "./guidance.js";

/** @import { Rect } from "./measures.js" */
/** @import { Subject } from "./problems.js" */

/** @typedef {(key: string, params?: Record<string, string|number>) => string} Translate */

const style = document.createElement("link");
style.rel = "stylesheet";
style.href = new URL("./capture.css", import.meta.url).href;
document.head.append(style);

export const ICONS = {
  close: "M6 6l12 12M18 6 6 18",
  light: "M13 2.5 5.5 13.5h5.500L10 21.5 18.5 10H12.500z",
  flip: "M4 10a8 8 0 0 1 14-3.500M20 14a8 8 0 0 1-14 3.500M18.5 3v4h-4M5.5 21v-4h4",
  turn: "M7 8.500h10a2 2 0 0 1 2 2v7a2 2 0 0 1-2 2H7a2 2 0 0 1-2-2v-7a2 2 0 0 1 2-2M12 2.500l3 2.5-3 2.5",
  sound: "M4 9.500v5h3.500l4.500 4v-13l-4.500 4zM15.5 9a4.500 4.500 0 0 1 0 6M18 6.500a8 8 0 0 1 0 11",
  file: "M13.5 2.500H7A2.5 2.5 0 0 0 4.5 5v14A2.5 2.5 0 0 0 7 21.500h10a2.5 2.5 0 0 0 2.5-2.500V8.500zM13.5 2.500v6h6M12 18v-5.500M9.5 14.800l2.5-2.5 2.5 2.5",
};

/** @param {string} path @param {string} [className] */
export function drawing(path, className = "capture-icon") {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const line = document.createElementNS("http://www.w3.org/2000/svg", "path");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("class", className);
  svg.setAttribute("aria-hidden", "true");
  line.setAttribute("d", path);
  svg.append(line);
  return svg;
}

/** The ring around the shutter, which fills while there is no problem. Its length is 100. */
function ring() {
  const svg = drawing("M32 2.500a29.5 29.5 0 1 1 0 59a29.5 29.5 0 1 1 0-59", "capture-ring");
  svg.setAttribute("viewBox", "0 0 64 64");
  svg.firstElementChild?.setAttribute("pathLength", "100");
  return svg;
}

/** The video element of a live view. */
export function liveVideo() {
  const video = h("video", { class: "capture-video", playsinline: true, muted: true, autoplay: true, "aria-hidden": "true", tabindex: "-1", disablepictureinpicture: true });
  video.muted = true; // The attribute alone does not mute an element made by script.
  return video;
}

/** A round button with an icon. @param {keyof typeof ICONS} icon @param {string} label @param {() => void} onclick */
export const tool = (icon, label, onclick) => h("button", { class: "capture-tool", type: "button", "aria-label": label, title: label, onclick }, drawing(ICONS[icon]));

/**
 * Hides the elements behind a view from the keyboard, and shows the notices in the view.
 * @param {HTMLElement} host
 * @param {HTMLElement} notices the place of the notices in the view
 * @returns {() => void} undoes it
 */
export function coverPage(host, notices) {
  const covered = [...document.body.children].filter(
    (element) => !element.contains(host) && !element.matches("script, [aria-live]") && !element.hasAttribute("inert"),
  );
  for (const element of covered) element.setAttribute("inert", "");
  const moveBack = moveNotices(notices);
  return () => {
    moveBack();
    for (const element of covered) element.removeAttribute("inert");
  };
}

/**
 * @param {HTMLElement} host
 * @param {Subject} subject
 * @param {Translate} t
 * @param {{onShutter: () => void, onCancel: () => void, onFile: () => void, onSwitch: () => void, onTorch: (on: boolean) => void, onLayout: () => void}} handlers
 */
export function createView(host, subject, t, handlers) {
  const { kind, shape, side } = subject;
  let turned = false;
  let lit = false;

  const video = liveVideo();
  const frame = h("div", { class: "capture-frame", "aria-hidden": "true" }, h("i"), h("i"), h("i"), h("i"));
  const title = h("h2", { class: "capture-title" }, t(kind === "selfie" ? "capture.title.selfie" : `capture.title.${shape}.${side}`));
  const hint = h("p", { class: "capture-hint", role: "status", "aria-live": "polite" });
  const notices = h("div", { class: "notices" });
  const room = h("div", { class: "capture-room" });
  const torch = tool("light", t("capture.torch"), () => {
    lit = !lit;
    handlers.onTorch(lit);
  });
  const turn = tool("turn", t("capture.turn"), () => {
    turned = !turned;
    turn.setAttribute("aria-pressed", String(turned));
    layout();
  });
  const flip = tool("flip", t("capture.switch"), handlers.onSwitch);
  const shutter = h("button", { class: "capture-shutter", type: "button", "aria-label": t("capture.shutter"), disabled: true, onclick: handlers.onShutter }, ring());
  torch.hidden = true;
  flip.hidden = true;
  turn.hidden = kind === "selfie" || shape === "passport";
  torch.setAttribute("aria-pressed", "false");
  turn.setAttribute("aria-pressed", "false");

  const root = h(
    "section",
    { class: "capture", "data-kind": kind, "data-shape": shape, "data-side": side, "data-state": "starting", "aria-label": t("capture.view") },
    video,
    frame,
    notices,
    h(
      "div",
      { class: "capture-top" },
      h("div", { class: "capture-bar" }, tool("close", t("capture.cancel"), handlers.onCancel), title, h("div", { class: "capture-tools" }, turn, torch)),
      hint,
    ),
    room,
    h(
      "div",
      { class: "capture-controls" },
      h("button", { class: "capture-file", type: "button", onclick: handlers.onFile }, drawing(ICONS.file), h("span", null, t("capture.file"))),
      shutter,
      h("div", { class: "capture-end" }, flip),
    ),
  );
  root.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    event.preventDefault();
    handlers.onCancel();
  });

  /** @type {Rect} */
  let place = { x: 0, y: 0, width: 1, height: 1 };

  function layout() {
    const outer = root.getBoundingClientRect();
    const inner = room.getBoundingClientRect();
    const free = { x: inner.x - outer.x, y: inner.y - outer.y + root.scrollTop, width: inner.width, height: inner.height };
    place = frameIn(free, { width: video.clientWidth, height: video.clientHeight }, subject, turned);
    for (const [name, value] of Object.entries(place)) frame.style.setProperty(`--${name}`, `${value}px`);
    frame.hidden = false;
    handlers.onLayout();
  }
  const watch = new ResizeObserver(layout);

  // Each text gets a new element, so that nothing on the screen moves.
  const say = (/** @type {string} */ text) => {
    if (hint.textContent !== text) hint.replaceChildren(h("span", null, text));
  };

  say(t("capture.starting"));
  frame.hidden = true;
  host.replaceChildren(root);
  watch.observe(room);
  watch.observe(notices);
  watch.observe(root);
  const uncover = coverPage(host, notices);

  return {
    video,
    /** The frame, in pixels of the view. */
    get frame() {
      return place;
    },
    /** The size of the view, which the video covers. */
    get size() {
      return { width: video.clientWidth, height: video.clientHeight };
    },
    /** Shows the state with a picture. @param {{mirrored: boolean, cameras: number, torch: boolean}} camera */
    live({ mirrored, cameras, torch: hasTorch }) {
      root.dataset["state"] = "live";
      root.dataset["mirrored"] = String(mirrored);
      flip.hidden = cameras < 2;
      torch.hidden = !hasTorch;
      shutter.disabled = false;
      layout();
    },
    /** Shows the state without a picture. */
    waiting() {
      root.dataset["state"] = "starting";
      shutter.disabled = true;
      say(t("capture.starting"));
      this.progress(0);
    },
    /** @param {string} code a hint's code */
    hint(code) {
      root.dataset["good"] = String(code === STEADY);
      // A failure code of the server has the text that is shown when the server finds it.
      say(t(/^\d/.test(code) ? `code.${code}.title` : `hint.${code}`));
    },
    /** @param {number} share progress of the shutter */
    progress(share) {
      shutter.style.setProperty("--progress", String(Math.round(share * 100)));
    },
    /** @param {boolean} on */
    torch(on) {
      lit = on;
      torch.setAttribute("aria-pressed", String(on));
    },
    /** Shows whether a picture is being taken. @param {boolean} busy */
    taking(busy) {
      root.dataset["state"] = busy ? "taking" : "live";
      shutter.disabled = busy;
      if (busy) say(t("capture.taking"));
    },
    remove() {
      watch.disconnect();
      uncover();
      root.remove();
    },
  };
}
