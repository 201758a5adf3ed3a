//! Repair of known damage, and the most important rule: no wrong reading is ever accepted.

use jiff::civil::date;
use proptest::prelude::*;

use super::*;
use crate::mrz::{Cell, cells};
use crate::reading::{MrzCheck, MrzFields};

const TD3: &str = "P<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<<<<<<<<<|L898902C36UTO7408122F1204159ZE184226B<<<<<10";
const TD2: &str = "I<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<|D231458907UTO7408122F1204159<<<<<<<6";
const TD1: &str =
    "I<UTOD231458907<<<<<<<<<<<<<<<|7408122F1204159UTO<<<<<<<<<<<6|ERIKSSON<<ANNA<MARIA<<<<<<<<<<";
const MRVA: &str =
    "V<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<<<<<<<<<|L8988901C4XXX4009078F96121096ZE184226B<<<<<<";
const MRVB: &str = "V<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<|L8988901C4XXX4009078F9612109<<<<<<<<";
const FRID: &str = "IDFRABERTHIER<<<<<<<<<<<<<<<<<<<<<<<|8806923102858CORINNE<<<<<<<6512068F6";
const LONG: &str =
    "I<UTOD23145890<7349<<<<<<<<<<<|3407127M9507122UTO<<<<<<<<<<<2|STEVENSON<<PETER<JOHN<<<<<<<<<";
const ALL: [&str; 7] = [TD3, TD2, TD1, MRVA, MRVB, FRID, LONG];

/// Lines that were read with the same confidence for every character.
fn seen(zone: &str, confidence: f32) -> Vec<Line> {
    zone.split('|')
        .map(|line| cells(line, &vec![confidence; line.chars().count()]))
        .collect()
}

/// Lines that our own network read clearly: each character has one much less likely alternative.
fn clear(zone: &str) -> Vec<Line> {
    let cell = |c: char| Cell {
        candidates: vec![
            (c, 0.9995_f32.ln()),
            (if c == 'H' { 'N' } else { 'H' }, 0.0003_f32.ln()),
        ],
        ..Cell::default()
    };
    zone.split('|')
        .map(|line| line.chars().map(cell).collect())
        .collect()
}

fn repaired(lines: &[Line]) -> MrzReading {
    repair_on(lines, date(2026, 11, 21)).expect("a zone")
}

/// A cell that is one of two characters, with nearly equal probabilities.
fn torn(a: char, b: char) -> Cell {
    Cell {
        candidates: vec![(a, 0.51_f32.ln()), (b, 0.49_f32.ln())],
        ..Cell::default()
    }
}

#[test]
fn what_is_read_clearly_is_accepted() {
    for zone in ALL {
        let reading = repaired(&clear(zone));
        assert_eq!(reading.lines.join("|"), zone);
        assert!(reading.accepted, "{zone}: {reading:?}");
    }
}

#[test]
fn implausible_alternatives_do_not_make_a_reading_uncertain() {
    // No document has a code that begins with one of these letters, no state has such a code, and letters do not follow
    // fillers in optional data. All of them keep the check digits right.
    for (zone, line, column, alternatives) in
        [(TD1, 0, 0, "ZTEHK"), (TD3, 0, 4, "QZJXN"), (TD1, 0, 29, "KUAEO")]
    {
        let mut lines = clear(zone);
        let cell = &mut lines[line][column];
        cell.candidates.truncate(1);
        cell.candidates
            .extend(alternatives.chars().map(|c| (c, 0.004_f32.ln())));
        let reading = repaired(&lines);
        assert_eq!(reading.lines.join("|"), zone);
        assert!(reading.accepted, "{alternatives}: {reading:?}");
    }
}

#[test]
fn position_and_check_digits_prove_a_repair() {
    for (read, printed) in [
        // 0 was read for O in the issuer and the nationality, 1 for I in a name, and O for 0 in dates.
        (
            TD3.replace("UTO", "UT0")
                .replace("ERIK", "ER1K")
                .replace("740812", "74O8I2"),
            TD3,
        ),
        (TD1.replace("UTO", "UT0").replace("1204159", "12O4159"), TD1),
        // In the number, only the check digits decide.
        (TD2.replace("D231458907", "D23I458907"), TD2),
        // One filler is missing or surplus in runs.
        (TD3.replace("MARIA<<<", "MARIA<"), TD3),
        (TD3.replace("B<<<<<10", "B<<<<10"), TD3),
        (TD1.replace("7<<<<<<<<<<<<<<<", "7<<<<<<<<<<<<<<<<"), TD1),
        (TD3.replace("<<<<<<<<<<<<<<<<<<<|", "<<<<<<<<|"), TD3),
    ] {
        let reading = repaired(&seen(&read, 0.97));
        assert_eq!(reading.lines.join("|"), printed, "{read}");
        assert!(reading.valid);
    }
}

#[test]
fn documents_printed_wrong_are_reported_as_printed() {
    for (zone, failed) in [
        (
            TD3.replace("740812", "750812"),
            vec![MrzCheck::BirthDate, MrzCheck::Composite],
        ),
        (
            TD3.replace("L898902C3", "L898902C4"),
            vec![MrzCheck::DocumentNumber, MrzCheck::Composite],
        ),
        (TD1.replace("<<<<<<6|", "<<<<<<7|"), vec![MrzCheck::Composite]),
    ] {
        let reading = repaired(&seen(&zone, 0.99));
        assert_eq!(reading.lines.join("|"), zone);
        assert_eq!(reading.failed_checks, failed);
        assert!(!reading.accepted);
    }
}

#[test]
fn what_the_digits_cannot_tell_apart_is_not_accepted() {
    // 6 and G are equal modulo ten. At equal probabilities, nothing decides between them.
    let mut lines = seen(&MRVA.replace("L8988901C4", "L898890GC4"), 0.995);
    for (line, column) in [(1, 8), (1, 0)] {
        let (a, b) = if column == 0 { ('L', 'B') } else { ('C', 'M') };
        lines[line][column] = torn(a, b);
    }
    assert!(!repaired(&lines).accepted);
    // The same is true of a name with equal probabilities.
    let mut lines = seen(TD3, 0.995);
    lines[0][5] = torn('E', 'F');
    let reading = repaired(&lines);
    assert!(reading.valid && !reading.accepted);
    assert!(reading.warnings.contains(&MrzWarning::UncertainReading));
}

#[test]
fn the_print_can_confirm_names_and_number_and_nothing_else() {
    // No check digit covers names, sex and nationality; those of each other pair are equal modulo ten.
    let (surname, number) = ((0, 5, 'E', 'F'), (1, 0, 'L', 'B'));
    let (sex, optional, nationality) = ((1, 20, 'F', 'M'), (1, 30, '1', 'B'), (1, 15, 'U', 'V'));
    for (zone, tears, confirmable) in [
        (TD3, &[surname][..], true),
        (TD3, &[number], true),
        (TD3, &[surname, number], true),
        (TD3, &[sex], false),
        (TD3, &[optional], false),
        (TD1, &[nationality], false),
        (TD3, &[surname, sex], false),
        (TD3, &[number, optional], false),
    ] {
        let mut lines = clear(zone);
        for &(line, column, a, b) in tears {
            lines[line][column] = torn(a, b);
        }
        let reading = repaired(&lines);
        assert!(reading.valid && !reading.accepted, "{tears:?}");
        assert_eq!(reading.confirmable, confirmable, "{tears:?}");
    }
}

#[test]
fn print_does_not_confirm_implausible_zones() {
    let mut lines = clear(&TD3.replace("6UTO7408122F", "6QQQ7408122F"));
    lines[0][5] = torn('E', 'F');
    let reading = repaired(&lines);
    assert!(
        reading.warnings.contains(&MrzWarning::UnknownNationality),
        "{reading:?}"
    );
    assert!(reading.valid && !reading.accepted && !reading.confirmable);
}

#[test]
fn a_number_and_a_date_that_are_both_doubtful_prove_nothing() {
    // As read, the zone is misprinted in number and birth date; one change in each makes every digit correct.
    let mut lines = clear(&TD3.replace("L898902C3", "L898902C4").replace("740812", "750812"));
    lines[1][8].candidates = vec![('4', 0.6_f32.ln()), ('3', 0.4_f32.ln())];
    lines[1][14].candidates = vec![('5', 0.6_f32.ln()), ('4', 0.4_f32.ln())];
    let reading = repaired(&lines);
    assert!(!reading.accepted && !reading.confirmable, "{reading:?}");
}

#[test]
fn unseen_characters_prove_nothing() {
    let unseen = |zone: &str, line: usize, columns: std::ops::Range<usize>| {
        let mut lines = clear(zone);
        for column in columns {
            lines[line][column].is_unseen = true;
        }
        let reading = repaired(&lines);
        assert_eq!(reading.lines.join("|"), zone);
        assert!(reading.accepted || !reading.confirmable);
        reading.accepted
    };
    // A letter, a digit, the only filler between given names, one of the pair between the names, and fillers that may
    // be an initial.
    for (line, column) in [
        (0, 7),
        (1, 3),
        (0, 19),
        (0, 13),
        (0, 14),
        (0, 25),
        (0, 26),
        (0, 27),
    ] {
        assert!(!unseen(TD3, line, column..column + 1), "{line} {column}");
    }
    assert!(unseen(TD3, 0, 28..33));
    assert!(unseen(TD3, 0, 40..44));
    // A name may be covered.
    assert!(!unseen(TD3, 0, 25..44));
}

#[test]
fn an_inserted_character_is_neither_accepted_nor_confirmable() {
    // Two digits were read as one, and repeating it gives correct check digits.
    let reading = repaired(&seen(&TD3.replace("7408122F", "740812F"), 0.995));
    assert_eq!(reading.lines.join("|"), TD3);
    assert!(reading.valid && !reading.accepted && !reading.confirmable);
}

#[test]
fn other_text_is_no_zone() {
    for text in [
        "",
        "A|B",
        "HELLO WORLD THIS IS NOT A ZONE AT ALL 12345|1234567890 1234567890 1234567890 1234",
    ] {
        let reading = repair(&seen(text, 0.99));
        assert!(reading.is_none_or(|r| !r.valid), "{text}");
    }
}

#[test]
fn cells_that_may_be_anything_are_no_zone() {
    let anything = || Cell {
        candidates: "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789<"
            .chars()
            .map(|c| (c, (1.0_f32 / 37.0).ln()))
            .collect(),
        ..Cell::default()
    };
    for (lines, width) in [(2, 44), (2, 36), (3, 30)] {
        let lines = vec![(0..width).map(|_| anything()).collect::<Line>(); lines];
        assert_eq!(repair(&lines), None, "{width}");
    }
}

#[test]
fn lines_of_another_size_are_no_zone() {
    let anything: Vec<(char, f32)> = ('A'..='Z')
        .chain('0'..='9')
        .map(|c| (c, 36f32.recip().ln()))
        .collect();
    for (which, zone) in ALL.iter().enumerate() {
        // The cells of a wrong size lie between characters.
        for (every, is_read) in [(1, false), (2, false), (8, true)] {
            let mut lines = seen(zone, 0.99);
            for cell in lines.iter_mut().flat_map(|line| line.iter_mut().step_by(every)) {
                cell.candidates = anything.clone();
            }
            let reading = repair_on(&lines, date(2026, 11, 21));
            assert_eq!(reading.is_some(), is_read, "{which} {every}");
            assert!(reading.is_none_or(|reading| !reading.accepted), "{which} {every}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn no_string_has_a_better_score_than_the_best(
        which in 0usize..ALL.len(),
        lost in 0usize..30,
        damage in proptest::collection::vec((0usize..3, 0usize..44, "[A-Z0-9<]", 0.01f32..0.7), 0..60),
    ) {
        let mut lines = seen(ALL[which], 0.99);
        for (line, column, wrong, confidence) in damage {
            if let Some(cell) = lines.get_mut(line).and_then(|line| line.get_mut(column)) {
                cell.candidates = vec![(wrong.chars().next().unwrap(), confidence.ln())];
            }
        }
        lines[0].remove(lost);
        let sorted: Vec<Vec<Candidates>> = lines.iter().map(|line| line.iter().map(Cell::sorted).collect()).collect();
        for layout in layouts(&sorted) {
            for checked in [false, true] {
                for string in search(layout, 0, &sorted, checked, date(2026, 11, 21)) {
                    prop_assert!(string.score <= best_score(&sorted) + 1e-3);
                }
            }
        }
    }

    /// No wrong reading is accepted, whichever characters are misread with a realistic confidence.
    #[test]
    fn nothing_wrong_is_accepted(
        which in 0usize..ALL.len(),
        damage in proptest::collection::vec((0usize..3, 0usize..44, "[A-Z0-9<]", 0.3f32..0.7), 0..5),
    ) {
        let zone = ALL[which];
        let mut lines = seen(zone, 0.99);
        let printed: Vec<Vec<char>> = zone.split('|').map(|line| line.chars().collect()).collect();
        for (line, column, wrong, confidence) in damage {
            if let Some(cell) = lines.get_mut(line).and_then(|l| l.get_mut(column)) {
                // The wrong character differs from the printed one. A cell may be damaged twice, and the
                // printed character remains a candidate.
                let right = printed[line][column];
                let wrong = wrong.chars().next().unwrap();
                cell.candidates = vec![(wrong, confidence.ln()), (right, (1.0 - confidence).ln())];
            }
        }
        if let Some(reading) = repair_on(&lines, date(2026, 11, 21)) {
            let is_right = reading.lines.join("|") == zone;
            prop_assert!(!reading.accepted || is_right, "{reading:?}");
            // What print confirms has the printed names and number; nothing else may be wrong then.
            let printed = crate::mrz::parse(&zone.split('|').collect::<Vec<_>>()).unwrap().fields;
            let names = |f: &MrzFields| [&f.surname, &f.given_names, &f.document_number].map(Clone::clone);
            let would_confirm = reading.confirmable && names(&reading.fields) == names(&printed);
            prop_assert!(!would_confirm || is_right, "{reading:?}");
        }
    }

    #[test]
    fn any_cells_are_survived(
        lines in proptest::collection::vec(
            proptest::collection::vec(
                proptest::collection::vec((any::<char>(), any::<f32>()), 0..4)
                    .prop_map(|candidates| Cell { candidates, ..Cell::default() }),
                0..70,
            ),
            0..5,
        ),
    ) {
        let _ = repair(&lines);
    }
}
