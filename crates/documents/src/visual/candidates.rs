//! Collects the texts that may be a field's value: beside labels, after field numbers, and where the print equals the
//! machine-readable zone or a barcode.
//!
//! Another source only helps to find print. A value is always what is printed, never what the other source states.

use std::ops::Range;

use super::Known;
use super::dates::{DateOrder, PrintedDate, find_dates};
use super::labels::Label;
use super::nationality::{code, has_adjective, read_nationality};
use super::numbered::{FieldNumber, numbered_fields};
use super::page::{LabelGroup, PageLine, Place, Region, value_regions};
use super::sex::{SexContext, read_sex};
use super::text::name_key;
use super::values::{name, number, without_titles};

/// A printed value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    /// A name, number, code or letter.
    Text(String),
    /// A date whose century may be open.
    Date(PrintedDate),
}

/// A text that may be the value of a field.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Candidate {
    /// The field.
    pub(super) label: Label,
    /// The parsed value.
    pub(super) value: Value,
    /// Index of the line.
    pub(super) line: usize,
    /// Its characters in the line.
    pub(super) chars: Range<usize>,
    /// 0–1: how certain it is that this text belongs to the field.
    pub(super) evidence: f32,
    /// Whether it equals the other source's value.
    pub(super) is_known: bool,
}

/// What is known of the document beside its lines.
#[derive(Debug, Clone, Copy)]
pub(super) struct Context<'a> {
    pub(super) order: DateOrder,
    pub(super) known: Option<&'a Known>,
    /// Alpha-3 of the issuer.
    pub(super) issuer: Option<&'a str>,
    pub(super) is_card: bool,
}

/// Evidence of a value on its label's line, below its label, right of it, and after a field's number.
const OWN: f32 = 0.98;
const BELOW: f32 = 0.95;
const RIGHT: f32 = 0.93;
const NUMBERED: f32 = 0.94;
/// Evidence of a text that equals another source's value, without a label.
const EQUAL: f32 = 0.85;
/// The recogniser's confidence below which a text of each form is not used, unless another source has the same.
const MIN_NAME: f32 = 0.85;
const MIN_NUMBER: f32 = 0.85;
const MIN_DATE: f32 = 0.8;
const MIN_SEX: f32 = 0.6;
const MIN_NATIONALITY: f32 = 0.6;
/// With another source, text that it does not have must be read this clearly.
const MIN_CONTRADICTING: f32 = 0.93;

/// Values beside labels.
pub(super) fn labelled(page: &[PageLine<'_>], context: Context<'_>) -> Vec<Candidate> {
    let right_first = has_values_on_the_right(page, context.order);
    let mut candidates = Vec::new();
    for (at, line) in page.iter().enumerate() {
        for (nth, group) in line.groups.iter().enumerate() {
            if group.label == Label::Other {
                continue;
            }
            let mut regions = value_regions(page, at, nth);
            if right_first {
                regions.sort_by_key(|region| region.place == Place::Below);
            }
            // Only the nearest text that has the field's form is its value.
            let found = regions
                .iter()
                .find_map(|region| of_region(page, at, group, region, right_first, context));
            candidates.extend(found);
        }
    }
    candidates
}

/// Whether more dates are printed right of their labels than below them.
fn has_values_on_the_right(page: &[PageLine<'_>], order: DateOrder) -> bool {
    let (mut right, mut below) = (0, 0);
    for (at, line) in page.iter().enumerate() {
        for (nth, group) in line.groups.iter().enumerate() {
            if !group.label.is_date() {
                continue;
            }
            let regions = value_regions(page, at, nth);
            let has = |place: Place| {
                regions.iter().any(|region| {
                    region.place == place
                        && !find_dates(page[region.line].slice(&region.chars), order).is_empty()
                })
            };
            if !has(Place::Own) {
                right += usize::from(has(Place::Right) && !has(Place::Below));
                below += usize::from(has(Place::Below) && !has(Place::Right));
            }
        }
    }
    right > below
}

fn of_region(
    page: &[PageLine<'_>],
    at: usize,
    group: &LabelGroup,
    region: &Region,
    right_first: bool,
    context: Context<'_>,
) -> Option<Candidate> {
    let line = &page[region.line];
    let text = line.slice(&region.chars);
    let evidence = match region.place {
        Place::Own => OWN,
        Place::Below => BELOW - 0.03 * region.distance,
        Place::Right if right_first => BELOW,
        Place::Right => RIGHT - 0.05 * region.distance,
    } - 0.02 * group.edits as f32;
    let candidate = |value: Value, chars: Range<usize>| Candidate {
        label: group.label,
        value,
        line: region.line,
        chars,
        evidence,
        is_known: false,
    };
    let least = |threshold: f32| line.confidence >= threshold;
    match group.label {
        label if label.is_name() => {
            let is_translation = line.raw(&region.chars).trim_end().ends_with(['/', '|', '／']);
            if is_translation || (region.place == Place::Own && !is_after_label(&page[at], group)) {
                return None;
            }
            let mut value = name(text).filter(|_| least(MIN_NAME))?;
            // Spanish cards print two family names below one label, on two lines.
            let is_spanish = label == Label::Surname && group.languages.contains(&"es");
            if is_spanish
                && region.place == Place::Below
                && let Some(second) = page
                    .iter()
                    .find(|next| {
                        line.is_continued_by(next) && next.groups.is_empty() && next.confidence >= MIN_NAME
                    })
                    .and_then(|next| name(next.text))
            {
                value = format!("{value} {second}");
            }
            Some(candidate(Value::Text(value), region.chars.clone()))
        }
        Label::Birth | Label::Expiry | Label::Issue => {
            let anchor = page[at].x(group.chars.start);
            let date = dates_in(line, &region.chars, context.order)
                .into_iter()
                .min_by(|a, b| {
                    let distance = |date: &PrintedDate| match region.place {
                        Place::Below => (line.x(date.chars.start) - anchor).abs(),
                        _ => date.chars.start as f32,
                    };
                    distance(a).total_cmp(&distance(b))
                })
                .filter(|_| least(MIN_DATE))?;
            let chars = date.chars.clone();
            Some(candidate(Value::Date(date), chars))
        }
        Label::Number => {
            let value = number(text).filter(|_| least(MIN_NUMBER))?;
            let is_other = context.known.is_some_and(|known| known.is_other_number(&value));
            (!is_other).then(|| candidate(Value::Text(value), region.chars.clone()))
        }
        Label::Nationality => {
            let value = read_nationality(text).filter(|_| least(MIN_NATIONALITY))?;
            Some(candidate(Value::Text(value), region.chars.clone()))
        }
        Label::IssuerCode => {
            let value = (text.len() <= 3)
                .then(|| code(text))?
                .filter(|_| least(MIN_NATIONALITY))?;
            Some(candidate(Value::Text(value), region.chars.clone()))
        }
        Label::Sex => {
            let sex = SexContext {
                issuer: context.issuer,
                languages: &group.languages,
                is_national: context.is_card,
            };
            let first = text.split_whitespace().next().unwrap_or_default();
            // Other fields often follow on the line: `M  175 cm`.
            let value = read_sex(text, sex)
                .or_else(|| {
                    text.contains(|c: char| c.is_ascii_digit())
                        .then(|| read_sex(first, sex))?
                })
                .filter(|_| least(MIN_SEX))?;
            Some(candidate(Value::Text(value.into()), region.chars.clone()))
        }
        _ => None,
    }
}

/// Whether the text after a label on its line can be a name, and not a translation of the label that was not
/// recognised: nothing but blanks or a colon divides the two, and small letters in the label are not followed by a
/// text with small letters.
fn is_after_label(line: &PageLine<'_>, group: &LabelGroup) -> bool {
    let chars: Vec<char> = line.text.chars().collect();
    let after = chars.get(group.chars.end..).unwrap_or_default();
    let divider: String = after.iter().take_while(|c| !c.is_alphanumeric()).collect();
    let has_small = |part: &[char]| part.iter().any(|c| c.is_lowercase());
    let has_colon = divider.contains([':', '：']);
    let is_divided = divider
        .chars()
        .all(|c| c.is_whitespace() || matches!(c, ':' | '：' | '.' | ')'));
    let label = chars.get(group.chars.clone()).unwrap_or_default();
    is_divided && (has_colon || !has_small(label) || !has_small(after))
}

/// The dates in a range of a line, with their characters in the line.
fn dates_in(line: &PageLine<'_>, range: &Range<usize>, order: DateOrder) -> Vec<PrintedDate> {
    let text: String = line
        .text
        .chars()
        .skip(range.start)
        .take(range.end.saturating_sub(range.start))
        .collect();
    find_dates(&text, order)
        .into_iter()
        .map(|mut date| {
            date.chars = date.chars.start + range.start..date.chars.end + range.start;
            date
        })
        .collect()
}

/// All dates of the page, with their lines.
pub(super) fn all_dates(page: &[PageLine<'_>], order: DateOrder) -> Vec<(usize, PrintedDate)> {
    page.iter()
        .enumerate()
        .flat_map(|(at, line)| {
            dates_in(line, &line.all(), order)
                .into_iter()
                .map(move |date| (at, date))
        })
        .collect()
}

/// Values after the numbers of a licence's fields.
pub(super) fn numbered(page: &[PageLine<'_>], context: Context<'_>) -> Vec<Candidate> {
    let is_american = context.order == DateOrder::MonthFirst || context.issuer == Some("CAN");
    let mut candidates = Vec::new();
    for (at, line) in page.iter().enumerate() {
        for (field, range) in numbered_fields(line.text) {
            let label = match field {
                FieldNumber::Surname => Label::Surname,
                FieldNumber::GivenNames => Label::GivenNames,
                FieldNumber::Birth => Label::Birth,
                FieldNumber::Issue => Label::Issue,
                FieldNumber::Expiry => Label::Expiry,
                FieldNumber::Number if !is_american => Label::Number,
                FieldNumber::OtherNumber if is_american => Label::Number,
                _ => continue,
            };
            // A label after the number describes the field better than the number.
            if line.groups.iter().any(|group| range.contains(&group.chars.start)) {
                continue;
            }
            let (value_at, chars) = if line.slice(&range).is_empty() {
                let Some(next) = beside(page, at) else { continue };
                (next, page[next].all())
            } else {
                (at, range)
            };
            let text = page[value_at].slice(&chars);
            let confidence = page[value_at].confidence;
            let text_value = |value: Option<String>| Some((Value::Text(value?), chars.clone()));
            let value = match label {
                Label::Surname if confidence >= MIN_NAME => text_value(name(text)),
                Label::GivenNames if confidence >= MIN_NAME => text_value(name(without_titles(text))),
                Label::Number if confidence >= MIN_NUMBER => text_value(number(text)),
                _ if label.is_date() && confidence >= MIN_DATE => {
                    dates_in(&page[value_at], &chars, context.order)
                        .into_iter()
                        .next()
                        .map(|date| (date.chars.clone(), date))
                        .map(|(chars, date)| (Value::Date(date), chars))
                }
                _ => None,
            };
            candidates.extend(value.map(|(value, chars)| Candidate {
                label,
                value,
                line: value_at,
                chars,
                evidence: NUMBERED,
                is_known: false,
            }));
        }
    }
    candidates
}

/// The line right of a line that has only a field's number.
fn beside(page: &[PageLine<'_>], at: usize) -> Option<usize> {
    let line = &page[at];
    page.iter()
        .enumerate()
        .filter(|&(other, item)| other != at && line.is_beside(item))
        .min_by(|a, b| a.1.x(0).total_cmp(&b.1.x(0)))
        .map(|(other, _)| other)
}

/// Print that equals the other source's values, wherever it is printed.
pub(super) fn equal_to_known(page: &[PageLine<'_>], context: Context<'_>) -> Vec<Candidate> {
    let Some(known) = context.known else {
        return Vec::new();
    };
    let mut candidates = Vec::new();
    let mut add = |label: Label, value: Value, line: usize, chars: Range<usize>| {
        candidates.push(Candidate {
            label,
            value,
            line,
            chars,
            evidence: EQUAL,
            is_known: true,
        });
    };
    let mut named: Vec<usize> = Vec::new();
    for (label, wanted) in [
        (Label::Surname, &known.surname),
        (Label::GivenNames, &known.given_names),
    ] {
        let Some(wanted) = wanted else { continue };
        // One line does not state both names.
        let taken = named.clone();
        for (at, line) in page.iter().enumerate().filter(|(at, _)| !taken.contains(at)) {
            for part in line.unlabelled() {
                let text = line.slice(&part);
                let whole = || known.has_name(label, text).then(|| text.to_owned());
                let printed = whole().or_else(|| continued(page, at, text, wanted, known, label));
                if let Some(printed) = printed {
                    if label == Label::Surname && named.is_empty() {
                        named.push(at);
                    }
                    add(label, Value::Text(printed), at, part);
                }
            }
        }
    }
    for (at, line) in page.iter().enumerate() {
        if let Some((chars, value)) = known.number_in(line) {
            add(Label::Number, Value::Text(value), at, chars);
        }
        let nationality = known.nationality.as_ref().filter(|_| has_adjective(line.text));
        if let Some(value) = read_nationality(line.text).filter(|value| Some(value) == nationality) {
            add(Label::Nationality, Value::Text(value), at, line.all());
        }
        let sex = SexContext {
            issuer: context.issuer,
            languages: &[],
            is_national: context.is_card,
        };
        if let Some(value) = read_sex(line.text, sex).filter(|value| Some(*value) == known.sex) {
            add(Label::Sex, Value::Text(value.into()), at, line.all());
        }
    }
    for (at, date) in all_dates(page, context.order) {
        for (label, wanted) in [
            (Label::Birth, known.birth_date),
            (Label::Expiry, known.expiry_date),
        ] {
            if wanted.is_some_and(|wanted| date.can_be(&wanted)) {
                add(label, Value::Date(date.clone()), at, date.chars.clone());
            }
        }
    }
    candidates
}

/// A name that continues on the next line, as two family names often do.
fn continued(
    page: &[PageLine<'_>],
    at: usize,
    text: &str,
    wanted: &str,
    known: &Known,
    label: Label,
) -> Option<String> {
    let key = name_key(text);
    if key.len() < 2 || !name_key(wanted).starts_with(&format!("{key} ")) {
        return None;
    }
    let next = page
        .iter()
        .find(|next| page[at].is_continued_by(next) && next.groups.is_empty())?;
    let both = format!("{text} {}", next.slice(&next.all()));
    known.has_name(label, &both).then_some(both)
}

/// Whether a candidate may be used beside another source that has a value for the field.
pub(super) fn is_clear_enough(candidate: &Candidate, page: &[PageLine<'_>], known: Option<&Known>) -> bool {
    let is_contradicting = known.is_some_and(|known| known.has(candidate.label)) && !candidate.is_known;
    let is_open = matches!(
        candidate.label,
        Label::Surname | Label::GivenNames | Label::Number
    );
    if !(is_contradicting && is_open) {
        return true;
    }
    // A name that differs in a letter or two is as likely misread as printed otherwise.
    let is_near = match &candidate.value {
        Value::Text(text) => known.is_some_and(|known| known.is_near_name(candidate.label, text)),
        Value::Date(_) => false,
    };
    !is_near && page[candidate.line].confidence >= MIN_CONTRADICTING
}
