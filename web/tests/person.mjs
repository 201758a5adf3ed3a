// A simulated applicant on the hosted page, who completes one screen after the other up to the one under test.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { fill } from "../verify/message.js";

/** @typedef {import("playwright-core").Page} Page */
/** @typedef {{fields: Record<string, string>, files: Record<string, string>, file: (field: string) => string}} Specimen */

/** @type {Record<string, Record<string, string>>} */
const locales = {};

/** A text of the page. @param {string} key @param {Record<string, string | number>} [params] @param {string} [language] */
export function t(key, params = {}, language = "en") {
  locales[language] ??= JSON.parse(readFileSync(new URL(`../locales/${language}.json`, import.meta.url), "utf8"));
  const text = locales[language]?.[key];
  if (text === undefined) throw new Error(`no text ${key} in ${language}`);
  return fill(text, params, { language, number: String });
}

/** The stem of a document type's file fields. @type {Record<string, string>} */
const STEMS = { PASSPORT: "passport", DRIVERS: "drivers", ID_CARD: "idCard", RESIDENCY_CARD: "residency" };

/**
 * @param {Page | import("playwright-core").Frame} page
 * @param {Specimen} specimen whose details and pictures this applicant uses
 * @param {{language?: string, fields?: Record<string, string>, files?: Record<string, any>, byFile?: boolean}} [different] what to use instead;
 *   `byFile`: the document's pictures are files, because the camera shows something else
 */
export function person(page, specimen, { language = "en", fields = {}, files = {}, byFile = false } = {}) {
  const details = { ...specimen.fields, ...fields };
  const type = details["documentTypes"] ?? "";

  /** @param {string} key @param {Record<string, string | number>} [params] */
  const button = (key, params) => page.getByRole("button", { name: t(key, params, language), exact: true });
  const screen = () => page.evaluate(() => document.getElementById("main")?.dataset["screen"] ?? "");
  /** The server renders the first screen. Its button works after the scripts have rendered it again. */
  const drawn = () => page.locator("main #start").waitFor({ state: "detached" });
  /** Presses the screen's button to continue, whatever its text. */
  const goOn = () => page.locator("main .actions button.primary").click();

  /** @param {"front" | "back" | "selfie"} side */
  const picture = (side) => {
    const field = side === "selfie" ? "selfie" : (STEMS[type] ?? "") + (side === "front" ? "Front" : "Back");
    return files[field] ?? specimen.file(field);
  };

  async function fillDetails() {
    for (const [field, value] of Object.entries(details)) {
      const input = page.locator(`#f-${field}`);
      if (field === "dob" && (await page.locator("#f-dob-day").count())) {
        const [month = "", day = "", year = ""] = value.split("/");
        for (const [part, text] of Object.entries({ day, month, year })) await page.locator(`#f-dob-${part}`).fill(text);
      } else if (!(await input.count())) continue;
      else if ((await input.getAttribute("role")) === "combobox") await chooseCountry(input, value);
      else await input.fill(value);
    }
    await goOn();
  }

  /** Chooses a country by its code with the keyboard. @param {import("playwright-core").Locator} box @param {string} alpha3 */
  async function chooseCountry(box, alpha3) {
    await box.fill(alpha3);
    await box.press("Enter");
  }

  async function chooseDocument() {
    await chooseCountry(page.locator("#f-documentCountry"), details["documentCountry"] ?? "");
    await page.locator(`main button.choice[value="${type}"]`).click();
  }

  /** @param {"front" | "back" | "selfie"} side */
  async function chooseFile(side) {
    await page.locator("main input[type=file]").first().setInputFiles(picture(side));
  }

  const isReview = async () => (await page.locator("main .shot, main .file-name").count()) > 0;

  /** Uses the picture even if the page advises against it, because specimens are not photographs. */
  async function acceptPicture() {
    for (const key of ["review.use", "review.send", "review.anyway", "review.redo", "review.other"]) {
      // The last two are for poor pictures, which are rejected twice and can then be used.
      if (!(await button(key).count())) continue;
      const before = await screen();
      // A good picture of the camera leads on by itself, as soon as it was read.
      return button(key)
        .click({ timeout: 5_000 })
        .catch(async (error) => {
          if ((await screen()) === before) throw error;
        });
    }
    if (await isReview()) throw new Error("nothing leads on from the review");
  }

  /** Takes a picture with the camera; a good one releases the shutter automatically. */
  async function openCamera() {
    await button("picture.camera").click();
  }

  /** @param {"front" | "back" | "selfie"} side */
  const takePicture = (side) => async () => {
    if (await isReview()) return acceptPicture();
    const isFile = byFile && side !== "selfie";
    if (!isFile && (await button("picture.camera").count())) return openCamera();
    return chooseFile(side);
  };

  /** @type {Record<string, () => Promise<unknown>>} */
  const acts = {
    open: () => button("open.start").click(),
    claim: () => button("claim.start").click(),
    number: () => button("claim.yes").click(),
    consent: () => button("consent.yes").click(),
    device: () => button("device.here").click(),
    details: fillDetails,
    document: chooseDocument,
    front: takePicture("front"),
    back: takePicture("back"),
    selfie: takePicture("selfie"),
  };
  /** Screens that continue automatically. */
  const waiting = ["", "no_token", "token_used", "upload", "front-camera", "back-camera", "selfie-camera"];

  /** Marks the shown elements and returns the screen's id. Another screen or state has other elements. */
  const mark = () =>
    page.evaluate(() => {
      const main = document.getElementById("main");
      main?.firstElementChild?.setAttribute("data-seen", "");
      return main?.dataset["screen"] ?? "";
    });
  const changed = () => page.waitForFunction(() => !document.getElementById("main")?.firstElementChild?.hasAttribute("data-seen"), undefined, { timeout: 180_000 });

  return {
    button,
    screen,
    goOn,
    fillDetails,
    chooseDocument,
    chooseFile,
    acceptPicture,
    isReview,
    /** Waits for a screen. @param {...string} ids */
    async at(...ids) {
      await page.locator(ids.map((id) => `main[data-screen="${id}"]`).join(", ")).waitFor();
      await drawn();
      return screen();
    },
    /**
     * Continues until one of these screens is shown. It waits for screens that continue automatically.
     * @param {...string} ids
     */
    async to(...ids) {
      await drawn();
      for (let turns = 0; turns < 40; turns++) {
        const now = await mark();
        if (ids.includes(now)) return now;
        const act = acts[now];
        assert.ok(act || waiting.includes(now), `the page came to "${now}" on the way to ${ids}`);
        await act?.();
        await changed().catch(async () => assert.fail(`"${now}" leads nowhere: ${await page.locator("main").innerText()}`));
      }
      throw new Error(`never came to ${ids}`);
    },
    /** Continues to the screen before the first picture. */
    toPicture() {
      return this.to("front", "selfie");
    },
    /** Continues to the outcome or another end, and returns its text. */
    async toOutcome() {
      await this.to("outcome", "end");
      return page.locator("main h1").innerText();
    },
    heading: () => page.locator("main h1").innerText(),
  };
}
