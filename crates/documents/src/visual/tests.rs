//! Tables of lines as on documents, with the fields that must be read from them.

use super::*;
use crate::ocr::{Quad, RecognisedText, ctc::Emissions};

/// Lines of `(text, left, middle)`, each 20 pixels high, with 10 pixels per character.
fn page(lines: &[(&str, f32, f32)]) -> Vec<Line> {
    let line = |&(text, left, middle): &(&str, f32, f32)| {
        let length = 10.0 * text.chars().count() as f32;
        Line {
            quad: Quad::around(
                Point::new(left + length / 2.0, middle),
                Point::new(1.0, 0.0),
                length,
                20.0,
            ),
            read: RecognisedText {
                text: text.into(),
                confidence: 1.0,
                emissions: Emissions::default(),
            },
        }
    };
    lines.iter().map(line).collect()
}

fn fields(lines: &[(&str, f32, f32)]) -> Vec<(String, String)> {
    let page = page(lines);
    let visual = read(&page.iter().collect::<Vec<_>>(), None, None, false);
    visual
        .fields
        .into_iter()
        .map(|(name, field)| (name, field.value))
        .collect()
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

#[test]
fn a_passport_page_with_values_under_their_labels() {
    let lines = [
        ("PASSPORT", 10.0, 10.0),
        ("Surname / Nom", 200.0, 40.0),
        ("ERIKSSON", 200.0, 62.0),
        ("Given names / Prénoms", 200.0, 90.0),
        ("ANNA MARIA", 200.0, 112.0),
        ("Nationality / Nationalité", 200.0, 140.0),
        ("UTO", 200.0, 162.0),
        ("Date of birth / Date de naissance", 200.0, 190.0),
        ("12 AUG/AOÛT 1974", 200.0, 212.0),
        ("Sex / Sexe", 600.0, 190.0),
        ("F", 600.0, 212.0),
        ("Date of expiry / Date d'expiration", 200.0, 240.0),
        ("15 APR/AVR 2032", 200.0, 262.0),
        ("Passport No / Passeport No", 600.0, 40.0),
        ("L898902C3", 600.0, 62.0),
    ];
    assert_eq!(
        fields(&lines),
        pairs(&[
            ("birthDate", "1974-08-12"),
            ("documentNumber", "L898902C3"),
            ("expiryDate", "2032-04-15"),
            ("firstName", "ANNA"),
            ("lastName", "ERIKSSON"),
            ("middleName", "MARIA"),
            ("nationality", "UTO"),
            ("sex", "F"),
        ])
    );
}

#[test]
fn a_european_licence_with_numbered_fields() {
    let lines = [
        ("DRIVING LICENCE", 200.0, 10.0),
        ("1. MUSTERMANN", 200.0, 40.0),
        ("2. ERIKA", 200.0, 70.0),
        ("3. 12.08.1974 BERLIN", 200.0, 100.0),
        ("4a. 01.02.2020 4c. LANDRATSAMT", 200.0, 130.0),
        ("4b. 31.01.2035", 200.0, 160.0),
        ("5. B072RRE2I55", 200.0, 190.0),
    ];
    assert_eq!(
        fields(&lines),
        pairs(&[
            ("birthDate", "1974-08-12"),
            ("documentNumber", "B072RRE2I55"),
            ("expiryDate", "2035-01-31"),
            ("firstName", "ERIKA"),
            ("issueDate", "2020-02-01"),
            ("lastName", "MUSTERMANN"),
        ])
    );
}

#[test]
fn an_american_licence_with_values_after_their_labels() {
    let lines = [
        ("USA", 10.0, 10.0),
        ("DRIVER LICENSE", 200.0, 10.0),
        ("4d DL I1234568", 200.0, 40.0),
        ("4b EXP 08/31/2028", 200.0, 70.0),
        ("LN CARDHOLDER", 200.0, 100.0),
        ("FN IMA", 200.0, 130.0),
        ("DOB 08/04/1977", 200.0, 160.0),
        ("SEX F", 500.0, 190.0),
    ];
    assert_eq!(
        fields(&lines),
        pairs(&[
            ("birthDate", "1977-08-04"),
            ("documentNumber", "I1234568"),
            ("expiryDate", "2028-08-31"),
            ("firstName", "IMA"),
            ("lastName", "CARDHOLDER"),
            ("sex", "F"),
        ])
    );
}

#[test]
fn contradictions_and_junk_give_no_fields() {
    assert_eq!(
        fields(&[("DOB 01.01.2030", 0.0, 10.0), ("EXP 01.01.2020", 0.0, 40.0)]),
        []
    );
    assert_eq!(
        fields(&[
            ("Surname", 0.0, 10.0),
            ("Given names", 0.0, 32.0),
            ("12345", 0.0, 54.0)
        ]),
        []
    );
    assert_eq!(fields(&[]), []);
}

#[test]
fn values_must_look_like_their_field() {
    let rows = [
        (Label::Surname, "O'Neill-Śmith", Some("O'Neill-Śmith")),
        (Label::Surname, "12345", None),
        (Label::Number, "99 006 000", Some("99006000")),
        (Label::Number, "12.08.1974", None),
        (Label::Number, "PASSPORT", None),
        (Label::Sex, "F/M", None),
        (Label::Sex, "M / H", Some("M")),
        (Label::Nationality, "Deutsch", None),
        (Label::Nationality, "DEU", Some("DEU")),
        (
            Label::Nationality,
            "ČESKÁ REPUBLIKA / CZECH REPUBLIC",
            Some("CZE"),
        ),
    ];
    for (label, text, expected) in rows {
        assert_eq!(
            value(label, text, DateOrder::DayFirst).as_deref(),
            expected,
            "{text}"
        );
    }
}
