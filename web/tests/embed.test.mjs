// The hosted page inside a merchant's page: bonafide.js, allowed origins, messages, focus.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, test } from "node:test";
import { gzipSync } from "node:zlib";
import { accessibilityFaults, desktop, newVisitor, startBrowser } from "./browser.mjs";
import { startMerchantPage } from "./merchant-page.mjs";
import { person, t } from "./person.mjs";
import { documentsFlow, specimen, startServer } from "./server.mjs";

/** @type {import("./server.mjs").Server} */ let server;
/** @type {import("./browser.mjs").Browser} */ let browser;
/** @type {Awaited<ReturnType<typeof startMerchantPage>>} */ let shop;
/** @type {Awaited<ReturnType<typeof startMerchantPage>>} */ let stranger;
/** Its policy allows no frame of another origin. @type {Awaited<ReturnType<typeof startMerchantPage>>} */ let strict;
before(async () => {
  [server, browser] = await Promise.all([startServer(), startBrowser()]);
  [shop, stranger, strict] = await Promise.all([
    startMerchantPage(server.baseUrl),
    startMerchantPage(server.baseUrl),
    startMerchantPage(server.baseUrl, { policy: "frame-src 'self'" }),
  ]);
  await server.cli("merchant", "set", server.merchantId, `allowedOrigins=${JSON.stringify([shop.origin, strict.origin])}`);
});
after(async () => {
  shop.stop();
  stranger.stop();
  strict.stop();
  await Promise.all([browser.close(), server.stop()]);
});

/**
 * @param {typeof shop} at @param {"modal" | "redirect"} mode
 * @param {import("./browser.mjs").ContextOptions & {link?: string, throws?: boolean, isHeld?: boolean, expected?: RegExp}} [options] `link`: by default a new one;
 *   `isHeld`: the test itself presses the merchant's button
 */
async function visitShop(at, mode, { link, throws = false, isHeld = false, ...options } = {}) {
  const watched = await newVisitor(browser, { viewport: desktop, hosts: [at.host, new URL(server.baseUrl).host], ...options });
  const url = link ?? (await newLink());
  /** Of the console. */
  const messages = /** @type {string[]} */ ([]);
  watched.page.on("console", (message) => messages.push(message.text()));
  await watched.open(at.address(url, mode, { throws }));
  if (!isHeld) await watched.page.locator("#verify").click();
  const log = watched.page.locator("#log");
  /** What the merchant's page was told: the words, or the values of one of them. @param {string} [word] */
  const told = async (word) => {
    const lines = (await log.innerText()).split("\n").filter(Boolean);
    const pairs = lines.map((line) => /** @type {const} */ ([line.slice(0, line.indexOf(" ")), JSON.parse(line.slice(line.indexOf(" ")))]));
    return word === undefined ? pairs.map(([each]) => each) : pairs.filter(([each]) => each === word).map(([, value]) => value);
  };
  const hears = async (/** @type {string} */ word) => {
    try {
      await log.getByText(word).waitFor();
    } catch (cause) {
      throw new Error(`No ${word} in: ${await log.innerText()}`, { cause });
    }
  };
  /** The window's close button before the hosted page shows its own. */
  const closeButton = watched.page.getByRole("button", { name: "Close", exact: true });
  const closed = () => watched.page.locator("dialog").waitFor({ state: "detached" });
  return { ...watched, link: url, messages, told, hears, closeButton, closed };
}

const newLink = async () => server.link(await server.flow({ defaultFields: {} }));

/** The hosted page inside the merchant's page. @param {import("playwright-core").Page} page */
async function inside(page) {
  const handle = await page.waitForSelector("dialog iframe");
  const frame = await handle.contentFrame();
  assert.ok(frame);
  const me = person(frame, await specimen("pass-data-only"));
  await me.at("open");
  return { frame, me };
}

test("bonafide.js is below 2.5 kB, as the server sends it", async () => {
  assert.ok(gzipSync(await readFile(new URL("../embed/bonafide.js", import.meta.url))).length < 2560);
});

test("a modal on an allowed origin: steps and done are told once, the page closes, the focus comes back", async () => {
  const { page, close, told, hears, closed } = await visitShop(shop, "modal");
  const { frame, me } = await inside(page);
  assert.equal(await page.evaluate(() => document.documentElement.style.overflow), "hidden");
  assert.equal(await page.evaluate(() => document.activeElement?.tagName), "IFRAME");
  // Another language draws the same screen again, which is not a step.
  await frame.locator("#languages select").selectOption("de");
  await frame.getByText(t("open.title", {}, "de")).waitFor();
  await frame.locator("#languages select").selectOption("en");
  await frame.getByText(t("open.title")).waitFor();
  assert.equal(await me.toOutcome(), t("outcome.approved.title"));
  await hears("resolved");
  await hears("outcome");
  const [detail] = await told("done");
  assert.equal(detail.status, "approved");
  assert.equal((await server.poll(detail.sessionId)).status, "success");
  assert.deepEqual(await told("resolved"), [{ outcome: "done", ...detail }]);
  const steps = await told("step");
  assert.deepEqual(steps.map(({ step }) => step), ["open", "details", "upload", "outcome"]);
  assert.deepEqual(steps.map(({ n, total }) => [n, total]), [[null, null], [1, 1], [null, null], [null, null]]);
  await me.button("page.return", { merchant: "Demo merchant" }).click();
  await closed();
  assert.equal(await page.evaluate(() => document.activeElement?.id), "verify");
  assert.equal(await page.evaluate(() => document.documentElement.style.overflow), "");
  assert.deepEqual((await told()).filter((word) => word !== "step"), ["ready", "done", "resolved"]);
  assert.equal((await told())[0], "ready");
  await close(server);
});

test("Escape and the page's close button ask; leaving is told as cancelled", async () => {
  const { page, close, told, hears, closeButton, closed } = await visitShop(shop, "modal");
  const { frame, me } = await inside(page);
  await me.to("details");
  assert.equal(await closeButton.count(), 0);
  await page.keyboard.press("Escape");
  await frame.getByRole("dialog").getByRole("button", { name: t("page.leave.no") }).click();
  assert.equal(await me.screen(), "details");
  await frame.getByRole("banner").getByRole("button", { name: t("page.close"), exact: true }).click();
  await frame.getByRole("dialog").getByRole("button", { name: t("page.leave.yes") }).click();
  await closed();
  await hears("resolved");
  const [detail] = await told("cancelled");
  assert.ok(detail.sessionId);
  assert.deepEqual(await told("resolved"), [{ outcome: "cancelled", ...detail }]);
  await close(server);
});

test("a reload inside the window continues; ready is told once", async () => {
  const { page, close, told, hears, closeButton } = await visitShop(shop, "modal");
  const { frame, me } = await inside(page);
  await me.to("details");
  await frame.evaluate(() => location.reload());
  await page.waitForFunction(() => document.querySelector("#log")?.textContent?.match(/"details"/g)?.length === 2);
  assert.equal(await me.toOutcome(), t("outcome.approved.title"));
  await hears("resolved");
  assert.equal(await closeButton.count(), 0);
  assert.deepEqual((await told()).filter((word) => word !== "step"), ["ready", "done", "resolved"]);
  await close(server);
});

test("the page's close button overlaps nothing, also with large text", async () => {
  for (const language of ["en", "ar"]) {
    const { page, context } = await visitShop(shop, "modal", { viewport: { width: 320, height: 568 }, locale: language });
    const { frame } = await inside(page);
    await frame.evaluate(() => {
      const time = document.createElement("span");
      time.className = "chip";
      time.textContent = "1:59";
      document.getElementById("top-end")?.prepend(time);
    });
    assert.equal(await frame.locator("#close").getAttribute("aria-label"), t("page.close", {}, language));
    assert.deepEqual(await accessibilityFaults(frame), []);
    for (const size of ["100%", "200%"]) {
      const boxes = await frame.evaluate((size) => {
        document.documentElement.style.fontSize = size;
        if (document.documentElement.scrollWidth > innerWidth) throw new Error("wider than the window");
        return ["#close", "#languages", "#sandbox", ".chip", "#brand"].map((name) => {
          const { left, right, top, bottom, width, height } = document.querySelector(name)?.getBoundingClientRect() ?? new DOMRect();
          return { name, left, right, top, bottom, width, height };
        });
      }, size);
      const [button, ...others] = boxes;
      assert.ok(button && button.width === 44 && button.height === 44 && button.left >= 0 && button.right <= 320);
      assert.ok(language === "ar" ? button.right < 160 : button.left > 160);
      for (const box of others) {
        assert.ok(box.width > 20, `${box.name} is too small`);
        const isApart = box.right <= button.left || box.left >= button.right || box.bottom <= button.top || box.top >= button.bottom;
        assert.ok(isApart, `the close button overlaps ${box.name} (${language}, ${size})`);
      }
    }
    await context.close();
  }
});

test("only a merchant's page gets a close button", async () => {
  const watched = await newVisitor(browser);
  await watched.open(await newLink());
  await person(watched.page, await specimen("pass-data-only")).at("open");
  assert.equal(await watched.page.locator("#close").count(), 0);
  await watched.close(server);
});

test("a used link is told as an error once, and closing tells nothing", async () => {
  const first = await visitShop(shop, "modal");
  await (await inside(first.page)).me.to("details");
  const { page, close, told, hears, closed } = await visitShop(shop, "modal", { link: first.link, expected: /^console: Bonafide: .*\(link_used\)$/ });
  await hears("rejected");
  const frame = await (await page.waitForSelector("dialog iframe")).contentFrame();
  await frame?.getByRole("heading", { name: t("end.used.title") }).waitFor();
  await frame?.getByRole("button", { name: t("page.close"), exact: true }).click();
  await closed();
  assert.deepEqual(await told(), ["ready", "error", "rejected"]);
  const [error] = await told("error");
  assert.deepEqual([error.name, error.code], ["BonafideError", "link_used"]);
  assert.deepEqual(await told("rejected"), [error]);
  await close(server);

  // The browser that used it continues its session.
  await first.page.reload();
  await first.page.locator("#verify").click();
  const again = await (await first.page.waitForSelector("dialog iframe")).contentFrame();
  await again?.locator('main[data-screen="details"]').waitFor();
  assert.deepEqual(await first.told(), ["ready", "step"]);
  await first.context.close();
});

test("a link that is used elsewhere before its start is told as an error", async () => {
  const { page, close, link, told, hears } = await visitShop(shop, "modal", { expected: /\(link_used\)$/ });
  const { me } = await inside(page);
  const other = await visitShop(shop, "modal", { link });
  await (await inside(other.page)).me.to("details");
  await me.button("open.start").click();
  await hears("rejected");
  assert.deepEqual((await told("error")).map(({ code }) => code), ["link_used"]);
  await other.context.close();
  await close(server);
});

test("a page that cannot load its data tells it when it is closed", async () => {
  const { page, close, told, hears, closed } = await visitShop(shop, "modal", { expected: /\(unavailable\)$/ });
  const { frame } = await inside(page);
  await page.route("**/preview", (route) => route.fulfill({ status: 503, json: { error: "unavailable" } }));
  await frame.evaluate(() => location.reload());
  await frame.getByRole("button", { name: t("page.retry") }).waitFor();
  await frame.getByRole("banner").getByRole("button", { name: t("page.close"), exact: true }).click();
  await closed();
  await hears("rejected");
  assert.deepEqual((await told("error")).map(({ code }) => code), ["unavailable"]);
  await close(server);
});

test("a page that loads its data at the next try is told as done", async () => {
  const { page, close, told, hears } = await visitShop(shop, "modal");
  const { frame, me } = await inside(page);
  await page.route("**/preview", (route) => route.fulfill({ status: 503, json: { error: "unavailable" } }), { times: 1 });
  await frame.evaluate(() => location.reload());
  await frame.getByRole("button", { name: t("page.retry") }).click();
  await me.at("open");
  assert.equal(await me.toOutcome(), t("outcome.approved.title"));
  await hears("resolved");
  assert.deepEqual((await told()).filter((word) => word !== "step"), ["ready", "done", "resolved"]);
  await close(server);
});

test("a reload soon after the first load, with slow styles, is not told as an error", async () => {
  const { page, close, told, hears } = await visitShop(shop, "modal", { isHeld: true });
  // How often the check of bonafide.js has run, after each `load`.
  await page.evaluate(() => {
    const start = window.setTimeout;
    const counted = (/** @type {Function} */ run, /** @type {number} */ delay) =>
      start(() => {
        run();
        if (delay === 1000) document.body.dataset["checks"] = String(Number(document.body.dataset["checks"] ?? 0) + 1);
      }, delay);
    window.setTimeout = /** @type {any} */ (counted);
  });
  const checked = (/** @type {number} */ times) => page.locator(`body[data-checks="${times}"]`).waitFor();
  await page.locator("#verify").click();
  const { frame, me } = await inside(page);
  await page.locator("iframe[data-loaded]").waitFor();
  let release = () => {};
  const held = new Promise((resolve) => (release = () => resolve(null)));
  await page.route("**/later.css", async (route) => {
    await held;
    await route.continue();
  });
  await frame.evaluate(() => location.reload());
  await checked(1);
  release();
  await checked(2);
  assert.equal(await me.toOutcome(), t("outcome.approved.title"));
  await hears("resolved");
  assert.deepEqual((await told()).filter((word) => word !== "step"), ["ready", "done", "resolved"]);
  await close(server);
});

test("an outcome that is not final is left only after the question", async () => {
  const flow = { ...documentsFlow(), settings: { attemptsPerLink: 2 } };
  const { page, close, told, hears, closed } = await visitShop(shop, "modal", { link: await server.link(await server.flow(flow)) });
  const { frame } = await inside(page);
  const me = person(frame, await specimen("2509-passport-expired"));
  assert.equal(await me.toOutcome(), t("outcome.failed.title"));
  await frame.getByRole("banner").getByRole("button", { name: t("page.close"), exact: true }).click();
  await frame.getByRole("dialog").getByRole("button", { name: t("page.leave.yes") }).click();
  await closed();
  await hears("resolved");
  const [detail] = await told("cancelled");
  assert.ok(detail.sessionId);
  await close(server);
});

test("a page of an older server keeps the close button of bonafide.js, which lets it ask", async () => {
  const { page, context, hears, closeButton, closed } = await visitShop(shop, "modal", { isHeld: true });
  const older = "<script>parent.postMessage({ bonafide: 'ready' }, '*'); addEventListener('message', ({ data }) => data.bonafide === 'ask' && parent.postMessage({ bonafide: 'close' }, '*'));</script>";
  await page.route("**/verify?**", (route) => route.fulfill({ contentType: "text/html", body: older }));
  await page.locator("#verify").click();
  await hears("ready");
  await closeButton.click();
  await closed();
  await context.close();
});

test("a reload on the last screen of a redirect keeps the outcome", async () => {
  const { page, close } = await visitShop(shop, "redirect");
  const me = person(page, await specimen("pass-data-only"));
  await me.at("open");
  assert.equal(await me.toOutcome(), t("outcome.approved.title"));
  await page.reload();
  await me.button("page.return", { merchant: "Demo merchant" }).click();
  await page.waitForURL(`${shop.origin}/**`);
  const back = new URL(page.url());
  assert.equal(back.searchParams.get("bonafide"), "done");
  assert.equal((await server.poll(back.searchParams.get("sessionId") ?? "")).status, "success");
  await close(server);
});

for (const { name, at, link } of [
  { name: "an unreachable server", at: () => shop, link: () => "http://127.0.0.1:1/verify?token=x" },
  { name: "another page", at: () => shop, link: () => `${shop.origin}/verify?token=x` },
  { name: "a Content-Security-Policy without the server", at: () => strict, link: newLink },
]) {
  test(`${name} in the window is told as not loaded`, async () => {
    const { context, messages, told, hears, closeButton, closed } = await visitShop(at(), "modal", { link: await link() });
    await hears("rejected");
    assert.ok(messages.some((text) => /^Bonafide: .*\(not_loaded\)$/.test(text)));
    assert.deepEqual((await told("error")).map(({ code }) => code), ["not_loaded"]);
    await closeButton.click();
    await closed();
    assert.deepEqual(await told(), ["error", "rejected"]);
    await context.close();
  });
}

test("a reload that fails brings the close button back", async () => {
  const { page, context, hears, closeButton, closed } = await visitShop(shop, "modal");
  const { frame } = await inside(page);
  await page.route("**/verify?**", (route) => route.abort());
  await page.locator("iframe[data-loaded]").waitFor();
  await frame.evaluate(() => location.reload()).catch(() => {});
  await hears("not_loaded");
  await closeButton.click();
  await closed();
  await context.close();
});

test("callbacks that throw neither stop each other nor the closing", async () => {
  const { page, close, told, closed } = await visitShop(shop, "modal", { throws: true, expected: /^error on the page: Error: a fault in on|\(link_used\)$/ });
  const faults = /** @type {string[]} */ ([]);
  page.on("pageerror", ({ message }) => faults.push(message));
  const { frame, me } = await inside(page);
  await me.to("details");
  await frame.getByRole("button", { name: t("page.close"), exact: true }).click();
  await frame.getByRole("dialog").getByRole("button", { name: t("page.leave.yes") }).click();
  await closed();
  assert.deepEqual(await told(), ["ready", "step", "step", "cancelled"]);
  assert.ok(faults.includes("a fault in onCancelled"));
  // Another window can open.
  await page.locator("#verify").click();
  await page.waitForSelector("dialog iframe");
  await close(server);
});

test("a rejected result without a handler is no error of the page", async () => {
  const { page, close, told, hears, closed } = await visitShop(shop, "modal", {
    link: `${shop.origin}/verify?token=x`,
    throws: true,
    expected: /a fault in onError|\(not_loaded\)$/,
  });
  await hears("error");
  await page.evaluate(() => /** @type {any} */ (window).handle.close());
  await closed();
  assert.deepEqual(await told(), ["error"]);
  await close(server);
});

test("messages of other windows are not believed", async () => {
  const { page, close, told } = await visitShop(shop, "modal");
  await inside(page);
  await page.evaluate(() => {
    // Messages arrive in order, so after the last one all have been handled.
    const last = new Promise((done) => window.addEventListener("message", ({ data }) => data === "last" && done(data)));
    for (const bonafide of ["ready", "step", "error", "done", "cancelled", "close"]) window.postMessage({ bonafide, sessionId: "x" }, "*");
    window.postMessage("last", "*");
    return last;
  });
  assert.deepEqual(await told(), ["ready", "step"]);
  assert.equal(await page.locator("dialog").count(), 1);
  await close(server);
});

test("a redirect comes back with the outcome", async () => {
  const { page, requests, close } = await visitShop(shop, "redirect");
  const me = person(page, await specimen("pass-data-only"));
  await me.at("open");
  const visit = new URL(requests.find(({ url }) => url.includes("/verify?"))?.url ?? "");
  assert.equal(visit.searchParams.get("origin"), null);
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

test("a foreign origin cannot frame the page, and is told how to be allowed", async () => {
  const { page, context, close, messages, told, hears, closeButton, closed } = await visitShop(stranger, "modal", { expected: /\(origin_not_allowed\)$/ });
  await hears("rejected");
  const [error] = await told("error");
  assert.equal(error.code, "origin_not_allowed");
  assert.ok(error.message.includes(stranger.origin) && error.message.includes("allowedOrigins"), error.message);
  // Both the page in the frame and bonafide.js write it.
  assert.equal(messages.filter((text) => text === `Bonafide: ${error.message} (origin_not_allowed)`).length, 2);

  const frame = await (await page.waitForSelector("dialog iframe")).contentFrame();
  assert.ok(frame);
  assert.equal(await frame.getByRole("main").getByRole("heading", { level: 1 }).innerText(), t("refused.title"));
  assert.equal(await frame.locator("h1").count(), 1);
  assert.deepEqual(await accessibilityFaults(frame), []);
  const opened = context.waitForEvent("page");
  await frame.getByRole("link", { name: t("refused.open") }).click();
  const alone = await opened;
  await person(alone, await specimen("pass-data-only")).at("open");
  assert.equal(await alone.locator("#close").count(), 0);
  await page.bringToFront();
  await closeButton.click();
  await closed();
  assert.deepEqual(await told(), ["error", "rejected"]);
  await close(server);
});

test("a link without a merchant is told as invalid", async () => {
  const { page, close, told, hears } = await visitShop(shop, "modal", { link: `${server.baseUrl}/verify?token=nobody00`, expected: /\(link_invalid\)$/ });
  await hears("rejected");
  assert.deepEqual((await told("error")).map(({ code }) => code), ["link_invalid"]);
  assert.equal(await page.locator("dialog").count(), 1);
  await close(server);
});

test("a foreign origin is not returned to, and the console states why", async () => {
  const { page, close, messages } = await visitShop(stranger, "redirect", { expected: /^console: Bonafide: returnUrl was ignored/ });
  const me = person(page, await specimen("pass-data-only"));
  await me.at("open");
  assert.equal(await me.toOutcome(), t("outcome.approved.title"));
  assert.equal(await me.button("page.return", { merchant: "Demo merchant" }).count(), 0);
  assert.ok((await page.locator("main").innerText()).includes(t("page.mayclose")));
  const [message, ...others] = messages.filter((text) => text.startsWith("Bonafide: "));
  assert.ok(message?.includes(stranger.origin) && message.includes("allowedOrigins"), message);
  assert.deepEqual(others, []);
  await close(server);
});
