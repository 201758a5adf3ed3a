// Choice of document type and country. Unaccepted documents are reported here, before any photo is taken.
import * as app from "../app.js";
import { countryBox } from "../combobox.js";
import { actions, announce, h, heading, icon, note } from "../dom.js";
import { track } from "../events.js";
import * as flow from "../flow.js";
import { countryName, t } from "../i18n.js";

/** @type {Record<string, string>} */
export const TYPE_ICONS = { PASSPORT: "passport", DRIVERS: "car", ID_CARD: "card", RESIDENCY_CARD: "home" };

/** @type {import("../router.js").Render} */
export function render() {
  const facts = app.facts();
  const work = app.currentWork();
  const offered = [...new Set([...facts.current.defaultDocumentTypes, ...facts.countries.flatMap(({ types }) => types.map(({ type }) => type))])];
  const preselect = facts.preselected && flow.typesFor(facts, work, facts.preselected).some(({ supported }) => supported);
  if (!work.country && preselect) work.country = facts.preselected ?? "";

  const choices = h("div", { class: "choices" });
  const problem = h("div", { class: "problem" });
  const box = countryBox({
    id: "f-documentCountry",
    label: t("document.country"),
    countries: facts.countries,
    value: work.country,
    onchange: (alpha3) => {
      if (alpha3 === work.country) return;
      choose(alpha3, work.type);
      draw();
    },
  });

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
    choices.replaceChildren(
      ...said,
      ...(list.length
        ? [
            h(
              "fieldset",
              { class: "types" },
              h("legend", null, t("document.type")),
              ...list.map(({ type, supported }) =>
                h(
                  "label",
                  { class: `choice${supported ? "" : " off"}` },
                  h("input", { type: "radio", name: "type", value: type, checked: type === work.type, disabled: !supported, onchange: () => choose(work.country, type) }),
                  icon(TYPE_ICONS[type] ?? "card"),
                  h("span", null, t(`doctype.${type}`), supported ? null : h("small", null, t("document.unsupported", { country: name }))),
                  icon("check", "icon mark"),
                ),
              ),
            ),
          ]
        : []),
    );
  }

  draw();
  track("document", "reached");
  const go = h("button", { class: "primary", type: "submit" }, t("page.continue"));
  const submit = async (/** @type {Event} */ event) => {
    event.preventDefault();
    const chosen = flow.typesFor(facts, work, work.country).find(({ type }) => type === work.type);
    if (!chosen?.supported) {
      const text = work.country ? t("document.choose") : t("error.country");
      problem.replaceChildren(note("bad", text));
      announce(text);
      (work.country ? /** @type {HTMLElement | null} */ (choices.querySelector("input:not([disabled])")) : null)?.focus();
      if (!work.country) box.input.focus();
      return;
    }
    work.documentDone = true;
    track("document", "completed");
    await app.next();
  };
  return {
    body: [
      heading(t("document.title")),
      h(
        "form",
        { novalidate: true, onsubmit: submit },
        h("div", { class: "field" }, h("label", { for: "f-documentCountry" }, t("document.country")), box.element),
        choices,
        problem,
        actions(go),
      ),
    ],
  };
}
