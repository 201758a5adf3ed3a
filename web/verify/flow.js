// The steps of a verification, what each still needs, and the steps that a failure repeats. Pure functions
// without page or network.

/** @typedef {import("./api.js").Country} Country */
/** @typedef {import("./api.js").Current} Current */
/** @typedef {"front" | "back" | "selfie"} Side */
/** `ofPerson`: a person reviews it, because every try of the challenge failed. @typedef {{blob: Blob, name: string, problems: string[], accepted: boolean, source: "camera" | "file", ofPerson?: boolean, reading?: Reading | null}} Picture */

/** What the server read in a picture of a document (POST /v2/sdk/session/reading), for which file and when (ms). Without `readingId`, the server no longer has the picture.
 * @typedef {{readingId: string, file: string, codes: number[], hints: string[], country: string | null, documentNumber: string | null,
 *   fields: Record<string, {value: string, printed?: string}>, at: number}} Reading */

/**
 * The applicant's input until now, which survives a reload.
 * @typedef {object} Work
 * @property {boolean} consented
 * @property {"" | "here"} device
 * @property {Record<string, string>} details typed values by field of the contract; dob as MM/DD/YYYY
 * @property {Record<string, {value: string, printed?: string}>} proposed what the document says, by field
 * @property {string} documentNumber as read
 * @property {boolean} detailsDone
 * @property {Record<string, string>} refused fields that the server refused → key of the message
 * @property {string} country of the document, alpha-3
 * @property {string} type
 * @property {boolean} documentDone
 * @property {Partial<Record<Side, Picture>>} pictures
 * @property {boolean} noBack the document is one-sided
 * @property {Partial<Record<Side, number>>} doubts how often a poor picture was rejected
 * @property {string} key idempotency key of the attempt that is being sent
 * @property {boolean} ready everything is confirmed and can be sent
 * @property {number} seen number of attempts whose outcome the applicant has begun to correct
 */

/** The session's facts. @typedef {{current: Current, countries: Country[], preselected: string | null, desktop: boolean, claimed: boolean}} Facts */

/** @returns {Work} */
export const newWork = () => ({
  consented: false,
  device: "",
  details: {},
  proposed: {},
  documentNumber: "",
  detailsDone: false,
  refused: {},
  country: "",
  type: "",
  documentDone: false,
  pictures: {},
  noBack: false,
  doubts: {},
  key: "",
  ready: false,
  seen: 0,
});

/** Personal fields in the page's order. */
export const FIELDS = ["firstName", "middleName", "lastName", "dob", "nationality", "country", "street", "street2", "city", "state", "postcode", "phone", "email", "ssn"];

/** @param {Facts} facts @param {string} alpha3 */
export const findCountry = (facts, alpha3) => facts.countries.find((country) => country.alpha3 === alpha3);

/** The fields that the Flow requests of every applicant. @param {Facts} facts */
function defaultFields(facts) {
  const asked = facts.current.defaultFields ?? {};
  return FIELDS.filter((field) => asked[field] === true);
}

/**
 * The fields to request: the Flow's, with the override of the deciding country (residence, else nationality, else
 * document). The field that names the deciding country always remains, because otherwise the override would not apply.
 * @param {Facts} facts @param {Work} work @returns {string[]}
 */
export function fieldsFor(facts, work) {
  const base = defaultFields(facts);
  const { country, nationality } = work.details;
  const byCountry = base.includes("country") && country;
  const byNationality = base.includes("nationality") && nationality;
  const deciding = byCountry || byNationality || work.country;
  const asked = new Set(["firstName", "lastName", ...((deciding && findCountry(facts, deciding)?.fields) || base)]);
  if (base.includes("country")) asked.add("country");
  if (!byCountry && base.includes("nationality")) asked.add("nationality");
  return FIELDS.filter((field) => asked.has(field));
}

/** Whether a document is required. @param {Facts} facts @param {Work} work */
export function asksDocument(facts, work) {
  const residence = findCountry(facts, work.details["country"] || work.details["nationality"] || "");
  if (residence && !residence.types.length) return false;
  return facts.current.defaultDocumentTypes.length > 0 || Boolean(residence?.types.length);
}

/** Whether the Flow asks anybody for a document and a selfie, which the consent then covers. @param {Facts} facts */
export const mayAskDocument = (facts) => facts.current.defaultDocumentTypes.length > 0 || facts.countries.some(({ types, restricted }) => !restricted && types.length > 0);

/** Whether residence or nationality allows only a residence permit (contract §4.6 rule 5). @param {Facts} facts @param {Work} work */
export function permitOnly(facts, work) {
  return ["country", "nationality"].map((field) => work.details[field]).find((code) => code && findCountry(facts, code)?.restricted) ?? "";
}

/** The document types of a country that this applicant can use. @param {Facts} facts @param {Work} work @param {string} alpha3 */
export function typesFor(facts, work, alpha3) {
  const country = findCountry(facts, alpha3);
  if (!country || country.restricted) return [];
  return permitOnly(facts, work) ? country.types.filter(({ type }) => type === "RESIDENCY_CARD") : country.types;
}

/** The document, if only one is possible. @param {Facts} facts @param {Work} work */
export function onlyChoice(facts, work) {
  const choices = [];
  for (const country of facts.countries) {
    for (const { type, supported } of typesFor(facts, work, country.alpha3)) {
      if (supported) choices.push({ country: country.alpha3, type });
      if (choices.length > 1) return null;
    }
  }
  return choices[0] ?? null;
}

/** Whether the document is photographed before its details are confirmed. @param {Facts} facts */
export const documentFirst = (facts) => !facts.current.detailsFirst;

/** The readings of the document's pictures, the latest last. @param {Work} work @returns {Reading[]} */
function readings(work) {
  const all = [work.pictures.front?.reading, work.pictures.back?.reading];
  return all.flatMap((reading) => reading ?? []).sort((one, other) => one.at - other.at);
}

/**
 * Takes what the pictures say into the entries that are asked for, in place of what earlier pictures said. Entries that
 * the person typed or corrected stay.
 * @param {Facts} facts @param {Work} work
 */
export function adopt(facts, work) {
  const before = JSON.stringify(work.proposed);
  for (const [field, read] of Object.entries(work.proposed)) if (work.details[field] === read.value) delete work.details[field];
  work.proposed = {};
  work.documentNumber = "";
  /** @type {Reading["fields"]} */
  const said = {};
  for (const { fields, documentNumber } of readings(work)) {
    Object.assign(said, fields);
    work.documentNumber = documentNumber ?? work.documentNumber;
  }
  const { firstName, middleName } = said;
  const isSplit = firstName && middleName && !fieldsFor(facts, work).includes("middleName");
  if (isSplit) said["firstName"] = joined(firstName, middleName);
  // A nationality may ask for further fields.
  for (let pass = 0; pass < 2; pass += 1) {
    for (const field of fieldsFor(facts, work)) {
      const read = said[field];
      if (!read || work.proposed[field]) continue;
      work.proposed[field] = read;
      work.details[field] ||= read.value;
    }
  }
  // What the document says now is confirmed again.
  if (JSON.stringify(work.proposed) !== before) work.detailsDone = false;
}

/** Given names in one field. @param {{value: string, printed?: string}} first @param {{value: string, printed?: string}} others */
const joined = (first, others) => ({
  value: `${first.value} ${others.value}`,
  ...(first.printed || others.printed ? { printed: `${first.printed ?? first.value} ${others.printed ?? others.value}` } : {}),
});

/** @param {Facts} facts @param {Work} work */
export const chosenType = (facts, work) => findCountry(facts, work.country)?.types.find(({ type }) => type === work.type);

/**
 * The steps in order, with their completion.
 * @param {Facts} facts @param {Work} work @returns {{id: string, done: boolean}[]}
 */
export function steps(facts, work) {
  const list = [{ id: "consent", done: work.consented }];
  const document = asksDocument(facts, work);
  if (document && facts.desktop && !facts.claimed) list.push({ id: "device", done: work.device === "here" });
  const missing = fieldsFor(facts, work).some((field) => !work.details[field] || work.refused[field]);
  const details = { id: "details", done: work.detailsDone && !missing };
  if (!document) return [...list, details];
  if (!documentFirst(facts)) list.push(details);
  // What a person says of residence and nationality may leave only another document.
  const isPossible = typesFor(facts, work, work.country).some(({ type, supported }) => supported && type === work.type);
  if (!onlyChoice(facts, work) || (work.type && !isPossible)) list.push({ id: "document", done: work.documentDone && isPossible });
  list.push({ id: "front", done: Boolean(work.pictures.front?.accepted) });
  if (chosenType(facts, work)?.needsBack) list.push({ id: "back", done: Boolean(work.pictures.back?.accepted) || work.noBack });
  if (documentFirst(facts)) list.push(details);
  list.push({ id: "selfie", done: Boolean(work.pictures.selfie?.accepted) });
  return list;
}

/** The first incomplete step; `upload` if all are complete. @param {Facts} facts @param {Work} work */
export const nextStep = (facts, work) => steps(facts, work).find(({ done }) => !done)?.id ?? "upload";

/** Whether this step is the only incomplete one. Its button then sends the attempt. @param {Facts} facts @param {Work} work @param {string} id */
export const isLast = (facts, work, id) => steps(facts, work).every((step) => step.done || step.id === id);

/** The steps to repeat for each failure code. Codes that an applicant cannot correct have none. @type {Record<number, string[]>} */
const REDO = {
  2001: ["front"],
  2002: ["front", "back"],
  2003: ["front", "back"],
  2403: ["front", "back"],
  2404: ["document", "front", "back"],
  2405: ["selfie"],
  2101: ["selfie"],
  2102: ["selfie"],
  2103: ["selfie"],
  2104: ["selfie"],
  2105: ["selfie"],
  2201: ["selfie"],
  2202: ["selfie"],
  2203: ["selfie"],
  2204: ["selfie"],
  2306: [],
  2307: [],
  2501: ["front", "back"],
  2511: ["front", "back"],
  2507: ["back"],
  2512: ["back"],
  2505: ["front", "back"],
  2506: ["front", "back"],
  2508: ["document"],
  2509: ["document", "front", "back"],
  2502: ["details"],
  2503: ["front", "back"],
  2504: ["details"],
  2701: [],
  2703: ["front", "back"],
};

/** Codes that a new document photo may also correct. */
export const FACE_MISMATCH = [2201, 2202, 2204];

/** Codes of data that differ from the document's, or could not be compared with it. */
const DIFFERENCES = [2502, 2503, 2504];

/**
 * What a failed attempt means for the applicant: codes to explain, steps to repeat, and whether repeating helps. If the
 * document is not the expected person's, only another document helps.
 * @param {{codes: number[], isUnexpected?: boolean}} outcome @param {boolean} hasDocument whether the applicant sends one
 * @returns {{codes: (number | "unexpected")[], redo: string[]}}
 */
export function remedy({ codes, isUnexpected = false }, hasDocument) {
  if (isUnexpected) {
    const others = remedy({ codes: codes.filter((code) => !DIFFERENCES.includes(code)) }, hasDocument);
    if (others.codes.length && !others.redo.length) return others;
    const redo = hasDocument ? ["document", "front", "back", ...others.redo] : [];
    return { codes: ["unexpected", ...others.codes], redo: [...new Set(redo)] };
  }
  // Screening results are never shown, whatever the server sends.
  const shown = codes.filter((code) => code !== 2702);
  const hopeless = shown.filter((code) => REDO[code]?.length === 0);
  const redo = [...new Set(shown.flatMap((code) => REDO[code] ?? ["front", "back", "selfie"]))];
  const order = ["details", "document", "front", "back", "selfie"];
  return { codes: hopeless.length ? hopeless : shown, redo: hopeless.length ? [] : order.filter((step) => redo.includes(step)) };
}

/** Discards a picture and what it said. Another one may say something else, which is confirmed again. @param {Facts} facts @param {Work} work @param {Side} side */
export function drop(facts, work, side) {
  delete work.pictures[side];
  adopt(facts, work);
}

/** Clears the input of the steps to repeat, and only that. @param {Facts} facts @param {Work} work @param {string[]} redo */
export function reopen(facts, work, redo) {
  work.key = "";
  work.ready = false;
  for (const step of redo) {
    if (step === "details") work.detailsDone = false;
    else if (step === "document") work.documentDone = false;
    else {
      const side = /** @type {Side} */ (step);
      drop(facts, work, side);
      delete work.doubts[side];
    }
  }
}

/** The file field of a document's side. @param {string} type @param {Side} side */
export function fileField(type, side) {
  if (side === "selfie") return "selfie";
  const stem = { PASSPORT: "passport", DRIVERS: "drivers", ID_CARD: "idCard", RESIDENCY_CARD: "residency" }[type] ?? "";
  return stem + (side === "front" ? "Front" : "Back");
}

/** @param {string} field @returns {Side | null} */
export function sideOfField(field) {
  if (field === "selfie") return "selfie";
  return field.endsWith("Front") ? "front" : field.endsWith("Back") ? "back" : null;
}
