// The contract's rules for typed fields (§4.6), shown at the field before anything is sent. Pure functions.

const MAX_TEXT = 255;

/** Transliterations of ICAO Doc 9303-3 §6 for letters outside A–Z. Other letters lose their accents. */
const ICAO = {
  Ä: "AE", Ö: "OE", Ü: "UE", ß: "SS", Æ: "AE", Œ: "OE", Ø: "OE", Å: "AA", Ñ: "N", Þ: "TH", Ð: "D", Đ: "D", Ł: "L", Ħ: "H", Ŧ: "T", ı: "I", Ĳ: "IJ",
  А: "A", Б: "B", В: "V", Г: "G", Д: "D", Е: "E", Ё: "E", Ж: "ZH", З: "Z", И: "I", Й: "I", К: "K", Л: "L", М: "M", Н: "N", О: "O", П: "P", Р: "R",
  С: "S", Т: "T", У: "U", Ф: "F", Х: "KH", Ц: "TS", Ч: "CH", Ш: "SH", Щ: "SHCH", Ъ: "IE", Ы: "Y", Ь: "", Э: "E", Ю: "IU", Я: "IA",
  Є: "IE", І: "I", Ї: "I", Ґ: "G", Ў: "U", Ђ: "D", Ј: "J", Љ: "LJ", Њ: "NJ", Ћ: "C", Џ: "DZ", Ѓ: "G", Ќ: "K", Ѕ: "DZ",
  Α: "A", Β: "V", Γ: "G", Δ: "D", Ε: "E", Ζ: "Z", Η: "I", Θ: "TH", Ι: "I", Κ: "K", Λ: "L", Μ: "M", Ν: "N", Ξ: "X", Ο: "O", Π: "P", Ρ: "R",
  Σ: "S", ς: "S", Τ: "T", Υ: "Y", Φ: "F", Χ: "CH", Ψ: "PS", Ω: "O",
};

/** Normalises blanks, and the quotes and dashes that phone keyboards insert. @param {string} text */
export const tidy = (text) =>
  text.replace(/[‘’ʼʻ`´]/g, "'").replace(/[“”]/g, '"').replace(/[‐-―]/g, "-").replace(/\s+/g, " ").trim();

/** Code points of zero in other scripts: Arabic, Persian, Devanagari, Bengali. */
const ZEROS = [0x660, 0x6f0, 0x966, 0x9e6];

/** Converts digits of other scripts to 0–9. @param {string} text */
export const westernDigits = (text) =>
  text.replace(/\p{Nd}/gu, (digit) => {
    const code = digit.codePointAt(0) ?? 0;
    const zero = ZEROS.find((zero) => code >= zero && code <= zero + 9);
    return zero ? String(code - zero) : digit;
  });

const isEnglish = (/** @type {string} */ text) => /^[\x20-\x7e]*$/.test(text);

/** The text in Latin letters as in a passport's machine-readable zone; "" if it has no known form. @param {string} text */
export function latin(text) {
  const written = [...tidy(text)].map((letter) => {
    if (isEnglish(letter)) return letter;
    const upper = letter === "ß" || letter === "ς" || letter === "ı" ? letter : letter.toUpperCase();
    const plain = /** @type {Record<string, string>} */ (ICAO)[upper.normalize("NFC")] ??
      (() => {
        const bare = upper.normalize("NFD").replace(/\p{M}/gu, "");
        return isEnglish(bare) ? bare : /** @type {Record<string, string>} */ (ICAO)[bare];
      })();
    if (plain === undefined) return undefined;
    return letter === upper && letter !== "ß" ? plain.slice(0, 1) + plain.slice(1).toLowerCase() : plain.toLowerCase();
  });
  if (written.includes(undefined)) return "";
  const result = written.join("");
  // A name in capitals keeps its capitals.
  return text === text.toUpperCase() && text !== text.toLowerCase() ? result.toUpperCase() : result;
}

/** A date as MM/DD/YYYY from its parts; "" without a date. @param {string} year @param {string} month @param {string} day */
export function usDate(year, month, day) {
  const [y, m, d] = [year, month, day].map((part) => Number(westernDigits(part.trim())));
  if (!y || !m || !d || year.trim().length !== 4) return "";
  const date = new Date(Date.UTC(y, m - 1, d));
  if (date.getUTCFullYear() !== y || date.getUTCMonth() !== m - 1 || date.getUTCDate() !== d) return "";
  return `${String(m).padStart(2, "0")}/${String(d).padStart(2, "0")}/${y}`;
}

/**
 * The key of the message for an invalid text; "" if it is valid.
 * @param {string} field @param {string} value
 */
export function fault(field, value) {
  if (!value) return "error.required";
  if (value.length > MAX_TEXT) return "error.long";
  switch (field) {
    case "firstName":
    case "middleName":
    case "lastName":
      if (!isEnglish(value)) return "error.latin";
      return /[A-Za-z]/.test(value) ? "" : "error.letter";
    case "street":
    case "street2":
    case "city":
    case "state":
      return isEnglish(value) ? "" : "error.latin";
    case "dob": {
      const [month, day, year] = value.split("/").map(Number);
      const born = Date.UTC(year ?? 0, (month ?? 1) - 1, day);
      if (Number.isNaN(born)) return "error.dob";
      if (born > Date.now()) return "error.future";
      return new Date().getUTCFullYear() - (year ?? 0) > 150 ? "error.past" : "";
    }
    case "phone": {
      const digits = value.replace(/\D/g, "").length;
      return /^\+[\d\s().-]+$/.test(value) && digits >= 7 && digits <= 15 ? "" : "error.phone";
    }
    case "email":
      return /^[^\s@]+@[^\s@]+\.[^\s@.]{2,}$/.test(value) && value.length <= 254 ? "" : "error.email";
    default:
      return "";
  }
}

/** The typed text in the form in which it is sent. @param {string} field @param {string} text */
export function normal(field, text) {
  if (field === "phone") return westernDigits(tidy(text)).replace(/^00/, "+");
  if (field === "ssn" || field === "postcode") return westernDigits(tidy(text));
  return tidy(text);
}
