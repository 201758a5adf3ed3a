// The portal in use: a merchant from the operator's first link to a decided applicant, and sign-in with a
// second factor.
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { join as path } from "node:path";
import { after, before, test } from "node:test";
import { accessibilityFaults, desktop, newVisitor, startBrowser } from "./browser.mjs";
import { person, t } from "./person.mjs";
import { root, specimen, startServer } from "./server.mjs";
import { PASSWORD, invitation, join } from "./staff.mjs";

const folder = path(root, ".cache/screenshots/portal");

/** @type {import("./server.mjs").Server} */ let server;
/** @type {import("./browser.mjs").Browser} */ let browser;
before(async () => {
  await mkdir(folder, { recursive: true });
  [server, browser] = await Promise.all([startServer(), startBrowser()]);
});
after(() => Promise.all([browser.close(), server.stop()]));

/** An authenticator's current code (RFC 6238). @param {string} secret in base32 @param {number} [ahead] steps */
function code(secret, ahead = 0) {
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
  const bits = [...secret.replace(/[\s=]/g, "")].map((letter) => alphabet.indexOf(letter).toString(2).padStart(5, "0")).join("");
  const key = Buffer.from(/** @type {string[]} */ (bits.match(/.{8}/g)).map((byte) => parseInt(byte, 2)));
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000) + ahead));
  const hash = createHmac("sha1", key).update(counter).digest();
  const at = (hash.at(-1) ?? 0) & 15;
  return String((hash.readUInt32BE(at) & 0x7fff_ffff) % 1_000_000).padStart(6, "0");
}

test("a Flow is made, tried on a phone, and its applicant decided with the keyboard alone", async () => {
  // The demo's summary names the specimen.
  const printed = server.log().length;
  const owner = await join(browser, await invitation(server, "owner"));
  {
    const { page } = owner;
    await page.goto(`${server.baseUrl}/portal/flows/new`);
    await page.locator("[name=name]").fill("Opening an account");
    await page.locator("input[name=type][value=PASSPORT]").check();
    await page.locator("input[name=upload][value=documentFileUpload]").check();
    await page.locator("input[name=reviewPolicy][value=always]").check();
    await page.locator("main .actions button.primary, main button.primary[value=save]").last().click();
    await page.waitForURL(/\/portal\/flows\/[0-9a-f-]{36}/);
    await page.getByRole("button", { name: "Try this Flow" }).click();
    await page.locator("main .qr").waitFor();
    assert.deepEqual(await accessibilityFaults(page), []);
    await page.screenshot({ path: path(folder, "link-made.png"), fullPage: true });
  }
  const link = await owner.page.locator("main code").first().textContent();

  const applicant = await newVisitor(browser);
  await applicant.open(link ?? "");
  const me = person(applicant.page, await specimen("pass-passport"));
  assert.equal(await me.toOutcome(), t("outcome.pending.title"));
  await applicant.close(server);

  const reviewer = await join(browser, await invitation(server, "reviewer"));
  const { page } = reviewer;
  const { keyboard } = page;
  await page.goto(`${server.baseUrl}/portal/queue`);
  await page.locator("a.row-link").first().waitFor();
  await keyboard.press("j");
  await page.locator("a.row-link:focus").waitFor();
  await keyboard.press("Enter");
  await page.waitForURL(/\/portal\/applicants\/\d+/);
  await keyboard.press("a");
  await page.locator("[data-key=a]:focus").waitFor();
  await page.screenshot({ path: path(folder, "whole-life-applicant.png"), fullPage: true });
  await keyboard.press("Enter");
  await page.locator('.badge[data-word="approved"]').first().waitFor();
  // The applicant's data is neither in the log nor in any requested URL.
  const { fields } = await specimen("pass-passport");
  assert.deepEqual(server.log().slice(printed).split("\n").filter((line) => line.includes(fields["lastName"] ?? "?")), [], "a name is in the server's log");
  for (const each of [owner, reviewer]) {
    assert.ok(!each.requests.some(({ url }) => url.includes(fields["lastName"] ?? "?")), "a name is in an address");
    await each.close(server);
  }
});

test("what was searched, or refused, can be reloaded and come back to", async () => {
  const officer = await join(browser, await invitation(server, "compliance"));
  const { page } = officer;
  await page.goto(`${server.baseUrl}/portal/people`);
  await page.locator("[name=text]").fill("Quillington");
  await page.keyboard.press("Enter");
  await page.waitForURL(/sealed=/);
  const found = page.getByText("No person found");
  await found.waitFor();
  assert.equal((await page.reload())?.status(), 200);
  await found.waitFor();

  await page.goto(`${server.baseUrl}/portal/monitoring`);
  await page.locator("#f-query").fill("nonsense");
  await page.locator("#f-query").press("Enter");
  await page.locator("#h-query").waitFor();
  assert.equal(await page.locator("#f-query").inputValue(), "nonsense", "what was typed is kept");
  // The form's URL accepts no GET, so the page is shown under its own URL.
  await page.waitForFunction(() => location.pathname === "/portal/monitoring");
  assert.equal((await page.reload())?.request().method(), "GET", "nothing is sent twice");
  assert.equal(await page.locator("#h-query").count(), 0);
  // Skips the empty form to reach the results.
  await page.goBack();
  await page.goBack();
  await found.waitFor();
  assert.ok(!officer.requests.some(({ url }) => url.includes("Quillington")), "a name is in an address");
  await officer.close(server);
});

test("a second factor: turned on, asked for, a code counts once", async () => {
  const member = await join(browser, await invitation(server, "compliance"));
  const { page } = member;
  await page.goto(`${server.baseUrl}/portal/account/totp`);
  const secret = (await page.locator("main code").first().textContent()) ?? "";
  // Uses the code of the previous time step, so that the current one can be used to sign in.
  await page.locator("[name=code]").fill(code(secret, -1));
  await page.locator("[name=proof]").fill(PASSWORD);
  await page.locator("main form button.primary").click();
  await page.waitForURL(/account\/recovery/);
  assert.ok((await page.locator("main code, main li").count()) >= 8, "recovery codes are shown");
  assert.deepEqual(await accessibilityFaults(page), []);
  await page.screenshot({ path: path(folder, "recovery-desktop-light.png"), fullPage: true });
  await page.goto(`${server.baseUrl}/portal/account`);
  await page.getByRole("button", { name: "Sign out" }).first().click();
  await page.waitForURL(/sign-in/);

  await page.locator("[name=email]").fill(member.email);
  await page.locator("[name=password]").fill(PASSWORD);
  await page.locator("main form button.primary").click();
  await page.waitForURL(/sign-in\/code/);
  assert.deepEqual(await accessibilityFaults(page), []);
  await page.screenshot({ path: path(folder, "code-desktop-light.png"), fullPage: true });
  // Only the page for the code is accessible now.
  await page.goto(`${server.baseUrl}/portal/queue`);
  assert.match(page.url(), /sign-in/);
  await page.goto(`${server.baseUrl}/portal/sign-in/code`);
  const used = code(secret);
  await page.locator("[name=code]").fill(used);
  await page.locator("main form button.primary").click();
  await page.waitForURL((url) => !url.pathname.includes("sign-in"));
  await page.goto(`${server.baseUrl}/portal/account`);
  assert.match((await page.locator("main").textContent()) ?? "", new RegExp(member.email));

  // The same code cannot be used again in another browser.
  const thief = await newVisitor(browser, { viewport: desktop, hasTouch: false });
  await thief.page.goto(`${server.baseUrl}/portal/sign-in`);
  await thief.page.locator("[name=email]").fill(member.email);
  await thief.page.locator("[name=password]").fill(PASSWORD);
  await thief.page.locator("main form button.primary").click();
  await thief.page.waitForURL(/sign-in\/code/);
  await thief.page.locator("[name=code]").fill(used);
  await thief.page.locator("main form button.primary").click();
  await thief.page.locator("main .error, main [role=alert]").first().waitFor();
  assert.match(thief.page.url(), /sign-in/);
  await thief.close(server);
  await member.close(server);
});

test("a new key's secret is shown once: neither Reload nor Back makes another", async () => {
  const member = await join(browser, await invitation(server, "developer"));
  const { page } = member;
  await page.goto(`${server.baseUrl}/portal/keys`);
  const before = await page.locator("main tbody tr").count();
  await page.locator('main .head form button').click();
  await page.waitForURL(/keys\/made/);
  assert.deepEqual(await accessibilityFaults(page), []);
  await page.screenshot({ path: path(folder, "key-made.png"), fullPage: true });
  await page.reload();
  await page.waitForURL(/\/portal\/keys$/);
  assert.equal(await page.locator("main tbody tr").count(), before + 1);
  await page.goBack();
  await page.goto(`${server.baseUrl}/portal/keys`);
  assert.equal(await page.locator("main tbody tr").count(), before + 1);
  await member.close(server);
});
