// Filling of texts: placeholders, plurals, isolation.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fill, parts } from "../verify/message.js";

const number = (/** @type {number} */ value) => `<${value}>`;

test("placeholders and plurals are filled in one pass", () => {
  const pages = "{count, plural, one {# page of {name}} other {# pages of {name}}}";
  for (const [text, values, language, expected] of /** @type {[string, Record<string, string | number>, string, string][]} */ ([
    ["{a} and {b}", { a: "{b}", b: "B" }, "en", "{b} and B"],
    ["{a} {c}", { a: 1 }, "en", "<1> {c}"],
    ["{count, plural, one {# page} other {# pages}}", { count: 1 }, "en", "<1> page"],
    ["{count, plural, one {# page} other {# pages}}", { count: 0 }, "en", "<0> pages"],
    ["{count, plural, one {# page} other {# pages}}", { count: 0 }, "fr", "<0> page"],
    ["{n, plural, one {#} few {# strony} many {# stron} other {#}}, {x}", { n: 5, x: "#" }, "pl", "<5> stron, #"],
    ["{n, plural, one {a} other {b}}", { n: 4 }, "ar", "b"],
    ["{n, plural, one {a} other {b}} {n}", {}, "en", "{n, plural, one {a} other {b}} {n}"],
    // Nested placeholders are no plural of this page.
    [pages, { count: 1, name: "x" }, "en", "{count, plural, one {# page of x} other {# pages of x}}"],
  ])) {
    assert.equal(fill(text, values, { language, number }), expected, text);
  }
});

test("names are isolated in right-to-left texts, numbers are not", () => {
  assert.equal(fill("{a} {n}", { a: "x", n: 3 }, { language: "ar", number, isolate: true }), "\u2068x\u2069 <3>");
});

test("the parts of a text are named", () => {
  assert.deepEqual(parts("{b} {count, plural, one {# x} other {# y}} {a} z"), { names: ["a", "b", "count"], plurals: [["one", "other"]], rest: "   z" });
});
