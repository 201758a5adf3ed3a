// Texts and names in the person's language. Every visible text is a key of web/locales/<language>.json.
import { boot } from "./boot.js";
import { fill } from "./message.js";

/** @type {Record<string, string>} */
let strings = boot.strings ?? {};
let lang = boot.lang || "en";

/** Every language with its own name, so that applicants recognise theirs in any language of the page. */
export const languages = boot.offered ?? [{ code: lang, name: lang, dir: document.documentElement.dir, or: [] }];

export const language = () => lang;

const spoken = () => languages.find(({ code }) => code === lang);

/**
 * A text; `{name}` becomes the parameter.
 * @param {string} key
 * @param {Record<string, string | number>} [params]
 */
export function t(key, params = {}) {
  return fill(strings[key] ?? key, params, { language: lang, number, isolate: document.documentElement.dir === "rtl" });
}

/** Whether the text exists. @param {string} key */
export const has = (key) => key in strings;

/** Whole numbers as the language writes them, with Western digits, as links and documents have them. @param {number} value */
export const number = (value) => new Intl.NumberFormat(locale()).format(value);

/** @param {number} fraction 0–1 */
export const percent = (fraction) => new Intl.NumberFormat(locale(), { style: "percent" }).format(fraction);

/** Joins alternatives, as the server does on the first screen. @param {string[]} items */
export function either(items) {
  const [pair = ", ", comma = ", ", last = ", "] = spoken()?.or ?? [];
  const end = items.at(-1) ?? "";
  return items.length > 2 ? items.slice(0, -1).join(comma) + last + end : items.join(pair);
}

/** A time of day. @param {number} ms */
export const clock = (ms) => new Intl.DateTimeFormat(locale(), { hour: "numeric", minute: "2-digit" }).format(ms);

/** A date with its time of day. @param {number} ms */
export const dateTime = (ms) => new Intl.DateTimeFormat(locale(), { dateStyle: "long", timeStyle: "short" }).format(ms);

/** A file's size. @param {number} bytes */
export const size = (bytes) =>
  new Intl.NumberFormat(locale(), { style: "unit", unit: bytes < 1e6 ? "kilobyte" : "megabyte", maximumFractionDigits: bytes < 1e6 ? 0 : 1 })
    .format(bytes / (bytes < 1e6 ? 1e3 : 1e6));

/** The language with the calendar and the digits of documents. */
const locale = () => `${lang}-u-ca-gregory-nu-latn`;

/** @type {Map<string, Intl.DisplayNames>} */
const displayNames = new Map();

/** A country's name in the person's language. @param {string} alpha2 @param {string} fallback @param {string} [inLanguage] */
export function countryName(alpha2, fallback, inLanguage = lang) {
  try {
    let names = displayNames.get(inLanguage);
    if (!names) displayNames.set(inLanguage, (names = new Intl.DisplayNames(inLanguage, { type: "region", fallback: "none" })));
    return names.of(alpha2) ?? fallback;
  } catch {
    return fallback;
  }
}

/** Switches the page's language. @param {string} next */
export async function setLanguage(next) {
  const response = await fetch(new URL(`../locales/${next}.json`, import.meta.url), { cache: "force-cache" });
  if (!response.ok) throw new Error("language");
  strings = await response.json();
  lang = next;
  document.documentElement.lang = next;
  document.documentElement.dir = spoken()?.dir ?? "ltr";
  document.title = t("page.title");
}
