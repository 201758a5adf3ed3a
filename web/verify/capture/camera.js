/**
 * Requests, watches, switches, lights and releases the camera. It shows the stream in a video element and judges no
 * picture.
 */

/** @typedef {"permission_denied"|"no_camera"|"in_use"|"no_frames"|"insecure"|"embedded"|"cancelled"|"use_file"} CaptureCode */

/** @typedef {{label: string, width: number, height: number, frameRate: number, device: boolean, automated: boolean}} CameraDescription */

/** Why the camera delivers no picture. */
export class CaptureError extends Error {
  /** @param {CaptureCode} code */
  constructor(code) {
    super(code);
    this.name = "CaptureError";
    this.code = code;
  }
}

/** A camera without a picture for this long is abandoned. */
const NO_FRAMES_MS = 12_000;

/** In-app browsers by a word of their user agent; `blocks`: on Android they never give pages the camera. */
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

/** The app of this in-app browser, or null. @param {string} agent */
export const inAppBrowser = (agent) => IN_APP.find(({ pattern }) => pattern.test(agent))?.name ?? null;

/** Whether this app is known to deny pages the camera. @param {string} agent */
export const blocksCamera = (agent) =>
  /\bAndroid\b/.test(agent) && (IN_APP.find(({ pattern }) => pattern.test(agent))?.blocks ?? false);

/**
 * Whether the page around this one permits the camera (`allow` of the frame, Permissions-Policy). Browsers that do not
 * tell it are taken to permit it.
 */
function isPermittedAround() {
  const { permissionsPolicy, featurePolicy } = /** @type {any} */ (document);
  return (permissionsPolicy ?? featurePolicy)?.allowsFeature?.("camera") !== false;
}

/**
 * Whether a camera can be requested here. It shows no permission prompt.
 * @returns {Promise<{ok: boolean, reason: null|"insecure"|"unsupported"|"in_app_browser"|"embedded"|"no_camera", inAppBrowser: string|null}>}
 */
export async function cameraSupport() {
  const app = inAppBrowser(navigator.userAgent);
  const no = (/** @type {"insecure"|"unsupported"|"in_app_browser"|"embedded"|"no_camera"} */ reason) => ({ ok: false, reason, inAppBrowser: app });
  if (!window.isSecureContext) return no("insecure");
  if (blocksCamera(navigator.userAgent)) return no("in_app_browser");
  if (typeof navigator.mediaDevices?.getUserMedia !== "function") return no(app ? "in_app_browser" : "unsupported");
  if (!isPermittedAround()) return no("embedded");
  try {
    const devices = await navigator.mediaDevices.enumerateDevices();
    if (!devices.some((device) => device.kind === "videoinput")) return no("no_camera");
  } catch {
    // A browser that lists no devices may still have a camera. Only a request shows it.
  }
  return { ok: true, reason: null, inAppBrowser: app };
}

/** The meaning of a failed request. @param {unknown} error @returns {CaptureCode|"constraints"} */
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
 * The constraints to request, best first. Documents need resolution, faces do not. A weak device is not asked for
 * 4K, which it would offer but not sustain. Native sizes are preferred, because browsers otherwise crop the picture
 * to the requested shape.
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
  /** Counts the starts. A stream that arrives after its start was cancelled is stopped. */
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
   * @param {{onChange: () => void, onError: (error: CaptureError) => void}} handlers `onChange`: a picture of a new camera
   *   or size is shown; `onError`: there will be no picture
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

  /** Whether the camera faces its user. */
  get mirrored() {
    const mode = this.#track?.getSettings().facingMode;
    return mode === "user" || (mode === undefined && this.#facing === "user");
  }

  get #track() {
    return this.#stream?.getVideoTracks()[0] ?? null;
  }

  /** The track, while it is live. */
  get track() {
    return this.#track?.readyState === "live" ? this.#track : null;
  }

  /**
   * What the browser says of the camera, for the people who review. A page that a program controls says so.
   * @returns {CameraDescription | null} null: there is none
   */
  describe() {
    const track = this.track;
    if (!track) return null;
    const { width = 0, height = 0, frameRate = 0, deviceId = "" } = track.getSettings();
    return {
      // Half a surrogate pair is no JSON.
      label: track.label.replace(/[\ud800-\udfff]/gu, ""),
      width: Math.round(width),
      height: Math.round(height),
      frameRate,
      device: deviceId !== "",
      automated: navigator.webdriver === true,
    };
  }

  /** Requests the camera and shows its picture. Failures go to `onError`. */
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
      await this.#video.play().catch(() => undefined); // If autoplay is refused, the watchdog notices, and a tap plays.
      if (start === this.#start) this.#onChange();
    } catch (error) {
      if (start === this.#start && !this.#closed) this.#fail(error instanceof CaptureError ? error.code : "no_camera");
    }
  }

  /** @param {() => boolean} calledOff */
  async #ask(calledOff) {
    if (!window.isSecureContext) throw new CaptureError("insecure");
    if (typeof navigator.mediaDevices?.getUserMedia !== "function") throw new CaptureError("no_camera");
    if (!isPermittedAround()) throw new CaptureError("embedded");
    /** @type {CaptureCode} */
    let code = "no_camera";
    for (const video of wishes(this.#facing, this.#deviceId, isStrong())) {
      try {
        return await navigator.mediaDevices.getUserMedia({ video, audio: false });
      } catch (error) {
        const reason = codeOf(error);
        if (reason === "permission_denied" || reason === "insecure" || calledOff()) throw new CaptureError(reason === "constraints" ? "no_camera" : reason);
        if (reason !== "constraints") code = reason;
        // Another page or our previous stream may release it in a moment.
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

  /** The track ended unexpectedly (unplugged, taken by a call): request once more, then give up. */
  #lost() {
    this.#restarts += 1;
    if (document.visibilityState === "hidden") return; // When the page is visible again, it requests the camera again.
    if (this.#restarts > 1) this.#fail("in_use");
    else this.start();
  }

  #visibility = () => {
    if (document.visibilityState === "hidden") this.#hide();
    else if (this.track === null) this.start();
  };

  /** A hidden page stops the camera, which phones would do anyway. */
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

  /** Counts the cameras after one was allowed. */
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

  /** Switches to the next camera. */
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

  /** Releases the camera permanently. */
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
