// Connects the hosted page to the merchant's page around it (modal) or to the return URL (redirect). The
// merchant's side is embed/bonafide.js. Messages are sent to the origin that the server allowed, never to
// "*", and accepted only from it.

/** @typedef {{returnUrl: string | null, origin: string | null}} Embed */
/** @typedef {"done" | "failed" | "cancelled"} Outcome */
/** @typedef {{sessionId: string | null, status: string | null}} Detail */

const KEY = "bonafide.embed";
/** @type {Embed} */
let embed = { returnUrl: null, origin: null };
/** @type {{outcome: Outcome, detail: Detail}} */
let last = { outcome: "cancelled", detail: { sessionId: null, status: null } };

/** Whether this page is inside a merchant's page. */
export const isEmbedded = () => window.parent !== window && embed.origin !== null;

/** Whether `leave` has a target. If not, the page says that the window can be closed. */
export const canLeave = () => isEmbedded() || embed.returnUrl !== null;

/**
 * Connects to the merchant's page. Call once, before the first screen.
 * @param {{state: string, embed: Embed}} boot the data that the server embedded; a reload has no token and uses what the first visit stored
 * @param {() => void} askToLeave shows the dialog whether to leave; on yes it calls `notify("cancelled", …)` and `leave()`
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
    // Otherwise the same key press would close the dialog.
    event.preventDefault();
    askToLeave();
  });
  post({ bonafide: "ready" });
}

/**
 * Reports the outcome to the merchant's page. This page stays open, so that the applicant can read it.
 * @param {Outcome} outcome
 * @param {Detail} detail
 */
export function notify(outcome, detail) {
  last = { outcome, detail };
  if (isEmbedded()) post({ bonafide: outcome, sessionId: detail.sessionId, status: detail.status });
}

/** Returns to the merchant: closes the modal or opens `returnUrl`. False if there is no target. */
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

// If the browser blocks storage, only the way back to the merchant is lost after a reload.
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
