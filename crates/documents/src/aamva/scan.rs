//! Splits a payload's text into its header and elements.
//!
//! It relies on identifiers only: the header may be at any position, and its offsets and lengths are never
//! used.

use std::collections::BTreeMap;

/// A payload's header data and elements.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Payload {
    pub(super) version: Option<u8>,
    pub(super) iin: Option<String>,
    pub(super) subfile: Option<String>,
    /// Values by three-letter identifier, without surrounding blanks. The first non-empty value of an
    /// identifier is used.
    pub(super) elements: BTreeMap<String, String>,
}

/// A payload without a header needs this many common elements to be accepted.
const MIN_COMMON_ELEMENTS: usize = 6;

/// Splits a payload. Returns `None` if it does not follow the standard.
pub(super) fn scan(text: &str) -> Option<Payload> {
    let mut payload = Payload::default();
    let header = header(text);
    let mut body = text;
    if let Some(header) = header {
        payload.version = Some(header.version);
        payload.iin = Some(header.iin.to_owned());
        body = skip_designators(header.rest, &mut payload.subfile);
    }
    payload.elements = by_separators(body);
    // Scanners that act as keyboards may lose every line end.
    if usual(&payload.elements) < MIN_COMMON_ELEMENTS {
        let run = by_identifiers(body);
        if usual(&run) > usual(&payload.elements) {
            payload.elements = run;
        }
    }
    (header.is_some() || usual(&payload.elements) >= MIN_COMMON_ELEMENTS).then_some(payload)
}

/// The data of a header.
#[derive(Clone, Copy)]
struct Header<'a> {
    iin: &'a str,
    version: u8,
    /// The text from the first subfile designator on.
    rest: &'a str,
}

/// Parses `ANSI ` or `AAMVA`, then the IIN (six digits) and the version (two). From version 2 on, two digits
/// of jurisdiction version follow. The last two digits are the number of subfiles.
fn header(text: &str) -> Option<Header<'_>> {
    ["ANSI", "AAMVA"]
        .iter()
        .flat_map(|mark| text.match_indices(mark))
        .find_map(|(at, mark)| {
            let after = text[at + mark.len()..].trim_start_matches(' ');
            let digits = after.bytes().take_while(u8::is_ascii_digit).count();
            if digits < 8 {
                return None;
            }
            let version: u8 = after[6..8].parse().ok()?;
            let length = if version < 2 { 10 } else { 12 };
            Some(Header {
                iin: &after[..6],
                version,
                rest: &after[length.min(digits)..],
            })
        })
}

/// Skips the subfile designators (two letters, four digits of offset, four of length) and records the first
/// card subfile.
fn skip_designators<'a>(mut rest: &'a str, subfile: &mut Option<String>) -> &'a str {
    while let Some((kind, after)) = rest.split_at_checked(2)
        && let Some((numbers, next)) = after.split_at_checked(8)
    {
        if !kind.bytes().all(|b| b.is_ascii_uppercase()) || !numbers.bytes().all(|b| b.is_ascii_digit()) {
            break;
        }
        if subfile.is_none() && CARD_SUBFILES.contains(&kind) {
            *subfile = Some(kind.to_owned());
        }
        rest = next;
    }
    rest
}

/// Licence, identity card, enhanced licence.
const CARD_SUBFILES: [&str; 3] = ["DL", "ID", "EN"];

/// Splits elements at line ends or other control characters; without those, at `|` or at a literal `\n`.
fn by_separators(body: &str) -> BTreeMap<String, String> {
    let is_control = |c: char| c.is_control() && c != '\t';
    let pieces: Vec<&str> = if body.trim().contains(is_control) {
        body.split(is_control).collect()
    } else if body.contains('|') {
        body.split('|').collect()
    } else {
        body.split("\\n").collect()
    };
    let mut elements = BTreeMap::new();
    for piece in pieces {
        let piece = piece.trim();
        let piece = without_subfile(piece).unwrap_or(piece);
        if let Some((id, value)) = piece.split_at_checked(3)
            && is_identifier(id)
        {
            keep(&mut elements, id, value);
        }
    }
    elements
}

/// Removes the subfile's two letters, which precede its first element.
fn without_subfile(piece: &str) -> Option<&str> {
    let (kind, element) = piece.split_at_checked(2)?;
    let id = element.get(..3)?;
    let card = CARD_SUBFILES.contains(&kind) && id.starts_with('D') && is_identifier(id);
    // A jurisdiction-specific subfile, such as ZV, has the elements ZVA, ZVB, ….
    let own = kind.starts_with('Z') && id.starts_with(kind);
    (card || own).then_some(element)
}

/// `D` and two letters from `AA` to `DZ`, or `Z` and two letters.
fn is_identifier(id: &str) -> bool {
    matches!(
        id.as_bytes(),
        [b'D', b'A'..=b'D', b'A'..=b'Z'] | [b'Z', b'A'..=b'Z', b'A'..=b'Z']
    )
}

fn keep(elements: &mut BTreeMap<String, String>, id: &str, value: &str) {
    let value = value.trim_matches(|c: char| c.is_whitespace() || c.is_control());
    let slot = elements.entry(id.to_owned()).or_default();
    if slot.is_empty() {
        value.clone_into(slot);
    }
}

/// The elements that nearly every card has.
const COMMON_IDENTIFIERS: [&str; 16] = [
    "DAA", "DAC", "DAD", "DAG", "DAI", "DAJ", "DAK", "DAQ", "DAU", "DAY", "DBA", "DBB", "DBC", "DBD", "DCS",
    "DCT",
];

fn usual(elements: &BTreeMap<String, String>) -> usize {
    COMMON_IDENTIFIERS
        .iter()
        .filter(|id| elements.contains_key(**id))
        .count()
}

/// Further identifiers that end a value in a payload without separators.
const OTHERS: [&str; 32] = [
    "DAB", "DAE", "DAF", "DAH", "DAR", "DAS", "DAT", "DAW", "DAX", "DAZ", "DBE", "DBF", "DBG", "DBH", "DBN",
    "DBS", "DCA", "DCB", "DCD", "DCE", "DCF", "DCG", "DCK", "DCL", "DCU", "DDA", "DDB", "DDE", "DDF", "DDG",
    "DDK", "DDL",
];

/// Splits a payload without separators. An element begins where a known identifier occurs for the first time
/// and is followed by a plausible value.
fn by_identifiers(body: &str) -> BTreeMap<String, String> {
    let mut starts: Vec<(usize, &str)> = Vec::new();
    let mut at = 0;
    while at < body.len() {
        if let Some(id) = body.get(at..at + 3)
            && (COMMON_IDENTIFIERS.contains(&id) || OTHERS.contains(&id))
            && !starts.iter().any(|&(_, seen)| seen == id)
            && fits(id, &body[at + 3..])
        {
            starts.push((at, id));
            at += 3;
        } else {
            at += 1;
        }
    }
    let mut elements = BTreeMap::new();
    for (i, &(start, id)) in starts.iter().enumerate() {
        let end = starts.get(i + 1).map_or(body.len(), |next| next.0);
        keep(&mut elements, id, &body[start + 3..end]);
    }
    elements
}

/// Whether text begins like a value of the element.
fn fits(id: &str, rest: &str) -> bool {
    let begins = |count: usize, test: fn(&u8) -> bool| {
        rest.len() >= count && rest.bytes().take(count).all(|b| test(&b))
    };
    match id {
        "DBA" | "DBB" | "DBD" | "DDB" => begins(8, u8::is_ascii_digit),
        "DBC" => rest.starts_with(['0', '1', '2', '9', 'M', 'F', 'X']),
        "DAJ" => begins(2, u8::is_ascii_uppercase),
        "DAU" => begins(2, |b| b.is_ascii_digit() || *b == b' '),
        "DAY" | "DAZ" | "DCG" => begins(3, u8::is_ascii_uppercase),
        "DDE" | "DDF" | "DDG" => rest.starts_with(['T', 'N', 'U']),
        "DDA" => rest.starts_with(['F', 'M', 'N', 'I']),
        "DDK" | "DDL" => rest.starts_with(['1', '0']),
        "DCS" | "DCT" | "DAA" | "DAC" | "DAD" => rest.starts_with(char::is_alphabetic),
        _ => true,
    }
}
