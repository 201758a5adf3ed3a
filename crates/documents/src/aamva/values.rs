//! Element values to names, dates, sex, height and postal codes. What does not make sense is `None`, never a guess.

use crate::reading::PartialDate;

/// A holder's name taken apart.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Name {
    pub(super) last: Option<String>,
    pub(super) first: Option<String>,
    pub(super) middle: Vec<String>,
    pub(super) suffix: Option<String>,
}

/// Whether a value says that there is nothing to say.
pub(super) fn is_none(value: &str) -> bool {
    ["", "NONE", "UNAVL", "UNAVAIL", "UNK", "N/A", "NA"]
        .iter()
        .any(|none| value.eq_ignore_ascii_case(none))
}

/// The name, from whichever elements hold it: family name DCS (v1: DAB), first name DAC, middle names DAD, or all given
/// names in DCT (v2, v3), or everything in DAA (v1).
pub(super) fn name<'a>(element: &dyn Fn(&str) -> Option<&'a str>) -> Name {
    let suffix = ["DCU", "DAE"]
        .into_iter()
        .filter_map(element)
        .find(|v| !is_none(v))
        .map(str::to_owned);
    let Some(last) = element("DCS").or_else(|| element("DAB")) else {
        let mut name = element("DAA").map(joined).unwrap_or_default();
        name.first = name
            .first
            .or_else(|| element("DAC").filter(|v| !is_none(v)).map(str::to_owned));
        name.suffix = name.suffix.or(suffix);
        return name;
    };
    let mut name = Name {
        suffix,
        ..Name::default()
    };
    // Some issuers put the suffix behind the family name.
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
        // All given names together: the first word is the first name, where no comma says otherwise.
        None => match element("DCT").unwrap_or_default() {
            given if given.contains(',') => parts(given, &[',']),
            given => parts(given, &[' ']),
        },
    };
    given.retain(|g| !is_none(g));
    if !given.is_empty() {
        name.first = Some(given.remove(0));
    }
    name.middle = given.iter().flat_map(|g| parts(g, &[' '])).collect();
    name.middle.extend(
        element("DAD")
            .map(|middle| parts(middle, &[',', ' ']))
            .unwrap_or_default(),
    );
    name.middle.retain(|m| !is_none(m));
    name
}

/// A whole name in one element: `LAST,FIRST,MIDDLE,SUFFIX`, `LAST, FIRST MIDDLE` (`$` and `@` stand for commas on some
/// cards), or words in speaking order.
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
        given.retain(|g| !is_none(g));
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

/// The text with single blanks, unless it is empty.
fn filled(text: &str) -> Option<String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    (!words.is_empty()).then(|| words.join(" "))
}

/// `MMDDCCYY` (United States) or `CCYYMMDD` (Canada, version 1, and whoever confuses them). No date of our centuries
/// reads both ways. Separators and stray characters are passed over.
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

/// DBC: 1 or M, 2 or F, 9 (not specified), 0 (version 1: unknown) or X.
pub(super) fn sex(value: &str) -> Option<char> {
    match value.to_ascii_uppercase().as_str() {
        "1" | "M" | "MALE" => Some('M'),
        "2" | "F" | "FEMALE" => Some('F'),
        "9" | "0" | "X" => Some('X'),
        _ => None,
    }
}

/// DAU: `070 in`, `178 cm`, `5'06"`, version 1's `506` (feet and inches), bare inches or centimetres.
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
        // No height in centimetres lies above 299, and none in inches above 99.
        [n] if n >= 300 => feet(n / 100, n % 100)?,
        [n] if n < 100 => inches(n),
        [n] => n,
        _ => return None,
    };
    (50..=280).contains(&cm).then_some(cm)
}

/// DAV: centimetres.
pub(super) fn centimetres(value: &str) -> Option<u16> {
    value.trim().parse().ok().filter(|cm| (50..=280).contains(cm))
}

/// DAK: five digits, `-` and four more unless those are zeros; other countries' codes as written.
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
