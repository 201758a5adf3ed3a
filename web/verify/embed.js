// Connects the hosted page to the merchant's page around it (modal) or to the return URL (redirect). The
// merchant's side is embed/bonafide.js. Messages are sent to the origin that the server allowed, never to
// "*", and accepted only from it.

/** @typedef {{returnUrl: string | null, origin: string | null, refusedReturn?: string | null}} Embed refusedReturn: the origin of a return URL that the server refused */
/** @typedef {"done" | "failed" | "cancelled"} Outcome */
/** @typedef {{sessionId: string | null, status: string | null}} Detail */

/** The codes and messages for developers of the server's words about a visit that cannot continue in this window. @type {Record<string, [string, string]>} */
const ERRORS = {
  invalid_token: ["link_invalid", "The link is invalid. Pass the url as your server received it; its Flow and its merchant must still exist"],
  token_used: ["link_used", "The link was used before. Request a new link for each visit"],
  token_expired: ["link_expired", "The link or the invitation has expired. Request a link just before you open it"],
  invitation_finished: ["invitation_finished", "The invitation already led to an outcome. Query the result from your server"],
  invitation_revoked: ["invitation_revoked", "The invitation was revoked. Create a new one"],
  unavailable: ["unavailable", "The server failed or could not be reached. Try again later"],
};

const KEY = "bonafide.embed";
/** @type {Embed} */
let embed = { returnUrl: null, origin: null };
/** @type {{outcome: Outcome, detail: Detail}} */
let last = { outcome: "cancelled", detail: { sessionId: null, status: null } };
let hasFailed = false;

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
  const refused = boot.embed.refusedReturn;
  if (refused) {
    const fix = "Add it in the portal under Company > Branding, or with `bonafide merchant set`, as allowedOrigins";
    console.error(`Bonafide: returnUrl was ignored. ${refused === "null" ? "It is not a complete https:// URL" : `${refused} is not among the account's allowed origins. ${fix}`}`);
  }
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
  // `close`: the page has a close button of its own.
  post({ bonafide: "ready", close: true });
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

/** Reports a new screen to the merchant's page. @param {string} step @param {{n: number, total: number} | null} position in the progress bar */
export function notifyStep(step, position) {
  if (isEmbedded()) post({ bonafide: "step", step, n: position?.n ?? null, total: position?.total ?? null });
}

/** Reports, once, that this visit cannot continue in this window. @param {string} word the server's; others are not reported */
export function notifyError(word) {
  const error = ERRORS[word];
  if (!error || hasFailed || !isEmbedded()) return;
  hasFailed = true;
  post({ bonafide: "error", code: error[0], message: error[1] });
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
