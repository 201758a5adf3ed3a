// The first screen: merchant, purpose, duration and consent. The link is not exchanged, and an invitation opens no
// session, before the applicant acts.
import * as api from "../api.js";
import * as app from "../app.js";
import { boot, tokens, wasPressed } from "../boot.js";
import { actions, announce, button, h, heading, hero, lead, note, rows } from "../dom.js";
import { notifyError } from "../embed.js";
import { track } from "../events.js";
import * as flow from "../flow.js";
import { clock, dateTime, either, language, t } from "../i18n.js";
import { laterScreens, NotLoaded, reloadLink } from "../loading.js";
import * as router from "../router.js";
import * as store from "../store.js";
import { isHeldElsewhere } from "../tabs.js";
import { agree, decline, terms } from "./consent.js";
import { links } from "./links.js";

/** The kinds of end (end.js) for the server's words about a token. @type {Record<string, string>} */
export const KINDS = {
  token_used: "used", token_expired: "expiredlink", invalid_token: "invalid", token_required: "notoken",
  invitation_finished: "finished", invitation_revoked: "revoked", in_review: "inreview",
};

/** @type {router.Render} */
export function render() {
  const preview = boot.preview;
  const merchant = app.merchant();
  const types = (preview?.documentTypes ?? []).map((type) => t(`doctype.${type}`));
  /** @type {[string, string][]} */
  const needs = [];
  if (types.length) needs.push(["card", t("open.need.document", { types: either(types) })], ["face", t("open.need.selfie")]);
  // A document mostly states these.
  const isEntered = (/** @type {string} */ field) => !["middleName", "dob", "nationality"].includes(field);
  if (!types.length || preview?.fields.some(isEntered)) needs.push(["person", t("open.need.details")]);
  if (preview) needs.push(["clock", t("open.need.time", { minutes: preview.minutes })]);
  const until = preview ? Date.parse(String(preview.expiresAt)) || Number(preview.expiresAt) : 0;
  // A link works for minutes, an invitation for days.
  const limit = store.tab().invitation ? t("open.until.date", { date: dateTime(until) }) : t("open.until", { time: clock(until) });
  const problem = h("div", { class: "problem" });
  const start = button("primary", t("open.start"), begin);
  const no = button("plain", t("consent.no"), refuse);
  drawn = { start, no, problem };
  const isPressed = wasPressed();
  setBusy(isBusy);
  if (!isReached) {
    track("open", "reached");
    track("consent", "reached");
  }
  isReached = true;
  return {
    body: [
      hero("welcome", "wide"),
      heading(t("open.title")),
      lead(t("open.lead", { merchant })),
      h("h2", { class: "small" }, t("open.need.title")),
      rows(needs),
      h("h2", { class: "small" }, t("consent.title")),
      terms(asksDocument()),
      links(),
      problem,
      actions(start, no, until ? h("p", { class: "fine" }, limit) : null),
    ],
    shown: () => isPressed && start.click(),
  };
}

/** The elements as they were drawn last, perhaps in another language than at the press. @type {{start: HTMLButtonElement, no: HTMLButtonElement, problem: HTMLElement} | null} */
let drawn = null;
/** Whether the page waits for the server. */
let isBusy = false;
let isReached = false;
/** The exchange that is being made. @type {Promise<void> | null} */
let entering = null;

/** @param {boolean} busy */
function setBusy(busy) {
  isBusy = busy;
  if (!drawn) return;
  drawn.start.disabled = drawn.no.disabled = busy;
  if (busy) drawn.start.setAttribute("aria-busy", "true");
  else drawn.start.removeAttribute("aria-busy");
}

/** Whether the consent covers a document and a face. */
const asksDocument = () => boot.preview?.asksDocument ?? true;

/** The token of the invitation or the link. */
const currentLink = () => store.tab().invitation?.token ?? tokens.link ?? store.tab().link ?? "";

/** Opens the session once, also if a refusal and a consent follow each other. */
function enter() {
  entering ??= (async () => {
    try {
      const open = store.tab().invitation ? api.openInvitation : api.exchange;
      await app.enter(await open(currentLink()), false);
      track("open", "completed");
    } finally {
      entering = null;
    }
  })();
  return entering;
}

/** Opens the session and records the consent. */
async function begin() {
  const link = currentLink();
  const shownIn = language();
  setBusy(true);
  drawn?.problem.replaceChildren();
  try {
    // A link is used up only once the next screen can be shown.
    await laterScreens();
    // A refusal that was taken back may have opened it.
    if (entering || !app.hasSession()) await enter();
    // If the Flow changed meanwhile, or the consent cannot be recorded, the next screen requests the consent again.
    if (flow.mayAskDocument(app.facts()) === asksDocument()) await agree(shownIn).catch(() => {});
    isBusy = false;
    await app.next({ replace: true });
  } catch (error) {
    setBusy(false);
    const known = await linkProblem(error, link).catch(() => false);
    if (known) return;
    const isChecking = error instanceof api.ApiError && error.body.error === "attempt_in_progress";
    const text = isChecking ? t("open.inprogress") : app.problemText(error);
    drawn?.problem.replaceChildren(note("bad", text));
    if (error instanceof NotLoaded && navigator.onLine) drawn?.problem.append(button("secondary", t("page.retry"), reloadLink));
    drawn?.problem.scrollIntoView({ block: "nearest" });
    announce(text);
  }
}

async function refuse() {
  // Opening a session of an invitation would end the one on another device.
  const needsNone = store.tab().invitation && !entering && !app.hasSession();
  await decline(
    needsNone
      ? undefined
      : () => {
          setBusy(true);
          return enter();
        },
  );
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
  if (["token_used", "in_review", "attempt_in_progress"].includes(body.error) && (await goOn(link))) return true;
  const kind = KINDS[String(body.error)];
  if (!kind) return false;
  notifyError(String(body.error));
  await app.finish(kind, { canRenew: body.canRenew });
  return true;
}

/** Shows the first screen with what the server says now: after a reload, or after an invitation's session ended. */
export async function reopen() {
  const link = currentLink();
  try {
    boot.preview = await (store.tab().invitation ? api.previewInvitation : api.preview)(link);
  } catch (error) {
    if (await linkProblem(error, link)) return;
    throw error;
  }
  isReached = false;
  app.drawTop();
  await router.show("open", { replace: true });
}

/** Shows the first screen after an invitation's session ended. A press there opens another session. */
export async function startAgain() {
  app.reset();
  try {
    await reopen();
  } catch (error) {
    await router.show("end", { params: { kind: "failed", text: app.problemText(error), retry: startAgain }, replace: true });
  }
}

/** Continues the session that this browser opened with a link or an invitation. @param {string} link */
export async function goOn(link) {
  const access = await store.unsealAccess(link);
  if (!access) return false;
  if (await goOnWith(access, store.tab().invitation?.token === link)) return true;
  await store.forgetLink(link);
  return false;
}

/**
 * @param {store.Access} access
 * @param {boolean} [canReopen] whether another session can replace one that has ended
 */
export async function goOnWith(access, canReopen = false) {
  if (await isHeldElsewhere(access.sessionId)) {
    await router.show("elsewhere", { params: { access }, replace: true });
    return true;
  }
  try {
    await app.resume(access);
  } catch (error) {
    if (!(error instanceof api.ApiError) || error.status !== 401) throw error;
    await store.deleteSession(access.sessionId);
    if (canReopen) app.reset();
    return false;
  }
  if (canReopen && app.isSpent()) {
    await app.clear({ status: "expired", codes: [] });
    app.reset();
    return false;
  }
  await app.next({ replace: true });
  return true;
}
