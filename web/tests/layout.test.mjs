// Every screen fits in every language: at 320 and 360 px, and with text of 200 %, nothing is cut, overlaps or sticks
// out. Without EVERY_SCREEN=1 (`make test-all`) the languages are Arabic, German, Japanese, and one that has the longest
// text of all languages for each key.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { answerTo, desktop, drawn, newVisitor, startBrowser } from "./browser.mjs";
import { misfits } from "./misfits.mjs";
import { person, t } from "./person.mjs";
import { documentsFlow, specimen, startServer } from "./server.mjs";

const locales = new URL("../locales/", import.meta.url);
/** @type {Record<string, Record<string, string>>} */
const texts = Object.fromEntries(
  readdirSync(locales).map((name) => [name.slice(0, -5), JSON.parse(readFileSync(new URL(name, locales), "utf8"))]),
);

/** The language whose file is replaced by the longest texts. */
const LONGEST = "mt";
const languages = process.env.EVERY_SCREEN ? [...Object.keys(texts), LONGEST] : ["ar", "de", "ja", LONGEST];
const LAYOUTS = [
  { width: 320, height: 568, text: 100 },
  { width: 360, height: 740, text: 100 },
  { width: 360, height: 740, text: 200 },
];

/** How wide a text is, roughly: East Asian characters are twice as wide. @param {string} text */
const width = (text) => [...text.replace(/\{\w+, plural, .*\}/, "")].reduce((sum, c) => sum + (/[\u1100-\u11ff\u2e80-\uffef]/.test(c) ? 2 : 1), 0);

/** The longest text for each key. Plurals stay English, because their forms differ. */
const longest = Object.fromEntries(
  Object.entries(texts["en"] ?? {}).map(([key, english]) => {
    if (english.includes(", plural,")) return [key, english];
    const all = Object.values(texts).map((language) => language[key] ?? "");
    return [key, all.reduce((a, b) => (width(b) > width(a) ? b : a))];
  }),
);

/** @type {import("./server.mjs").Server} */ let server;
/** @type {import("./browser.mjs").Browser} */ let browser;
before(async () => {
  [server, browser] = await Promise.all([startServer(), startBrowser()]);
  const settings = ["privacyUrl=https://merchant.example/privacy", "contact=help@merchant.example", "websiteUrl=https://merchant.example", "signInUrl=https://merchant.example/login"];
  await server.cli("merchant", "set", server.merchantId, ...settings);
});
after(() => Promise.all([browser.close(), server.stop()]));

/** Shows the screen in each language and layout. @param {import("playwright-core").Page} page @param {string} state */
async function look(page, state) {
  /** @type {string[]} */
  const faults = [];
  const before = page.viewportSize();
  for (const language of [...languages, "en"]) {
    const title = language === LONGEST && !process.env.EVERY_SCREEN ? longest["page.title"] : undefined;
    await page.locator("#languages select").selectOption(language);
    await page.waitForFunction(([lang, title]) => document.documentElement.lang === lang && (!title || document.title.endsWith(title)), [language, title]);
    await drawn(page);
    for (const { width, height, text } of LAYOUTS) {
      await page.setViewportSize({ width, height });
      await page.evaluate((text) => (document.documentElement.style.fontSize = text === 100 ? "" : `${text}%`), text);
      await drawn(page);
      for (const fault of await misfits(page)) faults.push(`${state}, ${language}, ${width} px, ${text} %: ${fault}`);
    }
  }
  await page.evaluate(() => (document.documentElement.style.fontSize = ""));
  if (before) await page.setViewportSize(before);
  return faults;
}

/** A visitor whose language `LONGEST` has the longest texts. @param {Parameters<typeof newVisitor>[1]} [options] */
async function visitor(options) {
  const watched = await newVisitor(browser, options);
  await watched.page.route(`**/locales/${LONGEST}.json`, (route) => route.fulfill({ json: longest }));
  return watched;
}

test("every screen fits in every language", async () => {
  /** @type {string[]} */
  const faults = [];
  const everything = documentsFlow(
    { dob: true, nationality: true, country: true, street: true, city: true, postcode: true, phone: true, email: true },
    ["PASSPORT", "DRIVERS", "ID_CARD", "RESIDENCY_CARD"],
  );
  const main = await visitor();
  await main.open(await server.link(await server.flow({ ...everything, settings: { attemptsPerLink: 2 } })));
  const me = person(main.page, await specimen("2509-passport-expired"));
  // The consent has a screen of its own only if it could not be recorded.
  await main.page.route("**/v2/sdk/session/consent", (route) => route.abort(), { times: 1 });
  for (const state of ["open", "consent", "document", "front"]) {
    await me.to(state);
    faults.push(...(await look(main.page, state)));
  }
  await me.chooseFile("front");
  await main.page.getByText(t("code.2509.title")).waitFor();
  faults.push(...(await look(main.page, "front-expired")));
  await me.to("details");
  await main.page.locator("#f-email").fill("nobody");
  await me.goOn();
  await main.page.locator(".field-email.wrong").waitFor();
  faults.push(...(await look(main.page, "details-wrong")));
  await me.to("selfie");
  faults.push(...(await look(main.page, "selfie")));
  await me.toOutcome();
  faults.push(...(await look(main.page, "outcome-failed")));
  await main.close(server);

  const plain = await server.flow({ defaultFields: {} });
  const passed = await visitor();
  const used = await server.link(plain);
  await passed.open(used);
  const passing = person(passed.page, await specimen("pass-data-only"));
  let send = () => {};
  const looked = new Promise((resolve) => (send = () => resolve(undefined)));
  await passed.page.route("**/v2/idv/verify", async (route) => {
    await looked;
    await route.continue();
  });
  await passing.to("upload");
  faults.push(...(await look(passed.page, "upload")));
  send();
  await passing.toOutcome();
  faults.push(...(await look(passed.page, "outcome-approved")));
  await passed.close(server);

  const late = await visitor();
  await late.open(used);
  const following = person(late.page, await specimen("pass-data-only"));
  await following.at("end");
  faults.push(...(await look(late.page, "end-used")));
  for (const [state, address] of Object.entries({ "end-invalid": "?token=nonsense", "end-no-link": "" })) {
    await late.page.goto(`${server.baseUrl}/verify${address}`);
    await following.at("end");
    faults.push(...(await look(late.page, state)));
  }
  await late.page.goto(await server.link(plain));
  await following.at("open");
  await following.button("consent.no").click();
  await late.page.getByRole("dialog").getByRole("button", { name: t("consent.ask.leave") }).click();
  await following.at("end");
  faults.push(...(await look(late.page, "end-declined")));
  await late.context.close();

  const blocked = await visitor({ extraHTTPHeaders: { "x-forwarded-for": "133.11.0.1" } });
  await blocked.open(await server.link(await server.flow({ defaultFields: {}, geoBlockedCountries: [{ countryAlpha2: "JP", countryName: "Japan" }] })));
  const there = person(blocked.page, await specimen("pass-data-only"));
  await there.button("open.start").click();
  await there.at("end");
  faults.push(...(await look(blocked.page, "end-geo")));
  await blocked.close(server);

  const slow = await visitor();
  await slow.page.clock.install();
  await slow.open(await server.link(plain));
  const waiting = person(slow.page, await specimen("pass-data-only"));
  await waiting.to("details");
  await slow.page.clock.fastForward("08:10");
  await slow.page.locator("#notices").getByText(t("page.warning")).waitFor();
  faults.push(...(await look(slow.page, "time-warning")));
  await slow.page.clock.fastForward("02:00");
  await waiting.at("end");
  faults.push(...(await look(slow.page, "end-expired")));
  await slow.close(server);

  // A desktop, its phone, and a missing camera.
  const live = documentsFlow({ documentFileUpload: false, documentCapture: true, liveSelfie: true });
  const desk = await visitor({ viewport: desktop, screen: desktop, hasTouch: false });
  const code = answerTo(desk.page, "/session/handoff");
  await desk.open(await server.link(await server.flow(live)));
  const sitting = person(desk.page, await specimen("pass-passport"));
  await sitting.to("device");
  const { url } = await (await code).json();
  await desk.page.locator("main .qr img").waitFor();
  const mobile = await visitor();
  await mobile.open(url);
  const walking = person(mobile.page, await specimen("pass-passport"));
  await walking.at("claim");
  faults.push(...(await look(mobile.page, "claim")));
  await walking.to("number");
  faults.push(...(await look(mobile.page, "number")));
  await sitting.at("device-follow");
  faults.push(...(await look(desk.page, "device-follow")));
  await walking.to("front");
  faults.push(...(await look(mobile.page, "front-no-camera")));
  await mobile.close(server);
  await desk.close(server);

  assert.deepEqual(faults, []);
});

test("nothing moves by itself on the way to the camera, even on a slow connection", async () => {
  const { page, context, open, close } = await newVisitor(browser);
  await page.addInitScript(() => {
    Object.assign(window, { shift: 0 });
    new PerformanceObserver((list) => {
      // What follows a press within half a second is expected (Web Vitals).
      const moved = /** @type {any[]} */ (list.getEntries()).filter((entry) => !entry.hadRecentInput);
      Object.assign(window, { shift: moved.reduce((sum, entry) => sum + entry.value, Reflect.get(window, "shift")) });
    }).observe({ type: "layout-shift", buffered: true });
  });
  const devtools = await context.newCDPSession(page);
  await devtools.send("Network.emulateNetworkConditions", { offline: false, latency: 600, downloadThroughput: 200_000, uploadThroughput: 90_000 });
  await open(await server.link(await server.flow(documentsFlow({ documentCapture: true, liveSelfie: true }))));
  const me = person(page, await specimen("pass-passport"));
  for (const state of ["document", "front"]) {
    await me.to(state);
    await drawn(page);
    assert.equal(await page.evaluate(() => Reflect.get(window, "shift")), 0, state);
  }
  await close(server);
});
