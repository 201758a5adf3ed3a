// Problems around a verification: links, countries, time, connections, windows, reloads. None is a dead end.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import { holdScripts, kept, newVisitor, startBrowser } from "./browser.mjs";
import { person, t } from "./person.mjs";
import { documentsFlow, specimen, startServer } from "./server.mjs";

/** @type {import("./server.mjs").Server} */ let server;
/** @type {import("./browser.mjs").Browser} */ let browser;
before(async () => ([server, browser] = await Promise.all([startServer(), startBrowser()])));
after(() => Promise.all([browser.close(), server.stop()]));

const merchant = "Demo merchant";

/** @param {object} [flow] @param {string} [name] @param {object} [options] */
async function arrive(flow = documentsFlow(), name = "pass-passport", options = {}) {
  const watched = await newVisitor(browser, options);
  const link = await server.link(await server.flow(flow));
  await watched.open(link);
  return { watched, page: watched.page, link, me: person(watched.page, await specimen(name)) };
}

/** The last answer to the consent: whether it was given, and the language. @returns {Promise<[number, string]>} */
const lastConsent = async () => {
  const program = "import json, sqlite3, sys; db = sqlite3.connect(sys.argv[1], timeout=20); print(json.dumps(db.execute('select accepted, language from consents order by at desc').fetchone()))";
  return JSON.parse((await promisify(execFile)("python3", ["-c", program, join(server.data, "bonafide.db")])).stdout);
};

/** @param {import("playwright-core").Page} page @returns {Promise<string>} */
const sessionOf = (page) => page.evaluate(() => JSON.parse(sessionStorage.getItem("bonafide") ?? "{}").access?.sessionId);

test("a press on Start before the scripts have run begins once, as soon as they have", async () => {
  for (const press of ["a finger", "Enter"]) {
    const watched = await newVisitor(browser);
    const { page } = watched;
    const me = person(page, await specimen("pass-data-only"));
    let exchanges = 0;
    page.on("request", (request) => void (exchanges += Number(request.url().endsWith("/session/exchange"))));
    const letGo = await holdScripts(page);
    await watched.open(await server.link(await server.flow({ defaultFields: {} })), "commit");
    const start = page.locator("#start");
    // The popover that the button opens follows it in the page.
    await page.locator("#starting").waitFor({ state: "attached" });
    if (press === "Enter") await start.press("Enter");
    else for (let taps = 0; taps < 2; taps++) await start.tap();
    // The accepted press is visible and announced.
    await page.waitForFunction(() => {
      const start = document.getElementById("start");
      return start && getComputedStyle(start, "::before").content !== "none";
    });
    assert.equal(await page.getByRole("status").filter({ hasText: t("page.moment") }).count(), 1);
    assert.equal(exchanges, 0, "nothing is sent by what is only shown");
    letGo();
    assert.equal(await me.at("details"), "details");
    assert.equal(exchanges, 1);
    assert.equal(await me.toOutcome(), t("outcome.approved.title"));
    await watched.close(server);
  }
});

test("the terms are the same before and after the scripts have run", async () => {
  for (const flow of [{ defaultFields: {} }, documentsFlow()]) {
    const watched = await newVisitor(browser);
    const { page } = watched;
    const letGo = await holdScripts(page);
    await watched.open(await server.link(await server.flow(flow)), "commit");
    await page.locator("main .points").waitFor();
    /** Everything but the time, which only the browser knows. */
    const shown = () => page.locator("main").evaluate((main) => [...main.querySelectorAll("h1, h2, p:not(.actions p), li, .actions > button")].map((each) => `${each.tagName} ${each.className} ${each.textContent}`));
    const before = await shown();
    letGo();
    await page.locator("#start").waitFor({ state: "detached" });
    assert.deepEqual(await shown(), before);
    await watched.close(server);
  }
});

test("the consent is recorded in the language of the press", async () => {
  const { watched, page, me } = await arrive();
  await me.at("open");
  /** @type {() => void} */ let letGo = () => {};
  const held = new Promise((resolve) => (letGo = () => resolve(undefined)));
  await page.route("**/v2/sdk/session/exchange", async (route) => {
    await held;
    await route.continue();
  });
  await me.button("open.start").click();
  await page.locator("#languages select").selectOption("de");
  const start = page.getByRole("button", { name: t("open.start", {}, "de"), exact: true });
  await start.waitFor();
  assert.deepEqual([await start.isDisabled(), await page.getByRole("button", { name: t("consent.no", {}, "de"), exact: true }).isDisabled()], [true, true]);
  letGo();
  await me.at("document");
  assert.deepEqual(await lastConsent(), [1, "en"]);
  await watched.close(server);
});

test("a start that fails can be tried again, also in another language", async () => {
  const { watched, page, me } = await arrive();
  await me.at("open");
  /** @type {() => void} */ let letGo = () => {};
  const held = new Promise((resolve) => (letGo = () => resolve(undefined)));
  await page.route("**/v2/sdk/session/exchange", async (route) => {
    await held;
    await route.abort();
  }, { times: 1 });
  await me.button("open.start").click();
  await page.locator("#languages select").selectOption("de");
  const start = page.getByRole("button", { name: t("open.start", {}, "de"), exact: true });
  await start.waitFor();
  letGo();
  await page.locator("main .note.bad").getByText(t("problem.network", {}, "de")).waitFor();
  assert.equal(await start.isDisabled(), false);
  await start.click();
  await me.at("document");
  await watched.context.close();
});

test("a consent after a slow refusal is the last word", async () => {
  const { watched, page, me } = await arrive();
  await me.at("open");
  /** @type {() => void} */ let letGo = () => {};
  const held = new Promise((resolve) => (letGo = () => resolve(undefined)));
  await page.route("**/v2/sdk/session/consent", async (route) => {
    await held;
    await route.continue();
  }, { times: 1 });
  await me.button("consent.no").click();
  await page.getByRole("dialog").getByRole("button", { name: t("consent.ask.leave") }).click();
  // It does not wait for the server longer than a few seconds.
  await me.at("end");
  await me.button("end.declined.again").click();
  await me.at("consent");
  await me.button("consent.yes").click();
  letGo();
  await me.at("document");
  assert.deepEqual(await lastConsent(), [1, "en"]);
  await watched.close(server);
});

test("without a press nothing begins, and the focus stays on Start", async () => {
  const watched = await newVisitor(browser);
  const { page } = watched;
  const letGo = await holdScripts(page);
  await watched.open(await server.link(await server.flow({ defaultFields: {} })), "commit");
  await page.locator("#start").focus();
  letGo();
  const me = person(page, await specimen("pass-data-only"));
  assert.equal(await me.at("open", "details"), "open");
  assert.equal(await page.evaluate(() => document.activeElement?.matches("main .primary")), true);
  await watched.close(server);
});

test("a reload never says to open the link, not even before the scripts have run", async () => {
  const { watched, page, me } = await arrive({ defaultFields: {} }, "pass-data-only");
  for (const screen of ["open", "details"]) {
    await me.to(screen);
    const letGo = await holdScripts(page);
    await page.reload({ waitUntil: "commit" });
    await page.locator("main .lead").waitFor();
    assert.deepEqual([await me.heading(), await page.locator("main .lead").innerText()], [t("page.title"), t("page.moment")]);
    letGo();
    await page.locator(`main[data-screen="${screen}"]`).waitFor();
    await page.unroute("**/verify/main.js");
  }
  await watched.close(server);
});

test("the merchant's privacy notice and contact are at hand from the first screen to the last", async () => {
  const { merchantId, sandbox } = JSON.parse(await server.cli("merchant", "create", "--name", "Acme", "--approved", "--json"));
  await server.cli("merchant", "set", merchantId, "privacyUrl=https://acme.example/privacy", "contact=help@acme.example");
  const acme = server.as(merchantId, sandbox);
  const watched = await newVisitor(browser);
  const { page } = watched;
  const link = await acme.link(await acme.flow({ defaultFields: {} }));
  await watched.open(link);
  const me = person(page, await specimen("pass-data-only"));
  const linked = async (/** @type {import("playwright-core").Page} */ page, /** @type {string} */ where) => {
    for (const [key, address] of [["page.privacy", "https://acme.example/privacy"], ["page.contact", "mailto:help@acme.example"]]) {
      const found = page.getByRole("link", { name: t(key ?? "", { merchant: "Acme" }), exact: true });
      assert.equal(await found.getAttribute("href"), address, where);
    }
  };
  for (const screen of ["open", "outcome"]) {
    await me.to(screen);
    await linked(page, screen);
  }
  // The same holds after the end, when the page is reloaded or another person opens the used link.
  await page.reload();
  await me.at("outcome");
  await linked(page, "reloaded");
  const other = await newVisitor(browser);
  await other.open(link);
  await person(other.page, await specimen("pass-data-only")).at("end");
  await linked(other.page, "used");
  await other.close();
  await watched.close(server);
});

test("looking at a link uses nothing up; a used, an expired and an invented one say what to do", async () => {
  const { watched, link, me } = await arrive();
  await watched.page.reload();
  const again = await newVisitor(browser);
  await again.open(link);
  await person(again.page, await specimen("pass-passport")).at("open");
  await me.to("document");
  await again.page.reload();
  await again.close();

  const late = await newVisitor(browser);
  await late.open(link);
  assert.equal(await late.page.locator("main h1").innerText(), t("end.used.title"));
  await late.page.goto(`${link.slice(0, -4)}zzzz`);
  assert.equal(await late.page.locator("main h1").innerText(), t("end.invalid.title"));
  await late.page.goto(`${server.baseUrl}/verify`);
  assert.equal(await late.page.locator("main h1").innerText(), t("end.notoken.title"));
  const stale = await server.link(await server.flow(documentsFlow()));
  await server.sql("update link_tokens set expires_at = created_at where used_at is null");
  await late.page.goto(stale);
  assert.equal(await late.page.locator("main h1").innerText(), t("end.expiredlink.title"));
  await late.close(server);
  await watched.close(server);
});

test("a blocked country is named, and the link still works from elsewhere", async () => {
  const flow = { ...documentsFlow(), geoBlockedCountries: [{ countryAlpha2: "JP", countryName: "Japan" }] };
  const { watched, page, me } = await arrive(flow, "pass-passport", { extraHTTPHeaders: { "x-forwarded-for": "133.11.0.1" } });
  await me.button("open.start").click();
  await me.at("end");
  assert.equal(await me.heading(), t("end.geo.title"));
  assert.ok((await page.locator("main").innerText()).includes(t("end.geo.body", { merchant, country: "Japan" })));
  await watched.context.setExtraHTTPHeaders({ "x-forwarded-for": "129.132.19.216" });
  await me.button("page.retry").click();
  await me.at("open");
  await me.to("document");
  await watched.close(server);
});

test("declining asks once and can be taken back", async () => {
  const { watched, page, me } = await arrive();
  await me.at("open");
  await me.button("consent.no").click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText(t("consent.ask.title")).waitFor();
  await dialog.getByRole("button", { name: t("consent.ask.back") }).click();
  assert.equal(await me.screen(), "open");
  await me.button("consent.no").click();
  await dialog.getByRole("button", { name: t("consent.ask.leave") }).click();
  await me.at("end");
  assert.equal(await me.heading(), t("end.declined.title"));
  assert.deepEqual(await lastConsent(), [0, "en"], "the refusal is stored");
  await me.button("end.declined.again").click();
  await me.at("consent");
  await page.reload();
  await me.at("consent");
  await me.to("document");
  await watched.close(server);
});

test("a refusal ends the visit even without a connection, and nothing was used up", async () => {
  const { watched, page, me } = await arrive();
  await me.at("open");
  await page.route("**/v2/sdk/session/*", (route) => route.abort());
  await me.button("consent.no").click();
  await page.getByRole("dialog").getByRole("button", { name: t("consent.ask.leave") }).click();
  await me.at("end");
  assert.equal(await me.heading(), t("end.declined.title"));
  await page.unroute("**/v2/sdk/session/*");
  await me.button("end.declined.again").click();
  await me.at("open");
  await me.to("document");
  await watched.context.close();
});

test("a consent that was not recorded is asked for again", async () => {
  const { watched, page, me } = await arrive();
  await page.route("**/v2/sdk/session/consent", (route) => route.abort(), { times: 1 });
  await me.to("consent");
  await me.to("document");
  await watched.context.close();
});

test("every step survives a reload", async () => {
  const { watched, page, me } = await arrive(documentsFlow({ dob: true, country: true }, ["PASSPORT", "ID_CARD"]), "pass-id-card-td2");
  const reload = async (/** @type {string} */ screen) => {
    await me.to(screen);
    await page.reload();
    assert.equal(await me.at(screen), screen);
  };
  await reload("open");
  await reload("document");
  await reload("front");
  await me.chooseFile("front");
  await page.locator("main .shot").waitFor();
  await page.reload();
  await page.locator("main .shot img").waitFor();
  await reload("back");
  await me.to("details");
  await page.locator("#f-firstName").fill("Perpetua");
  await kept(page, "Perpetua");
  await reload("details");
  assert.equal(await page.locator("#f-firstName").inputValue(), "Perpetua");
  await reload("selfie");
  assert.equal(await me.toOutcome(), t("outcome.approved.title"));
  await page.reload();
  await me.at("outcome");
  assert.equal(await me.heading(), t("outcome.approved.title"));
  await watched.close(server);
});

test("nothing that a person gave stays behind after the end", async () => {
  const { watched, page, me } = await arrive({ defaultFields: {} }, "pass-data-only");
  await me.toOutcome();
  const kept = await page.evaluate(async () => {
    const request = indexedDB.open("bonafide");
    const db = await new Promise((resolve) => (request.onsuccess = () => resolve(request.result)));
    const all = /** @type {IDBDatabase} */ (db).transaction("kept").objectStore("kept").getAllKeys();
    const keys = await new Promise((resolve) => (all.onsuccess = () => resolve(all.result)));
    return { keys, session: sessionStorage.getItem("bonafide"), local: localStorage.length };
  });
  assert.deepEqual(kept.keys, []);
  assert.equal(kept.local, 0);
  assert.doesNotMatch(kept.session ?? "", /token|Isolde|firstName/);
  await watched.close(server);
});

test("a session whose time is up says so; two minutes before there is a warning", async () => {
  const watched = await newVisitor(browser);
  const { page } = watched;
  await page.clock.install();
  await watched.open(await server.link(await server.flow(documentsFlow())));
  const me = person(page, await specimen("pass-passport"));
  await me.to("document");
  const sessionId = await sessionOf(page);
  assert.equal(await page.getByText(t("page.warning")).count(), 0);
  await page.clock.fastForward("08:10");
  await page.locator("#notices").getByText(t("page.warning")).waitFor();
  await server.sql(`update sessions set expires_at = created_at where hex(id) = '${sessionId.replaceAll("-", "").toUpperCase()}'`);
  await page.clock.fastForward("02:00");
  await me.at("end");
  assert.equal(await me.heading(), t("end.expired.title"));
  assert.equal((await server.poll(sessionId)).status, "expired");
  await watched.close(server);
});

test("the server's clock decides: an access that has expired there ends the visit", async () => {
  const { watched, page, me } = await arrive();
  await me.to("document");
  const sessionId = await sessionOf(page);
  await server.sql(`update sessions set expires_at = created_at where hex(id) = '${sessionId.replaceAll("-", "").toUpperCase()}'`);
  await page.reload();
  await me.at("end");
  assert.equal(await me.heading(), t("end.expired.title"));
  await watched.close(server);
});

test("a cut connection loses nothing: the upload goes on when it is back", async () => {
  const { watched, page, me } = await arrive(documentsFlow(), "pass-passport");
  await me.to("selfie");
  await me.chooseFile("selfie");
  await page.locator("main .shot").waitFor();
  await watched.context.setOffline(true);
  await page.getByText(t("page.offline")).first().waitFor();
  await me.acceptPicture();
  await me.at("upload");
  await page.getByText(t("upload.cut")).first().waitFor();
  await watched.context.setOffline(false);
  assert.equal(await me.toOutcome(), t("outcome.approved.title"));
  await watched.close(server);
});

test("an answer that is lost on the way is not a second attempt", async () => {
  const { watched, page, me } = await arrive(documentsFlow({}, ["DRIVERS"]), "pass-drivers");
  let tries = 0;
  const keys = new Set();
  await page.route("**/v2/idv/verify", async (route) => {
    keys.add(route.request().headers()["idempotency-key"]);
    if (++tries > 1) return route.continue();
    await route.fetch({ timeout: 0 });
    await route.abort("connectionreset");
  });
  await me.to("selfie");
  const sessionId = await sessionOf(page);
  assert.equal(await me.toOutcome(), t("outcome.approved.title"));
  assert.equal(tries, 2);
  assert.equal(keys.size, 1);
  assert.equal((await server.poll(sessionId)).metadata.attempts, 1);
  await watched.close(server);
});

test("a slow connection shows how far the upload is", async () => {
  const { watched, page, me } = await arrive(documentsFlow({}, ["RESIDENCY_CARD"]), "pass-residency-card");
  await me.to("selfie");
  await me.chooseFile("selfie");
  await page.locator("main .shot").waitFor();
  const devtools = await watched.context.newCDPSession(page);
  await devtools.send("Network.emulateNetworkConditions", { offline: false, latency: 300, downloadThroughput: 200_000, uploadThroughput: 250_000 });
  const seen = new Set();
  await page.exposeFunction("sawProgress", (/** @type {string} */ now) => seen.add(now));
  await page.evaluate(() => {
    setInterval(() => {
      const now = document.querySelector("[role=progressbar]")?.getAttribute("aria-valuenow");
      if (now) /** @type {any} */ (window).sawProgress(now);
    }, 50);
  });
  await me.acceptPicture();
  await me.at("upload", "outcome");
  assert.equal(await me.toOutcome(), t("outcome.approved.title"));
  assert.ok([...seen].some((now) => Number(now) > 5 && Number(now) < 95), `progress seen: ${[...seen]}`);
  await watched.close(server);
});

test("two windows: the second says so and can take over, the first lets go", async () => {
  const { watched, page, link, me } = await arrive();
  await me.to("document");
  const second = await watched.context.newPage();
  await second.goto(link);
  const other = person(second, await specimen("pass-passport"));
  assert.equal(await other.at("elsewhere", "document"), "elsewhere");
  await other.button("elsewhere.take").click();
  assert.equal(await other.at("document"), "document");
  assert.equal(await me.at("elsewhere"), "elsewhere");
  assert.equal(await other.toOutcome(), t("outcome.approved.title"));
  await second.close();
  await me.button("elsewhere.take").click();
  await page.waitForFunction(() => ["outcome", "end"].includes(document.getElementById("main")?.dataset["screen"] ?? ""));
  await watched.context.close();
});

test("Back leads to the step before, and never out of an upload or past consent", async () => {
  const { watched, page, me } = await arrive(documentsFlow({}, ["PASSPORT", "ID_CARD"]), "pass-passport");
  await me.to("selfie");
  await page.goBack();
  assert.equal(await me.at("details"), "details");
  assert.equal(await page.locator("#f-lastName").inputValue(), "Velloway");
  await page.goBack();
  assert.equal(await me.at("front"), "front");
  await page.locator("main .shot").waitFor();
  await page.goBack();
  assert.equal(await me.at("document"), "document");
  await page.goForward();
  await me.at("front");
  await watched.close(server);
});

test("with the keyboard alone", async () => {
  const { watched, page, me } = await arrive(documentsFlow({ dob: true }, ["PASSPORT", "ID_CARD"]), "pass-passport");
  const { keyboard } = page;
  // Listens from the start, because Chromium intercepts file choosers only after the first listener, which may
  // be too late for an immediate key press.
  /** @type {Promise<import("playwright-core").FileChooser>} */
  const chosen = new Promise((resolve) => page.once("filechooser", resolve));
  /** Presses Tab until the focus is on this element. @param {string} selector */
  const tabTo = async (selector) => {
    for (let presses = 0; presses < 40; presses++) {
      if (await page.evaluate((wanted) => document.activeElement?.matches(wanted), selector)) return;
      await keyboard.press("Tab");
    }
    throw new Error(`${selector} cannot be reached with Tab`);
  };
  await me.at("open");
  await tabTo("main .actions .primary");
  await keyboard.press("Enter");
  await me.at("document");
  // The focus must be on the new heading, so that a screen reader begins there.
  assert.equal(await page.evaluate(() => document.activeElement?.tagName), "H1");
  await tabTo("#f-documentCountry");
  await keyboard.type("Utop");
  await keyboard.press("Enter");
  await tabTo("main button.choice");
  await keyboard.press("Enter");
  await me.at("front");
  await tabTo("main .actions .primary");
  await keyboard.press("Enter");
  await (await chosen).setFiles((await specimen("pass-passport")).file("passportFront"));
  await page.locator("main .shot").waitFor();
  await tabTo("main .actions .primary");
  await keyboard.press("Enter");
  await me.at("details");
  assert.equal(await page.locator("#f-lastName").inputValue(), "VELLOWAY");
  await tabTo("#f-dob-year");
  await keyboard.type("1991");
  await keyboard.press("Enter");
  await me.at("selfie");
  await watched.close(server);
});
