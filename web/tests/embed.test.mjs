// The hosted page inside a merchant's page: bonafide.js, allowed origins, messages, focus.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, test } from "node:test";
import { desktop, newVisitor, startBrowser } from "./browser.mjs";
import { startMerchantPage } from "./merchant-page.mjs";
import { person, t } from "./person.mjs";
import { specimen, startServer } from "./server.mjs";

/** @type {import("./server.mjs").Server} */ let server;
/** @type {import("./browser.mjs").Browser} */ let browser;
/** @type {Awaited<ReturnType<typeof startMerchantPage>>} */ let shop;
/** @type {Awaited<ReturnType<typeof startMerchantPage>>} */ let stranger;
before(async () => {
  [server, browser] = await Promise.all([startServer(), startBrowser()]);
  [shop, stranger] = await Promise.all([startMerchantPage(server.baseUrl), startMerchantPage(server.baseUrl)]);
  await server.cli("merchant", "set", server.merchantId, `allowedOrigins=${JSON.stringify([shop.origin])}`);
});
after(async () => {
  shop.stop();
  stranger.stop();
  await Promise.all([browser.close(), server.stop()]);
});

/** @param {typeof shop} at @param {"modal" | "redirect"} mode */
async function visitShop(at, mode) {
  const watched = await newVisitor(browser, { viewport: desktop, hosts: [at.host, new URL(server.baseUrl).host] });
  const link = await server.link(await server.flow({ defaultFields: {} }));
  await watched.open(at.address(link, mode));
  await watched.page.locator("#verify").click();
  return { ...watched, link };
}

/** The hosted page inside the merchant's page. @param {import("playwright-core").Page} page */
async function inside(page) {
  const handle = await page.waitForSelector("dialog iframe");
  const frame = await handle.contentFrame();
  assert.ok(frame);
  const me = person(frame, await specimen("pass-data-only"));
  await me.at("open");
  return { frame, me };
}

test("bonafide.js is below 4 kB", async () => {
  assert.ok((await readFile(new URL("../embed/bonafide.js", import.meta.url))).length < 4096);
});

test("a modal on an allowed origin: done is told once, the page closes, the focus comes back", async () => {
  const { page, close } = await visitShop(shop, "modal");
  const { me } = await inside(page);
  assert.equal(await page.evaluate(() => document.documentElement.style.overflow), "hidden");
  assert.equal(await page.evaluate(() => document.activeElement?.tagName), "IFRAME");
  assert.equal(await me.toOutcome(), t("outcome.approved.title"));
  const log = page.locator("#log");
  await log.getByText("done").waitFor();
  const { sessionId, status } = JSON.parse((await log.innerText()).slice("done ".length));
  assert.equal(status, "approved");
  assert.equal((await server.poll(sessionId)).status, "success");
  await me.button("page.return", { merchant: "Demo merchant" }).click();
  await page.locator("dialog").waitFor({ state: "detached" });
  assert.equal(await page.evaluate(() => document.activeElement?.id), "verify");
  assert.equal(await page.evaluate(() => document.documentElement.style.overflow), "");
  assert.equal((await log.innerText()).match(/done|failed|cancelled/g)?.length, 1);
  await close(server);
});

test("Escape and the close button let the page ask; leaving is told as cancelled", async () => {
  const { page, close } = await visitShop(shop, "modal");
  const { frame, me } = await inside(page);
  await me.to("details");
  await page.keyboard.press("Escape");
  await frame.getByRole("dialog").getByRole("button", { name: t("page.leave.no") }).click();
  assert.equal(await me.screen(), "details");
  await page.getByRole("button", { name: "Close", exact: true }).click();
  await frame.getByRole("dialog").getByRole("button", { name: t("page.leave.yes") }).click();
  await page.locator("dialog").waitFor({ state: "detached" });
  await page.locator("#log").getByText("cancelled").waitFor();
  await close(server);
});

test("messages of other windows are not believed", async () => {
  const { page, close } = await visitShop(shop, "modal");
  await inside(page);
  await page.evaluate(() => {
    // Messages arrive in order, so after the last one all have been handled.
    const last = new Promise((done) => window.addEventListener("message", ({ data }) => data === "last" && done(data)));
    for (const bonafide of ["ready", "done", "cancelled", "close"]) window.postMessage({ bonafide, sessionId: "x" }, "*");
    window.postMessage("last", "*");
    return last;
  });
  assert.equal(await page.locator("#log").innerText(), "");
  assert.equal(await page.locator("dialog").count(), 1);
  await close(server);
});

test("a redirect comes back with the outcome", async () => {
  const { page, close } = await visitShop(shop, "redirect");
  const me = person(page, await specimen("pass-data-only"));
  await me.at("open");
  await me.to("details");
  await page.reload();
  assert.equal(await me.toOutcome(), t("outcome.approved.title"));
  await me.button("page.return", { merchant: "Demo merchant" }).click();
  await page.waitForURL(`${shop.origin}/**`);
  const back = new URL(page.url());
  assert.equal(back.searchParams.get("bonafide"), "done");
  assert.equal((await server.poll(back.searchParams.get("sessionId") ?? "")).status, "success");
  await close(server);
});

test("a foreign origin can neither frame the page nor be come back to", async () => {
  const { page, context } = await visitShop(stranger, "modal");
  const refused = page.waitForEvent("console", (message) => /frame-ancestors/.test(message.text()));
  await page.reload();
  await page.locator("#verify").click();
  await refused;
  // A window whose page never loaded closes at once.
  await page.getByRole("button", { name: "Close", exact: true }).click();
  await page.locator("dialog").waitFor({ state: "detached" });
  await page.locator("#log").getByText("cancelled").waitFor();
  await context.close();

  const away = await visitShop(stranger, "redirect");
  const me = person(away.page, await specimen("pass-data-only"));
  await me.at("open");
  assert.equal(await me.toOutcome(), t("outcome.approved.title"));
  assert.equal(await me.button("page.return", { merchant: "Demo merchant" }).count(), 0);
  assert.ok((await away.page.locator("main").innerText()).includes(t("page.mayclose")));
  await away.close(server);
});
