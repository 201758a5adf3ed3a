/** Tests measures and their rules on drawn pictures, hints over time, frames, files and user agents. */

import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import test from "node:test";

import { blocksCamera, inAppBrowser, wishes } from "../verify/capture/camera.js";
import { frameIn, inVideo } from "../verify/capture/geometry.js";
import { createGuide, HOLD_MS, SETTLE_MS, STEADY, STEADY_MS } from "../verify/capture/guidance.js";
import { glare, grey, light, measure, motion, sharpness, shrunk, thumbnail } from "../verify/capture/measures.js";
import { CODES, problemsOf } from "../verify/capture/problems.js";
import { sniff } from "../verify/capture/sniff.js";

/** @typedef {import("../verify/capture/measures.js").Pixels} Pixels */
/** @typedef {import("../verify/capture/measures.js").Rect} Rect */
/** @typedef {import("../verify/capture/problems.js").Subject} Subject */

const [WIDTH, HEIGHT] = [640, 460];
const FRAME = { x: 0.1, y: 0.1, width: 0.8, height: 0.8 };

/** Pseudo-random numbers that are the same in every run. */
function noise() {
  let seed = 11;
  return () => (seed = (seed * 16807) % 2147483647) / 2147483647;
}

/** @param {number} value @returns {Pixels} */
function blank(value) {
  const data = new Uint8ClampedArray(WIDTH * HEIGHT * 4).fill(value);
  return { width: WIDTH, height: HEIGHT, data };
}

/** @param {Pixels} picture @param {Rect} rect @param {number} value */
function fill({ width, height, data }, rect, value) {
  for (let y = Math.max(0, Math.round(rect.y)); y < Math.min(height, rect.y + rect.height); y += 1) {
    for (let x = Math.max(0, Math.round(rect.x)); x < Math.min(width, rect.x + rect.width); x += 1) {
      data.fill(value, (y * width + x) * 4, (y * width + x) * 4 + 3);
    }
  }
}

/**
 * A page with lines of print on a table, and two dense lines at its bottom.
 * @param {{x?: number, y?: number, scale?: number, paper?: number, ink?: number, table?: number, mrz?: boolean}} [how]
 *   `x`, `y`: moved by, `scale`: of the frame
 */
function page({ x = 0, y = 0, scale = 0.94, paper = 210, ink = 40, table = 90, mrz = true } = {}) {
  const picture = blank(table);
  const [width, height] = [WIDTH * FRAME.width * scale, HEIGHT * FRAME.height * scale];
  const [left, top] = [(WIDTH - width) / 2 + x, (HEIGHT - height) / 2 + y];
  fill(picture, { x: left, y: top, width, height }, paper);
  const random = noise();
  for (let row = 0.12; row < 0.68; row += 0.1) {
    for (let at = 0.1; at < 0.85; at += 0.02) {
      if (random() < 0.6) fill(picture, { x: left + at * width, y: top + row * height, width: 3, height: 9 }, ink);
    }
  }
  for (const row of mrz ? [0.8, 0.88] : []) {
    for (let at = 0.04; at < 0.96; at += 0.02) fill(picture, { x: left + at * width, y: top + row * height, width: 4, height: 9 }, ink);
  }
  return picture;
}

/** @param {Pixels} picture @param {number} radius */
function blurred(picture, radius) {
  const { width, height, data } = picture;
  const out = new Uint8ClampedArray(data);
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) {
      let [sum, count] = [0, 0];
      for (let v = Math.max(0, y - radius); v <= Math.min(height - 1, y + radius); v += 1) {
        for (let u = Math.max(0, x - radius); u <= Math.min(width - 1, x + radius); u += 1) {
          sum += data[(v * width + u) * 4];
          count += 1;
        }
      }
      out.fill(sum / count, (y * width + x) * 4, (y * width + x) * 4 + 3);
    }
  }
  return { width, height, data: out };
}

/** @param {Pixels} picture @param {number} strength */
function grainy(picture, strength) {
  const random = noise();
  const data = picture.data.map((value) => value + (random() - 0.5) * 2 * strength);
  return { ...picture, data };
}

/** @param {Pixels} picture @param {number} by */
const dimmed = (picture, by) => ({ ...picture, data: picture.data.map((value) => value * by) });

/** @param {Pixels} picture @param {Rect} rect */
function withSpot(picture, rect) {
  const [rx, ry] = [rect.width / 2, rect.height / 2];
  for (let y = rect.y; y < rect.y + rect.height; y += 1) {
    for (let x = rect.x; x < rect.x + rect.width; x += 1) {
      if (((x - rect.x - rx) / rx) ** 2 + ((y - rect.y - ry) / ry) ** 2 < 1) fill(picture, { x, y, width: 1, height: 1 }, 255);
    }
  }
  return picture;
}

/** @type {Subject} */
const PASSPORT = { kind: "document", shape: "passport", side: "front" };
/** @type {Subject} */
const PAPER = { kind: "document", shape: "paper", side: "front" };
/** @type {Subject} */
const SELFIE = { kind: "selfie", shape: "card", side: "front" };

/** @param {Pixels} picture @param {Subject} [subject] */
const found = (picture, subject = PASSPORT) => problemsOf(measure(picture, FRAME, subject.kind, null).measures, subject);

const DOCUMENTS = /** @type {[string, Pixels, string|null][]} */ ([
  ["a page in its frame", page(), null],
  ["a grainy page", grainy(page(), 6), null],
  ["a pale page on a pale table", page({ table: 180 }), null],
  ["a dark page", page({ paper: 100, ink: 220, table: 160 }), null],
  ["a little off the middle", page({ x: 15, y: -10 }), null],
  ["a table", blank(120), "no_document"],
  ["a grainy table", grainy(blank(120), 6), "no_document"],
  ["a sheet without print", page({ ink: 210 }), "no_document"],
  ["night", dimmed(page(), 0.15), "too_dark"],
  ["no picture at all", blank(0), "too_dark"],
  ["washed out", blank(255), "too_bright"],
  ["far away", page({ scale: 0.6 }), "closer"],
  ["near", page({ scale: 1.16 }), "back_up"],
  ["so near that no side is seen", page({ scale: 1.9 }), "back_up"],
  ["to one side", page({ x: 60, scale: 0.8 }), "centre"],
  ["out of the picture", page({ x: 160 }), "cut_off"],
  ["a reflection", withSpot(page(), { x: 300, y: 180, width: 70, height: 50 }), "glare"],
  ["out of focus", blurred(page(), 8), "blurry"],
  ["a page without machine print", page({ mrz: false }), "2511"],
  ["an overexposed copy that can be read", page({ paper: 255, ink: 90 }), null],
  ["an overexposed page whose print is pale", page({ paper: 255, ink: 225 }), "too_bright"],
]);

for (const [name, picture, expected] of DOCUMENTS) {
  test(`document: ${name} → ${expected ?? "good"}`, () => assert.equal(found(picture)[0] ?? null, expected));
}

test("paper needs no machine print", () => assert.deepEqual(found(page({ mrz: false }), PAPER), []));

test("a speck, the white of the paper and white ground under print are no glare", () => {
  const area = { x: 0, y: 0, width: WIDTH, height: HEIGHT };
  assert.equal(glare(grey(withSpot(page(), { x: 300, y: 180, width: 6, height: 6 })), area), 0);
  assert.equal(glare(grey(page({ paper: 255 })), area), 0);
  const striped = page();
  fill(striped, { x: 80, y: 300, width: 480, height: 90 }, 255);
  assert.ok(glare(grey(striped), area) > 0.05);
  for (let x = 90; x < 550; x += 12) fill(striped, { x, y: 320, width: 4, height: 12 }, 30);
  assert.equal(glare(grey(striped), area), 0);
});

test("sharpness falls with blur, and neither noise nor dim light lifts it", () => {
  const area = { x: 0, y: 0, width: WIDTH, height: HEIGHT };
  const of = (/** @type {Pixels} */ picture) => sharpness(grey(picture), area);
  const falling = [0, 1, 2, 4, 8].map((radius) => of(blurred(page(), radius)));
  assert.deepEqual([...falling].sort((a, b) => b - a), falling);
  assert.ok(of(grainy(blurred(page(), 6), 6)) < 0.06);
  const ratio = of(dimmed(page(), 0.5)) / of(page());
  assert.ok(ratio > 0.8 && ratio < 1.25, `${ratio}`);
});

test("motion counts movement, not a change of light", () => {
  const of = (/** @type {Pixels} */ a, /** @type {Pixels} */ b) => motion(thumbnail(grey(a)), thumbnail(grey(b)));
  assert.equal(of(page(), page()), 0);
  assert.ok(of(page(), page({ x: 2 })) < 4);
  assert.ok(of(page(), page({ x: 30 })) > 4);
  assert.ok(of(blank(100), blank(140)) < 1);
  assert.equal(motion(thumbnail(grey(page())), shrunk(grey(page()), 3, 3)), 255);
});

test("light is what the brightest tenth reaches", () => {
  const picture = blank(50);
  fill(picture, { x: 0, y: 0, width: WIDTH, height: HEIGHT / 5 }, 200);
  assert.deepEqual(light(grey(picture), { x: 0, y: 0, width: WIDTH, height: HEIGHT }), { light: 200, burnt: 0 });
});

test("a picture of any size is measured without a fault", () => {
  for (const [width, height] of [[1, 1], [3, 2], [40, 1], [17, 300]]) {
    const picture = { width, height, data: new Uint8ClampedArray(width * height * 4).fill(90) };
    for (const kind of /** @type {("document"|"selfie")[]} */ (["document", "selfie"])) {
      assert.ok(Number.isFinite(measure(picture, FRAME, kind, null).measures.sharpness));
      assert.ok(Number.isFinite(measure(picture, null, kind, null).measures.light));
    }
  }
});

/** Good measures of a selfie with one face in the middle. @param {Partial<import("../verify/capture/measures.js").Measures>} [other] */
const selfie = (other = {}) => ({
  light: 180,
  burnt: 0,
  ink: 0.2,
  glare: 0,
  sharpness: 0.2,
  motion: 1,
  place: null,
  faces: [face()],
  frame: { x: 0.2, y: 0.1, width: 0.6, height: 0.8 },
  aspect: 1,
  ...other,
});
/** @param {Partial<import("../verify/capture/measures.js").Face>} [other] */
const face = (other = {}) => ({ x: 0.3, y: 0.33, width: 0.4, height: 0.4, score: 0.9, yaw: 0, roll: 0, ...other });

const SELFIES = /** @type {[string, Partial<import("../verify/capture/measures.js").Measures>, string|null][]} */ ([
  ["one face in the oval", {}, null],
  ["no model", { faces: null }, null],
  ["nobody", { faces: [] }, "no_face"],
  ["two people", { faces: [face(), face({ x: 0, y: 0, width: 0.3, height: 0.3 })] }, "several_faces"],
  ["somebody in the background", { faces: [face({ x: 0, y: 0, width: 0.1, height: 0.1 }), face()] }, null],
  ["far away", { faces: [face({ x: 0.4, y: 0.45, width: 0.2, height: 0.2 })] }, "face_too_small"],
  ["too near", { faces: [face({ x: 0.1, y: 0.1, width: 0.8, height: 0.8 })] }, "back_up"],
  ["to one side", { faces: [face({ x: 0.05 })] }, "centre"],
  ["looking away", { faces: [face({ yaw: 0.7 })] }, "turn_to_camera"],
  ["tilted", { faces: [face({ roll: -0.6 })] }, "turn_to_camera"],
  ["in the dark", { light: 30 }, "too_dark"],
  ["against the sun", { burnt: 0.6 }, "too_bright"],
  ["moving", { motion: 12 }, "hold_still"],
  ["out of focus", { sharpness: 0.005 }, "blurry"],
  ["a small face in a chosen file", { frame: { x: 0, y: 0, width: 1, height: 1 }, faces: [face({ x: 0.7, width: 0.2, height: 0.2 })] }, null],
]);

for (const [name, measures, expected] of SELFIES) {
  test(`selfie: ${name} → ${expected ?? "good"}`, () => assert.equal(problemsOf(selfie(measures), SELFIE)[0] ?? null, expected));
}

test("the portrait tells a card's sides apart", () => {
  const { measures } = measure(page(), FRAME, "document", null);
  const portrait = face({ x: 0.1, y: 0.3, width: 0.2, height: 0.3 });
  const of = (/** @type {"front"|"back"} */ side, /** @type {any} */ faces) => problemsOf({ ...measures, faces }, { kind: "document", shape: "card", side });
  assert.deepEqual(of("front", [portrait]), []);
  assert.deepEqual(of("front", []), ["wrong_side"]);
  assert.deepEqual(of("front", null), []);
  assert.deepEqual(of("back", [portrait]), ["wrong_side"]);
  assert.deepEqual(of("back", []), []);
});

test("a problem stays until it is clearly gone", () => {
  const nearly = selfie({ motion: 5.7 });
  assert.deepEqual(problemsOf(nearly, SELFIE), []);
  assert.deepEqual(problemsOf(nearly, SELFIE, ["hold_still"]), ["hold_still"]);
  assert.deepEqual(problemsOf(selfie({ motion: 5 }), SELFIE, ["hold_still"]), []);
});

test("every code has a hint in every language", async () => {
  const folder = new URL("../locales/", import.meta.url);
  for (const name of await readdir(folder)) {
    const texts = JSON.parse(await readFile(new URL(name, folder), "utf8"));
    for (const code of [...CODES, STEADY, "press"]) assert.ok(texts[/^\d/.test(code) ? `code.${code}.title` : `hint.${code}`], `${name}: ${code}`);
  }
});

test("a hint is held for a second, and flicker is not shown", () => {
  const guide = createGuide();
  assert.equal(guide.update(["closer"], 0).hint, "closer");
  assert.equal(guide.update(["blurry"], 400).hint, "closer");
  assert.equal(guide.update(["blurry"], HOLD_MS - 1).hint, "closer");
  assert.equal(guide.update(["blurry"], HOLD_MS).hint, "blurry");
  // A problem of only one picture is never shown.
  assert.equal(guide.update(["glare"], 3000).hint, "blurry");
  assert.equal(guide.update(["blurry"], 3000 + SETTLE_MS).hint, "blurry");
});

test("the shutter fills while all is well, and anew after a fault, a gap or a reset", () => {
  const guide = createGuide();
  const at = (/** @type {number} */ now, /** @type {string[]} */ problems = []) => guide.update(problems, now).progress;
  assert.equal(at(0), 0);
  assert.equal(at(STEADY_MS / 2), 0.5);
  assert.equal(at(STEADY_MS), 1);
  at(STEADY_MS + 100, ["glare"]);
  assert.equal(at(STEADY_MS + 100 + SETTLE_MS, ["glare"]), 0);
  assert.equal(at(STEADY_MS + 200 + SETTLE_MS), 0);
  assert.equal(at(STEADY_MS + 5000), 0);
  guide.update([], STEADY_MS + 5400);
  guide.reset();
  assert.equal(at(STEADY_MS + 5900), 0);
});

test("a problem that flickers pauses the shutter; one that stays restarts it", () => {
  const guide = createGuide();
  const at = (/** @type {number} */ now, /** @type {string[]} */ problems = []) => guide.update(problems, now).progress;
  at(0);
  assert.equal(at(400), 0.5);
  // The time up to a flawed picture does not count.
  assert.equal(at(500, ["2511"]), 0.5);
  assert.equal(at(600), 0.625);
  assert.equal(at(900), 1);
  // Even if enough time has passed, nothing is released on a flawed picture.
  assert.ok(at(1000, ["2511"]) < 1);
  assert.ok(at(1100 + SETTLE_MS, ["2511"]) === 0);
  assert.equal(at(1200 + SETTLE_MS), 0);
  assert.equal(at(1600 + SETTLE_MS), 0.5);
  // Every other picture is flawed: it takes twice as long.
  const slow = createGuide();
  const released = Array.from({ length: 40 }, (_, n) => 100 * n).find((now) => slow.update(now % 200 ? ["2511"] : [], now).progress === 1);
  assert.equal(released, 2 * STEADY_MS);
});

test("frames keep their shape and stay in their room", () => {
  const shapes = /** @type {[Subject, number][]} */ ([
    [PASSPORT, 125 / 88],
    [{ ...PASSPORT, shape: "card" }, 85.6 / 54],
    [PAPER, 210 / 297],
    [SELFIE, 0.76],
  ]);
  for (const [subject, aspect] of shapes) {
    for (const [width, height] of [[360, 480], [1200, 500], [300, 160]]) {
      for (const turned of [false, true]) {
        const frame = frameIn({ x: 10, y: 20, width, height }, { width: 400, height: 700 }, subject, turned);
        const ratio = frame.width / frame.height;
        assert.ok(Math.abs(ratio - (turned ? 1 / aspect : aspect)) < 1e-9);
        assert.ok(frame.x >= 10 && frame.y >= 20 && frame.x + frame.width <= 10 + width && frame.y + frame.height <= 20 + height);
      }
    }
  }
});

test("a place on the screen is found in the video behind it", () => {
  const rect = { x: 100, y: 200, width: 50, height: 20 };
  // A wide video on a tall screen, which hides the video's sides.
  assert.deepEqual(inVideo(rect, { width: 400, height: 800 }, { width: 1600, height: 1600 }, false), { x: 600, y: 400, width: 100, height: 40 });
  assert.deepEqual(inVideo(rect, { width: 400, height: 800 }, { width: 1600, height: 1600 }, true), { x: 900, y: 400, width: 100, height: 40 });
});

test("files are told apart by their first bytes", () => {
  const bytes = (/** @type {(number|string)[]} */ ...parts) =>
    new Uint8Array(parts.flatMap((part) => (typeof part === "string" ? [...part].map((letter) => letter.charCodeAt(0)) : [part])));
  const cases = /** @type {[Uint8Array, ReturnType<typeof sniff>][]} */ ([
    [bytes(), { type: null, width: 0, height: 0 }],
    [bytes("hello"), { type: null, width: 0, height: 0 }],
    [bytes(0xff, 0xd8, 0xff, 0xe0, 0, 4, 0, 0, 0xff, 0xc0, 0, 17, 8, 1, 0, 2, 0), { type: "jpeg", width: 512, height: 256 }],
    [bytes(0xff, 0xd8, 0xff, 0xe0), { type: "jpeg", width: 0, height: 0 }],
    [bytes(0x89, "PNG", 13, 10, 26, 10, 0, 0, 0, 13, "IHDR", 0, 1, 0, 0, 0, 0, 0, 5), { type: "png", width: 65_536, height: 5 }],
    [bytes("RIFF", 0, 0, 0, 0, "WEBP"), { type: "webp", width: 0, height: 0 }],
    [bytes(0, 0, 0, 24, "ftypheic"), { type: "heic", width: 0, height: 0 }],
    [bytes(0, 0, 0, 24, "ftypavif"), { type: "avif", width: 0, height: 0 }],
    [bytes("\n%PDF-1.7"), { type: "pdf", width: 0, height: 0 }],
  ]);
  for (const [file, expected] of cases) assert.deepEqual(sniff(file), expected);
});

test("browsers inside other apps are known by their user agent", () => {
  const phone = "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko)";
  const android = "Mozilla/5.0 (Linux; Android 14; Pixel 8; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/125.0 Mobile Safari/537.36";
  const cases = /** @type {[string, string|null, boolean][]} */ ([
    [`${phone} Version/17.5 Mobile/15E148 Safari/604.1`, null, false],
    ["Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/125.0 Mobile Safari/537.36", null, false],
    ["Mozilla/5.0 (Macintosh; Intel Mac OS X 10.15; rv:126.0) Gecko/20100101 Firefox/126.0", null, false],
    [`${phone} Mobile/21F79 Instagram 334.0.4.32.98 (iPhone15,2)`, "Instagram", false],
    [`${android} Instagram 334.0.0.42.95 Android`, "Instagram", true],
    [`${phone} Mobile/21F79 [FBAN/FBIOS;FBAV/466.0;FBDV/iPhone15,2]`, "Facebook", false],
    [`${android} [FB_IAB/FB4A;FBAV/466.0;]`, "Facebook", true],
    [`${android} [FB_IAB/Orca-Android;FBAV/460.0;]`, "Messenger", true],
    [`${android} trill_340 BytedanceWebview/d8a21c6 musical_ly_2023`, "TikTok", true],
    [`${phone} Mobile/15E148 MicroMessenger/8.0.49 NetType/WIFI`, "WeChat", false],
    [`${phone} Mobile/15E148 Safari Line/14.8.0`, "LINE", false],
    [android, "WebView", false],
  ]);
  for (const [agent, app, blocked] of cases) {
    assert.equal(inAppBrowser(agent), app, agent);
    assert.equal(blocksCamera(agent), blocked, agent);
  }
});

test("what is asked of the camera ends in anything at all", () => {
  const [best] = wishes("environment", null, true);
  assert.deepEqual(best, { facingMode: { ideal: "environment" }, resizeMode: "none", width: { ideal: 3840 }, height: { ideal: 2160 } });
  assert.deepEqual(wishes("user", null, true)[0], { ...best, facingMode: { ideal: "user" }, width: { ideal: 1920 }, height: { ideal: 1080 } });
  assert.deepEqual(wishes("user", "a", false).at(-2), { deviceId: { exact: "a" } });
  assert.deepEqual(wishes("user", "a", false).at(-1), {});
});
