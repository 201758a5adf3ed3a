/** Position of the frame on the screen and in the video behind it. Pure functions. */

/** @import { Rect } from "./measures.js" */
/** @import { Subject } from "./problems.js" */

/** Ratio of width to height: a passport's page (ID-3), a card (ID-1), a sheet of paper, a head. */
const ASPECTS = { passport: 125 / 88, card: 85.6 / 54, paper: 210 / 297, selfie: 0.76 };

/**
 * The frame within the free area of the layout, as close to the picture's centre as possible.
 * @param {Rect} room
 * @param {{width: number, height: number}} whole the picture
 * @param {Subject} subject
 * @param {boolean} turned an upright card or a sheet in landscape
 * @returns {Rect}
 */
export function frameIn(room, whole, { kind, shape }, turned) {
  const natural = ASPECTS[kind === "selfie" ? "selfie" : shape];
  const aspect = turned ? 1 / natural : natural;
  // The margin around the frame must lie within the picture.
  const share = kind === "selfie" ? 0.94 : 0.9;
  const height = Math.min(room.height * 0.98, (room.width * share) / aspect);
  const width = height * aspect;
  const middle = (/** @type {number} */ all, /** @type {number} */ start, /** @type {number} */ free, /** @type {number} */ own) =>
    Math.min(Math.max((all - own) / 2, start), start + free - own);
  return { x: middle(whole.width, room.x, room.width, width), y: middle(whole.height, room.y, room.height, height), width, height };
}

/**
 * A rectangle of the screen in pixels of the video that covers it (`object-fit: cover`).
 * @param {Rect} rect in pixels of the element
 * @param {{width: number, height: number}} element
 * @param {{width: number, height: number}} video
 * @param {boolean} mirrored
 * @returns {Rect}
 */
export function inVideo(rect, element, video, mirrored) {
  const by = Math.max(element.width / video.width, element.height / video.height);
  const x = (rect.x - (element.width - video.width * by) / 2) / by;
  const width = rect.width / by;
  return {
    x: mirrored ? video.width - x - width : x,
    y: (rect.y - (element.height - video.height * by) / 2) / by,
    width,
    height: rect.height / by,
  };
}
