/**
 * Takes a picture of a document or a face, from the start of the camera to the finished shot. Other screens use only
 * this module's exports. It is loaded when an applicant reaches the camera.
 */

import { Camera, CaptureError } from "./camera.js";
import { facesReady, findFaces, loadFaces } from "./faces.js";
import { inVideo } from "./geometry.js";
import { createGuide, STEADY } from "./guidance.js";
import { measure } from "./measures.js";
import { problemsOf } from "./problems.js";
import { cut, marginOf, MEASURED_SIDE, takeStill, withMargin } from "./still.js";
import { createView } from "./view.js";

export { CaptureError, cameraSupport, inAppBrowser } from "./camera.js";
export { checkShot, FileError, measureFile, prepareFile } from "./still.js";

/** @import { Face, Grey, Measures, Pixels, Rect } from "./measures.js" */
/** @import { Subject } from "./problems.js" */
/** @typedef {import("./still.js").Shot} Shot */

/**
 * An event for the funnel; `detail` is always a code.
 * @typedef {(kind: "reached"|"completed"|"retried"|"failed"|"denied", detail?: string) => void} OnEvent
 */

/**
 * @typedef {object} CaptureOptions
 * @property {"document"|"selfie"} kind
 * @property {"passport"|"card"|"paper"} [shape]
 * @property {"front"|"back"} [side]
 * @property {import('./view.js').Translate} t
 * @property {"environment"|"user"} [facing]
 * @property {OnEvent} [onEvent]
 * @property {AbortSignal} [signal] aborting it cancels the capture
 */

/** Minimum interval between pictures: at most eight per second. */
const FASTEST_MS = 125;
/** If measuring one picture takes longer than this, smaller pictures are measured. */
const SLOW_MS = 90;
/** Interval of the search for a document's portrait. A selfie's face is searched in every picture. */
const PORTRAIT_MS = 700;
/** How often a bad automatic shot is discarded before the applicant gets to see it. */
const MAX_RETRIES = 2;

/** Measures pictures in a worker, or in the main thread without one. */
function createMeter() {
  /** @type {Grey|null} */
  let before = null;
  /** @type {((measures: Measures) => void)|null} */
  let answer = null;
  /** @type {Worker|null} */
  let worker = null;
  let retry = () => {};
  try {
    worker = new Worker(new URL("./measures-worker.js", import.meta.url), { type: "module" });
    worker.onmessage = ({ data }) => answer?.(data.measures);
    worker.onerror = () => {
      worker?.terminate();
      worker = null;
      retry();
    };
  } catch {
    worker = null;
  }
  return {
    /** @param {Pixels} pixels @param {Rect} frame @param {"document"|"selfie"} kind @returns {Promise<Measures>} */
    measure(pixels, frame, kind) {
      const here = () => {
        const result = measure(pixels, frame, kind, before);
        before = result.thumbnail;
        return result.measures;
      };
      if (worker === null) return Promise.resolve(here());
      return new Promise((resolve) => {
        answer = resolve;
        // The worker gets a copy, so that the picture is still available if the worker fails.
        retry = () => resolve(here());
        worker?.postMessage({ width: pixels.width, height: pixels.height, buffer: pixels.data.buffer, frame, kind });
      });
    },
    close() {
      worker?.terminate();
    },
  };
}

/**
 * Fills `host` with the live view and resolves with a shot.
 * @param {HTMLElement} host
 * @param {CaptureOptions} options
 * @returns {Promise<Shot>} rejects with CaptureError
 */
export function openCapture(host, { kind, shape = "card", side = "front", t, facing, onEvent = () => {}, signal }) {
  /** @type {Subject} */
  const subject = { kind, shape, side };
  return new Promise((resolve, reject) => {
    const guide = createGuide();
    const meter = createMeter();
    let open = true;
    let taking = false;
    let retries = 0;
    let longSide = MEASURED_SIDE;
    let timer = 0;
    /** @type {string[]} */
    let problems = [];
    /** @type {Face[]|null} */
    let faces = null;
    let facesAt = 0;
    let reached = false;

    const view = createView(host, subject, t, {
      onShutter: () => void shoot(false),
      onCancel: () => fail(new CaptureError("cancelled")),
      onFile: () => fail(new CaptureError("use_file")),
      onSwitch: () => {
        begin();
        void camera.switch();
      },
      onTorch: async (on) => view.torch(await camera.torch(on)),
      onLayout: () => guide.reset(),
    });
    const camera = new Camera(view.video, facing ?? (kind === "selfie" ? "user" : "environment"), { onChange: seen, onError: fail });

    function close() {
      open = false;
      clearTimeout(timer);
      signal?.removeEventListener("abort", aborted);
      camera.close();
      meter.close();
      view.remove();
    }

    function aborted() {
      fail(new CaptureError("cancelled"));
    }

    /** @param {CaptureError} error */
    function fail(error) {
      if (!open) return;
      close();
      if (error.code === "permission_denied" || error.code === "embedded") onEvent("denied", error.code);
      else if (error.code !== "cancelled" && error.code !== "use_file") onEvent("failed", error.code);
      reject(error);
    }

    function begin() {
      view.waiting();
      guide.reset();
      [faces, problems] = [null, []];
    }

    /** Handles a picture of a new camera or size. */
    async function seen() {
      if (!open || view.video.videoWidth === 0) return;
      guide.reset();
      const cameras = await camera.count();
      if (!open) return;
      view.live({ mirrored: camera.mirrored, cameras, torch: camera.hasTorch });
      if (!reached) {
        reached = true;
        onEvent("reached");
        void loadFaces();
        void look();
      }
    }

    const frame = () => {
      const { videoWidth: width, videoHeight: height } = view.video;
      return inVideo(view.frame, view.size, { width, height }, camera.mirrored);
    };

    /** One cycle: measures a picture, updates the hint, may release the shutter, and schedules the next. */
    async function look() {
      if (!open) return;
      const start = performance.now();
      const { video } = view;
      if (!taking && camera.track !== null && video.readyState >= 2 && video.videoWidth > 0) {
        const measures = await measured();
        if (!open) return;
        if (!taking) advise(measures);
        const took = performance.now() - start;
        if (took > SLOW_MS && longSide > 480) longSide = Math.max(480, longSide * 0.75);
      } else if (!taking && camera.track === null) {
        begin();
      }
      const took = performance.now() - start;
      timer = window.setTimeout(look, Math.max(FASTEST_MS - took, took));
    }

    /** @returns {Promise<Measures>} of the camera's current picture */
    async function measured() {
      const { video } = view;
      const size = { width: video.videoWidth, height: video.videoHeight };
      const { part, frame: shares } = withMargin(frame(), kind === "document" ? marginOf(subject) : 0.5, size);
      const { canvas, context } = cut(video, part, longSide, true);
      const pixels = context.getImageData(0, 0, canvas.width, canvas.height);
      const now = performance.now();
      const wanted = facesReady() && (kind === "selfie" || now - facesAt > PORTRAIT_MS);
      const [measures, found] = await Promise.all([
        meter.measure(pixels, shares, kind),
        wanted ? findFaces(canvas, canvas.width, canvas.height) : faces,
      ]);
      if (wanted) [faces, facesAt] = [found, now];
      return { ...measures, faces: found };
    }

    /** @param {Measures} measures */
    function advise(measures) {
      problems = problemsOf(measures, subject, problems);
      const { hint, progress } = guide.update(problems, performance.now());
      // Without the model it is unknown whether there is a face, so the applicant must press.
      const automatic = kind === "document" || measures.faces !== null;
      view.hint(automatic || hint !== STEADY ? hint : "press");
      view.progress(automatic ? progress : 0);
      if (automatic && progress === 1) void shoot(true);
    }

    /** @param {boolean} automatic */
    async function shoot(automatic) {
      if (!open || taking || camera.track === null || view.video.videoWidth === 0) return;
      taking = true;
      view.taking(true);
      try {
        const shot = await takeStill(view.video, camera.track, frame(), subject);
        if (!open) return;
        if (automatic && shot.problems.length > 0 && retries < MAX_RETRIES) {
          retries += 1;
          onEvent("retried", shot.problems[0]);
        } else {
          close();
          onEvent("completed");
          resolve(shot);
          return;
        }
      } catch {
        // The camera stopped; its watchdog reports the error.
      }
      taking = false;
      guide.reset();
      if (open) view.taking(false);
    }

    if (signal?.aborted) aborted();
    else {
      signal?.addEventListener("abort", aborted);
      void camera.start();
    }
  });
}
