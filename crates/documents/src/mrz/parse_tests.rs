//! The zones of the standard's specimens, and one row for each special case.

use jiff::civil::date;
use proptest::prelude::*;

use super::*;
use crate::reading::MrzCheck;

const TD3: &str = "P<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<<<<<<<<<|L898902C36UTO7408122F1204159ZE184226B<<<<<10";
const TD2: &str = "I<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<|D231458907UTO7408122F1204159<<<<<<<6";
const TD1: &str =
    "I<UTOD231458907<<<<<<<<<<<<<<<|7408122F1204159UTO<<<<<<<<<<<6|ERIKSSON<<ANNA<MARIA<<<<<<<<<<";
const MRVA: &str =
    "V<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<<<<<<<<<|L8988901C4XXX4009078F96121096ZE184226B<<<<<<";
const MRVB: &str = "V<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<|L8988901C4XXX4009078F9612109<<<<<<<<";

fn read(zone: &str) -> MrzReading {
    let lines: Vec<&str> = zone.split('|').collect();
    parse_on(&lines, date(2026, 11, 21)).unwrap_or_else(|e| panic!("{zone}: {e}"))
}

/// The zone with one run of characters replaced. `line` and `position` are counted from 1.
fn with(zone: &str, line: usize, position: usize, text: &str) -> String {
    let mut lines: Vec<Vec<char>> = zone.split('|').map(|l| l.chars().collect()).collect();
    for (i, c) in text.chars().enumerate() {
        lines[line - 1][position - 1 + i] = c;
    }
    lines
        .iter()
        .map(|l| l.iter().collect::<String>())
        .collect::<Vec<_>>()
        .join("|")
}

#[test]
fn the_specimens_of_the_standard_are_read() {
    for (zone, format, number, nationality, expiry) in [
        (TD3, MrzFormat::Td3, "L898902C3", "UTO", "2012-04-15"),
        (TD2, MrzFormat::Td2, "D23145890", "UTO", "2012-04-15"),
        (TD1, MrzFormat::Td1, "D23145890", "UTO", "2012-04-15"),
        (MRVA, MrzFormat::MrvA, "L8988901C", "XXX", "1996-12-10"),
        (MRVB, MrzFormat::MrvB, "L8988901C", "XXX", "1996-12-10"),
    ] {
        let reading = read(zone);
        assert_eq!(reading.format, format);
        assert_eq!(reading.failed_checks, [], "{zone}");
        assert_eq!(reading.warnings, [], "{zone}");
        assert!(reading.valid && reading.accepted);
        let fields = reading.fields;
        assert_eq!(
            (fields.surname.as_str(), fields.given_names.as_str()),
            ("ERIKSSON", "ANNA MARIA")
        );
        assert_eq!(fields.document_number, number);
        assert_eq!(fields.issuer, "UTO");
        assert_eq!(fields.nationality, nationality);
        assert_eq!(fields.expiry_date.unwrap().to_string(), expiry);
        assert_eq!(fields.sex, Some('F'));
    }
    assert_eq!(read(TD3).fields.birth_date.unwrap().to_string(), "1974-08-12");
    assert_eq!(read(TD3).fields.optional_data, "ZE184226B");
}

#[test]
fn each_wrong_digit_is_named() {
    use MrzCheck::{BirthDate, Composite, DocumentNumber, ExpiryDate, OptionalData};
    let rows: &[(&str, usize, usize, &str, &[MrzCheck])] = &[
        (TD3, 2, 1, "K", &[DocumentNumber, Composite]),
        (TD3, 2, 10, "7", &[DocumentNumber, Composite]),
        (TD3, 2, 14, "75", &[BirthDate, Composite]),
        (TD3, 2, 22, "13", &[ExpiryDate, Composite]),
        (TD3, 2, 29, "Y", &[OptionalData, Composite]),
        (TD3, 2, 44, "1", &[Composite]),
        (TD3, 2, 44, "<", &[Composite]),
        (TD3, 2, 10, "<", &[DocumentNumber, Composite]),
        (TD1, 1, 6, "E", &[DocumentNumber, Composite]),
        (TD1, 1, 30, "1", &[Composite]),
        (TD1, 2, 1, "75", &[BirthDate, Composite]),
        (TD1, 2, 19, "1", &[Composite]),
        (TD2, 2, 29, "1", &[Composite]),
        (MRVA, 2, 29, "1", &[]),
        (MRVB, 2, 22, "97", &[ExpiryDate]),
    ];
    for (zone, line, position, text, failed) in rows {
        let reading = read(&with(zone, *line, *position, text));
        assert_eq!(
            reading.failed_checks, *failed,
            "{zone} with {text} at {line}/{position}"
        );
        assert_eq!(reading.valid, failed.is_empty());
        assert!(reading.valid || !reading.accepted);
    }
}

#[test]
fn empty_optional_data_may_have_a_digit_or_a_filler() {
    for digit in ["0", "<"] {
        // Number, birth and expiry are those of the specimen. Without optional data the composite digit is 8.
        let zone = format!(
            "P<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<<<<<<<<<|L898902C36UTO7408122F1204159<<<<<<<<<<<<<<{digit}8"
        );
        assert_eq!(read(&zone).failed_checks, [], "{digit}");
    }
    let full = with(TD3, 2, 43, "<");
    assert!(read(&full).failed_checks.contains(&MrzCheck::OptionalData));
}

#[test]
fn long_numbers_go_on_in_the_optional_data() {
    // ICAO 9303-5 §4.2.2 note j: D23145890734 is the standard's example number.
    let reading =
        read("I<UTOD23145890<7349<<<<<<<<<<<|3407127M9507122UTO<<<<<<<<<<<2|STEVENSON<<PETER<JOHN<<<<<<<<<");
    assert_eq!(reading.fields.document_number, "D23145890734");
    assert_eq!(reading.fields.optional_data, "");
    assert_eq!(reading.failed_checks, []);
    // This line lacks the check digit that must follow.
    let reading =
        read("I<UTOD23145890<<<<<<<<<<<<<<<<|3407127M9507122UTO<<<<<<<<<<<2|STEVENSON<<PETER<JOHN<<<<<<<<<");
    assert!(reading.failed_checks.contains(&MrzCheck::DocumentNumber));
    // This is TD2.
    let reading = read("I<UTOSTEVENSON<<PETER<JOHN<<<<<<<<<<|D23145890<UTO3407127M95071227349<<<8");
    assert_eq!(reading.fields.document_number, "D23145890734");
    assert_eq!(reading.failed_checks, []);
}

#[test]
fn the_old_french_card_has_a_layout_of_its_own() {
    let line1 = "IDFRABERTHIER<<<<<<<<<<<<<<<<<<<<<<<";
    let reading = read(&format!("{line1}|8806923102858CORINNE<<<<<<<6512068F6"));
    assert_eq!(reading.format, MrzFormat::FrId);
    assert_eq!(reading.failed_checks, []);
    assert!(reading.accepted);
    let fields = reading.fields;
    assert_eq!(
        (fields.surname.as_str(), fields.given_names.as_str()),
        ("BERTHIER", "CORINNE")
    );
    assert_eq!(fields.document_number, "880692310285");
    assert_eq!(fields.birth_date.unwrap().to_string(), "1965-12-06");
    assert_eq!(fields.issue_date.unwrap().to_string(), "1988-06");
    assert_eq!(fields.expiry_date, None);
    assert_eq!(fields.nationality_country.as_deref(), Some("FRA"));
}

#[test]
fn what_is_implausible_is_flagged() {
    use MrzWarning::{
        ImplausibleBirthDate, ImplausibleExpiryDate, ImplausibleName, ImplausibleSex, NameMayBeTruncated,
        UnknownDocumentCode, UnknownIssuer, UnknownNationality,
    };
    let rows: &[(usize, usize, &str, &[MrzWarning])] = &[
        (1, 1, "X", &[UnknownDocumentCode]),
        (1, 3, "QQQ", &[UnknownIssuer]),
        (1, 3, "D<<", &[]),
        (1, 3, "RKS", &[]),
        (2, 11, "GBO", &[]),
        (2, 11, "XXA", &[]),
        (2, 11, "ZZQ", &[UnknownNationality]),
        (2, 14, "741301", &[ImplausibleBirthDate]),
        (2, 14, "74<<<<", &[]),
        (2, 14, "<<<<<<", &[]),
        (2, 22, "120431", &[ImplausibleExpiryDate]),
        (2, 21, "<", &[]),
        (2, 21, "H", &[ImplausibleSex]),
        (1, 35, "K", &[ImplausibleName]),
        (1, 6, "<", &[ImplausibleName]),
        (1, 7, "1", &[ImplausibleName]),
        (1, 26, "<ABCDEFGHIJKLMNOPQR", &[NameMayBeTruncated]),
    ];
    for (line, position, text, warnings) in rows {
        let reading = read(&with(TD3, *line, *position, text));
        assert_eq!(reading.warnings, *warnings, "{text}");
    }
}

#[test]
fn spanish_letters_and_missing_separators_are_read_as_printed() {
    let reading =
        read("IDESPAAA1000014<00000023T<<<<<|7212018F1101236ESP<<<<<<<<<<<8|ESPAÑOLA<ESPAÑOLA<CARMEN<<<<<<");
    assert_eq!(reading.fields.surname, "ESPAÑOLA ESPAÑOLA CARMEN");
    assert_eq!(reading.fields.given_names, "");
    assert_eq!(reading.lines[2], "ESPAÑOLA<ESPAÑOLA<CARMEN<<<<<<");
}

#[test]
fn what_is_no_zone_is_refused() {
    for (lines, error) in [
        (vec![], MrzError::Size),
        (vec!["P<UTO"], MrzError::Size),
        (
            vec!["P<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<<<<<<<<<", "L898902C36UTO"],
            MrzError::Size,
        ),
        (vec!["I<UTOD231458907<<<<<<<<<<<<<<<"; 4], MrzError::Size),
        (
            vec!["é<UTOD231458907<<<<<<<<<<<<<<<"; 3],
            MrzError::Alphabet { line: 1, position: 1 },
        ),
        (
            vec!["p<utod231458907<<<<<<<<<<<<<<<"; 3],
            MrzError::Alphabet { line: 1, position: 1 },
        ),
    ] {
        assert_eq!(parse(&lines).err(), Some(error), "{lines:?}");
    }
}

/// Lines of MRZ characters, so that random lines pass the checks of size and alphabet.
fn zone() -> impl Strategy<Value = Vec<String>> {
    prop_oneof![
        proptest::collection::vec("[A-Z0-9<]{30}", 3..=3),
        proptest::collection::vec("[A-Z0-9<]{36}", 2..=2),
        proptest::collection::vec("[A-Z0-9<]{44}", 2..=2),
        ("IDFRA[A-Z0-9<]{31}", "[A-Z0-9<]{36}").prop_map(|(a, b)| vec![a, b]),
    ]
}

/// The check digits of the same lines according to the crate `mrz`.
fn oracle(format: MrzFormat, lines: &[String]) -> Option<mrz::MrzData> {
    match format {
        MrzFormat::Td1 => mrz::parse_td1(&lines[0], &lines[1], &lines[2]),
        MrzFormat::Td2 => mrz::parse_td2(&lines[0], &lines[1]),
        MrzFormat::Td3 => mrz::parse_td3(&lines[0], &lines[1]),
        MrzFormat::MrvA => mrz::parse_mrv_a(&lines[0], &lines[1]),
        MrzFormat::MrvB => mrz::parse_mrv_b(&lines[0], &lines[1]),
        MrzFormat::FrId => return None,
    }
    .ok()
}

#[test]
fn the_crate_mrz_agrees_on_the_specimens() {
    for zone in [TD3, TD2, TD1, MRVA, MRVB] {
        let ours = read(zone);
        let theirs = oracle(ours.format, &ours.lines).unwrap();
        assert!(theirs.checksum_consistent(), "{zone}");
        assert_eq!(theirs.full_document_number(), ours.fields.document_number);
    }
}

proptest! {
    #[test]
    fn any_text_is_an_error_or_a_reading(lines in proptest::collection::vec("\\PC{0,50}", 0..5)) {
        let _ = parse(&lines);
    }

    #[test]
    fn any_zone_is_read_and_given_back(lines in zone()) {
        let reading = parse(&lines).unwrap();
        prop_assert_eq!(&reading.lines, &lines);
        prop_assert_eq!(reading.valid, reading.failed_checks.is_empty());
        prop_assert!(!reading.accepted || reading.valid);
    }

    /// A change of one protected character always makes a check digit wrong, unless its value is the same
    /// modulo ten.
    #[test]
    fn one_changed_character_is_noticed(position in 0usize..44, to in "[A-Z0-9<]") {
        let line2: Vec<char> = TD3.split('|').nth(1).unwrap().chars().collect();
        let to = to.chars().next().unwrap();
        let unprotected = [10, 11, 12, 20].contains(&position);
        let same = |c: char| super::super::layout::value(c).map(|v| v % 10);
        prop_assume!(!unprotected && same(line2[position]) != same(to));
        let changed = with(TD3, 2, position + 1, &to.to_string());
        prop_assert!(!read(&changed).valid);
    }

    /// For zones that differ from a valid one in a few digits, both implementations agree whether all check
    /// digits are correct.
    #[test]
    fn the_crate_mrz_agrees_on_altered_specimens(
        which in 0usize..5,
        changes in proptest::collection::vec((1usize..4, 1usize..45, "[0-9]"), 0..3),
    ) {
        let mut zone = [TD3, TD2, TD1, MRVA, MRVB][which].to_owned();
        for (line, position, text) in changes {
            let lines: Vec<&str> = zone.split('|').collect();
            let inside = lines.get(line - 1).and_then(|l| l.chars().nth(position - 1));
            if inside.is_some_and(|c| c.is_ascii_digit()) {
                zone = with(&zone, line, position, &text);
            }
        }
        let ours = read(&zone);
        if let Some(theirs) = oracle(ours.format, &ours.lines) {
            prop_assert_eq!(theirs.checksum_consistent(), ours.valid, "{}", zone);
        }
    }
}
