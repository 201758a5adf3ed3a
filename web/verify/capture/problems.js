/**
 * The problems of a picture, from its measures. Only this module has thresholds. Live hints and the check of a finished
 * shot use the same rules, in the order in which problems should be corrected. What the server also finds has the server's
 * failure code.
 */

/** @import { Face, Measures, Rect } from "./measures.js" */

/** The subject of the picture.
 * @typedef {{kind: "document"|"selfie", shape: "passport"|"card"|"paper", side: "front"|"back"}} Subject */

/** A badness of 1 or more is a problem. An existing problem is over below 0.9.
 * @typedef {{code: string, badness: (measures: Measures, subject: Subject) => number}} Rule */

/** @param {boolean} holds */
const when = (holds) => (holds ? 2 : 0);

/** Size of the document as a share of the frame, from a known pair of sides; null if no pair is known.
 * @param {Measures} measures */
function fill({ place }) {
  if (!place) return null;
  const { top, right, bottom, left } = place.sides;
  const spans = [];
  if (left !== null && right !== null) spans.push(1 - left - right);
  if (top !== null && bottom !== null) spans.push(1 - top - bottom);
  return spans.length === 0 ? null : Math.max(...spans);
}

/** Distance from the centre as a share of the frame.
 * @param {Measures} measures */
function offCentre({ place }) {
  if (!place) return 0;
  const { top, right, bottom, left } = place.sides;
  const across = left !== null && right !== null ? Math.abs(left - right) / 2 : 0;
  const down = top !== null && bottom !== null ? Math.abs(top - bottom) / 2 : 0;
  return Math.max(across, down);
}

/** Whether one side is well inside the frame and its opposite is not found, so the document is cut off there.
 * @param {Measures} measures @param {Subject} subject */
function runsOut({ place }, { shape }) {
  if (!place) return false;
  const { top, right, bottom, left } = place.sides;
  const gone = (/** @type {number|null} */ seen, /** @type {number|null} */ opposite) =>
    seen !== null && seen > 0.12 && opposite === null;
  // The top edge of a passport's page is the fold to the page above, which may be invisible.
  return gone(left, right) || gone(right, left) || gone(top, bottom) || (shape !== "passport" && gone(bottom, top));
}

/** The largest face, which counts. @param {Measures} measures @returns {Face|null} */
export function mainFace({ faces }) {
  return faces?.reduce((/** @type {Face|null} */ best, face) => (best && best.width >= face.width ? best : face), null) ?? null;
}

/** Whether a frame was shown. A chosen file has none, so its face may be anywhere. @param {Measures} measures */
const framed = ({ frame }) => frame.width < 1 || frame.height < 1;

/** Height of the face relative to the frame's. @param {Measures} measures */
function faceSize(measures) {
  const face = mainFace(measures);
  return face ? face.height / measures.frame.height : null;
}

/** @type {Rule[]} */
const DOCUMENT = [
  { code: "too_dark", badness: ({ light }) => 70 / Math.max(1, light) },
  // White paper with print, such as a copy, may be overexposed and can still be read.
  { code: "too_bright", badness: ({ burnt, ink }) => burnt / (ink > 0.03 ? 0.9 : 0.5) },
  { code: "no_document", badness: ({ place }) => when(place !== null && !place.present) },
  { code: "back_up", badness: (measures) => (measures.place?.overflows ? 2 : (fill(measures) ?? 0) / 1.1) },
  { code: "closer", badness: (measures) => 0.75 / (fill(measures) ?? 1) },
  { code: "cut_off", badness: (measures, subject) => when(runsOut(measures, subject)) },
  { code: "centre", badness: (measures) => offCentre(measures) / 0.09 },
  { code: "hold_still", badness: ({ motion }) => (motion ?? 0) / 4 },
  { code: "glare", badness: ({ glare }) => glare / 0.008 },
  { code: "blurry", badness: ({ sharpness }) => 0.045 / Math.max(0.001, sharpness) },
  { code: "2511", badness: ({ place }, { shape }) => when(shape === "passport" && place !== null && !place.mrz) },
  { code: "wrong_side", badness: (measures, subject) => when(isWrongSide(measures, subject)) },
];

/**
 * Rules for sides: the front of a card and a passport's page have a portrait. The back of a card has no large portrait.
 * @param {Measures} measures @param {Subject} subject
 */
function isWrongSide(measures, { shape, side }) {
  if (shape === "paper") return false;
  if (measures.faces === null) return false;
  const size = faceSize(measures) ?? 0;
  return side === "front" ? size === 0 : size > 0.3;
}

/** @type {Rule[]} */
const SELFIE = [
  { code: "too_dark", badness: ({ light }) => 60 / Math.max(1, light) },
  { code: "too_bright", badness: ({ burnt }) => burnt / 0.45 },
  { code: "no_face", badness: ({ faces }) => when(faces !== null && faces.length === 0) },
  {
    code: "several_faces",
    badness: (measures) => {
      const main = mainFace(measures);
      const others = measures.faces?.filter((face) => face !== main).map((face) => face.width) ?? [];
      return main ? Math.max(0, ...others) / main.width / 0.4 : 0;
    },
  },
  { code: "face_too_small", badness: (measures) => (framed(measures) ? 0.36 : 0.12) / (faceSize(measures) ?? 1) },
  { code: "back_up", badness: (measures) => (framed(measures) ? (faceSize(measures) ?? 0) / 0.85 : 0) },
  {
    code: "centre",
    badness: (measures) => {
      const face = mainFace(measures);
      if (!face || !framed(measures)) return 0;
      const { frame, aspect } = measures;
      const across = ((face.x + face.width / 2 - frame.x - frame.width / 2) * aspect) / frame.height;
      // The box ends at the brows, so its centre lies below the head's centre.
      const down = (face.y + face.height / 2 - frame.y - frame.height * 0.54) / frame.height;
      return Math.hypot(across, down) / 0.17;
    },
  },
  {
    code: "turn_to_camera",
    badness: (measures) => {
      const face = mainFace(measures);
      return face ? Math.max(Math.abs(face.yaw) / 0.45, Math.abs(face.roll) / 0.45) : 0;
    },
  },
  { code: "hold_still", badness: ({ motion }) => (motion ?? 0) / 6 },
  { code: "blurry", badness: ({ sharpness }) => 0.018 / Math.max(0.0001, sharpness) },
];

/** Every code, for the page's texts and for tests. */
export const CODES = [...new Set([...DOCUMENT, ...SELFIE].map((rule) => rule.code))];

/**
 * The problems of a picture, most urgent first.
 * @param {Measures} measures
 * @param {Subject} subject
 * @param {readonly string[]} [before] the problems of the previous picture, which remain until they are clearly over
 * @returns {string[]}
 */
export function problemsOf(measures, subject, before = []) {
  return (subject.kind === "document" ? DOCUMENT : SELFIE)
    .filter((rule) => rule.badness(measures, subject) >= (before.includes(rule.code) ? 0.9 : 1))
    .map((rule) => rule.code);
}
