// State that survives a reload. The access token, and the token of an invitation, are in sessionStorage (this tab).
// Typed data and pictures are in IndexedDB under the session's id, and are deleted at the end or on expiry. A used link or invitation
// can be opened again in the same browser. Its access token is sealed with a key derived from the link, so that
// database alone gives no access.
import { boot } from "./boot.js";

const DATABASE = "bonafide";
const TAB_KEY = "bonafide";
/** Maximum lifetime of stored data. A session lives ten minutes. */
const MAX_AGE_MS = 30 * 60_000;

/** @typedef {{token: string, sessionId: string, deadline: number, claimed: boolean, number: string | null}} Access */
/** @typedef {{token: string, merchant: import("./boot.js").Merchant | null}} Invitation the merchant is shown after a reload */
/** @typedef {{link?: string, merchant?: import("./boot.js").Merchant | null, invitation?: Invitation, handoff?: string, claimed?: boolean, access?: Access, ended?: {status: string, codes: number[], isUnexpected?: boolean, merchant: import("./boot.js").Merchant | null, sessionId: string | null, claimed?: boolean}}} Tab */

/** @returns {Tab} */
export function tab() {
  if (boot.rehearsal) return memoryTab;
  try {
    const kept = sessionStorage.getItem(TAB_KEY);
    return kept === null ? memoryTab : JSON.parse(kept);
  } catch {
    return memoryTab;
  }
}

/** @type {Tab} */
let memoryTab = {};

/** @param {Tab} value */
export function setTab(value) {
  memoryTab = value;
  if (boot.rehearsal) return;
  try {
    sessionStorage.setItem(TAB_KEY, JSON.stringify(value));
  } catch {
    // If storage is blocked, the page works but a reload loses the state.
  }
}

/** @type {Promise<IDBDatabase | null> | undefined} */
let opened;
/** Used if the browser has no database. @type {Map<string, any>} */
const memory = new Map();

function database() {
  opened ??= new Promise((resolve) => {
    // A preview stores nothing.
    if (boot.rehearsal) return resolve(null);
    try {
      const request = indexedDB.open(DATABASE, 1);
      request.onupgradeneeded = () => request.result.createObjectStore("kept");
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => resolve(null);
    } catch {
      resolve(null);
    }
  });
  return opened;
}

/**
 * @param {IDBTransactionMode} mode
 * @param {(store: IDBObjectStore) => IDBRequest} work
 * @returns {Promise<any>} undefined if the browser has no database
 */
async function withStore(mode, work) {
  const db = await database();
  if (!db) return undefined;
  return new Promise((resolve) => {
    try {
      const transaction = db.transaction("kept", mode);
      const request = work(transaction.objectStore("kept"));
      transaction.oncomplete = () => resolve(request.result);
      transaction.onerror = transaction.onabort = () => resolve(undefined);
    } catch {
      resolve(undefined);
    }
  });
}

/** @param {string} key */
async function read(key) {
  const kept = (await withStore("readonly", (store) => store.get(key))) ?? memory.get(key);
  return kept && kept.at > Date.now() - MAX_AGE_MS ? kept.value : undefined;
}

/** @param {string} key @param {any} value */
async function write(key, value) {
  const kept = { at: Date.now(), value };
  memory.set(key, kept);
  await withStore("readwrite", (store) => store.put(kept, key));
}

/** @param {string} key */
async function remove(key) {
  memory.delete(key);
  await withStore("readwrite", (store) => store.delete(key));
}

/** @param {string} sessionId */
export const loadSession = (sessionId) => read(`session:${sessionId}`);
/** @param {string} sessionId @param {any} value */
export const saveSession = (sessionId, value) => write(`session:${sessionId}`, value);
/** @param {string} sessionId */
export const deleteSession = (sessionId) => remove(`session:${sessionId}`);

/** Deletes data of earlier visits. */
export async function sweep() {
  const db = await database();
  if (!db) return;
  const store = db.transaction("kept", "readwrite").objectStore("kept");
  const request = store.openCursor();
  request.onsuccess = () => {
    const cursor = request.result;
    if (!cursor) return;
    if (!(cursor.value?.at > Date.now() - MAX_AGE_MS)) cursor.delete();
    cursor.continue();
  };
}

/** @param {string} purpose @param {string} link */
async function digest(purpose, link) {
  return crypto.subtle.digest("SHA-256", new TextEncoder().encode(`${purpose}:${link}`));
}

/** @param {string} link */
async function linkName(link) {
  const bytes = new Uint8Array(await digest("name", link));
  return `link:${Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}

/** @param {string} link */
const linkKey = async (link) => crypto.subtle.importKey("raw", await digest("key", link), "AES-GCM", false, ["encrypt", "decrypt"]);

/** Stores the access for which a link was exchanged, or which an invitation opened. @param {string} link @param {Access} access */
export async function sealAccess(link, access) {
  if (!globalThis.crypto?.subtle) return;
  const iv = crypto.getRandomValues(new Uint8Array(12));
  const sealed = await crypto.subtle.encrypt({ name: "AES-GCM", iv }, await linkKey(link), new TextEncoder().encode(JSON.stringify(access)));
  await write(await linkName(link), { iv, sealed });
}

/** The access that this browser received for a link, until it expires. @param {string} link @returns {Promise<Access | null>} */
export async function unsealAccess(link) {
  if (!globalThis.crypto?.subtle) return null;
  try {
    const kept = await read(await linkName(link));
    if (!kept) return null;
    const plain = await crypto.subtle.decrypt({ name: "AES-GCM", iv: kept.iv }, await linkKey(link), kept.sealed);
    const access = JSON.parse(new TextDecoder().decode(plain));
    return access.deadline > Date.now() ? access : null;
  } catch {
    return null;
  }
}

/** @param {string} link */
export async function forgetLink(link) {
  if (globalThis.crypto?.subtle) await remove(await linkName(link));
}
