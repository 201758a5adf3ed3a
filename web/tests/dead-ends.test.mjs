// Nothing stops a person: notices cover no control, every end leads back to the merchant or says what to do, and who is
// registered already is led to signing in.
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { answerTo, desktop, drawn, newVisitor, startBrowser } from "./browser.mjs";
import { mockChallenge, step } from "./challenge-server.mjs";
import { CAMERA_FLAGS, makeFilm } from "./fake-camera.mjs";
import { startMerchantPage } from "./merchant-page.mjs";
import { person, t } from "./person.mjs";
import { documentsFlow, specimen, startServer } from "./server.mjs";

/** @typedef {import("playwright-core").Page} Page */

/** @type {import("./server.mjs").Server} */ let server;
/** A browser whose camera shows a document that is too far away, so that the shutter is never released. @type {import("./browser.mjs").Browser} */ let seeing;
/** A browser without a camera. @type {import("./browser.mjs").Browser} */ let browser;
/** @type {string} */ let films;
/** A merchant with a website. @type {ReturnType<import("./server.mjs").Server["as"]>} */ let acme;
/** @type {string} */ let acmeId;
const acmeName = "Acme";
const WEBSITE = "https://acme.example/";
const SIGN_IN = "https://acme.example/login";

before(async () => {
  films = await mkdtemp(join(tmpdir(), "bonafide-film-"));
  const film = join(films, "far.mjpeg");
  await makeFilm(film, [{ picture: (await specimen("pass-passport")).file("passportFront"), seconds: 2, kind: "document", flaw: "small" }]);
  [server, seeing, browser] = await Promise.all([startServer(), startBrowser([...CAMERA_FLAGS, `--use-file-for-fake-video-capture=${film}`]), startBrowser()]);
  const made = JSON.parse(await server.cli("merchant", "create", "--name", acmeName, "--approved", "--json"));
  acmeId = made.merchantId;
  acme = server.as(acmeId, made.sandbox);
  await server.cli("merchant", "set", acmeId, `websiteUrl=${WEBSITE}`);
});
after(async () => {
  await Promise.all([seeing.close(), browser.close(), server.stop()]);
  await rm(films, { recursive: true });
});

// Notices

const SIZES = [{ width: 320, height: 568 }, { width: 360, height: 740 }, desktop];

/** The controls that a notice covers, and what is wrong with the notices themselves. @param {Page} page @param {number} expected number of notices @returns {Promise<string[]>} */
const covered = (page, expected) =>
  page.evaluate((expected) => {
    const isShown = (/** @type {Element} */ each) => each.checkVisibility({ visibilityProperty: true }) && !each.closest("[inert]") && each.getBoundingClientRect().width > 1;
    const notices = [...document.querySelectorAll(".notices .note")].filter(isShown);
    const controls = [...document.querySelectorAll("button, a[href], input, select, summary, .steps, .capture-hint")].filter((each) => isShown(each) && !each.matches(".skip"));
    const faults = notices.flatMap((notice) => {
      const one = notice.getBoundingClientRect();
      return controls.flatMap((control) => {
        const other = control.getBoundingClientRect();
        const isApart = one.right <= other.left || other.right <= one.left || one.bottom <= other.top || other.bottom <= one.top;
        return isApart ? [] : [`${notice.id} covers ${control.outerHTML.slice(0, 100)}`];
      });
    });
    if (notices.length !== expected) faults.push(`${notices.length} notices`);
    if (notices.some((notice) => notice.scrollWidth > notice.clientWidth)) faults.push("a notice is cut off");
    const wide = document.documentElement.scrollWidth - document.documentElement.clientWidth;
    if (wide > 0) faults.push(`${wide} px wider than the window`);
    return faults;
  }, expected);

/**
 * Shows both notices, as without a connection two minutes before the end, and checks them at every size, with normal
 * and with large text.
 * @param {Page} page @param {string} screen @param {string} language
 */
async function checkNotices(page, screen, language) {
  await page.evaluate(
    async (texts) => {
      const main = /** @type {HTMLScriptElement} */ (document.querySelector("script[type=module][src]")).src;
      const { notice } = await import(new URL("dom.js", main).href);
      for (const [id, text] of Object.entries(texts)) notice(id, "warn", text);
    },
    { offline: t("page.offline", {}, language), time: t("page.warning", {}, language) },
  );
  // A view loads its stylesheet.
  await page.waitForFunction(() => getComputedStyle(document.querySelector(".capture") ?? document.body).display === "grid");
  const faults = [];
  for (const size of SIZES) {
    await page.setViewportSize(size);
    for (const text of ["", "200%"]) {
      await page.evaluate((text) => (document.documentElement.style.fontSize = text), text);
      await drawn(page);
      faults.push(...(await covered(page, 2)).map((fault) => `${screen}, ${size.width} px, ${text || "100%"}: ${fault}`));
    }
    await page.evaluate(() => (document.documentElement.style.fontSize = ""));
  }
  return faults;
}

for (const { language, locale } of [{ language: "en", locale: "en-GB" }, { language: "de", locale: "de" }, { language: "ar", locale: "ar" }]) {
  test(`notices cover no control: ${language}`, async () => {
    const watched = await newVisitor(seeing, { locale });
    const { page } = watched;
    const faults = /** @type {string[]} */ ([]);
    const flow = documentsFlow({ documentFileUpload: false, documentCapture: true, selfie: false, liveSelfie: true, street: true });
    await mockChallenge(page, { open: () => step(1, "look", { hint: "closer" }), frames: () => step(1, "look", { hint: "closer" }) });
    await watched.open(await server.link(await server.flow(flow)));
    const me = person(page, await specimen("pass-passport"), { language });
    /** @param {string} screen */
    const check = async (screen) => faults.push(...(await checkNotices(page, screen, language)));
    await me.at("open");
    await check("open");
    await me.to("front");
    await check("front");
    await me.button("picture.camera").click();
    await page.locator(".capture[data-state=live]").waitFor();
    await check("camera");
    await page.getByRole("button", { name: t("capture.file", {}, language) }).click();
    await me.at("front-file");
    assert.equal(await page.locator("#notices > .note").count(), 2, "the notices return to the page");
    await me.chooseFile("front");
    await page.locator("main .shot").waitFor();
    await me.to("details");
    await check("details");
    await me.to("selfie");
    await me.button("picture.camera").click();
    await page.locator(".challenge[data-state=running]").waitFor();
    await check("challenge");
    await watched.context.close();
    assert.deepEqual(faults, []);
  });
}

test("notices cover no control while the attempt is sent", async () => {
  const watched = await newVisitor(browser);
  const { page } = watched;
  await watched.open(await server.link(await server.flow({ defaultFields: {} })));
  const me = person(page, await specimen("pass-data-only"));
  let send = () => {};
  const looked = new Promise((resolve) => (send = () => resolve(undefined)));
  await page.route("**/v2/idv/verify", async (route) => {
    await looked;
    await route.continue();
  });
  await me.to("upload");
  assert.deepEqual(await checkNotices(page, "upload", "en"), []);
  send();
  await me.at("outcome");
  await watched.close(server);
});

test("the warning stays until it was in view, and is announced", async () => {
  const watched = await newVisitor(browser, { viewport: { width: 320, height: 568 } });
  const { page } = watched;
  await page.clock.install();
  const flow = documentsFlow({ dob: true, street: true, city: true, postcode: true, phone: true });
  await watched.open(await server.link(await server.flow({ ...flow, settings: { detailsFirst: true } })));
  const me = person(page, await specimen("pass-passport"));
  await me.to("details");
  await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight));
  await page.clock.fastForward("08:05");
  const warning = page.locator("#notice-time");
  await warning.waitFor({ state: "attached" });
  await page.locator("#live").getByText(t("page.warning")).waitFor({ state: "attached" });
  await page.clock.fastForward("00:20");
  assert.equal(await warning.count(), 1);
  await page.evaluate(() => scrollTo(0, 0));
  await drawn(page);
  await page.clock.fastForward("00:13");
  await warning.waitFor({ state: "detached" });
  await watched.close(server);
});

// The way back

/** The link to Acme's website. @param {Page} page */
const back = (page) => page.getByRole("link", { name: t("page.return", { merchant: acmeName }), exact: true });

/** @param {Page} page @param {string} where */
async function leadsBack(page, where) {
  assert.equal(await back(page).getAttribute("href"), WEBSITE, where);
  assert.equal(await back(page).getAttribute("target"), null, where);
}

test("used, expired and declined links, an expired session and the outcome lead back to the merchant's website", async () => {
  const watched = await newVisitor(browser);
  const { page } = watched;
  const link = await acme.link(await acme.flow({ defaultFields: {} }));
  await watched.open(link);
  const me = person(page, await specimen("pass-data-only"));
  await me.at("open");
  await me.button("consent.no").click();
  await page.getByRole("dialog").getByRole("button", { name: t("consent.ask.leave") }).click();
  await me.at("end");
  await leadsBack(page, "declined");
  await me.button("end.declined.again").click();
  await me.toOutcome();
  await leadsBack(page, "outcome");
  await page.reload();
  await me.at("outcome");
  await leadsBack(page, "outcome after a reload");
  await watched.close(server);

  const late = await newVisitor(browser);
  const other = person(late.page, await specimen("pass-data-only"));
  await late.open(link);
  await other.at("end");
  assert.equal(await other.heading(), t("end.used.title"));
  await leadsBack(late.page, "used");
  const stale = await acme.link(await acme.flow({ defaultFields: {} }));
  await server.sql("update link_tokens set expires_at = created_at where used_at is null");
  await late.open(stale);
  await other.at("end");
  assert.equal(await other.heading(), t("end.expiredlink.title"));
  await leadsBack(late.page, "expired link");
  await late.open(await acme.link(await acme.flow({ defaultFields: {} })));
  await other.to("details");
  await server.sql("update sessions set expires_at = created_at");
  await late.page.reload();
  await other.at("end");
  assert.equal(await other.heading(), t("end.expired.title"));
  await leadsBack(late.page, "expired session");
  await late.close(server);
});

test("finished and withdrawn invitations lead back to the merchant's website", async () => {
  const flow = await acme.flow({ defaultFields: {} });
  const finished = await acme.invite(flow);
  const watched = await newVisitor(browser);
  await watched.open(finished.url);
  await person(watched.page, await specimen("pass-data-only")).toOutcome();
  await watched.close(server);
  const revoked = await acme.invite(flow);
  await acme.revoke(revoked.invitationId);
  const late = await newVisitor(browser);
  for (const [kind, { url }] of Object.entries({ finished, revoked })) {
    await late.open(url);
    await late.page.getByRole("heading", { name: t(`end.${kind}.title`) }).waitFor();
    await leadsBack(late.page, kind);
  }
  await late.close(server);
});

test("without any known way back, each end says what to do", async () => {
  const watched = await newVisitor(browser);
  const { page } = watched;
  await page.goto(`${server.baseUrl}/verify`);
  const me = person(page, await specimen("pass-data-only"));
  await me.at("end");
  const text = await page.locator("main").innerText();
  for (const key of ["end.notoken.body", "page.mayclose"]) assert.ok(text.includes(t(key)), key);
  await page.goto(`${server.baseUrl}/verify?token=nonsense`);
  await me.at("end");
  assert.ok((await page.locator("main").innerText()).includes(t("end.invalid.body", { merchant: t("page.merchant") })));
  await watched.close();
});

// Somebody who is registered already

/** A Flow in which the specimen's person is registered. @returns {Promise<{flowId: string, groupId: string}>} */
async function registered() {
  const flow = await acme.flow(documentsFlow());
  const watched = await newVisitor(browser);
  await watched.open(await acme.link(flow));
  const me = person(watched.page, await specimen("pass-passport"));
  assert.equal(await me.toOutcome(), t("outcome.approved.title"));
  await watched.close(server);
  return flow;
}

/** The link to sign in, which is the first way. @param {Page | import("playwright-core").Frame} page @param {string} address */
async function signsIn(page, address) {
  await page.getByText(t("code.2307.title")).waitFor();
  const key = address === SIGN_IN ? "outcome.signin" : "page.return";
  const way = page.locator("main .actions a.primary");
  assert.deepEqual([await way.innerText(), await way.getAttribute("href")], [t(key, { merchant: acmeName }), address]);
  assert.equal(await page.locator("main .actions :is(a, button)").first().getAttribute("href"), address);
  return way;
}

test("who is registered already is led to signing in: alone, on a second device, and inside the merchant's page", async () => {
  const flow = await registered();
  const passport = await specimen("pass-passport");

  // Without a page to sign in, to the website.
  const alone = await newVisitor(browser);
  await alone.open(await acme.link(flow));
  const me = person(alone.page, passport);
  await me.toOutcome();
  await signsIn(alone.page, WEBSITE);
  await alone.close(server);

  await server.cli("merchant", "set", acmeId, `signInUrl=${SIGN_IN}`);
  const desk = await newVisitor(browser, { viewport: desktop, screen: desktop, hasTouch: false });
  const code = answerTo(desk.page, "/session/handoff");
  await desk.open(await acme.link(flow));
  const sitting = person(desk.page, passport);
  await sitting.to("device");
  const { url } = await (await code).json();
  const phone = await newVisitor(browser);
  await phone.open(url);
  const walking = person(phone.page, passport);
  await walking.toOutcome();
  for (const moment of ["at once", "after a reload"]) {
    await signsIn(phone.page, SIGN_IN);
    assert.ok((await phone.page.locator("main").innerText()).includes(t("outcome.handoff")), moment);
    assert.equal(await back(phone.page).count(), 0, moment);
    await phone.page.reload();
    await walking.at("outcome");
  }
  await sitting.at("outcome");
  await signsIn(desk.page, SIGN_IN);
  await leadsBack(desk.page, "the desktop");
  await phone.close(server);
  await desk.close(server);

  const shop = await startMerchantPage(server.baseUrl);
  await server.cli("merchant", "set", acmeId, `allowedOrigins=${JSON.stringify([shop.origin])}`);
  const embedded = await newVisitor(browser, { hosts: [shop.host, new URL(server.baseUrl).host] });
  await embedded.open(shop.address(await acme.link(flow), "modal"));
  await embedded.page.locator("#verify").click();
  const frame = await (await embedded.page.waitForSelector("dialog iframe")).contentFrame();
  assert.ok(frame);
  await person(frame, passport).toOutcome();
  const way = await signsIn(frame, SIGN_IN);
  assert.equal(await way.getAttribute("target"), "_top");
  // The modal closes by its own button.
  assert.equal(await frame.locator("main .actions button").innerText(), t("page.return", { merchant: acmeName }));
  await embedded.page.route(SIGN_IN, (route) => route.fulfill({ body: "signed in" }));
  await way.click();
  await embedded.page.waitForURL(SIGN_IN);
  await embedded.context.close();
  shop.stop();
});

test("a link is not used up while the next screens cannot be loaded", async () => {
  const flow = await acme.flow(documentsFlow());
  for (const missing of ["screens/later.js", "screens/details.js", "later.css", "illustrations.css"]) {
    const { page, requests, open, close } = await newVisitor(browser);
    await page.route(`**/${missing}`, (route) => route.abort());
    await open(await acme.link(flow));
    const me = person(page, await specimen("pass-passport"));
    await me.button("open.start").click();
    await page.locator("main .note.bad").getByText(t("problem.network")).waitFor();
    assert.equal(requests.filter(({ url }) => url.endsWith("/exchange")).length, 0, missing);
    await page.unroute(`**/${missing}`);
    await me.button("open.start").click();
    await me.at("document");
    await close(server);
  }
});

test("a browser that remembers a failed module loads the page again, also if it can store nothing", async () => {
  const { page, open } = await newVisitor(browser);
  await page.addInitScript(() => Object.defineProperty(window, "sessionStorage", { get: () => { throw new DOMException("blocked", "SecurityError"); } }));
  await page.route("**/screens/later.js", (route) => route.abort());
  const link = await acme.link(await acme.flow(documentsFlow()));
  await open(link);
  const me = person(page, await specimen("pass-passport"));
  await me.button("open.start").click();
  const again = me.button("page.retry");
  await again.waitFor();
  await page.unroute("**/screens/later.js");
  // The link is opened a second time.
  const token = new URL(link).searchParams.get("token") ?? "";
  const opened = page.waitForRequest((request) => new URL(request.url()).searchParams.get("token") === token);
  await again.click();
  await opened;
  await me.at("open");
  await me.button("open.start").click();
  await me.at("document");
  await page.context().close();
});

test("a session goes on when its screens can be loaded again", async () => {
  for (const missing of ["screens/later.js", "later.css"]) {
    const { page, open, close } = await newVisitor(browser);
    await open(await acme.link(await acme.flow(documentsFlow())));
    const me = person(page, await specimen("pass-passport"));
    await me.to("document");
    await page.route(`**/${missing}`, (route) => route.abort());
    await page.reload();
    await page.getByRole("heading", { name: t("end.failed.title") }).waitFor();
    await page.unroute(`**/${missing}`);
    await me.button("page.retry").click();
    await me.at("document");
    await close(server);
  }
});
