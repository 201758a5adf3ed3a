// The selfie of a Flow with a live selfie or liveness: a challenge before the camera that the server checks. The selfie
// is a frame of it, so no file can replace it. Who cannot turn the head or see the screen gets another route.
import * as api from "../api.js";
import * as app from "../app.js";
import { boot } from "../boot.js";
import { actions, announce, button, h, heading, hero, lead, rows } from "../dom.js";
import { track } from "../events.js";
import * as flow from "../flow.js";
import { has, language, t } from "../i18n.js";
import * as router from "../router.js";
import { isRefusal, isTouch, otherDevice, trackSupport, trouble } from "./trouble.js";

/** @typedef {import("../capture/challenge.js").Route} Route */
/** @typedef {{route: Route, restart: boolean}} Start */
/** What stopped a challenge. @typedef {{kind: "failed" | "void" | "paused", reason: string, left: number | null, route: Route}} Stopped */

/** The funnel's words for the page's own reasons; the server's reasons are words themselves. @type {Record<string, string>} */
const DETAILS = { hidden: "broken_off", camera: "no_frames" };
/** For how long the end is shown in the live view. */
const DONE_MS = 1200;
/** In a queue, every so many answers the session's end is loaded again, which the server postpones. */
const REFRESH = 10;

const view = () => import("../capture/challenge-view.js");

/** The route of the last challenge, which a camera that works again continues. @type {Route} */
let chosen = "standard";

/** The frames of the current try in memory only, one of which becomes the selfie. @type {Map<number, Uint8Array>} */
const frames = new Map();

/** Whether the Flow requires the challenge for its selfie. */
export const isRequired = () => app.facts().current.biometricType !== "selfie";
/** Whether the challenge has turns and colours. */
const hasTurns = () => app.facts().current.biometricType === "liveness";

/** @type {router.Render} */
export function render(part, params) {
  const { selfie } = app.currentWork().pictures;
  if (part === "camera") return live(params ?? { route: chosen, restart: false });
  if (part === "trouble") return trouble("selfie", params?.code ?? "no_camera", null);
  if (part === "stopped" && params) return stopped(params);
  if (part === "assisted") return primer("assisted");
  return selfie ? summary(selfie) : primer("standard");
}

/** @param {Start} start @param {boolean} [replace] */
const begin = (start, replace = false) => router.show("selfie", { part: "camera", params: start, replace });

/** @param {Route} route @returns {Promise<router.Screen>} */
async function primer(route) {
  track("selfie", "reached");
  const isAssisted = route === "assisted";
  if (!boot.rehearsal) {
    const { cameraSupport } = await import("../capture/camera.js");
    const support = await cameraSupport();
    if (!support.ok) {
      trackSupport(support.reason);
      return trouble("selfie", support.reason ?? "no_camera", null);
    }
    // Loads while the applicant reads.
    setTimeout(view, 300);
  }
  /** @type {[string, string][]} */
  const steps = isAssisted
    ? [["face", t("challenge.assisted.steps")], ["clock", t("challenge.assisted.time")], ["search", t("challenge.assisted.review")]]
    : hasTurns()
      ? [["face", t("challenge.step.turn")], ["phone", t("challenge.step.colours")], ["sun", t("picture.tip.facelight")]]
      : [["face", t("challenge.step.look")], ["person", t("picture.tip.cover")], ["sun", t("picture.tip.facelight")]];
  return {
    body: [
      hero("face"),
      heading(t(isAssisted ? "challenge.assisted.title" : hasTurns() ? "challenge.title" : "picture.selfie")),
      lead(t("challenge.lead")),
      rows(steps),
      actions(
        h("p", { class: "fine" }, t("picture.ask")),
        button("primary", t("picture.camera"), () => (boot.rehearsal ? pretend() : begin({ route, restart: false })), "camera"),
        isAssisted ? null : button("plain", t(hasTurns() ? "challenge.assisted" : "challenge.assisted.look"), () => router.show("selfie", { part: "assisted" })),
      ),
    ],
  };
}

/** The live view. @param {Start} start @returns {router.Screen} */
function live({ route, restart }) {
  chosen = route;
  const host = h("div", { class: "camera" });
  const left = new AbortController();
  /** @param {string} part @param {any} params */
  const instead = (part, params) => {
    if (!left.signal.aborted) router.show("selfie", { part, params, replace: true });
  };
  /** @param {Stopped["kind"]} kind @param {string | null} reason @param {number | null} [tries] */
  const stop = (kind, reason, tries = null) => {
    track("liveness", kind === "failed" ? "failed" : "retried", reason === null ? undefined : (DETAILS[reason] ?? reason));
    instead("stopped", { kind, reason: reason ?? "other", left: tries, route });
  };
  const run = async () => {
    try {
      await challenge(host, { route, restart }, left.signal, stop, instead);
    } catch (error) {
      if (left.signal.aborted) return;
      const { code, status } = /** @type {{code?: string, status?: number}} */ (error);
      if (code) track("camera", isRefusal(code) ? "denied" : "failed", code);
      if (code) instead("trouble", { code });
      else if (status === 401) app.problemText(error);
      else stop("paused", "server");
    }
  };
  return { body: [h("h1", { class: "quiet", tabindex: "-1" }, t("challenge.title")), host], shown: run, cleanup: () => left.abort() };
}

/**
 * Runs the challenge in the view. Rejects with the camera's or the server's error.
 * @param {HTMLElement} host
 * @param {Start} start
 * @param {AbortSignal} left the screen was left
 * @param {(kind: Stopped["kind"], reason: string | null, tries?: number | null) => void} stop
 * @param {(part: string, params?: any) => void} instead
 */
async function challenge(host, { route, restart }, left, stop, instead) {
  const [{ createChallengeView }, { Camera }, { createFilm }, { runChallenge }] = await Promise.all([
    view(),
    import("../capture/camera.js"),
    import("../capture/film.js"),
    import("../capture/challenge.js"),
  ]);
  if (left.aborted) return;
  /** Ends the challenge without leaving the screen. */
  const ended = new AbortController();
  const isAssisted = route === "assisted";
  const screen = createChallengeView(
    host,
    t,
    { language: language(), isSpoken: isAssisted, otherRoute: isAssisted ? null : hasTurns() ? "challenge.assisted" : "challenge.assisted.look" },
    {
      onCancel: () => history.back(),
      onOther: () => instead("assisted"),
      onSwitch: () => void camera.switch(),
    },
  );
  /** @type {(value?: unknown) => void} */
  let cameraReady = () => {};
  /** @type {(error: unknown) => void} */
  let cameraFailed = () => {};
  const failed = new Promise((_resolve, reject) => (cameraFailed = reject));
  failed.catch(() => {});
  const ready = new Promise((resolve) => (cameraReady = resolve));
  const camera = new Camera(screen.video, "user", {
    onChange: async () => {
      if (screen.video.videoWidth === 0) return;
      const count = await camera.count();
      screen.live({ mirrored: camera.mirrored, canSwitch: count > 1 && !isTouch() });
      cameraReady();
    },
    onError: cameraFailed,
  });
  const close = () => {
    if (ended.signal.aborted) return;
    document.removeEventListener("visibilitychange", hidden);
    left.removeEventListener("abort", close);
    ended.abort();
    cameraReady();
    camera.close();
    screen.remove();
  };
  /** A hidden page gets no pictures, so the challenge stops with it. */
  function hidden() {
    if (document.visibilityState !== "hidden") return;
    close();
    stop("paused", "hidden");
  }
  left.addEventListener("abort", close);
  document.addEventListener("visibilitychange", hidden);

  try {
    await Promise.race([Promise.all([camera.start(), ready]), failed]);
    if (ended.signal.aborted) return;
    screen.connecting();
    track("liveness", "reached", isAssisted ? "assisted" : undefined);
    if (restart) frames.clear();
    let queued = 0;
    const ending = await Promise.race([
      failed,
      runChallenge({
        // During an upgrade, an older server may answer, which does not know the description.
        open: (route, restart) =>
          api.challenge(route, restart, camera.describe()).catch((error) => {
            if (/** @type {{status?: number}} */ (error).status !== 400) throw error;
            return api.challenge(route, restart, null);
          }),
        send: api.challengeFrames,
        film: createFilm(screen.video),
        show: (answer) => {
          screen.show(answer);
          if (answer.state === "waiting" && queued++ % REFRESH === REFRESH - 1) app.refresh().catch(() => {});
        },
        onBreak: screen.broken,
        stored: frames,
        route,
        restart,
        signal: ended.signal,
        clock: { now: () => performance.now(), pause: (ms) => new Promise((resolve) => setTimeout(resolve, ms)) },
      }),
    ]);
    const outcome = /** @type {import("../capture/challenge.js").Ending} */ (ending);
    if (ended.signal.aborted || outcome.end === "stopped") return;
    if (outcome.end === "passed" || outcome.end === "review") {
      screen.done();
      track("liveness", "completed", outcome.end);
      await store(new Blob([new Uint8Array(outcome.jpeg)], { type: "image/jpeg" }), outcome.end === "review" && outcome.triesLeft === 0);
      frames.clear();
      await new Promise((resolve) => setTimeout(resolve, DONE_MS));
      if (!ended.signal.aborted) await goOn();
    } else if (outcome.end === "failed" || outcome.end === "void") stop(outcome.end, outcome.answer.reason ?? null, outcome.answer.triesLeft);
    else stop("paused", outcome.end === "camera" ? "camera" : "network");
  } finally {
    close();
  }
}

/** Stores the selfie as the exact bytes that the server received. @param {Blob} blob @param {boolean} [ofPerson] */
async function store(blob, ofPerson = false) {
  const work = app.currentWork();
  work.pictures.selfie = { blob, name: "", problems: [], source: "camera", accepted: false, ofPerson };
  work.key = "";
  await app.saveNow();
}

/** To the summary before sending, or to a step that is still open. */
async function goOn() {
  const work = app.currentWork();
  // Returns to the screen that opened the camera, which shows the picture.
  if (flow.isLast(app.facts(), work, "selfie")) return history.back();
  if (work.pictures.selfie) work.pictures.selfie.accepted = true;
  track("selfie", "completed");
  await app.next({ replace: true });
}

/** The portal's preview has no server and perhaps no camera. */
async function pretend() {
  const canvas = Object.assign(document.createElement("canvas"), { width: 360, height: 480 });
  const context = canvas.getContext("2d");
  if (context) {
    context.fillStyle = "#c9ced6";
    context.fillRect(0, 0, 360, 480);
    context.fillStyle = "#8b95a3";
    context.beginPath();
    context.ellipse(180, 190, 75, 100, 0, 0, 7);
    context.ellipse(180, 480, 150, 150, 0, 0, 7);
    context.fill();
  }
  const blob = await new Promise((/** @type {(blob: Blob | null) => void} */ resolve) => canvas.toBlob(resolve, "image/jpeg"));
  await store(blob ?? new Blob());
  await router.redraw(true);
}

/** Why it stopped, what to do, and every way to continue. @param {Stopped} why @returns {router.Screen} */
function stopped({ kind, reason, left, route }) {
  const isSlow = reason === "slow_connection";
  const key = `challenge.reason.${reason}`;
  const text = t(has(key) ? key : "challenge.reason.other");
  announce(text);
  const again = () => begin({ route, restart: kind === "failed" }, true);
  return {
    body: [
      hero(isSlow || reason === "network" ? "offline" : "alert", "wait"),
      heading(t(kind === "failed" ? "challenge.failed" : "challenge.stopped")),
      lead(text),
      h("p", { class: "fine" }, kind !== "failed" ? t("challenge.uncounted") : left === null || left === undefined ? "" : t("challenge.left", { count: left })),
      actions(
        button("primary", t(kind === "paused" ? "page.continue" : "page.retry"), again, "camera"),
        isSlow && !app.facts().claimed ? otherDevice("selfie") : null,
        route === "assisted"
          ? button("plain", t("challenge.standard"), () => router.show("selfie", { replace: true }))
          : button(isSlow ? "secondary" : "plain", t(hasTurns() || isSlow ? "challenge.other" : "challenge.assisted.look"), () => router.show("selfie", { part: "assisted", replace: true })),
      ),
    ],
  };
}

/** The taken picture before it is sent. @param {flow.Picture} picture @returns {router.Screen} */
function summary(picture) {
  const work = app.currentWork();
  const url = URL.createObjectURL(picture.blob);
  track("review", "reached");
  const use = async () => {
    picture.accepted = true;
    if (flow.isLast(app.facts(), work, "selfie")) work.ready = true;
    track("review", "completed");
    track("selfie", "completed");
    await app.next();
  };
  const redo = () => {
    track("review", "retried");
    delete work.pictures.selfie;
    app.save();
    if (boot.rehearsal) router.redraw(true);
    else begin({ route: chosen, restart: true });
  };
  return {
    body: [
      heading(t("challenge.summary")),
      lead(t("challenge.summary.lead")),
      picture.ofPerson ? lead(t("challenge.assisted.review")) : null,
      h("div", { class: "shot-box" }, h("div", { class: "shot" }, h("img", { src: url, alt: t("review.alt.selfie") }))),
      actions(
        button("primary", t(flow.isLast(app.facts(), work, "selfie") ? "review.send" : "review.use"), use),
        // Without a try left, another film proves nothing more.
        !picture.ofPerson && button("secondary", t("challenge.redo"), redo),
      ),
    ],
    cleanup: () => URL.revokeObjectURL(url),
  };
}
