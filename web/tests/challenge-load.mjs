/**
 * Measures how many liveness challenges a server can run at once. The given number of people turn, nod and reflect the
 * colours at the same time, with the page's own code but without a browser. Prints how the runs ended, their length,
 * and the processor time of the server and its engine workers. The frames are drawn before the clock starts.
 *
 *   BONAFIDE_PROGRAM=target/release/bonafide node web/tests/challenge-load.mjs 1 4 8 12
 */

import { readdir, readFile } from "node:fs/promises";
import { setTimeout as pause } from "node:timers/promises";
import { runChallenge } from "../verify/capture/challenge.js";
import { createSchedule } from "../verify/capture/film.js";
import { MAX_JPEG_BYTES } from "../verify/capture/frames.js";
import { startBrowser } from "./browser.mjs";
import { documentsFlow, startServer } from "./server.mjs";
import { CHALLENGE_COLOURS, GOALS, paintHead, REACTION_MS, SPEED, views } from "./turning-head.mjs";

/** Pictures of each view, so that no two frames in a row are the same. */
const VARIANTS = 4;

/** @typedef {{axis: string, degrees: number, colour: string, jpegs: Uint8Array[]}} Drawn */

/** @returns {Promise<Drawn[]>} */
async function draw() {
  const browser = await startBrowser();
  const page = await browser.newPage();
  await page.addScriptTag({ content: `globalThis.paintHead = ${paintHead}` });
  /** @type {Drawn[]} */
  const drawn = [];
  for (const { axis, degrees, url } of await views()) {
    for (const colour of axis === "yaw" && degrees === 0 ? ["", ...CHALLENGE_COLOURS] : [""]) {
      const jpegs = await page.evaluate(drawOne, { url, colour, variants: VARIANTS, most: MAX_JPEG_BYTES });
      drawn.push({ axis, degrees, colour, jpegs: jpegs.map((text) => new Uint8Array(Buffer.from(text, "base64"))) });
    }
  }
  await browser.close();
  return drawn;
}

/** Runs in a page. @param {{url: string, colour: string, variants: number, most: number}} wanted */
async function drawOne({ url, colour, variants, most }) {
  const [context, light] = [0, 0].map(() => {
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [360, 480];
    return /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  });
  if (!context || !light) throw new Error("no canvas");
  const image = new Image();
  image.src = url;
  await image.decode();
  const paint = /** @type {{paintHead: typeof paintHead}} */ (/** @type {unknown} */ (globalThis)).paintHead;
  return Array.from({ length: variants }, (_, variant) => {
    const shift = /** @type {[number, number]} */ ([1.2 * Math.sin(variant * 1.6), 0.9 * Math.cos(variant * 1.6)]);
    paint(context, light, { image, shift, colour, noise: true });
    for (let quality = 0.7; ; quality *= 0.85) {
      const text = context.canvas.toDataURL("image/jpeg", quality).split(",")[1] ?? "";
      if ((text.length * 3) / 4 <= most) return text;
    }
  });
}

/** @param {import("./server.mjs").Server} server @param {string} token */
function session(server, token) {
  /** @param {string} path @param {object | Uint8Array<ArrayBuffer>} body */
  return async (path, body) => {
    const isBytes = body instanceof Uint8Array;
    const answer = await fetch(`${server.baseUrl}/v2/sdk/session/${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": isBytes ? "application/octet-stream" : "application/json" },
      body: isBytes ? body : JSON.stringify(body),
    });
    if (!answer.ok) throw Object.assign(new Error(await answer.text()), { status: answer.status, retryAfter: Number(answer.headers.get("retry-after") ?? 0) });
    return answer.json();
  };
}

/** One person, from the queue to the end. @param {import("./server.mjs").Server} server @param {Drawn[]} drawn @param {number} number */
async function attempt(server, drawn, number) {
  const link = await server.link(await server.flow(documentsFlow({ liveness: true })), `load-${number}-${Date.now()}`);
  const [, token] = link.split("token=");
  const exchanged = await session(server, "")("exchange", { token });
  const send = session(server, exchanged.access_token);
  const now = () => performance.now();
  let [axis, angle, goal, colour, last, frame] = ["yaw", 0, 0, "", now(), 0];
  let next = /** @type {[string, number]} */ (["yaw", 0]);
  let moveAt = Infinity;
  let asked = "";
  const schedule = createSchedule();
  let since = 0;

  /** @param {boolean} isSlow @returns {Promise<import("../verify/capture/challenge.js").Shot>} */
  async function film(isSlow) {
    await pause(schedule.wait(now()));
    schedule.taken(now(), isSlow);
    const passed = (now() - last) / 1000;
    last = now();
    if (last >= moveAt) {
      if (next[0] !== axis && Math.abs(angle) > 1) goal = 0;
      else [axis, goal, moveAt] = [...next, Infinity];
    }
    angle += Math.max(-SPEED * passed, Math.min(SPEED * passed, goal - angle));
    const lit = Math.abs(angle) < 1 ? colour : "";
    const along = lit ? "yaw" : axis;
    const view = drawn
      .filter((one) => one.axis === along && one.colour === lit)
      .reduce((best, one) => (Math.abs(one.degrees - angle) < Math.abs(best.degrees - angle) ? one : best));
    frame += 1;
    return { jpeg: view.jpegs[frame % VARIANTS] ?? new Uint8Array(), width: 360, height: 480, at: last };
  }

  const ending = await runChallenge({
    open: (route, restart) => send("challenge", { route, restart }),
    send: (body) => send("challenge/frames", body),
    film,
    show({ state, instruction }) {
      if (state === "running") since ||= now();
      colour = instruction?.colour ?? "";
      const move = instruction?.move ?? "";
      if (move === asked) return;
      asked = move;
      next = GOALS[move] ?? [axis, 0];
      moveAt = now() + REACTION_MS;
    },
    onBreak() {},
    stored: new Map(),
    route: "standard",
    restart: false,
    signal: new AbortController().signal,
    clock: { now, pause },
  });
  const reason = "answer" in ending ? `:${ending.answer.reason}` : "";
  return { end: `${ending.end}${reason}`, seconds: (now() - since) / 1000 };
}

/** Seconds of processor time of a process and of all that it started. @param {number} root */
async function processorTime(root) {
  const all = await Promise.all(
    (await readdir("/proc")).filter((name) => /^\d+$/.test(name)).map((name) => readFile(`/proc/${name}/stat`, "utf8").catch(() => "")),
  );
  const processes = all.filter(Boolean).map((text) => {
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ").map(Number);
    return { id: Number.parseInt(text, 10), parent: fields[1] ?? 0, ticks: [11, 12, 13, 14].reduce((sum, field) => sum + (fields[field] ?? 0), 0) };
  });
  const tree = new Set([root]);
  for (let size = 0; size !== tree.size; ) {
    size = tree.size;
    for (const { id, parent } of processes) if (tree.has(parent)) tree.add(id);
  }
  return processes.filter(({ id }) => tree.has(id)).reduce((sum, { ticks }) => sum + ticks, 0) / 100;
}

const counts = process.argv.slice(2).map(Number);
const drawn = await draw();
const server = await startServer();
try {
  // Starts the engine workers.
  await attempt(server, drawn, 0);
  for (const count of counts.length ? counts : [1, 4, 8]) {
    const [before, since] = [await processorTime(server.pid), performance.now()];
    const runs = await Promise.all(Array.from({ length: count }, (_, number) => attempt(server, drawn, number)));
    const wall = (performance.now() - since) / 1000;
    const used = (await processorTime(server.pid)) - before;
    /** @type {Record<string, number>} */
    const ends = {};
    for (const { end } of runs) ends[end] = (ends[end] ?? 0) + 1;
    const seconds = runs.map((run) => run.seconds).sort((a, b) => a - b);
    console.log(JSON.stringify({ people: count, ends, secondsMedian: +(seconds[count >> 1] ?? 0).toFixed(1), wall: +wall.toFixed(1), processorSeconds: +used.toFixed(1) }));
  }
} finally {
  await server.stop();
}
