//! The section `visual`: the fields of the visual zone against the zone that is printed on the same document.
//!
//! A document prints the same data twice, so its zone is the truth for its print. A field counts as printed if the zone
//! has it. Some documents print fewer fields than their zone has, so the recalls are lower limits. A zone has two digits
//! of a year, so a birth may be printed in another century than a reader of the zone assumes.

use std::collections::BTreeMap;

use anyhow::Context as _;
use documents::compare::{SourceData, SubmittedData, compare};
use documents::reading::{DocumentKind, Field, MrzReading, PartialDate, Source, field};
use documents::{kind_of_zone, mrz};
use reference::scripts::script_beside_latin;
use serde_json::{Map, Value, json};

use super::specimen_table::Row;
use crate::cli::eval::figures::{rounded, share};

/// The fields that a zone states, by their names in the report.
const FIELDS: [&str; 7] = [
    field::LAST_NAME,
    "givenNames",
    field::DOCUMENT_NUMBER,
    field::BIRTH_DATE,
    field::EXPIRY_DATE,
    field::SEX,
    field::NATIONALITY,
];

/// Counts of one field.
#[derive(Debug, Clone, Copy, Default)]
struct Count {
    printed: u64,
    read: u64,
    correct: u64,
}

/// Counts of one kind of document with one script.
#[derive(Debug, Default)]
struct Group {
    documents: u64,
    fields: [Count; FIELDS.len()],
}

impl Group {
    /// The precision and recall of all fields, and `correct / printed` by field.
    fn report(&self, kind: &str, script: &str) -> Value {
        let sum = |value: fn(&Count) -> u64| self.fields.iter().map(value).sum::<u64>();
        let fields = FIELDS
            .iter()
            .zip(self.fields)
            .map(|(name, count)| ((*name).to_owned(), json!([count.correct, count.printed])));
        json!({
            "kind": kind,
            "script": script,
            "documents": self.documents,
            "precision": rounded(share(sum(|c| c.correct), sum(|c| c.read))),
            "recall": rounded(share(sum(|c| c.correct), sum(|c| c.printed))),
            "correctOfPrinted": fields.collect::<Map<String, Value>>(),
        })
    }
}

/// The kind of a zone's document in words.
fn kind(zone: &MrzReading) -> &'static str {
    match kind_of_zone(zone) {
        DocumentKind::Passport => "passport",
        DocumentKind::Visa => "visa",
        DocumentKind::ResidencyCard => "residence permit",
        DocumentKind::Drivers => "driving licence",
        DocumentKind::IdCard => "identity card",
        DocumentKind::Unknown | DocumentKind::None => "other",
    }
}

/// The scripts of a zone's issuer.
fn script(zone: &MrzReading) -> String {
    match script_beside_latin(&zone.fields.issuer) {
        Some(script) => format!("Latin, {script}"),
        None => "Latin".to_owned(),
    }
}

/// Compares the visual zones of the readings with the printed zones. Rows with wrong check digits are left out.
///
/// # Errors
/// Fails if an answer's visual zone does not have the form of one.
pub(super) fn visual(rows: &[Row], answers: &BTreeMap<String, Value>) -> anyhow::Result<Value> {
    let mut counts = [Count::default(); FIELDS.len()];
    let mut groups: BTreeMap<(&str, String), Group> = BTreeMap::new();
    let (mut documents, mut wrong) = (0_u64, Vec::new());
    for row in rows.iter().filter(|row| row.valid) {
        let Ok(zone) = mrz::parse(&row.lines) else {
            continue;
        };
        documents += 1;
        let fields: BTreeMap<String, Field> = match answers.get(&row.file).map(|answer| &answer["visual"]) {
            None | Some(Value::Null) => BTreeMap::new(),
            Some(visual) => serde_json::from_value(visual.clone())
                .with_context(|| format!("reading the visual zone of {}", row.file))?,
        };
        let group = groups.entry((kind(&zone), script(&zone))).or_default();
        group.documents += 1;
        let counts = counts.iter_mut().zip(&mut group.fields);
        for (name, (count, of_group)) in FIELDS.iter().zip(counts) {
            let Some(is_correct) = is_correct(name, &zone, &fields) else {
                continue;
            };
            for count in [count, of_group] {
                count.printed += 1;
                count.read += u64::from(is_correct.is_some());
                count.correct += u64::from(is_correct == Some(true));
            }
            if is_correct == Some(false) {
                wrong.push(format!("{} {name}", row.file));
            }
        }
    }
    let mut report = Map::new();
    report.insert("documents".into(), json!(documents));
    for (name, count) in FIELDS.iter().zip(counts) {
        report.insert(format!("{name}Printed"), json!(count.printed));
        report.insert(
            format!("{name}Precision"),
            json!(rounded(share(count.correct, count.read))),
        );
        report.insert(
            format!("{name}Recall"),
            json!(rounded(share(count.correct, count.printed))),
        );
    }
    let sum = |value: fn(&Count) -> u64| counts.iter().map(value).sum::<u64>();
    report.insert(
        "precision".into(),
        json!(rounded(share(sum(|c| c.correct), sum(|c| c.read)))),
    );
    report.insert(
        "recall".into(),
        json!(rounded(share(sum(|c| c.correct), sum(|c| c.printed)))),
    );
    report.insert("wrong".into(), json!(wrong));
    let groups = groups
        .iter()
        .map(|((kind, script), group)| group.report(kind, script));
    report.insert("byKindAndScript".into(), groups.collect());
    Ok(Value::Object(report))
}

/// Whether a field was read correctly; `None` if the zone has no such value, `Some(None)` if it was not read.
fn is_correct(name: &str, zone: &MrzReading, fields: &BTreeMap<String, Field>) -> Option<Option<bool>> {
    let truth = SourceData::from(zone);
    let read = SourceData::from_fields(fields, Source::Ocr);
    let text = |name: &str| fields.get(name).map(|field| field.value.clone());
    fn equal<T: PartialEq>(truth: Option<T>, read: Option<T>) -> Option<Option<bool>> {
        let truth = truth?;
        Some(read.map(|read| read == truth))
    }
    // Names are compared as those of a form are, without what that comparison forgives in a form.
    let same_name = |submitted: SubmittedData, field: &str| {
        compare(&submitted, std::slice::from_ref(&truth))
            .field_results
            .iter()
            .any(|result| result.field == field && result.matches == Some(true) && result.score >= 90.0)
    };
    match name {
        field::LAST_NAME => {
            truth.surname.as_ref()?;
            let submitted = |last_name| SubmittedData {
                last_name: Some(last_name),
                ..SubmittedData::default()
            };
            Some(
                read.surname
                    .map(|surname| same_name(submitted(surname), "lastName")),
            )
        }
        "givenNames" => {
            truth.given_names.as_ref()?;
            let submitted = |first_name| SubmittedData {
                first_name: Some(first_name),
                ..SubmittedData::default()
            };
            Some(
                read.given_names
                    .map(|names| same_name(submitted(names), "firstName")),
            )
        }
        field::DOCUMENT_NUMBER => equal(truth.document_number, read.document_number),
        field::BIRTH_DATE => {
            let truth = truth.birth_date?;
            let parts = |date: PartialDate| (date.year() % 100, date.month(), date.day());
            Some(read.birth_date.map(|date| parts(date) == parts(truth)))
        }
        field::EXPIRY_DATE => equal(truth.expiry_date, read.expiry_date),
        field::SEX => equal(zone.fields.sex.map(String::from), text(field::SEX)),
        field::NATIONALITY => equal(truth.nationality, text(field::NATIONALITY)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_counted_against_the_printed_zone() {
        let row = |file: &str, valid| Row {
            file: file.to_owned(),
            lines: vec![
                "P<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<<<<<<<<<".to_owned(),
                "L898902C36UTO7408122F1204159ZE184226B<<<<<10".to_owned(),
            ],
            valid,
            zone: None,
            edited: None,
        };
        let field = |value: &str| json!({"value": value, "source": "OCR", "confidence": 0.9});
        let answer = json!({"visual": {"lastName": field("Eriksson"), "firstName": field("ANNA"), "sex": field("M"),
            "birthDate": field("1974-08-12")}});
        let answers = BTreeMap::from([("a.png".to_owned(), answer)]);
        let report = visual(
            &[row("a.png", true), row("b.png", true), row("c.png", false)],
            &answers,
        )
        .unwrap();
        assert_eq!(report["documents"], json!(2));
        assert_eq!(
            (&report["lastNamePrecision"], &report["lastNameRecall"]),
            (&json!(1.0), &json!(0.5))
        );
        assert_eq!(
            (&report["birthDatePrecision"], &report["birthDateRecall"]),
            (&json!(1.0), &json!(0.5))
        );
        assert_eq!(report["sexPrecision"], json!(0.0));
        assert_eq!(report["documentNumberPrecision"], json!(null));
        assert_eq!(report["wrong"], json!(["a.png sex"]));
        let groups = report["byKindAndScript"].as_array().unwrap();
        assert_eq!(groups.len(), 1);
        assert_eq!(
            (&groups[0]["kind"], &groups[0]["script"]),
            (&json!("passport"), &json!("Latin"))
        );
        assert_eq!(groups[0]["documents"], json!(2));
        assert_eq!(groups[0]["correctOfPrinted"]["birthDate"], json!([1, 2]));
    }

    #[test]
    fn kinds_are_told_by_the_code() {
        for (lines, expected) in [
            (
                &[
                    "C1USA0000000016SRC0000000001<<",
                    "9001019F2501017UTO<<<<<<<<<<<<",
                    "DOE<<JANE<<<<<<<<<<<<<<<<<<<<<",
                ][..],
                ("residence permit", "Latin"),
            ),
            (
                &[
                    "P<UKRTKACHENKO<<MARIANA<<<<<<<<<<<<<<<<<<<<<",
                    "AA000000<4UKR9001019F2501017<<<<<<<<<<<<<<00",
                ],
                ("passport", "Latin, Cyrillic"),
            ),
            (
                &[
                    "V<CHNDOE<<JANE<<<<<<<<<<<<<<<<<<<<<<",
                    "AA000000<4UTO9001019F2501017<<<<<<<<",
                ],
                ("visa", "Latin, Han"),
            ),
            (
                &[
                    "I<GRCDOE<<JANE<<<<<<<<<<<<<<<<<<<<<<",
                    "AA000000<4GRC9001019F2501017<<<<<<<0",
                ],
                ("identity card", "Latin, Greek"),
            ),
        ] {
            let zone = mrz::parse(lines).unwrap();
            assert_eq!((kind(&zone), script(&zone).as_str()), expected, "{lines:?}");
        }
    }

    #[test]
    fn an_answer_of_another_form_is_an_error() {
        let row = Row {
            file: "a.png".into(),
            lines: vec![
                "P<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<<<<<<<<<".to_owned(),
                "L898902C36UTO7408122F1204159ZE184226B<<<<<10".to_owned(),
            ],
            valid: true,
            zone: None,
            edited: None,
        };
        let answers = BTreeMap::from([("a.png".to_owned(), json!({"visual": {"lastName": "Eriksson"}}))]);
        assert!(visual(&[row], &answers).is_err());
    }
}
