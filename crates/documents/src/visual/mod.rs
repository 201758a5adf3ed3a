//! Reads the visual zone: fields by their printed labels, and the kind of document.
//!
//! A value is searched on its label's line, then under the label, then right of it. European driving licences
//! have field numbers instead of labels.
//!
//! A text that does not have its field's form is never used as its value. This module never compares sources;
//! `compare` does.

mod dates;
mod kind;
mod labels;

use std::collections::BTreeMap;

use imaging::Point;

use crate::locate::{Line, mrz_likeness};
use crate::reading::{Aamva, DocumentKind, Field, MrzReading, PartialDate, Source, field};

use dates::{DateOrder, find_dates};
use labels::{Label, fold_text, labels_in};

/// The data of the visual zone.
#[derive(Debug, Clone, Default)]
pub(crate) struct VisualZone {
    pub(crate) kind: DocumentKind,
    pub(crate) fields: BTreeMap<String, Field>,
}

/// Reads the visual zone from the lines of the upright picture, in reading order, without those of the
/// machine-readable zone.
pub(crate) fn read(
    lines: &[&Line],
    mrz: Option<&MrzReading>,
    aamva: Option<&Aamva>,
    any_barcode: bool,
) -> VisualZone {
    let kind = kind::kind_of(lines, mrz, aamva, any_barcode);
    let items = items(lines);
    let mut fields = BTreeMap::new();
    let order = date_order(&items, mrz, aamva);
    read_labelled_fields(&items, order, &mut fields);
    if kind == DocumentKind::Drivers {
        read_numbered_fields(&items, order, &mut fields);
    }
    infer_dates_without_labels(&items, order, &mut fields);
    drop_contradicting_dates(&mut fields);
    VisualZone { kind, fields }
}

/// The last year that a two-digit year may mean, because expiry dates are some years ahead. A birth date with
/// a two-digit year may be placed in the wrong century; `drop_contradicting_dates` then removes it.
const CENTURY_END: i16 = 2049;

/// A line in the page's frame: x along the text, y downwards, in pixels.
struct PageLine<'a> {
    text: &'a str,
    words: Vec<String>,
    labels: Vec<labels::LabelMatch>,
    left: f32,
    right: f32,
    middle: f32,
    height: f32,
    confidence: f32,
}

fn items<'a>(lines: &[&'a Line]) -> Vec<PageLine<'a>> {
    let (x, y) = lines.iter().fold((0.0, 0.0), |(x, y), line| {
        let (along, weight) = (line.quad.along(), line.quad.length());
        (x + along.x * weight, y + along.y * weight)
    });
    let norm = x.hypot(y);
    let u = if norm > 0.0 {
        Point::new(x / norm, y / norm)
    } else {
        Point::new(1.0, 0.0)
    };
    lines
        .iter()
        .filter(|line| mrz_likeness(&line.read.text) < 0.6)
        .map(|line| {
            let corners = line
                .quad
                .0
                .map(|p| (p.x * u.x + p.y * u.y, p.y * u.x - p.x * u.y));
            let folded = fold_text(&line.read.text);
            let words: Vec<&str> = folded.split_whitespace().collect();
            PageLine {
                text: &line.read.text,
                labels: labels_in(&words),
                words: words.iter().map(|w| (*w).to_owned()).collect(),
                left: (corners[0].0 + corners[3].0) / 2.0,
                right: (corners[1].0 + corners[2].0) / 2.0,
                middle: corners.iter().map(|c| c.1).sum::<f32>() / 4.0,
                height: line.quad.height(),
                confidence: line.read.confidence,
            }
        })
        .collect()
}

/// Documents of the United States (except passports) print the month first.
fn date_order(items: &[PageLine<'_>], mrz: Option<&MrzReading>, aamva: Option<&Aamva>) -> DateOrder {
    let american = match (mrz, aamva) {
        (Some(mrz), _) => mrz.fields.issuer == "USA" && !mrz.fields.document_code.starts_with('P'),
        (None, Some(card)) => card.country.as_deref() == Some("USA"),
        (None, None) => items.iter().any(|item| {
            item.words.iter().any(|w| w == "USA")
                || item
                    .words
                    .windows(2)
                    .any(|w| w[0] == "UNITED" && w[1] == "STATES")
        }),
    };
    if american {
        DateOrder::MonthFirst
    } else {
        DateOrder::DayFirst
    }
}

fn read_labelled_fields(items: &[PageLine<'_>], order: DateOrder, fields: &mut BTreeMap<String, Field>) {
    for (at, item) in items.iter().enumerate() {
        for (nth, found) in item.labels.iter().enumerate() {
            let Some(name) = field_of_label(found.label) else {
                continue;
            };
            if fields.contains_key(name) {
                continue;
            }
            // The value follows on the label's line, up to the next label; otherwise it is below or to the
            // right.
            let until = item
                .labels
                .get(nth + 1)
                .map_or(item.words.len(), |next| next.start);
            let own = after_words(item.text, found.end, until);
            let own = value(found.label, &own, order).filter(|_| !is_multilingual(item));
            let value = own.map(|v| (v, item.confidence)).or_else(|| {
                neighbours(items, at).find_map(|other| {
                    let value = value(found.label, other.text, order)?;
                    Some((value, other.confidence))
                })
            });
            if let Some((value, confidence)) = value {
                insert(fields, name, value, confidence, found.label);
            }
        }
    }
}

fn insert(fields: &mut BTreeMap<String, Field>, name: &str, value: String, confidence: f32, label: Label) {
    let field = |value: &str| Field {
        value: value.to_owned(),
        source: Source::Ocr,
        confidence: confidence * 0.9,
    };
    let mut split = |given: &str| {
        let mut names = given.splitn(2, ' ');
        if let Some(first) = names.next() {
            fields
                .entry(field::FIRST_NAME.into())
                .or_insert_with(|| field(first));
        }
        if let Some(rest) = names.next() {
            fields
                .entry(field::MIDDLE_NAME.into())
                .or_insert_with(|| field(rest));
        }
    };
    match label {
        Label::GivenNames => split(&value),
        // A whole name is `SURNAME, GIVEN`. Without a comma, the last word is the family name.
        Label::Name => {
            let (surname, given) = match value.split_once(',') {
                Some((surname, given)) => (surname.trim(), given.trim()),
                None => value
                    .rsplit_once(' ')
                    .map_or((value.as_str(), ""), |(given, surname)| (surname, given)),
            };
            if !given.is_empty() {
                split(given);
            }
            fields
                .entry(field::LAST_NAME.into())
                .or_insert_with(|| field(surname));
        }
        _ => {
            fields.entry(name.into()).or_insert_with(|| field(&value));
        }
    }
}

/// The field of a label's value. For names, it is one of the fields that the value is split into.
fn field_of_label(label: Label) -> Option<&'static str> {
    Some(match label {
        Label::Surname | Label::Name => field::LAST_NAME,
        Label::GivenNames => field::FIRST_NAME,
        Label::Birth => field::BIRTH_DATE,
        Label::Expiry => field::EXPIRY_DATE,
        Label::Issue => field::ISSUE_DATE,
        Label::Number => field::DOCUMENT_NUMBER,
        Label::Nationality => field::NATIONALITY,
        Label::Sex => field::SEX,
        Label::IssuerCode => field::ISSUER,
        Label::Other => return None,
    })
}

/// Whether a line is a list of a label's translations. A line with repeated labels or a slash is one, unless
/// it has a date's digits.
fn is_multilingual(item: &PageLine<'_>) -> bool {
    let same = item.labels.windows(2).any(|w| w[0].label == w[1].label);
    let digits = item.text.bytes().filter(u8::is_ascii_digit).count();
    (same || item.text.contains('/')) && digits < 4
}

/// The words of a line's text from index `start` to before index `end`.
fn after_words(text: &str, start: usize, end: usize) -> String {
    let mut words = Vec::new();
    let mut seen = 0;
    for piece in text.split(|c: char| c.is_whitespace() || c == ':') {
        let count = fold_text(piece).split_whitespace().count();
        if seen >= start && seen < end && count > 0 {
            words.push(piece);
        }
        seen += count;
    }
    words.join(" ")
}

/// The lines that may contain a label's value: those below it (nearest first), then the nearest one to the
/// right.
fn neighbours<'a, 'b>(items: &'b [PageLine<'a>], at: usize) -> impl Iterator<Item = &'b PageLine<'a>> {
    let label = &items[at];
    let height = label.height;
    let others = || {
        items
            .iter()
            .enumerate()
            .filter(move |(i, _)| *i != at)
            .map(|(_, item)| item)
    };
    let mut below: Vec<&PageLine<'a>> = others()
        .filter(|item| {
            let gap = item.middle - label.middle;
            let reach = (height + item.height) * 1.3;
            let aligned = item.left < label.right
                && item.right > label.left - height
                && item.left > label.left - 3.0 * height;
            gap > 0.45 * height && gap < reach && aligned && !is_label_only(item)
        })
        .collect();
    below.sort_by(|a, b| a.middle.total_cmp(&b.middle).then(a.left.total_cmp(&b.left)));
    let mut beside: Vec<&PageLine<'a>> = others()
        .filter(|item| {
            (item.middle - label.middle).abs() < 0.5 * height
                && item.left > label.right - height
                && !is_label_only(item)
        })
        .collect();
    beside.sort_by(|a, b| a.left.total_cmp(&b.left));
    below.into_iter().chain(beside.into_iter().take(1))
}

/// Whether labels make up at least half of a line's words, and it has fewer than four digits.
fn is_label_only(item: &PageLine<'_>) -> bool {
    let labelled: usize = item.labels.iter().map(|f| f.end - f.start).sum();
    let digits = item.text.bytes().filter(u8::is_ascii_digit).count();
    labelled * 2 >= item.words.len().max(1) && digits < 4
}

/// The value in a text, if the text has the form of the label's field.
fn value(label: Label, text: &str, order: DateOrder) -> Option<String> {
    match label {
        Label::Surname | Label::GivenNames | Label::Name => name(text),
        Label::Birth | Label::Expiry | Label::Issue => find_dates(text, order, CENTURY_END)
            .first()
            .map(ToString::to_string),
        Label::Number => number(text),
        Label::Nationality | Label::IssuerCode => country(text),
        Label::Sex => sex(text),
        Label::Other => None,
    }
}

/// A name has letters, blanks, hyphens, apostrophes and full stops; a comma separates the parts of a whole
/// name.
fn name(text: &str) -> Option<String> {
    let text = text.trim_matches(|c: char| !c.is_alphabetic());
    let allowed = |c: char| c.is_alphabetic() || matches!(c, ' ' | '-' | '\'' | '’' | '.' | ',');
    let letters = text.chars().filter(|c| c.is_alphabetic()).count();
    let length = text.chars().count();
    let small = text.chars().next().is_some_and(char::is_lowercase);
    (letters >= 2 && length <= 60 && !small && text.chars().all(allowed))
        .then(|| text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// A run of 5–20 capitals and digits with at least three digits. Blanks, hyphens and full stops inside are
/// removed.
fn number(text: &str) -> Option<String> {
    let joined: String = text.chars().filter(|c| !matches!(c, ' ' | '-' | '.')).collect();
    let plausible = |candidate: &str| {
        let digits = candidate.bytes().filter(u8::is_ascii_digit).count();
        (5..=20).contains(&candidate.len())
            && digits >= 3
            && candidate
                .bytes()
                .all(|b| b.is_ascii_uppercase() || b.is_ascii_digit())
    };
    if plausible(&joined) && find_dates(text, DateOrder::DayFirst, CENTURY_END).is_empty() {
        return Some(joined);
    }
    text.split(|c: char| !c.is_ascii_alphanumeric())
        .find(|word| plausible(word))
        .map(str::to_owned)
}

/// A country by its alpha-3 code or its name in any language. The text may have the name in several
/// languages.
fn country(text: &str) -> Option<String> {
    let by_code = |word: &str| {
        (word.len() == 3)
            .then(|| reference::icao::issuer(word))
            .flatten()
            .map(|issuer| {
                issuer
                    .country
                    .map_or(issuer.code, |country| country.alpha3)
                    .to_owned()
            })
    };
    let by_name = |name: &str| {
        reference::country_by_name(name.trim())
            .ok()
            .map(|country| country.alpha3.to_owned())
    };
    text.split_whitespace()
        .find_map(by_code)
        .or_else(|| by_name(text))
        .or_else(|| {
            text.split(['/', ',', '-', '|'])
                .filter(|part| part.trim().len() > 3)
                .find_map(by_name)
        })
}

/// `M`, `F` or `X`, with or without its translation. Contradicting letters give `None`: `F/M` means male on
/// Hungarian documents.
fn sex(text: &str) -> Option<String> {
    let folded = fold_text(text);
    let mut found = None;
    for word in folded.split_whitespace().take(4) {
        let sex = match word {
            "M" | "MALE" | "MASCULIN" | "MANNLICH" | "HOMME" | "HOMBRE" => "M",
            "F" | "FEMALE" | "FEMININ" | "WEIBLICH" | "FEMME" | "MUJER" => "F",
            "X" => "X",
            _ => continue,
        };
        if found.is_some_and(|f| f != sex) {
            return None;
        }
        found = Some(sex);
    }
    found.map(str::to_owned)
}

/// Reads the numbered fields of European licences (Directive 2006/126/EC annex I) and of licences that follow
/// ISO 18013-1: `1.` surname, `2.` given names, `3.` birth, `4a.` issue, `4b.` expiry, `5.` number.
fn read_numbered_fields(items: &[PageLine<'_>], order: DateOrder, fields: &mut BTreeMap<String, Field>) {
    const NUMBERS: [(&str, Label); 7] = [
        ("4A", Label::Issue),
        ("4B", Label::Expiry),
        ("4D", Label::Number),
        ("1", Label::Surname),
        ("2", Label::GivenNames),
        ("3", Label::Birth),
        ("5", Label::Number),
    ];
    for item in items {
        // Two numbered fields often share a line: 4a … 4c …. A date's digits are not field numbers, because
        // they are longer.
        for (at, word) in item.words.iter().enumerate() {
            let Some(&(number, label)) = NUMBERS.iter().find(|(number, _)| word == number) else {
                continue;
            };
            let Some(name) = field_of_label(label) else {
                continue;
            };
            let starts = at == 0 || number.len() == 2;
            if !starts || fields.contains_key(name) {
                continue;
            }
            let until = item.words[at + 1..]
                .iter()
                .position(|w| NUMBERS.iter().any(|(n, _)| n.len() == 2 && w == n))
                .map_or(item.words.len(), |i| at + 1 + i);
            let rest = after_words(item.text, at + 1, until);
            if let Some(value) = value(label, &rest, order) {
                insert(fields, name, value, item.confidence * 0.9, label);
            }
        }
    }
}

/// Infers dates without labels: of three dates or more, the earliest is the birth and the latest the expiry.
/// At least 12 years must separate the two.
fn infer_dates_without_labels(
    items: &[PageLine<'_>],
    order: DateOrder,
    fields: &mut BTreeMap<String, Field>,
) {
    let mut all: Vec<(PartialDate, f32)> = items
        .iter()
        .flat_map(|item| {
            find_dates(item.text, order, CENTURY_END)
                .into_iter()
                .map(move |d| (d, item.confidence))
        })
        .collect();
    all.sort_by_key(|(date, _)| *date);
    all.dedup_by_key(|(date, _)| *date);
    let [first, .., last] = all[..] else { return };
    if all.len() < 3 || last.0.year() - first.0.year() < 12 {
        return;
    }
    for (name, (date, confidence)) in [(field::BIRTH_DATE, first), (field::EXPIRY_DATE, last)] {
        let field = Field {
            value: date.to_string(),
            source: Source::Ocr,
            confidence: confidence * 0.4,
        };
        fields.entry(name.into()).or_insert(field);
    }
}

/// Removes both dates of a contradicting pair: a birth must precede an issue and an expiry, and an issue an
/// expiry.
fn drop_contradicting_dates(fields: &mut BTreeMap<String, Field>) {
    for (earlier, later) in [
        (field::BIRTH_DATE, field::ISSUE_DATE),
        (field::ISSUE_DATE, field::EXPIRY_DATE),
        (field::BIRTH_DATE, field::EXPIRY_DATE),
    ] {
        let contradict = match (fields.get(earlier), fields.get(later)) {
            (Some(a), Some(b)) => a.value >= b.value,
            _ => false,
        };
        if contradict {
            fields.remove(earlier);
            fields.remove(later);
        }
    }
}

#[cfg(test)]
mod tests;
