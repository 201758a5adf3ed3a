// Prints which of twelve avoidable mistakes the page points out, with the fix, before they cost an attempt: with files and
// with the camera. Blurred, dark, cut, grey, photographed and shaded pictures are made from specimens here, so they only
// imitate real ones. Nothing makes it fail.
//
//   node tests/mistakes.mjs [MISTAKE…]
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { newVisitor, startBrowser } from "./browser.mjs";
import { CAMERA_FLAGS, makeFilm } from "./fake-camera.mjs";
import { person, t } from "./person.mjs";
import { documentsFlow, specimen, startServer } from "./server.mjs";

/** How long a picture or a film is watched for a remark. */
const PATIENCE_MS = 25_000;

/**
 * The mistakes: the specimen, its field, the change to the picture, and the texts that point it out. `isWide`: the camera
 * sees its whole width, not only its middle.
 * @type {{mistake: string, name: string, field: string, side: "front" | "selfie", change?: string, isWide?: boolean, told: string[]}[]}
 */
const MISTAKES = [
  { mistake: "wrong side", name: "pass-id-card-td1", field: "idCardBack", side: "front", told: ["problem.wrong_side", "hint.wrong_side"] },
  { mistake: "wrong document", name: "2404-other-document-type", field: "passportFront", side: "front", told: ["code.2404.title"] },
  { mistake: "blurred", name: "pass-passport", field: "passportFront", side: "front", change: "blur", told: ["problem.blurry", "hint.blurry", "code.2501.title", "code.2511.title"] },
  { mistake: "dark", name: "pass-passport", field: "passportFront", side: "front", change: "dark", told: ["problem.too_dark", "hint.too_dark"] },
  { mistake: "cut off", name: "pass-passport", field: "passportFront", side: "front", change: "cut", told: ["problem.cut_off", "hint.cut_off", "hint.no_document", "problem.no_document", "code.2501.title", "code.2511.title"] },
  { mistake: "black-and-white copy", name: "pass-passport", field: "passportFront", side: "front", change: "grey", told: ["problem.photocopy"] },
  { mistake: "photographed screen", name: "pass-passport", field: "passportFront", side: "front", change: "screen", told: ["problem.screen"] },
  { mistake: "expired", name: "2509-passport-expired", field: "passportFront", side: "front", told: ["code.2509.title"] },
  { mistake: "two faces", name: "2203-two-faces-in-selfie", field: "selfie", side: "selfie", isWide: true, told: ["problem.several_faces", "hint.several_faces"] },
  { mistake: "no face", name: "2101-no-face-in-selfie", field: "selfie", side: "selfie", told: ["problem.no_face", "hint.no_face"] },
  { mistake: "sunglasses", name: "pass-passport", field: "selfie", side: "selfie", change: "sunglasses", told: ["problem.sunglasses", "hint.sunglasses"] },
];

/** Changes a picture; runs in the browser. */
/* c8 ignore start */
async function changed(/** @type {any} */ { source, change }) {
  const image = await createImageBitmap(await (await fetch(source)).blob());
  const { width, height } = image;
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [width, change === "cut" ? Math.round(height * 0.8) : height];
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  if (change === "blur") context.filter = `blur(${width / 130}px)`;
  if (change === "grey") context.filter = "grayscale(1) contrast(1.4)";
  context.drawImage(image, 0, 0);
  context.filter = "none";
  if (change === "dark") {
    context.fillStyle = "rgb(0 0 0 / 0.88)";
    context.fillRect(0, 0, width, height);
  }
  if (change === "screen") {
    // The grid of a display, whose period is near that of the picture's pixels.
    context.globalCompositeOperation = "multiply";
    for (let x = 0; x < width; x += 1) {
      const phase = (x * 0.37) % 1;
      context.fillStyle = phase < 0.34 ? "rgb(255 190 190)" : phase < 0.67 ? "rgb(190 255 190)" : "rgb(190 190 255)";
      context.fillRect(x, 0, 1, height);
    }
    context.fillStyle = "rgb(0 0 0 / 0.25)";
    for (let y = 0; y < height; y += 2.7) context.fillRect(0, y, width, 1);
  }
  if (change === "sunglasses") {
    context.fillStyle = "#111";
    for (const x of [0.4, 0.6]) {
      context.beginPath();
      context.ellipse(width * x, height * 0.42, width * 0.09, height * 0.045, 0, 0, 7);
      context.fill();
    }
  }
  return canvas.toDataURL("image/jpeg", 0.93).slice("data:image/jpeg;base64,".length);
}
/* c8 ignore stop */

const folder = await mkdtemp(join(tmpdir(), "bonafide-mistakes-"));
const [server, browser] = await Promise.all([startServer(), startBrowser()]);

/** The picture of a mistake as a file. @param {typeof MISTAKES[0]} mistake */
async function picture({ name, field, change }) {
  const file = (await specimen(name)).file(field);
  if (!change) return file;
  const { page, context } = await newVisitor(browser);
  const source = `data:image/jpeg;base64,${await readFile(file, "base64")}`;
  const made = Buffer.from(await page.evaluate(changed, { source, change }), "base64");
  await context.close();
  const out = join(folder, `${change}-${field}.jpg`);
  await writeFile(out, made);
  return out;
}

/** The first of these texts that the page shows, or null. @param {import("playwright-core").Page} page @param {string[]} keys */
async function shownOf(page, keys) {
  const texts = keys.flatMap((key) => {
    try {
      return [t(key)];
    } catch {
      // No such text: the page does not know this mistake.
      return [];
    }
  });
  return page
    .waitForFunction(
      (texts) => texts.find((text) => [...document.querySelectorAll("main h1, main .problems, .capture-hint")].some((each) => each.textContent?.includes(text))),
      texts,
      { timeout: PATIENCE_MS },
    )
    .then(async (found) => (await found.jsonValue()) ?? null)
    .catch(() => null);
}

/** @param {typeof MISTAKES[0]} mistake @param {string} file @param {boolean} byCamera */
async function look(mistake, file, byCamera) {
  const fields = byCamera ? { documentFileUpload: false, documentCapture: true } : { documentFileUpload: true };
  const types = ["PASSPORT", "ID_CARD", "DRIVERS"];
  let used = browser;
  const film = join(folder, "film.mjpeg");
  if (byCamera) {
    const segments = /** @type {import("./fake-camera.mjs").Segment[]} */ ([{ picture: file, seconds: 4, kind: mistake.side === "selfie" && !mistake.isWide ? "selfie" : "document" }]);
    await makeFilm(film, segments);
    used = await startBrowser([...CAMERA_FLAGS, `--use-file-for-fake-video-capture=${film}`]);
  }
  const watched = await newVisitor(used);
  const { page } = watched;
  await watched.open(await server.link(await server.flow(documentsFlow(fields, types))));
  const me = person(page, await specimen(mistake.name), { byFile: true });
  await me.to(mistake.side);
  const isOpen = await me.button("picture.camera").count();
  if (byCamera && isOpen) await me.button("picture.camera").click();
  else await page.locator("main input[type=file]").first().setInputFiles(file);
  const found = await shownOf(page, mistake.told);
  await watched.context.close();
  if (used !== browser) await used.close();
  return found;
}

/** A name that differs from the document. @returns {Promise<string | null>} */
async function wrongName() {
  const watched = await newVisitor(browser);
  await watched.open(await server.link(await server.flow(documentsFlow({ documentFileUpload: true }))));
  const me = person(watched.page, await specimen("pass-passport"), { byFile: true });
  await me.to("details");
  await watched.page.locator("#f-lastName").fill("Velloway-Smith");
  await watched.page.locator("#f-firstName").focus();
  const remark = watched.page.locator("main .differs-note").first();
  const found = await remark.innerText({ timeout: PATIENCE_MS }).catch(() => null);
  await watched.context.close();
  return found;
}

const counts = { file: 0, camera: 0 };
/** @param {"file" | "camera"} mode @param {string} mistake @param {string | null} found */
function report(mode, mistake, found) {
  counts[mode] += found ? 1 : 0;
  console.log(`${mode.padEnd(6)} ${mistake.padEnd(22)} ${found ? `told: ${found.replace(/\s+/g, " ")}` : "not told"}`);
}
try {
  const wanted = process.argv.slice(2);
  for (const mistake of MISTAKES.filter(({ mistake }) => !wanted.length || wanted.includes(mistake))) {
    const file = await picture(mistake);
    report("file", mistake.mistake, await look(mistake, file, false));
    report("camera", mistake.mistake, await look(mistake, file, true));
  }
  const found = await wrongName();
  for (const mode of /** @type {const} */ (["file", "camera"])) report(mode, "wrong name typed", found);
} finally {
  await browser.close();
  await server.stop();
  await rm(folder, { recursive: true });
}
const all = MISTAKES.length + 1;
console.log(`told with files ${counts.file} of ${all}, with the camera ${counts.camera} of ${all}`);
