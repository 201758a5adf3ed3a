// Prints what a passport by camera costs a practised person on a phone, from the opened link to the outcome: taps, typed
// fields and seconds, against a debug server on this machine. The browser counts; nothing makes it fail.
//
//   node tests/finish.mjs [RUNS]
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { newVisitor, startBrowser } from "./browser.mjs";
import { CAMERA_FLAGS, makeFilm } from "./fake-camera.mjs";
import { person, t } from "./person.mjs";
import { documentsFlow, specimen, startServer } from "./server.mjs";

const RUNS = Number(process.argv[2] ?? 5);

const films = await mkdtemp(join(tmpdir(), "bonafide-finish-"));
const film = join(films, "passport.mjpeg");
const passport = await specimen("pass-passport");
// The camera shows the passport and the person in turn, as a person would hold them before it.
await makeFilm(film, [
  { picture: passport.file("passportFront"), seconds: 6, kind: "document" },
  { picture: passport.file("selfie"), seconds: 6, kind: "selfie" },
]);
const [server, browser] = await Promise.all([startServer(), startBrowser([...CAMERA_FLAGS, `--use-file-for-fake-video-capture=${film}`])]);
// Utopia is preselected, as the country of a visitor's address is.
const content = documentsFlow({ documentFileUpload: false, documentCapture: true, dob: true }, ["PASSPORT", "ID_CARD"]);
/** @type {{taps: number, typed: number, details: number, seconds: number}[]} */
const runs = [];
for (let run = 0; run < RUNS; run++) {
  const watched = await newVisitor(browser);
  const { page } = watched;
  await page.addInitScript(() => {
    const counted = { taps: 0, typed: new Set() };
    Object.assign(window, { counted });
    addEventListener("click", (event) => event.isTrusted && (counted.taps += 1), true);
    addEventListener("input", (event) => event.isTrusted && counted.typed.add(/** @type {Element} */ (event.target).id), true);
  });
  // Every run is the first of its person in an account.
  const { merchantId, sandbox } = JSON.parse(await server.cli("merchant", "create", "--name", `Run ${run}`, "--approved", "--json"));
  const account = server.as(merchantId, sandbox);
  await watched.open(await account.link(await account.flow(content)));
  const me = person(page, passport);
  await me.at("open");
  const began = Date.now();
  const seconds = () => (Date.now() - began) / 1000;
  await me.to("document");
  await page.locator('main button.choice[value="PASSPORT"]').click();
  await me.at("front");
  await me.button("picture.camera").click();
  await me.at("details");
  const details = seconds();
  await me.goOn();
  await me.at("selfie", "selfie-camera");
  await page.locator("main .shot").waitFor();
  await me.button("review.send").click();
  await me.at("outcome");
  if ((await me.heading()) !== t("outcome.approved.title")) throw new Error(await page.locator("main").innerText());
  const counted = await page.evaluate(() => {
    const { taps, typed } = Reflect.get(window, "counted");
    return { taps, typed: typed.size };
  });
  runs.push({ ...counted, details, seconds: seconds() });
  await watched.context.close();
}
await browser.close();
await server.stop();
await rm(films, { recursive: true });

for (const { taps, typed, details, seconds } of runs) {
  console.log(`${taps} taps, ${typed} typed fields, details after ${details.toFixed(1)} s, outcome after ${seconds.toFixed(1)} s`);
}
