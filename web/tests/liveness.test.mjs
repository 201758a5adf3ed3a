// The liveness challenge from the page to the verdict: a person who follows passes, and films that do not, fail.
import assert from "node:assert/strict";
import { after, before as beforeAll, test } from "node:test";
import { newVisitor, startBrowser } from "./browser.mjs";
import { person, t } from "./person.mjs";
import { documentsFlow, specimen, startServer } from "./server.mjs";
import { before } from "./turning-head.mjs";

/** @type {import("./server.mjs").Server} */ let server;
/** @type {import("./browser.mjs").Browser} */ let browser;

beforeAll(async () => {
  [server, browser] = await Promise.all([startServer(), startBrowser()]);
});
after(async () => {
  await Promise.all([browser.close(), server.stop()]);
});

/** @param {object} flow @param {import("./turning-head.mjs").Behaviour} behaviour */
async function arrive(flow, behaviour) {
  const watched = await newVisitor(browser);
  await before(watched.page, behaviour);
  await watched.open(await server.link(await server.flow({ ...documentsFlow(flow), settings: { reviewPolicy: "on_match" } }), "head"));
  return { watched, page: watched.page, me: person(watched.page, await specimen("pass-passport"), { byFile: true }) };
}

/** @param {import("playwright-core").Page} page */
const stateOf = async (page) => {
  const id = await page.evaluate(() => {
    const tab = JSON.parse(sessionStorage.getItem("bonafide") ?? "{}");
    return tab.access?.sessionId ?? tab.ended?.sessionId;
  });
  return server.poll(id);
};

/**
 * Goes to the end of the challenge. A run that counted for nothing, since this machine was busy, is begun again.
 * @param {Awaited<ReturnType<typeof arrive>>} arrived @returns {Promise<string>} the screen
 */
async function toEnd({ page, me }) {
  const again = me.button("page.retry");
  for (;;) {
    const screen = await me.to("outcome", "end", "selfie-stopped");
    if (screen !== "selfie-stopped" || !(await page.getByText(t("challenge.uncounted")).count())) return screen;
    await again.click();
  }
}

/** What the server measured, for a test that fails. */
const measured = () =>
  server
    .log()
    .split("\n")
    .filter((line) => line.includes("a challenge ended"))
    .join("\n");

test("a person who turns, nods and reflects the colours passes", async () => {
  const arrived = await arrive({ liveness: true }, {});
  // On a slow machine the person may seem to jump; people have three tries for such things.
  while ((await toEnd(arrived)) === "selfie-stopped") await arrived.me.button("page.retry").click();
  assert.equal(await arrived.page.locator("h1").innerText(), t("outcome.approved.title"), measured());
  assert.equal((await stateOf(arrived.page)).status, "success", measured());
  await arrived.watched.close(server);
});

test("a short film is enough for a live selfie", async () => {
  const arrived = await arrive({ selfie: false, liveSelfie: true }, {});
  await toEnd(arrived);
  assert.equal((await stateOf(arrived.page)).status, "success", measured());
  await arrived.watched.close(server);
});

for (const does of /** @type {const} */ (["loop", "still", "wrong-way", "other-light"])) {
  // As in accessibility.test.
  if (does !== "still" && !process.env.EVERY_SCREEN) continue;
  test(`before the camera, this never passes: ${does}`, async () => {
    const arrived = await arrive({ liveness: true }, { does });
    const { page, me } = arrived;
    for (let tries = 3; ; tries -= 1) {
      const screen = await toEnd(arrived);
      if (screen !== "selfie-stopped") break;
      assert.ok(tries > 1, "after three tries, a person decides");
      await page.getByText(t("challenge.left", { count: tries - 1 })).waitFor();
      await me.button("page.retry").click();
    }
    const { status, metadata } = await stateOf(page);
    assert.deepEqual([status, metadata.stage], ["pending", "in_review"]);
    await arrived.watched.close(server);
  });
}
