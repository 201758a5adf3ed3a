// Screens for visits that end without an outcome. Each says what to do next.
import * as app from "../app.js";
import { actions, button, h, heading, hero, lead } from "../dom.js";
import { canLeave, leave } from "../embed.js";
import { countryName, t } from "../i18n.js";
import * as router from "../router.js";
import { links } from "./links.js";

/** @type {Record<string, string>} */
const ICONS = { invalid: "link", used: "link", expiredlink: "clock", notoken: "link", expired: "clock", geo: "globe", declined: "check", rejected: "shield", failed: "offline" };

/** The link back to the merchant, or a note that the page can be closed. @returns {Node} */
export function wayBack() {
  return canLeave()
    ? button("primary", t("page.return", { merchant: app.merchant() }), () => leave())
    : h("p", { class: "fine" }, t("page.mayclose"));
}

/** @type {router.Render} */
export function render(_part, params) {
  /** @type {{kind: string, country?: string, retry?: () => void}} */
  const { kind, country, retry } = params ?? { kind: "notoken" };
  const merchant = app.merchant();
  const name = country ? countryName(country, country) : "";
  const body = kind === "failed" ? t("problem.network") : t(kind === "geo" && !name ? "end.geo.unknown" : `end.${kind}.body`, { merchant, country: name });
  const again =
    kind === "declined" ? button("secondary", t("end.declined.again"), () => router.show(app.hasSession() ? "consent" : "open", { replace: true }))
    : kind === "geo" ? button("secondary", t("page.retry"), () => router.show("open", { replace: true }))
    : kind === "failed" ? button("primary", t("page.retry"), () => (retry ? retry() : location.reload()))
    : null;
  return {
    body: [hero(ICONS[kind] ?? "alert", "wait"), heading(t(`end.${kind}.title`)), lead(body), links(), actions(kind === "failed" ? null : wayBack(), again)],
  };
}
