// Live capture with Chromium's fake camera, which plays a film, and every way in which a camera can fail.
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { desktop, look, newVisitor, startBrowser } from "./browser.mjs";
import { mockChallenge, step } from "./challenge-server.mjs";
import { CAMERA_FLAGS, makeFilm } from "./fake-camera.mjs";
import { startMerchantPage } from "./merchant-page.mjs";
import { person, t } from "./person.mjs";
import { documentsFlow, specimen, startServer } from "./server.mjs";

/** @type {import("./server.mjs").Server} */ let server;
/** A browser without a camera. @type {import("./browser.mjs").Browser} */ let blind;
/** A browser with a camera that pages may not use. @type {import("./browser.mjs").Browser} */ let refusing;
/** A browser whose camera shows a passport and its holder in turn. @type {import("./browser.mjs").Browser} */ let seeing;
/** @type {string} */ let films;

/** A plain selfie, which may also be a file. */
const plain = documentsFlow({ documentFileUpload: false, documentCapture: true });
const live = documentsFlow({ documentFileUpload: false, documentCapture: true, selfie: false, liveSelfie: true });

before(async () => {
  films = await mkdtemp(join(tmpdir(), "bonafide-film-"));
  const film = join(films, "passport.mjpeg");
  const passport = await specimen("pass-passport");
  await makeFilm(film, [
    { picture: passport.file("passportFront"), seconds: 6, kind: "document" },
    { picture: passport.file("selfie"), seconds: 6, kind: "selfie" },
  ]);
  [server, blind, refusing, seeing] = await Promise.all([
    startServer(),
    startBrowser(),
    startBrowser(["--use-fake-device-for-media-stream", "--deny-permission-prompts"]),
    startBrowser([...CAMERA_FLAGS, `--use-file-for-fake-video-capture=${film}`]),
  ]);
});
after(async () => {
  await Promise.all([blind.close(), refusing.close(), seeing.close(), server.stop()]);
  await rm(films, { recursive: true });
});

/** @param {import("./browser.mjs").Browser} browser @param {object} flow @param {object} [options] */
async function arrive(browser, flow, options) {
  const watched = await newVisitor(browser, options);
  await watched.open(await server.link(await server.flow(flow)));
  return { watched, page: watched.page, me: person(watched.page, await specimen("pass-passport")) };
}

/** @param {import("playwright-core").Page} page @returns {Promise<string>} */
const sessionOf = (page) =>
  page.evaluate(() => {
    const tab = JSON.parse(sessionStorage.getItem("bonafide") ?? "{}");
    return tab.access?.sessionId ?? tab.ended?.sessionId;
  });

/**
 * Mocks a challenge that ends with a frame of the film's person: its passport lies on the table, and the person
 * covers the table.
 * @param {import("playwright-core").Page} page
 */
const mockPerson = (page) =>
  mockChallenge(page, {
    open: () => step(1, "look"),
    // Only one frame of each body is examined: while the page examines many, it films, and its next body has still more.
    frames: async ({ frames }) => {
      const last = frames.at(-1);
      assert.ok(last, "a body without frames");
      const corner = await page.evaluate(async (bytes) => {
        const image = await createImageBitmap(new Blob([new Uint8Array(bytes)]));
        const context = /** @type {OffscreenCanvasRenderingContext2D} */ (new OffscreenCanvas(image.width, image.height).getContext("2d"));
        context.drawImage(image, 0, 0);
        return [...context.getImageData(8, 8, 1, 1).data];
      }, [...last.jpeg]);
      const isPerson = [0x5c, 0x51, 0x48].some((value, i) => Math.abs(value - (corner[i] ?? 0)) > 20);
      if (isPerson) return { state: "passed", selfieFrame: last.number };
      return step(1, "look");
    },
  });

test("document and selfie by camera pass", async () => {
  const { watched, page, me } = await arrive(seeing, plain);
  await me.to("details");
  await me.goOn();
  // The camera was just used, so the selfie needs no press to open it.
  await me.at("selfie-camera");
  assert.equal(await me.toOutcome(), t("outcome.approved.title"));
  assert.equal((await server.poll(await sessionOf(page))).status, "success");
  await watched.close(server);
});

test("the camera opens by itself only after the document's camera", async () => {
  const { watched, page, me } = await arrive(seeing, plain);
  await me.to("details");
  await me.goOn();
  await me.at("selfie-camera");
  await page.reload();
  await me.at("selfie");
  // A screen that opens the camera does so in the task that draws it.
  const part = () => page.evaluate(() => history.state.part);
  assert.equal(await part(), "", "a reload opens no camera");
  await page.evaluate(() => history.go(-2));
  await me.at("details");
  await me.goOn();
  await me.at("selfie");
  assert.equal(await part(), "", "this visit has not used the camera");
  await watched.context.close();
});

test("document and live selfie by camera pass", async () => {
  const { watched, page, me } = await arrive(seeing, live);
  assert.equal(await me.toOutcome(), t("outcome.approved.title"));
  assert.equal((await server.poll(await sessionOf(page))).status, "success");
  await watched.close(server);
});

test("a liveness Flow answers 2105 to a selfie that is no frame of a passed challenge", async () => {
  const { watched, page, me } = await arrive(seeing, documentsFlow({ liveness: true }));
  await mockPerson(page);
  assert.equal(await me.toOutcome(), t("outcome.failed.title"));
  assert.ok((await page.locator("main").innerText()).includes(t("code.2105.title")));
  const { status, metadata } = await server.poll(await sessionOf(page));
  assert.deepEqual([status, metadata.attempts], ["pending", 1]);
  await me.button("outcome.fix").click();
  assert.equal(await me.at("selfie", "details", "front"), "selfie");
  assert.equal(await me.heading(), t("challenge.title"));
  await watched.close(server);
});

test("the shutter is always there, and a file can be used instead", async () => {
  const { watched, page, me } = await arrive(seeing, live);
  await me.to("front-camera");
  await page.getByRole("button", { name: t("capture.shutter") }).waitFor();
  await page.getByRole("button", { name: t("capture.file") }).click();
  await me.at("front-file");
  await me.chooseFile("front");
  await page.locator("main .shot").waitFor();
  await watched.close(server);
});

for (const { name, language, locale, schemes, suffix } of /** @type {const} */ ([
  { name: "English", language: "en", locale: "en-GB", schemes: ["light", "dark"], suffix: "" },
  { name: "Arabic", language: "ar", locale: "ar", schemes: ["light"], suffix: "-ar" },
])) {
  // As in accessibility.test.
  if (language !== "en" && !process.env.EVERY_SCREEN) continue;
  test(`the live camera is for everyone, and photographed: ${name}`, async () => {
    const faults = [];
    // Too far away, so that the shutter is not released during the check.
    const film = join(films, `${name}.mjpeg`);
    const passport = await specimen("pass-passport");
    await makeFilm(film, [{ picture: passport.file("passportFront"), seconds: 2, kind: "document", flaw: "small" }]);
    const far = await startBrowser([...CAMERA_FLAGS, `--use-file-for-fake-video-capture=${film}`]);
    const watched = await newVisitor(far, { locale });
    const { page } = watched;
    await watched.open(await server.link(await server.flow(plain)));
    const me = person(page, passport, { language });
    await me.to("front");
    faults.push(...(await look(page, `front-live${suffix}`, [...schemes])));
    await me.button("picture.camera").click();
    await me.at("front-camera");
    await page.locator(".capture[data-state=live] .capture-hint").getByText(t("hint.closer", {}, language)).waitFor();
    faults.push(...(await look(page, `front-camera${suffix}`, [...schemes])));
    await page.getByRole("button", { name: t("capture.file", {}, language) }).click();
    await me.at("front-file");
    await me.chooseFile("front");
    await page.locator("main .shot").waitFor();
    await me.to("selfie");
    await me.button("picture.camera").click();
    await me.at("selfie-camera");
    await page.locator(".capture[data-state=live]").waitFor();
    faults.push(...(await look(page, `selfie-camera${suffix}`, [...schemes])));
    await watched.close(server);
    await far.close();
    assert.deepEqual(faults, []);
  });
}

const IPHONE = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko)";
const ANDROID = "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko)";

for (const { browser, app, userAgent, ...options } of [
  { browser: "ios", userAgent: `${IPHONE} Version/18.6 Mobile/15E148 Safari/604.1` },
  { browser: "iosapp", app: "Chrome", userAgent: `${IPHONE} CriOS/141.0.7390.41 Mobile/15E148 Safari/604.1` },
  { browser: "android", userAgent: `${ANDROID} Chrome/141.0.0.0 Mobile Safari/537.36` },
  { browser: "samsung", userAgent: `${ANDROID} SamsungBrowser/28.0 Chrome/130.0.0.0 Mobile Safari/537.36` },
  { browser: "androidfirefox", userAgent: "Mozilla/5.0 (Android 15; Mobile; rv:143.0) Gecko/143.0 Firefox/143.0" },
  { browser: "chrome", userAgent: undefined },
  { browser: "firefox", userAgent: "Mozilla/5.0 (X11; Linux x86_64; rv:143.0) Gecko/20100101 Firefox/143.0" },
  { browser: "safari", userAgent: "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.6 Safari/605.1.15", hasTouch: false },
]) {
  test(`a denied camera begins with the steps of this browser: ${browser}`, async () => {
    const watched = await newVisitor(refusing, { ...options, ...(userAgent ? { userAgent } : {}) });
    const { page } = watched;
    // Only Chromium's browsers have User-Agent Client Hints.
    if (userAgent && !userAgent.includes("Chrome/")) await page.addInitScript(() => Object.defineProperty(navigator, "userAgentData", { value: undefined }));
    await watched.open(await server.link(await server.flow(live)));
    const me = person(page, await specimen("pass-passport"));
    await me.to("front-trouble");
    assert.equal(await me.heading(), t("trouble.permission_denied.title"));
    const list = page.locator("main h1 + .help ol");
    const steps = await list.locator("li").allInnerTexts();
    assert.ok(steps.length >= 2);
    assert.deepEqual(steps, steps.map((_, i) => t(`trouble.help.${browser}.${i + 1}`, app ? { app } : {})));
    assert.equal(await page.locator("main .actions button").first().innerText(), t("page.retry"));
    // The buttons are below the steps, also on a small phone.
    await page.setViewportSize({ width: 320, height: 568 });
    const [end, start] = await Promise.all([list, page.locator("main .actions")].map((part) => part.boundingBox()));
    assert.ok(end && start && end.y + end.height <= start.y);
    await watched.close(server);
  });
}

test("a denied camera: a file instead", async () => {
  const { watched, page, me } = await arrive(refusing, live);
  await me.to("front-trouble");
  assert.deepEqual(await look(page, "camera-denied"), []);
  await page.locator("main input[type=file]").first().setInputFiles((await specimen("pass-passport")).file("passportFront"));
  await page.locator("main .shot").waitFor();
  await watched.close(server);
});

test("the page opens the camera by itself when it is allowed, and only while it is shown", async () => {
  const { watched, page, me } = await arrive(refusing, live);
  await me.to("front-trouble");
  await page.evaluate(async () => {
    Object.defineProperty(document, "visibilityState", { value: "hidden", configurable: true });
    const status = await navigator.permissions.query({ name: /** @type {PermissionName} */ ("camera") });
    Object.assign(window, { status, changed: new Promise((resolve) => status.addEventListener("change", resolve, { once: true })) });
  });
  await watched.context.grantPermissions(["camera"], { origin: new URL(server.baseUrl).origin });
  await page.evaluate(() => Reflect.get(window, "changed").then(() => {}));
  assert.equal(await me.screen(), "front-trouble");
  await page.evaluate(() => {
    Reflect.deleteProperty(document, "visibilityState");
    document.dispatchEvent(new Event("visibilitychange"));
  });
  await me.at("front-camera");
  await page.locator(".capture[data-state=live]").waitFor();
  await watched.close(server);
});

test("the live check begins with the same steps, and without a file", async () => {
  const watched = await newVisitor(refusing);
  const { page } = watched;
  await watched.open(await server.link(await server.flow(documentsFlow({ selfie: false, liveness: true }))));
  const me = person(page, await specimen("pass-passport"), { byFile: true });
  await me.to("selfie-trouble");
  await page.locator("main h1 + .help ol").waitFor();
  assert.equal(await page.locator("main .actions .primary").innerText(), t("page.retry"));
  assert.equal(await page.locator("main input[type=file]").count(), 0);
  await watched.context.grantPermissions(["camera"], { origin: new URL(server.baseUrl).origin });
  await me.at("selfie-camera", "selfie-stopped");
  await watched.context.close();
});

test("a website that does not permit the camera: its developer learns the fix, its visitor another way", async () => {
  const shop = await startMerchantPage(server.baseUrl);
  await server.cli("merchant", "set", server.merchantId, `allowedOrigins=${JSON.stringify([shop.origin])}`);
  for (const flow of [live, documentsFlow({ selfie: false, liveness: true })]) {
    const watched = await newVisitor(seeing, { hosts: [shop.host, new URL(server.baseUrl).host] });
    const { page } = watched;
    const link = await server.link(await server.flow(flow));
    await page.goto(`${shop.origin}/shop`);
    const reported = page.waitForEvent("console", (message) => message.type() === "error" && message.text().includes('allow="camera"'));
    const handle = await page.evaluateHandle(
      (src) => document.body.appendChild(Object.assign(document.createElement("iframe"), { src, style: "width:360px;height:700px" })),
      `${link}&origin=${encodeURIComponent(shop.origin)}`,
    );
    const frame = await handle.contentFrame();
    assert.ok(frame);
    const me = person(frame, await specimen("pass-passport"), { byFile: true });
    await me.to(flow === live ? "front" : "selfie");
    assert.equal(await me.heading(), t("trouble.embedded.title"));
    assert.ok((await reported).text().includes(`camera=(self "${new URL(server.baseUrl).origin}")`));
    assert.equal(await frame.locator("main .help").count(), 0);
    assert.equal(await frame.locator("main .actions button").first().innerText(), t(flow === live ? "picture.useapp" : "trouble.otherbrowser"));
    await watched.context.close();
  }
  shop.stop();
});

test("no camera on a desktop: another device or a file", async () => {
  const { watched, page, me } = await arrive(blind, live, { viewport: desktop, screen: desktop, hasTouch: false });
  await me.to("front");
  assert.equal(await me.heading(), t("trouble.no_camera.title"));
  await me.button("trouble.otherdevice").click();
  await page.locator("main .qr img").waitFor();
  await page.goBack();
  await me.at("front");
  await page.locator("main input[type=file]").first().setInputFiles((await specimen("pass-passport")).file("passportFront"));
  await page.locator("main .shot").waitFor();
  await watched.close(server);
});

test("a camera without pictures for 12 s is no dead end", async () => {
  const { watched, page, me } = await arrive(seeing, live);
  await page.evaluate(() => {
    navigator.mediaDevices.getUserMedia = async () => document.createElement("canvas").captureStream(0);
  });
  await me.to("front-trouble");
  assert.equal(await me.heading(), t("trouble.no_frames.title"));
  await me.button("picture.usefile").waitFor();
  await watched.close(server);
});
