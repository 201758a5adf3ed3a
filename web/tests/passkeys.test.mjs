// Passkeys in a real browser, with Chromium's virtual authenticator: added, used to sign in, used as a second factor
// and as a proof, and removed.
import assert from "node:assert/strict";
import { mkdir } from "node:fs/promises";
import { createServer } from "node:net";
import { join as path } from "node:path";
import { after, before, test } from "node:test";
import { accessibilityFaults, desktop, newVisitor, startBrowser } from "./browser.mjs";
import { root, startServer } from "./server.mjs";
import { PASSWORD, invitation, join } from "./staff.mjs";

const folder = path(root, ".cache/screenshots/portal");

/** A port that is free now. @returns {Promise<number>} */
const freePort = () =>
  new Promise((done) => {
    const taken = createServer();
    taken.listen(0, "127.0.0.1", () => {
      const address = taken.address();
      taken.close(() => done(typeof address === "object" && address ? address.port : 0));
    });
  });

/** @type {import("./server.mjs").Server} */ let server;
/** @type {import("./browser.mjs").Browser} */ let browser;
before(async () => {
  await mkdir(folder, { recursive: true });
  // Browsers allow passkeys only for host names, so 127.0.0.1 is none.
  const port = await freePort();
  [server, browser] = await Promise.all([startServer(["--public-url", `http://localhost:${port}`], port), startBrowser()]);
});
after(() => Promise.all([browser.close(), server.stop()]));

/**
 * Gives a page's browser an authenticator that verifies its owner, like a phone or laptop.
 * @param {import("playwright-core").Page} page
 */
async function giveAuthenticator(page) {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send("WebAuthn.enable");
  const { authenticatorId } = await devtools.send("WebAuthn.addVirtualAuthenticator", {
    options: {
      protocol: "ctap2",
      transport: "internal",
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  return {
    /** @param {boolean} isUserVerified whether the owner's finger, face or PIN is right from now on */
    verify: (isUserVerified) => devtools.send("WebAuthn.setUserVerified", { authenticatorId, isUserVerified }),
  };
}

/** @param {import("playwright-core").Page} page */
async function signOut(page) {
  await page.goto(`${server.baseUrl}/portal/account`);
  await page.getByRole("button", { name: "Sign out" }).first().click();
  await page.waitForURL(/sign-in/);
}

/** @param {import("playwright-core").Page} page */
const arrived = (page) => page.waitForURL((url) => !/sign-in|prove/.test(url.pathname));

test("a passkey is added, signs in by itself, and is removed", async () => {
  const member = await join(browser, await invitation(server, "compliance"));
  const { page } = member;
  const device = await giveAuthenticator(page);
  await page.goto(`${server.baseUrl}/portal/account`);
  await page.getByRole("link", { name: "Add a passkey" }).click();
  await page.waitForURL(/passkeys\/new/);
  assert.deepEqual(await accessibilityFaults(page), []);
  await page.screenshot({ path: path(folder, "passkey-new.png"), fullPage: true });

  // A finger that is not recognised adds nothing, and the page explains it.
  await device.verify(false);
  await page.getByRole("button", { name: "Create passkey" }).click();
  await page.locator("[data-passkey-failed]").waitFor();
  assert.match(page.url(), /passkeys\/new/);
  assert.deepEqual(await accessibilityFaults(page), []);
  await page.screenshot({ path: path(folder, "passkey-not-created.png"), fullPage: true });
  await device.verify(true);
  await page.locator("[name=name]").fill("My laptop");
  await page.getByRole("button", { name: "Create passkey" }).click();
  await page.waitForURL(/account\/recovery/);
  assert.ok((await page.locator("main code").count()) >= 8, "recovery codes are shown");
  await page.goto(`${server.baseUrl}/portal/account`);
  await page.getByText("My laptop").waitFor();
  assert.deepEqual(await accessibilityFaults(page), []);
  await page.screenshot({ path: path(folder, "passkey-account.png"), fullPage: true });

  await signOut(page);
  assert.deepEqual(await accessibilityFaults(page), []);
  await page.screenshot({ path: path(folder, "passkey-sign-in.png"), fullPage: true });
  await device.verify(false);
  await page.getByRole("button", { name: "Sign in with a passkey" }).click();
  await page.locator("form[data-passkey] [data-passkey-failed]").waitFor();
  await device.verify(true);
  await page.getByRole("button", { name: "Sign in with a passkey" }).click();
  await arrived(page);

  // A second passkey of the same device is refused by the browser.
  await page.goto(`${server.baseUrl}/portal/account/passkeys/new`);
  await page.getByRole("button", { name: "Create passkey" }).click();
  await page.locator("[data-passkey-failed]").waitFor();

  await page.goto(`${server.baseUrl}/portal/account`);
  // The browser's own dialog is answered here, because a visitor's dialogs count as faults.
  await page.evaluate(() => (window.confirm = (question) => question?.includes("My laptop") ?? false));
  await page.getByRole("button", { name: "Remove the passkey My laptop" }).click();
  await page.waitForURL(/done=passkey_removed/);
  assert.equal(await page.getByText("My laptop").count(), 0);
  await signOut(page);
  // The device still offers it; the server no longer accepts it.
  await page.getByRole("button", { name: "Sign in with a passkey" }).click();
  await page.locator("main .error, main [role=alert]").filter({ hasText: "not accepted" }).waitFor();
  await page.screenshot({ path: path(folder, "passkey-refused.png"), fullPage: true });
  await member.close(server);
});

test("a passkey follows the password, and proves who acts", async () => {
  const member = await join(browser, await invitation(server, "owner"));
  const { page } = member;
  await giveAuthenticator(page);
  await page.goto(`${server.baseUrl}/portal/account/passkeys/new`);
  await page.getByRole("button", { name: "Create passkey" }).click();
  await page.waitForURL(/account\/recovery/);
  const recovery = (await page.locator("main code").first().textContent()) ?? "";
  await signOut(page);

  await page.locator("[name=email]").fill(member.email);
  await page.locator("[name=password]").fill(PASSWORD);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await page.waitForURL(/sign-in\/code/);
  assert.deepEqual(await accessibilityFaults(page), []);
  await page.screenshot({ path: path(folder, "passkey-code.png"), fullPage: true });
  await page.getByRole("button", { name: "Use a passkey" }).click();
  await arrived(page);

  // A change of the address needs a proof in its own form: Enter with the field empty uses the passkey.
  await page.goto(`${server.baseUrl}/portal/account`);
  await page.locator("[name=newEmail]").fill("robin-new@example.com");
  await page.locator("[name=newEmail]").press("Enter");
  await page.locator("main .note.good").first().waitFor();

  // Without the device, a password and a recovery code sign in.
  const elsewhere = await newVisitor(browser, { viewport: desktop, hasTouch: false });
  await elsewhere.page.goto(`${server.baseUrl}/portal/sign-in`);
  await elsewhere.page.locator("[name=email]").fill(member.email);
  await elsewhere.page.locator("[name=password]").fill(PASSWORD);
  await elsewhere.page.getByRole("button", { name: "Sign in", exact: true }).click();
  await elsewhere.page.waitForURL(/sign-in\/code/);
  await elsewhere.page.locator("[name=code]").fill(recovery);
  await elsewhere.page.getByRole("button", { name: "Sign in", exact: true }).click();
  await arrived(elsewhere.page);
  await elsewhere.close(server);
  await member.close(server);
});
