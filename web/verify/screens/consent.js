// Consent, which is versioned and recorded. It is given on the first screen (open.js), and on a screen of its own if a
// session has none. Declining needs one confirmation and ends the visit.
import * as api from "../api.js";
import * as app from "../app.js";
import { actions, ask, button, h, heading, note } from "../dom.js";
import { notify } from "../embed.js";
import { track } from "../events.js";
import * as flow from "../flow.js";
import { language, t } from "../i18n.js";
import { links } from "./links.js";

/** Version of the consent text. Change it with the text; it is recorded with the answer. */
export const CONSENT_VERSION = "2026-11-30";
/** How long leaving waits for the server. */
const LEAVE_MS = 5_000;

/** What the applicant agrees to. @param {boolean} withDocument whether a document and a selfie may be asked for */
export function terms(withDocument) {
  const merchant = app.merchant();
  const points = withDocument
    ? [t("consent.details"), t("consent.face"), t("consent.keep", { merchant })]
    : [t("consent.details.only"), t("consent.keep", { merchant })];
  return h(
    "div",
    { class: "terms" },
    h("p", null, t("consent.lead", { merchant })),
    h("ul", { class: "points" }, ...points.map((point) => h("li", null, point))),
    h("p", { class: "fine" }, t("consent.rights", { merchant })),
  );
}

/** The refusal that is being recorded. A later consent follows it. */
let refusing = Promise.resolve();

/** Records the consent. @param {string} shownIn the language in which the person read it */
export async function agree(shownIn) {
  await refusing;
  await api.consent({ version: CONSENT_VERSION, language: shownIn, accepted: true });
  app.currentWork().consented = true;
  track("consent", "completed");
}

/** @type {import("../router.js").Render} */
export function render() {
  const problem = h("div", { class: "problem" });
  const yes = button("primary", t("consent.yes"), async () => {
    yes.disabled = true;
    problem.replaceChildren();
    try {
      await agree(language());
      await app.next({ replace: true });
    } catch (error) {
      yes.disabled = false;
      const text = app.problemText(error);
      if (text) problem.replaceChildren(note("bad", text));
    }
  });
  track("consent", "reached");
  return {
    body: [
      heading(t("consent.title")),
      terms(flow.mayAskDocument(app.facts())),
      links(),
      problem,
      actions(yes, button("plain", t("consent.no"), () => decline())),
    ],
  };
}

/** @param {() => Promise<unknown>} [open] opens the session that the refusal belongs to. Without a session, it is not recorded. */
export async function decline(open) {
  const merchant = app.merchant();
  const leaves = await ask({
    title: t("consent.ask.title"),
    body: t("consent.ask.body", { merchant }),
    yes: t("consent.ask.leave"),
    no: t("consent.ask.back"),
  });
  if (!leaves) return;
  const refuse = async () => {
    await open?.();
    if (!app.hasSession()) return;
    track("consent", "denied");
    await api.consent({ version: CONSENT_VERSION, language: language(), accepted: false });
  };
  // Leaving must also work without a connection, and with a used or expired link.
  refusing = refuse().catch(() => {});
  await Promise.race([refusing, new Promise((resolve) => setTimeout(resolve, LEAVE_MS))]);
  notify("cancelled", { sessionId: app.sessionAccess()?.sessionId ?? null, status: null });
  await app.finish("declined");
}
