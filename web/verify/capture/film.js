/**
 * Takes small JPEGs of the camera's video, as it sees and not mirrored, in the sizes that the liveness challenge accepts.
 * It takes a picture only once, because repeated pictures look like a still.
 */

import { MAX_JPEG_BYTES } from "./frames.js";

/** @typedef {import("./challenge.js").Shot} Shot */

/** The mean interval between frames: 15 a second. */
const INTERVAL_MS = 1000 / 15;
/** The mean interval while answers are slow: 11 a second. Ten suffice, but a busy phone takes some too late. */
const SLOW_INTERVAL_MS = 1000 / 11;
/** The longest assumed interval between two pictures of a camera. */
const MAX_GAP_MS = 70;
/** A camera without a picture for this long has stopped. */
const STALLED_MS = 3000;
const MAX_HEIGHT = 854;
const MIN_WIDTH = 320;

/**
 * The size of the frames and the part of the video in them.
 * @param {number} width @param {number} height of the video
 */
export function frameSize(width, height) {
  const most = height >= width ? 360 : 480;
  const wide = Math.max(MIN_WIDTH, Math.min(most, width, Math.floor((MAX_HEIGHT * width) / height)));
  const high = Math.min(MAX_HEIGHT, Math.round((wide * height) / width));
  const part = (high * width) / wide;
  return { width: wide, height: high, top: Math.max(0, (height - part) / 2), part: Math.min(height, part) };
}

/**
 * The times at which frames are due. A late frame does not delay the next ones, so the mean interval is maintained.
 * Frames that a pause has missed are not made up for.
 */
export function createSchedule() {
  let due = -Infinity;
  return {
    /** Whether this picture is nearer to the due time than the next one. @param {number} now @param {number} gap ms between two pictures */
    isDue: (now, gap) => now + gap / 2 >= due,
    /** The ms until the next frame is due. @param {number} now */
    wait: (now) => Math.max(0, due - now),
    /** A frame was taken. @param {number} now @param {boolean} isSlow frames are answered slowly */
    taken(now, isSlow) {
      const interval = isSlow ? SLOW_INTERVAL_MS : INTERVAL_MS;
      due = Math.max(due, now - interval / 2) + interval;
    },
  };
}

/** @param {HTMLVideoElement} video */
export function createFilm(video) {
  const canvas = document.createElement("canvas");
  const context = canvas.getContext("2d", { alpha: false });
  let quality = 0.7;
  const schedule = createSchedule();
  /** When the last picture of the camera was seen, its number, and the time between two. */
  let picture = -Infinity;
  let pictures = 0;
  let gap = MAX_GAP_MS;

  /** Waits for the picture of the next frame. @returns {Promise<boolean>} false: the camera has stopped */
  const nextPicture = () =>
    new Promise((resolve) => {
      const stalled = setTimeout(() => resolve(false), STALLED_MS);
      const done = () => {
        clearTimeout(stalled);
        resolve(true);
      };
      if ("requestVideoFrameCallback" in video) {
        /** @param {number} now @param {{presentedFrames: number}} camera */
        const seen = (now, { presentedFrames }) => {
          // While a frame is encoded, pictures are missed. An abandoned call may already have seen this one.
          if (presentedFrames > pictures) gap = Math.min((now - picture) / (presentedFrames - pictures), MAX_GAP_MS);
          [pictures, picture] = [presentedFrames, now];
          if (schedule.isDue(now, gap)) done();
          else video.requestVideoFrameCallback(seen);
        };
        video.requestVideoFrameCallback(seen);
      } else setTimeout(done, schedule.wait(performance.now()));
    });

  /** @param {number} value @returns {Promise<Blob | null>} */
  const encode = (value) => new Promise((resolve) => canvas.toBlob(resolve, "image/jpeg", value));

  /** @param {boolean} isSlow frames are answered slowly @returns {Promise<Shot | null>} null: the camera has stopped */
  return async function film(isSlow) {
    if (context === null || !(await nextPicture()) || video.videoWidth === 0 || video.readyState < 2) return null;
    const at = performance.now();
    schedule.taken(at, isSlow);
    const { width, height, top, part } = frameSize(video.videoWidth, video.videoHeight);
    if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
    context.imageSmoothingQuality = "medium";
    context.drawImage(video, 0, top, video.videoWidth, part, 0, 0, width, height);
    let blob = await encode(quality);
    while (blob && blob.size > MAX_JPEG_BYTES && quality > 0.05) {
      quality *= 0.85;
      blob = await encode(quality);
    }
    if (!blob || blob.size > MAX_JPEG_BYTES) return null;
    // Better when there is room, with a reserve for the next picture.
    if (blob.size < 0.75 * MAX_JPEG_BYTES) quality = Math.min(0.85, quality + 0.02);
    return { jpeg: new Uint8Array(await blob.arrayBuffer()), width, height, at };
  };
}
