//! Compares submitted data with the documents' data. `documents::compare` compares; this module converts from
//! and to the rules' types.

use documents::compare::{self, SourceData, SubmittedData};
use documents::confirmation;
use documents::reading::{DocumentReading, MrzReading, Source as ReadSource};
use verification::evidence::{ComparedField, Comparison, Consistency, Source};
use verification::submission::Submission;

/// Compares every source of every document with the submission. `documents` has the readings of each
/// document's sides.
pub fn submitted(submission: &Submission, documents: &[Vec<DocumentReading>]) -> Comparison {
    let text = |field| submission.get(field).map(str::to_owned);
    let claimed = SubmittedData {
        first_name: text("firstName"),
        middle_name: text("middleName"),
        last_name: text("lastName"),
        // Every calendar day is a valid date there too: `YYYY-MM-DD`.
        birth_date: submission.dob.and_then(|dob| dob.to_string().parse().ok()),
        document_number: None,
        nationality: text("nationality"),
    };
    let said: Vec<Statement> = documents
        .iter()
        .enumerate()
        .flat_map(|(document, sides)| {
            let sides: Vec<&DocumentReading> = sides.iter().collect();
            let of_side = |side: &&DocumentReading| statements(side, &sides);
            let mut said: Vec<Statement> = sides.iter().flat_map(of_side).collect();
            said.iter_mut()
                .for_each(|statement| statement.said.document = document);
            said
        })
        .collect();
    let (reliable, said): (Vec<bool>, Vec<SourceData>) = said
        .into_iter()
        .map(|statement| (statement.is_reliable, statement.said))
        .unzip();
    let compared = compare::compare(&claimed, &said);
    let fields = compared.field_results.into_iter().map(|result| ComparedField {
        field: result.field.to_owned(),
        source: match result.source {
            ReadSource::Mrz => Source::Mrz,
            ReadSource::Pdf417 => Source::Pdf417,
            ReadSource::Ocr => Source::Ocr,
        },
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
    use documents::reading::MrzWarning;

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
            mrz: Some(documents::mrz::parse(&[names, data]).unwrap()),
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
}
