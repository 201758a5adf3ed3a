/**
 * Makes the final picture from the camera's best frame or a chosen file: upright, cropped to its frame, without metadata,
 * as a JPEG that the server accepts. It reports problems of a picture but never refuses one.
 */

import { findFaces, loadFaces } from "./faces.js";
import { grey, measure, sharpness } from "./measures.js";
import { problemsOf } from "./problems.js";
import { sniff } from "./sniff.js";

/** @import { Measures, Pixels, Rect } from "./measures.js" */
/** @import { Subject } from "./problems.js" */

/**
 * @typedef {object} Shot
 * @property {Blob} blob a JPEG; a chosen PDF is unchanged
 * @property {number} width 0 for a PDF
 * @property {number} height 0 for a PDF
 * @property {Measures|null} measures null for a PDF
 * @property {string[]} problems codes, most urgent first
 * @property {"camera"|"file"} source
 */

/** Maximum long side of the final picture. */
const MAX_SIDE = 4000;
/** The server accepts 10 MB per file. */
const MAX_BYTES = 9_500_000;
const QUALITY = 0.92;
/** The long side at which pictures are measured. */
export const MEASURED_SIDE = 960;
/** Maximum number of pixels to decode. More would crash a phone's browser. */
const MAX_PIXELS = 100_000_000;
/** A video with this short side is as good as a photo, and shows what the applicant saw. */
const FINE_ENOUGH = 1000;

/** How long a chosen selfie waits for the face model. Without it, nothing is said of its faces. */
const MODEL_MS = 10_000;

/** Why a chosen file cannot be used. */
export class FileError extends Error {
  /** @param {"heic"|"unreadable"|"too_large"|"unsupported_file"|"empty_file"} code */
  constructor(code) {
    super(code);
    this.name = "FileError";
    this.code = code;
  }
}

/** @param {number} width @param {number} height @param {boolean} [read] @returns {{canvas: HTMLCanvasElement, context: CanvasRenderingContext2D}} */
export function blank(width, height, read = false) {
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(1, Math.round(width));
  canvas.height = Math.max(1, Math.round(height));
  const context = canvas.getContext("2d", { willReadFrequently: read, alpha: false });
  if (context === null) throw new FileError("too_large");
  context.imageSmoothingQuality = "high";
  return { canvas, context };
}

/** A part of a picture, scaled down to at most `side`. @param {CanvasImageSource} source @param {Rect} part @param {number} side @param {boolean} [read] */
export function cut(source, part, side, read = false) {
  const by = Math.min(1, side / Math.max(part.width, part.height));
  const made = blank(part.width * by, part.height * by, read);
  const { canvas, context } = made;
  context.fillStyle = "#fff";
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(source, part.x, part.y, part.width, part.height, 0, 0, canvas.width, canvas.height);
  return made;
}

/** @param {HTMLCanvasElement} canvas @returns {Pixels} at the size for measuring */
function measuredPixels(canvas) {
  const small = cut(canvas, { x: 0, y: 0, width: canvas.width, height: canvas.height }, MEASURED_SIDE, true);
  return small.context.getImageData(0, 0, small.canvas.width, small.canvas.height);
}

/** @param {HTMLCanvasElement} canvas @param {Rect|null} frame @param {Subject} subject @returns {Promise<Measures>} */
async function measured(canvas, frame, subject) {
  const { measures } = measure(measuredPixels(canvas), frame, subject.kind, null);
  return { ...measures, faces: await findFaces(canvas, canvas.width, canvas.height) };
}

/** @param {HTMLCanvasElement} canvas @returns {Promise<Blob>} */
async function jpeg(canvas) {
  for (let picture = canvas, quality = QUALITY; ; quality -= 0.12) {
    const blob = await new Promise((/** @type {(blob: Blob|null) => void} */ resolve) => picture.toBlob(resolve, "image/jpeg", quality));
    if (blob === null) throw new FileError("unreadable");
    if (blob.size <= MAX_BYTES || quality < 0.5) return blob;
  }
}

/** @param {HTMLCanvasElement} canvas @param {Rect|null} frame @param {Subject} subject @param {"camera"|"file"} source @returns {Promise<Shot>} */
async function shotOf(canvas, frame, subject, source) {
  const [blob, measures] = await Promise.all([jpeg(canvas), measured(canvas, frame, subject)]);
  return { blob, width: canvas.width, height: canvas.height, measures, problems: problemsOf(measures, subject), source };
}

/** @param {Rect} rect @param {{width: number, height: number}} bounds @returns {Rect} */
export function clipped(rect, bounds) {
  const x = Math.max(0, rect.x);
  const y = Math.max(0, rect.y);
  return {
    x,
    y,
    width: Math.min(bounds.width, rect.x + rect.width) - x,
    height: Math.min(bounds.height, rect.y + rect.height) - y,
  };
}

/** A frame with its margin within the picture, and the frame's position in it as shares.
 * @param {Rect} frame in pixels @param {number} margin as a share of the frame's shorter side @param {{width: number, height: number}} bounds
 * @returns {{part: Rect, frame: Rect}} */
export function withMargin(frame, margin, bounds) {
  const by = margin * Math.min(frame.width, frame.height);
  const part = clipped({ x: frame.x - by, y: frame.y - by, width: frame.width + 2 * by, height: frame.height + 2 * by }, bounds);
  return {
    part,
    frame: {
      x: (frame.x - part.x) / part.width,
      y: (frame.y - part.y) / part.height,
      width: frame.width / part.width,
      height: frame.height / part.height,
    },
  };
}

/** Margin around the frame. @param {Subject} subject */
export const marginOf = (subject) => (subject.kind === "document" ? 0.14 : 0.3);

/** A photo, if the browser reliably takes a finer one than its video: Chrome on Android.
 * @param {MediaStreamTrack} track @param {HTMLVideoElement} video @returns {Promise<ImageBitmap|null>} */
async function photo(track, video) {
  const ImageCapture = /** @type {{ImageCapture?: new (track: MediaStreamTrack) => {takePhoto(): Promise<Blob>}}} */ (/** @type {unknown} */ (window)).ImageCapture;
  const wanted = Math.min(video.videoWidth, video.videoHeight) < FINE_ENOUGH && /\bAndroid\b.*\bChrome\//.test(navigator.userAgent);
  if (!wanted || ImageCapture === undefined) return null;
  try {
    const late = new Promise((/** @type {(none: null) => void} */ resolve) => setTimeout(() => resolve(null), 3000));
    const blob = await Promise.race([new ImageCapture(track).takePhoto(), late]);
    const bitmap = blob && (await createImageBitmap(blob));
    return bitmap && bitmap.width > bitmap.height === video.videoWidth > video.videoHeight ? bitmap : null;
  } catch {
    return null;
  }
}

/** Position of a video rectangle in a photo of the same camera. The video is the photo's centre, cropped.
 * @param {Rect} rect @param {{width: number, height: number}} video @param {{width: number, height: number}} picture @returns {Rect} */
export function inPhoto(rect, video, picture) {
  const by = Math.min(picture.width / video.width, picture.height / video.height);
  return {
    x: rect.x * by + (picture.width - video.width * by) / 2,
    y: rect.y * by + (picture.height - video.height * by) / 2,
    width: rect.width * by,
    height: rect.height * by,
  };
}

/**
 * The camera's best picture now: the sharpest of three frames, or a photo if it is sharper.
 * @param {HTMLVideoElement} video @param {MediaStreamTrack|null} track
 * @param {Rect} frame in pixels of the video
 * @param {Subject} subject
 * @returns {Promise<Shot>}
 */
export async function takeStill(video, track, frame, subject) {
  const size = { width: video.videoWidth, height: video.videoHeight };
  const own = withMargin(frame, marginOf(subject), size);
  const pixels = (/** @type {HTMLCanvasElement} */ canvas) => {
    const image = grey(measuredPixels(canvas));
    return sharpness(image, { x: 0, y: 0, width: image.width, height: image.height });
  };
  let best = { ...own, canvas: cut(video, own.part, MAX_SIDE).canvas };
  let sharpest = pixels(best.canvas);
  for (let n = 1; n < 3; n += 1) {
    await new Promise((resolve) => setTimeout(resolve, 70));
    if (video.videoWidth !== size.width) break; // After a rotation only the first frame matches the shown frame.
    const { canvas } = cut(video, own.part, MAX_SIDE);
    const sharp = pixels(canvas);
    if (sharp > sharpest) [best, sharpest] = [{ ...own, canvas }, sharp];
  }
  const finer = track && (await photo(track, video));
  if (finer) {
    const within = withMargin(inPhoto(frame, size, finer), marginOf(subject), finer);
    const { canvas } = cut(finer, within.part, MAX_SIDE);
    if (pixels(canvas) > sharpest * 0.8 && within.part.width > best.part.width) best = { ...within, canvas };
    finer.close();
  }
  return shotOf(best.canvas, best.frame, subject, "camera");
}

/** @param {Blob} file @returns {Promise<HTMLCanvasElement|null>} upright and within the size limit; null for a PDF */
async function opened(file) {
  if (file.size === 0) throw new FileError("empty_file");
  const { type, width, height } = sniff(new Uint8Array(await file.slice(0, 262_144).arrayBuffer()));
  if (type === "pdf") return null;
  if (width * height > MAX_PIXELS) throw new FileError("too_large");
  let bitmap;
  try {
    bitmap = await createImageBitmap(file);
  } catch {
    // Only Apple's own browsers read HEIC.
    throw new FileError(type === "heic" ? "heic" : type === null ? "unsupported_file" : "unreadable");
  }
  const { canvas } = cut(bitmap, { x: 0, y: 0, width: bitmap.width, height: bitmap.height }, MAX_SIDE);
  bitmap.close();
  return canvas;
}

/** The checks of a chosen file: light, glare, sharpness and a selfie's face, but no frame and no side.
 * @param {"document"|"selfie"} kind @returns {Subject} */
const fileSubject = (kind) => ({ kind, shape: "paper", side: "front" });

/**
 * A chosen file as a shot: upright, at most 4000 px, without metadata. A PDF is unchanged.
 * @param {Blob} file @param {"document"|"selfie"} kind @returns {Promise<Shot>} rejects with FileError
 */
export async function prepareFile(file, kind) {
  const model = kind === "selfie" ? loadFaces() : null;
  const canvas = await opened(file);
  if (canvas === null) return { blob: file, width: 0, height: 0, measures: null, problems: [], source: "file" };
  if (model) await Promise.race([model, new Promise((resolve) => setTimeout(resolve, MODEL_MS))]);
  return shotOf(canvas, null, fileSubject(kind), "file");
}

/** The measures of a chosen file; null for a PDF. @param {Blob} file @param {"document"|"selfie"} kind @returns {Promise<Measures|null>} */
export async function measureFile(file, kind) {
  const canvas = await opened(file);
  return canvas && measured(canvas, null, fileSubject(kind));
}

/** Whether a picture is good enough. @param {Shot|Blob} shot @param {"document"|"selfie"} kind @returns {Promise<{ok: boolean, problems: string[]}>} */
export async function checkShot(shot, kind) {
  const problems = shot instanceof Blob ? (await prepareFile(shot, kind)).problems : shot.problems;
  return { ok: problems.length === 0, problems };
}
