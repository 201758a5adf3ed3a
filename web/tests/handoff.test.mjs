// Handoff from a desktop to a phone: a QR code, a number to match, and the desktop that follows.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { answerTo, desktop, look, newVisitor, startBrowser } from "./browser.mjs";
import { person, t } from "./person.mjs";
import { documentsFlow, specimen, startServer } from "./server.mjs";

/** @type {import("./server.mjs").Server} */ let server;
/** @type {import("./browser.mjs").Browser} */ let browser;
before(async () => ([server, browser] = await Promise.all([startServer(), startBrowser()])));
after(() => Promise.all([browser.close(), server.stop()]));

/** A desktop that shows the code, and the link in it. @param {(page: import("playwright-core").Page) => Promise<unknown>} [prepare] */
async function showCode(prepare) {
  const watched = await newVisitor(browser, { viewport: desktop, screen: desktop, hasTouch: false });
  await prepare?.(watched.page);
  const answer = answerTo(watched.page, "/session/handoff");
  await watched.open(await server.link(await server.flow(documentsFlow())));
  const me = person(watched.page, await specimen("pass-passport"));
  assert.equal(await me.to("device", "document"), "device");
  const { url, number } = await (await answer).json();
  return { watched, me, url: /** @type {string} */ (url), number: /** @type {string} */ (number) };
}

test("the phone goes on, the desktop mirrors it and shows the outcome", async () => {
  const { watched, me, url, number } = await showCode();
  const image = watched.page.locator("main .qr img");
  await image.waitFor();
  assert.ok(await image.evaluate((img) => /** @type {HTMLImageElement} */ (img).naturalWidth > 0));
  assert.equal(await watched.page.locator("main output.number").innerText(), number);

  const phone = await newVisitor(browser);
  await phone.open(url);
  const mine = person(phone.page, await specimen("pass-passport"));
  assert.equal(await mine.to("number", "document"), "number");
  assert.equal(await phone.page.locator("main output.number").innerText(), number);
  await me.at("device-follow");
  await mine.to("selfie");
  await watched.page.locator("main .follow li.now").getByText(t("step.selfie")).waitFor();
  assert.equal(await mine.toOutcome(), t("outcome.approved.title"));
  assert.ok((await phone.page.locator("main").innerText()).includes(t("outcome.handoff")));
  await me.at("outcome");
  assert.equal(await me.heading(), t("outcome.approved.title"));
  await phone.close(server);
  await watched.close(server);
});

test("another number stops that phone, and the code works once", async () => {
  const { watched, me, url } = await showCode();
  const stranger = await newVisitor(browser);
  await stranger.open(url);
  const other = person(stranger.page, await specimen("pass-passport"));
  await other.to("number");
  await other.button("claim.no").click();
  await other.at("end");
  assert.equal(await other.heading(), t("end.rejected.title"));
  await stranger.page.goto(url);
  assert.equal(await stranger.page.locator("main h1").innerText(), t("end.used.title"));
  await stranger.close();
  // The desktop can show a new code or continue itself.
  await me.at("device");
  await me.button("device.here").click();
  await me.at("document");
  assert.equal(await me.toOutcome(), t("outcome.approved.title"));
  await watched.close(server);
});

test("the same link can be copied or sent by email, and a new code renews it", async () => {
  // The first code expires before the session.
  const { watched, me, url } = await showCode(async (page) => {
    await page.clock.install();
    const path = "**/session/handoff";
    await page.route(path, async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, json: { ...(await response.json()), expiresAt: new Date(Date.now() + 3 * 60_000).toISOString() } });
    }, { times: 1 });
  });
  const { page } = watched;
  const others = page.locator("main details.others");
  const summary = others.locator("summary");
  const mail = others.getByRole("link", { name: t("device.mail") });
  /** Checks the link in the field, on the clipboard and in the message. @param {string} expected */
  async function offers(expected) {
    assert.equal(await others.locator("input").inputValue(), expected);
    const message = new URL((await mail.getAttribute("href")) ?? "");
    assert.equal(message.protocol + message.pathname, "mailto:", "without an address");
    assert.equal(message.searchParams.get("subject"), t("device.title"));
    assert.equal(message.searchParams.get("body"), `${t("device.others.lead")}\r\n\r\n${expected}`);
    await others.locator("button").click();
    await others.getByRole("button", { name: t("device.others.copied") }).waitFor();
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), expected);
  }

  await watched.context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.locator("main .qr img").waitFor();
  assert.equal(await mail.isVisible(), false);
  await summary.focus();
  await page.keyboard.press("Enter");
  await offers(url);
  assert.deepEqual(await look(page, "device-others"), []);
  // In another language the link that may be in a message already still works.
  await page.locator("#languages select").selectOption("de");
  await others.getByText(t("device.mail", {}, "de")).waitFor({ state: "attached" });
  assert.equal(await others.locator("input").inputValue(), url);
  await page.locator("#languages select").selectOption("en");
  await others.getByText(t("device.mail")).waitFor({ state: "attached" });
  await summary.click();
  await page.setViewportSize({ width: 320, height: 640 });
  await page.evaluate(() => (document.documentElement.style.fontSize = "200%"));
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 320);
  await page.evaluate(() => (document.documentElement.style.fontSize = ""));

  await summary.focus();
  await page.clock.fastForward("03:10");
  const again = me.button("device.renew");
  await again.waitFor();
  assert.equal(await others.isVisible(), false);
  assert.ok(await again.evaluate((button) => button === document.activeElement));
  const renewed = answerTo(page, "/session/handoff");
  await again.click();
  const { url: next } = await (await renewed).json();
  assert.notEqual(next, url);
  await page.locator("main .qr img").waitFor();
  await offers(next);

  const phone = await newVisitor(browser);
  await phone.open(next);
  assert.equal(await person(phone.page, await specimen("pass-passport")).to("number"), "number");
  await phone.close(server);
  await watched.close(server);
});
