// A searchable list of countries: the combobox pattern of ARIA 1.2 with a list box. The search accepts a name in
// the page's language or in English, or a code, and ignores accents and case.
import { announce, button, h, icon } from "./dom.js";
import { countryName, language, t } from "./i18n.js";

/** @param {string} text */
const plain = (text) => text.normalize("NFD").replace(/\p{M}/gu, "").toLocaleLowerCase().replace(/[’']/g, "'");

/**
 * @param {{id: string, label: string, countries: import("./api.js").Country[], value: string, onchange: (alpha3: string) => void,
 *   describedby?: string}} options
 * @returns {{element: HTMLElement, input: HTMLInputElement}}
 */
export function countryBox({ id, label, countries, value, onchange, describedby }) {
  const entries = countries
    .map((country) => {
      const name = countryName(country.alpha2, country.name);
      const english = countryName(country.alpha2, country.name, "en");
      return { alpha3: country.alpha3, name, search: [name, english, country.name].map(plain), codes: [country.alpha2, country.alpha3].map((code) => code.toLowerCase()) };
    })
    .sort((a, b) => a.name.localeCompare(b.name, language()));
  let chosen = entries.find((entry) => entry.alpha3 === value) ?? null;
  /** @type {typeof entries} */
  let shown = [];
  let active = -1;

  const input = h("input", {
    id,
    type: "text",
    role: "combobox",
    "aria-expanded": "false",
    "aria-controls": `${id}-list`,
    "aria-autocomplete": "list",
    "aria-describedby": describedby,
    autocomplete: "off",
    autocapitalize: "off",
    spellcheck: "false",
    placeholder: t("document.search"),
    value: chosen?.name ?? "",
  });
  const list = h("ul", { id: `${id}-list`, role: "listbox", "aria-label": label, hidden: true });
  const none = h("p", { class: "no-country", hidden: true }, t("document.none"));
  const clear = button("plain", "", () => {
    choose(null);
    input.value = "";
    input.focus();
    open();
  });
  clear.classList.add("clear");
  clear.setAttribute("aria-label", t("document.clear"));
  clear.append("✕");

  /** @param {typeof chosen} entry */
  function choose(entry) {
    chosen = entry;
    if (entry) input.value = entry.name;
    clear.hidden = !input.value;
    onchange(entry?.alpha3 ?? "");
  }

  function open() {
    const text = chosen && input.value === chosen.name ? "" : plain(input.value.trim());
    const found = entries.filter(({ search, codes }) => !text || codes.includes(text) || search.some((name) => name.includes(text)));
    // Entries that begin with the text come first.
    shown = text ? found.sort((a, b) => Number(!starts(a, text)) - Number(!starts(b, text))) : found;
    list.replaceChildren(
      ...shown.map((entry, i) =>
        h("li", { id: `${id}-${i}`, role: "option", "aria-selected": String(entry === chosen), "data-i": i }, entry.name, entry === chosen ? icon("check") : null),
      ),
    );
    list.hidden = !shown.length;
    none.hidden = Boolean(shown.length);
    input.setAttribute("aria-expanded", String(shown.length > 0));
    activate(text && shown.length ? 0 : shown.findIndex((entry) => entry === chosen));
    if (text) announce(shown.length ? t("document.count", { count: shown.length }) : t("document.none"));
  }

  /** @param {{search: string[], codes: string[]}} entry @param {string} text */
  const starts = (entry, text) => entry.codes.includes(text) || entry.search.some((name) => name.startsWith(text));

  /** @param {number} i */
  function activate(i) {
    list.querySelector(".active")?.classList.remove("active");
    active = i;
    const option = /** @type {HTMLElement | undefined} */ (list.children[i]);
    if (option) {
      option.classList.add("active");
      input.setAttribute("aria-activedescendant", option.id);
      list.scrollTop = option.offsetTop - list.clientHeight / 2 + option.clientHeight / 2;
    } else input.removeAttribute("aria-activedescendant");
  }

  function close() {
    list.hidden = none.hidden = true;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
    active = -1;
  }

  input.addEventListener("input", () => {
    if (chosen && input.value !== chosen.name) {
      chosen = null;
      onchange("");
    }
    clear.hidden = !input.value;
    open();
  });
  input.addEventListener("click", () => list.hidden && open());
  input.addEventListener("focus", () => input.select());
  input.addEventListener("keydown", (event) => {
    const { key } = event;
    if (key === "ArrowDown" || key === "ArrowUp") {
      event.preventDefault();
      if (list.hidden) return open();
      const step = key === "ArrowDown" ? 1 : -1;
      activate((active + step + shown.length + (active < 0 && step < 0 ? 1 : 0)) % shown.length);
    } else if (key === "Enter" && !list.hidden && shown[active]) {
      event.preventDefault();
      choose(shown[active]);
      close();
    } else if (key === "Escape" && !list.hidden) {
      event.preventDefault();
      event.stopPropagation();
      close();
    }
  });
  input.addEventListener("blur", () => {
    // A fully typed name or code selects its entry.
    if (!chosen && input.value.trim()) {
      const text = plain(input.value.trim());
      const exact = entries.find(({ search, codes }) => search.includes(text) || codes.includes(text));
      if (exact) choose(exact);
    }
    close();
  });
  // If the list took the focus, the field's blur would close it before the tap is handled.
  list.addEventListener("mousedown", (event) => event.preventDefault());
  list.addEventListener("click", (event) => {
    const option = /** @type {HTMLElement} */ (event.target).closest("li");
    const entry = shown[Number(option?.dataset["i"])];
    if (!entry) return;
    choose(entry);
    close();
  });
  clear.hidden = !input.value;
  return { element: h("div", { class: "combobox" }, icon("search"), input, clear, list, none), input };
}
