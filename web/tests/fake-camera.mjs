/**
 * A film for Chromium's fake camera from specimen pictures. It shows each for some seconds, slightly moving as in a hand,
 * one after the other in a loop.
 *
 *   node web/tests/fake-camera.mjs [--desktop] OUT.mjpeg specimens/a.jpg:6 specimens/b.jpg:8 dark:specimens/a.jpg:4 blurred:… empty:4
 *
 * Start Chromium with CAMERA_FLAGS and `--use-file-for-fake-video-capture=OUT.mjpeg`.
 */

import { open, readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

/** Flags that make Chromium use the film as camera without a permission prompt. */
export const CAMERA_FLAGS = ["--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream"];

/** Chromium plays such films at 30 pictures a second. */
const RATE = 30;
/** Different pictures per second; each is repeated to reach that rate. */
const DISTINCT = 10;

/** Sizes of a film for a phone's page and for a desktop's. */
export const PHONE = { width: 900, height: 1800 };
export const DESKTOP = { width: 1600, height: 1200 };

/**
 * @typedef {object} Segment
 * @property {string} [picture] a file; without one, an empty table
 * @property {number} seconds
 * @property {"document"|"selfie"} [kind] a document is in the middle, a selfie fills the picture
 * @property {"dark"|"blurred"|"glare"|"small"|"shaken"} [flaw]
 */

/** Draws one picture of the film; runs in the browser. */
/* c8 ignore start */
async function draw(/** @type {any} */ { source, width, height, turn, kind, flaw }) {
  const canvas = /** @type {any} */ (globalThis).film ?? document.createElement("canvas");
  /** @type {any} */ (globalThis).film = canvas;
  [canvas.width, canvas.height] = [width, height];
  const context = canvas.getContext("2d");
  // A table with a little noise, which is the same in every run.
  context.fillStyle = "#5c5148";
  context.fillRect(0, 0, width, height);
  let seed = 7;
  const random = () => (seed = (seed * 16807) % 2147483647) / 2147483647;
  for (let i = 0; i < 900; i += 1) {
    context.fillStyle = `rgb(0 0 0 / ${0.05 * random()})`;
    context.fillRect(random() * width, random() * height, 40 * random(), 2);
  }
  if (source !== null) {
    const image = await createImageBitmap(await (await fetch(source)).blob());
    const shake = flaw === "shaken" ? 40 : 1.2;
    const [dx, dy] = [shake * Math.sin(turn), shake * Math.cos(turn)];
    // A document fits the page's frame: most of a phone's width, a good half of a desktop's. A selfie fills the height.
    const share = kind === "selfie" ? height / image.height : ((height > width ? 0.92 : 0.6) * width) / image.width;
    const by = flaw === "small" ? share * 0.5 : share;
    if (flaw === "blurred") context.filter = `blur(${width / 160}px)`;
    context.drawImage(image, (width - image.width * by) / 2 + dx, (height - image.height * by) / 2 + dy, image.width * by, image.height * by);
    context.filter = "none";
    image.close();
  }
  if (flaw === "glare") {
    context.fillStyle = "#fff";
    context.beginPath();
    context.ellipse(width * 0.55, height * 0.45, width * 0.06, height * 0.06, 0.4, 0, 7);
    context.fill();
  }
  if (flaw === "dark") {
    context.fillStyle = "rgb(0 0 0 / 0.85)";
    context.fillRect(0, 0, width, height);
  }
  // Chromium reads the full range of luminance as studio range and would stretch it, so it is compressed first.
  context.fillStyle = `rgb(0 0 0 / ${1 - 219 / 255})`;
  context.fillRect(0, 0, width, height);
  context.globalCompositeOperation = "lighter";
  context.fillStyle = "rgb(16 16 16)";
  context.fillRect(0, 0, width, height);
  return canvas.toDataURL("image/jpeg", 0.93).slice("data:image/jpeg;base64,".length);
}
/* c8 ignore stop */

/**
 * Writes the film.
 * @param {string} out
 * @param {Segment[]} segments
 * @param {{width: number, height: number}} [size]
 */
export async function makeFilm(out, segments, { width, height } = PHONE) {
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu", "--disable-quic"] });
  const file = await open(out, "w");
  try {
    const page = await browser.newPage();
    for (const { picture, seconds, kind, flaw } of segments) {
      const source = picture === undefined ? null : `data:image/jpeg;base64,${await readFile(picture, "base64")}`;
      // The hand's movement repeats every second, so only one second is drawn.
      const drawn = [];
      for (let n = 0; n < DISTINCT; n += 1) {
        drawn.push(Buffer.from(await page.evaluate(draw, { source, width, height, turn: (2 * Math.PI * n) / DISTINCT, kind: kind ?? "document", flaw }), "base64"));
      }
      for (let n = 0; n < seconds * RATE; n += 1) await file.write(drawn[Math.floor((n * DISTINCT) / RATE) % DISTINCT]);
    }
  } finally {
    await file.close();
    await browser.close();
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [out, ...wanted] = process.argv.slice(2).filter((text) => text !== "--desktop");
  if (!out || wanted.length === 0) {
    console.error("usage: fake-camera.mjs [--desktop] OUT.mjpeg [dark:|blurred:|glare:|small:|shaken:]PICTURE:SECONDS… (or empty:SECONDS)");
    process.exit(2);
  }
  await makeFilm(
    out,
    wanted.map((text) => {
      const parts = text.split(":");
      const seconds = Number(parts.pop());
      const picture = parts.pop();
      const flaw = /** @type {Segment["flaw"]} */ (parts.pop());
      return { picture: picture === "empty" ? undefined : picture, seconds, kind: picture?.includes("selfie") ? "selfie" : "document", flaw };
    }),
    process.argv.includes("--desktop") ? DESKTOP : PHONE,
  );
}
