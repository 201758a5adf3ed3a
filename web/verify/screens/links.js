// Links to the merchant's privacy notice and contact.
import * as app from "../app.js";
import { h } from "../dom.js";
import { t } from "../i18n.js";

/** Null if the merchant has neither. */
export function links() {
  const { privacyUrl = null, contact = null } = app.brand() ?? {};
  const merchant = app.merchant();
  /** @param {string} address @param {string} text */
  const link = (address, text) =>
    address.includes("@") && !address.includes("://")
      ? h("a", { href: `mailto:${address}` }, text)
      : h("a", { href: address, target: "_blank", rel: "noopener noreferrer" }, text);
  if (!privacyUrl && !contact) return null;
  return h("p", { class: "links" }, privacyUrl && link(privacyUrl, t("page.privacy", { merchant })), contact && link(contact, t("page.contact", { merchant })));
}
