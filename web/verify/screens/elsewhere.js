// The verification continues in another window; this one offers to take it over.
import * as api from "../api.js";
import * as app from "../app.js";
import { actions, button, h, heading, hero, lead, note } from "../dom.js";
import { t } from "../i18n.js";

/** @type {import("../router.js").Render} */
export function render(_part, params) {
  const access = params?.access ?? app.sessionAccess();
  const problem = h("div", { class: "problem" });
  const take = button("primary", t("elsewhere.take"), async () => {
    take.disabled = true;
    try {
      await app.resume(access);
      await app.next({ replace: true });
    } catch (error) {
      if (error instanceof api.ApiError && error.status === 401) return void (await app.finish("expired"));
      take.disabled = false;
      const text = app.problemText(error);
      if (text) problem.replaceChildren(note("bad", text));
    }
  });
  return { body: [hero("laptop"), heading(t("elsewhere.title")), lead(t("elsewhere.body")), problem, actions(take)] };
}
