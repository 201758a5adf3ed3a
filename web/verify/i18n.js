// Texts and names in the person's language. Every visible text is a key of web/locales/<language>.json.
import { boot } from "./boot.js";

/** @type {Record<string, string>} */
let strings = boot.strings ?? {};
let lang = boot.lang || "en";

/** Each language's own name, so that applicants recognise theirs in any language of the page. */
export const LANGUAGES = { en: "English", de: "Deutsch", fr: "Français", es: "Español", pt: "Português", ar: "العربية" };

export const language = () => lang;

/**
 * A text; `{name}` becomes the parameter.
 * @param {string} key
 * @param {Record<string, string | number>} [params]
 */
export function t(key, params = {}) {
  const text = strings[key] ?? key;
  // Unicode isolates prevent a name in another script from reordering the Arabic text around it.
  const [before, after] = lang === "ar" ? ["\u2068", "\u2069"] : ["", ""];
  return text.replace(/\{(\w+)\}/g, (whole, name) => {
    const value = params[name];
    return value === undefined ? whole : typeof value === "number" ? number(value) : before + value + after;
  });
}

/** Whether the text exists. @param {string} key */
export const has = (key) => key in strings;

/** Whole numbers as the language writes them (Arabic with Western digits, as links and documents do). @param {number} value */
export const number = (value) => new Intl.NumberFormat(locale()).format(value);

/** @param {number} fraction 0–1 */
export const percent = (fraction) => new Intl.NumberFormat(locale(), { style: "percent" }).format(fraction);

/** @param {string[]} items */
export const either = (items) => new Intl.ListFormat(lang, { type: "disjunction" }).format(items);

/** A time of day. @param {number} ms */
export const clock = (ms) => new Intl.DateTimeFormat(locale(), { hour: "numeric", minute: "2-digit" }).format(ms);

/** A date with its time of day. @param {number} ms */
export const dateTime = (ms) => new Intl.DateTimeFormat(locale(), { dateStyle: "long", timeStyle: "short" }).format(ms);

/** A file's size. @param {number} bytes */
export const size = (bytes) =>
  new Intl.NumberFormat(locale(), { style: "unit", unit: bytes < 1e6 ? "kilobyte" : "megabyte", maximumFractionDigits: bytes < 1e6 ? 0 : 1 })
    .format(bytes / (bytes < 1e6 ? 1e3 : 1e6));

const locale = () => (lang === "ar" ? "ar-u-nu-latn" : lang);

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
  document.documentElement.dir = next === "ar" ? "rtl" : "ltr";
  document.title = t("page.title");
}
