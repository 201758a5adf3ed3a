//! Tables of lines as on documents, with the fields that must be read from them.

use imaging::Point;

use super::*;
use crate::ocr::ctc::{self, Emissions};
use crate::ocr::{Quad, RecognisedText};

const TODAY: Date = Date::constant(2026, 11, 27);

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

pub(super) fn fields(lines: &[(&str, f32, f32)]) -> Vec<(String, String)> {
    let page = page(lines);
    let visual = read_on(&page.iter().collect::<Vec<_>>(), None, None, false, TODAY);
    visual
        .fields
        .into_iter()
        .map(|(name, field)| (name, field.value))
        .collect()
}

pub(super) fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
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
        fields(&[("DOB 01.01.2021", 0.0, 10.0), ("EXP 01.01.2020", 0.0, 40.0)]),
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

/// The fields beside a passport's zone (ICAO 9303-4 Appendix A).
pub(super) fn fields_with_zone(zone: [&str; 2], lines: &[(&str, f32, f32)]) -> Vec<(String, String)> {
    let page = page(lines);
    let mrz = crate::mrz::parse(&zone).unwrap();
    let visual = read_on(&page.iter().collect::<Vec<_>>(), Some(&mrz), None, false, TODAY);
    visual
        .fields
        .into_iter()
        .map(|(name, field)| (name, field.value))
        .collect()
}

pub(super) const ERIKSSON: [&str; 2] = [
    "P<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<<<<<<<<<",
    "L898902C36UTO7408122F1204159ZE184226B<<<<<10",
];

#[test]
fn numbered_fields_without_points_and_with_short_years() {
    let lines = [
        ("DRIVING LICENCE", 200.0, 10.0),
        ("1SMITH", 200.0, 40.0),
        ("2MR JOHN ALAN", 200.0, 70.0),
        ("3.12.08.64 LONDON", 200.0, 100.0),
        ("4a.01.02.19 4c DVLA", 200.0, 130.0),
        ("4b 31.01.29", 200.0, 160.0),
        ("4d. 123456789", 200.0, 180.0),
        ("5. SMITH608124JA9AB 12", 200.0, 190.0),
        ("8. 12 HIGH STREET, LONDON", 200.0, 220.0),
    ];
    assert_eq!(
        fields(&lines),
        pairs(&[
            ("birthDate", "1964-08-12"),
            ("documentNumber", "SMITH608124JA9AB12"),
            ("expiryDate", "2029-01-31"),
            ("firstName", "JOHN"),
            ("issueDate", "2019-02-01"),
            ("lastName", "SMITH"),
            ("middleName", "ALAN"),
        ])
    );
}

#[test]
fn a_birth_of_two_possible_centuries_gives_no_value() {
    let lines = [
        ("DRIVING LICENCE", 200.0, 10.0),
        ("3. 12.08.20 LONDON", 200.0, 100.0),
        ("4a. 01.02.2023", 200.0, 130.0),
        ("4b. 31.01.2033", 200.0, 160.0),
    ];
    assert_eq!(
        fields(&lines),
        pairs(&[("expiryDate", "2033-01-31"), ("issueDate", "2023-02-01")])
    );
}

#[test]
fn a_number_and_its_value_as_two_lines() {
    let lines = [
        ("PERMIS DE CONDUIRE", 200.0, 10.0),
        ("1.", 200.0, 40.0),
        ("DUPONT", 240.0, 40.0),
        ("2.", 200.0, 70.0),
        ("Jeanne, Marie", 240.0, 70.0),
        ("3.", 200.0, 100.0),
        ("14.07.1989 PARIS", 240.0, 100.0),
    ];
    let fields = fields(&lines);
    assert!(
        fields.contains(&("lastName".into(), "DUPONT".into())),
        "{fields:?}"
    );
    assert!(
        fields.contains(&("birthDate".into(), "1989-07-14".into())),
        "{fields:?}"
    );
}

#[test]
fn values_right_of_their_labels() {
    let lines = [
        ("IDENTITY CARD", 200.0, 10.0),
        ("Surname", 200.0, 40.0),
        ("ERIKSSON", 400.0, 40.0),
        ("Given names", 200.0, 64.0),
        ("ANNA MARIA", 400.0, 64.0),
        ("Date of birth", 200.0, 88.0),
        ("12.08.1974", 400.0, 88.0),
        ("Sex", 200.0, 112.0),
        ("F", 400.0, 112.0),
        ("Nationality", 200.0, 136.0),
        ("SWEDISH", 400.0, 136.0),
        ("Date of expiry", 200.0, 160.0),
        ("12.08.2030", 400.0, 160.0),
    ];
    assert_eq!(
        fields(&lines),
        pairs(&[
            ("birthDate", "1974-08-12"),
            ("expiryDate", "2030-08-12"),
            ("firstName", "ANNA"),
            ("lastName", "ERIKSSON"),
            ("middleName", "MARIA"),
            ("nationality", "SWE"),
            ("sex", "F"),
        ])
    );
}

#[test]
fn labels_with_misread_letters_and_joined_values() {
    let lines = [
        ("Sumame/Nom", 200.0, 40.0),
        ("MÜLLER", 200.0, 62.0),
        ("Given nanes/Prénoms", 200.0, 90.0),
        ("JÖRG", 200.0, 112.0),
        ("Sex/SexeM", 400.0, 90.0),
        ("Natlonality/Nationalité", 200.0, 140.0),
        ("DEUTSCH", 200.0, 162.0),
        ("Datc of birth/Date de naissance", 200.0, 190.0),
        ("12 AUG/AOUT 74", 200.0, 212.0),
    ];
    assert_eq!(
        fields(&lines),
        pairs(&[
            ("birthDate", "1974-08-12"),
            ("firstName", "JÖRG"),
            ("lastName", "MÜLLER"),
            ("nationality", "DEU"),
            ("sex", "M"),
        ])
    );
}

#[test]
fn a_label_alone_means_what_the_page_makes_of_it() {
    type Printed = (&'static str, f32, f32);
    type Expected = (&'static str, &'static str);
    let rows: &[(&[Printed], &[Expected])] = &[
        (
            &[
                ("NOM", 0.0, 10.0),
                ("DUPONT", 0.0, 32.0),
                ("PRÉNOMS", 0.0, 60.0),
                ("JEANNE", 0.0, 82.0),
            ],
            &[("firstName", "JEANNE"), ("lastName", "DUPONT")],
        ),
        (
            &[
                ("COGNOMS", 0.0, 10.0),
                ("PUIG", 0.0, 32.0),
                ("NOM", 0.0, 60.0),
                ("JORDI", 0.0, 82.0),
            ],
            &[("firstName", "JORDI"), ("lastName", "PUIG")],
        ),
        (
            &[
                ("Name", 0.0, 10.0),
                ("MUSTERMANN", 0.0, 32.0),
                ("Vornamen", 0.0, 60.0),
                ("ERIKA", 0.0, 82.0),
            ],
            &[("firstName", "ERIKA"), ("lastName", "MUSTERMANN")],
        ),
        // A whole name without a comma does not show which part is the family name.
        (&[("NAME", 0.0, 10.0), ("JOHN SMITH", 0.0, 32.0)], &[]),
        (
            &[("NAME CRITTENDEN, LEE W.", 0.0, 10.0), ("ADDRESS", 0.0, 70.0)],
            &[
                ("firstName", "LEE"),
                ("lastName", "CRITTENDEN"),
                ("middleName", "W."),
            ],
        ),
        (
            &[
                ("APELLIDOS", 0.0, 10.0),
                ("GARCÍA", 0.0, 32.0),
                ("LÓPEZ", 0.0, 54.0),
                ("NOMBRE", 0.0, 80.0),
                ("ANA", 0.0, 102.0),
            ],
            &[("firstName", "ANA"), ("lastName", "GARCÍA LÓPEZ")],
        ),
    ];
    for (lines, expected) in rows {
        assert_eq!(fields(lines), pairs(expected), "{lines:?}");
    }
}

#[test]
fn labels_titles_and_authorities_are_no_values() {
    let rows: &[&[(&str, f32, f32)]] = &[
        &[("Surname", 0.0, 10.0), ("Givn nams / Prénoms", 0.0, 32.0)],
        &[("Surname / Nom", 0.0, 10.0), ("Place of birth", 0.0, 32.0)],
        &[("Surname", 0.0, 10.0), ("PASSPORT OFFICE", 0.0, 32.0)],
        &[("Surname", 0.0, 10.0), ("K", 0.0, 32.0)],
        &[("Nationality", 0.0, 10.0), ("PASSPORT", 0.0, 32.0)],
        &[("Date of birth", 0.0, 10.0), ("12.08.2031", 0.0, 32.0)],
        &[("Sex M/F", 0.0, 10.0)],
        // Two labels contradict each other.
        &[
            ("Surname", 0.0, 10.0),
            ("SMITH", 0.0, 32.0),
            ("Last name", 400.0, 10.0),
            ("JONES", 400.0, 32.0),
        ],
    ];
    for lines in rows {
        assert_eq!(fields(lines), [], "{lines:?}");
    }
}

#[test]
fn print_equal_to_the_zone_needs_no_label() {
    let lines = [
        ("UTOPIA", 200.0, 10.0),
        ("ERIKSSON", 200.0, 62.0),
        ("Anna Maria", 200.0, 112.0),
        ("12 AUG/AOUT 74", 200.0, 212.0),
        ("15.04.2012", 200.0, 250.0),
        ("No. L898 902C3", 600.0, 62.0),
    ];
    assert_eq!(
        fields_with_zone(ERIKSSON, &lines),
        pairs(&[
            ("birthDate", "1974-08-12"),
            ("documentNumber", "L898902C3"),
            ("expiryDate", "2012-04-15"),
            ("firstName", "Anna"),
            ("lastName", "ERIKSSON"),
            ("middleName", "Maria"),
        ])
    );
}

#[test]
fn the_zone_gives_no_value_that_is_not_printed() {
    // An undivided name, another person's name, the personal number, and another date.
    let lines = [
        ("Anna Maria Eriksson", 200.0, 62.0),
        ("Surname", 200.0, 90.0),
        ("SVENSSON", 200.0, 112.0),
        ("Passport No", 600.0, 40.0),
        ("ZE184226B", 600.0, 62.0),
        ("Date of birth", 200.0, 140.0),
        ("12.08.1975", 200.0, 162.0),
    ];
    assert_eq!(
        fields_with_zone(ERIKSSON, &lines),
        pairs(&[("birthDate", "1975-08-12"), ("lastName", "SVENSSON")])
    );
}

#[test]
fn dates_without_labels_need_one_plausible_order() {
    type Expected = (&'static str, &'static str);
    let rows: &[(&[&str], &[Expected])] = &[
        (
            &["31 DES/DEC 66", "26 MAI/MAY 19", "26 MAI/MAY 29"],
            &[("birthDate", "1966-12-31"), ("expiryDate", "2029-05-26")],
        ),
        (
            &["12.08.1974", "01.02.2020", "01.02.2030"],
            &[("birthDate", "1974-08-12"), ("expiryDate", "2030-02-01")],
        ),
        // Four dates, a validity of 46 years, and a holder of 11 years.
        (&["12.08.1974", "01.02.2020", "01.02.2030", "01.02.2021"], &[]),
        (&["12.08.1974", "01.02.1984", "01.02.2030"], &[]),
        (&["12.08.2012", "01.02.2018", "01.02.2023"], &[]),
    ];
    for (dates, expected) in rows {
        let mut lines = vec![("PASSPORT", 0.0, 10.0)];
        lines.extend(
            dates
                .iter()
                .enumerate()
                .map(|(at, date)| (*date, 0.0, 40.0 + 60.0 * at as f32)),
        );
        assert_eq!(fields(&lines), pairs(expected), "{dates:?}");
    }
}

/// The recogniser's output for a text in which one character resembles another with a probability.
fn emissions(text: &str, unclear: char, like: char, share: f32) -> Emissions {
    let mut emissions = Emissions::default();
    for c in text.chars() {
        let mut symbols = [0.0; ctc::SYMBOL_COUNT];
        let mut set = |c: char, p: f32| symbols[ctc::SYMBOLS.iter().position(|s| *s == c).unwrap()] = p;
        if c == unclear {
            set(like, share);
            set(c, 1.0 - share);
        } else {
            set(c, 1.0);
        }
        emissions.push(0.0, symbols);
        emissions.push(1.0, [0.0; ctc::SYMBOL_COUNT]);
    }
    emissions
}

#[test]
fn a_misread_name_beside_the_zone_gives_no_value() {
    let lines = [
        ("Surname", 200.0, 90.0),
        ("ERIKSSDN", 200.0, 112.0),
        ("Nationality", 200.0, 140.0),
        ("ČESKÁ REPUBLIKA/ CZECH REPUBLIC", 200.0, 162.0),
        ("Kenninafn/Surnme x/Nom", 200.0, 190.0),
    ];
    let zone = crate::mrz::parse(&ERIKSSON).unwrap();
    // The recogniser saw a D, an O of some probability, or hardly an O.
    for (share, expected) in [
        (0.2, &[("nationality", "CZE")][..]),
        (0.001, &[("lastName", "ERIKSSDN"), ("nationality", "CZE")]),
    ] {
        let mut page = page(&lines);
        page[1].read.emissions = emissions("ERIKSSDN", 'D', 'O', share);
        let visual = read_on(&page.iter().collect::<Vec<_>>(), Some(&zone), None, false, TODAY);
        let found: Vec<(String, String)> = visual
            .fields
            .into_iter()
            .map(|(name, field)| (name, field.value))
            .collect();
        assert_eq!(found, pairs(expected), "{share}");
    }
}

#[test]
fn a_field_has_its_place_and_its_print() {
    let lines = [("Nationality", 100.0, 40.0), ("DEUTSCH", 100.0, 62.0)];
    let page = page(&lines);
    let visual = read_on(&page.iter().collect::<Vec<_>>(), None, None, false, TODAY);
    let field = &visual.fields["nationality"];
    assert_eq!(field.printed.as_deref(), Some("DEUTSCH"));
    let expected = [100.0, 52.0, 70.0, 20.0];
    let found = field.bounds.unwrap();
    assert!(
        found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 0.01),
        "{found:?}"
    );
}

proptest::proptest! {
    #[test]
    fn any_page_is_survived(texts in proptest::collection::vec("\\PC{0,30}", 0..12)) {
        let rows: Vec<(&str, f32, f32)> = texts
            .iter()
            .enumerate()
            .map(|(at, text)| (text.as_str(), (at % 3) as f32 * 200.0, (at / 3) as f32 * 22.0))
            .collect();
        let page = page(&rows);
        let mrz = crate::mrz::parse(&ERIKSSON).unwrap();
        let lines: Vec<&Line> = page.iter().collect();
        let _ = read_on(&lines, Some(&mrz), None, false, TODAY);
    }
}
