// Fills the texts of web/locales: `{name}`, and ICU MessageFormat plurals that are not nested, such as
// `{count, plural, one {# page} other {# pages}}`. It knows no text and no page.

const PLURAL = /\{(\w+), plural, ((?:\w+ \{[^{}]*\}\s*)+)\}/g;

/**
 * A text with its values.
 * @param {string} text
 * @param {Record<string, string | number>} values
 * @param {{language: string, number: (value: number) => string, isolate?: boolean}} options `number` writes a number;
 *   `isolate`: names in another script must not reorder the text around them
 */
export function fill(text, values, { language, number, isolate = false }) {
  const [before, after] = isolate ? ["\u2068", "\u2069"] : ["", ""];
  // Both in one pass, so that a value is never taken for a placeholder.
  return text.replace(new RegExp(`${PLURAL.source}|\\{(\\w+)\\}`, "g"), (whole, counted, forms, name) => {
    const value = values[counted ?? name];
    if (value === undefined) return whole;
    if (counted) return form(forms, Number(value), language).replaceAll("#", number(Number(value)));
    return typeof value === "number" ? number(value) : before + value + after;
  });
}

/** The form of a plural for a number. @param {string} forms @param {number} value @param {string} language */
function form(forms, value, language) {
  const texts = Object.fromEntries([...forms.matchAll(/(\w+) \{([^{}]*)\}/g)].map(([, category, text]) => [category, text]));
  return texts[new Intl.PluralRules(language).select(value)] ?? texts["other"] ?? "";
}

/** The placeholders of a text, sorted, and the categories of its plurals. @param {string} text */
export function parts(text) {
  /** @type {Set<string>} */
  const names = new Set();
  /** @type {string[][]} */
  const plurals = [];
  const plain = text.replace(PLURAL, (_, name, forms) => {
    names.add(name);
    plurals.push([...forms.matchAll(/(\w+) \{/g)].map(([, category]) => category ?? ""));
    return "";
  });
  for (const [, name] of plain.matchAll(/\{(\w+)\}/g)) if (name) names.add(name);
  return { names: [...names].sort(), plurals, rest: plain.replace(/\{\w+\}/g, "") };
}
