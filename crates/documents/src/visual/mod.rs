//! Reads the visual zone: fields by their printed labels, and the kind of document.
//!
//! - `page` finds where a label's value may be printed, `labels` finds the labels, and `numbered` the numbered fields
//!   of driving licences.
//! - `candidates` collects the texts that may be a value, `machine_print` finds print that equals the zone or a barcode,
//!   `dates`, `sex`, `nationality` and `values` parse texts, and this module chooses among them.
//! - `date_digits` finds print that repeats a zone's date which no calendar has.
//!
//! A text that does not have its field's form is never used as its value. Another source of the document only helps to
//! find print: it never becomes a value, except that it tells the century of an equal date with a year of two digits.
//! This module never reports whether the two agree; `compare` does.

mod candidates;
pub(crate) mod date_digits;
mod date_tokens;
mod dates;
mod kind;
mod labels;
mod machine_data;
mod machine_print;
mod months;
mod nationality;
mod numbered;
mod page;
mod sex;
mod text;
mod values;

use std::collections::BTreeMap;

use jiff::civil::Date;

use crate::locate::Line;
use crate::reading::{Aamva, DocumentKind, Field, MrzReading, PartialDate, Source, field};

use candidates::{Candidate, Context, MIN_DATE, Value, all_dates, labelled, numbered as numbered_values};
use dates::{DateOrder, DateRole, PrintedDate};
pub use kind::kind_of_zone;
use labels::Label;
pub(crate) use labels::is_only_labels;
use machine_data::MachineData;
use machine_print::{equal_to_machine_data, is_probably_misread};
use page::{PageLine, page_lines};

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
    let today = jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC).date();
    read_on(lines, mrz, aamva, any_barcode, today)
}

/// Reads the visual zone as [`read`] does, with a given date as today.
fn read_on(
    lines: &[&Line],
    mrz: Option<&MrzReading>,
    aamva: Option<&Aamva>,
    any_barcode: bool,
    today: Date,
) -> VisualZone {
    let kind = kind::kind_of(lines, mrz, aamva, any_barcode);
    let page = page_lines(lines, kind);
    let machine = MachineData::of(mrz, aamva);
    let issuer = mrz
        .and_then(|mrz| mrz.fields.issuer_country.as_deref())
        .or_else(|| aamva.and_then(|card| card.country.as_deref()));
    let context = Context {
        order: date_order(&page, mrz, aamva),
        machine: machine.as_ref(),
        issuer,
        is_card: kind != DocumentKind::Passport && kind != DocumentKind::Visa,
    };
    let mut all = labelled(&page, context);
    let numbered = numbered_values(&page, context);
    if kind == DocumentKind::Drivers || has_numbered_dates(&numbered) {
        all.extend(numbered);
    }
    all.extend(equal_to_machine_data(&page, context));
    let mut reader = FieldReader {
        page: &page,
        context,
        kind,
        today,
        all,
        fields: BTreeMap::new(),
    };
    reader.read();
    VisualZone {
        kind,
        fields: reader.fields,
    }
}

/// Whether a page has the numbered dates of a licence (birth, issue and expiry), although its title is unreadable.
fn has_numbered_dates(numbered: &[Candidate]) -> bool {
    [Label::Birth, Label::Issue, Label::Expiry]
        .iter()
        .all(|label| numbered.iter().any(|candidate| candidate.label == *label))
}

/// The order of day and month on a page. The issuer that another source states and the dates that are possible in one
/// order only prove it, if they agree. Without either, American titles and labels in other languages than English show
/// it.
fn date_order(page: &[PageLine<'_>], mrz: Option<&MrzReading>, aamva: Option<&Aamva>) -> DateOrder {
    // No check digit protects the issuer, so an uncertain zone shows nothing.
    let is_proven = |mrz: &MrzReading| mrz.is_certain() && mrz.is_plausible();
    let by_issuer = match (mrz, aamva) {
        // Passports of the United States print the month as a word.
        (Some(mrz), _) if is_proven(mrz) && mrz.fields.issuer == "USA" => {
            (!mrz.fields.document_code.starts_with('P')).then_some(DateOrder::MonthFirst)
        }
        (Some(mrz), _) if is_proven(mrz) => Some(DateOrder::DayFirst),
        (_, Some(card)) if card.country.as_deref() == Some("USA") => Some(DateOrder::MonthFirst),
        _ => None,
    };
    let printed = all_dates(page, DateOrder::Unproven)
        .into_iter()
        .filter_map(|(_, date)| date.proves);
    let mut proofs = by_issuer.into_iter().chain(printed);
    if let Some(first) = proofs.next() {
        return if proofs.all(|other| other == first) {
            first
        } else {
            DateOrder::Unproven
        };
    }
    let is_foreign = page
        .iter()
        .flat_map(|line| &line.groups)
        .any(|group| group.label.is_date() && !group.languages.contains(&"en"));
    if page.iter().any(is_american) {
        DateOrder::MonthFirst
    } else if is_foreign {
        DateOrder::DayFirst
    } else {
        DateOrder::Unproven
    }
}

/// Whether a line is a title of documents of the United States. Their name alone is also a nationality and a place of
/// birth on other documents.
fn is_american(line: &PageLine<'_>) -> bool {
    let words: Vec<&str> = line.words.iter().map(|w| w.folded.as_str()).collect();
    words.windows(2).any(|w| w == ["DRIVER", "LICENSE"])
        || words.windows(3).any(|w| w == ["DRIVER", "S", "LICENSE"])
        || words.windows(3).any(|w| w == ["PERMANENT", "RESIDENT", "CARD"])
}

/// A lead in evidence that decides between two texts.
const LEAD: f32 = 0.03;
/// The orders of three dates.
const ORDERS: [[usize; 3]; 6] = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];

/// Chooses among the candidates of a page.
struct FieldReader<'a> {
    page: &'a [PageLine<'a>],
    context: Context<'a>,
    kind: DocumentKind,
    today: Date,
    all: Vec<Candidate>,
    fields: BTreeMap<String, Field>,
}

impl FieldReader<'_> {
    fn read(&mut self) {
        self.divide_whole_names();
        self.mark_confirmed();
        let (page, machine) = (self.page, self.context.machine);
        self.all
            .retain(|candidate| !is_probably_misread(candidate, page, machine));
        self.drop_shared_lines();
        for (label, name) in [
            (Label::Number, field::DOCUMENT_NUMBER),
            (Label::Nationality, field::NATIONALITY),
            (Label::Sex, field::SEX),
            (Label::IssuerCode, field::ISSUER),
        ] {
            if let Some((candidate, value)) = self.best_text(label) {
                self.insert(name, &value, &candidate);
            }
        }
        self.read_names();
        self.read_dates();
    }

    /// Marks the candidates that equal the other source's value.
    fn mark_confirmed(&mut self) {
        let Some(machine) = self.context.machine else {
            return;
        };
        for candidate in &mut self.all {
            candidate.is_confirmed |= match &candidate.value {
                Value::Text(text) => machine.is_value(candidate.label, text),
                Value::Date(date) => machine.is_date(candidate.label, date),
            };
        }
    }

    /// Divides a whole name at its comma, or where another source divides the same name. Without either, the print does
    /// not show where the family name ends, and gives no value.
    fn divide_whole_names(&mut self) {
        let mut parts = Vec::new();
        for candidate in &self.all {
            let (Label::WholeName, Value::Text(text)) = (candidate.label, &candidate.value) else {
                continue;
            };
            let by_comma = || {
                let mut names = text.split(',').map(str::trim);
                let (surname, given) = (names.next()?, names.next()?);
                let is_whole = names.next().is_none();
                is_whole.then(|| Some([values::name(surname)?, values::name(given)?]))?
            };
            let machine = self.context.machine;
            if let Some([surname, given]) = machine
                .and_then(|machine| machine.divided(text))
                .or_else(by_comma)
            {
                let part = |label, name: String| Candidate {
                    label,
                    value: Value::Text(name),
                    ..candidate.clone()
                };
                parts.extend([part(Label::Surname, surname), part(Label::GivenNames, given)]);
            }
        }
        self.all.retain(|candidate| candidate.label != Label::WholeName);
        self.all.extend(parts);
    }

    /// A text is the value of one field only: of the one whose value another source confirms, or else of the one with
    /// better evidence. With equal evidence it is of neither.
    fn drop_shared_lines(&mut self) {
        let all = self.all.clone();
        let is_shared = |a: &Candidate, b: &Candidate| {
            a.line == b.line
                && a.label != b.label
                && a.chars.start < b.chars.end
                && b.chars.start < a.chars.end
        };
        // Two names from one text were divided at its comma.
        let is_divided = |a: &Candidate, b: &Candidate| {
            a.label.is_name() && b.label.is_name() && a.chars == b.chars && a.value != b.value
        };
        let rank = |candidate: &Candidate| (candidate.is_confirmed, candidate.evidence);
        let is_better = |a: (bool, f32), b: (bool, f32)| (a.0 && !b.0) || (a.0 == b.0 && a.1 > b.1 + 1e-4);
        self.all.retain(|candidate| {
            all.iter()
                .filter(|other| is_shared(candidate, other) && !is_divided(candidate, other))
                .all(|other| is_better(rank(candidate), rank(other)))
        });
    }

    /// The candidates of a field from the best evidence down. Print without a label counts only where no label has a
    /// value: a copy of the zone's value elsewhere on the page hides no contradiction. Between equals, the one that
    /// another source confirms comes first.
    fn ranked(&self, label: Label) -> Vec<Candidate> {
        let of_field = || self.all.iter().filter(|candidate| candidate.label == label);
        let any_label = of_field().any(|candidate| candidate.has_label);
        let mut found: Vec<Candidate> = of_field()
            .filter(|candidate| candidate.has_label == any_label)
            .cloned()
            .collect();
        let rank =
            |candidate: &Candidate| candidate.evidence + if candidate.is_confirmed { LEAD } else { 0.0 };
        found.sort_by(|a, b| rank(b).total_cmp(&rank(a)));
        found
    }

    /// The text of a field. If labels state two different texts with about the same evidence, there is none.
    fn best_text(&self, label: Label) -> Option<(Candidate, String)> {
        let ranked = self.ranked(label);
        let best = ranked.first()?.clone();
        let Value::Text(text) = best.value.clone() else {
            return None;
        };
        let rivals = ranked
            .iter()
            .filter(|other| best.evidence - other.evidence < LEAD);
        let contradicted = !best.is_confirmed
            && rivals
                .filter_map(|other| match &other.value {
                    Value::Text(text) => Some(text),
                    Value::Date(_) => None,
                })
                .any(|other| *other != text);
        (!contradicted).then_some((best, text))
    }

    fn read_names(&mut self) {
        let surname = self.best_text(Label::Surname);
        let given = self.best_text(Label::GivenNames);
        if let Some((candidate, name)) = surname {
            let second = self.best_text(Label::SecondSurname).map(|(_, second)| second);
            let whole = match second {
                Some(second) if !candidate.is_confirmed => format!("{name} {second}"),
                _ => name,
            };
            self.insert(field::LAST_NAME, &whole, &candidate);
        }
        if let Some((candidate, names)) = given {
            let mut parts = names.splitn(2, ' ');
            if let Some(first) = parts.next() {
                self.insert(field::FIRST_NAME, first, &candidate);
            }
            if let Some(rest) = parts.next() {
                self.insert(field::MIDDLE_NAME, rest.trim(), &candidate);
            }
        }
    }

    fn read_dates(&mut self) {
        let mut found: BTreeMap<&str, (Candidate, PartialDate)> = BTreeMap::new();
        let mut by = self.today;
        for (label, name) in [
            (Label::Issue, field::ISSUE_DATE),
            (Label::Expiry, field::EXPIRY_DATE),
            (Label::Birth, field::BIRTH_DATE),
        ] {
            let role = match label {
                Label::Issue => DateRole::Issue,
                Label::Expiry => DateRole::Expiry,
                _ => DateRole::Birth {
                    least_age: self.least_age(),
                    by,
                },
            };
            if let Some((candidate, date)) = self.best_date(label, role) {
                let is_exact = matches!(&candidate.value, Value::Date(printed) if printed.has_full_year());
                if label == Label::Issue && is_exact {
                    by = date.to_date().unwrap_or(by);
                }
                found.insert(name, (candidate, date));
            }
        }
        drop_contradicting_dates(&mut found);
        for (name, (candidate, date)) in found {
            self.insert(name, &date.to_string(), &candidate);
        }
        self.infer_dates_without_labels();
    }

    /// Holders of licences are at least 14 years old.
    fn least_age(&self) -> i16 {
        if self.kind == DocumentKind::Drivers { 14 } else { 0 }
    }

    fn best_date(&self, label: Label, role: DateRole) -> Option<(Candidate, PartialDate)> {
        let dates: Vec<(Candidate, PartialDate)> = self
            .ranked(label)
            .into_iter()
            .filter_map(|candidate| {
                let Value::Date(date) = &candidate.value else {
                    return None;
                };
                // A short year of a date that equals the other source's is of the same century.
                let is_known = candidate.is_confirmed && !date.has_full_year();
                let machine = self.context.machine.filter(|_| is_known);
                let date = match machine.and_then(|machine| machine.date(label)) {
                    Some(date) => date,
                    None => date.in_century(role, self.today)?,
                };
                Some((candidate, date))
            })
            .collect();
        let (best, date) = dates.first()?.clone();
        let contradicted = !best.is_confirmed
            && dates
                .iter()
                .any(|(other, value)| *value != date && best.evidence - other.evidence < LEAD);
        (!contradicted).then_some((best, date))
    }

    /// Infers dates on cards and passports whose page shows no label of a date: of exactly three dates, one is the birth,
    /// one the issue and one the expiry. Only one such order may be plausible, and no other source may state the dates.
    fn infer_dates_without_labels(&mut self) {
        let mut groups = self.page.iter().flat_map(|line| &line.groups);
        let is_kind = matches!(
            self.kind,
            DocumentKind::Passport | DocumentKind::IdCard | DocumentKind::ResidencyCard
        );
        if !is_kind || groups.any(|group| group.label.is_date()) {
            return;
        }
        let mut all = all_dates(self.page, self.context.order);
        if all.iter().any(|(at, _)| self.page[*at].confidence < MIN_DATE) {
            return;
        }
        let mut seen: Vec<PrintedDate> = Vec::new();
        all.retain(|(_, date)| {
            let is_new = !seen.iter().any(|other| other.is_same_print(date));
            seen.push(date.clone());
            is_new
        });
        if all.len() != 3 {
            return;
        }
        let mut orders = ORDERS
            .iter()
            .filter_map(|order| Some((*order, self.plausible_dates(order.map(|at| &all[at].1))?)));
        let (Some(([birth, _, expiry], (birth_date, expiry_date))), None) = (orders.next(), orders.next())
        else {
            return;
        };
        let first = (birth_date, all[birth].0, all[birth].1.chars.clone());
        let last = (expiry_date, all[expiry].0, all[expiry].1.chars.clone());
        let is_stated = |label: Label| self.context.machine.is_some_and(|machine| machine.has(label));
        let inferred = [
            (field::BIRTH_DATE, Label::Birth, first),
            (field::EXPIRY_DATE, Label::Expiry, last),
        ];
        let open: Vec<_> = inferred
            .into_iter()
            .filter(|(name, label, _)| !self.fields.contains_key(*name) && !is_stated(*label))
            .collect();
        for (name, label, (date, line, chars)) in open {
            let candidate = Candidate {
                label,
                value: Value::Text(String::new()),
                line,
                chars,
                evidence: 0.4,
                has_label: false,
                is_confirmed: false,
            };
            self.insert(name, &date.to_string(), &candidate);
        }
    }

    /// Dates of birth and expiry, if three dates can be birth, issue and expiry of one document: a document is valid for
    /// at most 11 years, and its holder is at least 12 at its expiry.
    fn plausible_dates(
        &self,
        [birth, issue, expiry]: [&PrintedDate; 3],
    ) -> Option<(PartialDate, PartialDate)> {
        let issue = issue.in_century(DateRole::Issue, self.today)?;
        let role = DateRole::Birth {
            least_age: self.least_age(),
            by: issue.to_date()?,
        };
        let birth = birth.in_century(role, self.today)?;
        let expiry = expiry.in_century(DateRole::Expiry, self.today)?;
        let is_plausible = birth < issue
            && issue < expiry
            && expiry.year() - issue.year() <= 11
            && expiry.year() - birth.year() >= 12;
        is_plausible.then_some((birth, expiry))
    }

    fn insert(&mut self, name: &str, value: &str, candidate: &Candidate) {
        let line = &self.page[candidate.line];
        let printed = line.slice(&candidate.chars);
        let field = Field {
            value: value.to_owned(),
            source: Source::Ocr,
            confidence: line.confidence * candidate.evidence * 0.95,
            bounds: Some(line.bounds(&candidate.chars)).filter(|bounds| bounds.iter().all(|x| x.is_finite())),
            printed: (printed != value).then(|| printed.to_owned()),
        };
        self.fields.entry(name.into()).or_insert(field);
    }
}

/// Removes both dates of a contradicting pair: a birth must precede an issue and an expiry, and an issue an expiry. If
/// another source has one of them, both remain, so that the contradiction is seen.
fn drop_contradicting_dates(found: &mut BTreeMap<&str, (Candidate, PartialDate)>) {
    for (earlier, later) in [
        (field::BIRTH_DATE, field::ISSUE_DATE),
        (field::ISSUE_DATE, field::EXPIRY_DATE),
        (field::BIRTH_DATE, field::EXPIRY_DATE),
    ] {
        let contradict = match (found.get(earlier), found.get(later)) {
            (Some((first, a)), Some((last, b))) => a >= b && !first.is_confirmed && !last.is_confirmed,
            _ => false,
        };
        if contradict {
            found.remove(earlier);
            found.remove(later);
        }
    }
}

#[cfg(test)]
mod safety_tests;
#[cfg(test)]
mod tests;
