// Every page of the portal against WCAG 2.2 AA, on a phone and a desk, light and dark, with a picture of each in .cache/screenshots.
// `portal-pages.json` names the pages; a test of the server fails when one is missing there.
import assert from "node:assert/strict";
import { mkdir, readFile } from "node:fs/promises";
import { join as path } from "node:path";
import { after, before, test } from "node:test";
import { accessibilityFaults, desktop, newVisitor, phone, startBrowser } from "./browser.mjs";
import { documentsFlow, root, startServer } from "./server.mjs";
import { invitation, join, operatorLink, verify } from "./staff.mjs";

const folder = path(root, ".cache/screenshots/portal");

/** @typedef {{path: string, as?: "nobody" | "operator" | "joining", elsewhere?: string}} Entry */
/** @type {import("./server.mjs").Server} */ let server;
/** @type {import("./browser.mjs").Browser} */ let browser;
/** @type {Record<string, string>} */ let ids;
before(async () => {
  await mkdir(folder, { recursive: true });
  [server, browser] = await Promise.all([startServer(), startBrowser()]);
  const flow = await server.flow(documentsFlow());
  const passed = await verify(server, "pass-passport", flow.flowId);
  const waiting = await verify(server, "pass-id-card-td1", (await server.flow(documentsFlow({}, ["ID_CARD"]))).flowId, { lastName: "SANDBOX-2702" }).catch(() => passed);
  ids = { flowId: flow.flowId, groupId: flow.groupId, key: server.apiKey, facemapId: passed.facemapId ?? "", logId: "2", passed: "1", waiting: String(waiting.logId ?? 2) };
});
after(() => Promise.all([browser.close(), server.stop()]));

for (const colorScheme of /** @type {const} */ (["light", "dark"])) {
  test(`every page: ${colorScheme}`, async () => {
    /** @type {Entry[]} */
    const pages = JSON.parse(await readFile(new URL("portal-pages.json", import.meta.url), "utf8"));
    const faults = /** @type {string[]} */ ([]);
    const owner = await join(browser, await invitation(server, "owner"), { colorScheme });
    const operator = await join(browser, await operatorLink(server), { colorScheme });
    const nobody = await newVisitor(browser, { colorScheme });
    for (const entry of pages.filter((entry) => !entry.elsewhere)) {
      const { page } = entry.as === "operator" ? operator : entry.as ? nobody : owner;
      const address = entry.as === "joining" ? new URL(await invitation(server, "reviewer")).pathname : entry.path.replace(/\{(\w+)\}/g, (_, id) => ids[id] ?? id);
      const name = entry.path.replace(/^\/portal\/?/, "").replace(/[^\w]+/g, "-") || "overview";
      const answer = await page.goto(server.baseUrl + address);
      if (answer?.status() !== 200) faults.push(`${entry.path}: ${answer?.status()}`);
      if (new URL(page.url()).pathname !== address.split("?")[0]) faults.push(`${entry.path}: led to ${page.url()}`);
      for (const [size, viewport] of Object.entries({ phone, desktop })) {
        await page.setViewportSize(viewport);
        await page.waitForTimeout(50);
        await page.screenshot({ path: path(folder, `${name}-${size}-${colorScheme}.png`), fullPage: true });
        const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
        if (wide > 0) faults.push(`${entry.path} (${size}): ${wide} px wider than the window`);
        for (const fault of await accessibilityFaults(page)) faults.push(`${entry.path} (${size}): ${fault}`);
        const untold = await page.evaluate(() => document.body.innerText.match(/\b[a-z]+(?:\.[a-z_]+){1,4}\b(?=\s|$)/g)?.filter((word) => /^(common|nav|layout|done|error|review|flows|insight|accounts|setup|privacy|operator|screening|monitoring|staff|keys)\./.test(word)) ?? []);
        for (const key of untold) faults.push(`${entry.path}: the text ${key} is missing`);
      }
    }
    assert.deepEqual([...new Set(faults)], []);
    await Promise.all([owner.close(server), operator.close(server), nobody.close(server)]);
  });
}
