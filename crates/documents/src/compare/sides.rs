//! Compares the two sides of a card, to find sides of different cards.
//!
//! A false mismatch rejects an honest person. One field alone, which may be misread or confused with another,
//! therefore rarely decides.

use serde::Serialize;

use super::names::{NameComparer, name_words, similarity};
use super::{SourceData, fold_lookalikes, plain_number};
use crate::reading::{PartialDate, Source, field};

/// Whether two sides belong to the same card.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Consistency {
    /// The sides have no field in common that is clear enough.
    #[default]
    Unknown,
    /// At least one field agrees, and no contradiction decides.
    Consistent,
    /// The sides contradict each other.
    Mismatch,
}

/// The comparison of two sides.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct SideComparison {
    /// The conclusion.
    pub consistency: Consistency,
    /// Fields (constants of [`field`]) that agree.
    pub agreeing: Vec<&'static str>,
    /// Fields that clearly differ.
    pub differing: Vec<&'static str>,
}

/// The comparison of one field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FieldAgreement {
    Agrees,
    Differs,
    Unclear,
}

/// Below this similarity (0–100), two texts are not readings of the same text.
const FOREIGN: f64 = 60.0;

/// Compares the data of the two sides of one card.
pub fn compare_sides(front: &SourceData, back: &SourceData) -> SideComparison {
    let [last, first, birth, number, expiry] = [
        compare_names(&front.surname, &back.surname, front, back, false),
        compare_names(&front.given_names, &back.given_names, front, back, true),
        compare_dates(front.birth_date, back.birth_date, front, back),
        compare_document_numbers(front, back),
        compare_dates(front.expiry_date, back.expiry_date, front, back),
    ];
    let signs = [
        (field::LAST_NAME, last),
        (field::FIRST_NAME, first),
        (field::BIRTH_DATE, birth),
        (field::DOCUMENT_NUMBER, number),
        (field::EXPIRY_DATE, expiry),
    ];
    let with = |sign: FieldAgreement| {
        signs
            .iter()
            .filter(|(_, s)| *s == sign)
            .map(|(name, _)| *name)
            .collect::<Vec<_>>()
    };
    let (agreeing, differing) = (with(FieldAgreement::Agrees), with(FieldAgreement::Differs));
    use FieldAgreement::{Agrees, Differs};
    let certain = front.certain && back.certain;
    let barcode = front.source == Source::Pdf417 || back.source == Source::Pdf417;
    let mismatch = match (last, first, birth) {
        // These differences indicate another person.
        (Differs, Differs, b) if b != Agrees => true,
        (Differs, _, Differs) | (_, Differs, Differs) => true,
        (_, _, Differs) if certain || number == Differs => true,
        // These differences indicate another card of the same person.
        _ if number == Differs && expiry == Differs => true,
        // A barcode contains the issuer's document number. If the other side's number differs and no field
        // agrees, that suffices.
        _ => number == Differs && barcode && agreeing.is_empty(),
    };
    let consistency = match (mismatch, agreeing.is_empty()) {
        (true, _) => Consistency::Mismatch,
        (false, false) => Consistency::Consistent,
        (false, true) => Consistency::Unknown,
    };
    SideComparison {
        consistency,
        agreeing,
        differing,
    }
}

/// The names ([`field::LAST_NAME`], [`field::FIRST_NAME`]) that are clearly other names in the other source.
pub(crate) fn differing_names(one: &SourceData, other: &SourceData) -> Vec<&'static str> {
    let differs =
        |here, there, given| compare_names(here, there, one, other, given) == FieldAgreement::Differs;
    let mut names = Vec::new();
    if differs(&one.surname, &other.surname, false) {
        names.push(field::LAST_NAME);
    }
    if differs(&one.given_names, &other.given_names, true) {
        names.push(field::FIRST_NAME);
    }
    names
}

fn compare_names(
    front: &Option<String>,
    back: &Option<String>,
    a: &SourceData,
    b: &SourceData,
    given: bool,
) -> FieldAgreement {
    let (Some(front), Some(back)) = (front, back) else {
        return FieldAgreement::Unclear;
    };
    let (front, back) = (name_words(front), name_words(back));
    if front.is_empty() || back.is_empty() {
        return FieldAgreement::Unclear;
    }
    let context = NameComparer {
        truncated: a.truncated || b.truncated,
        certain: a.certain && b.certain,
    };
    let either = |x: &[String], y: &[String]| {
        if given {
            context.compare_given_names(x, y)
        } else {
            context.compare_surnames(x, y)
        }
    };
    let (there, here) = (either(&front, &back), either(&back, &front));
    if there.matches == Some(true) || here.matches == Some(true) {
        return FieldAgreement::Agrees;
    }
    let nearness = there
        .score
        .max(here.score)
        .max(similarity(&front.concat(), &back.concat()));
    if nearness < FOREIGN {
        FieldAgreement::Differs
    } else {
        FieldAgreement::Unclear
    }
}

fn compare_dates(
    front: Option<PartialDate>,
    back: Option<PartialDate>,
    a: &SourceData,
    b: &SourceData,
) -> FieldAgreement {
    let (Some(front), Some(back)) = (front, back) else {
        return FieldAgreement::Unclear;
    };
    if front.agrees_with(&back) {
        return FieldAgreement::Agrees;
    }
    if a.certain && b.certain {
        return FieldAgreement::Differs;
    }
    // The recognition may have misread one digit, swapped day and month, or confused one date with another.
    let other =
        |said: &SourceData, d| [said.birth_date, said.expiry_date, said.issue_date].contains(&Some(d));
    let wrong = front
        .to_string()
        .bytes()
        .zip(back.to_string().bytes())
        .filter(|(x, y)| x != y)
        .count();
    if wrong <= 1 || front.swapped() == Some(back) || other(b, front) || other(a, back) {
        FieldAgreement::Unclear
    } else {
        FieldAgreement::Differs
    }
}

fn compare_document_numbers(front: &SourceData, back: &SourceData) -> FieldAgreement {
    let plain = |said: &SourceData| {
        said.document_number
            .as_deref()
            .map(|n| fold_lookalikes(&plain_number(n)))
            .filter(|n| n.len() >= 4)
    };
    let (Some(a), Some(b)) = (plain(front), plain(back)) else {
        return FieldAgreement::Unclear;
    };
    let among = |said: &SourceData, n: &str| {
        said.other_numbers
            .iter()
            .any(|other| fold_lookalikes(&plain_number(other)).contains(n))
    };
    if a == b || a.contains(&b) || b.contains(&a) {
        return FieldAgreement::Agrees;
    }
    if among(front, &b) || among(back, &a) || similarity(&a, &b) >= FOREIGN {
        FieldAgreement::Unclear
    } else {
        FieldAgreement::Differs
    }
}
