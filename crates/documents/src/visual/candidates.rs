//! Collects the texts that may be a field's value: beside labels and after field numbers. This module never chooses
//! among them.

use std::ops::Range;

use super::dates::{Compact, DateOrder, PrintedDate, find_dates};
use super::labels::{Label, is_like_label};
use super::machine_data::MachineData;
use super::nationality::{code, read_nationality};
use super::numbered::{FieldNumber, NumberedField, numbered_fields};
use super::page::{LabelGroup, PageLine, Region, ValuePosition, value_regions};
use super::sex::{SexContext, read_sex};
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
    /// Whether a label or a field's number is printed at it.
    pub(super) has_label: bool,
    /// Whether it equals the other source's value.
    pub(super) is_confirmed: bool,
}

/// What other sources and the page as a whole show.
#[derive(Debug, Clone, Copy)]
pub(super) struct Context<'a> {
    pub(super) order: DateOrder,
    pub(super) machine: Option<&'a MachineData>,
    /// Alpha-3 of the issuer.
    pub(super) issuer: Option<&'a str>,
    pub(super) is_card: bool,
}

/// Evidence of a value on its label's line, below its label, right of it, and after a field's number.
const OWN: f32 = 0.98;
const BELOW: f32 = 0.95;
const RIGHT: f32 = 0.93;
const NUMBERED: f32 = 0.94;
/// The recogniser's confidence below which a text of each form is not used, unless another source has the same.
const MIN_NAME: f32 = 0.85;
const MIN_NUMBER: f32 = 0.85;
pub(super) const MIN_DATE: f32 = 0.8;
pub(super) const MIN_SEX: f32 = 0.6;
const MIN_NATIONALITY: f32 = 0.6;

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
                regions.sort_by_key(|region| region.position == ValuePosition::Below);
            }
            // Only the nearest text may be the value. An unreadable one is not replaced by the next field's.
            for region in &regions {
                let found = of_region(page, at, group, region, right_first, context);
                let is_value = found.is_some();
                candidates.extend(found);
                if is_value && group.label == Label::WholeName {
                    candidates.extend(latin_name_beside(page, at, group, region, context));
                }
                if is_value || !is_passed_over(page, at, group, region) {
                    break;
                }
            }
        }
    }
    candidates
}

/// The name in Latin letters, right of the same name in another script: `林美華` `LIN, MEI-HUA`.
fn latin_name_beside(
    page: &[PageLine<'_>],
    at: usize,
    group: &LabelGroup,
    region: &Region,
    context: Context<'_>,
) -> Option<Candidate> {
    let is_latin = |text: &str| text.chars().all(|c| !c.is_alphabetic() || c < '\u{250}');
    let line = beside(page, region.line).filter(|next| page[region.line].is_followed_by(&page[*next]))?;
    let beside = Region {
        line,
        chars: page[line].all(),
        ..region.clone()
    };
    let is_other =
        !is_latin(page[region.line].text) && is_latin(page[line].text) && page[line].groups.is_empty();
    is_other.then(|| of_region(page, at, group, &beside, false, context))?
}

/// Whether a text near a label cannot be its value, however badly it is read: another label, a translation of this one,
/// or, at a date or number, a text without digits.
fn is_passed_over(page: &[PageLine<'_>], at: usize, group: &LabelGroup, region: &Region) -> bool {
    let text = page[region.line].slice(&region.chars);
    let has = |is: fn(char) -> bool| text.contains(is);
    let needs_digits = group.label.is_date() || group.label == Label::Number;
    is_like_label(text)
        || !has(char::is_alphanumeric)
        || needs_digits && !has(char::is_numeric)
        || region.position == ValuePosition::Own && !is_after_label(&page[at], group)
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
            let has = |position: ValuePosition| {
                regions.iter().any(|region| {
                    region.position == position
                        && !find_dates(page[region.line].slice(&region.chars), order, Compact::Dates)
                            .is_empty()
                })
            };
            if !has(ValuePosition::Own) {
                right += usize::from(has(ValuePosition::Right) && !has(ValuePosition::Below));
                below += usize::from(has(ValuePosition::Below) && !has(ValuePosition::Right));
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
    let evidence = match region.position {
        ValuePosition::Own => OWN,
        ValuePosition::Below => BELOW - 0.03 * region.distance,
        ValuePosition::Right if right_first => BELOW,
        ValuePosition::Right => RIGHT - 0.05 * region.distance,
    } - 0.02 * group.edits as f32;
    let candidate = |value: Value, chars: Range<usize>| Candidate {
        label: group.label,
        value,
        line: region.line,
        chars,
        evidence,
        has_label: true,
        is_confirmed: false,
    };
    let least = |threshold: f32| line.confidence >= threshold;
    match group.label {
        label if label.is_name() => {
            let is_translation = line.raw(&region.chars).trim_end().ends_with(['/', '|', '／']);
            if is_translation || (region.position == ValuePosition::Own && !is_after_label(&page[at], group))
            {
                return None;
            }
            let mut value = name(text).filter(|_| least(MIN_NAME))?;
            // Spanish cards print two family names below one label, on two lines.
            let is_spanish = label == Label::Surname && group.languages.contains(&"es");
            if is_spanish
                && region.position == ValuePosition::Below
                && let Some(next) = page.iter().find(|next| line.is_continued_by(next))
                && next.groups.is_empty()
                && next.confidence >= MIN_NAME
                && let Some(second) = name(next.text)
            {
                value = format!("{value} {second}");
            }
            Some(candidate(Value::Text(value), region.chars.clone()))
        }
        Label::Birth | Label::Expiry | Label::Issue => {
            let mut dates = dates_in(line, &region.chars, context.order, Compact::Dates);
            if dates.is_empty() && region.chars == line.all() {
                dates.extend(divided_date(page, region.line, context.order));
            }
            let date = if region.position == ValuePosition::Below {
                nearest_date(dates, line, page[at].x(group.chars.start))
            } else {
                only_date(dates, line, group.label)
            }
            .filter(|_| least(MIN_DATE))?;
            let chars = date.chars.clone();
            Some(candidate(Value::Date(date), chars))
        }
        Label::Number => {
            let value = number(text).filter(|_| least(MIN_NUMBER))?;
            let is_other = context
                .machine
                .is_some_and(|machine| machine.is_other_number(&value));
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

/// The only date of a text. Of a period, which a hyphen joins, the expiry is the second date and the issue the first.
fn only_date(dates: Vec<PrintedDate>, line: &PageLine<'_>, label: Label) -> Option<PrintedDate> {
    match <[PrintedDate; 1]>::try_from(dates) {
        Ok([date]) => Some(date),
        Err(dates) => {
            let [first, second] = <[PrintedDate; 2]>::try_from(dates).ok()?;
            let between = line.raw(&(first.chars.end..second.chars.start));
            match (between.trim(), label) {
                ("-" | "–" | "—", Label::Expiry) => Some(second),
                ("-" | "–" | "—", Label::Issue) => Some(first),
                _ => None,
            }
        }
    }
}

/// The date that begins at a label's x; `None` if another is not twice as far away.
fn nearest_date(dates: Vec<PrintedDate>, line: &PageLine<'_>, x: f32) -> Option<PrintedDate> {
    let mut by_distance: Vec<(f32, PrintedDate)> = dates
        .into_iter()
        .map(|date| ((line.x(date.chars.start) - x).abs(), date))
        .collect();
    by_distance.sort_by(|a, b| a.0.total_cmp(&b.0));
    let second = by_distance.get(1).map(|(distance, _)| *distance);
    let (distance, date) = by_distance.into_iter().next()?;
    second
        .is_none_or(|second| second >= 2.0 * distance)
        .then_some(date)
}

/// The dates in a range of a line, with their characters in the line.
fn dates_in(
    line: &PageLine<'_>,
    range: &Range<usize>,
    order: DateOrder,
    compact: Compact,
) -> Vec<PrintedDate> {
    let text: String = line
        .text
        .chars()
        .skip(range.start)
        .take(range.end.saturating_sub(range.start))
        .collect();
    find_dates(&text, order, compact)
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
            let mut dates = dates_in(line, &line.all(), order, Compact::Numbers);
            if dates.is_empty() {
                dates.extend(divided_date(page, at, order));
            }
            dates.into_iter().map(move |date| (at, date))
        })
        .collect()
}

/// The date whose day and month a line has, and whose year is a piece of its own in the same row: `19 OKT/OCT` `1971`.
fn divided_date(page: &[PageLine<'_>], at: usize, order: DateOrder) -> Option<PrintedDate> {
    let line = &page[at];
    let next = &page[beside(page, at)?];
    let is_divided = line.text.ends_with(char::is_alphabetic)
        && next.text.starts_with(|c: char| c.is_ascii_digit())
        && next.confidence >= MIN_DATE
        && line.is_followed_by(next);
    if !is_divided {
        return None;
    }
    let whole = format!("{} {}", line.text, next.text);
    let [mut date] = <[PrintedDate; 1]>::try_from(find_dates(&whole, order, Compact::Numbers)).ok()?;
    let end = line.all().end;
    let is_of_both = date.chars.start < end && date.chars.end > end;
    date.chars.end = date.chars.end.min(end);
    is_of_both.then_some(date)
}

/// Values after the numbers of a licence's fields.
pub(super) fn numbered(page: &[PageLine<'_>], context: Context<'_>) -> Vec<Candidate> {
    let is_american = context.order == DateOrder::MonthFirst || context.issuer == Some("CAN");
    let is_column = numbered_column(page);
    let mut candidates = Vec::new();
    for (at, line) in page.iter().enumerate() {
        for NumberedField {
            number: field,
            value: range,
            has_point,
        } in numbered_fields(line.text)
        {
            if !has_point && !is_column(at) {
                continue;
            }
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
                _ if label.is_date() && confidence >= MIN_DATE => only_date(
                    dates_in(&page[value_at], &chars, context.order, Compact::Dates),
                    &page[value_at],
                    label,
                )
                .map(|date| {
                    let chars = date.chars.clone();
                    (Value::Date(date), chars)
                }),
                _ => None,
            };
            candidates.extend(value.map(|(value, chars)| Candidate {
                label,
                value,
                line: value_at,
                chars,
                evidence: NUMBERED,
                has_label: true,
                is_confirmed: false,
            }));
        }
    }
    candidates
}

/// Whether numbers without points number the fields of a licence: at one margin they ascend, and a name comes before the
/// birth.
fn numbered_column<'a>(page: &'a [PageLine<'_>]) -> impl Fn(usize) -> bool + 'a {
    let firsts: Vec<(usize, FieldNumber)> = page
        .iter()
        .enumerate()
        .filter_map(|(at, line)| Some((at, numbered_fields(line.text).first()?.number)))
        .collect();
    move |at| {
        let mut column: Vec<(usize, FieldNumber)> = firsts
            .iter()
            .copied()
            .filter(|(other, _)| *other == at || page[*other].shares_margin(&page[at]))
            .collect();
        column.sort_by(|a, b| page[a.0].middle().total_cmp(&page[b.0].middle()));
        let names = column
            .iter()
            .filter(|(_, number)| matches!(number, FieldNumber::Surname | FieldNumber::GivenNames))
            .count();
        column.len() >= 3
            && column.is_sorted_by_key(|(_, number)| *number)
            && names > 0
            && column
                .get(names)
                .is_some_and(|(_, number)| *number == FieldNumber::Birth)
    }
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
