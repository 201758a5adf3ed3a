// Has pictures of documents read before they are submitted, so that a person confirms what a document says instead of
// typing it, and learns of a useless picture before it costs an attempt. A reading that fails changes nothing: the person
// goes on without it.
import * as api from "./api.js";
import * as app from "./app.js";
import { boot } from "./boot.js";
import * as flow from "./flow.js";

/** @typedef {import("./flow.js").Reading} Reading */

/** The page's word for a hint of the server. @type {Record<string, string>} */
const PROBLEMS = {
  other_side: "wrong_side",
  screen: "screen",
  photocopy: "photocopy",
  blurred: "blurry",
  glare: "glare",
  too_dark: "too_dark",
  too_small: "closer",
  cut_off: "cut_off",
};

/** Hints that count even if everything could be read. */
const ALWAYS = ["other_side", "screen", "photocopy"];
/** The page's words for pictures that the server may accept all the same. */
const SOFT = ["screen", "photocopy"];

/** By the picture's bytes. @type {WeakMap<Blob, Promise<boolean>>} */
const running = new WeakMap();

/** Whether a picture of this side is read, and was not yet. @param {flow.Side} side @param {flow.Picture} picture */
export const isDue = (side, picture) => side !== "selfie" && !boot.rehearsal && picture.reading === undefined;

/**
 * Has a picture read, once. Resolves when its reading is known or failed; to false if the session is over.
 * @param {flow.Side} side @param {flow.Picture} picture @returns {Promise<boolean>}
 */
export function read(side, picture) {
  const { blob } = picture;
  const started = running.get(blob) ?? start(side, picture).finally(() => running.delete(blob));
  running.set(blob, started);
  return started;
}

/** @param {flow.Side} side @param {flow.Picture} picture */
async function start(side, picture) {
  const work = app.currentWork();
  const { blob } = picture;
  const form = new FormData();
  form.append("documentCountry", work.country);
  const other = work.pictures[side === "front" ? "back" : "front"]?.reading;
  if (other?.readingId && other.file === flow.fileField(work.type, side === "front" ? "back" : "front")) form.append("otherSide", other.readingId);
  const field = flow.fileField(work.type, side);
  form.append(field, blob, `${field}.${blob.type === "application/pdf" ? "pdf" : "jpg"}`);
  /** @type {Reading | null} */
  let reading = null;
  try {
    reading = { ...(await api.reading(form)), file: field, at: Date.now() };
  } catch (error) {
    if (app.currentWork() === work && error instanceof api.ApiError && error.status === 401) {
      await app.finish("expired");
      return false;
    }
  }
  // Another session began meanwhile.
  if (app.currentWork() !== work) return false;
  // The person chose another picture or page meanwhile.
  if (work.pictures[side] !== picture || picture.blob !== blob) return true;
  picture.reading = reading;
  flow.adopt(app.facts(), work);
  // A picture is doubted once, however many find fault with it.
  if (isPoor(picture) && !picture.problems.length) work.doubts[side] = (work.doubts[side] ?? 0) + 1;
  await app.saveNow();
  return true;
}

/** The page's words for what a better picture would avoid. @param {flow.Picture} picture @returns {string[]} */
export function problems({ reading }) {
  if (!reading) return [];
  const hints = reading.codes.length ? reading.hints : reading.hints.filter((hint) => ALWAYS.includes(hint));
  return hints.flatMap((hint) => PROBLEMS[hint] ?? []);
}

/** Whether a reading found something to correct. @param {flow.Picture} picture */
export const isPoor = (picture) => Boolean(picture.reading?.codes.length) || problems(picture).length > 0;

/** Whether the server may accept a picture all the same. @param {flow.Picture} picture */
export const isSoft = (picture) => !picture.reading?.codes.length && !picture.problems.length && problems(picture).every((word) => SOFT.includes(word));
