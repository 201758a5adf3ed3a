//! Compares print with what another source of the document states: finds equal print without labels, and decides
//! whether a different text is the same value, badly read.
//!
//! A value is always what is printed. Print that equals another source's value fills a field only if no label states
//! another one; that is decided where fields are chosen, not here.

use std::ops::Range;

use reference::icao::transliterate;

use super::candidates::{Candidate, Context, MIN_SEX, Value, all_dates};
use super::labels::Label;
use super::machine_data::MachineData;
use super::nationality::{has_adjective, nationalities, read_nationality};
use super::page::PageLine;
use super::sex::{SexContext, read_sex};
use super::text::name_key;

/// Evidence of a text that equals another source's value, without a label.
const EQUAL: f32 = 0.85;

/// Print that equals the other source's values, wherever it is printed.
pub(super) fn equal_to_machine_data(page: &[PageLine<'_>], context: Context<'_>) -> Vec<Candidate> {
    let Some(machine) = context.machine else {
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
            has_label: false,
            is_confirmed: true,
        });
    };
    let mut named: Vec<usize> = Vec::new();
    for (label, wanted) in [
        (Label::Surname, &machine.surname),
        (Label::GivenNames, &machine.given_names),
    ] {
        let Some(wanted) = wanted else { continue };
        // One line does not state both names.
        let taken = named.clone();
        for (at, line) in page.iter().enumerate().filter(|(at, _)| !taken.contains(at)) {
            for part in line.unlabelled().iter().flat_map(|part| spellings(line, part)) {
                let text = line.slice(&part);
                let whole = || machine.has_name(label, text).then(|| text.to_owned());
                let printed = whole().or_else(|| continued(page, at, text, wanted, machine, label));
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
        if let Some((chars, value)) = machine.number_in(line) {
            add(Label::Number, Value::Text(value), at, chars);
        }
        let nationality = machine.nationality.as_ref().filter(|_| has_adjective(line.text));
        if let Some(value) = read_nationality(line.text).filter(|value| Some(value) == nationality) {
            add(Label::Nationality, Value::Text(value), at, line.all());
        }
    }
    if let Some((at, sex)) = only_sex(page, context).filter(|(_, sex)| Some(*sex) == machine.sex) {
        add(Label::Sex, Value::Text(sex.into()), at, page[at].all());
    }
    for (at, date) in all_dates(page, context.order) {
        for label in [Label::Birth, Label::Expiry] {
            if machine.is_date(label, &date) {
                add(label, Value::Date(date.clone()), at, date.chars.clone());
            }
        }
    }
    if let Some((at, value)) = nationality_by_position(page, context, &candidates) {
        candidates.push(Candidate {
            label: Label::Nationality,
            value: Value::Text(value),
            line: at,
            chars: page[at].all(),
            evidence: EQUAL,
            has_label: false,
            is_confirmed: true,
        });
    }
    candidates
}

/// The nationality of a passport by its place: ICAO 9303-4 §4 prints it below the names and above the birth, where a
/// state's name is no title. A part in another language may be unreadable, and none may be another nationality.
fn nationality_by_position(
    page: &[PageLine<'_>],
    context: Context<'_>,
    found: &[Candidate],
) -> Option<(usize, String)> {
    let wanted = context
        .machine
        .and_then(|machine| machine.nationality.as_deref())
        .filter(|_| !context.is_card)?;
    let y_of = |label: Label| {
        let mut lines = found.iter().filter(|c| c.label == label).map(|c| c.line);
        let first = lines.next()?;
        lines.all(|other| other == first).then(|| page[first].middle())
    };
    let names = y_of(Label::Surname)?;
    // A birth that never was has no equal print. Then the first date below the names is taken for it.
    let dates = all_dates(page, context.order);
    let below = dates
        .iter()
        .map(|(at, _)| page[*at].middle())
        .filter(|y| *y > names);
    let birth = y_of(Label::Birth).or_else(|| below.min_by(f32::total_cmp))?;
    let mut between = page.iter().enumerate().filter(|(_, line)| {
        (names..birth).contains(&line.middle())
            && nationalities(line.text).next().is_some()
            && nationalities(line.text).all(|code| code == wanted)
    });
    let (at, first) = between.next()?;
    // What is printed in several languages may be several pieces of one row.
    between
        .all(|(_, line)| first.is_in_row_of(line))
        .then(|| (at, wanted.to_owned()))
}

/// The only line of the page that is a sex and nothing else. Two such lines may contradict each other, and then neither
/// counts without a label.
fn only_sex(page: &[PageLine<'_>], context: Context<'_>) -> Option<(usize, char)> {
    let sex = SexContext {
        issuer: context.issuer,
        languages: &[],
        is_national: context.is_card,
    };
    let mut found = page
        .iter()
        .enumerate()
        .filter_map(|(at, line)| Some((at, read_sex(line.text, sex)?)));
    let only = found.next()?;
    (found.next().is_none() && page[only.0].confidence >= MIN_SEX).then_some(only)
}

/// A part of a line, and the parts that an oblique divides: some states print each name in two scripts.
fn spellings(line: &PageLine<'_>, part: &Range<usize>) -> Vec<Range<usize>> {
    let mut parts = vec![part.clone()];
    let text: Vec<char> = line.text.chars().collect();
    let slash = (part.start..part.end).find(|at| text.get(*at) == Some(&'/'));
    if let Some(slash) = slash {
        parts.extend([part.start..slash, slash + 1..part.end]);
    }
    parts
}

/// A name that continues on the next line, as two family names often do.
fn continued(
    page: &[PageLine<'_>],
    at: usize,
    text: &str,
    wanted: &str,
    machine: &MachineData,
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
    machine.has_name(label, &both).then_some(both)
}

/// Whether a text that differs from the other source's value is probably that value, badly read: it differs only in
/// letters of a number that look like digits, or of a name that the recogniser lacks, or by the recogniser's output the
/// value is nearly as likely on the line. It then states nothing. A text that is clearly another one is a contradiction,
/// and never hidden.
pub(super) fn is_probably_misread(
    candidate: &Candidate,
    page: &[PageLine<'_>],
    machine: Option<&MachineData>,
) -> bool {
    /// The natural logarithm of a ratio of likelihoods.
    const NEARLY: f64 = 4.0;
    let (Some(machine), Value::Text(text), false) = (machine, &candidate.value, candidate.is_confirmed)
    else {
        return false;
    };
    if candidate.label == Label::Number && machine.looks_like_number(text) {
        return true;
    }
    let Some(wanted) = machine.near_text(candidate.label, text) else {
        return false;
    };
    if candidate.label.is_name() && is_misread_ligature(wanted, text) {
        return true;
    }
    let line = &page[candidate.line];
    let range = &candidate.chars;
    let with = |value: &str| {
        let whole = [
            line.raw(&(0..range.start)),
            value,
            line.raw(&(range.end..line.all().end)),
        ]
        .concat();
        line.log_likelihood(&whole)
    };
    match (with(line.raw(range)), with(wanted)) {
        (Some(printed), Some(wanted)) => printed - wanted < NEARLY,
        _ => false,
    }
}

/// Whether print and transliteration differ only in a letter that the recogniser does not have: `Æ` is transliterated to
/// `AE` and read as `E`, `Þ` to `TH` and `P`.
fn is_misread_ligature(wanted: &str, printed: &str) -> bool {
    let (wanted, printed) = (transliterate(wanted), transliterate(printed));
    wanted != printed
        && [("AE", "E"), ("OE", "E"), ("TH", "P"), ("TH", "D"), ("SS", "B")]
            .iter()
            .any(|(letters, read)| wanted.replace(letters, read) == printed)
}
