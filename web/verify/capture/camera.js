/**
 * The camera: asked for, watched, switched, lit and always given back. It shows its picture in a video element and judges
 * nothing that it sees.
 */

/** @typedef {"permission_denied"|"no_camera"|"in_use"|"no_frames"|"insecure"|"cancelled"|"use_file"} CaptureCode */

/** Why there is no picture from the camera. */
export class CaptureError extends Error {
  /** @param {CaptureCode} code */
  constructor(code) {
    super(code);
    this.name = "CaptureError";
    this.code = code;
  }
}

/** A camera that shows nothing for this long is given up. */
const NO_FRAMES_MS = 12_000;

/** Browsers inside other apps, by a word of their user agent; `blocks`: on Android they never hand on the camera. */
const IN_APP = [
  { name: "Instagram", pattern: /\bInstagram\b/, blocks: true },
  { name: "Messenger", pattern: /\bFB_IAB\/(?:MESSENGER|Orca)|FBAN\/Messenger|MessengerForiOS/i, blocks: true },
  { name: "Facebook", pattern: /\bFBAN\/|\bFBAV\/|\bFB_IAB\//, blocks: true },
  { name: "TikTok", pattern: /\bmusical_ly|\bBytedanceWebview|\bTikTok/i, blocks: true },
  { name: "WeChat", pattern: /\bMicroMessenger\//i, blocks: false },
  { name: "LINE", pattern: /\bLine\/\d/, blocks: false },
  { name: "LinkedIn", pattern: /\bLinkedInApp\b/, blocks: true },
  { name: "Snapchat", pattern: /\bSnapchat\b/, blocks: true },
  { name: "Pinterest", pattern: /\[?Pinterest\/(?:iOS|Android)/, blocks: true },
  { name: "X", pattern: /\bTwitter for (?:iPhone|iPad|Android)|\bTwitterAndroid\b/, blocks: true },
  { name: "Google", pattern: /\bGSA\/\d/, blocks: false },
  { name: "KakaoTalk", pattern: /\bKAKAOTALK\b/i, blocks: false },
  { name: "Telegram", pattern: /\bTelegram-Android\b/i, blocks: false },
  { name: "WebView", pattern: /\bAndroid\b.*; wv\)/, blocks: false },
];

/** The app whose browser this is, or null. @param {string} agent */
export const inAppBrowser = (agent) => IN_APP.find(({ pattern }) => pattern.test(agent))?.name ?? null;

/** Whether that app is known to keep the camera from pages. @param {string} agent */
export const blocksCamera = (agent) =>
  /\bAndroid\b/.test(agent) && (IN_APP.find(({ pattern }) => pattern.test(agent))?.blocks ?? false);

/**
 * Whether a camera can be asked for here; asks nobody anything.
 * @returns {Promise<{ok: boolean, reason: null|"insecure"|"unsupported"|"in_app_browser"|"no_camera", inAppBrowser: string|null}>}
 */
export async function cameraSupport() {
  const app = inAppBrowser(navigator.userAgent);
  const no = (/** @type {"insecure"|"unsupported"|"in_app_browser"|"no_camera"} */ reason) => ({ ok: false, reason, inAppBrowser: app });
  if (!window.isSecureContext) return no("insecure");
  if (blocksCamera(navigator.userAgent)) return no("in_app_browser");
  if (typeof navigator.mediaDevices?.getUserMedia !== "function") return no(app ? "in_app_browser" : "unsupported");
  try {
    const devices = await navigator.mediaDevices.enumerateDevices();
    if (!devices.some((device) => device.kind === "videoinput")) return no("no_camera");
  } catch {
    // A browser that lists nothing may still have a camera: asking for it will tell.
  }
  return { ok: true, reason: null, inAppBrowser: app };
}

/** What a refusal means. @param {unknown} error @returns {CaptureCode|"constraints"} */
export function codeOf(error) {
  switch (error instanceof Error ? error.name : "") {
    case "NotAllowedError":
    case "PermissionDeniedError":
      return "permission_denied";
    case "SecurityError":
      return window.isSecureContext ? "permission_denied" : "insecure";
    case "NotReadableError":
    case "TrackStartError":
    case "AbortError":
    case "InvalidStateError":
      return "in_use";
    case "OverconstrainedError":
    case "ConstraintNotSatisfiedError":
      return "constraints";
    default:
      return "no_camera";
  }
}

/**
 * What to ask for, best first. Documents need pixels, faces do not; a weak device is not asked for 4K, which it would offer and
 * not keep up with. A size of the camera's own is wanted: browsers otherwise cut its picture to the shape that was asked for.
 * @param {"environment"|"user"} facing @param {string|null} deviceId @param {boolean} strong
 * @returns {MediaTrackConstraints[]}
 */
export function wishes(facing, deviceId, strong) {
  const size = (/** @type {number} */ width, /** @type {number} */ height) => ({ width: { ideal: width }, height: { ideal: height } });
  const best = facing === "user" ? size(1920, 1080) : strong ? size(3840, 2160) : size(1920, 1080);
  const which = deviceId === null ? { facingMode: { ideal: facing } } : { deviceId: { exact: deviceId } };
  const own = { ...which, resizeMode: "none" };
  return [{ ...own, ...best }, { ...own, ...size(1280, 720) }, which, {}];
}

function isStrong() {
  const memory = /** @type {{deviceMemory?: number}} */ (navigator).deviceMemory ?? 8;
  return memory >= 4 && (navigator.hardwareConcurrency ?? 4) >= 6;
}

/** @param {MediaStream} stream */
const release = (stream) => {
  for (const track of stream.getTracks()) track.stop();
};

/** @param {number} ms */
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** One camera at a time, in a video element. */
export class Camera {
  #video;
  #facing;
  /** @type {MediaStream|null} */
  #stream = null;
  /** @type {string|null} */
  #deviceId = null;
  /** Counts the starts: a stream that comes after its start was called off is let go. */
  #start = 0;
  #closed = false;
  #restarts = 0;
  #lastFrame = 0;
  #watch = 0;
  #onChange;
  #onError;

  /**
   * @param {HTMLVideoElement} video
   * @param {"environment"|"user"} facing
   * @param {{onChange: () => void, onError: (error: CaptureError) => void}} handlers `onChange`: there is a picture, of a new
   *   camera or size; `onError`: there will be none
   */
  constructor(video, facing, { onChange, onError }) {
    this.#video = video;
    this.#facing = facing;
    this.#onChange = onChange;
    this.#onError = onError;
    video.addEventListener("resize", onChange);
    document.addEventListener("visibilitychange", this.#visibility);
    window.addEventListener("pagehide", this.#hide);
    window.addEventListener("pageshow", this.#visibility);
  }

  /** Whether pictures come from a camera that looks at its user. */
  get mirrored() {
    const mode = this.#track?.getSettings().facingMode;
    return mode === "user" || (mode === undefined && this.#facing === "user");
  }

  get #track() {
    return this.#stream?.getVideoTracks()[0] ?? null;
  }

  /** The track, while it delivers. */
  get track() {
    return this.#track?.readyState === "live" ? this.#track : null;
  }

  /** Asks for the camera and shows its picture. Failures go to `onError`. */
  async start() {
    if (this.#closed) return;
    const start = (this.#start += 1);
    this.#stop();
    try {
      const stream = await this.#ask(() => start !== this.#start);
      if (start !== this.#start || this.#closed) {
        release(stream);
        return;
      }
      this.#stream = stream;
      const track = this.#track;
      track?.addEventListener("ended", () => start === this.#start && this.#lost());
      this.#video.srcObject = stream;
      this.#watchFrames(start);
      await this.#video.play().catch(() => undefined); // Autoplay refused: the watch tells, and a tap plays.
      if (start === this.#start) this.#onChange();
    } catch (error) {
      if (start === this.#start && !this.#closed) this.#fail(error instanceof CaptureError ? error.code : "no_camera");
    }
  }

  /** @param {() => boolean} calledOff */
  async #ask(calledOff) {
    if (!window.isSecureContext) throw new CaptureError("insecure");
    if (typeof navigator.mediaDevices?.getUserMedia !== "function") throw new CaptureError("no_camera");
    /** @type {CaptureCode} */
    let code = "no_camera";
    for (const video of wishes(this.#facing, this.#deviceId, isStrong())) {
      try {
        return await navigator.mediaDevices.getUserMedia({ video, audio: false });
      } catch (error) {
        const reason = codeOf(error);
        if (reason === "permission_denied" || reason === "insecure" || calledOff()) throw new CaptureError(reason === "constraints" ? "no_camera" : reason);
        if (reason !== "constraints") code = reason;
        // Another page or our own last stream may be letting go of it just now.
        if (reason === "in_use") await pause(400);
      }
    }
    throw new CaptureError(code);
  }

  /** @param {number} start */
  #watchFrames(start) {
    const video = this.#video;
    this.#lastFrame = performance.now();
    let shown = -1;
    clearInterval(this.#watch);
    this.#watch = window.setInterval(() => {
      if (start !== this.#start) return;
      if (video.paused && video.readyState >= 2) video.play().catch(() => undefined);
      const now = performance.now();
      if (video.videoWidth > 0 && video.readyState >= 2 && video.currentTime !== shown) {
        shown = video.currentTime;
        this.#lastFrame = now;
        this.#restarts = 0;
      } else if (document.visibilityState === "visible" && now - this.#lastFrame > NO_FRAMES_MS) {
        this.#fail("no_frames");
      }
    }, 500);
  }

  /** The track ended under us (unplugged, taken by a call): ask once more, then give up. */
  #lost() {
    this.#restarts += 1;
    if (document.visibilityState === "hidden") return; // Shown again, the page asks anew.
    if (this.#restarts > 1) this.#fail("in_use");
    else this.start();
  }

  #visibility = () => {
    if (document.visibilityState === "hidden") this.#hide();
    else if (this.track === null) this.start();
  };

  /** A hidden page sees nothing: the camera goes off, and phones would stop it anyway. */
  #hide = () => {
    this.#start += 1;
    this.#stop();
  };

  /** @param {CaptureCode} code */
  #fail(code) {
    this.close();
    this.#onError(new CaptureError(code));
  }

  #stop() {
    clearInterval(this.#watch);
    if (this.#stream) release(this.#stream);
    this.#stream = null;
    this.#video.srcObject = null;
  }

  /** How many cameras there are, once one was allowed. */
  async count() {
    return (await this.#devices()).length;
  }

  async #devices() {
    try {
      const devices = await navigator.mediaDevices.enumerateDevices();
      return devices.filter((device) => device.kind === "videoinput");
    } catch {
      return [];
    }
  }

  /** Goes on to the next camera. */
  async switch() {
    const devices = await this.#devices();
    const current = this.#track?.getSettings().deviceId;
    const at = devices.findIndex((device) => device.deviceId === current);
    const next = devices[(at + 1) % devices.length];
    if (!next) return;
    this.#deviceId = next.deviceId || null;
    await this.start();
  }

  /** Whether this camera has a light. */
  get hasTorch() {
    const capabilities = /** @type {{torch?: boolean}|undefined} */ (this.#track?.getCapabilities?.());
    return capabilities?.torch === true;
  }

  /** Switches the light. @param {boolean} on @returns {Promise<boolean>} whether it is on */
  async torch(on) {
    try {
      await this.#track?.applyConstraints(/** @type {MediaTrackConstraints} */ (/** @type {unknown} */ ({ advanced: [{ torch: on }] })));
      return on;
    } catch {
      return false;
    }
  }

  /** Gives the camera back for good. */
  close() {
    this.#closed = true;
    this.#start += 1;
    this.#stop();
    this.#video.removeEventListener("resize", this.#onChange);
    document.removeEventListener("visibilitychange", this.#visibility);
    window.removeEventListener("pagehide", this.#hide);
    window.removeEventListener("pageshow", this.#visibility);
  }
}
