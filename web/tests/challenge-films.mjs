/**
 * Shows rendered people and attacks to the liveness challenge of a real server in real Chromium, and prints how each
 * ended. Further arguments choose the films, as for `bonafide eval challenge`, whose results should agree:
 *
 *   node web/tests/challenge-films.mjs --people FOLDER --honest 20 --attacks 40 --seed 1
 *
 * A living person has two tries, an attack has one. A run that counts for nothing is repeated, at most twice.
 */

import { newVisitor, startBrowser } from "./browser.mjs";
import { before, startFilms } from "./film-camera.mjs";
import { person } from "./person.mjs";
import { documentsFlow, specimen, startServer } from "./server.mjs";

const TRIES = 2;
const MOST_VOID = 2;

const films = startFilms(process.argv.slice(2));
const [server, browser] = await Promise.all([startServer(), startBrowser()]);
/** @type {Record<string, Record<string, number>>} */
const table = {};
/** @type {number[]} */
const seconds = [];

try {
  for (let number = 0; ; number += 1) {
    const film = await films.begin(number, 0);
    if (!film) break;
    const ends = await show(number, film.kind ? 1 : TRIES);
    const end = ends.at(-1)?.state ?? "none";
    const kind = film.kind ?? "honest";
    const ofKind = (table[kind] ??= {});
    ofKind[end] = (ofKind[end] ?? 0) + 1;
    if (end === "passed" && !film.kind) seconds.push(ends.at(-1)?.seconds ?? 0);
    console.log(JSON.stringify({ number, kind, person: film.person, ends }));
  }
  seconds.sort((a, b) => a - b);
  console.log(JSON.stringify({ table, secondsMedian: seconds[Math.floor(seconds.length / 2)] ?? null }, null, 1));
} finally {
  films.stop();
  await Promise.all([browser.close(), server.stop()]);
}

/** @typedef {{state: string, reason?: string, seconds: number}} End */

/** Shows a film until it passes or has no tries left. @param {number} number @param {number} tries @returns {Promise<End[]>} */
async function show(number, tries) {
  const { context, page, open } = await newVisitor(browser);
  /** @type {End[]} */
  const ends = [];
  await before(page, films, number, () => ends.length);
  let finish = () => {};
  const finished = /** @type {Promise<void>} */ (new Promise((resolve) => (finish = resolve)));
  let since = 0;
  page.on("response", async (response) => {
    if (!response.url().includes("/challenge")) return;
    const answer = await response.json().catch(() => null);
    if (answer?.state === "running") since ||= Date.now();
    // The same end again, to a repeated request, is no new one.
    if (since === 0 || !["passed", "review", "failed", "void"].includes(answer?.state)) return;
    const { state, reason } = answer;
    note({ state, reason, seconds: (Date.now() - since) / 1000 });
  });
  /** @param {End} end */
  function note(end) {
    ends.push(end);
    since = 0;
    const failed = ends.filter(({ state }) => state === "failed").length;
    if (end.state === "passed" || end.state === "review" || failed >= tries || ends.length - failed > MOST_VOID) finish();
  }
  await open(await server.link(await server.flow({ ...documentsFlow({ liveness: true }), settings: { reviewPolicy: "on_match" } }), `film-${number}`));
  const me = person(page, await specimen("pass-passport"), { byFile: true });
  const walk = (async () => {
    for (let known = 0; (await me.to("outcome", "end", "selfie-stopped")) === "selfie-stopped"; known = ends.length) {
      // The page itself ends a run when its connection is slow or broken.
      if (ends.length === known) note({ state: "void", reason: "page", seconds: 0 });
      await me.button("page.retry").click();
    }
  })();
  await Promise.race([finished, walk]);
  walk.catch(() => {});
  await context.close();
  return ends;
}
