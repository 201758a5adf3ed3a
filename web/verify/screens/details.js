// The form: only fields that the Flow and the country's override request. Errors are shown at their fields.
import * as app from "../app.js";
import { countryBox } from "../combobox.js";
import { actions, announce, button, h, heading, icon, lead, note } from "../dom.js";
import { track } from "../events.js";
import * as flow from "../flow.js";
import { countryName, t } from "../i18n.js";
import { redraw } from "../router.js";
import { hasCamera, zoomable } from "./picture.js";
import { fault, latin, normal, tidy, usDate, westernDigits } from "../validate.js";

const LATIN = ["firstName", "middleName", "lastName", "street", "street2", "city", "state"];

/** Attributes for autofill and keyboards, by field. @type {Record<string, Record<string, string>>} */
const HELP = {
  firstName: { autocomplete: "given-name", autocapitalize: "words" },
  middleName: { autocomplete: "additional-name", autocapitalize: "words" },
  lastName: { autocomplete: "family-name", autocapitalize: "words" },
  phone: { autocomplete: "tel", inputmode: "tel", type: "tel", dir: "ltr" },
  email: { autocomplete: "email", inputmode: "email", type: "email", autocapitalize: "off", dir: "ltr" },
  street: { autocomplete: "address-line1" },
  street2: { autocomplete: "address-line2" },
  city: { autocomplete: "address-level2" },
  state: { autocomplete: "address-level1" },
  postcode: { autocomplete: "postal-code", dir: "ltr" },
  ssn: { autocomplete: "off", inputmode: "numeric", dir: "ltr" },
};

let isPressing = false;
addEventListener("pointerdown", () => (isPressing = true), true);
for (const end of ["pointerup", "pointercancel"]) addEventListener(end, () => (isPressing = false), true);

/** Delays an error, because showing it at once would move a button while it is pressed. @param {() => void} show */
const afterPress = (show) => void (isPressing ? setTimeout(afterPress, 50, show) : show());

/** @typedef {{element: HTMLElement, focus: () => void, read: () => string, complain: (key: string) => void}} Field */

/** @type {import("../router.js").Render} */
export function render() {
  const facts = app.facts();
  const work = app.currentWork();
  const wanted = flow.fieldsFor(facts, work);
  /** @type {Map<string, Field>} */
  const fields = new Map();
  const restrictions = () => restricted(facts, work);

  /** @param {string} name @param {string} value */
  const changed = (name, value) => {
    if (value) work.details[name] = value;
    else delete work.details[name];
    delete work.refused[name];
    work.detailsDone = false;
    work.key = "";
    app.save();
  };
  for (const name of wanted) {
    const changedHere = (/** @type {string} */ value) => {
      changed(name, value);
      // Another country may request other fields.
      if (name === "country" || name === "nationality") {
        flow.adopt(facts, work);
        const now = flow.fieldsFor(facts, work);
        if (now.join() !== wanted.join()) redraw();
      }
    };
    const make = name === "dob" ? dateField : name === "country" || name === "nationality" ? placeField : textField;
    fields.set(name, make(name, work.details[name] ?? "", changedHere));
  }
  for (const [name, key] of Object.entries(work.refused)) fields.get(name)?.complain(key);

  const summary = h("div", { class: "problem" });
  const submit = async () => {
    /** @type {Field | undefined} */
    let first;
    const refused = restrictions();
    for (const [name, field] of fields) {
      const value = field.read();
      const key = refused[name] ?? (value || name !== "dob" ? fault(name, value) : dobTyped(field) ? "error.dob" : "error.required");
      field.complain(key);
      if (key) first ??= field;
      else work.details[name] = value;
    }
    if (first) {
      summary.replaceChildren(note("bad", t("details.errors")));
      announce(t("details.errors"));
      first.focus();
      // The error and the suggestion stand below the entry.
      first.element.scrollIntoView({ block: "center" });
      track("details", "failed");
      return;
    }
    work.refused = {};
    work.detailsDone = true;
    track("details", "completed");
    // The document was just photographed, so the camera is allowed and can open for the selfie without a press.
    await app.next({ opens: hasCamera() });
  };

  const form = h("form", { novalidate: true, onsubmit: (/** @type {Event} */ event) => (event.preventDefault(), submit()) });
  for (const name of wanted) {
    if (name === "country" && wanted.includes("street")) form.append(h("h2", { class: "small" }, t("details.address")));
    if (name === wanted.find((field) => field === "phone" || field === "email")) form.append(h("h2", { class: "small" }, t("details.contact")));
    form.append(/** @type {Field} */ (fields.get(name)).element);
  }
  // Entries are also corrected by suggestions, and checked when they are left.
  new MutationObserver(() => form.querySelector(".wrong") || summary.replaceChildren()).observe(form, { subtree: true, attributeFilter: ["class"] });
  const isData = !flow.asksDocument(facts, work);
  const go = h("button", { class: "primary", type: "submit" }, t(flow.isLast(facts, work, "details") && isData ? "details.send" : "page.continue"));
  form.append(summary, actions(go));
  track("details", "reached");
  const shown = shot(work);
  const isRead = wanted.some((name) => work.proposed[name]);
  const intro =
    openedAgain(facts, work) ? t("details.check")
    : isRead ? t("details.read")
    : work.country && work.documentDone ? t("details.more", { merchant: app.merchant(), country: nameOf(facts, work.country) })
    : t("details.lead");
  const document = isRead && shown ? zoomable(shown.url, t(`review.alt.${shown.side}`)) : null;
  const number = isRead && work.documentNumber ? h("p", { class: "fine number-read" }, t("details.number", { number: work.documentNumber })) : null;
  return { body: [heading(t("details.title")), lead(intro), document, number, form], cleanup: () => shown && URL.revokeObjectURL(shown.url) };
}

/** The picture to compare the entries with: the side that people can read, even if only a code on the other was read. @param {flow.Work} work */
function shot(work) {
  for (const side of /** @type {const} */ (["front", "back"])) {
    const picture = work.pictures[side];
    if (picture && picture.blob.type !== "application/pdf") return { side, url: URL.createObjectURL(picture.blob) };
  }
  return null;
}

/** @param {flow.Facts} facts @param {flow.Work} work */
const openedAgain = (facts, work) => facts.current.attempts > 0 || Object.keys(work.refused).length > 0;

/** @param {flow.Facts} facts @param {string} alpha3 */
const nameOf = (facts, alpha3) => {
  const country = flow.findCountry(facts, alpha3);
  return country ? countryName(country.alpha2, country.name) : alpha3;
};

/**
 * Countries whose residents or nationals cannot be verified, unless a residence permit is allowed.
 * @param {flow.Facts} facts @param {flow.Work} work @returns {Record<string, string>}
 */
function restricted(facts, work) {
  const permits = facts.countries.some((country) => !country.restricted && country.types.some(({ type, supported }) => type === "RESIDENCY_CARD" && supported));
  if (permits) return {};
  return Object.fromEntries(
    ["country", "nationality"].filter((field) => flow.findCountry(facts, work.details[field] ?? "")?.restricted).map((field) => [field, "error.restricted"]),
  );
}

/** A label, its hint, the control and its error. @param {string} name @param {(describedby: string) => {control: HTMLElement, input: HTMLElement}} build @param {string} [hint] @returns {{element: HTMLElement, complain: (key: string) => void, input: HTMLElement, after: HTMLElement}} */
function row(name, build, hint) {
  const id = `f-${name}`;
  const error = h("p", { class: "error", id: `${id}-error`, hidden: true });
  const describedby = `${hint ? `${id}-hint ` : ""}${id}-error`;
  const { control, input } = build(describedby);
  const after = h("div", { class: "after", role: "status" });
  const element = h(
    "div",
    { class: `field field-${name}` },
    h("label", { for: id }, t(`field.${name}`)),
    hint ? h("p", { class: "hint", id: `${id}-hint` }, hint) : null,
    control,
    after,
    error,
  );
  /** @param {string} key */
  const complain = (key) => {
    const country = key === "error.restricted" ? nameOf(app.facts(), app.currentWork().details[name] ?? "") : "";
    error.hidden = !key;
    error.replaceChildren(...(key ? [icon("alert"), t(key, { merchant: app.merchant(), country })] : []));
    element.classList.toggle("wrong", Boolean(key));
    for (const control of element.querySelectorAll("input")) {
      if (key) control.setAttribute("aria-invalid", "true");
      else control.removeAttribute("aria-invalid");
    }
  };
  return { element, complain, input, after };
}

/** @param {string} name @param {string} value @param {(value: string) => void} changed @returns {Field} */
function textField(name, value, changed) {
  const printed = app.currentWork().proposed[name]?.printed;
  const hint = printed ? t("details.printed", { text: printed }) : name === "firstName" ? t("details.latin") : name === "phone" ? t("field.phone.hint") : undefined;
  const input = h("input", { id: `f-${name}`, name, type: "text", maxlength: 255, spellcheck: "false", required: true, value, ...HELP[name] });
  const made = row(name, (describedby) => (input.setAttribute("aria-describedby", describedby), { control: input, input }), hint);
  let complained = "";
  const complain = (/** @type {string} */ key) => {
    complained = key;
    made.complain(key);
    suggest();
  };
  const proposed = app.currentWork().proposed[name];
  let suggested = " false";
  /** Offers the Latin spelling of the typed text, or what the document says if that differs. */
  function suggest() {
    const typed = normal(name, input.value);
    const isCorrected = Boolean(proposed && typed && !isSame(latin(typed), proposed.value));
    const spelled = isCorrected ? (proposed?.value ?? "") : LATIN.includes(name) && fault(name, typed) === "error.latin" ? latin(input.value) : "";
    // Leaving the field must not replace a button while it is pressed.
    if (`${spelled} ${isCorrected}` === suggested) return;
    suggested = `${spelled} ${isCorrected}`;
    made.element.classList.toggle("differs", isCorrected);
    made.after.replaceChildren(
      ...(isCorrected && proposed ? [differs(proposed.value)] : []),
      ...(spelled
        ? [
            button("secondary", t("details.suggest", { text: spelled }), () => {
              input.value = spelled;
              changed(spelled);
              complain("");
              input.focus();
            }),
          ]
        : []),
    );
  }
  suggest();
  input.addEventListener("input", () => {
    changed(tidy(input.value));
    if (complained) complain(fault(name, normal(name, input.value)));
  });
  input.addEventListener("blur", () => {
    const value = normal(name, input.value);
    if (value !== input.value) input.value = value;
    if (value) {
      changed(value);
      afterPress(() => complain(fault(name, value)));
    }
  });
  return { element: made.element, focus: () => input.focus(), read: () => normal(name, input.value), complain };
}

/** @param {string} name @param {string} value @param {(value: string) => void} changed @returns {Field} */
function placeField(name, value, changed) {
  const { countries } = app.facts();
  /** @type {HTMLInputElement | undefined} */
  let input;
  let alpha3 = value;
  const made = row(name, (describedby) => {
    const box = countryBox({
      id: `f-${name}`,
      label: t(`field.${name}`),
      countries,
      value,
      describedby,
      onchange: (next) => {
        alpha3 = next;
        made?.complain("");
        changed(next);
        compare();
      },
    });
    input = box.input;
    return { control: box.element, input: box.input };
  });
  const proposed = app.currentWork().proposed[name]?.value;
  function compare() {
    const isCorrected = Boolean(proposed && alpha3 && alpha3 !== proposed);
    made?.element.classList.toggle("differs", isCorrected);
    made?.after.replaceChildren(...(isCorrected && proposed ? [differs(nameOf(app.facts(), proposed))] : []));
  }
  compare();
  return { element: made.element, focus: () => input?.focus(), read: () => alpha3, complain: (key) => made.complain(key === "error.required" ? "error.country" : key) };
}

/** Says that an entry differs from the document. @param {string} text what the document says */
const differs = (text) => h("p", { class: "differs-note" }, icon("alert"), h("span", null, t("details.differs", { text })));

/** Whether two entries are the same but for letter case. @param {string} one @param {string} other */
const isSame = (one, other) => one.toUpperCase() === other.toUpperCase();

/** Whether any box of a date has a value. @param {Field} field */
const dobTyped = (field) => [...field.element.querySelectorAll("input")].some((input) => input.value);

/** Day, month and year in the order of the person's region; sent as MM/DD/YYYY. @param {string} name @param {string} value @param {(value: string) => void} changed @returns {Field} */
function dateField(name, value, changed) {
  const [month = "", day = "", year = ""] = value.split("/");
  const parts = [
    { part: "day", value: day, length: 2 },
    { part: "month", value: month, length: 2 },
    { part: "year", value: year, length: 4 },
  ];
  const order = new Intl.DateTimeFormat(navigator.language, { day: "2-digit", month: "2-digit", year: "numeric" })
    .formatToParts(0)
    .map(({ type }) => type);
  parts.sort((a, b) => order.indexOf(/** @type {any} */ (a.part)) - order.indexOf(/** @type {any} */ (b.part)));
  const inputs = parts.map(({ part, value, length }) =>
    h("input", { id: `f-dob-${part}`, name: `dob-${part}`, type: "text", inputmode: "numeric", autocomplete: `bday-${part}`, maxlength: length, size: length, value, required: true, "aria-describedby": "f-dob-error", dir: "ltr" }),
  );
  const error = h("p", { class: "error", id: "f-dob-error", hidden: true });
  const after = h("div", { class: "after", role: "status" });
  const element = h(
    "fieldset",
    { class: "field field-dob" },
    h("legend", null, t("field.dob")),
    h("div", { class: "date" }, ...parts.map(({ part }, i) => h("div", { class: part }, h("label", { for: `f-dob-${part}` }, t(`field.dob.${part}`)), /** @type {Node} */ (inputs[i])))),
    after,
    error,
  );
  const proposed = app.currentWork().proposed[name]?.value;
  const compare = () => {
    const typed = read();
    const isCorrected = Boolean(proposed && typed && typed !== proposed);
    element.classList.toggle("differs", isCorrected);
    after.replaceChildren(...(isCorrected && proposed ? [differs(dateText(proposed))] : []));
  };
  const text = (/** @type {string} */ part) => inputs[parts.findIndex((each) => each.part === part)]?.value ?? "";
  const read = () => usDate(text("year"), text("month"), text("day"));
  const complain = (/** @type {string} */ key) => {
    error.hidden = !key;
    error.replaceChildren(...(key ? [icon("alert"), t(key)] : []));
    element.classList.toggle("wrong", Boolean(key));
    for (const input of inputs) {
      if (key) input.setAttribute("aria-invalid", "true");
      else input.removeAttribute("aria-invalid");
    }
  };
  inputs.forEach((input, i) => {
    input.addEventListener("input", () => {
      input.value = westernDigits(input.value).replace(/\D/g, "");
      changed(read());
      compare();
      if (!element.classList.contains("wrong")) return;
      const value = read();
      complain(value ? fault("dob", value) : "error.dob");
    });
    // A full box moves the focus to the next, unless the applicant is correcting it.
    input.addEventListener("keyup", (event) => {
      if (/^\d$/.test(event.key) && input.value.length === input.maxLength && !inputs[i + 1]?.value) inputs[i + 1]?.focus();
    });
    input.addEventListener("blur", (event) => {
      if (element.contains(/** @type {Node | null} */ (event.relatedTarget)) || !inputs.every((each) => each.value)) return;
      const value = read();
      afterPress(() => complain(value ? fault("dob", value) : "error.dob"));
    });
  });
  compare();
  return { element, focus: () => inputs[0]?.focus(), read, complain };
}

/** A date of the contract (MM/DD/YYYY) as the person's region writes it. @param {string} value */
function dateText(value) {
  const [month = 1, day = 1, year = 1970] = value.split("/").map(Number);
  return new Intl.DateTimeFormat(navigator.language, { dateStyle: "long", timeZone: "UTC" }).format(Date.UTC(year, month - 1, day));
}
