// Screens for visits that end without an outcome. Each says what to do next.
import * as api from "../api.js";
import * as app from "../app.js";
import { actions, announce, button, h, heading, hero, lead, note, wayOut } from "../dom.js";
import { canLeave, leave } from "../embed.js";
import { countryName, t } from "../i18n.js";
import * as router from "../router.js";
import * as store from "../store.js";
import { links } from "./links.js";
import { startAgain } from "./open.js";

/** @type {Record<string, string>} */
const ICONS = {
  invalid: "link", used: "link", expiredlink: "clock", notoken: "link", expired: "clock", geo: "globe", declined: "check", rejected: "shield",
  failed: "offline", finished: "check", revoked: "link", inreview: "clock", renewed: "check",
};

/**
 * The way back to the merchant: out of its modal, to the return URL, or to its website. Null if none is known, and on a
 * second device, where people return to their other screen.
 * @param {"primary" | "secondary"} [kind] @param {() => void} [before] @returns {HTMLElement | null}
 */
export function returnWay(kind = "primary", before = () => {}) {
  const text = t("page.return", { merchant: app.merchant() });
  if (canLeave()) {
    return button(kind, text, () => {
      before();
      leave();
    });
  }
  const { websiteUrl } = app.brand() ?? {};
  return websiteUrl && !app.isHandedOff() ? wayOut(kind, text, websiteUrl, before) : null;
}

/** The way back to the merchant, or a note that the page can be closed. @param {"primary" | "secondary"} [kind] @param {() => void} [before] @returns {Node} */
export const wayBack = (kind, before) => returnWay(kind, before) ?? h("p", { class: "fine" }, t("page.mayclose"));

/** Opens the first screen of the tab's invitation. */
function restart() {
  const again = button("primary", t("end.expired.again"), () => {
    again.disabled = true;
    again.setAttribute("aria-busy", "true");
    return startAgain();
  });
  return again;
}

/** The elements as they were drawn last, perhaps in another language than at the press. @type {{renew: HTMLButtonElement, problem: HTMLElement} | null} */
let drawn = null;
/** Whether the page waits for the server. */
let isRenewing = false;

/** @param {boolean} isBusy */
function setRenewing(isBusy) {
  isRenewing = isBusy;
  if (!drawn) return;
  drawn.renew.disabled = isBusy;
  if (isBusy) drawn.renew.setAttribute("aria-busy", "true");
  else drawn.renew.removeAttribute("aria-busy");
}

/**
 * Requests a new link for the tab's invitation, which has expired.
 * @param {{kind: string}} params of the screen, which keep its new state if the language changes
 * @param {HTMLElement} problem
 */
function renewal(params, problem) {
  const renew = button("primary", t("end.renew"), async () => {
    setRenewing(true);
    drawn?.problem.replaceChildren();
    try {
      await api.renewInvitation(store.tab().invitation?.token ?? "");
      params.kind = "renewed";
      setRenewing(false);
      await router.redraw(true);
      announce(t("end.renewed.body", { merchant: app.merchant() }));
    } catch (error) {
      setRenewing(false);
      const text = app.problemText(error);
      drawn?.problem.replaceChildren(note("bad", text));
      announce(text);
    }
  });
  drawn = { renew, problem };
  setRenewing(isRenewing);
  return renew;
}

/** @type {router.Render} */
export function render(_part, params) {
  /** @type {{kind: string, country?: string, canRenew?: boolean, text?: string, retry?: () => void}} */
  const { kind, country, canRenew, text, retry } = params ?? { kind: "notoken" };
  const merchant = app.merchant();
  const problem = h("div", { class: "problem" });
  const name = country ? countryName(country, country) : "";
  const canReopen = kind === "expired" && Boolean(store.tab().invitation);
  // A second device has no invitation of its own.
  const isReplaced = kind === "expired" && app.hasSession() && app.facts().current.canStartAgain;
  const isRenewable = kind === "expiredlink" && canRenew && Boolean(store.tab().invitation);
  const key = kind === "failed" ? "problem.network" : isRenewable ? "end.expiredlink.renew" : canReopen || isReplaced ? "end.expired.anew" : kind === "geo" && !name ? "end.geo.unknown" : `end.${kind}.body`;
  const body = text ?? t(key, { merchant, country: name });
  const again =
    kind === "declined" ? button("secondary", t("end.declined.again"), () => router.show(app.hasSession() ? "consent" : "open", { replace: true }))
    : kind === "geo" ? button("secondary", t("page.retry"), () => router.show("open", { replace: true }))
    : kind === "failed" ? button("primary", t("page.retry"), () => (retry ? retry() : location.reload()))
    : null;
  const ways =
    canReopen ? [restart(), wayBack("secondary", app.notifyExpired)]
    : isRenewable ? [renewal(params, problem), returnWay("secondary")]
    : [kind === "failed" ? null : wayBack(), again];
  return {
    body: [hero(ICONS[kind] ?? "alert", "wait"), heading(t(canReopen ? "end.session.title" : `end.${kind}.title`)), lead(body), links(), problem, actions(...ways)],
  };
}
