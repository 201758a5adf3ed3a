// The document comes first: what it says is confirmed instead of typed, and a useless picture costs no attempt.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { newVisitor, startBrowser } from "./browser.mjs";
import { person, t } from "./person.mjs";
import { documentsFlow, specimen, startServer } from "./server.mjs";

/** @type {import("./server.mjs").Server} */ let server;
/** @type {import("./browser.mjs").Browser} */ let browser;
before(async () => ([server, browser] = await Promise.all([startServer(), startBrowser()])));
after(() => Promise.all([browser.close(), server.stop()]));

const types = ["PASSPORT", "DRIVERS", "ID_CARD"];

/** @param {object} flow @param {string} name @param {object} [different] */
async function arrive(flow, name, different) {
  const watched = await newVisitor(browser);
  await watched.open(await server.link(await server.flow(flow)));
  return { watched, page: watched.page, me: person(watched.page, await specimen(name), different) };
}

/** The page's session. @param {import("playwright-core").Page} page @returns {Promise<any>} */
const polled = async (page) => server.poll(await page.evaluate(() => JSON.parse(sessionStorage.getItem("bonafide") ?? "{}").access?.sessionId));

/** What the entries hold. @param {import("playwright-core").Page} page */
const entries = async (page) => {
  const inputs = await page.locator("main form input").all();
  return Object.fromEntries(await Promise.all(inputs.map(async (input) => [await input.getAttribute("id"), await input.inputValue()])));
};

/**
 * Collects the bodies of submissions, and may change them.
 * @param {import("playwright-core").Page} page @param {(body: string) => string} [change]
 */
async function submissions(page, change = (body) => body) {
  /** @type {string[]} */
  const bodies = [];
  await page.route("**/v2/idv/verify", async (route) => {
    const body = route.request().postDataBuffer()?.toString("latin1") ?? "";
    bodies.push(body);
    await route.continue({ postData: Buffer.from(change(body), "latin1") });
  });
  return bodies;
}

test("nothing is typed that the document says, and no picture of it is sent twice", async () => {
  const { watched, page, me } = await arrive(documentsFlow({ dob: true }, types), "pass-id-card-td1");
  const sent = await submissions(page);
  await me.to("details");
  assert.deepEqual(await entries(page), { "f-firstName": "NOEMI", "f-lastName": "QUILLFEATHER", "f-dob-day": "23", "f-dob-month": "07", "f-dob-year": "1994" });
  const text = await page.locator("main").innerText();
  assert.ok(text.includes(t("details.read")), text);
  assert.equal(await page.locator("main .shot img").count(), 1, "the side that says it");
  await me.goOn();
  await me.at("selfie");
  assert.equal(await me.toOutcome(), t("outcome.approved.title"));
  assert.match(sent[0] ?? "", /name="readings"\r\n\r\n[0-9a-f-]{36},[0-9a-f-]{36}\r\n/);
  assert.doesNotMatch(sent[0] ?? "", /idCardFront|idCardBack/);
  await watched.close(server);
});

test("a corrected entry is marked, with what the document says", async () => {
  const { watched, page, me } = await arrive(documentsFlow({ dob: true }), "pass-passport");
  await me.to("details");
  assert.equal(await page.locator("main .differs").count(), 0);
  await page.locator("#f-lastName").fill("Velloway-Smith");
  await page.locator("#f-dob-year").fill("1992");
  await page.locator("#f-firstName").focus();
  const marked = page.locator("main .differs");
  await page.locator("main .differs-note").nth(1).waitFor();
  assert.equal(await marked.count(), 2);
  assert.ok((await marked.first().innerText()).includes(t("details.differs", { text: "VELLOWAY" })));
  assert.ok((await marked.nth(1).innerText()).includes("1991"));
  await me.button("details.suggest", { text: "VELLOWAY" }).click();
  assert.equal(await page.locator("#f-lastName").inputValue(), "VELLOWAY");
  assert.equal(await marked.count(), 1);
  await watched.close(server);
});

test("mistakes are told with the fix before they cost an attempt", async () => {
  for (const [name, code] of /** @type {const} */ ([
    ["2404-other-document-type", 2404],
    ["2511-no-mrz", 2511],
    ["2509-passport-expired", 2509],
    ["2001-no-face-in-document", 2001],
  ])) {
    const { watched, page, me } = await arrive(documentsFlow({}, types), name);
    await me.toPicture();
    await me.chooseFile("front");
    await page.locator("main .problems").waitFor();
    await page.getByText(t(`code.${code}.title`)).waitFor();
    const text = await page.locator("main").innerText();
    assert.ok(text.includes(t(`code.${code}.fix`)), `${name}: ${text}`);
    const isOther = code === 2404 || code === 2509;
    assert.equal(await me.heading(), t(isOther ? `code.${code}.title` : "review.bad"), name);
    assert.equal((await polled(page)).metadata.attempts, 0, name);
    if (isOther) {
      await me.button("review.otherdocument").click();
      await me.at("document");
    }
    await watched.close(server);
  }
});

test("the country that the document states can take the place of the chosen one", async () => {
  const { watched, page, me } = await arrive(documentsFlow({}, types), "pass-passport", { fields: { documentCountry: "DEU" } });
  await me.toPicture();
  await me.chooseFile("front");
  await page.getByText(t("code.2508.title")).waitFor();
  await me.button("review.country", { country: "Utopia" }).click();
  // It is read again, by the rules of that country.
  await page.getByText(t("code.2508.title")).waitFor({ state: "detached" });
  await me.button("review.use").click();
  await me.at("details");
  assert.equal((await entries(page))["f-lastName"], "VELLOWAY");
  await watched.close(server);
});

test("what a discarded picture said is forgotten", async () => {
  const { watched, page, me } = await arrive(documentsFlow(), "pass-passport");
  await me.toPicture();
  await me.chooseFile("front");
  await page.locator("main .shot").waitFor();
  await me.button("review.use").click();
  await me.at("details");
  await page.locator("#f-firstName").fill("Tammy");
  await page.goBack();
  await me.at("front");
  await me.button("review.other").click();
  // A picture without a zone says nothing.
  await page.locator("main input[type=file]").first().setInputFiles((await specimen("2511-no-mrz")).file("passportFront"));
  await page.getByText(t("code.2511.title")).waitFor();
  for (let tries = 0; tries < 2; tries++) {
    await me.button("review.other").click();
    await page.locator("main input[type=file]").first().setInputFiles((await specimen("2511-no-mrz")).file("passportFront"));
    await page.getByText(t("code.2511.title")).waitFor();
  }
  await me.button("review.anyway").click();
  await me.at("details");
  assert.deepEqual(await entries(page), { "f-firstName": "Tammy", "f-lastName": "" });
  await watched.close(server);
});

test("a server that cannot read now leaves typing", async () => {
  const { watched, page, me } = await arrive(documentsFlow({ dob: true }), "pass-passport");
  await page.route("**/v2/sdk/session/reading", (route) => route.fulfill({ status: 503, json: { error: "unavailable", message: "The server is busy" } }));
  const sent = await submissions(page);
  await me.to("details");
  assert.deepEqual(new Set(Object.values(await entries(page))), new Set([""]));
  assert.equal(await me.toOutcome(), t("outcome.approved.title"));
  assert.match(sent[0] ?? "", /name="passportFront"/);
  await page.unroute("**/v2/sdk/session/reading");
  await watched.close();
});

test("pictures that the server no longer has are sent", async () => {
  const { watched, page, me } = await arrive(documentsFlow(), "pass-passport");
  await me.to("selfie");
  // Of another session, as if the server had deleted its own.
  const sent = await submissions(page, (body) => body.replace(/(name="readings"\r\n\r\n)[0-9a-f]{8}/, "$100000000"));
  assert.equal(await me.toOutcome(), t("outcome.approved.title"));
  assert.equal(sent.length, 2);
  assert.match(sent[1] ?? "", /name="passportFront"/);
  assert.doesNotMatch(sent[1] ?? "", /name="readings"/);
  await watched.close();
});

test("a Flow may ask for the details first", async () => {
  const { watched, page, me } = await arrive({ ...documentsFlow({ dob: true }), settings: { detailsFirst: true } }, "pass-passport");
  assert.equal(await me.to("details", "front"), "details");
  assert.deepEqual(new Set(Object.values(await entries(page))), new Set([""]));
  assert.equal(await me.toOutcome(), t("outcome.approved.title"));
  await watched.close(server);
});

test("another person than the expected one is sent for another document, not to the entries", async () => {
  const watched = await newVisitor(browser);
  const { page } = watched;
  const flow = { ...documentsFlow({ dob: true }), settings: { reviewPolicy: "never" } };
  await watched.open(await server.link(await server.flow(flow), "expected-1", { expected: { firstName: "Tamsin", lastName: "Osei" } }));
  const me = person(page, await specimen("pass-passport"));
  await me.toOutcome();
  const text = await page.locator("main").innerText();
  assert.ok(text.includes(t("code.unexpected.title")), text);
  assert.ok(!text.includes(t("code.2502.title")) && !text.includes("Osei"), text);
  await me.button("outcome.fix").click();
  await me.at("document");
  await watched.context.close();
});

test("a kind that is pressed before its country is taken with it", async () => {
  const { watched, page, me } = await arrive(documentsFlow({}, types), "pass-passport");
  await me.to("document");
  await page.getByRole("button", { name: t("document.clear") }).click();
  await page.locator("#f-documentCountry").press("Escape");
  await page.locator('main button.choice[value="PASSPORT"]').click();
  await page.locator("#h-documentCountry").getByText(t("error.country")).waitFor();
  assert.equal(await page.locator("#f-documentCountry").getAttribute("aria-invalid"), "true");
  await page.locator("#f-documentCountry").fill("UTO");
  await page.locator("#f-documentCountry").press("Enter");
  await me.at("front");
  await watched.close(server);
});
