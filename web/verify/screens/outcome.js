// The outcome: passed, under review, or what to correct; only those steps are repeated. It never mentions
// screening.
import * as app from "../app.js";
import { actions, button, h, heading, hero, icon, lead, wayOut } from "../dom.js";
import { notify } from "../embed.js";
import { track } from "../events.js";
import * as flow from "../flow.js";
import { has, t } from "../i18n.js";
import * as router from "../router.js";
import { returnWay, wayBack } from "./end.js";
import { links } from "./links.js";

/** @typedef {{status: string, codes: number[], isUnexpected?: boolean, final: boolean}} Result */

/** Codes that ask people to sign in with their own account. */
const HAS_ACCOUNT = [2306, 2307];

/** @type {router.Render} */
export async function render(_part, params) {
  /** @type {Result} */
  const result = params?.result ?? (await settle());
  const merchant = app.merchant();
  if (result.status === "approved" || result.status === "pending") {
    return {
      body: [
        hero(result.status === "approved" ? "check" : "clock", result.status === "approved" ? "good" : "wait"),
        heading(t(`outcome.${result.status}.title`)),
        lead(t(`outcome.${result.status}.body`, { merchant })),
        links(),
        actions(...ways()),
      ],
    };
  }
  const { codes, redo } = remedyOf(result);
  if (!codes.length) {
    return { body: [hero("clock", "wait"), heading(t("outcome.neutral.title")), lead(t("outcome.neutral.body", { merchant })), links(), actions(...ways())] };
  }
  if (result.final && codes.length === 1 && HAS_ACCOUNT.includes(Number(codes[0]))) {
    // To these people nothing went wrong.
    return { body: [hero("person", "wait"), heading(t(`code.${codes[0]}.title`)), lead(t(`code.${codes[0]}.fix`, { merchant })), links(), actions(...waysToSignIn())] };
  }
  const fixes = h("ul", { class: "fixes" }, ...codes.map((code) => fix(code, merchant)));
  if (result.final) {
    const isHopeless = !redo.length;
    return {
      body: [
        hero("alert", "bad"),
        heading(t(isHopeless ? "outcome.final.title" : "outcome.used.title")),
        isHopeless ? null : lead(t("outcome.used.body", { merchant })),
        isHopeless ? null : h("h2", { class: "small" }, t("outcome.used.why")),
        fixes,
        links(),
        actions(...(codes.some((code) => HAS_ACCOUNT.includes(Number(code))) ? waysToSignIn() : ways())),
      ],
    };
  }
  const { attempts, maxAttempts } = app.facts().current;
  const also = codes.some((code) => flow.FACE_MISMATCH.includes(Number(code))) ? h("input", { type: "checkbox", id: "also" }) : null;
  const go = button("primary", t("outcome.fix"), async () => {
    const work = app.currentWork();
    flow.reopen(app.facts(), work, also?.checked ? [...redo, "front"] : redo);
    work.seen = attempts;
    track("outcome", "retried", codes[0]?.toString());
    await app.next({ replace: true });
  });
  return {
    body: [
      hero("alert", "wait"),
      heading(t("outcome.failed.title")),
      lead(t("outcome.failed.lead")),
      fixes,
      also ? h("label", { class: "tick" }, also, h("span", null, t("outcome.also"))) : null,
      links(),
      h("p", { class: "fine" }, t("outcome.left", { count: maxAttempts - attempts })),
      actions(go),
    ],
  };
}

/** @param {{codes: number[], isUnexpected?: boolean}} result */
const remedyOf = (result) => flow.remedy(result, !app.hasSession() || flow.asksDocument(app.facts(), app.currentWork()));

/** @param {number | string} code @param {string} merchant */
function fix(code, merchant) {
  const name = has(`code.${code}.title`) ? code : "other";
  return h("li", null, icon("alert"), h("div", null, h("h2", null, t(`code.${name}.title`)), h("p", null, t(`code.${name}.fix`, { merchant }))));
}

const noteOfOtherScreen = () => h("p", { class: "fine" }, t("outcome.handoff"));

/** After the outcome: a note to return to the other device, or the way back to the merchant. @returns {Node[]} */
const ways = () => [app.isHandedOff() ? noteOfOtherScreen() : wayBack()];

/** For a person who has an account: the merchant's page to sign in, if it is known. @returns {(Node | null)[]} */
function waysToSignIn() {
  const { signInUrl } = app.brand() ?? {};
  const merchant = app.merchant();
  const isHandedOff = app.isHandedOff();
  const other = isHandedOff ? noteOfOtherScreen() : null;
  if (signInUrl) return [other, wayOut("primary", t("outcome.signin", { merchant }), signInUrl), isHandedOff ? null : returnWay("secondary")];
  return ways();
}

/** Reads the session's outcome. If it is final, notifies the merchant's page and deletes the data on this device. @returns {Promise<Result>} */
async function settle() {
  const { current } = app.facts();
  const outcome = app.openOutcome() ?? { status: "failed", codes: [], isUnexpected: false };
  const { redo } = remedyOf(outcome);
  const final = outcome.status !== "failed" || current.attempts >= current.maxAttempts || current.status !== "pending" || !redo.length;
  const result = { status: outcome.status, codes: outcome.codes, isUnexpected: outcome.isUnexpected, final };
  const first = outcome.codes.find((code) => code !== 2702);
  track("outcome", outcome.status === "failed" ? "failed" : "completed", first ? String(first) : undefined);
  if (final) {
    await app.clear(result);
    notify(outcome.status === "failed" ? "failed" : "done", { sessionId: current.session_id, status: outcome.status });
  }
  return result;
}
