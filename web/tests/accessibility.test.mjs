// Every screen against WCAG 2.2 AA, in light, dark and Arabic, with a picture of each in .cache/screenshots.
import assert from "node:assert/strict";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { accessibilityFaults, desktop, newVisitor, phone, smallTargets, startBrowser } from "./browser.mjs";
import { person, t } from "./person.mjs";
import { documentsFlow, root, specimen, startServer } from "./server.mjs";

const folder = join(root, ".cache/screenshots");

/** @type {import("./server.mjs").Server} */ let server;
/** @type {import("./browser.mjs").Browser} */ let browser;
before(async () => {
  await mkdir(folder, { recursive: true });
  [server, browser] = await Promise.all([startServer(), startBrowser()]);
});
after(() => Promise.all([browser.close(), server.stop()]));

for (const variant of /** @type {const} */ ([
  { name: "light", colorScheme: "light", locale: "en-GB", language: "en" },
  { name: "dark", colorScheme: "dark", locale: "en-GB", language: "en" },
  { name: "rtl", colorScheme: "light", locale: "ar", language: "ar" },
])) {
  test(`every screen: ${variant.name}`, async () => {
    const { name, language } = variant;
    const faults = /** @type {string[]} */ ([]);
    const options = { colorScheme: variant.colorScheme, locale: variant.locale };
    const everything = documentsFlow(
      { dob: true, nationality: true, country: true, street: true, city: true, postcode: true, phone: true, email: true },
      ["PASSPORT", "DRIVERS", "ID_CARD", "RESIDENCY_CARD"],
    );

    /** @param {import("playwright-core").Page} page @param {string} state */
    async function look(page, state) {
      for (const [size, viewport] of Object.entries({ phone, desktop })) {
        await page.setViewportSize(viewport);
        await page.waitForTimeout(100);
        await page.screenshot({ path: join(folder, `${state}-${size}-${name}.png`), fullPage: true });
        const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
        if (wide > 0) faults.push(`${state} (${size}): ${wide} px wider than the window`);
        for (const fault of [...(await accessibilityFaults(page)), ...(await smallTargets(page))]) faults.push(`${state} (${size}): ${fault}`);
      }
    }

    /** @param {object} flow @param {string} who @param {object} [different] */
    async function arrive(flow, who, different = {}) {
      const watched = await newVisitor(browser, options);
      await watched.open(await server.link(await server.flow(flow)));
      return { watched, page: watched.page, me: person(watched.page, await specimen(who), { language, ...different }) };
    }

    const main = await arrive(everything, "pass-id-card-td1");
    for (const state of ["open", "consent", "details"]) {
      await main.me.to(state);
      await look(main.page, state);
    }
    await main.page.locator("#f-firstName").fill("Ноэми");
    await main.page.locator("#f-email").fill("nobody");
    await main.me.goOn();
    await main.page.locator(".field-lastName.wrong").waitFor();
    await look(main.page, "details-wrong");
    await main.me.to("document");
    await look(main.page, "document");
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
    await main.me.to("selfie");
    await look(main.page, "selfie");
    await main.page.route("**/v2/idv/verify", async (route) => {
      await new Promise((resolve) => setTimeout(resolve, 4000));
      await route.continue();
    });
    await main.me.to("upload");
    await look(main.page, "upload");
    await main.me.toOutcome();
    await look(main.page, "outcome-approved");
    await main.watched.close(server);

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
    await declined.me.to("consent");
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

    // A desktop, the phone beside it, and a camera that is not there.
    const live = documentsFlow({ documentFileUpload: false, documentCapture: true, liveSelfie: true });
    const desk = await newVisitor(browser, { ...options, viewport: desktop, screen: desktop, hasTouch: false });
    const code = desk.page.waitForResponse((response) => response.url().endsWith("/session/handoff"));
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
    await walking.to("details");
    await look(desk.page, "device-follow");
    await walking.to("front");
    await look(mobile.page, "front-no-camera");
    await mobile.close(server);
    await desk.close(server);

    assert.deepEqual(faults, []);
  });
}
