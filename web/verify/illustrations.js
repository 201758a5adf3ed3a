// Drawings that show how to take a good picture. Each one corrects two mistakes within five seconds, then stays still.
// Screen readers skip them, because the tips below give the same advice in words.

const WIDTH = 320;
const HEIGHT = 176;
/** The frame of a document, and of a face. */
const FRAME = { x: 66, y: 26, width: 188, height: 124 };
const FACE = { x: 160, y: 82, rx: 50, ry: 64 };

/** @typedef {Record<string, string | number>} Attributes */

/** @param {string} tag @param {Attributes} attributes @param {...SVGElement} children */
function draw(tag, attributes, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  element.append(...children);
  return element;
}

/** @param {string} d @param {string} look class of style.css or illustrations.css */
const path = (d, look) => draw("path", { d, class: look });
/** @param {number} x @param {number} y @param {number} width @param {number} height @param {number} rx @param {string} look */
const box = (x, y, width, height, rx, look) => draw("rect", { x, y, width, height, rx, class: look });
/** @param {string} look @param {...SVGElement} children */
const group = (look, ...children) => draw("g", { class: look }, ...children);

/** Head and shoulders in a box. @param {number} x @param {number} y @param {number} width @param {number} height */
function portrait(x, y, width, height) {
  const middle = x + width / 2;
  return draw(
    "g",
    {},
    box(x, y, width, height, 5, "tone"),
    draw("circle", { cx: middle, cy: y + height * 0.38, r: width * 0.21, class: "ink" }),
    path(`M${x + width * 0.16} ${y + height}c0-${height * 0.3} ${width * 0.14}-${height * 0.4} ${width * 0.34}-${height * 0.4}s${width * 0.34} ${height * 0.1} ${width * 0.34} ${height * 0.4}z`, "ink"),
  );
}

/** Lines of print of these lengths. @param {number} x @param {number} y @param {number[]} lengths */
const print = (x, y, lengths) => path(lengths.map((length, i) => `M${x} ${y + i * 13}h${length}`).join(""), "print");

/** The two lines of the MRZ. @param {number} x @param {number} y @param {number} width */
const mrzLines = (x, y, width) => path(`M${x} ${y}h${width}M${x} ${y + 10}h${width}`, "machine");

/** The printed content of one side. @param {string} type @param {"front" | "back"} side @returns {SVGElement[]} */
function content(type, side) {
  if (type === "PASSPORT") return [portrait(88, 46, 40, 50), print(140, 52, [82, 58, 70, 46]), mrzLines(88, 122, 144)];
  if (side === "back") return [box(78, 42, 164, 18, 0, "ink soft"), print(90, 78, [70, 96]), mrzLines(90, 118, 140)];
  const mark =
    type === "DRIVERS" ? path("M206 62v-6l3-8h16l3 8v6zM206 55h22M211 62v4M223 62v4", "mark")
    : type === "RESIDENCY_CARD" ? path("m204 57 13-12 13 12M208 54v12h18V54", "mark")
    : draw("circle", { cx: 218, cy: 56, r: 9, class: "mark" });
  return [box(78, 38, 164, 12, 0, "tone"), portrait(90, 62, 42, 52), print(146, 70, [44, 78, 60, 70]), mark];
}

/** The four corners of a frame. @param {{x: number, y: number, width: number, height: number}} place */
function corners({ x, y, width, height }) {
  const [right, bottom] = [x + width, y + height];
  return path(
    `M${x} ${y + 22}v-12a10 10 0 0 1 10-10h12M${right - 22} ${y}h12a10 10 0 0 1 10 10v12M${right} ${bottom - 22}v12a10 10 0 0 1-10 10h-12M${x + 22} ${bottom}h-12a10 10 0 0 1-10-10v-12`,
    "frame",
  );
}

/** A cross for the mistakes, then a tick for the good picture. @param {number} x @param {number} y */
const badges = (x, y) => [
  group("badge wrong", draw("circle", { cx: x, cy: y, r: 15 }), path(`M${x - 5} ${y - 5}l10 10M${x + 5} ${y - 5}l-10 10`, "sign")),
  group("badge right", draw("circle", { cx: x, cy: y, r: 15 }), path(`M${x - 6.5} ${y + 0.5}l4.5 4.5 8.5-9`, "sign")),
];

/** @param {...SVGElement} parts */
function example(...parts) {
  const place = document.createElement("div");
  place.className = "hero framed example";
  place.append(draw("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, "aria-hidden": "true" }, ...parts));
  return place;
}

/**
 * A document that is cut off, then reflects light, then lies in the frame.
 * @param {string} type of the document, such as `PASSPORT` @param {"front" | "back"} side
 */
export function documentExample(type, side) {
  const sheet = { x: FRAME.x + 12, y: FRAME.y + 9, width: FRAME.width - 24, height: FRAME.height - 18 };
  const clip = draw("clipPath", { id: "sheet" }, draw("rect", { ...sheet, rx: 9 }));
  const light = draw("g", { "clip-path": "url(#sheet)" }, path(`M${sheet.x + 60} ${sheet.y - 20}h44l-58 160h-44z`, "glare"));
  return example(
    clip,
    group("sheet", box(sheet.x, sheet.y, sheet.width, sheet.height, 9, "paper"), ...content(type, side), light),
    corners(FRAME),
    ...badges(FRAME.x + FRAME.width, FRAME.y + 2),
  );
}

/** A face with sunglasses, then half in the dark, then well lit. */
export function selfieExample() {
  const { x, y, rx, ry } = FACE;
  const clip = draw("clipPath", { id: "face" }, draw("ellipse", { cx: x, cy: y, rx, ry }));
  const person = draw(
    "g",
    { "clip-path": "url(#face)" },
    draw("ellipse", { cx: x, cy: y, rx, ry, class: "paper" }),
    path(`M${x - 60} ${y + 74}c2-26 22-36 60-36s58 10 60 36z`, "tone deep"),
    draw("ellipse", { cx: x, cy: y - 6, rx: 27, ry: 33, class: "skin" }),
    path(`M${x - 28} ${y - 10}c-2-24 12-34 28-34s30 10 28 34c-6-12-16-16-28-16s-22 4-28 16z`, "ink"),
    path(`M${x - 10} ${y - 6}v3M${x + 10} ${y - 6}v3M${x - 8} ${y + 10}c5 4.5 11 4.5 16 0`, "feature"),
    group("glasses", box(x - 22, y - 12, 19, 13, 6, "ink"), box(x + 3, y - 12, 19, 13, 6, "ink"), path(`M${x - 4} ${y - 8}h8`, "feature")),
    box(x, y - ry, rx, ry * 2, 0, "shade"),
  );
  return example(clip, person, draw("ellipse", { cx: x, cy: y, rx, ry, class: "frame" }), ...badges(x + 42, y - 50));
}
