// On the phone that scanned the code: it begins after a tap, and the number must match first.
import * as api from "../api.js";
import * as app from "../app.js";
import { tokens, wasPressed } from "../boot.js";
import { actions, button, h, heading, hero, lead, note } from "../dom.js";
import { track } from "../events.js";
import { t } from "../i18n.js";
import * as store from "../store.js";
import { linkProblem } from "./open.js";

/** @type {import("../router.js").Render} */
export function render() {
  const problem = h("div", { class: "problem" });
  const token = tokens.handoff ?? store.tab().handoff ?? "";
  const isPressed = wasPressed();
  const start = button("primary", t("claim.start"), async () => {
    start.disabled = true;
    start.setAttribute("aria-busy", "true");
    problem.replaceChildren();
    try {
      await app.enter(await api.claim(token), true);
      await app.next({ replace: true });
    } catch (error) {
      start.disabled = false;
      start.removeAttribute("aria-busy");
      if (await linkProblem(error, token)) return;
      problem.replaceChildren(note("bad", app.problemText(error)));
    }
  });
  return { body: [hero("phone"), heading(t("claim.title")), lead(t("claim.lead", { merchant: app.merchant() })), problem, actions(start)], shown: () => isPressed && start.click() };
}

/** @type {import("../router.js").Render} */
export function renderNumber() {
  track("device", "reached");
  const number = app.sessionAccess()?.number ?? "";
  return {
    body: [
      heading(t("claim.number.title")),
      lead(t("claim.number.lead")),
      h("output", { class: "number large" }, number),
      actions(
        button("primary", t("claim.yes"), async () => {
          app.confirmNumber();
          track("device", "completed");
          await app.next({ replace: true });
        }),
        button("secondary", t("claim.no"), async () => {
          track("device", "denied");
          await api.reject().catch(() => {});
          await app.clear();
          await app.finish("rejected");
        }),
      ),
    ],
  };
}
