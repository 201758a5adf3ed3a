// The data that the server embeds in the page (page.html, #boot).

/**
 * @typedef {{name: string, logoUrl: string | null, color: string | null, privacyUrl: string | null, contact: string | null, websiteUrl?: string | null, signInUrl?: string | null}} Merchant websiteUrl, signInUrl: a server of an earlier version sends neither
 * @typedef {{merchantName: string, logoUrl: string | null, color: string | null, privacyUrl: string | null, contact: string | null, websiteUrl?: string | null, signInUrl?: string | null, isSandbox: boolean, documentTypes: string[], asksDocument: boolean,
 *   biometricType: string, documentUploadType: string, fields: string[], minutes: number, expiresAt: string | number}} Preview
 * @typedef {{state: string, lang: string, offered?: {code: string, name: string, dir: string, or: string[]}[], strings: Record<string, string>,
 *   canRenew?: boolean, preview: Preview | null, merchant: Merchant | null, rehearsal?: {current: any, documents: any} | null, embed: import("./embed.js").Embed, m?: string | null, assets: Record<string, any>}} Boot
 */

/** @type {Boot} */
export const boot = JSON.parse(document.getElementById("boot")?.textContent ?? "{}");

const asked = new URLSearchParams(location.search);

/** The tokens from the URL, which are removed from it at once. An invitation can be used again, the others once. */
export const tokens = { link: asked.get("token"), invitation: asked.get("invitation"), handoff: asked.get("handoff") };

/** The merchant's short id, with which the server sends the right headers after a reload. */
const merchant = boot.m ?? asked.get("m");

/** Removes all secrets from the URL, so that no referrer, history or screenshot contains them. @param {string} lang */
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
 * Whether the server-rendered button was pressed before any script ran, which its open popover shows. The
 * first screen replaces both.
 */
export function wasPressed() {
  try {
    return document.getElementById("starting")?.matches(":popover-open") ?? false;
  } catch {
    // Browsers without popovers show the button as inactive until now.
    return false;
  }
}
