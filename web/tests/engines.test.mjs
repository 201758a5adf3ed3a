// Tests the hosted page in Firefox and in WebKitGTK, which uses Safari's engine: a complete verification, the screens
// that differ most between engines, and the embedded page. `make test` skips an engine that is not installed.
// `make test-all` runs `scripts/prepare engines`, and fails if an engine is missing.
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { after, before, describe, test } from "node:test";
import { phone } from "./browser.mjs";
import { startMerchantPage } from "./merchant-page.mjs";
import { misfits } from "./misfits.mjs";
import { person, t } from "./person.mjs";
import { documentsFlow, specimen, startServer } from "./server.mjs";
import { engines, missing, startEngine } from "./webdriver.mjs";

/** @typedef {import("./webdriver.mjs").EnginePage} EnginePage */
/** @typedef {import("./webdriver.mjs").EngineName} EngineName */

const names = /** @type {EngineName[]} */ (Object.keys(engines));
const isRequired = Boolean(process.env.EVERY_ENGINE);
const isNeeded = isRequired || names.some((name) => !missing(name).length);

/** @type {import("./server.mjs").Server} */ let server;
/** @type {Awaited<ReturnType<typeof startMerchantPage>>} */ let shop;
/** The merchant's page. Its host differs from the server's, so that an engine treats the frame as a third party's. @type {URL} */ let shopUrl;
before(async () => {
  if (!isNeeded) return;
  server = await startServer();
  shop = await startMerchantPage(server.baseUrl);
  shopUrl = new URL(shop.origin);
  shopUrl.hostname = "localhost";
  await server.cli("merchant", "set", server.merchantId, `allowedOrigins=${JSON.stringify([shopUrl.origin])}`);
});
after(async () => {
  shop?.stop();
  await server?.stop();
});

/** The applicant on this page. @param {EnginePage} page @param {string} name of the specimen */
const applicant = async (page, name) =>
  person(/** @type {import("playwright-core").Page} */ (/** @type {unknown} */ (page)), await specimen(name));

/** @param {string} state */
const picturePath = (state) => (process.env.SCREENSHOTS ? fileURLToPath(new URL(`../../.cache/screenshots/${state}.png`, import.meta.url)) : undefined);

/** Checks the layout; with SCREENSHOTS=1, also takes a picture. @param {EnginePage} page @param {string} state */
async function look(page, state) {
  assert.equal(await page.evaluate(() => innerWidth), phone.width);
  await page.waitForFunction(() => [...document.images].every(({ complete, naturalWidth }) => complete && naturalWidth > 0));
  await page.waitForFunction(() => document.getAnimations().every(({ playState, effect }) => playState !== "running" || effect?.getTiming().iterations === Infinity));
  const path = picturePath(state);
  if (path) await page.screenshot(path);
  assert.deepEqual(await misfits(page), [], state);
}

/** Whether the camera's picture is darker left of the frame than in it. @param {EnginePage} page @param {string} state */
async function isDarkOutsideFrame(page, state) {
  const picture = await page.screenshot(picturePath(state));
  return page.evaluate(async (base64) => {
    const frame = document.querySelector(".capture-frame")?.getBoundingClientRect() ?? new DOMRect();
    const image = await createImageBitmap(new Blob([Uint8Array.from(atob(base64), (c) => c.charCodeAt(0))]));
    const context = /** @type {OffscreenCanvasRenderingContext2D} */ (new OffscreenCanvas(image.width, image.height).getContext("2d"));
    context.drawImage(image, 0, 0);
    const brightness = (/** @type {number} */ x, /** @type {number} */ y) => context.getImageData(x, y, 1, 1).data.slice(0, 3).reduce((sum, channel) => sum + channel, 0);
    // Between the marks in the corners. The moving pattern may cross some of these rows.
    const rows = Array.from({ length: 20 }, (_, i) => frame.top + frame.height * (0.25 + i / 40));
    return rows.filter((y) => brightness(frame.left - 8, y) < 0.6 * brightness(frame.left + 8, y)).length > 15;
  }, picture);
}

/** The tests of one engine. @param {EngineName} name */
function testEngine(name) {
  /** @param {string} what @param {(page: EnginePage) => Promise<void>} act @param {import("./webdriver.mjs").Options} [options] */
  const inEngine = (what, act, options) => {
    const absent = missing(name);
    const skip = !isRequired && absent.length ? `${absent} missing: install it with scripts/prepare engines` : false;
    test(what, { skip }, async (context) => {
      assert.deepEqual(absent, [], "scripts/prepare engines installs what is missing");
      const page = await startEngine(name, options);
      context.after(page.stop);
      context.diagnostic(page.version);
      await act(page);
      assert.deepEqual(await page.faults(), []);
    });
  };

  inEngine("an applicant with a passport is approved", async (page) => {
    await page.goto(await server.link(await server.flow(documentsFlow())));
    const me = await applicant(page, "pass-passport");
    await me.at("open");
    await look(page, `${name}-open`);
    await me.to("front");
    await look(page, `${name}-front`);
    await me.chooseFile("front");
    await page.locator("main .shot img").waitFor();
    await me.button("review.use").waitFor();
    await look(page, `${name}-review`);
    await me.to("details");
    assert.ok((await page.locator("main").innerText()).includes(t("details.read")));
    assert.equal(await page.evaluate(() => /** @type {HTMLInputElement} */ (document.querySelector("#f-lastName")).value), "VELLOWAY");
    await look(page, `${name}-details`);
    await me.to("selfie");
    await look(page, `${name}-selfie`);
    assert.equal(await me.toOutcome(), t("outcome.approved.title"));
    await look(page, `${name}-outcome`);
  });

  inEngine("Arabic in dark colours reads from the right", async (page) => {
    await page.goto(await server.link(await server.flow(documentsFlow())));
    await (await applicant(page, "pass-passport")).at("open");
    await page.locator("#languages select").selectOption("ar");
    await page.waitForFunction((title) => document.querySelector("main h1")?.textContent === title, t("open.title", {}, "ar"));
    assert.equal(await page.evaluate(() => getComputedStyle(document.body).direction), "rtl");
    const channels = await page.evaluate(() => getComputedStyle(document.body).backgroundColor.match(/\d+/g)?.slice(0, 3).map(Number) ?? []);
    assert.ok(channels.length === 3 && channels.every((channel) => channel < 64), `the background is ${channels}`);
    await look(page, `${name}-open-ar-dark`);
  }, { isDark: true });

  inEngine("the camera opens, takes a picture, and a file can be used instead", async (page) => {
    await page.goto(await server.link(await server.flow(documentsFlow({ documentFileUpload: false, documentCapture: true }))));
    const me = await applicant(page, "pass-passport");
    await me.to("front-camera");
    await page.waitForFunction(() => (document.querySelector("video")?.currentTime ?? 0) > 0);
    await page.locator(".capture-frame").waitFor();
    assert.ok(await isDarkOutsideFrame(page, `${name}-camera`), "the frame's surroundings are not dark");
    await me.button("capture.shutter").click();
    await page.locator("main .shot img").waitFor();
    await look(page, `${name}-camera-review`);
    await me.button("review.redo").click();
    await me.button("capture.file").click();
    await me.at("front-file");
    await me.chooseFile("front");
    await me.button("review.use").waitFor();
  }, { hasCamera: true });

  inEngine("a refused link and a declined consent are explained", async (page) => {
    await page.goto(`${server.baseUrl}/verify?token=nonsense`);
    const me = await applicant(page, "pass-passport");
    await me.at("end");
    assert.equal(await me.heading(), t("end.invalid.title"));
    await look(page, `${name}-end-invalid`);

    await page.goto(await server.link(await server.flow(documentsFlow())));
    await me.at("open");
    await me.button("consent.no").click();
    await me.button("consent.ask.leave").waitFor();
    await look(page, `${name}-consent-decline`);
    await me.button("consent.ask.leave").click();
    await me.at("end");
    assert.equal(await me.heading(), t("end.declined.title"));
    await look(page, `${name}-end-declined`);
  });

  inEngine("a merchant's page is told the outcome, and gets the focus back", async (page) => {
    const link = await server.link(await server.flow({ defaultFields: {} }));
    const address = new URL(shop.address(link, "modal"));
    address.hostname = shopUrl.hostname;
    await page.goto(address.href);
    await page.locator("#verify").click();
    await page.enter("dialog iframe", "main[data-screen=open]");
    const me = await applicant(page, "pass-data-only");
    await me.at("open");
    await look(page, `${name}-embedded-open`);
    // The frame's storage survives a reload, although the frame is of another site.
    await me.to("details");
    await page.evaluate(() => {
      document.body.dataset["left"] = "";
      location.reload();
    });
    await page.leave();
    await page.enter("dialog iframe", "body:not([data-left]) main[data-screen=details]");
    assert.equal(await me.toOutcome(), t("outcome.approved.title"));
    await me.button("page.return", { merchant: "Demo merchant" }).waitFor();
    await look(page, `${name}-embedded-outcome`);
    await me.button("page.return", { merchant: "Demo merchant" }).click();
    await page.leave();
    await page.locator("dialog").waitFor({ state: "detached" });
    await page.waitForFunction(() => document.querySelector("#log")?.textContent?.includes("resolved"));
    const log = await page.locator("#log").innerText();
    const lines = log.split("\n").filter(Boolean).map((line) => /** @type {const} */ ([line.slice(0, line.indexOf(" ")), JSON.parse(line.slice(line.indexOf(" ")))]));
    assert.deepEqual(lines.map(([word]) => word).filter((word) => word !== "step"), ["ready", "done", "resolved"]);
    const [, detail] = lines.find(([word]) => word === "done") ?? [];
    assert.equal(detail.status, "approved");
    assert.equal((await server.poll(detail.sessionId)).status, "success");
    assert.equal(await page.evaluate(() => document.activeElement?.id), "verify");
    assert.equal(await page.evaluate(() => document.documentElement.style.overflow), "");
  });
}

describe("in each engine", { concurrency: true }, () => {
  for (const name of names) describe(name, { concurrency: false }, () => testEngine(name));
});
