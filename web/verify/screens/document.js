// Choice of document type and country. Unaccepted documents are reported here, before any photo is taken.
import * as app from "../app.js";
import { countryBox } from "../combobox.js";
import { announce, h, heading, icon, note } from "../dom.js";
import { track } from "../events.js";
import * as flow from "../flow.js";
import { countryName, t } from "../i18n.js";

/** @type {Record<string, string>} */
const TYPE_ICONS = { PASSPORT: "passport", DRIVERS: "car", ID_CARD: "card", RESIDENCY_CARD: "home" };

/** @type {import("../router.js").Render} */
export function render() {
  const facts = app.facts();
  const work = app.currentWork();
  const offered = [...new Set([...facts.current.defaultDocumentTypes, ...facts.countries.flatMap(({ types }) => types.map(({ type }) => type))])];
  const preselect = facts.preselected && flow.typesFor(facts, work, facts.preselected).some(({ supported }) => supported);
  if (!work.country && preselect) work.country = facts.preselected ?? "";

  const notes = h("div", { class: "problem" });
  const kinds = h("fieldset", { class: "types" }, h("legend", null, t("document.type")));
  const problem = h("div", { class: "problem", id: "h-documentCountry" });
  /** @type {Map<string, {button: HTMLButtonElement, hint: HTMLElement}>} */
  const choices = new Map();
  const box = countryBox({
    id: "f-documentCountry",
    label: t("document.country"),
    countries: facts.countries,
    value: work.country,
    onchange: (alpha3) => {
      if (alpha3 === work.country) return;
      choose(alpha3, work.type);
      draw();
      // The type that was pressed before the country was chosen.
      const pressed = flow.typesFor(facts, work, alpha3).find(({ type, supported }) => supported && type === wanted);
      if (pressed) take(pressed.type);
    },
  });

  /** A type that was pressed while no country was chosen. */
  let wanted = "";
  let isTaken = false;

  /** The button of a type. @param {string} type */
  function choiceOf(type) {
    const known = choices.get(type);
    if (known) return known;
    const hint = h("small", null);
    const button = h("button", { class: "choice", type: "button", value: type, onclick: () => take(type) }, icon(TYPE_ICONS[type] ?? "card"), h("span", null, t(`doctype.${type}`), hint), icon("next", "icon mark"));
    const made = { button, hint };
    choices.set(type, made);
    return made;
  }

  /** Sets the type, and discards the pictures of another one. @param {string} type */
  function setType(type) {
    if (type === work.type) return;
    work.type = type;
    work.documentDone = false;
    work.noBack = false;
    flow.drop(facts, work, "front");
    flow.drop(facts, work, "back");
  }

  /** Selects another document and discards the pictures of the previous one. @param {string} country @param {string} type */
  function choose(country, type) {
    work.country = country;
    setType(type);
    work.documentDone = false;
    work.key = "";
    problem.replaceChildren();
    box.input.removeAttribute("aria-invalid");
    box.input.removeAttribute("aria-describedby");
    app.save();
  }

  function draw() {
    const country = flow.findCountry(facts, work.country);
    const types = flow.typesFor(facts, work, work.country);
    const name = country ? countryName(country.alpha2, country.name) : "";
    const possible = types.filter(({ supported }) => supported);
    if (country && !possible.some(({ type }) => type === work.type)) setType("");
    if (possible.length === 1 && possible[0]) setType(possible[0].type);
    const permit = flow.permitOnly(facts, work);
    const permitName = permit ? countryName(flow.findCountry(facts, permit)?.alpha2 ?? permit, permit) : "";
    /** @type {Node[]} */
    const said = [];
    if (permit) said.push(note("info", t("document.permit", { country: permitName })));
    if (country?.restricted) said.push(note("bad", t("document.restricted", { country: name })));
    else if (country && !possible.length) said.push(note("bad", t("document.nothing", { country: name })));
    if (said.length) announce(said.map((each) => each.textContent).join(" "));
    const list = country && !country.restricted ? types : country ? [] : offered.map((type) => ({ type, supported: true }));
    notes.replaceChildren(...said);
    kinds.hidden = !list.length;
    // A button that stays is not replaced: it may be pressed at this moment.
    const shown = list.map(({ type, supported }) => {
      const choice = choiceOf(type);
      choice.button.disabled = !supported;
      choice.hint.textContent = supported ? "" : t("document.unsupported", { country: name });
      if (type === work.type && work.pictures.front) choice.button.setAttribute("aria-current", "true");
      else choice.button.removeAttribute("aria-current");
      return choice.button;
    });
    for (const old of kinds.querySelectorAll("button")) if (!shown.includes(old)) old.remove();
    shown.forEach((each, i) => kinds.querySelectorAll("button")[i] !== each && kinds.insertBefore(each, kinds.querySelectorAll("button")[i] ?? null));
  }

  draw();
  track("document", "reached");
  /** Goes on with a type, which needs a country. @param {string} type */
  async function take(type) {
    if (isTaken) return;
    if (!work.country) {
      wanted = type;
      problem.replaceChildren(note("bad", t("error.country")));
      box.input.setAttribute("aria-invalid", "true");
      box.input.setAttribute("aria-describedby", problem.id);
      announce(t("error.country"));
      box.input.focus();
      return;
    }
    isTaken = true;
    choose(work.country, type);
    work.documentDone = true;
    track("document", "completed");
    await app.next();
  }
  return {
    body: [
      heading(t("document.title")),
      h("div", { class: "field" }, h("label", { for: "f-documentCountry" }, t("document.country")), box.element),
      problem,
      notes,
      kinds,
    ],
  };
}
