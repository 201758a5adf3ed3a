// The state of the current verification: the access token, the session's data, the applicant's input, and
// the next screen.
import * as api from "./api.js";
import { boot, tokens } from "./boot.js";
import { announce, dismiss, dismissAfter, h, notice } from "./dom.js";
import { notify } from "./embed.js";
import { connectEvents, disconnectEvents, track } from "./events.js";
import * as flow from "./flow.js";
import { t } from "./i18n.js";
import * as router from "./router.js";
import * as store from "./store.js";
import * as tabs from "./tabs.js";

const WARNING_MS = 2 * 60_000;
/** For how long the warning is in view. */
const WARNING_SHOWN_MS = 12_000;
const SAVE_MS = 250;

/** @type {store.Access | null} */
let access = null;
/** @type {flow.Facts | null} */
let known = null;
/** @type {flow.Work} */
let work = flow.newWork();
let isSending = false;
/** @type {boolean} */
let isOver = false;

/** The session's facts. Call it only on screens that have a session. */
export function facts() {
  if (!known) throw new Error("no session");
  return known;
}
export const currentWork = () => work;
export const sessionAccess = () => access;
export const hasSession = () => known !== null;
/** Whether the session can still lead to an outcome here. */
export const isRunning = () => known !== null && !isOver;
/** @param {boolean} value */
export const setSending = (value) => void (isSending = value);

/** The merchant's branding, if known: before, during and after the session. @returns {import("./boot.js").Merchant | null} */
export function brand() {
  const { preview } = boot;
  const { ended, invitation, merchant: kept } = store.tab();
  return known?.current.merchant ?? (preview ? { ...preview, name: preview.merchantName } : (boot.merchant ?? ended?.merchant ?? invitation?.merchant ?? kept ?? null));
}
export const merchant = () => brand()?.name ?? t("page.merchant");

/** Whether this is the second device, on which the code of another screen was opened. The person returns to that screen. */
export function isHandedOff() {
  const { handoff, access: kept, ended, claimed } = store.tab();
  return Boolean(tokens.handoff || handoff || claimed || known?.claimed || kept?.claimed || ended?.claimed);
}

/** Whether this is a desktop (a mouse and a large screen), whose user probably also has a phone. */
const isDesktop = () => matchMedia("(hover: hover) and (pointer: fine)").matches && screen.width >= 900;

/** @type {number | undefined} */
let saving;

/** Stores the applicant's input after a short delay, so that typing stays fast. */
export function save() {
  clearTimeout(saving);
  saving = window.setTimeout(saveNow, SAVE_MS);
}

export async function saveNow() {
  clearTimeout(saving);
  if (access && !isOver) await store.saveSession(access.sessionId, work);
}

/** Begins a session with the response of an exchange or a claim. @param {api.Exchange} exchange @param {boolean} claimed */
export async function enter(exchange, claimed) {
  access = {
    token: exchange.access_token,
    sessionId: exchange.session_id,
    deadline: Date.now() + exchange.expires_in * 1000,
    claimed,
    number: exchange.number ?? null,
  };
  const { invitation, link = tokens.link } = store.tab();
  const used = invitation?.token ?? link;
  if (used && !claimed) await store.sealAccess(used, access).catch(() => {});
  store.setTab(invitation ? { invitation, access } : { access });
  await resume(access);
}

/** Continues a session for which this browser has an access token. @param {store.Access} given */
export async function resume(given) {
  access = given;
  api.useToken(given.token);
  const [current, documents] = await Promise.all([api.current(), api.documents()]);
  known = { current, ...documents, desktop: isDesktop(), claimed: given.claimed };
  work = { ...flow.newWork(), ...(await store.loadSession(given.sessionId)) };
  work.consented = current.consent?.accepted === true;
  given.deadline = deadlineOf(current) || given.deadline;
  store.setTab({ ...store.tab(), access: given, merchant: current.merchant });
  isOver = false;
  drawTop();
  watchTime(given.deadline);
  tabs.hold(given.sessionId, () => router.show("elsewhere", { replace: true }).catch(router.showFailure));
  connectEvents();
}

/** The end of the session by this device's clock. @param {api.Current} current */
function deadlineOf(current) {
  const { expiresAt } = current;
  const time = typeof expiresAt === "number" ? (expiresAt < 1e12 ? expiresAt * 1000 : expiresAt) : Date.parse(expiresAt);
  return Number.isNaN(time) ? 0 : time + /** @type {any} */ (current).skew;
}

/** Loads the session's state from the server again. @returns {Promise<api.Current>} */
export async function refresh() {
  const current = await api.current();
  if (known) known.current = current;
  const deadline = deadlineOf(current);
  // The server extends a session that waits in a queue.
  if (access && !isOver && deadline > access.deadline + 1000) {
    access.deadline = deadline;
    store.setTab({ ...store.tab(), access });
    watchTime(deadline);
  }
  return current;
}

/** Whether an attempt has an outcome that the applicant has not begun to correct. */
export function openOutcome() {
  const { outcome, attempts } = facts().current;
  return outcome && (outcome.status !== "failed" || attempts > work.seen) ? outcome : null;
}

/** Whether the session is over, and has no outcome to show or its invitation opens another one. */
export const isSpent = () => {
  const { status, canStartAgain } = facts().current;
  return status !== "pending" && (canStartAgain || !openOutcome());
};

/** Shows the next screen. @param {{replace?: boolean, opens?: boolean}} [options] opens: the camera, if a selfie is next */
export async function next(options) {
  await saveNow();
  if (isSpent()) return finish("expired");
  if (openOutcome()) return router.show("outcome", { replace: true });
  if (access?.number && access.claimed) return router.show("number", { replace: true });
  const id = flow.nextStep(facts(), work);
  if (id === "front" && !work.type) {
    const only = flow.onlyChoice(facts(), work);
    if (only) Object.assign(work, only);
  }
  const params = options?.opens && id === "selfie" ? { opens: true } : null;
  return router.show(id, { replace: id === "upload" || options?.replace === true, params });
}

/** Records that the number of a claimed device was confirmed. */
export function confirmNumber() {
  if (!access) return;
  access.number = null;
  store.setTab({ ...store.tab(), access });
}

/** Forgets the session that ended, so that the tab's invitation can open another one. */
export function reset() {
  const { invitation } = store.tab();
  if (invitation) store.setTab({ invitation });
  access = known = null;
  work = flow.newWork();
  isOver = false;
  disconnectEvents();
}

/**
 * Deletes all data of the session on this device. After the time is over, the tab keeps its invitation.
 * @param {{status: string, codes: number[], isUnexpected?: boolean}} [ended] shown again after a reload
 */
export async function clear(ended) {
  isOver = true;
  clearTimeout(saving);
  stopTime();
  tabs.release();
  const { link, invitation } = store.tab();
  // They are still needed for the way back after a reload.
  const back = { merchant: brand(), claimed: isHandedOff() };
  if (access) await store.deleteSession(access.sessionId);
  for (const used of [link, invitation?.token, tokens.link]) {
    // Another tab may have opened a newer session with the same invitation.
    const kept = used ? await store.unsealAccess(used) : null;
    if (used && (!kept || kept.sessionId === access?.sessionId)) await store.forgetLink(used);
  }
  const kept = invitation && ended?.status === "expired" ? { invitation } : {};
  store.setTab(ended ? { ...kept, ended: { ...ended, ...back, sessionId: access?.sessionId ?? null } } : back);
}

/** Tells the merchant's page that the time ended without an outcome. */
export const notifyExpired = () => notify("failed", { sessionId: store.tab().ended?.sessionId ?? access?.sessionId ?? null, status: "expired" });

/** Ends the session without an outcome and shows the matching screen. @param {string} kind of screens/end.js @param {any} [params] */
export async function finish(kind, params) {
  if (kind === "expired") {
    await clear({ status: "expired", codes: [] });
    track("outcome", "dropped");
    // An invitation can still succeed.
    if (!store.tab().invitation) notifyExpired();
  }
  return router.show("end", { params: { kind, ...params }, replace: true });
}

/** Handles a failed call: shows the screen for an expired session, or returns a text. @param {unknown} error @returns {string} "" when a screen was shown */
export function problemText(error) {
  if (!(error instanceof api.ApiError)) return t("problem.server");
  if (error.status === 401 && hasSession()) {
    finish("expired");
    return "";
  }
  if (error.status === 0) return t("problem.network");
  return t(error.status === 429 ? "problem.busy" : "problem.server");
}

/** The target of the browser's Back button. @param {string} id @param {string} part */
export function guard(id, part) {
  if (isSending || isOver || ["elsewhere", "end", "outcome"].includes(router.screen())) return null;
  // The history can contain screens of a session that ended.
  if (!known) return { id: id === "claim" ? "claim" : "open", part: "" };
  const reachable = flow.steps(known, work).findIndex((step) => step.id === id);
  const upTo = flow.steps(known, work).findIndex((step) => !step.done);
  if (id === "consent" || reachable < 0 || (upTo >= 0 && reachable > upTo)) return { id: flow.nextStep(known, work), part: "" };
  // Back never opens the camera. It shows a picture that was already taken.
  return { id, part: "" };
}

/** The number of the current step among the visible steps. */
export function progress() {
  if (!known || isOver) return null;
  const visible = flow.steps(known, work).filter(({ id }) => id !== "consent" && id !== "device");
  const at = visible.findIndex(({ id }) => id === router.screen());
  return at < 0 ? null : { n: at + 1, total: visible.length };
}

// Time

/** @type {number | undefined} */
let ticking;
/** @type {HTMLElement | null} */
let chip = null;

/** @param {number} deadline */
function watchTime(deadline) {
  stopTime();
  let warned = false;
  const tick = () => {
    const left = deadline - Date.now();
    if (left <= 0) {
      stopTime();
      // An upload is in progress, and its response decides.
      if (!isSending && !isOver) finish("expired");
      return;
    }
    if (left > WARNING_MS) return;
    if (!warned) {
      warned = true;
      notice("time", "warn", t("page.warning"));
      dismissAfter("time", WARNING_SHOWN_MS);
    }
    const seconds = Math.ceil(left / 1000);
    chip ??= document.getElementById("top-end")?.insertBefore(h("span", { class: "chip", id: "time" }), document.getElementById("top-end")?.firstChild ?? null) ?? null;
    if (chip) chip.textContent = t("page.left", { time: `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}` });
  };
  ticking = window.setInterval(tick, 1000);
  tick();
}

function stopTime() {
  clearInterval(ticking);
  chip?.remove();
  chip = null;
  dismiss("time");
}

// The top of the page

/** Shows merchant and mode as soon as they are known. */
export function drawTop() {
  const { name, logoUrl } = brand() ?? {};
  const place = document.getElementById("brand");
  if (place && name && !place.childElementCount) {
    place.append(logoUrl ? h("img", { class: "logo", src: logoUrl, alt: name }) : h("span", { class: "name" }, name));
  }
  const isSandbox = known?.current.is_sandbox ?? boot.preview?.isSandbox;
  const top = document.getElementById("top-end");
  document.getElementById("sandbox")?.remove();
  if (isSandbox && top) top.prepend(h("span", { class: "chip", id: "sandbox" }, t("page.test")));
}

// Connection

addEventListener("offline", () => notice("offline", "warn", t("page.offline")));
addEventListener("online", () => {
  dismiss("offline");
  announce(t("page.online"));
});
addEventListener("pagehide", () => void saveNow());
// An invitation's session may have been replaced on another device meanwhile.
document.addEventListener("visibilitychange", async () => {
  if (document.visibilityState !== "visible" || !known || isOver || isSending || !store.tab().invitation) return;
  try {
    await refresh();
    if (known && !isOver && !isSending && isSpent()) await finish("expired");
  } catch (error) {
    if (error instanceof api.ApiError && error.status === 401 && known && !isOver) await finish("expired");
  }
});

