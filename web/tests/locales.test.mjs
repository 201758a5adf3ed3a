// Every language has the same texts with the same placeholders, and the pages use only existing texts.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { parts } from "../verify/message.js";

const web = new URL("../", import.meta.url);
const names = readdirSync(new URL("locales/", web)).filter((name) => name.endsWith(".json"));
/** @type {Record<string, Record<string, string>>} */
const locales = Object.fromEntries(names.map((name) => [name.slice(0, -5), JSON.parse(readFileSync(new URL(`locales/${name}`, web), "utf8"))]));
const english = locales["en"] ?? {};
/** The rows of the server's table of languages: code, English name, own name, direction, … */
const table = readFileSync(new URL("../crates/reference/data/languages.tsv", web), "utf8")
  .split("\n")
  .filter((line) => line && !line.startsWith("#"))
  .map((line) => line.split("\t"));
/** The scripts of the languages that are not written in Latin letters. @type {Record<string, RegExp>} */
const SCRIPTS = {
  ar: /\p{Script=Arabic}/u, bg: /\p{Script=Cyrillic}/u, bn: /\p{Script=Bengali}/u, el: /\p{Script=Greek}/u, fa: /\p{Script=Arabic}/u, hi: /\p{Script=Devanagari}/u,
  ja: /[\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Han}]/u, ko: /\p{Script=Hangul}/u, uk: /\p{Script=Cyrillic}/u, "zh-Hans": /\p{Script=Han}/u, "zh-Hant": /\p{Script=Han}/u,
};

/** @param {URL} folder @returns {string[]} */
function sources(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const url = new URL(entry.isDirectory() ? `${entry.name}/` : entry.name, folder);
    if (entry.isDirectory()) return sources(url);
    return /\.(js|html)$/.test(entry.name) ? [readFileSync(url, "utf8")] : [];
  });
}

test("there is a file for every language of the table, and no other", () => {
  assert.deepEqual(names.map((name) => name.slice(0, -5)).sort(), table.map(([code]) => code).sort());
});

for (const [language, texts] of Object.entries(locales)) {
  test(`${language}: the same keys in the same order, none empty, the same placeholders, its own plural forms`, () => {
    assert.deepEqual(Object.keys(texts), Object.keys(english));
    const rules = new Intl.PluralRules(language);
    const categories = [...new Set(Array.from({ length: 1000 }, (_, n) => rules.select(n)).concat("other"))].sort();
    for (const [key, text] of Object.entries(texts)) {
      const [own, original] = [parts(text), parts(english[key] ?? "")];
      assert.ok(text.trim(), `${language}: ${key} is empty`);
      assert.deepEqual(own.names, original.names, `${language}: ${key}`);
      assert.equal(own.plurals.length, original.plurals.length, `${language}: ${key}`);
      for (const forms of own.plurals) assert.deepEqual(forms.sort(), categories, `${language}: ${key}`);
      assert.ok(!/[{}]/.test(own.rest), `${language}: ${key} has a brace that is no placeholder: ${text}`);
    }
  });
  test(`${language}: its own script`, () => {
    const script = SCRIPTS[language] ?? /\p{Script=Latin}/u;
    // Some texts are a name or a format in every language.
    const foreign = Object.entries(texts).filter(([key, text]) => !key.startsWith("picture.formats") && !script.test(parts(text).rest) && !parts(text).plurals.length && /[\p{L}]/u.test(parts(text).rest));
    assert.deepEqual(foreign, []);
  });
  test(`${language}: a key is written once`, () => {
    const raw = readFileSync(new URL(`locales/${language}.json`, web), "utf8");
    const keys = [...raw.matchAll(/^ {2}"([^"]+)":/gm)].map(([, key]) => key);
    assert.equal(keys.length, new Set(keys).size);
  });
}

test("translations are translations", () => {
  for (const [language, texts] of Object.entries(locales)) {
    if (language === "en") continue;
    const same = Object.keys(english).filter((key) => texts[key] === english[key] && /\s/.test(english[key] ?? ""));
    // A few texts may equal the English ones, such as the French word for pages.
    assert.ok(same.length <= 2, `${language}: ${same}`);
  }
});

test("every text that the pages name is there", () => {
  const families = new Set(Object.keys(english).map((key) => key.split(".")[0]));
  const missing = new Set();
  for (const source of sources(new URL("verify/", web))) {
    for (const [, key] of source.matchAll(/\bt\(\s*["']([a-z]+\.[\w.]+)["']/g)) if (key && !(key in english)) missing.add(key);
    for (const [, key] of source.matchAll(/\{\{t:([\w.]+)\}\}/g)) if (key && !(key in english)) missing.add(key);
    for (const [, key] of source.matchAll(/["']([a-z]+(?:\.\w+)+)["']/g)) {
      if (key && families.has(key.split(".")[0] ?? "") && !key.endsWith(".js") && !(key in english)) missing.add(key);
    }
  }
  assert.deepEqual([...missing], []);
});

test("every failure code of the contract but screening's has its text", () => {
  const codes = [2001, 2002, 2003, 2403, 2404, 2405, 2101, 2102, 2103, 2104, 2105, 2201, 2202, 2203, 2204, 2306, 2307, 2501, 2511, 2507, 2512, 2505, 2506, 2508, 2509, 2502, 2503, 2504, 2701, 2703];
  for (const code of codes) for (const part of ["title", "fix"]) assert.ok(english[`code.${code}.${part}`], `code.${code}.${part}`);
  assert.ok(!("code.2702.title" in english));
});
