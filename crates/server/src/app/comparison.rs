//! Submitted data held against what documents say: `documents::compare` does it; this translates to and from the rules' data.

use documents::compare::{self, Claimed, Said};
use documents::reading::{DocumentReading, Source as ReadSource};
use verification::evidence::{ComparedField, Comparison, Consistency, Source};
use verification::submission::Submission;

/// Every source of every picture against the submission.
pub fn submitted(submission: &Submission, readings: &[&DocumentReading]) -> Comparison {
    let text = |field| submission.get(field).map(str::to_owned);
    let claimed = Claimed {
        first_name: text("firstName"),
        middle_name: text("middleName"),
        last_name: text("lastName"),
        birth_date: submission.dob.and_then(|dob| dob.to_string().parse().ok()),
        document_number: None,
        nationality: text("nationality"),
    };
    let said: Vec<Said> = readings.iter().flat_map(|reading| sources(reading)).collect();
    let compared = compare::compare(&claimed, &said);
    let fields = compared.field_results.into_iter().map(|result| ComparedField {
        field: result.field.to_owned(),
        source: match result.source {
            ReadSource::Mrz => Source::Mrz,
            ReadSource::Pdf417 => Source::Pdf417,
            ReadSource::Ocr => Source::Ocr,
        },
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

/// Whether two sides of a document belong together: by what each says most certainly.
pub fn sides(front: &DocumentReading, back: &DocumentReading) -> Consistency {
    let best = |reading: &DocumentReading| sources(reading).into_iter().next();
    let (Some(front), Some(back)) = (best(front), best(back)) else {
        return Consistency::Unknown;
    };
    match compare::compare_sides(&front, &back).consistency {
        compare::Consistency::Unknown => Consistency::Unknown,
        compare::Consistency::Consistent => Consistency::Consistent,
        compare::Consistency::Mismatch => Consistency::Mismatch,
    }
}

/// What a picture says, the most certain source first. A zone whose check digits fail says nothing certain, and is left out.
fn sources(reading: &DocumentReading) -> Vec<Said> {
    let mrz = reading.mrz.as_ref().filter(|mrz| mrz.valid).map(Said::from);
    let barcode = reading.aamva().map(Said::from);
    let visual = (!reading.visual.is_empty()).then(|| Said::from_fields(&reading.visual, ReadSource::Ocr));
    mrz.into_iter().chain(barcode).chain(visual).collect()
}
