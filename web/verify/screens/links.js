// Links to the merchant's privacy notice and contact.
import * as app from "../app.js";
import { h } from "../dom.js";
import { t } from "../i18n.js";

/** Null if the merchant has neither. If both are one address, there is one link. */
export function links() {
  const { privacyUrl = null, contact = null } = app.brand() ?? {};
  const second = contact === privacyUrl ? null : contact;
  if (!privacyUrl && !second) return null;
  return h(
    "p",
    { class: "links" },
    privacyUrl && link(privacyUrl, t("page.privacy")),
    second && link(second, t("page.contact", { merchant: app.merchant() })),
  );
}

/** @param {string} address an email or https address @param {string} text */
function link(address, text) {
  const isEmail = address.includes("@") && !address.includes("://");
  return isEmail ? h("a", { href: `mailto:${address}` }, text) : h("a", { href: address, target: "_blank", rel: "noopener noreferrer" }, text);
}
