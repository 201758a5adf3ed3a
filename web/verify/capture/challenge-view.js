/** The elements of the liveness challenge's live view and their states. challenge.js decides which state to show. */

import { h } from "../dom.js";
import { frameIn } from "./geometry.js";
import { coverPage, drawing, liveVideo, tool } from "./view.js";
import { createVoice, hasVoice } from "./voice.js";

/** @typedef {import("./challenge.js").Answer} Answer */

/** Arrows over the mirrored picture, in which the person's left is on the left, in every language. @type {Record<string, string>} */
const ARROWS = {
  turn_left: "M20 12H5M11 5.500 4.5 12l6.500 6.500",
  turn_right: "M4 12h15M13 5.500l6.5 6.500-6.500 6.500",
  nod_up: "M12 20V5M5.5 11 12 4.500l6.500 6.500",
  nod_down: "M12 4v15M5.5 13l6.5 6.500 6.500-6.500",
};
/** The arrow of a picture that is not mirrored. @type {Record<string, string>} */
const TURNED = { turn_left: "turn_right", turn_right: "turn_left" };
/** Waiting times are estimates, so they are shown in steps. */
const STEP_SECONDS = 10;

/**
 * @param {HTMLElement} host
 * @param {import("./view.js").Translate} t
 * @param {{language: string, isSpoken: boolean, otherRoute: string | null}} options `otherRoute`: key of the button's text
 * @param {{onCancel: () => void, onOther: () => void, onSwitch: () => void}} handlers
 */
export function createChallengeView(host, t, { language, isSpoken, otherRoute }, handlers) {
  const voice = createVoice(language);
  const video = liveVideo();
  const oval = h("div", { class: "capture-frame", "aria-hidden": "true" });
  const ring = drawing("", "challenge-ring");
  ring.firstElementChild?.setAttribute("pathLength", "100");
  const arrow = h("div", { class: "challenge-arrow", "aria-hidden": "true" });
  oval.append(ring, arrow);
  const text = h("p", { class: "capture-hint challenge-say", role: "alert", "aria-atomic": "true" });
  const hint = h("p", { class: "capture-hint challenge-hint", role: "status" });
  const notices = h("div", { class: "notices" });
  const room = h("div", { class: "capture-room" });
  const flip = tool("flip", t("capture.switch"), handlers.onSwitch);
  flip.hidden = true;
  let isOn = true;
  const sound = tool("sound", t("challenge.voice"), () => {
    isOn = !isOn;
    sound.setAttribute("aria-pressed", String(isOn));
    voice.turn(isOn);
  });
  sound.setAttribute("aria-pressed", "true");
  // Browsers load their voices late.
  const voices = () => (sound.hidden = !isSpoken || !hasVoice(language));
  voices();
  if (isSpoken && "speechSynthesis" in window) speechSynthesis.addEventListener("voiceschanged", voices);

  const root = h(
    "section",
    { class: "capture challenge", "data-kind": "selfie", "data-state": "starting", "aria-label": t("capture.view") },
    video,
    oval,
    notices,
    h(
      "div",
      { class: "capture-top" },
      h("div", { class: "capture-bar" }, tool("close", t("capture.cancel"), handlers.onCancel), h("span"), h("div", { class: "capture-tools" }, flip, sound)),
      text,
    ),
    room,
    h(
      "div",
      { class: "challenge-controls" },
      hint,
      otherRoute ? h("button", { class: "challenge-other", type: "button", onclick: handlers.onOther }, t(otherRoute)) : null,
    ),
  );
  root.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    event.preventDefault();
    handlers.onCancel();
  });

  function layout() {
    const outer = root.getBoundingClientRect();
    const inner = room.getBoundingClientRect();
    const free = { x: inner.x - outer.x, y: inner.y - outer.y + root.scrollTop, width: inner.width, height: inner.height };
    const place = frameIn(free, { width: video.clientWidth, height: video.clientHeight }, { kind: "selfie", shape: "card", side: "front" }, false);
    for (const [name, value] of Object.entries(place)) oval.style.setProperty(`--${name}`, `${value}px`);
    const [x, y] = [place.width / 2, place.height / 2];
    ring.setAttribute("viewBox", `0 0 ${place.width} ${place.height}`);
    ring.firstElementChild?.setAttribute("d", `M${x} 0a${x} ${y} 0 1 1 0 ${place.height}a${x} ${y} 0 1 1 0 ${-place.height}`);
    oval.hidden = false;
  }
  const watch = new ResizeObserver(layout);

  /** Writes a text once, so that it is announced once. @param {HTMLElement} place @param {string} words */
  function write(place, words) {
    if (place.textContent === words) return;
    place.replaceChildren(...(words ? [h("span", null, words)] : []));
    if (isSpoken && words) voice.say(words);
  }

  /** @param {string | null} colour */
  function light(colour) {
    const isColour = colour !== null && /^#[0-9a-f]{6}$/i.test(colour);
    root.toggleAttribute("data-flash", isColour);
    if (isColour) root.style.setProperty("--flash", colour);
  }

  /** @param {string | null} move */
  function point(move) {
    const seen = move !== null && root.dataset["mirrored"] === "false" ? (TURNED[move] ?? move) : move;
    if (arrow.dataset["move"] === (seen ?? "")) return;
    arrow.dataset["move"] = seen ?? "";
    const path = seen === null ? undefined : ARROWS[seen];
    arrow.replaceChildren(...(path ? [drawing(path, "challenge-figure")] : []));
  }

  /** @param {number} share */
  const progress = (share) => root.style.setProperty("--progress", String(Math.round(share * 100)));

  /** @param {string} state */
  function become(state) {
    root.dataset["state"] = state;
    light(null);
    point(null);
    write(hint, "");
  }

  write(text, t("capture.starting"));
  oval.hidden = true;
  host.replaceChildren(root);
  watch.observe(room);
  watch.observe(notices);
  watch.observe(root);
  const uncover = coverPage(host, notices);

  return {
    video,
    /** Shows the camera's picture. @param {{mirrored: boolean, canSwitch: boolean}} camera */
    live({ mirrored, canSwitch }) {
      if (root.dataset["state"] === "starting") become("live");
      root.dataset["mirrored"] = String(mirrored);
      flip.hidden = !canSwitch;
      layout();
    },
    /** Shows that the server prepares the first instruction. */
    connecting() {
      write(text, t("page.moment"));
    },
    /** Shows the server's answer. @param {Answer} answer */
    show({ state, place = 1, waitSeconds = 0, instruction, hint: advice, progress: share = 0 }) {
      if (state === "waiting") {
        if (root.dataset["state"] !== "queue") become("queue");
        write(text, t("challenge.queue", { place }));
        const seconds = Math.max(STEP_SECONDS, Math.ceil(waitSeconds / STEP_SECONDS) * STEP_SECONDS);
        write(hint, seconds < 120 ? t("challenge.queue.seconds", { seconds }) : t("challenge.queue.minutes", { minutes: Math.ceil(seconds / 60) }));
        return;
      }
      if (!instruction) return;
      if (root.dataset["state"] !== "running") become("running");
      root.dataset["good"] = String(instruction.show === "hold");
      light(instruction.colour);
      point(instruction.move);
      write(text, t(`challenge.${instruction.show}`));
      write(hint, advice ? t(`challenge.hint.${advice}`) : "");
      progress(share);
    },
    /** @param {boolean} isBroken the connection failed, or works again */
    broken(isBroken) {
      if (isBroken) {
        light(null);
        write(hint, t("challenge.broken"));
      } else if (hint.textContent === t("challenge.broken")) write(hint, "");
    },
    done() {
      become("done");
      root.dataset["good"] = "true";
      progress(1);
      write(text, t("challenge.done"));
    },
    remove() {
      if (isSpoken && "speechSynthesis" in window) speechSynthesis.removeEventListener("voiceschanged", voices);
      voice.stop();
      watch.disconnect();
      uncover();
      root.remove();
    },
  };
}
