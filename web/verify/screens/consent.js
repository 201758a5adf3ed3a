// Consent, which is versioned and recorded. Declining needs one confirmation and ends the visit.
import * as api from "../api.js";
import * as app from "../app.js";
import { actions, ask, button, h, heading, lead, note } from "../dom.js";
import { notify } from "../embed.js";
import { track } from "../events.js";
import * as flow from "../flow.js";
import { language, t } from "../i18n.js";
import { links } from "./links.js";

/** Version of the consent text. Change it with the text; it is recorded with the answer. */
export const CONSENT_VERSION = "2026-11-23";

/** @type {import("../router.js").Render} */
export function render() {
  const merchant = app.merchant();
  const withDocument = flow.asksDocument(app.facts(), app.currentWork());
  const points = withDocument
    ? [t("consent.details"), t("consent.face"), t("consent.keep", { merchant })]
    : [t("consent.details.only"), t("consent.keep", { merchant })];
  const problem = h("div", { class: "problem" });
  const yes = button("primary", t("consent.yes"), async () => {
    yes.disabled = true;
    problem.replaceChildren();
    try {
      await api.consent({ version: CONSENT_VERSION, language: language(), accepted: true });
      app.currentWork().consented = true;
      track("consent", "completed");
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
      lead(t("consent.lead", { merchant })),
      h("ul", { class: "points" }, ...points.map((point) => h("li", null, point))),
      h("p", { class: "fine" }, t("consent.rights", { merchant })),
      links(),
      problem,
      actions(yes, button("plain", t("consent.no"), decline)),
    ],
  };
}

async function decline() {
  const merchant = app.merchant();
  const leaves = await ask({
    title: t("consent.ask.title"),
    body: t("consent.ask.body", { merchant }),
    yes: t("consent.ask.leave"),
    no: t("consent.ask.back"),
  });
  if (!leaves) return;
  track("consent", "denied");
  // Leaving must also work without a connection.
  await api.consent({ version: CONSENT_VERSION, language: language(), accepted: false }).catch(() => {});
  notify("cancelled", { sessionId: app.sessionAccess()?.sessionId ?? null, status: null });
  await app.finish("declined");
}
