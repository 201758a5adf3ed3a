/**
 * The course of a liveness challenge: it queues, films, sends the frames one request at a time, shows each instruction,
 * and continues after a break. It knows no page: camera, server and screen are given. The server alone measures and
 * decides.
 */

import { createPacker, MAX_FRAMES } from "./frames.js";

/** @typedef {"standard" | "assisted"} Route */
/** @typedef {{number: number, show: string, move: string | null, colour: string | null}} Instruction */
/**
 * @typedef {{state: "waiting" | "running" | "passed" | "review" | "failed" | "void", place?: number, waitSeconds?: number,
 *   nonce?: string, nextFrame?: number, instruction?: Instruction, hint?: string | null, progress?: number,
 *   reason?: string | null, triesLeft?: number, selfieFrame?: number | null}} Answer
 */
/** A picture of the camera. @typedef {{jpeg: Uint8Array, width: number, height: number, at: number}} Shot */

/**
 * @typedef {object} Course
 * @property {(route: Route, restart: boolean) => Promise<Answer>} open
 * @property {(body: Uint8Array<ArrayBuffer>) => Promise<Answer>} send
 * @property {(isSlow: boolean) => Promise<Shot | null>} film the camera's next picture, later if frames are answered slowly;
 *   null: it delivers none
 * @property {(answer: Answer) => void} show
 * @property {(isBroken: boolean) => void} onBreak the connection failed, or works again
 * @property {Map<number, Uint8Array>} stored the JPEGs by number, which outlive a break
 * @property {Route} route
 * @property {boolean} restart begins the next try after a failed one
 * @property {AbortSignal} signal
 * @property {{now: () => number, pause: (ms: number) => Promise<unknown>}} clock
 */

/**
 * How it ended. `broken`: there is no connection; `camera`: there are no pictures; `stopped`: by the signal.
 * @typedef {{end: "passed" | "review", jpeg: Uint8Array, triesLeft?: number} | {end: "failed" | "void", answer: Answer} | {end: "broken" | "camera" | "stopped"}} Ending
 */

/** Interval of the questions for the place in the queue. */
const QUEUE_MS = 2000;
/** For this long a failed request is repeated. */
const BROKEN_MS = 20_000;
/** Minimum interval between two changes of the screen's colour. Two changes are one flash, so WCAG 2.3.1's three flashes a second are not reached. */
const COLOUR_MS = 260;
/**
 * Answers that take longer than this count as slow, because of a busy server or a slow connection, until one takes less
 * than half the time.
 */
const SLOW_ANSWER_MS = 240;
/** After this many full buffers the connection is too slow. */
const MAX_SLOW = 3;
/** After this many new beginnings without an end the page gives up. */
const MAX_BREAKS = 8;
/** Frames that can become the selfie: more than two minutes. */
const MAX_STORED = 2000;

/** Ends the course from within a call. */
class Halt extends Error {
  /** @param {"broken" | "camera" | "stopped"} end */
  constructor(end) {
    super(end);
    this.end = end;
  }
}

/** @param {Course} course @returns {Promise<Ending>} rejects if the server refuses the session */
export async function runChallenge({ open, send, film, show, onBreak, stored, route, restart, signal, clock }) {
  let slow = 0;
  let breaks = 0;
  /** Number of the instruction on the screen. */
  let shown = 0;
  /** @type {string | null} */
  let colour = null;
  let colourAt = -Infinity;
  let showing = 0;
  /** Whether frames are answered slowly: then fewer are sent. */
  let isBusy = false;

  /**
   * Repeats a request while the connection or the server fails.
   * @param {() => Promise<Answer>} request @param {number} [busy] a status that also passes
   */
  async function call(request, busy) {
    const since = clock.now();
    for (let wait = 250; ; wait = Math.min(wait * 2, 4000)) {
      try {
        const answer = await request();
        if (signal.aborted) throw new Halt("stopped");
        onBreak(false);
        return answer;
      } catch (error) {
        const { status, retryAfter = 0 } = /** @type {{status?: number, retryAfter?: number}} */ (error);
        const passes = status === 0 || status === 429 || (busy && status === busy) || (status !== undefined && status >= 500);
        if (signal.aborted) throw new Halt("stopped");
        if (!passes) throw error;
        const left = since + BROKEN_MS - clock.now();
        if (left <= 0) throw new Halt("broken");
        onBreak(true);
        await clock.pause(Math.min(left, Math.max(wait, retryAfter * 1000)));
        if (signal.aborted) throw new Halt("stopped");
      }
    }
  }

  /** Starts or continues. A frame's request may still be at work when its time was over, which is a conflict. @param {boolean} isRestart */
  const opened = (isRestart) => call(() => open(route, isRestart), 409);

  /** Continues with a new nonce. @param {boolean} [isSlow] @returns {Promise<Answer>} */
  function continued(isSlow = false) {
    breaks += 1;
    if (isSlow) slow += 1;
    if (slow >= MAX_SLOW) return Promise.resolve({ state: "void", reason: "slow_connection" });
    if (breaks > MAX_BREAKS) return Promise.resolve({ state: "void", reason: "broken_off" });
    return opened(false);
  }

  /** Shows an instruction; a new colour only when the one before was long enough on the screen. @param {Answer} answer */
  function present(answer) {
    const mine = (showing += 1);
    const next = answer.instruction;
    if (!next) return;
    const apply = () => {
      if (mine !== showing || signal.aborted) return;
      if (next.colour !== colour) [colour, colourAt] = [next.colour, clock.now()];
      shown = next.number;
      show(answer);
    };
    const wait = next.colour === colour ? 0 : colourAt + COLOUR_MS - clock.now();
    if (wait > 0) clock.pause(wait).then(apply);
    else apply();
  }

  /** Films and sends frames until the nonce ends. @param {Answer} started @returns {Promise<Answer>} */
  async function filmed(started) {
    const packer = createPacker(started.nonce ?? "");
    let number = started.nextFrame ?? 0;
    /** @type {Shot | null} */
    let first = null;
    /** @type {import("./frames.js").Frame[]} */
    let waiting = [];
    let isOn = true;
    let isFull = false;
    let isTurned = false;
    let isDark = false;
    let wake = () => {};
    const aborted = () => wake();
    signal.addEventListener("abort", aborted);

    const filming = async () => {
      while (isOn && !signal.aborted) {
        const shot = await film(isBusy).catch(() => null);
        if (!isOn || signal.aborted) return;
        first ??= shot;
        isDark = shot === null;
        // All frames of a nonce have one size.
        isTurned = shot !== null && first !== null && (shot.width !== first.width || shot.height !== first.height);
        isFull = waiting.length >= MAX_FRAMES;
        if (shot !== null && first !== null && !isTurned && !isFull) {
          waiting.push({ number, captured: Math.max(0, Math.round(shot.at - first.at)), instruction: shown, jpeg: shot.jpeg });
          stored.set(number, shot.jpeg);
          if (stored.size > MAX_STORED) for (const [oldest] of stored) if (stored.delete(oldest)) break;
          number += 1;
        }
        wake();
        // Frames after a missing one would not fit, so filming ends with the nonce.
        if (isDark || isTurned || isFull) return;
      }
    };

    try {
      present(started);
      void filming();
      for (;;) {
        if (!waiting.length && !isDark && !isTurned && !signal.aborted) await new Promise((resolve) => (wake = () => resolve(undefined)));
        if (signal.aborted) throw new Halt("stopped");
        if (isDark) throw new Halt("camera");
        if (isTurned) return await continued();
        const batch = waiting;
        waiting = [];
        const body = await packer.pack(batch);
        const sent = clock.now();
        const answer = await call(() => send(body));
        isBusy = clock.now() - sent > (isBusy ? SLOW_ANSWER_MS / 2 : SLOW_ANSWER_MS);
        if (answer.state !== "running" || answer.nonce !== started.nonce) return answer;
        if (isFull) return await continued(true);
        present(answer);
      }
    } catch (error) {
      const { status } = /** @type {{status?: number}} */ (error);
      // The server could not use the frames, for example after a break.
      if (status === 409 || status === 400) return await continued();
      throw error;
    } finally {
      isOn = false;
      signal.removeEventListener("abort", aborted);
    }
  }

  try {
    let isRepeated = false;
    let answer = await opened(restart);
    for (;;) {
      if (answer.state === "waiting") {
        show(answer);
        await clock.pause(QUEUE_MS);
        if (signal.aborted) throw new Halt("stopped");
        answer = await opened(false);
      } else if (answer.state === "running") {
        answer = await filmed(answer);
      } else if (answer.state === "failed" || answer.state === "void") {
        return { end: answer.state, answer };
      } else {
        showing += 1;
        const jpeg = stored.get(answer.selfieFrame ?? -1);
        if (jpeg) return { end: answer.state, jpeg, triesLeft: answer.triesLeft };
        // It passed before this page was loaded, so its frames are lost.
        if (isRepeated) return { end: "void", answer: { state: "void", reason: "broken_off" } };
        isRepeated = true;
        answer = await opened(true);
      }
    }
  } catch (error) {
    if (error instanceof Halt) return { end: error.end };
    throw error;
  } finally {
    showing += 1;
  }
}
