// The merchant's page around this one (modal), or the address to go back to (redirect). Its other half is embed/bonafide.js.
// Messages go to the origin that the server allowed, never to "*", and are believed from there only.

/** @typedef {{returnUrl: string | null, origin: string | null}} Embed */
/** @typedef {"done" | "failed" | "cancelled"} Outcome */
/** @typedef {{sessionId: string | null, status: string | null}} Detail */

const KEY = "bonafide.embed";
/** @type {Embed} */
let embed = { returnUrl: null, origin: null };
/** @type {{outcome: Outcome, detail: Detail}} */
let last = { outcome: "cancelled", detail: { sessionId: null, status: null } };

/** Whether a merchant's page holds this one. */
export const isEmbedded = () => window.parent !== window && embed.origin !== null;

/** Whether `leave` leads anywhere; without it the page says that the window may be closed. */
export const canLeave = () => isEmbedded() || embed.returnUrl !== null;

/**
 * Connects to the merchant's page. Call once, before the first screen.
 * @param {{state: string, embed: Embed}} boot what the server inlined; a reload has no token and finds what the first visit kept
 * @param {() => void} askToLeave shows the page's own question whether to leave; a yes calls `notify("cancelled", …)` and `leave()`
 */
export function connect(boot, askToLeave) {
  embed = boot.state === "no_token" ? recall() : boot.embed;
  keep(embed);
  if (!isEmbedded()) return;
  addEventListener("message", ({ data, origin, source }) => {
    if (origin !== embed.origin || source !== window.parent || data?.bonafide !== "ask") return;
    post({ bonafide: "asking" });
    askToLeave();
  });
  addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || event.defaultPrevented || document.querySelector("dialog[open]")) return;
    // Or the same key would close the question.
    event.preventDefault();
    askToLeave();
  });
  post({ bonafide: "ready" });
}

/**
 * Tells the merchant's page how it ended. The page stays open, so that the person can read the outcome.
 * @param {Outcome} outcome
 * @param {Detail} detail
 */
export function notify(outcome, detail) {
  last = { outcome, detail };
  if (isEmbedded()) post({ bonafide: outcome, sessionId: detail.sessionId, status: detail.status });
}

/** Goes back to the merchant: closes the modal, or visits `returnUrl`. False when there is nowhere to go. */
export function leave() {
  if (isEmbedded()) {
    post({ bonafide: "close" });
    return true;
  }
  if (embed.returnUrl === null) return false;
  const back = new URL(embed.returnUrl);
  back.searchParams.set("bonafide", last.outcome);
  if (last.detail.sessionId) back.searchParams.set("sessionId", last.detail.sessionId);
  location.assign(back.href);
  return true;
}

/** @param {object} message */
function post(message) {
  if (embed.origin !== null) window.parent.postMessage(message, embed.origin);
}

// A browser that blocks storage only loses the way back after a reload.
/** @param {Embed} value */
function keep(value) {
  try {
    sessionStorage.setItem(KEY, JSON.stringify(value));
  } catch {}
}

/** @returns {Embed} */
function recall() {
  try {
    return { returnUrl: null, origin: null, ...JSON.parse(sessionStorage.getItem(KEY) ?? "{}") };
  } catch {
    return { returnUrl: null, origin: null };
  }
}
