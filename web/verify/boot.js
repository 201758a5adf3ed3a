// What the server put into the page (page.html, #boot).

/**
 * @typedef {{name: string, logoUrl: string | null, color: string | null, privacyUrl: string | null, contact: string | null}} Merchant
 * @typedef {{merchantName: string, logoUrl: string | null, color: string | null, privacyUrl: string | null, contact: string | null, isSandbox: boolean, documentTypes: string[],
 *   biometricType: string, documentUploadType: string, fields: string[], minutes: number, expiresAt: string | number}} Preview
 * @typedef {{state: string, lang: string, dir: string, languages: string[], strings: Record<string, string>,
 *   preview: Preview | null, merchant: Merchant | null, rehearsal?: {current: any, documents: any} | null, embed: {returnUrl: string | null, origin: string | null}, m?: string | null, assets: Record<string, any>}} Boot
 */

/** @type {Boot} */
export const boot = JSON.parse(document.getElementById("boot")?.textContent ?? "{}");

const asked = new URLSearchParams(location.search);

/** The one-time tokens that the address carried; it loses them at once. */
export const tokens = { link: asked.get("token"), handoff: asked.get("handoff") };

/** The merchant's short id, so that a reload is answered with the right headers. */
const merchant = boot.m ?? asked.get("m");

/** Takes everything secret out of the address (and out of what a referrer, a history or a screenshot could show). @param {string} lang */
export function cleanAddress(lang) {
  if (boot.rehearsal) return;
  const address = new URL(location.href);
  address.search = "";
  address.hash = "";
  if (merchant) address.searchParams.set("m", merchant);
  address.searchParams.set("lang", lang);
  history.replaceState(history.state, "", address);
}

/**
 * Whether the button that the server drew was pressed before any script ran: its popover remembers that. It goes with the first screen.
 */
export function wasPressed() {
  try {
    return document.getElementById("starting")?.matches(":popover-open") ?? false;
  } catch {
    // A browser without popovers, whose button looked as if it did not work yet.
    return false;
  }
}
