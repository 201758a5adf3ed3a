// Checks every page of the portal against WCAG 2.2 AA, on a phone (light) and a desktop (dark), and with EVERY_SCREEN=1
// (`make test-all`) on both in both colour schemes. With SCREENSHOTS=1
// it takes a picture of each, in .cache/screenshots. `portal-pages.json` lists the pages; a test of the server fails
// if one is missing.
import assert from "node:assert/strict";
import { mkdir, readFile, readdir } from "node:fs/promises";
import { join as path } from "node:path";
import { after, before, test } from "node:test";
import { desktop, lookInSchemes, newVisitor, phone, schemesOn, startBrowser } from "./browser.mjs";
import { documentsFlow, root, startServer } from "./server.mjs";
import { invitation, join, operatorLink, signUpLink, verify } from "./staff.mjs";

const folder = path(root, ".cache/screenshots/portal");

/** @typedef {{path: string, as?: "nobody" | "operator" | "joining" | "signing-up", elsewhere?: string, from?: string}} Entry */
/** @type {import("./server.mjs").Server} */ let server;
/** @type {import("./browser.mjs").Browser} */ let browser;
/** @type {Record<string, string>} */ let ids;
before(async () => {
  await mkdir(folder, { recursive: true });
  [server, browser] = await Promise.all([startServer(), startBrowser()]);
  const flow = await server.flow({ ...documentsFlow(), webhookUrl: `${server.baseUrl}/nobody` });
  const passed = await verify(server, "pass-passport", flow.flowId);
  // This attempt goes to review, because the demo list has an entry with that name.
  await verify(server, "pass-passport", (await server.flow({})).flowId, { lastName: "SANDBOX-2702" });
  await server.api("POST", "/v2/public/transaction-monitoring", {
    query: "0x626f6e61666964652073616e64626f7820303435", currency: "eth", type: "address",
  });
  ids = { merchantId: server.merchantId, flowId: flow.flowId, groupId: flow.groupId, logId: "2", key: server.apiKey, facemapId: passed.facemap_id };
});
after(() => Promise.all([browser.close(), server.stop()]));

/** The first parts of all keys of texts, such as `review`. */
const areas = new Set();
before(async () => {
  const locales = path(root, "web/portal/locales/en");
  for (const name of await readdir(locales)) {
    const texts = JSON.parse(await readFile(path(locales, name), "utf8"));
    for (const key of Object.keys(texts)) areas.add(key.split(".")[0]);
  }
});

/** A path with existing ids filled in. @param {string} path */
const filled = (path) => path.replace(/\{(\w+)\}/g, (_, id) => ids[id] ?? id);

/** The first link of a page that matches a pattern. @param {import("playwright-core").Page} page @param {string} pattern */
async function linked(page, pattern) {
  const links = await page.locator("main a[href]").evaluateAll((all) => all.map((link) => new URL(/** @type {HTMLAnchorElement} */ (link).href).pathname));
  const fits = new RegExp(`^${pattern.replace(/\{\w+\}/g, "[^/]+")}$`);
  const found = links.find((link) => fits.test(link) && !/\/(new|search|export)$/.test(link));
  assert.ok(found, `${page.url()} has no link like ${pattern}`);
  return found;
}

test("every page", async () => {
  /** @type {Entry[]} */
  const pages = JSON.parse(await readFile(new URL("portal-pages.json", import.meta.url), "utf8"));
  const faults = /** @type {string[]} */ ([]);
  const owner = await join(browser, await invitation(server, "owner"));
  const operator = await join(browser, await operatorLink(server));
  const nobody = await newVisitor(browser);
  for (const entry of pages.filter((entry) => !entry.elsewhere)) {
    const { page } = entry.as === "operator" ? operator : entry.as ? nobody : owner;
    if (entry.from) await page.goto(server.baseUrl + filled(entry.from));
    let address = filled(entry.path);
    if (entry.from) address = await linked(page, entry.path);
    if (entry.as === "joining") address = new URL(await invitation(server, "reviewer")).pathname;
    if (entry.as === "signing-up") address = new URL(await signUpLink(server, page, operator.page)).pathname;
    const name = entry.path.replace(/^\/portal\/?/, "").replace(/[^\w]+/g, "-") || "overview";
    const answer = await page.goto(server.baseUrl + address);
    if (answer?.status() !== 200) faults.push(`${entry.path}: ${answer?.status()}`);
    if (new URL(page.url()).pathname !== address.split("?")[0]) faults.push(`${entry.path}: led to ${page.url()}`);
    for (const [size, viewport] of Object.entries({ phone, desktop })) {
      await page.setViewportSize(viewport);
      const found = await lookInSchemes(page, (scheme) => path(folder, `${name}-${size}-${scheme}.png`), schemesOn(size));
      faults.push(...found.map((fault) => `${entry.path} (${size}): ${fault}`));
      const words = await page.evaluate(() => document.body.innerText.match(/\b[a-z]+(?:\.[a-z_]+){1,4}\b(?=\s|$)/g) ?? []);
      // A text that is missing is shown as its key.
      for (const key of words.filter((word) => areas.has(word.split(".")[0]))) faults.push(`${entry.path}: the text ${key} is missing`);
    }
  }
  assert.deepEqual([...new Set(faults)], []);
  await Promise.all([owner.close(server), operator.close(server), nobody.close(server)]);
});
