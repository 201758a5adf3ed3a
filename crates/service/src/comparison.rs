//! Compares submitted data, and the person whom the merchant expects, with the documents' data. `documents::compare`
//! compares; this module converts from and to the rules' types.

use documents::compare::{self, FieldResult, SourceData, SubmittedData};
use documents::confirmation;
use documents::reading::{DocumentReading, MrzReading, PartialDate, Source as ReadSource};
use jiff::civil::Date;
use reference::icao::transliterate;
use verification::evidence::{
    ComparedField, Comparison, Consistency, ExpectedComparison, ExpectedField, Source,
};
use verification::expected::ExpectedPerson;
use verification::submission::Submission;

/// Compares every source of every document with the submission. `documents` has the readings of each
/// document's sides.
pub fn submitted(submission: &Submission, documents: &[Vec<DocumentReading>]) -> Comparison {
    let text = |field| submission.get(field).map(str::to_owned);
    let claimed = SubmittedData {
        first_name: text("firstName"),
        middle_name: text("middleName"),
        last_name: text("lastName"),
        birth_date: submission.dob.and_then(partial),
        document_number: None,
        nationality: text("nationality"),
    };
    let (reliable, said) = all_statements(documents);
    let compared = compare::compare(&claimed, &said);
    let fields = compared.field_results.into_iter().map(|result| ComparedField {
        field: result.field.to_owned(),
        source: source(result.source),
        is_reliable: reliable.get(result.said).is_some_and(|reliable| *reliable),
        submitted: result.submitted,
        extracted: result.extracted,
        matches: result.matches,
        score: result.score,
    });
    Comparison {
        fields: fields.collect(),
        warnings: compared.warnings,
    }
}

/// Compares the expected person with every source of each document. Unlike in the comparison of entries, print counts as
/// certain here, so a small difference is not excused as a misreading. A name of which the source states only a part is
/// unclear: it would agree with other people's names too.
pub fn expected(person: &ExpectedPerson, documents: &[Vec<DocumentReading>]) -> ExpectedComparison {
    let claimed = SubmittedData {
        first_name: Some(person.first_name.clone()),
        last_name: Some(person.last_name.clone()),
        birth_date: person.dob.and_then(partial),
        ..SubmittedData::default()
    };
    let of_document = |sides: &Vec<DocumentReading>| {
        let (reliable, said) = all_statements(std::slice::from_ref(sides));
        let strictly = |said: &SourceData| SourceData {
            certain: true,
            truncated: false,
            ..said.clone()
        };
        let strict: Vec<SourceData> = said.iter().map(strictly).collect();
        let compared = compare::compare(&claimed, &strict).field_results.into_iter();
        let lenient = compare::compare(&claimed, &said).field_results;
        compared
            .zip(lenient)
            .map(|(result, lenient)| {
                let is_partial = is_partial(&said[result.said], &result, lenient.matches);
                ExpectedField {
                    field: result.field.to_owned(),
                    source: source(result.source),
                    found: result.extracted,
                    matches: result.matches.filter(|_| !is_partial),
                    score: result.score,
                    is_reliable: reliable.get(result.said).is_some_and(|reliable| *reliable),
                }
            })
            .collect()
    };
    ExpectedComparison {
        person: person.clone(),
        documents: documents.iter().map(of_document).collect(),
    }
}

/// Whether a source states too little of a name to confirm or contradict the expected one. `lenient` is whether the name
/// agrees if the source may have cut it short.
fn is_partial(said: &SourceData, result: &FieldResult, lenient: Option<bool>) -> bool {
    let (Some(matches), Some(found)) = (result.matches, &result.extracted) else {
        return false;
    };
    if result.field == "dob" {
        return false;
    }
    let words = |name: &str| {
        transliterate(name)
            .split(' ')
            .filter(|word| !word.is_empty())
            .count()
    };
    let is_undivided = said.given_names.is_none() || said.surname.is_none();
    if matches {
        // Which of several undivided words is the family name is unknown. A whole name has at least this score.
        let is_whole = result.score >= WHOLE_NAME_SCORE;
        (is_undivided && words(found) > 1) || (!is_whole && words(found) < words(&result.submitted))
    } else {
        // The end of the name is missing in the zone, or the whole name in print.
        (said.truncated && lenient == Some(true)) || (is_undivided && said.source == ReadSource::Ocr)
    }
}

/// Score from which a comparison found the whole name, not a part of it.
const WHOLE_NAME_SCORE: f64 = 95.0;

/// A calendar day as the comparison has it. Every day is a valid date there too: `YYYY-MM-DD`.
fn partial(day: Date) -> Option<PartialDate> {
    day.to_string().parse().ok()
}

fn source(read: ReadSource) -> Source {
    match read {
        ReadSource::Mrz => Source::Mrz,
        ReadSource::Pdf417 => Source::Pdf417,
        ReadSource::Ocr => Source::Ocr,
    }
}

/// The data of every source of every document, and whether results may rely on each.
fn all_statements(documents: &[Vec<DocumentReading>]) -> (Vec<bool>, Vec<SourceData>) {
    let said = documents.iter().enumerate().flat_map(|(document, sides)| {
        let sides: Vec<&DocumentReading> = sides.iter().collect();
        let of_side = |side: &&DocumentReading| statements(side, &sides);
        let mut said: Vec<Statement> = sides.iter().flat_map(of_side).collect();
        said.iter_mut()
            .for_each(|statement| statement.said.document = document);
        said
    });
    said.map(|statement| (statement.is_reliable, statement.said))
        .unzip()
}

/// Whether two sides belong to the same document, by the most certain source of each. An uncertain MRZ is none: a
/// difference would fail a person by what may be a misreading.
pub fn sides(front: &DocumentReading, back: &DocumentReading) -> Consistency {
    let both = [front, back];
    let best = |reading| {
        statements(reading, &both)
            .into_iter()
            .find(|statement| statement.is_reliable)
            .map(|statement| statement.said)
    };
    let (Some(front), Some(back)) = (best(front), best(back)) else {
        return Consistency::Unknown;
    };
    match compare::compare_sides(&front, &back).consistency {
        compare::Consistency::Unknown => Consistency::Unknown,
        compare::Consistency::Consistent => Consistency::Consistent,
        compare::Consistency::Mismatch => Consistency::Mismatch,
    }
}

/// Whether results may rely on an MRZ: it is proven, and no other accepted MRZ of its document states something else.
/// `sides` are the readings of that document.
pub fn is_accepted(mrz: &MrzReading, sides: &[&DocumentReading]) -> bool {
    is_proven(mrz, sides) && !sides.iter().any(|side| states_otherwise(mrz, side))
}

/// Whether an MRZ is plausible, was read with enough margin, or another source of its document proves what is uncertain,
/// and no print casts doubt on it.
fn is_proven(mrz: &MrzReading, sides: &[&DocumentReading]) -> bool {
    let is_doubtful = |side: &&DocumentReading| {
        confirmation::casts_doubt(mrz, &SourceData::from_fields(&side.visual, ReadSource::Ocr))
    };
    mrz.valid
        && mrz.is_plausible()
        && !sides.iter().any(is_doubtful)
        && (mrz.accepted || sides.iter().any(|side| is_confirmed(mrz, side)))
}

/// Whether a side has another accepted MRZ, of another document or another person.
fn states_otherwise(mrz: &MrzReading, side: &DocumentReading) -> bool {
    let stated = |mrz: &MrzReading| {
        let fields = &mrz.fields;
        let names = (fields.surname.clone(), fields.given_names.clone());
        (
            names,
            fields.document_number.clone(),
            fields.birth_date,
            fields.expiry_date,
        )
    };
    let other = side.mrz.as_ref().filter(|other| other.valid && other.accepted);
    other.is_some_and(|other| stated(other) != stated(mrz))
}

/// Whether a side's barcode or print proves the MRZ.
fn is_confirmed(mrz: &MrzReading, side: &DocumentReading) -> bool {
    let visual = SourceData::from_fields(&side.visual, ReadSource::Ocr);
    let mut others = side.aamva().map(SourceData::from).into_iter().chain([visual]);
    others.any(|other| confirmation::by_source(mrz, &other))
}

/// The data of one source, and whether results may rely on it.
struct Statement {
    said: SourceData,
    is_reliable: bool,
}

/// The data of a picture's sources, the most certain source first. An MRZ with wrong check digits is left
/// out, because none of its data is certain. `sides` are the readings of the same document.
fn statements(reading: &DocumentReading, sides: &[&DocumentReading]) -> Vec<Statement> {
    let mrz = reading.mrz.as_ref().filter(|mrz| mrz.valid).map(|mrz| {
        let is_reliable = is_proven(mrz, sides);
        let said = SourceData {
            certain: is_reliable,
            ..SourceData::from(mrz)
        };
        Statement { said, is_reliable }
    });
    let reliable = |said| Statement {
        said,
        is_reliable: true,
    };
    let barcode = reading.aamva().map(SourceData::from).map(reliable);
    let visual = (!reading.visual.is_empty())
        .then(|| SourceData::from_fields(&reading.visual, ReadSource::Ocr))
        .map(reliable);
    mrz.into_iter().chain(barcode).chain(visual).collect()
}

#[cfg(test)]
mod tests {
    use documents::reading::{Field, MrzWarning, field};
    use verification::codes::Code;
    use verification::judge::expected::difference;

    use super::*;

    #[test]
    fn no_result_rests_on_an_implausible_zone_whatever_proves_it() {
        let lines = [
            "P<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<<<<<<<<<",
            "L898902C36UTO7408122F1204159ZE184226B<<<<<10",
        ];
        let mrz = documents::mrz::parse(&lines).unwrap();
        assert!(is_accepted(&mrz, &[]));
        for (warning, expected) in [
            (MrzWarning::NameMayBeTruncated, true),
            (MrzWarning::ImplausibleBirthDate, false),
            (MrzWarning::ImplausibleExpiryDate, false),
            (MrzWarning::UnknownIssuer, false),
            (MrzWarning::UnknownNationality, false),
            (MrzWarning::ImplausibleSex, false),
        ] {
            // As the engine accepts it where print repeats what is implausible.
            let odd = MrzReading {
                warnings: vec![warning],
                ..mrz.clone()
            };
            assert_eq!(is_accepted(&odd, &[]), expected, "{warning:?}");
        }
    }

    fn zone(names: &str, data: &str) -> DocumentReading {
        DocumentReading {
            mrz: Some(documents::mrz::parse(&[&format!("{names:<<44}"), data]).unwrap()),
            ..DocumentReading::default()
        }
    }

    const NAMES: &str = "P<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<<<<<<<<<";
    const DATA: &str = "L898902C36UTO7408122F1204159ZE184226B<<<<<10";

    #[test]
    fn two_accepted_zones_of_one_document_prove_neither() {
        let later = "L898902C36UTO7408122F3204153ZE184226B<<<<<16";
        let (front, back) = (zone(NAMES, DATA), zone(NAMES, later));
        let accepted = |reading: &DocumentReading, sides: &[&DocumentReading]| {
            is_accepted(reading.mrz.as_ref().unwrap(), sides)
        };
        assert!(accepted(&front, &[&front]) && accepted(&back, &[&back, &back]));
        assert!(!accepted(&front, &[&front, &back]) && !accepted(&back, &[&front, &back]));
    }

    #[test]
    fn sides_are_not_compared_by_an_uncertain_zone() {
        let front = zone(NAMES, DATA);
        let other = zone(
            "P<UTOMALIK<<OMAR<<<<<<<<<<<<<<<<<<<<<<<<<<<<",
            "X234567891UTO8001014M3001019<<<<<<<<<<<<<<<0",
        );
        assert_eq!(sides(&front, &other), Consistency::Mismatch);
        let mut uncertain = other;
        let mrz = uncertain.mrz.as_mut().unwrap();
        mrz.accepted = false;
        mrz.warnings.push(MrzWarning::UncertainReading);
        assert_eq!(sides(&front, &uncertain), Consistency::Unknown);
    }
    #[test]
    fn an_expected_person_is_found_in_a_zone_and_a_slip_is_another_person() {
        let found = |first: &str, last: &str, dob: Option<Date>, documents: &[Vec<DocumentReading>]| {
            let person = serde_json::json!({"firstName": first, "lastName": last});
            let mut person: ExpectedPerson = serde_json::from_value(person).unwrap();
            person.dob = dob;
            difference(&expected(&person, documents)).map(Code::number)
        };
        let day = |day| Some(jiff::civil::date(1974, 8, day));
        let whole = vec![vec![zone(NAMES, DATA)]];
        let initial = vec![vec![zone("P<UTOERIKSSON<<J", DATA)]];
        let single = vec![vec![zone("P<UTOARKFREITH", DATA)]];
        let undivided = vec![vec![zone("P<UTOERIKSSON<ANNA", DATA)]];
        let mut truncated = vec![vec![zone("P<UTOERIKSSON<<ANNA", DATA)]];
        truncated[0][0].mrz.as_mut().unwrap().warnings = vec![MrzWarning::NameMayBeTruncated];
        let mut uncertain = whole.clone();
        uncertain[0][0].mrz.as_mut().unwrap().accepted = false;
        let two = vec![whole[0].clone(), single[0].clone()];
        for (first, last, dob, documents, expected) in [
            ("Anna Maria", "Eriksson", day(12), &whole, None),
            ("anna", "ERIKSSON", None, &whole, None),
            ("Анна", "Eriksson", None, &whole, None),
            ("Anne", "Eriksson", None, &whole, Some(2502)),
            ("Anna", "Ericsson", None, &whole, Some(2502)),
            ("Anna", "Eriksson", day(13), &whole, Some(2502)),
            ("Eriksson", "Anna", None, &whole, Some(2503)),
            ("John", "Eriksson", None, &initial, Some(2503)),
            ("Arkfreith", "Arkfreith", None, &single, None),
            // Of the expected names, the document states only a part, or the zone may have cut the end.
            ("Anna Maria Sofia", "Eriksson", None, &whole, Some(2503)),
            ("Anna", "Eriksson Ekman", None, &whole, Some(2503)),
            ("Annabel", "Eriksson", None, &truncated, Some(2503)),
            ("Bertil", "Eriksson", None, &truncated, Some(2502)),
            // Which of two undivided words is the family name is unknown.
            ("Anna", "Eriksson", None, &undivided, Some(2503)),
            ("Bertil", "Berg", None, &undivided, Some(2502)),
            ("Anna", "Eriksson", None, &uncertain, Some(2503)),
            ("Anna", "Eriksson", None, &two, Some(2502)),
            ("Anna", "Eriksson", None, &vec![], Some(2503)),
        ] {
            assert_eq!(
                found(first, last, dob, documents),
                expected,
                "{first} {last} {dob:?}"
            );
        }
    }

    #[test]
    fn print_confirms_only_the_same_name() {
        let print = |given: &str, surname: &str| {
            let said = [(field::FIRST_NAME, given), (field::LAST_NAME, surname)];
            let field = |value: &str| Field {
                value: value.to_owned(),
                source: ReadSource::Ocr,
                confidence: 1.0,
                bounds: None,
                printed: None,
            };
            let said = said.into_iter().filter(|(_, value)| !value.is_empty());
            let visual = said
                .map(|(name, value)| (name.to_owned(), field(value)))
                .collect();
            vec![vec![DocumentReading {
                visual,
                ..DocumentReading::default()
            }]]
        };
        let person = serde_json::json!({"firstName": "Daniel", "lastName": "Rossi"});
        let person: ExpectedPerson = serde_json::from_value(person).unwrap();
        let found =
            |documents: &[Vec<DocumentReading>]| difference(&expected(&person, documents)).map(Code::number);
        assert_eq!(found(&print("DANIEL", "ROSSI")), None);
        assert_eq!(found(&print("DANIELA", "ROSSI")), Some(2504));
        assert_eq!(found(&print("", "ROSSI")), Some(2503), "a part was not read");
        // The zone outweighs print of which a part was not read.
        let mut both = print("", "ROSSI");
        both[0].push(zone("P<UTOROSSI<<DANIEL", DATA));
        assert_eq!(found(&both), None);
    }
}
