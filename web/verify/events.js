// Records progress and abandonment: step, kind and time, never the applicant's data or pictures. Lost events
// are acceptable.
import * as api from "./api.js";
import { language } from "./i18n.js";

/** @typedef {"reached" | "completed" | "retried" | "dropped" | "failed" | "denied"} Kind */

const MAX_BATCH = 50;
const WAIT_MS = 600;

/** @type {{step: string, kind: Kind, ms: number, detail?: string}[]} */
let queue = [];
let isConnected = false;
/** @type {number | undefined} */
let timer;

/** @param {string} step @param {Kind} kind @param {string} [detail] one of a fixed list, never free text */
export function track(step, kind, detail) {
  queue.push({ step, kind, ms: Math.round(performance.now()), ...(detail ? { detail } : {}) });
  if (isConnected) timer ??= window.setTimeout(flush, WAIT_MS);
}

/** Enables sending, now that there is a session. */
export function connectEvents() {
  isConnected = true;
  flush();
}

/** Discards what was not sent. What follows belongs to the next session. */
export function disconnectEvents() {
  isConnected = false;
  queue = [];
}

/** @param {boolean} [leaving] */
export function flush(leaving = false) {
  clearTimeout(timer);
  timer = undefined;
  if (!isConnected || !queue.length) return;
  const own = queue;
  const batch = own.splice(0, MAX_BATCH);
  api.events({ events: batch, language: language() }, leaving).catch((error) => {
    // Only events that never reached the server are sent again.
    if (error.status === 0 && !leaving && queue === own && queue.length < MAX_BATCH) queue.unshift(...batch);
  });
}

addEventListener("pagehide", () => flush(true));
addEventListener("visibilitychange", () => document.visibilityState === "hidden" && flush(true));
