// A member of staff in the portal with a separate browser.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { desktop, newVisitor } from "./browser.mjs";
import { specimen } from "./server.mjs";

export const PASSWORD = "correct horse battery staple 7";
let count = 0;

/**
 * Joins with a one-time link, which also signs in.
 * @param {import("./browser.mjs").Browser} browser @param {string} link
 * @param {import("playwright-core").BrowserContextOptions} [options]
 */
export async function join(browser, link, options = {}) {
  const watched = await newVisitor(browser, { viewport: desktop, hasTouch: false, ...options });
  const { page } = watched;
  const email = `robin-${++count}@example.com`;
  await page.goto(link);
  await page.locator("[name=name]").fill("Robin Example");
  await page.locator("[name=email]").fill(email);
  await page.locator("[name=password]").fill(PASSWORD);
  await page.locator("main form button").last().click();
  await page.waitForURL((url) => !url.pathname.startsWith("/portal/join"));
  return { ...watched, email };
}

/** The link that the command line printed, with the test server's port. @param {import("./server.mjs").Server} server @param {string} made */
const here = (server, made) => server.baseUrl + new URL(JSON.parse(made).link).pathname;

/** A link to join the demo merchant. @param {import("./server.mjs").Server} server @param {string} role */
export async function invitation(server, role) {
  const made = await server.cli("portal", "invite", "--merchant", server.merchantId, "--role", role, "--json");
  return here(server, made);
}

/** A link to become an operator. @param {import("./server.mjs").Server} server */
export async function operatorLink(server) {
  return here(server, await server.cli("portal", "operator-link", "--json"));
}

/**
 * A link that opens an account: a stranger requests it and an operator creates it.
 * @param {import("./server.mjs").Server} server @param {import("playwright-core").Page} stranger @param {import("playwright-core").Page} operator
 */
export async function signUpLink(server, stranger, operator) {
  await stranger.goto(`${server.baseUrl}/portal/sign-up`);
  await stranger.locator("[name=company]").fill("Acme");
  await stranger.locator("[name=email]").fill(`owner-${++count}@example.com`);
  await stranger.locator("main form button.primary").click();
  await stranger.locator("main [role=status]").waitFor();
  await operator.goto(`${server.baseUrl}/portal/operator/sign-ups`);
  await operator.locator('main form[action$="/link"] button').first().click();
  return (await operator.locator("main .copy code").first().textContent()) ?? "";
}

/**
 * Verifies a specimen through the API, as a merchant's server does.
 * @param {import("./server.mjs").Server} server @param {string} name @param {string} flowId @param {Record<string, string>} [different]
 */
export async function verify(server, name, flowId, different = {}) {
  const { fields, files, file } = await specimen(name);
  const form = new FormData();
  const all = { ...fields, externalUserId: `${name}-${++count}`, ...different, flowId };
  for (const [key, value] of Object.entries(all)) form.append(key, value);
  for (const key of Object.keys(files)) form.append(key, new Blob([await readFile(file(key))]), files[key]);
  const authorization = `Basic ${Buffer.from(`${server.apiKey}:${server.secret}`).toString("base64")}`;
  const answer = await fetch(`${server.baseUrl}/v2/idv/verify`, { method: "POST", headers: { authorization }, body: form });
  const body = await answer.json();
  assert.equal(answer.status, 200, JSON.stringify(body));
  return { ...body, externalUserId: all.externalUserId };
}
