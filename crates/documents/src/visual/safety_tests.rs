//! Cases in which a value was wrong or a contradiction hidden: forged fields beside their true copies, pairs of dates,
//! and orders of day and month that the page does not prove.

use super::tests::{ERIKSSON, fields, fields_with_zone, pairs};

type Printed = (&'static str, f32, f32);
type Expected = (&'static str, &'static str);

#[test]
fn a_labelled_forgery_is_read_although_its_true_copy_is_printed_elsewhere() {
    let rows: &[(&[Printed], &[Expected])] = &[
        (
            &[
                ("Surname / Nom", 200.0, 40.0),
                ("SVENSSON", 200.0, 62.0),
                ("ERIKSSON", 700.0, 400.0),
            ],
            &[("lastName", "SVENSSON")],
        ),
        (
            &[
                ("Given names / Prénoms", 200.0, 40.0),
                ("BERTIL", 200.0, 62.0),
                ("ANNA MARIA", 700.0, 400.0),
            ],
            &[("firstName", "BERTIL")],
        ),
        (
            &[
                ("Passport No / Passeport No", 200.0, 40.0),
                ("L898902C8", 200.0, 62.0),
                ("L898902C3", 700.0, 400.0),
            ],
            &[("documentNumber", "L898902C8")],
        ),
        (
            &[
                ("Date of birth / Date de naissance", 200.0, 40.0),
                ("12 AUG/AOÛT 1984", 200.0, 62.0),
                ("12 AUG/AOÛT 1974", 700.0, 400.0),
            ],
            &[("birthDate", "1984-08-12")],
        ),
        (
            &[
                ("Date of expiry / Date d'expiration", 200.0, 40.0),
                ("15 APR/AVR 2032", 200.0, 62.0),
                ("15 APR/AVR 2012", 700.0, 400.0),
            ],
            &[("expiryDate", "2032-04-15")],
        ),
        (
            &[
                ("Nationality / Nationalité", 200.0, 40.0),
                ("SWEDISH", 200.0, 62.0),
            ],
            &[("nationality", "SWE")],
        ),
        (
            &[
                ("Sex / Sexe", 200.0, 40.0),
                ("M", 200.0, 62.0),
                ("F", 700.0, 400.0),
            ],
            &[("sex", "M")],
        ),
    ];
    for (lines, expected) in rows {
        assert_eq!(fields_with_zone(ERIKSSON, lines), pairs(expected), "{lines:?}");
    }
}

#[test]
fn a_sex_without_a_label_counts_only_alone() {
    let rows: &[(&[Printed], &[Expected])] = &[
        (&[("F", 700.0, 400.0)], &[("sex", "F")]),
        (&[("F/F", 700.0, 400.0)], &[("sex", "F")]),
        (&[("M", 700.0, 400.0)], &[]),
        (&[("M", 200.0, 62.0), ("F", 700.0, 400.0)], &[]),
    ];
    for (lines, expected) in rows {
        assert_eq!(fields_with_zone(ERIKSSON, lines), pairs(expected), "{lines:?}");
    }
}

#[test]
fn names_in_two_scripts_and_whole_names_are_found_by_the_zone() {
    let rows: &[(&[Printed], &[Expected])] = &[
        (&[("EPIKCOH/ERIKSSON", 200.0, 62.0)], &[("lastName", "ERIKSSON")]),
        (
            &[
                ("Surname, Given names / Nom, Prénoms", 200.0, 40.0),
                ("ERIKSSON ANNA MARIA", 200.0, 62.0),
            ],
            &[
                ("firstName", "ANNA"),
                ("lastName", "ERIKSSON"),
                ("middleName", "MARIA"),
            ],
        ),
        // The recogniser has no letter for a ligature of another name's transliteration.
        (&[("Surname", 200.0, 40.0), ("ERIKBON", 200.0, 62.0)], &[]),
    ];
    for (lines, expected) in rows {
        assert_eq!(fields_with_zone(ERIKSSON, lines), pairs(expected), "{lines:?}");
    }
}

#[test]
fn a_state_between_names_and_birth_is_the_nationality() {
    let rows: &[(&[Printed], &[Expected])] = &[
        (
            &[
                ("UTOPIA", 200.0, 10.0),
                ("ERIKSSON", 200.0, 40.0),
                ("UTO / UT0PIE", 200.0, 100.0),
                ("12.08.1974", 200.0, 160.0),
            ],
            &[
                ("birthDate", "1974-08-12"),
                ("lastName", "ERIKSSON"),
                ("nationality", "UTO"),
            ],
        ),
        // Two languages as two pieces of a row; and a piece in another row.
        (
            &[
                ("ERIKSSON", 200.0, 40.0),
                ("UTO /", 200.0, 100.0),
                ("UTO", 270.0, 101.0),
                ("12.08.1974", 200.0, 160.0),
            ],
            &[
                ("birthDate", "1974-08-12"),
                ("lastName", "ERIKSSON"),
                ("nationality", "UTO"),
            ],
        ),
        (
            &[
                ("ERIKSSON", 200.0, 40.0),
                ("UTO", 200.0, 100.0),
                ("UTO", 200.0, 130.0),
                ("12.08.1974", 200.0, 160.0),
            ],
            &[("birthDate", "1974-08-12"), ("lastName", "ERIKSSON")],
        ),
        // A title above the names, and another state's name.
        (
            &[
                ("UTO", 200.0, 10.0),
                ("ERIKSSON", 200.0, 40.0),
                ("UTO / SWEDEN", 200.0, 100.0),
                ("12.08.1974", 200.0, 160.0),
            ],
            &[("birthDate", "1974-08-12"), ("lastName", "ERIKSSON")],
        ),
    ];
    for (lines, expected) in rows {
        assert_eq!(fields_with_zone(ERIKSSON, lines), pairs(expected), "{lines:?}");
    }
}

#[test]
fn a_forged_letter_of_a_name_is_read() {
    let lines = [("Surname", 200.0, 90.0), ("ERIKSSEN", 200.0, 112.0)];
    assert_eq!(
        fields_with_zone(ERIKSSON, &lines),
        pairs(&[("lastName", "ERIKSSEN")])
    );
}

#[test]
fn a_number_with_letters_that_look_like_digits_gives_no_value() {
    // The zone has L898902C3; the last number has another digit.
    for (number, expected) in [
        ("L8989O2C3", None),
        ("LB98902C3", None),
        ("L898902C8", Some("L898902C8")),
    ] {
        let lines = [("Passport No", 200.0, 90.0), (number, 200.0, 112.0)];
        let found = fields_with_zone(ERIKSSON, &lines);
        let expected: Vec<_> = expected
            .map(|value| ("documentNumber", value))
            .into_iter()
            .collect();
        assert_eq!(found, pairs(&expected), "{number}");
    }
}

#[test]
fn a_date_that_contradicts_the_zone_stays_beside_one_that_does_not() {
    // The zone's expiry is 2012-04-15. The forged birth is after it.
    let lines = [
        ("Date of birth", 200.0, 90.0),
        ("12.08.2014", 200.0, 112.0),
        ("Date of expiry", 600.0, 90.0),
        ("15.04.2012", 600.0, 112.0),
    ];
    assert_eq!(
        fields_with_zone(ERIKSSON, &lines),
        pairs(&[("birthDate", "2014-08-12"), ("expiryDate", "2012-04-15")])
    );
}

#[test]
fn the_century_is_never_another_than_the_zone_states() {
    let zone = [
        "P<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<<<<<<<<<",
        "L898902C36UTO1908123F3004153ZE184226B<<<<<12",
    ];
    let lines = [
        ("Date of birth", 200.0, 90.0),
        ("12.08.19", 200.0, 112.0),
        ("Date of issue", 600.0, 90.0),
        ("15.04.10", 600.0, 112.0),
    ];
    let found = fields_with_zone(zone, &lines);
    assert!(
        !found.contains(&("birthDate".into(), "1919-08-12".into())),
        "{found:?}"
    );
}

/// A zone has two digits of a year. Its holder may be 115 years old, and print says so.
#[test]
fn print_tells_the_century_of_a_birth() {
    let zone = [
        "P<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<<<<<<<<<",
        "L898902C36UTO1108120F3004153ZE184226B<<<<<18",
    ];
    for (printed, expected) in [
        ("12.08.2011", &[("birthDate", "2011-08-12")][..]),
        ("12.08.1911", &[("birthDate", "1911-08-12")]),
        ("12.08.1912", &[]),
        ("15.04.1930", &[]),
    ] {
        let found = fields_with_zone(zone, &[(printed, 200.0, 100.0)]);
        assert_eq!(found, pairs(expected), "{printed}");
    }
}

#[test]
fn the_year_of_a_date_may_be_a_piece_of_its_own() {
    let birth: &[Expected] = &[("birthDate", "1974-08-12")];
    let rows: &[(&[Printed], &[Expected])] = &[
        (&[("12 AUG/AOUT", 200.0, 100.0), ("1974", 330.0, 102.0)], birth),
        (
            &[
                ("Date of birth", 200.0, 78.0),
                ("12 AUG/AOUT", 200.0, 100.0),
                ("74", 330.0, 100.0),
            ],
            birth,
        ),
        // Too far away, in another row, and a number before it.
        (&[("12 AUG/AOUT", 200.0, 100.0), ("1974", 390.0, 100.0)], &[]),
        (&[("12 AUG/AOUT", 200.0, 100.0), ("1974", 330.0, 115.0)], &[]),
        (&[("12 AUG 1", 200.0, 100.0), ("1974", 300.0, 100.0)], &[]),
    ];
    for (lines, expected) in rows {
        assert_eq!(fields_with_zone(ERIKSSON, lines), pairs(expected), "{lines:?}");
    }
}

#[test]
fn a_value_below_a_label_does_not_only_touch_its_column() {
    let lines = [
        ("Sex", 200.0, 78.0),
        ("Nationality", 245.0, 78.0),
        ("F/F", 207.0, 100.0),
        ("UTO", 255.0, 102.0),
    ];
    assert_eq!(fields(&lines), pairs(&[("nationality", "UTO"), ("sex", "F")]));
}

#[test]
fn of_a_name_in_two_scripts_the_one_with_a_comma_is_read() {
    let label = ("Name (Surname, Given names)", 200.0, 78.0);
    for (lines, expected) in [
        (
            [label, ("林美華", 200.0, 100.0), ("LIN, MEI-HUA", 270.0, 100.0)],
            &[("firstName", "MEI-HUA"), ("lastName", "LIN")][..],
        ),
        // Beside a name in Latin letters, there is no other spelling of it.
        (
            [label, ("LIN MEI-HUA", 200.0, 100.0), ("CHEN, LI", 330.0, 100.0)],
            &[],
        ),
    ] {
        assert_eq!(fields(&lines), pairs(expected), "{lines:?}");
    }
}

#[test]
fn pairs_of_dates_on_one_line_belong_to_their_labels() {
    let rows: &[(&[Printed], &[Expected])] = &[
        // Two dates after one label: which of them is it?
        (&[("Date of birth 12.08.1974 01.02.2020", 0.0, 40.0)], &[]),
        (
            &[
                ("Date of birth", 0.0, 40.0),
                ("12.08.1974 01.02.2020", 300.0, 40.0),
            ],
            &[],
        ),
        // A period of validity.
        (
            &[("Valid until 01.02.2020 - 31.01.2030", 0.0, 40.0)],
            &[("expiryDate", "2030-01-31")],
        ),
        (
            &[
                ("Geburtsdatum      Gültig bis", 0.0, 40.0),
                ("1974-08-12        2032-04-15", 0.0, 62.0),
            ],
            &[("birthDate", "1974-08-12"), ("expiryDate", "2032-04-15")],
        ),
    ];
    for (lines, expected) in rows {
        assert_eq!(fields(lines), pairs(expected), "{lines:?}");
    }
}

#[test]
fn the_order_of_day_and_month_needs_proof() {
    let rows: &[(&[Printed], &[Expected])] = &[
        // Nothing shows the order.
        (&[("Date of birth", 0.0, 40.0), ("04/08/1977", 0.0, 62.0)], &[]),
        // Full stops and blanks divide only dates that begin with the day.
        (
            &[("Date of birth", 0.0, 40.0), ("04.08.1977", 0.0, 62.0)],
            &[("birthDate", "1977-08-04")],
        ),
        // Another date of the page shows it.
        (
            &[
                ("Date of birth", 0.0, 40.0),
                ("04/08/1977", 0.0, 62.0),
                ("Date of expiry", 300.0, 40.0),
                ("31/08/2030", 300.0, 62.0),
            ],
            &[("birthDate", "1977-08-04"), ("expiryDate", "2030-08-31")],
        ),
        (
            &[
                ("Date of birth", 0.0, 40.0),
                ("04/08/1977", 0.0, 62.0),
                ("Date of expiry", 300.0, 40.0),
                ("08/31/2030", 300.0, 62.0),
            ],
            &[("birthDate", "1977-04-08"), ("expiryDate", "2030-08-31")],
        ),
        // Dates of both orders show none.
        (
            &[
                ("Date of birth", 0.0, 40.0),
                ("04/08/1977", 0.0, 62.0),
                ("Date of issue", 300.0, 40.0),
                ("31/08/2020", 300.0, 62.0),
                ("Date of expiry", 600.0, 40.0),
                ("08/31/2030", 600.0, 62.0),
            ],
            &[("expiryDate", "2030-08-31"), ("issueDate", "2020-08-31")],
        ),
        // The holder's nationality is not the issuer.
        (
            &[
                ("Nationality", 0.0, 100.0),
                ("USA", 0.0, 122.0),
                ("Geburtsdatum", 0.0, 40.0),
                ("04/08/1977", 0.0, 62.0),
                ("Gültig bis", 300.0, 40.0),
                ("05/09/2030", 300.0, 62.0),
            ],
            &[
                ("birthDate", "1977-08-04"),
                ("expiryDate", "2030-09-05"),
                ("nationality", "USA"),
            ],
        ),
    ];
    for (lines, expected) in rows {
        assert_eq!(fields(lines), pairs(expected), "{lines:?}");
    }
}

#[test]
fn the_next_field_never_fills_an_unreadable_one() {
    let rows: &[(&[Printed], &[Expected])] = &[
        (
            &[
                ("Surname", 0.0, 40.0),
                ("ER1K550N", 0.0, 62.0),
                ("ANNA MARIA", 0.0, 84.0),
            ],
            &[],
        ),
        (
            &[
                ("Date of birth", 0.0, 40.0),
                ("12.08.l974", 0.0, 62.0),
                ("01.02.2020", 0.0, 84.0),
            ],
            &[],
        ),
        (
            &[
                ("APELLIDOS", 0.0, 40.0),
                ("GARCÍA", 0.0, 62.0),
                ("L0PEZ", 0.0, 84.0),
                ("NOMBRE", 0.0, 130.0),
                ("ANA", 0.0, 152.0),
            ],
            &[("firstName", "ANA"), ("lastName", "GARCÍA")],
        ),
        // A translation of the label is no value.
        (
            &[
                ("Date of birth", 0.0, 40.0),
                ("Date de naissance", 0.0, 62.0),
                ("12.08.1974", 0.0, 84.0),
            ],
            &[("birthDate", "1974-08-12")],
        ),
    ];
    for (lines, expected) in rows {
        assert_eq!(fields(lines), pairs(expected), "{lines:?}");
    }
}

#[test]
fn dates_are_inferred_only_on_pages_without_labels_of_dates() {
    let mut lines = vec![
        ("PASSPORT", 0.0, 10.0),
        ("12.08.1974", 0.0, 40.0),
        ("01.02.2020", 0.0, 100.0),
        ("01.02.2030", 0.0, 160.0),
    ];
    assert_eq!(
        fields(&lines),
        pairs(&[("birthDate", "1974-08-12"), ("expiryDate", "2030-02-01")])
    );
    lines.push(("Date of expiry", 600.0, 300.0));
    assert_eq!(fields(&lines), []);
}

#[test]
fn numbers_without_points_number_a_licence_only_as_a_column() {
    let rows: &[(&[Printed], &[Expected])] = &[
        (
            &[
                ("DRIVING LICENCE", 0.0, 10.0),
                ("2 ELMS ROAD", 200.0, 40.0),
                ("1 SMITH", 0.0, 70.0),
            ],
            &[],
        ),
        (
            &[
                ("DRIVING LICENCE", 0.0, 10.0),
                ("1 SMITH", 0.0, 40.0),
                ("2 JOHN", 0.0, 70.0),
                ("3 12.08.1974 LONDON", 0.0, 100.0),
            ],
            &[
                ("birthDate", "1974-08-12"),
                ("firstName", "JOHN"),
                ("lastName", "SMITH"),
            ],
        ),
    ];
    for (lines, expected) in rows {
        assert_eq!(fields(lines), pairs(expected), "{lines:?}");
    }
}

#[test]
fn other_numbers_and_names_are_not_those_of_the_document() {
    let rows: &[(&[Printed], &[Expected])] = &[
        (
            &[
                ("PERMANENT RESIDENT CARD", 0.0, 10.0),
                ("Surname", 0.0, 40.0),
                ("DOE", 0.0, 62.0),
                ("USCIS#", 300.0, 40.0),
                ("012-345-678", 300.0, 62.0),
            ],
            &[("lastName", "DOE")],
        ),
        // A passport's identity number is its holder's.
        (
            &[
                ("PASSPORT", 0.0, 10.0),
                ("Surname", 0.0, 40.0),
                ("DOE", 0.0, 62.0),
                ("ID No", 300.0, 40.0),
                ("8001015009087", 300.0, 62.0),
            ],
            &[("lastName", "DOE")],
        ),
        (
            &[
                ("IDENTITY CARD", 0.0, 10.0),
                ("Surname", 0.0, 40.0),
                ("DOE", 0.0, 62.0),
                ("ID No", 300.0, 40.0),
                ("AB123456", 300.0, 62.0),
            ],
            &[("documentNumber", "AB123456"), ("lastName", "DOE")],
        ),
        // Mexican cards print the whole name below `NOMBRE`.
        (
            &[
                ("NOMBRE", 0.0, 40.0),
                ("GOMEZ VELAZQUEZ", 0.0, 62.0),
                ("DOMICILIO", 0.0, 130.0),
            ],
            &[],
        ),
        // A Philippine middle name is the mother's family name.
        (
            &[
                ("Last name", 0.0, 40.0),
                ("DELA CRUZ", 0.0, 62.0),
                ("First name", 0.0, 100.0),
                ("JUAN", 0.0, 122.0),
                ("Middle names", 0.0, 160.0),
                ("SANTOS", 0.0, 182.0),
            ],
            &[("firstName", "JUAN"), ("lastName", "DELA CRUZ")],
        ),
        // Ethnicity is not nationality.
        (
            &[
                ("Uzvārds", 0.0, 10.0),
                ("BERZINS", 0.0, 32.0),
                ("Tautība", 0.0, 70.0),
                ("RUSSIAN", 0.0, 92.0),
            ],
            &[("lastName", "BERZINS")],
        ),
    ];
    for (lines, expected) in rows {
        assert_eq!(fields(lines), pairs(expected), "{lines:?}");
    }
}

#[test]
fn a_short_word_is_a_label_only_beside_another_label_of_its_language() {
    let rows: &[(&[Printed], &[Expected])] = &[
        (&[("VENCE", 0.0, 40.0), ("12.08.2030", 0.0, 62.0)], &[]),
        (
            &[
                ("VENCE", 0.0, 40.0),
                ("12.08.2030", 0.0, 62.0),
                ("APELLIDOS", 300.0, 40.0),
                ("PUIG", 300.0, 62.0),
            ],
            &[("expiryDate", "2030-08-12"), ("lastName", "PUIG")],
        ),
    ];
    for (lines, expected) in rows {
        assert_eq!(fields(lines), pairs(expected), "{lines:?}");
    }
}
