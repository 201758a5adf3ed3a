// Handoff from a desktop to a phone: a QR code, a number to match, and the desktop that follows.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { answerTo, desktop, newVisitor, startBrowser } from "./browser.mjs";
import { person, t } from "./person.mjs";
import { documentsFlow, specimen, startServer } from "./server.mjs";

/** @type {import("./server.mjs").Server} */ let server;
/** @type {import("./browser.mjs").Browser} */ let browser;
before(async () => ([server, browser] = await Promise.all([startServer(), startBrowser()])));
after(() => Promise.all([browser.close(), server.stop()]));

/** A desktop that shows the code, and the link in it. */
async function showCode() {
  const watched = await newVisitor(browser, { viewport: desktop, screen: desktop, hasTouch: false });
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
