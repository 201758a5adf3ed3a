// Real Chromium for tests. Every visit fails on a request to another host, an error on the page, or a token
// in a wrong place.
import assert from "node:assert/strict";
import { mkdir, readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

/** @typedef {import("playwright-core").Browser} Browser */
/** @typedef {import("playwright-core").Page} Page */
/** @typedef {import("playwright-core").BrowserContextOptions} ContextOptions */

const FLAGS = [
  "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync",
];

const screenshots = fileURLToPath(new URL("../../.cache/screenshots", import.meta.url));

export const phone = { width: 360, height: 740 };
export const desktop = { width: 1280, height: 800 };

/** @param {string[]} [flags] */
export const startBrowser = (flags = []) =>
  chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: [...FLAGS, ...flags] });

/**
 * A browser for a new person. Its `check()` fails with everything that went wrong.
 * @param {Browser} browser
 * @param {ContextOptions & {hosts?: string[], expected?: RegExp}} [options] `hosts`: further hosts to which requests are
 *   allowed (a merchant's page); `expected`: the faults that the test causes
 */
export async function newVisitor(browser, { hosts = [], expected, ...options } = {}) {
  const context = await browser.newContext({
    viewport: phone,
    isMobile: false,
    hasTouch: true,
    locale: "en-GB",
    reducedMotion: "reduce",
    ...options,
  });
  // Long timeouts, because a slow machine must not fail a test.
  context.setDefaultTimeout(90_000);
  const page = await context.newPage();
  const faults = /** @type {string[]} */ ([]);
  const requests = /** @type {{method: string, url: string, referer: string | null}[]} */ ([]);
  /** How often a link with this token was opened. @type {Map<string, number>} */
  const tokens = new Map();
  let host = "";
  context.on("request", async (request) => {
    const url = new URL(request.url());
    if (!/^(https?|wss?):$/.test(url.protocol)) return;
    host ||= url.host;
    if (url.host !== host && !hosts.includes(url.host)) faults.push(`asked another host: ${url.href}`);
    const referer = (await request.allHeaders().catch(() => request.headers())).referer ?? null;
    requests.push({ method: request.method(), url: url.href, referer });
  });
  context.on("page", watch);
  watch(page);

  /** @param {Page} each */
  function watch(each) {
    each.on("pageerror", (error) => faults.push(`error on the page: ${error.stack}`));
    each.on("console", (message) => {
      const text = message.text();
      // Refusals of the server appear here too; the tests check how the page handles them.
      if (message.type() === "error" && !text.startsWith("Failed to load resource")) faults.push(`console: ${text}`);
    });
    each.on("dialog", (dialog) => {
      faults.push(`a dialog of the browser: ${dialog.message()}`);
      void dialog.dismiss();
    });
  }

  return {
    context,
    page,
    requests,
    /** @param {string} link @param {"load" | "commit"} [waitUntil] */
    async open(link, waitUntil = "load") {
      const { searchParams } = new URL(link);
      const token = searchParams.get("token") ?? searchParams.get("invitation");
      if (token) tokens.set(token, (tokens.get(token) ?? 0) + 1);
      await page.goto(link, { waitUntil });
    },
    /** Closes the browser and fails if anything went wrong. @param {{log: () => string}} [server] whose log must not contain the tokens */
    async close(server) {
      await context.close();
      for (const [token, opened] of tokens) {
        const seen = requests.filter(({ url }) => url.includes(token));
        if (seen.some(({ method }) => method !== "GET") || seen.length > opened) faults.push("the token is in a later address");
        if (requests.some(({ referer }) => referer?.includes(token))) faults.push("the token is in a Referer");
        if (server?.log().includes(token)) faults.push("the token is in the server's log");
      }
      assert.deepEqual(faults.filter((fault) => !expected?.test(fault)), []);
    },
  };
}

/** @typedef {Awaited<ReturnType<typeof newVisitor>>} Visitor */

/** The response to the page's next call of an endpoint, within five minutes. @param {Page} page @param {string} path its end */
export const answerTo = (page, path) => page.waitForResponse((response) => response.url().endsWith(path), { timeout: 300_000 });

/** Delays the page's scripts, like a slow connection, until the returned function is called. @param {Page} page */
export async function holdScripts(page) {
  let letGo = () => {};
  const held = new Promise((resolve) => (letGo = () => resolve(undefined)));
  await page.route("**/verify/main.js", async (route) => {
    await held;
    await route.continue();
  });
  return letGo;
}

/** Waits until the page is rendered in its current state, for example after its window was resized. @param {Page} page */
export const drawn = (page) => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));

/** Waits until the page has stored this text. @param {Page} page @param {string} text */
export async function kept(page, text) {
  // `waitForFunction` would accept the promise itself as true.
  const isKept = () =>
    page.evaluate(async (text) => {
      /** @param {IDBRequest} request @returns {Promise<any>} */
      const done = (request) => new Promise((resolve) => (request.onsuccess = () => resolve(request.result)));
      const db = /** @type {IDBDatabase} */ (await done(indexedDB.open("bonafide")));
      const all = await done(db.transaction("kept").objectStore("kept").getAll());
      db.close();
      return JSON.stringify(all).includes(text);
    }, text);
  for (let tries = 0; tries < 400; tries++) {
    if (await isKept()) return;
    await page.waitForTimeout(100);
  }
  assert.fail(`the page did not keep ${text}`);
}

/** @typedef {"light" | "dark"} Scheme */

/**
 * Checks a screen's accessibility on a phone and on a desktop; with SCREENSHOTS=1 it takes pictures of them too.
 * @param {Page} page
 * @param {string} state names the pictures, with the language if it is not English
 * @param {Scheme[]} [schemes]
 * @returns {Promise<string[]>} faults
 */
export async function look(page, state, schemes = ["light", "dark"]) {
  const faults = /** @type {string[]} */ ([]);
  await mkdir(screenshots, { recursive: true });
  for (const [size, viewport] of Object.entries({ phone, desktop })) {
    await page.setViewportSize(viewport);
    const file = (/** @type {Scheme} */ scheme) => join(screenshots, `${state}-${size}-${scheme}.png`);
    faults.push(...(await lookInSchemes(page, file, schemes.length > 1 ? schemesOn(size) : schemes)));
    faults.push(...(await smallTargets(page)));
  }
  return faults.map((fault) => `${state}: ${fault}`);
}

/**
 * The colour schemes to check on a phone or a desktop: both with EVERY_SCREEN=1 (`make test-all`) or SCREENSHOTS=1,
 * otherwise light on the phone and dark on the desktop.
 * @param {string} size
 * @returns {Scheme[]}
 */
export function schemesOn(size) {
  if (process.env.EVERY_SCREEN || process.env.SCREENSHOTS) return ["light", "dark"];
  return size === "phone" ? ["light"] : ["dark"];
}

/**
 * Checks a page's width and, in each colour scheme, its accessibility. Ends in the light scheme. The rules that do
 * not concern colours are checked in the light scheme only. With SCREENSHOTS=1 it also takes pictures.
 * @param {Page} page
 * @param {(scheme: Scheme) => string} file
 * @param {Scheme[]} [schemes]
 * @returns {Promise<string[]>} faults
 */
export async function lookInSchemes(page, file, schemes = ["light", "dark"]) {
  const faults = /** @type {string[]} */ ([]);
  for (const scheme of schemes) {
    await page.emulateMedia({ colorScheme: scheme });
    await drawn(page);
    if (process.env.SCREENSHOTS) await page.screenshot({ path: file(scheme), fullPage: true });
    const found = await accessibilityFaults(page, scheme === "light" ? EVERY_RULE : COLOUR_RULES);
    for (const fault of found) faults.push(`${scheme}: ${fault}`);
  }
  await page.emulateMedia({ colorScheme: "light" });
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  if (wide > 0) faults.push(`${wide} px wider than the window`);
  return faults;
}

const axeSource = readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
/** axe's rules for WCAG 2.2 AA. */
const EVERY_RULE = { type: "tag", values: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] };
/** Those of them whose result depends on colours. */
const COLOUR_RULES = { type: "rule", values: ["color-contrast", "link-in-text-block"] };

/**
 * The violations of WCAG 2.2 AA that axe finds on the current page, one line each. axe runs outside the page's CSP.
 * @param {Page | import("playwright-core").Frame} page
 * @param {{type: string, values: string[]}} [rules]
 */
export async function accessibilityFaults(page, rules = EVERY_RULE) {
  // @ts-expect-error the script below defines axe
  if (!(await page.evaluate(() => typeof axe === "object"))) await page.evaluate(await axeSource);
  const violations = await page.evaluate(async (runOnly) => {
    // @ts-expect-error the script above defines axe
    const found = await axe.run(document, { runOnly, resultTypes: ["violations"] });
    return found.violations;
  }, rules);
  return violations.flatMap((/** @type {any} */ violation) =>
    violation.nodes.map((/** @type {any} */ node) => `${violation.id}: ${node.html} ${node.failureSummary}`));
}

/** Controls smaller than 44 by 44 pixels. Links inside a sentence are exempt, as in WCAG. @param {Page} page */
export const smallTargets = (page) =>
  page.evaluate(() => {
    const controls = document.querySelectorAll("button, a[href], input:not([type=hidden]), select, summary, [role=button], [role=option]");
    return [...controls].flatMap((control) => {
      const label = control instanceof HTMLInputElement && control.labels?.[0];
      const box = (control.matches("[type=radio], [type=checkbox], [type=file]") && label ? label : control).getBoundingClientRect();
      const inText = control.matches("a") && getComputedStyle(control).display === "inline" && control.closest("p, li");
      const hidden = !control.checkVisibility({ visibilityProperty: true, opacityProperty: true });
      if (hidden || inText || box.width <= 1 || control.matches(".skip")) return [];
      return box.width >= 43.5 && box.height >= 43.5 ? [] : [`${control.outerHTML.slice(0, 120)}: ${box.width}×${box.height}`];
    });
  });
