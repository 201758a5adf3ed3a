// The first screen: merchant, purpose and duration. The link is not exchanged before the applicant acts.
import * as api from "../api.js";
import * as app from "../app.js";
import { boot, tokens, wasPressed } from "../boot.js";
import { actions, button, h, heading, hero, lead, note, rows } from "../dom.js";
import { track } from "../events.js";
import { clock, either, t } from "../i18n.js";
import * as router from "../router.js";
import * as store from "../store.js";
import { isHeldElsewhere } from "../tabs.js";
import { links } from "./links.js";

/** @type {router.Render} */
export function render() {
  const preview = boot.preview;
  const merchant = app.merchant();
  const types = (preview?.documentTypes ?? []).map((type) => t(`doctype.${type}`));
  /** @type {[string, string][]} */
  const needs = [];
  if (types.length) needs.push(["card", t("open.need.document", { types: either(types) })], ["face", t("open.need.selfie")]);
  needs.push(["person", t("open.need.details")]);
  if (preview) needs.push(["clock", t("open.need.time", { minutes: preview.minutes })]);
  const until = preview ? Date.parse(String(preview.expiresAt)) || Number(preview.expiresAt) : 0;
  const problem = h("div", { class: "problem" });
  const start = button("primary", t("open.start"), () => begin(start, problem));
  const isPressed = wasPressed();
  track("open", "reached");
  return {
    body: [
      hero("shield"),
      heading(t("open.title")),
      lead(t("open.lead", { merchant })),
      h("h2", { class: "small" }, t("open.need.title")),
      rows(needs),
      problem,
      links(),
      actions(start, h("p", { class: "fine" }, t("open.privacy"), " ", until ? t("open.until", { time: clock(until) }) : "")),
    ],
    shown: () => isPressed && start.click(),
  };
}

/** Exchanges the link. @param {HTMLButtonElement} start @param {HTMLElement} problem */
async function begin(start, problem) {
  const link = tokens.link ?? store.tab().link ?? "";
  start.disabled = true;
  start.setAttribute("aria-busy", "true");
  problem.replaceChildren();
  try {
    await app.enter(await api.exchange(link), false);
    track("open", "completed");
    await app.next({ replace: true });
  } catch (error) {
    start.disabled = false;
    start.removeAttribute("aria-busy");
    const known = await linkProblem(error, link);
    if (known) return;
    problem.replaceChildren(note("bad", app.problemText(error)));
  }
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
