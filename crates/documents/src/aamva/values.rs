//! Parses element values into names, dates, sex, height and postal codes. An invalid value gives `None`,
//! never a guess.

use crate::reading::PartialDate;

/// The parts of a holder's name.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Name {
    pub(super) last: Option<String>,
    pub(super) first: Option<String>,
    pub(super) middle: Vec<String>,
    pub(super) suffix: Option<String>,
}

/// Whether a value is a placeholder for a missing value.
pub(super) fn is_placeholder(value: &str) -> bool {
    ["", "NONE", "UNAVL", "UNAVAIL", "UNK", "N/A", "NA"]
        .iter()
        .any(|none| value.eq_ignore_ascii_case(none))
}

/// Reads the name from the elements that contain it. The family name is in DCS (v1: DAB), the first name in
/// DAC and middle names in DAD. All given names are in DCT (v2, v3); the whole name is in DAA (v1).
pub(super) fn name<'a>(element: &dyn Fn(&str) -> Option<&'a str>) -> Name {
    let suffix = ["DCU", "DAE"]
        .into_iter()
        .filter_map(element)
        .find(|v| !is_placeholder(v))
        .map(str::to_owned);
    let Some(last) = element("DCS").or_else(|| element("DAB")) else {
        let mut name = element("DAA").map(joined).unwrap_or_default();
        name.first = name
            .first
            .or_else(|| element("DAC").filter(|v| !is_placeholder(v)).map(str::to_owned));
        name.suffix = name.suffix.or(suffix);
        return name;
    };
    let mut name = Name {
        suffix,
        ..Name::default()
    };
    // Some issuers append the suffix to the family name.
    let mut last = last;
    if let Some((family, rest)) = last.split_once(',')
        && is_suffix(rest)
    {
        last = family;
        name.suffix = name.suffix.or_else(|| Some(rest.trim().to_owned()));
    }
    name.last = filled(&last.replace(',', " "));
    let mut given = match element("DAC") {
        Some(first) => parts(first, &[',']),
        // DCT has all given names: without commas, the first word is the first name.
        None => match element("DCT").unwrap_or_default() {
            given if given.contains(',') => parts(given, &[',']),
            given => parts(given, &[' ']),
        },
    };
    given.retain(|g| !is_placeholder(g));
    if !given.is_empty() {
        name.first = Some(given.remove(0));
    }
    name.middle = given.iter().flat_map(|g| parts(g, &[' '])).collect();
    name.middle.extend(
        element("DAD")
            .map(|middle| parts(middle, &[',', ' ']))
            .unwrap_or_default(),
    );
    name.middle.retain(|m| !is_placeholder(m));
    name
}

/// Parses a whole name in one element: `LAST,FIRST,MIDDLE,SUFFIX`, `LAST, FIRST MIDDLE`, or words in speaking
/// order. Some cards use `$` and `@` instead of commas.
fn joined(text: &str) -> Name {
    let commas = [',', '$', '@'];
    let mut name = Name::default();
    if text.contains(commas) {
        let mut pieces = text.split(commas).map(str::trim);
        name.last = pieces.next().and_then(filled);
        let mut given: Vec<String> = Vec::new();
        for (i, piece) in pieces.enumerate() {
            if i > 0 && is_suffix(piece) {
                name.suffix = Some(piece.to_owned());
            } else {
                given.extend(parts(piece, &[' ']));
            }
        }
        given.retain(|g| !is_placeholder(g));
        if !given.is_empty() {
            name.first = Some(given.remove(0));
        }
        name.middle = given;
    } else {
        let mut words = parts(text, &[' ']);
        if words.len() > 2 && words.last().is_some_and(|w| is_suffix(w)) {
            name.suffix = words.pop();
        }
        name.last = words.pop();
        if !words.is_empty() {
            name.first = Some(words.remove(0));
        }
        name.middle = words;
    }
    name
}

fn is_suffix(text: &str) -> bool {
    let text = text.trim().trim_end_matches('.').to_ascii_uppercase();
    [
        "JR", "SR", "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "1ST", "2ND", "3RD", "4TH", "5TH",
    ]
    .contains(&text.as_str())
}

fn parts(text: &str, separators: &[char]) -> Vec<String> {
    text.split(separators).filter_map(filled).collect()
}

/// The text with single blanks, or `None` if it is empty.
fn filled(text: &str) -> Option<String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    (!words.is_empty()).then(|| words.join(" "))
}

/// Parses `MMDDCCYY` (United States) or `CCYYMMDD` (Canada, version 1, and issuers that confuse the two). No
/// date from 1880 to 2120 is valid in both forms. Separators and other characters are ignored.
pub(super) fn date(value: &str) -> Option<PartialDate> {
    let digits: Vec<u8> = value
        .bytes()
        .filter(u8::is_ascii_digit)
        .map(|b| b - b'0')
        .take(8)
        .collect();
    let &[a, b, c, d, e, f, g, h] = digits.as_slice() else {
        return None;
    };
    let pair = |tens: u8, ones: u8| tens * 10 + ones;
    let year = |high: u8, low: u8| i16::from(high) * 100 + i16::from(low);
    [
        (year(pair(e, f), pair(g, h)), pair(a, b), pair(c, d)),
        (year(pair(a, b), pair(c, d)), pair(e, f), pair(g, h)),
    ]
    .into_iter()
    .filter(|(year, ..)| (1880..=2120).contains(year))
    .find_map(|(year, month, day)| PartialDate::from_ymd(year, month, day))
}

/// Parses DBC: 1 or M, 2 or F, 9 (not specified), 0 (version 1: unknown) or X.
pub(super) fn sex(value: &str) -> Option<char> {
    match value.to_ascii_uppercase().as_str() {
        "1" | "M" | "MALE" => Some('M'),
        "2" | "F" | "FEMALE" => Some('F'),
        "9" | "0" | "X" => Some('X'),
        _ => None,
    }
}

/// Parses DAU into centimetres: `070 in`, `178 cm`, `5'06"`, version 1's `506` (feet and inches), bare inches
/// or centimetres.
pub(super) fn height_cm(value: &str) -> Option<u16> {
    let value = value.to_ascii_uppercase();
    let numbers: Vec<u16> = value
        .split(|c: char| !c.is_ascii_digit())
        .filter(|n| !n.is_empty())
        .filter_map(|n| n.parse().ok())
        .collect();
    let inches = |n: u16| (f32::from(n) * 2.54).round() as u16;
    let feet =
        |feet: u16, rest: u16| ((3..=7).contains(&feet) && rest < 12).then(|| inches(feet * 12 + rest));
    let cm = match *numbers.as_slice() {
        [f, rest] => feet(f, rest)?,
        [n] if value.contains("CM") => n,
        // No height in centimetres exceeds 299, and none in inches exceeds 99.
        [n] if n >= 300 => feet(n / 100, n % 100)?,
        [n] if n < 100 => inches(n),
        [n] => n,
        _ => return None,
    };
    (50..=280).contains(&cm).then_some(cm)
}

/// Parses DAV, a height in centimetres.
pub(super) fn centimetres(value: &str) -> Option<u16> {
    value.trim().parse().ok().filter(|cm| (50..=280).contains(cm))
}

/// Formats DAK: five digits, and `-` with four more unless those are zeros. Other countries' codes stay as
/// written.
pub(super) fn postal_code(value: &str) -> String {
    let digits: String = value
        .chars()
        .take_while(|c| c.is_ascii_digit() || *c == '-')
        .filter(|c| *c != '-')
        .collect();
    match digits.split_at_checked(5) {
        Some((zip, more)) if more.len() == 4 && more.bytes().any(|b| b != b'0') => format!("{zip}-{more}"),
        Some((zip, _)) => zip.to_owned(),
        None => filled(value).unwrap_or_default(),
    }
}
