// The liveness challenge without a page: the bytes of its frames, and its course with a given camera, clock and server.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { createPacker, fromBase64Url, MAX_FRAMES } from "../verify/capture/frames.js";
import { runChallenge } from "../verify/capture/challenge.js";
import { createSchedule, frameSize } from "../verify/capture/film.js";
import { readBody } from "./challenge-server.mjs";

/** @typedef {import("../verify/capture/challenge.js").Answer} Answer */

const NONCE = Buffer.alloc(16, 7).toString("base64url");
const OTHER = Buffer.from("fb ff fe 00 01 02 03 04 05 06 07 08 09 0a 0b 0c".replaceAll(" ", ""), "hex").toString("base64url");
const sha256 = (/** @type {Uint8Array[]} */ ...parts) => parts.reduce((hash, part) => hash.update(part), createHash("sha256")).digest();

test("a nonce in base64url", () => {
  assert.match(OTHER, /[-_]/);
  assert.deepEqual(Buffer.from(fromBase64Url(OTHER)), Buffer.from(OTHER, "base64url"));
  assert.throws(() => createPacker("AAAA"));
});

test("the chain goes over all bodies of a nonce", async () => {
  const frames = [0, 1, 2, 3, 4].map((i) => ({ number: 4_000_000_000 + i, captured: 70 * i, instruction: 65_530 + i, jpeg: new Uint8Array(i * 5000).fill(i) }));
  const packer = createPacker(NONCE);
  const bodies = [await packer.pack(frames.slice(0, 2)), await packer.pack(frames.slice(2))].map((body) => Buffer.from(body));
  /** @type {Buffer} */
  let hash = sha256(Buffer.alloc(16, 7));
  const chains = [];
  for (const { number, captured, instruction, jpeg } of frames) {
    const head = Buffer.alloc(12);
    head.writeUInt32BE(number, 0);
    head.writeUInt32BE(captured, 4);
    head.writeUInt16BE(instruction, 8);
    head.writeUInt16BE(jpeg.length, 10);
    hash = sha256(hash, head, jpeg);
    chains.push(hash);
  }
  assert.deepEqual(bodies.map((body) => body.subarray(16, 48)), [chains[1], chains[4]]);
  assert.deepEqual(bodies.flatMap((body) => readBody(body).frames.map(({ number }) => number)), frames.map(({ number }) => number));
  assert.equal(bodies[1]?.length, 48 + 3 * 12 + 45_000);
});

test("sizes of the frames", () => {
  /** @type {[[number, number], [number, number]][]} */
  const sizes = [
    [[1080, 1920], [360, 640]],
    [[1920, 1080], [480, 270]],
    [[640, 480], [480, 360]],
    [[320, 240], [320, 240]],
    [[240, 320], [320, 427]],
    [[720, 720], [360, 360]],
    [[1000, 2400], [355, 852]],
    [[500, 2000], [320, 854]],
  ];
  for (const [[width, height], wanted] of sizes) {
    const found = frameSize(width, height);
    assert.deepEqual([found.width, found.height], wanted, `${width}×${height}`);
    assert.ok(found.top >= 0 && found.top + found.part <= height + 1);
  }
});

test("more than ten frames a second of any camera, and fewer if they are answered slowly", () => {
  /** Frames of ten seconds of a camera, whose every twentieth picture is held up. @param {number} rate pictures a second @param {boolean} isSlow */
  const filmed = (rate, isSlow) => {
    const schedule = createSchedule();
    const gap = 1000 / rate;
    let frames = 0;
    for (let picture = 0; picture * gap < 10_000; picture += 1) {
      const now = picture * gap + (picture % 20 === 19 ? 0.7 * gap : 0);
      if (!schedule.isDue(now, gap)) continue;
      schedule.taken(now, isSlow);
      frames += 1;
    }
    return frames / 10;
  };
  for (const rate of [15, 20, 24, 25, 30, 60]) {
    const [usual, slow] = [filmed(rate, false), filmed(rate, true)];
    assert.ok(usual >= 14 && usual <= 15.2, `${rate}: ${usual}`);
    assert.ok(slow >= 10.5 && slow <= 11.2, `${rate}: ${slow}`);
  }
  assert.equal(filmed(10, true), 10);
});

test("a pause is not made up for", () => {
  const schedule = createSchedule();
  schedule.taken(0, false);
  schedule.taken(5000, false);
  assert.ok(schedule.wait(5000) >= 30);
});

/**
 * A course with a clock that only its pauses move.
 * @param {(call: {path: "open" | "send", route?: string, restart?: boolean, body?: ReturnType<typeof readBody>, count: number}) => Partial<Answer> | Error} answer
 * @param {{size?: (n: number) => [number, number] | null, frames?: number, signal?: AbortSignal}} [options]
 */
async function run(answer, { size = () => [360, 640], signal = new AbortController().signal } = {}) {
  let time = 0;
  let filmed = 0;
  let count = 0;
  const log = /** @type {string[]} */ ([]);
  const shown = /** @type {{at: number, colour: string | null | undefined, number: number | undefined, state: string}[]} */ ([]);
  const respond = (/** @type {any} */ call) => {
    const result = answer({ ...call, count: count++ });
    if (result instanceof Error) throw result;
    return /** @type {Answer} */ (result);
  };
  const ending = await runChallenge({
    open: async (route, restart) => {
      log.push(`open ${route} ${restart}`);
      return respond({ path: "open", route, restart });
    },
    send: async (body) => {
      await new Promise((resolve) => setImmediate(resolve));
      const read = readBody(Buffer.from(body));
      log.push(`send ${read.frames.length}`);
      return respond({ path: "send", body: read });
    },
    film: async () => {
      // Slower than a hash, so that the frames of these courses are never too many.
      await new Promise((resolve) => setTimeout(resolve, 3));
      const given = size(filmed);
      if (!given) return null;
      filmed += 1;
      time += 70;
      return { jpeg: new Uint8Array([filmed]), width: given[0], height: given[1], at: time };
    },
    show: ({ state, instruction }) => shown.push({ at: time, state, colour: instruction?.colour, number: instruction?.number }),
    onBreak: (isBroken) => isBroken && log.push("broken"),
    stored: new Map(),
    route: "standard",
    restart: false,
    signal,
    clock: {
      now: () => time,
      pause: async (ms) => {
        await new Promise((resolve) => setImmediate(resolve));
        time += ms;
      },
    },
  });
  return { ending, log, shown };
}

/** What a course needs beside server, camera and clock, if nobody looks at it. @returns {Pick<import("../verify/capture/challenge.js").Course, "show" | "onBreak" | "stored" | "route" | "restart" | "signal">} */
const unattended = () => ({ show: () => {}, onBreak: () => {}, stored: new Map(), route: "standard", restart: false, signal: new AbortController().signal });

/** @param {number} number @param {object} [more] @returns {Partial<Answer>} */
const running = (number, /** @type {{nonce?: string, nextFrame?: number, colour?: string | null}} */ { nonce = NONCE, nextFrame = 0, colour = null } = {}) =>
  ({ state: "running", nonce, nextFrame, instruction: { number, show: colour ? "flash" : "look", move: null, colour }, hint: null, progress: 0 });
/** @param {number} status */
const refusal = (status) => Object.assign(new Error(), { status, retryAfter: 0 });

test("a queue, frames and the selfie among them", async () => {
  const numbers = /** @type {number[]} */ ([]);
  const { ending, log } = await run(({ path, body, count }) => {
    if (count < 2) return { state: "waiting", place: 2 - count, waitSeconds: 10 };
    if (path === "open") return running(1, { nextFrame: 5 });
    const got = body?.frames.map(({ number }) => number) ?? [];
    numbers.push(...got);
    assert.ok(body?.frames.every(({ instruction }) => instruction <= numbers.length));
    return numbers.length < 6 ? running(numbers.length) : { state: "passed", selfieFrame: 7 };
  });
  assert.deepEqual(numbers.slice(0, 6), [5, 6, 7, 8, 9, 10]);
  assert.deepEqual(log.slice(0, 3), ["open standard false", "open standard false", "open standard false"]);
  assert.ok(ending.end === "passed" && ending.jpeg[0] === 3);
});

test("colours make fewer than two flashes a second, and frames name the instruction that is shown", async () => {
  const colours = ["#ff2020", "#20ff20", "#2020ff"];
  let last = 0;
  const { shown } = await run(({ path, body, count }) => {
    if (path === "open") return running(0);
    for (const { instruction } of body?.frames ?? []) {
      assert.ok(instruction >= last);
      last = instruction;
    }
    return count < 60 ? running(count, { colour: colours[count % 3] }) : { state: "void", reason: "busy" };
  });
  const changes = shown.filter(({ colour }, i) => colour !== shown[i - 1]?.colour).slice(1);
  assert.ok(changes.length > 3);
  // A flash is a pair of changes (WCAG 2.3.1, which allows three a second).
  changes.forEach(({ at }, i) => assert.ok(i === 0 || at - (changes[i - 1]?.at ?? 0) > 250));
});

test("the same body again after a broken connection", async () => {
  const chains = /** @type {string[]} */ ([]);
  const { ending, log } = await run(({ path, body, count }) => {
    if (path === "open") return running(1);
    chains.push(body?.chain.toString("hex") ?? "");
    if (count === 1) return refusal(0);
    if (count === 2) return refusal(503);
    return { state: "review", selfieFrame: 0 };
  });
  assert.deepEqual(chains, [chains[0], chains[0], chains[0]]);
  assert.equal(log.filter((line) => line === "broken").length, 2);
  assert.equal(ending.end, "review");
});

test("no connection for 20 s ends it; other refusals are the page's", async () => {
  assert.equal((await run(({ path }) => (path === "open" ? running(1) : refusal(0)))).ending.end, "broken");
  await assert.rejects(run(() => refusal(401)));
});

for (const status of [409, 400]) {
  test(`${status}: a new nonce, and the numbers that the server expects`, async () => {
    const { ending, log } = await run(({ path, body, count }) => {
      if (path === "open") return running(1, count === 0 ? {} : { nonce: OTHER, nextFrame: 40 });
      if (count === 1) return refusal(status);
      assert.equal(body?.nonce, OTHER);
      assert.equal(body?.frames[0]?.number, 40);
      assert.equal(body?.frames[0]?.captured, 0);
      return { state: "passed", selfieFrame: 40 };
    });
    assert.equal(ending.end, "passed");
    assert.equal(log.filter((line) => line.startsWith("open")).length, 2);
  });
}

test("a conflict at the beginning passes", async () => {
  const { ending } = await run(({ path, count }) => (count < 2 ? refusal(409) : path === "open" ? running(1) : { state: "passed", selfieFrame: 0 }));
  assert.equal(ending.end, "passed");
});

test("without an end of breaks it stops", async () => {
  const { ending } = await run(({ path }) => (path === "open" ? running(1) : refusal(409)));
  assert.ok(ending.end === "void" && ending.answer.reason === "broken_off");
});

test("another size needs another nonce, and a camera without pictures ends it", async () => {
  const { ending, log } = await run(({ path }) => (path === "open" ? running(1) : running(1)), { size: (n) => (n < 3 ? [360, 640] : n < 6 ? [480, 270] : null) });
  assert.equal(ending.end, "camera");
  assert.equal(log.filter((line) => line.startsWith("open")).length, 2);
});

test("a selfie whose frame this page no longer has needs another run", async () => {
  const { ending, log } = await run(({ path, count }) => (count === 0 ? { state: "passed", selfieFrame: 3 } : path === "open" ? running(1) : { state: "passed", selfieFrame: 0 }));
  assert.equal(ending.end, "passed");
  assert.deepEqual(log.slice(0, 2), ["open standard false", "open standard true"]);
});

test("at most 30 frames wait; three times more is a slow connection", async () => {
  let most = 0;
  const ending = await runChallenge({
    open: async () => /** @type {Answer} */ (running(1)),
    send: async (body) => {
      most = Math.max(most, readBody(Buffer.from(body)).frames.length);
      for (let n = 0; n < 200; n += 1) await new Promise((resolve) => setImmediate(resolve));
      return /** @type {Answer} */ (running(1));
    },
    film: async () => {
      await new Promise((resolve) => setImmediate(resolve));
      return { jpeg: new Uint8Array(1), width: 360, height: 640, at: 0 };
    },
    ...unattended(),
    clock: { now: () => 0, pause: async () => {} },
  });
  assert.ok(most <= MAX_FRAMES);
  assert.ok(ending.end === "void" && ending.answer.reason === "slow_connection");
});

test("fewer frames while they are answered slowly", async () => {
  let time = 0;
  let bodies = 0;
  const took = [100, 300, 200, 100, 100];
  const slow = /** @type {Map<number, boolean>} */ (new Map());
  await runChallenge({
    open: async () => /** @type {Answer} */ (running(1)),
    send: async () => {
      // After each answer, at least one frame is filmed.
      while (!slow.has(bodies)) await new Promise((resolve) => setImmediate(resolve));
      time += took[bodies] ?? 0;
      bodies += 1;
      return /** @type {Answer} */ (bodies === took.length ? { state: "passed", selfieFrame: 0 } : running(1));
    },
    film: async (isSlow) => {
      slow.set(bodies, isSlow);
      await new Promise((resolve) => setTimeout(resolve, 3));
      return { jpeg: new Uint8Array(1), width: 360, height: 640, at: time };
    },
    ...unattended(),
    clock: { now: () => time, pause: async () => {} },
  });
  assert.deepEqual([1, 2, 3, 4].map((body) => slow.get(body)), [false, true, true, false]);
});

test("it stops by the signal", async () => {
  const stop = new AbortController();
  const { ending } = await run(({ path, count }) => {
    if (count === 4) stop.abort();
    return path === "open" ? running(1) : running(1);
  }, { signal: stop.signal });
  assert.equal(ending.end, "stopped");
});
