// Takes the pictures of docs/pictures from a separate sandbox: `scripts/pictures`. The specimens' faces come from sample
// photographs of real people, and no face is committed: one passport has none, and the others are covered.
import { mkdir, stat } from "node:fs/promises";
import { join as path } from "node:path";
import { desktop, drawn, newVisitor, phone, startBrowser } from "./browser.mjs";
import { person } from "./person.mjs";
import { root, specimen, startServer } from "./server.mjs";
import { invitation, join, verify } from "./staff.mjs";

/** @typedef {import("playwright-core").Page} Page */
/** @typedef {import("./server.mjs").Server} Server */
/** @typedef {import("./browser.mjs").Browser} Browser */

const folder = path(root, "docs/pictures");
/** Maximum size of a picture in bytes. */
const LARGEST = 150_000;

/** Takes a picture of the window. @param {Page} page @param {string} name */
async function take(page, name) {
  const file = path(folder, `${name}.png`);
  await drawn(page);
  await page.screenshot({ path: file, animations: "disabled" });
  const { size } = await stat(file);
  if (size > LARGEST) throw new Error(`${file} has ${size} bytes, more than ${LARGEST}`);
  process.stdout.write(`${file}: ${size} bytes\n`);
}

/** Covers every portrait on an applicant's page with a silhouette. @param {Page} page */
function coverFaces(page) {
  return page.evaluate(() => {
    const faces = document.querySelectorAll("svg.overlay rect.face");
    if (faces.length < 2) throw new Error(`${faces.length} faces are marked on the page, not those of document and selfie`);
    for (const face of faces) {
      const number = (/** @type {string} */ name) => Number(face.getAttribute(name));
      const [width, height] = [number("width"), number("height")];
      // A selfie is covered completely, a document only at its portrait.
      const whole = height > 0.3;
      const [w, h] = whole ? [1.02, 1] : [width * 1.9, height * 2.1];
      const [x, y] = whole ? [-0.01, 0] : [number("x") + width / 2 - w / 2, number("y") + height / 2 - h / 2];
      const shapes = [
        ["rect", { x, y, width: w, height: h }, "#c9ced6"],
        ["ellipse", { cx: x + w / 2, cy: y + h * 0.38, rx: w * 0.2, ry: h * 0.21 }, "#8b95a3"],
        ["path", { d: `M ${x + w * 0.12} ${y + h} a ${w * 0.38} ${h * 0.36} 0 0 1 ${w * 0.76} 0 z` }, "#8b95a3"],
      ];
      for (const [name, attributes, colour] of /** @type {[string, Record<string, string | number>, string][]} */ (shapes)) {
        const shape = document.createElementNS("http://www.w3.org/2000/svg", name);
        for (const [key, value] of Object.entries(attributes)) shape.setAttribute(key, String(value));
        Object.assign(shape.style, { fill: colour, stroke: "none" });
        face.before(shape);
      }
    }
  });
}

/** The hosted page on a phone: its first screen, and a passport before it is sent. @param {Server} server @param {Browser} browser */
async function hostedPage(server, browser) {
  const { flows, groupId, merchantId } = server;
  await server.cli("merchant", "set", merchantId, "brandName=Acme Bank", "brandColor=#0a7");
  const { page, context, open } = await newVisitor(browser, { viewport: phone });
  await open(await server.link({ flowId: flows["passport"] ?? "", groupId }));
  const applicant = person(page, await specimen("2001-no-face-in-document"));
  await applicant.at("open");
  await take(page, "hosted-start");
  await applicant.to("front");
  await applicant.chooseFile("front");
  await page.locator("main .shot").waitFor();
  await take(page, "hosted-document");
  await context.close();
}

/** An applicant with pictures, and one with a sanctions hit. @param {Server} server @param {Browser} browser */
async function reviewDesk(server, browser) {
  const always = await server.flow({
    defaultFields: { dob: true, selfie: true, ocrMatch: true, documentFileUpload: true },
    defaultDocumentTypes: ["PASSPORT"],
    settings: { reviewPolicy: "always" },
  });
  const listed = { firstName: "Zoltar", lastName: "Quenthabar", dob: "02/29/1964", externalUserId: "user-1041" };
  await verify(server, "pass-data-only", server.flows["data-only"] ?? "", listed);
  await verify(server, "pass-passport", always.flowId, { externalUserId: "user-1042" });
  const size = { viewport: desktop, deviceScaleFactor: 0.7 };
  const { page, context } = await join(browser, await invitation(server, "compliance"), size);
  for (const [user, name] of [["user-1042", "review-applicant"], ["user-1041", "review-hit"]]) {
    await page.goto(`${server.baseUrl}/portal/queue`);
    await page.locator("main table tbody tr", { hasText: user }).locator("a").first().click();
    await page.waitForLoadState("networkidle");
    if (name === "review-applicant") await coverFaces(page);
    // Below the bar of decisions, which remains at the top.
    else await page.locator("#sanctions").evaluate((section) => window.scrollTo(0, section.getBoundingClientRect().top - 220));
    await take(page, name);
  }
  await context.close();
}

await mkdir(folder, { recursive: true });
const server = await startServer();
const browser = await startBrowser();
try {
  await hostedPage(server, browser);
  await reviewDesk(server, browser);
} finally {
  await browser.close();
  await server.stop();
}
