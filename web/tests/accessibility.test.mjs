// Checks every screen against WCAG 2.2 AA on a phone (light) and a desktop (dark). With EVERY_SCREEN=1 (`make test-all`)
// it checks both sizes in both colour schemes, and also in Arabic and Japanese.
// With SCREENSHOTS=1 it takes pictures, in .cache/screenshots. camera.test checks the screens of the live camera.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { answerTo, desktop, look as lookAt, newVisitor, startBrowser } from "./browser.mjs";
import { person, t } from "./person.mjs";
import { documentsFlow, specimen, startServer } from "./server.mjs";

/** @type {import("./server.mjs").Server} */ let server;
/** @type {import("./browser.mjs").Browser} */ let browser;
before(async () => {
  [server, browser] = await Promise.all([startServer(), startBrowser()]);
  await server.cli("merchant", "set", server.merchantId, "privacyUrl=https://merchant.example/privacy", "contact=help@merchant.example");
});
after(() => Promise.all([browser.close(), server.stop()]));

for (const variant of /** @type {const} */ ([
  { name: "English", locale: "en-GB", language: "en", schemes: ["light", "dark"], suffix: "" },
  { name: "Arabic", locale: "ar", language: "ar", schemes: ["light"], suffix: "-ar" },
  { name: "Japanese", locale: "ja", language: "ja", schemes: ["light"], suffix: "-ja" },
])) {
  if (variant.language !== "en" && !process.env.EVERY_SCREEN) continue;
  test(`every screen: ${variant.name}`, async () => {
    const { language } = variant;
    const faults = /** @type {string[]} */ ([]);
    const options = { locale: variant.locale };
    const everything = documentsFlow(
      { dob: true, nationality: true, country: true, street: true, city: true, postcode: true, phone: true, email: true },
      ["PASSPORT", "DRIVERS", "ID_CARD", "RESIDENCY_CARD"],
    );

    /** @param {import("playwright-core").Page} page @param {string} state */
    const look = async (page, state) => faults.push(...(await lookAt(page, state + variant.suffix, [...variant.schemes])));

    /** @param {object} flow @param {string} who @param {object} [different] */
    async function arrive(flow, who, different = {}) {
      const watched = await newVisitor(browser, options);
      const link = await server.link(await server.flow(flow));
      await watched.open(link);
      return { watched, link, page: watched.page, me: person(watched.page, await specimen(who), { language, ...different }) };
    }

    const main = await arrive(everything, "pass-id-card-td1");
    // The consent has a screen of its own only if it could not be recorded.
    await main.page.route("**/v2/sdk/session/consent", (route) => route.abort(), { times: 1 });
    for (const state of ["open", "consent", "document"]) {
      await main.me.to(state);
      await look(main.page, state);
    }
    await main.page.locator("#f-documentCountry").fill("u");
    await look(main.page, "document-search");
    await main.me.to("front");
    await look(main.page, "front");
    await main.page.locator("main input[type=file]").first().setInputFiles({ name: "a.txt", mimeType: "text/plain", buffer: Buffer.from("no picture") });
    await main.page.locator("main .note.bad").waitFor();
    await look(main.page, "front-wrong-file");
    await main.me.chooseFile("front");
    await main.page.locator("main .shot").waitFor();
    await look(main.page, "front-review");
    await main.me.to("back");
    await look(main.page, "back");
    await main.me.to("details");
    await look(main.page, "details");
    await main.page.locator("#f-firstName").fill("Ноэми");
    await main.page.locator("#f-lastName").fill("Other");
    await main.page.locator("#f-email").fill("nobody");
    await main.me.goOn();
    await main.page.locator(".field-firstName.wrong").waitFor();
    await main.page.locator(".field-lastName.differs").waitFor();
    await look(main.page, "details-wrong");
    await main.me.to("selfie");
    await look(main.page, "selfie");
    let send = () => {};
    const looked = new Promise((resolve) => (send = () => resolve(undefined)));
    await main.page.route("**/v2/idv/verify", async (route) => {
      await looked;
      await route.continue();
    });
    await main.me.to("upload");
    await look(main.page, "upload");
    send();
    await main.me.toOutcome();
    await look(main.page, "outcome-approved");
    await main.watched.close(server);

    const typed = await arrive({ ...documentsFlow({ dob: true }), settings: { detailsFirst: true } }, "2404-other-document-type");
    await typed.me.to("details");
    await look(typed.page, "details-first");
    await typed.me.to("front");
    await typed.me.chooseFile("front");
    await typed.page.getByText(t("code.2404.title", {}, language)).waitFor();
    await look(typed.page, "front-other-document");
    await typed.watched.close(server);

    const failed = await arrive({ ...documentsFlow(), settings: { attemptsPerLink: 2 } }, "2509-passport-expired");
    await failed.me.toOutcome();
    await look(failed.page, "outcome-failed");
    await failed.me.button("outcome.fix").click();
    await failed.me.at("document");
    await failed.me.toOutcome();
    await look(failed.page, "outcome-used-up");
    await failed.watched.close(server);

    const review = await arrive({ defaultFields: {}, settings: { reviewPolicy: "always" } }, "pass-data-only");
    await review.me.toOutcome();
    await look(review.page, "outcome-pending");
    await review.watched.close(server);

    const declined = await arrive({ defaultFields: {} }, "pass-data-only");
    await declined.me.at("open");
    await declined.me.button("consent.no").click();
    await declined.page.getByRole("dialog").waitFor();
    await look(declined.page, "consent-decline");
    await declined.page.getByRole("dialog").getByRole("button", { name: t("consent.ask.leave", {}, language) }).click();
    await declined.me.at("end");
    await look(declined.page, "end-declined");
    await declined.watched.close(server);

    const blocked = await newVisitor(browser, { ...options, extraHTTPHeaders: { "x-forwarded-for": "133.11.0.1" } });
    await blocked.open(await server.link(await server.flow({ defaultFields: {}, geoBlockedCountries: [{ countryAlpha2: "JP", countryName: "Japan" }] })));
    const there = person(blocked.page, await specimen("pass-data-only"), { language });
    await there.button("open.start").click();
    await there.at("end");
    await look(blocked.page, "end-geo");
    for (const [state, address] of Object.entries({ "end-invalid": "?token=nonsense", "end-no-link": "" })) {
      await blocked.page.goto(`${server.baseUrl}/verify${address}`);
      await there.at("end");
      await look(blocked.page, state);
    }
    await blocked.close(server);

    const twice = await arrive({ defaultFields: {} }, "pass-data-only");
    await twice.me.to("details");
    const second = await twice.watched.context.newPage();
    await second.goto(twice.link);
    await person(second, await specimen("pass-data-only"), { language }).at("elsewhere");
    await look(second, "elsewhere");
    // Opened twice, so that its URL has the token a second time.
    await twice.watched.context.close();

    const late = await newVisitor(browser, options);
    await late.page.clock.install();
    await late.open(await server.link(await server.flow({ defaultFields: {} })));
    const slow = person(late.page, await specimen("pass-data-only"), { language });
    await slow.to("details");
    await late.page.clock.fastForward("08:10");
    await late.page.locator("#notices").getByText(t("page.warning", {}, language)).waitFor();
    await look(late.page, "time-warning");
    await late.page.clock.fastForward("02:00");
    await slow.at("end");
    await look(late.page, "end-expired");
    await late.close(server);

    // A desktop, its phone, and a missing camera.
    const live = documentsFlow({ documentFileUpload: false, documentCapture: true, liveSelfie: true });
    const desk = await newVisitor(browser, { ...options, viewport: desktop, screen: desktop, hasTouch: false });
    const code = answerTo(desk.page, "/session/handoff");
    await desk.open(await server.link(await server.flow(live)));
    const sitting = person(desk.page, await specimen("pass-passport"), { language });
    await sitting.to("device");
    const { url } = await (await code).json();
    await desk.page.locator("main .qr img").waitFor();
    await look(desk.page, "device");
    const mobile = await newVisitor(browser, options);
    await mobile.open(url);
    const walking = person(mobile.page, await specimen("pass-passport"), { language });
    await walking.at("claim");
    await look(mobile.page, "claim");
    await walking.to("number");
    await look(mobile.page, "number");
    await sitting.at("device-follow");
    await walking.to("document");
    await look(desk.page, "device-follow");
    await walking.to("front");
    await look(mobile.page, "front-no-camera");
    await mobile.close(server);
    await desk.close(server);

    assert.deepEqual(faults, []);
  });
}
