// Invitations: links for mail or SMS that open a session at each press, on any device, until the verification ended.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { kept, look, newVisitor, startBrowser } from "./browser.mjs";
import { person, t } from "./person.mjs";
import { documentsFlow, specimen, startServer } from "./server.mjs";

/** @type {import("./server.mjs").Server} */ let server;
/** @type {import("./browser.mjs").Browser} */ let browser;
// A mail server is set, so the page offers new links; no letter is sent here.
const mail = ["--smtp-url", "smtp://127.0.0.1:9", "--mail-from", "verify@example.com"];
before(async () => ([server, browser] = await Promise.all([startServer(mail), startBrowser()])));
after(() => Promise.all([browser.close(), server.stop()]));

const merchant = "Demo merchant";
const FIRST_NAME = "#f-firstName";

/** @param {object} [more] members of the Flow, which requests no document */
const invite = async (more = {}) => server.invite(await server.flow({ defaultFields: {}, ...more }));

/** A new device that opens the link. @param {string} url */
async function arrive(url) {
  const watched = await newVisitor(browser);
  await watched.open(url);
  return { watched, page: watched.page, me: person(watched.page, await specimen("pass-data-only")) };
}

/** The number of sessions that the invitation opened. @param {string} invitationId */
const sessionsOf = async (invitationId) => (await server.invitation(invitationId)).sessions.length;

/** Checks a screen's heading and text, and that axe finds no fault. @param {Awaited<ReturnType<typeof arrive>>} visitor @param {string} kind */
async function showsEnd({ me, page }, kind) {
  await me.at("end");
  assert.equal(await me.heading(), t(`end.${kind}.title`));
  assert.ok((await page.locator("main").innerText()).includes(t(`end.${kind}.body`, { merchant })), kind);
  assert.deepEqual(await look(page, `end-${kind}`), []);
}

/** Checks that the session has ended and that the person can start again. @param {Awaited<ReturnType<typeof arrive>>} visitor */
async function showsRestart({ me, page }) {
  await me.at("end");
  assert.equal(await me.heading(), t("end.session.title"));
  await page.getByText(t("end.expired.anew")).waitFor();
  assert.equal(await me.button("end.expired.again").count(), 1);
}

test("loading opens nothing, a press opens a session, and after the success the link says that it is over", async () => {
  const { invitationId, url } = await invite();
  const visitor = await arrive(url);
  const { watched, page, me } = visitor;
  await me.at("open");
  assert.match(await page.locator("main .actions .fine").innerText(), /^This link works until .+ \d{4} at /);
  assert.deepEqual(await look(page, "open-invitation"), []);
  await page.reload();
  await me.at("open");
  await watched.open(url);
  await me.at("open");
  assert.equal((await fetch(url)).status, 200);
  assert.equal(await sessionsOf(invitationId), 0);
  assert.equal(await me.toOutcome(), t("outcome.approved.title"));
  assert.equal(await sessionsOf(invitationId), 1);
  await page.reload();
  await me.at("outcome");

  const other = await arrive(url);
  await showsEnd(other, "finished");
  await other.watched.close(server);
  await watched.open(url);
  await me.at("end");
  assert.equal(await me.heading(), t("end.finished.title"));
  await watched.close(server);
});

test("another device starts with empty fields and ends the session of the first, which can start again", async () => {
  const { invitationId, url } = await invite();
  const first = await arrive(url);
  await first.me.to("details");
  await first.page.locator(FIRST_NAME).fill("Perpetua");
  const second = await arrive(url);
  await second.me.at("open");
  await second.me.to("details");
  assert.equal(await second.page.locator(FIRST_NAME).inputValue(), "");

  await first.me.fillDetails();
  await showsRestart(first);
  assert.deepEqual(await look(first.page, "end-expired-again"), []);
  await first.page.reload();
  await showsRestart(first);
  await first.me.button("end.expired.again").click();
  await first.me.at("open");
  assert.equal(await sessionsOf(invitationId), 2);
  await first.me.to("details");
  assert.equal(await sessionsOf(invitationId), 3);
  assert.equal(await first.page.locator(FIRST_NAME).inputValue(), "");

  await second.page.reload();
  await showsRestart(second);
  assert.equal(await first.me.toOutcome(), t("outcome.approved.title"));
  await second.me.button("end.expired.again").click();
  await showsEnd(second, "finished");
  await first.watched.close(server);
  await second.watched.close(server);
});

test("in the same browser the session continues with what was typed", async () => {
  const { invitationId, url } = await invite();
  const { watched, page, me } = await arrive(url);
  await me.to("details");
  await page.locator(FIRST_NAME).fill("Perpetua");
  await kept(page, "Perpetua");
  for (const visit of [() => page.reload(), () => watched.open(url)]) {
    await visit();
    assert.equal(await me.at("details"), "details");
    assert.equal(await page.locator(FIRST_NAME).inputValue(), "Perpetua");
  }
  assert.equal(await sessionsOf(invitationId), 1);
  assert.equal(await me.toOutcome(), t("outcome.approved.title"));
  const session = await page.evaluate(() => sessionStorage.getItem("bonafide"));
  assert.match(session ?? "", /"ended"/);
  assert.doesNotMatch(session ?? "", /token|invitation/);
  await watched.close(server);
});

test("after ten minutes the same page starts again, and Back does not lead into the session that ended", async () => {
  const { invitationId, url } = await invite(documentsFlow({}, ["PASSPORT", "ID_CARD"]));
  const watched = await newVisitor(browser);
  const { page } = watched;
  await page.clock.install();
  await watched.open(url);
  const me = person(page, await specimen("pass-passport"));
  await me.to("front");
  await page.clock.fastForward("10:10");
  await showsRestart({ watched, page, me });
  await me.button("end.expired.again").click();
  await me.at("open");
  await page.goBack();
  await page.waitForFunction(() => history.state?.screen === "document");
  assert.equal(await me.at("open", "document"), "open");
  await me.to("document");
  assert.equal(await sessionsOf(invitationId), 2);
  await watched.close(server);
});

test("a revoked and an invented link say so, also at the press", async () => {
  const { invitationId, url } = await invite();
  const early = await arrive(url);
  await early.me.at("open");
  await server.revoke(invitationId);
  await early.me.button("open.start").click();
  await showsEnd(early, "revoked");
  await early.watched.close(server);

  const late = await arrive(url);
  await showsEnd(late, "revoked");
  await late.watched.open(`${url.slice(0, -4)}zzzz`);
  await late.me.at("end");
  assert.equal(await late.me.heading(), t("end.invalid.title"));
  await late.watched.close(server);
});

/** Lets an invitation expire. @param {string} invitationId */
const expire = (invitationId) =>
  server.sql(`update applicant_invitations set expires_at = created_at where hex(id) = '${invitationId.replaceAll("-", "").toUpperCase()}'`);

test("an expired link of a Flow that renews none says whom to ask", async () => {
  const { invitationId, url } = await invite({ settings: { renewInvitations: false } });
  await expire(invitationId);
  const visitor = await arrive(url);
  await showsEnd(visitor, "expiredlink");
  assert.equal(await visitor.me.button("end.renew").count(), 0);
  await visitor.watched.close(server);
});

test("an expired link offers a new one, after a reload and a failure too, and then says what happens", async () => {
  const { invitationId, url } = await invite();
  await expire(invitationId);
  const watched = await newVisitor(browser);
  const { page } = watched;
  const me = person(page, await specimen("pass-data-only"));
  const renew = me.button("end.renew");
  async function offers() {
    await me.at("end");
    assert.equal(await me.heading(), t("end.expiredlink.title"));
    await page.getByText(t("end.expiredlink.renew")).waitFor();
    assert.equal(await renew.count(), 1);
  }
  await watched.open(url);
  await offers();
  await page.reload();
  await offers();
  assert.deepEqual(await look(page, "end-expiredlink-renew"), []);

  /** @type {((route: import("playwright-core").Route) => Promise<void>)[]} */
  const answers = [
    (route) => route.fulfill({ status: 429, json: { error: "rate_limited" } }),
    (route) => route.abort(),
    async (route) => {
      await page.locator("main button.primary[aria-busy=true]:disabled").waitFor();
      await route.continue();
    },
  ];
  const sent = /** @type {unknown[]} */ ([]);
  await page.route("**/session/invitation/renew", (route) => {
    sent.push(route.request().postDataJSON());
    return answers.shift()?.(route);
  });
  for (const key of ["problem.busy", "problem.network"]) {
    await renew.click();
    await page.locator("main .note.bad").getByText(t(key)).waitFor();
    assert.ok(await renew.isEnabled());
  }
  await renew.click();
  await page.getByRole("heading", { name: t("end.renewed.title") }).waitFor();
  assert.ok(await page.evaluate(() => document.activeElement?.tagName === "H1"));
  await page.locator("#live").getByText(t("end.renewed.body", { merchant })).waitFor();
  await showsEnd({ watched, page, me }, "renewed");
  assert.equal(await page.locator("main .actions button").count(), 0);
  assert.deepEqual(sent, Array(3).fill({ token: new URL(url).searchParams.get("invitation") }));
  await page.locator("#languages select").selectOption("de");
  await page.getByRole("heading", { name: t("end.renewed.title", {}, "de") }).waitFor();
  await watched.close(server);
});

test("a link that expires while the page is open offers a new one at the press", async () => {
  const { invitationId, url } = await invite();
  const { watched, page, me } = await arrive(url);
  await me.at("open");
  await expire(invitationId);
  await me.button("open.start").click();
  await me.at("end");
  assert.equal(await me.heading(), t("end.expiredlink.title"));
  assert.equal(await me.button("end.renew").count(), 1);
  await watched.close(server);
});

test("while an attempt is in review, another device says so", async () => {
  const { url } = await invite({ settings: { reviewPolicy: "always" } });
  const first = await arrive(url);
  assert.equal(await first.me.toOutcome(), t("outcome.pending.title"));
  const second = await arrive(url);
  await showsEnd(second, "inreview");
  await first.watched.close(server);
  await second.watched.close(server);
});

test("while the last submission is being checked, the first screen says so, and a later press works", async () => {
  const { url } = await invite();
  const { watched, page, me } = await arrive(url);
  await me.at("open");
  await page.route("**/session/invitation/open", (route) => route.fulfill({ status: 409, json: { error: "attempt_in_progress" } }), { times: 1 });
  await me.button("open.start").click();
  await page.locator("main .note.bad").getByText(t("open.inprogress")).waitFor();
  assert.equal(await me.screen(), "open");
  assert.equal(await me.toOutcome(), t("outcome.approved.title"));
  await watched.close(server);
});

test("after a failed attempt that another device overtook, the person starts again with what is left", async () => {
  const { invitationId, url } = await invite();
  const first = await arrive(url);
  const { fields, ...rest } = await specimen("pass-data-only");
  const failing = person(first.page, { ...rest, fields: { ...fields, lastName: "SANDBOX-2509" } });
  assert.equal(await failing.toOutcome(), t("outcome.failed.title"));
  const second = await arrive(url);
  await second.me.to("details");
  for (const visit of [() => first.page.reload(), () => first.watched.open(url)]) {
    await visit();
    await first.me.at("end", "open");
  }
  assert.equal(await first.me.screen(), "open", "the link itself shows the first screen");
  assert.equal(await first.me.toOutcome(), t("outcome.approved.title"));
  const { status, attempts } = await server.invitation(invitationId);
  assert.deepEqual({ status, attempts }, { status: "success", attempts: 2 });
  await first.watched.close(server);
  await second.watched.close(server);
});

test("a refusal opens no session and can be taken back", async () => {
  const { invitationId, url } = await invite();
  const { watched, page, me } = await arrive(url);
  await me.at("open");
  await me.button("consent.no").click();
  await page.getByRole("dialog").getByRole("button", { name: t("consent.ask.leave") }).click();
  await me.at("end");
  assert.equal(await me.heading(), t("end.declined.title"));
  assert.equal(await sessionsOf(invitationId), 0);
  await me.button("end.declined.again").click();
  await me.at("open");
  assert.equal(await me.toOutcome(), t("outcome.approved.title"));
  assert.equal(await sessionsOf(invitationId), 1);
  await watched.close(server);
});
