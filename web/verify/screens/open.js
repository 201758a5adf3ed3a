// The first screen: merchant, purpose, duration and consent. The link is not exchanged before the applicant acts.
import * as api from "../api.js";
import * as app from "../app.js";
import { boot, tokens, wasPressed } from "../boot.js";
import { actions, announce, button, h, heading, hero, lead, note, rows } from "../dom.js";
import { track } from "../events.js";
import * as flow from "../flow.js";
import { clock, either, language, t } from "../i18n.js";
import * as router from "../router.js";
import * as store from "../store.js";
import { isHeldElsewhere } from "../tabs.js";
import { agree, decline, terms } from "./consent.js";
import { links } from "./links.js";

/** @type {router.Render} */
export function render() {
  const preview = boot.preview;
  const merchant = app.merchant();
  const types = (preview?.documentTypes ?? []).map((type) => t(`doctype.${type}`));
  /** @type {[string, string][]} */
  const needs = [];
  if (types.length) needs.push(["card", t("open.need.document", { types: either(types) })], ["face", t("open.need.selfie")]);
  else needs.push(["person", t("open.need.details")]);
  if (preview) needs.push(["clock", t("open.need.time", { minutes: preview.minutes })]);
  const until = preview ? Date.parse(String(preview.expiresAt)) || Number(preview.expiresAt) : 0;
  const problem = h("div", { class: "problem" });
  const start = button("primary", t("open.start"), () => begin(start, no, problem));
  const no = button("plain", t("consent.no"), () => refuse(start, no));
  const isPressed = wasPressed();
  if (isBusy) setBusy(start, no);
  if (!isReached) {
    track("open", "reached");
    track("consent", "reached");
  }
  isReached = true;
  return {
    body: [
      hero("shield"),
      heading(t("open.title")),
      lead(t("open.lead", { merchant })),
      h("h2", { class: "small" }, t("open.need.title")),
      rows(needs),
      h("h2", { class: "small" }, t("consent.title")),
      ...terms(asksDocument()),
      links(),
      problem,
      actions(start, no, until ? h("p", { class: "fine" }, t("open.until", { time: clock(until) })) : null),
    ],
    shown: () => isPressed && start.click(),
  };
}

/** Whether the page waits for the server, also after it was drawn again in another language. */
let isBusy = false;
let isReached = false;

/** @param {HTMLButtonElement} start @param {HTMLButtonElement} no */
function setBusy(start, no) {
  start.disabled = no.disabled = isBusy;
  if (isBusy) start.setAttribute("aria-busy", "true");
  else start.removeAttribute("aria-busy");
}

/** Whether the consent covers a document and a face. */
const asksDocument = () => boot.preview?.asksDocument ?? true;

const currentLink = () => tokens.link ?? store.tab().link ?? "";

/** Exchanges the link. */
async function enter() {
  await app.enter(await api.exchange(currentLink()), false);
  track("open", "completed");
}

/** Exchanges the link and records the consent. @param {HTMLButtonElement} start @param {HTMLButtonElement} no @param {HTMLElement} problem */
async function begin(start, no, problem) {
  const link = currentLink();
  const shownIn = language();
  isBusy = true;
  setBusy(start, no);
  problem.replaceChildren();
  try {
    await enter();
    // If the Flow asks for more by now, or the consent cannot be recorded, the next screen asks for it again.
    if (flow.mayAskDocument(app.facts()) === asksDocument()) await agree(shownIn).catch(() => {});
    isBusy = false;
    await app.next({ replace: true });
  } catch (error) {
    isBusy = false;
    setBusy(start, no);
    const known = await linkProblem(error, link);
    if (known) return;
    const text = app.problemText(error);
    problem.replaceChildren(note("bad", text));
    problem.scrollIntoView({ block: "nearest" });
    announce(text);
  }
}

/** @param {HTMLButtonElement} start @param {HTMLButtonElement} no */
async function refuse(start, no) {
  await decline(() => {
    isBusy = true;
    setBusy(start, no);
    return enter();
  });
  isBusy = false;
}

/**
 * Shows why a link does not work, or continues the session that this browser began with it.
 * @param {unknown} error @param {string} link
 * @returns {Promise<boolean>} whether a screen was shown
 */
export async function linkProblem(error, link) {
  if (!(error instanceof api.ApiError)) return false;
  const { status, body } = error;
  if (status === 403 && body.error === "geo_blocked") {
    await router.show("end", { params: { kind: "geo", country: body.detectedCountry ?? "" } });
    return true;
  }
  if (status === 410 && body.error === "token_used" && (await goOn(link))) return true;
  const kind = { token_used: "used", token_expired: "expiredlink", invalid_token: "invalid", token_required: "notoken" }[String(body.error)];
  if (!kind) return false;
  await app.finish(kind);
  return true;
}

/** Continues a link that this browser exchanged before. @param {string} link */
export async function goOn(link) {
  const access = await store.unsealAccess(link);
  return access ? goOnWith(access) : false;
}

/** @param {store.Access} access */
export async function goOnWith(access) {
  if (await isHeldElsewhere(access.sessionId)) {
    await router.show("elsewhere", { params: { access }, replace: true });
    return true;
  }
  try {
    await app.resume(access);
  } catch (error) {
    if (!(error instanceof api.ApiError) || error.status !== 401) throw error;
    await store.deleteSession(access.sessionId);
    return false;
  }
  await app.next({ replace: true });
  return true;
}
