// The API documentation in a real browser. Every visit fails on an error in its console, for example a
// violation of its CSP.
import assert from "node:assert/strict";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { desktop, newVisitor, phone, startBrowser } from "./browser.mjs";
import { root, startServer } from "./server.mjs";

const folder = join(root, ".cache/screenshots");

/** @type {import("./server.mjs").Server} */ let server;
/** @type {import("./browser.mjs").Browser} */ let browser;
before(async () => {
  await mkdir(folder, { recursive: true });
  [server, browser] = await Promise.all([startServer(), startBrowser()]);
});
after(() => Promise.all([browser.close(), server.stop()]));

for (const colorScheme of /** @type {const} */ (["light", "dark"])) {
  test(`documentation of the API: ${colorScheme}`, async () => {
    const watched = await newVisitor(browser, { viewport: desktop, hasTouch: false, colorScheme });
    const { page } = watched;
    await watched.open(`${server.baseUrl}/docs`);
    const health = page.locator(".opblock", { has: page.getByText("/healthz", { exact: true }) });
    await health.waitFor();
    assert.equal(await page.title(), "Bonafide API");
    assert.equal(new URL(page.url()).pathname, "/docs/");
    const background = await page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
    assert.equal(background, colorScheme === "dark" ? "rgb(28, 32, 34)" : "rgb(250, 250, 250)");
    for (const [size, viewport] of Object.entries({ phone, desktop })) {
      await page.setViewportSize(viewport);
      await page.screenshot({ path: join(folder, `docs-${size}-${colorScheme}.png`) });
    }

    // A request from the page reaches the API, and its response is shown.
    await health.locator(".opblock-summary-control").click();
    await health.getByRole("button", { name: "Try it out" }).click();
    await health.getByRole("button", { name: "Execute" }).click();
    await health.locator(".live-responses-table .response-col_status").getByText("200").waitFor();
    await health.screenshot({ path: join(folder, `docs-request-${colorScheme}.png`) });
    await watched.close(server);
  });
}
