// Tests the page's appearance beyond its layout: drawings that stop moving, the list of checks, large text and
// printouts.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, test } from "node:test";
import { drawn, newVisitor, startBrowser } from "./browser.mjs";
import { person, t } from "./person.mjs";
import { documentsFlow, specimen, startServer } from "./server.mjs";

/** @typedef {import("playwright-core").Page} Page */

/** WCAG 2.2, 2.2.2: what moves longer than this needs a button that stops it. */
const LONGEST_MS = 5_000;

/** @type {import("./server.mjs").Server} */ let server;
/** @type {import("./browser.mjs").Browser} */ let browser;
before(async () => {
  [server, browser] = await Promise.all([startServer(), startBrowser()]);
  await server.cli("merchant", "set", server.merchantId, "privacyUrl=https://merchant.example/privacy");
});
after(() => Promise.all([browser.close(), server.stop()]));

/** Finishes the drawing's animations, and returns their durations (ms). @param {Page} page */
const finishAnimations = (page) =>
  page.evaluate(() =>
    document
      .getAnimations()
      .filter(({ effect }) => /** @type {KeyframeEffect} */ (effect).target?.closest(".example"))
      .map((animation) => {
        const { endTime } = /** @type {AnimationEffect} */ (animation.effect).getComputedTiming();
        animation.finish();
        return Number(endTime);
      }),
  );

/** The opacity of a part of the drawing. @param {Page} page @param {string} part */
const opacity = (page, part) => page.locator(`.example ${part}`).evaluate((element) => Number(getComputedStyle(element).opacity));

test("drawings show what to avoid, and rest on the good picture within five seconds", async () => {
  const flow = await server.flow(documentsFlow({}, ["ID_CARD"]));
  for (const reducedMotion of /** @type {const} */ (["no-preference", "reduce"])) {
    const { page, open, close } = await newVisitor(browser, { reducedMotion });
    await open(await server.link(flow));
    const me = person(page, await specimen("pass-id-card-td1"));
    for (const [screen, fault] of /** @type {const} */ ([["front", ".glare"], ["back", ".glare"], ["selfie", ".shade"]])) {
      await me.to(screen);
      await drawn(page);
      const times = await finishAnimations(page);
      if (reducedMotion === "reduce") assert.deepEqual(times, [], `${screen}: nothing moves`);
      else assert.ok(times.length >= 4 && times.every((time) => time <= LONGEST_MS), `${screen}: ${times}`);
      assert.deepEqual(
        { right: await opacity(page, ".right"), wrong: await opacity(page, ".wrong"), fault: await opacity(page, fault) },
        { right: 1, wrong: 0, fault: 0 },
        `${screen}, ${reducedMotion}`,
      );
    }
    await close(server);
  }
});

test("while the server checks, the page lists the checks, also after a response that was lost", async () => {
  for (const [flow, who, expected] of /** @type {const} */ ([
    [documentsFlow(), "pass-passport", ["upload.check.document", "upload.check.face", "upload.check.details"]],
    [{ defaultFields: {} }, "pass-data-only", ["upload.check.details"]],
  ])) {
    const { page, open, close } = await newVisitor(browser);
    // The screen may be replaced before the test can inspect it.
    await page.addInitScript(() => {
      const seen = /** @type {string[]} */ ([]);
      Object.assign(window, { seen });
      new MutationObserver(() => {
        if (document.getElementById("main")?.dataset["screen"] !== "upload") return;
        const items = [...document.querySelectorAll("main .checks li")].map((item) => item.textContent);
        const now = [document.querySelector("h1")?.textContent, ...items].join("\n");
        if (seen.at(-1) !== now) seen.push(now);
      }).observe(document, { childList: true, subtree: true });
    });
    // The first response is lost, and the attempt is sent again.
    const devtools = await page.context().newCDPSession(page);
    await devtools.send("Fetch.enable", { patterns: [{ urlPattern: "*/v2/idv/verify", requestStage: "Response" }] });
    devtools.on("Fetch.requestPaused", async ({ requestId }) => {
      await devtools.send("Fetch.failRequest", { requestId, errorReason: "ConnectionReset" });
      await devtools.send("Fetch.disable");
    });
    await open(await server.link(await server.flow(flow)));
    await person(page, await specimen(who)).toOutcome();
    const sending = t("defaultDocumentTypes" in flow ? "upload.title" : "upload.title.details");
    const checking = ["upload.checking", ...expected].map((key) => t(key)).join("\n");
    assert.deepEqual(await page.evaluate(() => Reflect.get(window, "seen")), [sending, checking, sending, checking]);
    await close(server);
  }
});

test("with text at 200 %, the merchant's name is legible and the buttons cover at most a third of the window", async () => {
  const { page, open, close } = await newVisitor(browser);
  await open(await server.link(await server.flow(documentsFlow())));
  const me = person(page, await specimen("pass-passport"));
  await me.to("front");
  /** @param {string} size of the text */
  const bar = async (size) => {
    await page.evaluate((size) => (document.documentElement.style.fontSize = size), size);
    await drawn(page);
    return page.locator("main .actions").evaluate((element) => ({
      position: getComputedStyle(element).position,
      share: element.getBoundingClientRect().height / innerHeight,
    }));
  };
  const usual = await bar("");
  assert.ok(usual.position === "sticky" && usual.share <= 1 / 3, JSON.stringify(usual));
  await page.setViewportSize({ width: 320, height: 568 });
  const large = await bar("200%");
  assert.ok(large.position === "static" || large.share <= 1 / 3, JSON.stringify(large));
  const name = await page.locator(".brand .name").evaluate((element) => ({ cut: element.scrollHeight > element.clientHeight + 1, width: element.getBoundingClientRect().right - innerWidth }));
  assert.ok(!name.cut && name.width <= 0, JSON.stringify(name));
  await page.setViewportSize({ width: 360, height: 740 });
  assert.equal((await bar("")).position, "sticky", "and it comes back");
  await close(server);
});

test("a printout has the merchant, the outcome, the address and the time, and no buttons", async () => {
  const { page, open, close } = await newVisitor(browser);
  await open(await server.link(await server.flow({ defaultFields: {} })));
  const me = person(page, await specimen("pass-data-only"));
  const paper = async () => {
    await page.emulateMedia({ media: "print" });
    await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
    const address = await page.locator(".links a").first().evaluate((link) => getComputedStyle(link, "::after").content);
    const text = `${await page.locator("body").innerText()} ${address}`;
    assert.equal(await page.locator("button:visible, select:visible").count(), 0);
    await page.emulateMedia({ media: "screen" });
    return text;
  };
  await me.at("open");
  const before = await paper();
  for (const part of [t("consent.title"), t("consent.rights", { merchant: "Demo merchant" }), "https://merchant.example/privacy"]) assert.ok(before.includes(part), part);
  await me.toOutcome();
  const text = await paper();
  for (const part of ["Demo merchant", t("outcome.approved.title"), new URL(server.baseUrl).host, String(new Date().getFullYear())]) assert.ok(text.includes(part), `${part}: ${text}`);
  assert.equal(await page.locator("#printed").isVisible(), false);
  await close(server);

  const dark = await newVisitor(browser, { colorScheme: "dark" });
  await dark.open(await server.link(await server.flow(documentsFlow())));
  const other = person(dark.page, await specimen("pass-passport"));
  for (const state of ["document", "front"]) {
    await other.to(state);
    await dark.page.emulateMedia({ media: "print" });
    assert.equal(await dark.page.locator("button:visible, select:visible, summary:visible").count(), 0, state);
    assert.equal(await dark.page.locator("html").evaluate((html) => getComputedStyle(html).backgroundColor), "rgb(255, 255, 255)");
    await dark.page.emulateMedia({ media: "screen" });
  }
  await dark.close(server);
});

test("each stylesheet of the page has the animations that it uses, or the first one has them", async () => {
  const read = (/** @type {string} */ name) => readFile(new URL(`../verify/${name}`, import.meta.url), "utf8");
  const first = await read("style.css");
  const defined = (/** @type {string} */ css) => [...css.matchAll(/@keyframes (\w+)/g)].map(([, name]) => name);
  for (const name of ["style.css", "later.css", "illustrations.css"]) {
    const css = await read(name);
    const values = [...css.matchAll(/animation(?:-name)?: ([^;]+);/g)].map(([, value]) => value ?? "");
    const used = values.flatMap((value) => value.match(/\b[a-z]+\b/g) ?? []).filter((word) => !/^(s|ms|ease|in|out|linear|both|infinite|alternate|cubic|bezier|none|important)$/.test(word));
    assert.ok(used.length > 0, name);
    for (const word of used) assert.ok(defined(css).includes(word) || defined(first).includes(word), `${name}: ${word}`);
  }
});
