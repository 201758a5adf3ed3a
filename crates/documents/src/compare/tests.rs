//! One row for each way in which honest data differ, and for each way in which data contradict.

use proptest::prelude::*;

use super::*;

fn claimed(first: &str, middle: &str, last: &str) -> SubmittedData {
    SubmittedData {
        first_name: non_empty(first),
        middle_name: non_empty(middle),
        last_name: non_empty(last),
        ..SubmittedData::default()
    }
}

fn said(source: Source, given: &str, surname: &str) -> SourceData {
    SourceData {
        source,
        certain: source != Source::Ocr,
        document: 0,
        surname: non_empty(surname),
        given_names: non_empty(given),
        truncated: false,
        birth_date: None,
        expiry_date: None,
        issue_date: None,
        document_number: None,
        other_numbers: Vec::new(),
        nationality: None,
    }
}

fn date(text: &str) -> Option<PartialDate> {
    Some(text.parse().unwrap())
}

#[test]
fn names_agree_or_contradict() {
    // submitted first, middle, last name; printed given names, surname; fields with a contradiction; whether
    // there is a warning
    type Row = (
        &'static str,
        &'static str,
        &'static str,
        &'static str,
        &'static str,
        &'static [&'static str],
        bool,
    );
    let rows: &[Row] = &[
        ("Anna", "Maria", "Eriksson", "ANNA MARIA", "ERIKSSON", &[], false),
        (
            "Anna",
            "Maria",
            "Eriksson",
            "ANNA GRETA MARIA",
            "ERIKSSON",
            &[],
            true,
        ),
        ("Anna", "Maria", "Eriksson", "ANNA", "ERIKSSON", &[], true),
        ("Anna", "M", "Eriksson", "ANNA GRETA MARIA", "ERIKSSON", &[], true),
        ("Anna", "", "Eriksson", "ANNA MARIA", "ERIKSSON", &[], false),
        ("Anna Maria", "", "Eriksson", "ANNA MARIA", "ERIKSSON", &[], false),
        ("Maria", "", "Eriksson", "ANNA MARIA", "ERIKSSON", &[], true),
        ("AnnaMaria", "", "Eriksson", "ANNA MARIA", "ERIKSSON", &[], false),
        ("Anna-Maria", "", "Eriksson", "ANNA MARIA", "ERIKSSON", &[], false),
        ("Jurgen", "", "Muller", "JUERGEN", "MUELLER", &[], true),
        ("Jürgen", "", "Müller", "JUERGEN", "MUELLER", &[], false),
        ("Sean", "", "O'Neil", "SEAN", "ONEIL", &[], false),
        ("Sean", "", "ONeil", "SEAN", "O NEIL", &[], false),
        ("Juan", "", "de la Cruz", "JUAN", "DELACRUZ", &[], false),
        ("Carmen", "", "Garcia", "CARMEN", "GARCIA LOPEZ", &[], true),
        ("John", "Q", "Smith Jr.", "JOHN QUINCY", "SMITH", &[], true),
        ("J", "", "Smith", "JOHN", "SMITH", &[], true),
        ("Eriksson", "", "Anna", "ANNA", "ERIKSSON", &[], true),
        (
            "Carmen",
            "",
            "Espanola",
            "",
            "ESPANOLA ESPANOLA CARMEN",
            &[],
            true,
        ),
        ("FNU", "", "Sukarno", "", "SUKARNO", &[], true),
        (
            "Bob",
            "",
            "Eriksson",
            "ANNA MARIA",
            "ERIKSSON",
            &["firstName"],
            false,
        ),
        ("Anna", "", "Erikson", "ANNA", "ERIKSSON", &[], true),
        ("Anna", "", "Eriksen", "ANNA", "ERIKSSON", &["lastName"], false),
        ("Anna", "", "Smith", "ANNA", "ERIKSSON", &["lastName"], false),
        (
            "Anna",
            "Greta",
            "Eriksson",
            "ANNA MARIA",
            "ERIKSSON",
            &["middleName"],
            false,
        ),
        ("Ann", "", "Eriksson", "ANNA", "ERIKSSON", &["firstName"], false),
    ];
    for (first, middle, last, given, surname, mismatches, warned) in rows {
        let result = compare(
            &claimed(first, middle, last),
            &[said(Source::Mrz, given, surname)],
        );
        assert_eq!(
            result.mismatches, *mismatches,
            "{first} {middle} {last} / {given} {surname}"
        );
        assert_eq!(result.matches, mismatches.is_empty());
        assert_eq!(
            !result.warnings.is_empty(),
            *warned,
            "{first} {last} / {given} {surname}: {:?}",
            result.warnings
        );
        assert!((0.0..=100.0).contains(&result.match_score));
    }
}

#[test]
fn cut_names_agree_with_their_beginnings() {
    let full = claimed("Bartholomew", "", "Featherstonehaugh");
    let mut cut = said(Source::Mrz, "BARTHO", "FEATHERSTONEHAUGH");
    assert_eq!(compare(&full, &[cut.clone()]).mismatches, ["firstName"]);
    cut.truncated = true;
    let result = compare(&full, &[cut]);
    assert!(result.matches, "{result:?}");
    assert_eq!(result.warnings.len(), 1);
}

#[test]
fn a_smudge_in_the_visual_zone_is_forgiven() {
    let claim = claimed("Anna", "", "Eriksson");
    assert!(compare(&claim, &[said(Source::Ocr, "ANNA", "ERlKSSON")]).matches);
    assert!(!compare(&claim, &[said(Source::Ocr, "ANNA", "JOHANSSON")]).matches);
    // This is too short for the visual zone alone. With an MRZ that agrees, it counts as a misreading.
    assert_eq!(
        compare(&claim, &[said(Source::Ocr, "ANMA", "ERIKSSON")]).mismatches,
        ["firstName"]
    );
    let both = [
        said(Source::Mrz, "ANNA", "ERIKSSON"),
        said(Source::Ocr, "ANMA", "ERIKSSON"),
    ];
    let result = compare(&claim, &both);
    assert!(result.matches && result.warnings.len() == 1, "{result:?}");
    let both = [
        said(Source::Mrz, "ANNA", "ERIKSSON"),
        said(Source::Ocr, "BERTA", "ERIKSSON"),
    ];
    assert_eq!(compare(&claim, &both).mismatches, ["firstName"]);
}

#[test]
fn dates_numbers_and_nationalities() {
    let claim = SubmittedData {
        birth_date: date("1974-08-02"),
        document_number: Some("L 898902-C3".into()),
        nationality: Some("DEU".into()),
        ..SubmittedData::default()
    };
    let rows: &[(Source, &str, &str, &str, &[&str])] = &[
        (Source::Mrz, "1974-08-02", "L898902C3", "D", &[]),
        (Source::Mrz, "1974-08", "L8989O2C3", "DEU", &[]),
        (Source::Mrz, "1974", "L898902C3", "XXA", &[]),
        (Source::Mrz, "1974-02-08", "L898902C3", "D", &["dob"]),
        (Source::Ocr, "1974-02-08", "L898902C3", "D", &[]),
        (
            Source::Mrz,
            "1975-08-02",
            "L898902C4",
            "FRA",
            &["dob", "documentNumber", "nationality"],
        ),
    ];
    for (source, birth, number, nationality, mismatches) in rows {
        let said = SourceData {
            birth_date: date(birth),
            document_number: non_empty(number),
            nationality: non_empty(nationality),
            ..said(*source, "", "")
        };
        assert_eq!(
            compare(&claim, &[said]).mismatches,
            *mismatches,
            "{birth} {number} {nationality}"
        );
    }
}

#[test]
fn only_a_certain_source_of_the_same_document_excuses_print() {
    let claim = claimed("Anna", "", "Ivtv");
    let zone = said(Source::Mrz, "ANNA", "IVTV");
    let print = said(Source::Ocr, "ANNA", "IVIV");
    for (is_certain, document, mismatches) in [
        (true, 0, &[][..]),
        (false, 0, &["lastName"][..]),
        (true, 1, &["lastName"]),
    ] {
        let zone = SourceData {
            certain: is_certain,
            document,
            ..zone.clone()
        };
        assert_eq!(
            compare(&claim, &[zone, print.clone()]).mismatches,
            mismatches,
            "{is_certain} {document}"
        );
    }
}

#[test]
fn nothing_to_compare_is_no_match() {
    let empty = compare(&SubmittedData::default(), &[said(Source::Mrz, "A", "B")]);
    assert!(!empty.matches && empty.field_results.is_empty());
    let nothing_read = compare(&claimed("A", "", "B"), &[said(Source::Mrz, "", "")]);
    assert!(!nothing_read.matches && nothing_read.mismatches.is_empty());
    assert!(
        nothing_read
            .field_results
            .iter()
            .all(|r| r.matches.is_none() && r.extracted.is_none())
    );
}

#[test]
fn a_comparison_is_written_as_the_contract_says() {
    let result = compare(
        &claimed("Anna", "", "Eriksson"),
        &[said(Source::Mrz, "ANNA", "ERIKSSON")],
    );
    let json = serde_json::to_value(&result).unwrap();
    assert_eq!(json["match"], true);
    assert_eq!(json["match_score"], 100.0);
    assert_eq!(json["field_results"][0]["source"], "MRZ");
    assert_eq!(json["field_results"][0]["match"], true);
}

#[test]
fn sides_belong_together_or_not() {
    let side = |source, given, surname, birth, number, expiry| SourceData {
        birth_date: non_empty(birth).and_then(|b| b.parse().ok()),
        document_number: non_empty(number),
        expiry_date: non_empty(expiry).and_then(|e| e.parse().ok()),
        ..said(source, given, surname)
    };
    use Consistency::{Consistent, Mismatch, Unknown};
    use Source::{Mrz, Ocr, Pdf417};
    let back = side(
        Mrz,
        "ANNA MARIA",
        "ERIKSSON",
        "1974-08-12",
        "D23145890",
        "2032-04-15",
    );
    let rows = [
        // the visual zone of the front
        (
            side(
                Ocr,
                "Anna Maria",
                "Eriksson",
                "1974-08-12",
                "D23145890",
                "2032-04-15",
            ),
            Consistent,
        ),
        (side(Ocr, "Anna Maria", "", "", "", ""), Consistent),
        (side(Ocr, "", "", "", "", ""), Unknown),
        // These are misread, confused with another field, or partly read.
        (
            side(Ocr, "Anma", "Er1ksson", "1974-08-17", "D2314589O", "2032-04-15"),
            Consistent,
        ),
        (
            side(Ocr, "Anna", "Eriksson", "2032-04-15", "1234567", ""),
            Consistent,
        ),
        (
            side(Ocr, "Anna", "Republic of Utopia", "1974-08-12", "", ""),
            Consistent,
        ),
        (side(Ocr, "", "Identity Card", "", "", ""), Unknown),
        // The front has another number, as on Spanish cards.
        (
            side(Ocr, "Anna", "Eriksson", "1974-08-12", "99999999R", "2032-04-15"),
            Consistent,
        ),
        // These are another person and another card.
        (
            side(
                Ocr,
                "Bruno",
                "Castellani",
                "1981-01-30",
                "X77120011",
                "2029-09-09",
            ),
            Mismatch,
        ),
        (side(Ocr, "Bruno", "Castellani", "", "", ""), Mismatch),
        (side(Ocr, "Bruno", "Eriksson", "1981-01-30", "", ""), Mismatch),
        (
            side(
                Ocr,
                "Anna Maria",
                "Eriksson",
                "1974-08-12",
                "X77120011",
                "2029-09-01",
            ),
            Mismatch,
        ),
        (
            side(Pdf417, "Anna Maria", "Eriksson", "1981-01-30", "D23145890", ""),
            Mismatch,
        ),
    ];
    for (front, expected) in rows {
        let result = compare_sides(&front, &back);
        assert_eq!(
            result.consistency, expected,
            "{:?} {:?}: {result:?}",
            front.given_names, front.surname
        );
        assert_eq!(compare_sides(&back, &front).consistency, expected);
    }
}

proptest! {
    #[test]
    fn anything_agrees_with_itself(first in "[A-Za-z' -]{1,20}", last in "[A-Za-z' -]{1,20}") {
        prop_assume!(!names::name_words(&first).is_empty() && !names::name_words(&last).is_empty());
        let result = compare(&claimed(&first, "", &last), &[said(Source::Mrz, &first, &last)]);
        prop_assert!(result.matches, "{result:?}");
        prop_assert_eq!(result.match_score, 100.0);
    }

    #[test]
    fn any_text_is_survived(a in "\\PC{0,60}", b in "\\PC{0,60}", c in "\\PC{0,60}", d in "\\PC{0,60}") {
        let mut said = said(Source::Ocr, &c, &d);
        said.document_number = Some(a.clone());
        let claim = SubmittedData { document_number: Some(d.clone()), nationality: Some(b.clone()), ..claimed(&a, &b, &d) };
        let result = compare(&claim, &[said.clone()]);
        prop_assert!((0.0..=100.0).contains(&result.match_score));
        let _ = compare_sides(&said, &said);
    }
}
