// The verification under way: access, what is known of the session, what the person has done, and where they go next.
import * as api from "./api.js";
import { boot, tokens } from "./boot.js";
import { announce, dismiss, h, notice } from "./dom.js";
import { notify } from "./embed.js";
import { connectEvents, track } from "./events.js";
import * as flow from "./flow.js";
import { t } from "./i18n.js";
import * as router from "./router.js";
import * as store from "./store.js";
import * as tabs from "./tabs.js";

const WARNING_MS = 2 * 60_000;
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

/** The session's facts; only screens of a session ask. */
export function facts() {
  if (!known) throw new Error("no session");
  return known;
}
export const currentWork = () => work;
export const sessionAccess = () => access;
export const hasSession = () => known !== null;
/** @param {boolean} value */
export const setSending = (value) => void (isSending = value);

/** How the merchant looks, as far as the page knows it: before, during and after the session. @returns {import("./boot.js").Merchant | null} */
export function brand() {
  const { preview } = boot;
  return known?.current.merchant ?? (preview ? { ...preview, name: preview.merchantName } : (boot.merchant ?? store.tab().ended?.merchant ?? null));
}
export const merchant = () => brand()?.name ?? t("page.merchant");

/** A desktop: a mouse, a large screen and so, most likely, a phone beside it. */
const isDesktop = () => matchMedia("(hover: hover) and (pointer: fine)").matches && screen.width >= 900;

/** @type {number | undefined} */
let saving;

/** Keeps what was done; soon, so that typing costs nothing. */
export function save() {
  clearTimeout(saving);
  saving = window.setTimeout(saveNow, SAVE_MS);
}

export async function saveNow() {
  clearTimeout(saving);
  if (access && !isOver) await store.saveSession(access.sessionId, work);
}

/** Begins with what an exchange or a claim answered. @param {api.Exchange} exchange @param {boolean} claimed */
export async function enter(exchange, claimed) {
  access = {
    token: exchange.access_token,
    sessionId: exchange.session_id,
    deadline: Date.now() + exchange.expires_in * 1000,
    claimed,
    number: exchange.number ?? null,
  };
  const link = tokens.link ?? store.tab().link;
  if (link && !claimed) await store.sealAccess(link, access).catch(() => {});
  store.setTab({ access });
  await resume(access);
}

/** Goes on with a session that this browser has access to. @param {store.Access} given */
export async function resume(given) {
  access = given;
  api.useToken(given.token);
  const [current, documents] = await Promise.all([api.current(), api.documents()]);
  known = { current, ...documents, desktop: isDesktop(), claimed: given.claimed };
  work = { ...flow.newWork(), ...(await store.loadSession(given.sessionId)) };
  if (current.consent?.accepted) work.consented = true;
  given.deadline = deadlineOf(current) || given.deadline;
  store.setTab({ ...store.tab(), access: given });
  isOver = false;
  drawTop();
  watchTime(given.deadline);
  tabs.hold(given.sessionId, () => router.show("elsewhere", { replace: true }));
  connectEvents();
}

/** When the session ends, by this device's clock. @param {api.Current} current */
function deadlineOf(current) {
  const { expiresAt } = current;
  const time = typeof expiresAt === "number" ? (expiresAt < 1e12 ? expiresAt * 1000 : expiresAt) : Date.parse(expiresAt);
  return Number.isNaN(time) ? 0 : time + /** @type {any} */ (current).skew;
}

/** Asks the server anew. @returns {Promise<api.Current>} */
export async function refresh() {
  const current = await api.current();
  if (known) known.current = current;
  return current;
}

/** Whether an attempt has an outcome that the person has not begun to put right. */
export function openOutcome() {
  const { outcome, attempts } = facts().current;
  return outcome && (outcome.status !== "failed" || attempts > work.seen) ? outcome : null;
}

/** Shows what comes next. @param {{replace?: boolean}} [options] */
export async function next(options) {
  await saveNow();
  if (openOutcome()) return router.show("outcome", { replace: true });
  if (facts().current.status === "expired") return finish("expired");
  if (access?.number && access.claimed) return router.show("number", { replace: true });
  const id = flow.nextStep(facts(), work);
  if (id === "front" && !work.type) {
    const only = flow.onlyChoice(facts(), work);
    if (only) Object.assign(work, only);
  }
  return router.show(id, { replace: id === "upload", ...options });
}

/** A claimed device's number was confirmed. */
export function confirmNumber() {
  if (!access) return;
  access.number = null;
  store.setTab({ ...store.tab(), access });
}

/**
 * What is left on this device is deleted.
 * @param {{status: string, codes: number[]}} [ended] shown again after a reload
 */
export async function clear(ended) {
  isOver = true;
  clearTimeout(saving);
  stopTime();
  tabs.release();
  const { link } = store.tab();
  if (access) await store.deleteSession(access.sessionId);
  for (const used of [link, tokens.link]) if (used) await store.forgetLink(used);
  store.setTab(ended ? { ended: { ...ended, merchant: brand(), sessionId: access?.sessionId ?? null } } : {});
}

/** The end without an outcome, with its own screen. @param {string} kind of screens/end.js @param {any} [params] */
export async function finish(kind, params) {
  if (kind === "expired") {
    await clear({ status: "expired", codes: [] });
    track("outcome", "dropped");
    notify("failed", { sessionId: access?.sessionId ?? null, status: "expired" });
  }
  return router.show("end", { params: { kind, ...params }, replace: true });
}

/** What a failed call means: expired, or a text for the screen. @param {unknown} error @returns {string} "" when a screen was shown */
export function problemText(error) {
  if (!(error instanceof api.ApiError)) return t("problem.server");
  if (error.status === 401 && hasSession()) {
    finish("expired");
    return "";
  }
  if (error.status === 0) return t("problem.network");
  return t(error.status === 429 ? "problem.busy" : "problem.server");
}

/** Where the browser's Back leads. @param {string} id @param {string} part */
export function guard(id, part) {
  if (isSending || isOver || ["elsewhere", "end", "outcome"].includes(router.screen())) return null;
  if (!known) return id ? { id, part } : { id: "open", part: "" };
  const reachable = flow.steps(known, work).findIndex((step) => step.id === id);
  const upTo = flow.steps(known, work).findIndex((step) => !step.done);
  if (id === "consent" || reachable < 0 || (upTo >= 0 && reachable > upTo)) return { id: flow.nextStep(known, work), part: "" };
  // The camera does not open by itself; a picture that was taken is shown.
  return { id, part: "" };
}

/** Which of the visible steps is shown. */
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
      // The answer to what is being sent decides.
      if (!isSending && !isOver) finish("expired");
      return;
    }
    if (left > WARNING_MS) return;
    if (!warned) {
      warned = true;
      notice("time", "warn", t("page.warning"));
      setTimeout(() => dismiss("time"), 12_000);
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

/** Merchant and mode, as soon as they are known. */
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

