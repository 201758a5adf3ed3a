// The liveness challenge in real Chromium with a film as camera. The two endpoints are mocked (challenge-server.mjs), so
// these tests check what the page sends and shows, not what the server measures.
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { answerTo, desktop, look, newVisitor, startBrowser } from "./browser.mjs";
import { jpegSize, mockChallenge, step } from "./challenge-server.mjs";
import { CAMERA_FLAGS, DESKTOP, makeFilm } from "./fake-camera.mjs";
import { person, t } from "./person.mjs";
import { documentsFlow, specimen, startServer } from "./server.mjs";

/** @typedef {import("playwright-core").Page} Page */
/** @typedef {import("./challenge-server.mjs").Wanted} Wanted */

/** @type {import("./server.mjs").Server} */ let server;
/** A phone's upright camera. @type {import("./browser.mjs").Browser} */ let upright;
/** A desktop's wide camera. @type {import("./browser.mjs").Browser} */ let wide;
/** @type {import("./browser.mjs").Browser} */ let blind;
/** @type {string} */ let films;

const liveness = documentsFlow({ selfie: false, liveness: true });
const burst = documentsFlow({ selfie: false, liveSelfie: true });

before(async () => {
  films = await mkdtemp(join(tmpdir(), "bonafide-film-"));
  const picture = (await specimen("pass-passport")).file("selfie");
  await makeFilm(join(films, "upright.mjpeg"), [{ picture, seconds: 3, kind: "selfie" }]);
  await makeFilm(join(films, "wide.mjpeg"), [{ picture, seconds: 3, kind: "selfie" }], DESKTOP);
  const seeing = (/** @type {string} */ film) => startBrowser([...CAMERA_FLAGS, `--use-file-for-fake-video-capture=${join(films, film)}`]);
  [server, upright, wide, blind] = await Promise.all([startServer(), seeing("upright.mjpeg"), seeing("wide.mjpeg"), startBrowser()]);
});
after(async () => {
  await Promise.all([upright.close(), wide.close(), blind.close(), server.stop()]);
  await rm(films, { recursive: true });
});

/** A person before the challenge. @param {import("./browser.mjs").Browser} browser @param {Wanted} wanted @param {{flow?: object, visitor?: object, language?: string}} [options] */
async function arrive(browser, wanted, { flow = liveness, visitor, language = "en" } = {}) {
  const watched = await newVisitor(browser, visitor);
  const { page } = watched;
  const mock = await mockChallenge(page, wanted);
  await watched.open(await server.link(await server.flow(flow)));
  const me = person(page, await specimen("pass-passport"), { language, byFile: true });
  await me.to("selfie", "selfie-trouble");
  return { watched, page, me, mock };
}

/** Waits until the live view's text is shown. @param {Page} page @param {string} key @param {Record<string, string | number>} [params] @param {string} [language] */
const says = (page, key, params, language) => page.locator(".challenge-say").getByText(t(key, params, language), { exact: true }).waitFor();

/** The end, with the last frame as the selfie. @param {import("./challenge-server.mjs").Frame[]} frames @returns {any} */
const passed = (frames) => ({ state: "passed", selfieFrame: frames.at(-1)?.number });

/** Answers with `next` after `enough` frames. @param {number} enough @param {(frames: import("./challenge-server.mjs").Frame[]) => any} next @returns {Wanted} */
const passing = (enough, next) => ({ open: () => step(1, "look"), frames: ({ all }) => (all.length < enough ? step(1, "look") : next(all)) });

test("turns: the frames that arrive, and one of them as the selfie", async () => {
  const course = [
    step(1, "look", { hint: "closer" }),
    step(2, "turn_left", { move: "turn_left", progress: 0.2 }),
    step(3, "hold", { move: "turn_left", progress: 0.4 }),
    step(4, "back", { progress: 0.6 }),
    step(5, "flash", { colour: "#ff2020", progress: 0.8 }),
  ];
  const { watched, page, me, mock } = await arrive(upright, {
    open: () => /** @type {any} */ (course[0]),
    frames: ({ all }) => course[Math.floor(all.length / 14)] ?? { state: "passed", selfieFrame: 9 },
  });
  assert.equal(await me.heading(), t("challenge.title"));
  assert.equal(await page.locator("main input[type=file]").count(), 0);
  await me.button("picture.camera").click();
  await says(page, "challenge.turn_left");
  // The person's left is on the left of the mirrored picture.
  const [arrow, oval] = await Promise.all([".challenge-arrow", ".capture-frame"].map((name) => page.locator(name).boundingBox()));
  assert.ok(arrow && oval && arrow.x + arrow.width / 2 < oval.x + oval.width / 4);
  await says(page, "challenge.flash");
  await page.locator(".challenge[data-flash]").waitFor();
  await me.at("selfie");
  assert.equal(await me.heading(), t("challenge.summary"));
  const frames = [...mock.all.values()];
  for (const { jpeg } of frames) assert.deepEqual(jpegSize(jpeg), { width: 360, height: 720 });
  assert.equal(frames[0]?.captured, 0);
  // How many a second depends on the machine; challenge-course.test.mjs tests the schedule.
  const times = frames.map(({ captured }) => captured);
  assert.deepEqual(times, [...new Set(times)].sort((one, other) => one - other));
  assert.deepEqual([...new Set(frames.map(({ instruction }) => instruction))], [1, 2, 3, 4, 5]);

  await page.route("**/v2/idv/verify", (route) => route.fulfill({ status: 503, json: {} }));
  const sent = page.evaluate(() => new Promise((/** @type {(bytes: number[]) => void} */ resolve) => {
    const send = XMLHttpRequest.prototype.send;
    XMLHttpRequest.prototype.send = function (form) {
      if (form instanceof FormData) /** @type {File} */ (form.get("selfie")).arrayBuffer().then((bytes) => resolve([...new Uint8Array(bytes)]));
      return send.call(this, form);
    };
  }));
  await me.button("review.send").click();
  assert.deepEqual(Buffer.from(await sent), mock.all.get(9)?.jpeg);
  await watched.context.close();
});

test("a live selfie is a burst without turns, by a wide camera", async () => {
  const { watched, page, me, mock } = await arrive(wide, passing(5, (frames) => ({ ...passed(frames), state: "review" })), { flow: burst });
  assert.equal(await me.heading(), t("picture.selfie"));
  assert.equal(await page.getByText(t("challenge.step.colours")).count(), 0);
  await me.button("picture.camera").click();
  await page.locator("main .shot img").waitFor();
  for (const { jpeg } of mock.all.values()) assert.deepEqual(jpegSize(jpeg), { width: 480, height: 360 });
  await me.button("challenge.redo").click();
  await page.locator("main .shot img").waitFor();
  assert.deepEqual(mock.opened.map(({ route, restart }) => ({ route, restart })), [{ route: "standard", restart: false }, { route: "standard", restart: true }]);
  const { label, ...camera } = mock.opened[0].camera ?? {};
  assert.match(label ?? "", /wide\.mjpeg$/, "the film that Chromium takes for a camera");
  assert.deepEqual(camera, { width: 1600, height: 1200, frameRate: 30, device: true, automated: true });
  await watched.close(server);
});

test("after the last failed try a person reviews the film, and there is no further try", async () => {
  const { watched, page, me } = await arrive(upright, passing(5, (frames) => ({ ...passed(frames), state: "review", triesLeft: 0 })), { flow: burst });
  await me.button("picture.camera").click();
  await page.locator("main .shot img").waitFor();
  await page.getByText(t("challenge.assisted.review"), { exact: true }).waitFor();
  assert.equal(await me.button("challenge.redo").count(), 0);
  await watched.close(server);
});

test("a queue, then the challenge", async () => {
  const { watched, page, me, mock } = await arrive(upright, {
    open: ({ count }) => (count < 2 ? { state: "waiting", place: 3 - count, waitSeconds: 38 } : step(1, "look")),
    frames: ({ all }) => (all.length < 5 ? step(1, "look") : { state: "passed", selfieFrame: 1 }),
  });
  await me.button("picture.camera").click();
  await says(page, "challenge.queue", { place: 3 });
  await page.locator(".challenge-hint").getByText(t("challenge.queue.seconds", { seconds: 40 })).waitFor();
  await says(page, "challenge.queue", { place: 2 });
  await page.locator("main .shot img").waitFor();
  assert.equal(mock.opened.length, 3);
  await watched.close(server);
});

test("a failed try: the reason, the tries left, and the next try", async () => {
  const { watched, page, me, mock } = await arrive(upright, {
    open: () => step(1, "look"),
    frames: ({ count, all }) => (count < 4 ? step(1, "look") : count === 4 ? { state: "failed", reason: "too_slow", triesLeft: 2 } : passed(all)),
  });
  await me.button("picture.camera").click();
  await me.at("selfie-stopped");
  assert.equal(await me.heading(), t("challenge.failed"));
  const text = await page.locator("main").innerText();
  for (const part of [t("challenge.reason.too_slow"), t("challenge.left", { count: 2 })]) assert.ok(text.includes(part));
  await me.button("page.retry").click();
  await page.locator("main .shot img").waitFor();
  assert.deepEqual(mock.opened.map(({ restart }) => restart), [false, true]);
  await watched.close(server);
});

test("void for a slow connection: nothing counted, another device, and the other route", async () => {
  const { watched, page, me, mock } = await arrive(upright, {
    open: ({ route }) => (route === "assisted" ? step(1, "ready") : step(1, "look")),
    frames: ({ count }) => (count === 0 ? { state: "void", reason: "slow_connection" } : count < 8 ? step(1, "ready") : { state: "review", selfieFrame: 3 }),
  });
  await me.button("picture.camera").click();
  await me.at("selfie-stopped");
  assert.ok((await page.locator("main").innerText()).includes(t("challenge.uncounted")));
  await me.button("trouble.otherdevice").waitFor();
  await me.button("challenge.other").click();
  await me.at("selfie-assisted");
  await me.button("picture.camera").click();
  await page.locator("main .shot img").waitFor();
  assert.deepEqual(mock.opened.map(({ route, restart }) => ({ route, restart })), [{ route: "standard", restart: false }, { route: "assisted", restart: false }]);
  await watched.close(server);
});

test("the assisted route speaks each step once, and a button switches it off", async () => {
  let number = 1;
  let show = "ready";
  const { watched, page, me } = await arrive(upright, { open: () => step(1, "look"), frames: () => step(number, show) });
  await page.evaluate(() => {
    const spoken = /** @type {string[]} */ ([]);
    Object.assign(globalThis, { spoken });
    speechSynthesis.getVoices = () => [/** @type {SpeechSynthesisVoice} */ ({ lang: "en-GB" })];
    speechSynthesis.speak = ({ text }) => void spoken.push(text);
  });
  const spoken = () => page.evaluate(() => /** @type {any} */ (globalThis).spoken);
  await me.button("challenge.assisted").click();
  await me.at("selfie-assisted");
  await me.button("picture.camera").click();
  await says(page, "challenge.ready");
  await page.getByRole("button", { name: t("challenge.voice"), pressed: true }).click();
  [number, show] = [2, "back"];
  await says(page, "challenge.back");
  const heard = await spoken();
  assert.deepEqual(heard.slice(heard.indexOf(t("challenge.look"))), [t("challenge.look"), t("challenge.ready")]);
  await watched.close(server);
});

test("frames out of step continue with a new nonce, a cut connection with the same body", async () => {
  const { watched, page, me, mock } = await arrive(upright, {
    open: () => step(1, "look"),
    frames: ({ count }) => (count === 2 ? 409 : count === 5 ? "cut" : count < 9 ? step(1, "look") : { state: "passed", selfieFrame: 0 }),
  });
  await me.button("picture.camera").click();
  await page.locator("main .shot img").waitFor();
  assert.equal(mock.opened.length, 2);
  await watched.close(server);
});

// It waits for 20 s. As in accessibility.test.
test("without a connection the page offers to continue", { skip: !process.env.EVERY_SCREEN }, async () => {
  let isCut = true;
  const { watched, page, me, mock } = await arrive(upright, {
    open: () => step(1, "look"),
    frames: ({ all }) => (all.length < 5 ? step(1, "look") : { state: "passed", selfieFrame: 1 }),
  });
  await page.route("**/v2/sdk/session/challenge/frames", (route) => (isCut ? route.abort() : route.fallback()));
  await me.button("picture.camera").click();
  await page.locator(".challenge-hint").getByText(t("challenge.broken")).waitFor();
  await me.at("selfie-stopped");
  assert.ok((await page.locator("main").innerText()).includes(t("challenge.reason.network")));
  isCut = false;
  await me.button("page.continue").click();
  await page.locator("main .shot img").waitFor();
  assert.deepEqual(mock.opened.map(({ restart }) => restart), [false, false]);
  await watched.close(server);
});

test("a hidden page stops the challenge and continues it", async () => {
  const { watched, page, me } = await arrive(upright, passing(1000, () => ({})));
  await me.button("picture.camera").click();
  await says(page, "challenge.look");
  await page.evaluate(() => {
    Object.defineProperty(document, "visibilityState", { value: "hidden", configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
    Reflect.deleteProperty(document, "visibilityState");
  });
  await me.at("selfie-stopped");
  assert.ok((await page.locator("main").innerText()).includes(t("challenge.reason.hidden")));
  assert.equal(await page.locator("video").count(), 0);
  await me.button("page.continue").click();
  await says(page, "challenge.look");
  await watched.close(server);
});

test("without a camera: another device, and neither a file nor the camera app", async () => {
  for (const visitor of [{}, { viewport: desktop, screen: desktop, hasTouch: false }]) {
    const { watched, page, me } = await arrive(blind, passing(1, () => ({})), { visitor });
    assert.equal(await me.heading(), t("trouble.no_camera.title"));
    assert.equal(await page.locator("main input[type=file]").count(), 0);
    await me.button("trouble.otherdevice").click();
    await page.locator("main .qr img").waitFor();
    await watched.close(server);
  }
});

test("the portal's preview shows the primer and needs no server", async () => {
  const flow = await server.flow(liveness);
  const first = await newVisitor(blind);
  const answers = Promise.all(["current", "documents"].map((name) => answerTo(first.page, `/session/${name}`)));
  await first.open(await server.link(flow));
  await person(first.page, await specimen("pass-passport")).toPicture();
  const [current, documents] = await Promise.all((await answers).map((answer) => answer.json()));
  await first.close(server);

  const { page, context, requests } = await newVisitor(blind);
  await page.route("**/verify?*", async (route) => {
    const response = await route.fetch();
    const body = (await response.text()).replace(/(id="boot">)(.*?)(<\/script>)/s, (_all, start, boot, end) =>
      start + JSON.stringify({ ...JSON.parse(boot), rehearsal: { current, documents } }).replaceAll("<", "\\u003c") + end);
    await route.fulfill({ response, body });
  });
  await page.goto(await server.link(flow));
  const me = person(page, await specimen("pass-passport"));
  await me.to("selfie");
  assert.equal(await me.heading(), t("challenge.title"));
  assert.equal(await me.toOutcome(), t("outcome.approved.title"));
  assert.deepEqual(requests.filter(({ method }) => method === "POST"), []);
  await context.close();
});

for (const { language, locale, suffix } of [{ language: "en", locale: "en-GB", suffix: "" }, { language: "ar", locale: "ar", suffix: "-ar" }]) {
  // As in accessibility.test.
  if (language !== "en" && !process.env.EVERY_SCREEN) continue;
  test(`every state is for everyone: ${language}`, async () => {
    const faults = /** @type {string[]} */ ([]);
    /** @type {any} */
    let now = step(1, "look", { hint: "closer" });
    let isDone = false;
    const { watched, page, me } = await arrive(upright, { open: () => now, frames: ({ all }) => (isDone ? passed(all) : now) }, { visitor: { locale }, language });
    const seen = async (/** @type {string} */ state) => faults.push(...(await look(page, `challenge-${state}${suffix}`)));
    await seen("primer");
    await me.button("challenge.assisted").click();
    await me.at("selfie-assisted");
    await seen("assisted");
    await page.goBack();
    await me.at("selfie");
    await me.button("picture.camera").click();
    await says(page, "challenge.look", {}, language);
    await seen("look");
    let number = 1;
    for (const [state, next] of /** @type {[string, any][]} */ ([
      ["turn_left", { move: "turn_left", progress: 0.2 }],
      ["nod_up", { move: "nod_up", hint: "more", progress: 0.4 }],
      ["hold", { move: "turn_right", hint: "hold_still", progress: 0.6 }],
      ["flash", { colour: "#ffff20", hint: "too_dark", progress: 0.8 }],
    ])) {
      now = step(++number, state, next);
      await says(page, `challenge.${state}`, {}, language);
      await page.locator(state === "flash" ? ".challenge[data-flash]" : ".challenge-arrow svg").waitFor();
      await seen(state);
    }
    now = { state: "void", reason: "slow_connection" };
    await me.at("selfie-stopped");
    await seen("void");
    now = { state: "waiting", place: 12, waitSeconds: 300 };
    await page.locator("main .primary").click();
    await says(page, "challenge.queue", { place: 12 }, language);
    await seen("queue");
    now = { state: "failed", reason: "flat", triesLeft: 1 };
    await me.at("selfie-stopped");
    await seen("failed");
    now = step(1, "look");
    await page.locator("main .primary").click();
    await says(page, "challenge.look", {}, language);
    isDone = true;
    await page.locator("main .shot img").waitFor();
    await seen("summary");
    await watched.close(server);
    assert.deepEqual(faults, []);
  });
}
