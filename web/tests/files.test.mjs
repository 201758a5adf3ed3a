// Verifications with uploaded files, from the link to the merchant's poll.
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { desktop, newVisitor, startBrowser } from "./browser.mjs";
import { person, t } from "./person.mjs";
import { documentsFlow, specimen, startServer } from "./server.mjs";

/** @type {import("./server.mjs").Server} */ let server;
/** @type {import("./browser.mjs").Browser} */ let browser;
before(async () => ([server, browser] = await Promise.all([startServer(), startBrowser()])));
after(() => Promise.all([browser.close(), server.stop()]));

/**
 * Opens a new link as a person with a specimen's document.
 * @param {object} flow @param {string} name
 * @param {{visitor?: object, fields?: Record<string, string>, files?: Record<string, any>}} [options]
 */
async function arrive(flow, name, { visitor = {}, ...different } = {}) {
  const watched = await newVisitor(browser, visitor);
  await watched.open(await server.link(await server.flow(flow)));
  return { watched, page: watched.page, me: person(watched.page, await specimen(name), different) };
}

/** The id of the page's session. @param {import("playwright-core").Page} page @returns {Promise<string>} */
const sessionOf = (page) =>
  page.evaluate(() => {
    const tab = JSON.parse(sessionStorage.getItem("bonafide") ?? "{}");
    return tab.access?.sessionId ?? tab.ended?.sessionId;
  });

test("a passport and a selfie pass; the merchant polls success", async () => {
  const { watched, page, me } = await arrive(documentsFlow({ dob: true }), "pass-passport");
  assert.equal(await me.toOutcome(), t("outcome.approved.title"));
  const session = await server.poll(await sessionOf(page));
  assert.equal(session.status, "success");
  assert.equal(JSON.parse(session.result).success, true);
  await watched.close(server);
});

test("a card with two sides, chosen among four documents, on a desktop", async () => {
  const flow = documentsFlow({ dob: true, nationality: true, country: true, street: true, city: true, postcode: true, phone: true, email: true },
    ["PASSPORT", "DRIVERS", "ID_CARD", "RESIDENCY_CARD"]);
  const { watched, page, me } = await arrive(flow, "pass-id-card-td1", { visitor: { viewport: desktop, screen: desktop, hasTouch: false } });
  assert.equal(await me.to("device", "document"), "device");
  assert.equal(await me.toOutcome(), t("outcome.approved.title"));
  assert.equal((await server.poll(await sessionOf(page))).status, "success");
  await watched.close(server);
});

test("details alone", async () => {
  const { watched, page, me } = await arrive({ defaultFields: { dob: true } }, "pass-data-only");
  assert.equal(await me.toOutcome(), t("outcome.approved.title"));
  assert.equal((await server.poll(await sessionOf(page))).status, "success");
  await watched.close(server);
});

test("a wrong name is put right, and only the details are asked for again", async () => {
  const { watched, page, me } = await arrive(documentsFlow(), "pass-age", { fields: { firstName: "Someone", lastName: "Different" } });
  assert.equal(await me.toOutcome(), t("outcome.failed.title"));
  const sessionId = await sessionOf(page);
  assert.equal((await server.poll(sessionId)).status, "pending");
  await me.button("outcome.fix").click();
  assert.equal(await me.at("details", "document", "front", "selfie"), "details");
  const right = person(page, await specimen("pass-age"));
  assert.equal(await right.toOutcome(), t("outcome.approved.title"));
  const session = await server.poll(sessionId);
  assert.equal(session.status, "success");
  assert.equal(session.metadata.attempts, 2);
  await watched.close(server);
});

test("an expired passport names the fix, and ends when the attempts are used up", async () => {
  const flow = { ...documentsFlow(), settings: { attemptsPerLink: 2 } };
  const { watched, page, me } = await arrive(flow, "2509-passport-expired");
  assert.equal(await me.toOutcome(), t("outcome.failed.title"));
  const body = page.locator("main");
  assert.ok((await body.innerText()).includes(t("code.2509.fix")));
  assert.ok((await body.innerText()).includes(t("outcome.left", { count: 1 })));
  await me.button("outcome.fix").click();
  assert.equal(await me.at("details", "document", "front", "selfie"), "document");
  assert.equal(await me.toOutcome(), t("outcome.used.title"));
  assert.equal((await server.poll(await sessionOf(page))).status, "failed");
  await watched.close(server);
});

test("an attempt under review says so, and the reviewer's decision ends the session", async () => {
  const { watched, page, me } = await arrive({ ...documentsFlow({}, ["DRIVERS"]), settings: { reviewPolicy: "always" } }, "pass-drivers");
  assert.equal(await me.toOutcome(), t("outcome.pending.title"));
  const sessionId = await sessionOf(page);
  const session = await server.poll(sessionId);
  assert.deepEqual([session.status, session.metadata.stage], ["pending", "in_review"]);
  const logId = /\b\d+\b/.exec(await server.cli("review", "list"))?.[0] ?? "";
  await server.cli("review", "approve", logId);
  assert.equal((await server.poll(sessionId)).status, "success");
  await watched.close(server);
});

test("nothing about sanctions is shown", async () => {
  const { watched, page, me } = await arrive({ defaultFields: {} }, "pass-data-only", { fields: { firstName: "Zoltar", lastName: "Quenthabar" } });
  const heading = await me.toOutcome();
  assert.ok([t("outcome.pending.title"), t("outcome.neutral.title")].includes(heading), heading);
  assert.doesNotMatch(await page.locator("body").innerText(), /sanction|2702|watch ?list/i);
  await watched.close(server);
});

test("wrong, empty and oversized files are refused with the fix, and the right one still passes", async () => {
  const { watched, page, me } = await arrive(documentsFlow(), "pass-liveness");
  await me.to("front");
  const input = page.locator("main input[type=file]").first();
  const problem = page.locator("main .problem, main [role=alert]").first();
  for (const [key, file] of /** @type {[string, {name: string, mimeType: string, buffer: Buffer}][]} */ ([
    ["file.unsupported_file", { name: "passport.jpg", mimeType: "image/jpeg", buffer: Buffer.from("MZ this is a program, not a picture") }],
    ["file.empty_file", { name: "passport.jpg", mimeType: "image/jpeg", buffer: Buffer.alloc(0) }],
    ["file.pdf_too_large", { name: "passport.pdf", mimeType: "application/pdf", buffer: Buffer.concat([Buffer.from("%PDF-1.7\n"), Buffer.alloc(11 * 1024 * 1024, 32)]) }],
  ])) {
    await input.setInputFiles(file);
    await problem.getByText(t(key)).waitFor();
    assert.equal(await me.screen(), "front");
  }
  assert.equal(await me.toOutcome(), t("outcome.approved.title"));
  await watched.close(server);
});

test("a PDF that holds the passport", async () => {
  const passport = await specimen("pass-passport");
  const pdf = join(server.data, "passport.pdf");
  await writeFile(pdf, pdfOf(await readFile(passport.file("passportFront"))));
  const { watched, me } = await arrive(documentsFlow(), "pass-passport", { files: { passportFront: pdf } });
  assert.equal(await me.toOutcome(), t("outcome.approved.title"));
  await watched.close(server);
});

test("one press on Continue names every fault, also of the field just left", async () => {
  const { watched, page, me } = await arrive({ defaultFields: { dob: true, email: true } }, "pass-data-only", { visitor: { viewport: desktop } });
  await me.to("details");
  await page.locator("#f-email").fill("nobody");
  await me.goOn();
  await page.locator(".field-firstName.wrong").waitFor();
  for (const field of ["lastName", "dob", "email"]) assert.equal(await page.locator(`.field-${field}.wrong`).count(), 1, field);
  assert.equal(await page.evaluate(() => document.activeElement?.id), "f-firstName");
  assert.equal(await me.toOutcome(), t("outcome.approved.title"));
  await watched.close(server);
});

test("a merchant's name is text, whatever it says", async () => {
  const name = `<img src=x onerror="document.title='taken'"></script>`;
  const { merchantId, sandbox } = JSON.parse(await server.cli("merchant", "create", "--name", name, "--approved", "--json"));
  const other = server.as(merchantId, sandbox);
  const watched = await newVisitor(browser);
  await watched.open(await other.link(await other.flow({ defaultFields: {} })));
  const me = person(watched.page, await specimen("pass-data-only"));
  await me.at("open");
  assert.ok((await watched.page.locator("main").innerText()).includes(name));
  assert.equal(await watched.page.locator("img[src=x]").count(), 0);
  assert.equal(await me.toOutcome(), t("outcome.approved.title"));
  await watched.close(server);
});

/** A PDF of one page with one picture. @param {Buffer} jpeg */
function pdfOf(jpeg) {
  // The frame header of a JPEG: FF C0 or C2, length, precision, height, width.
  const at = [0xc0, 0xc2].map((kind) => jpeg.indexOf(Buffer.from([0xff, kind, 0x00, 0x11]))).find((found) => found > 0) ?? 0;
  const [height, width] = [jpeg.readUInt16BE(at + 5), jpeg.readUInt16BE(at + 7)];
  const draw = `q 595 0 0 ${Math.round((595 * height) / width)} 0 0 cm /I Do Q`;
  const parts = [Buffer.from("%PDF-1.4\n")];
  const offsets = /** @type {number[]} */ ([]);
  const size = () => parts.reduce((sum, part) => sum + part.length, 0);
  /** @param {...(string | Buffer)} content */
  const object = (...content) => {
    offsets.push(size());
    parts.push(Buffer.from(`${offsets.length} 0 obj\n`), ...content.map((part) => Buffer.from(part)), Buffer.from("\nendobj\n"));
  };
  object("<</Type/Catalog/Pages 2 0 R>>");
  object("<</Type/Pages/Kids[3 0 R]/Count 1>>");
  object("<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Contents 4 0 R/Resources<</XObject<</I 5 0 R>>>>>>");
  object(`<</Length ${draw.length}>>stream\n${draw}\nendstream`);
  object(`<</Type/XObject/Subtype/Image/Width ${width}/Height ${height}/ColorSpace/DeviceRGB/BitsPerComponent 8/Filter/DCTDecode/Length ${jpeg.length}>>stream\n`, jpeg, "\nendstream");
  const start = size();
  const rows = offsets.map((offset) => `${String(offset).padStart(10, "0")} 00000 n \n`).join("");
  parts.push(Buffer.from(`xref\n0 6\n0000000000 65535 f \n${rows}trailer<</Size 6/Root 1 0 R>>\nstartxref\n${start}\n%%EOF\n`));
  return Buffer.concat(parts);
}
