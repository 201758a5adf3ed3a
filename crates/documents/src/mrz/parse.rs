//! Parses lines as printed. Size and alphabet are checked strictly; implausible contents are reported as
//! warnings and never corrected.

use jiff::civil::Date;
use reference::icao;

use super::dates;
use super::layout::{Layout, NameSpans};
use crate::reading::{MrzFields, MrzFormat, MrzReading, MrzWarning};

/// Why lines are not a machine-readable zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MrzError {
    /// The lines have neither 3 × 30, 2 × 36 nor 2 × 44 characters.
    #[error("not the size of a machine-readable zone: expected 3 lines of 30, 2 of 36 or 2 of 44 characters")]
    Size,
    /// A character other than `A`–`Z`, `0`–`9`, `<`, and `Ñ`, which Spain prints.
    #[error("line {line}, position {position}: not a character of a machine-readable zone")]
    Alphabet {
        /// Line, from 1.
        line: usize,
        /// Position, from 1.
        position: usize,
    },
}

/// Whether the character belongs to the MRZ alphabet (with `Ñ`).
pub(super) fn is_mrz_character(c: char) -> bool {
    matches!(c, 'A'..='Z' | '0'..='9' | '<' | 'Ñ')
}

/// Parses the lines of a zone as printed. Today's UTC date decides the centuries of two-digit years.
///
/// The result is `accepted` if every check digit is correct and nothing is implausible. The lines themselves
/// count as certain.
///
/// # Errors
/// Fails if the lines do not have a zone's size or contain other characters. Wrong check digits are no error.
pub fn parse<S: AsRef<str>>(lines: &[S]) -> Result<MrzReading, MrzError> {
    parse_on(lines, today())
}

/// Today, UTC.
pub(super) fn today() -> Date {
    jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC).date()
}

/// Parses as [`parse`] does, with a given date as today.
///
/// # Errors
/// Fails in the same cases as [`parse`].
pub fn parse_on<S: AsRef<str>>(lines: &[S], today: Date) -> Result<MrzReading, MrzError> {
    // Larger input is refused before it is processed, because no zone is that large.
    if lines.len() > 3 || lines.iter().any(|l| l.as_ref().len() > 200) {
        return Err(MrzError::Size);
    }
    let lines: Vec<Vec<char>> = lines
        .iter()
        .map(|line| line.as_ref().trim().chars().collect())
        .collect();
    let format = format_of(&lines).ok_or(MrzError::Size)?;
    for (l, line) in lines.iter().enumerate() {
        if let Some(p) = line.iter().position(|&c| !is_mrz_character(c)) {
            return Err(MrzError::Alphabet {
                line: l + 1,
                position: p + 1,
            });
        }
    }
    Ok(read(Layout::of(format), &lines, today))
}

/// Determines the format from the size and the first letters.
fn format_of(lines: &[Vec<char>]) -> Option<MrzFormat> {
    let width = lines.first()?.len();
    if lines.iter().any(|line| line.len() != width) {
        return None;
    }
    let visa = lines[0].first() == Some(&'V');
    match (lines.len(), width) {
        (3, 30) => Some(MrzFormat::Td1),
        (2, 44) => Some(if visa { MrzFormat::MrvA } else { MrzFormat::Td3 }),
        (2, 36) if visa => Some(MrzFormat::MrvB),
        (2, 36) if lines[0].starts_with(&['I', 'D', 'F', 'R', 'A']) => Some(MrzFormat::FrId),
        (2, 36) => Some(MrzFormat::Td2),
        _ => None,
    }
}

/// Parses lines that have the layout's size.
pub(super) fn read(layout: &Layout, lines: &[Vec<char>], today: Date) -> MrzReading {
    let rest = layout.rest_of_number(lines);
    let failed_checks: Vec<_> = layout
        .checks(rest)
        .iter()
        .filter(|check| !check.is_correct(lines))
        .map(|check| check.name)
        .collect();
    let (fields, warnings) = fields(layout, lines, rest, today);
    let valid = failed_checks.is_empty();
    MrzReading {
        format: layout.format,
        lines: lines.iter().map(|line| line.iter().collect()).collect(),
        valid,
        accepted: valid && warnings.iter().all(|w| w.is_harmless()),
        failed_checks,
        fields,
        warnings,
        margin: None,
        confirmable: false,
    }
}

fn fields(layout: &Layout, lines: &[Vec<char>], rest: usize, today: Date) -> (MrzFields, Vec<MrzWarning>) {
    let mut warnings = Vec::new();
    let mut check = |fine: bool, warning: MrzWarning| {
        if !fine {
            warnings.push(warning);
        }
    };
    let code =
        |span: super::layout::Span| -> String { span.of(lines).iter().filter(|&&c| c != '<').collect() };
    let country = |code: &str| Some(icao::issuer(code)?.country?.alpha3.to_owned());

    let document_code = code(layout.document_code);
    check(
        document_code.starts_with(|c| layout.document_letters.contains(c)),
        MrzWarning::UnknownDocumentCode,
    );
    let issuer = code(layout.issuer);
    check(icao::issuer(&issuer).is_some(), MrzWarning::UnknownIssuer);
    let nationality = layout.nationality.map_or_else(|| issuer.clone(), code);
    check(
        icao::issuer(&nationality).is_some(),
        MrzWarning::UnknownNationality,
    );

    let birth_text = layout.birth.of(lines);
    let birth_date = dates::birth(birth_text, today);
    check(
        dates::may_be_birth(birth_text, today),
        MrzWarning::ImplausibleBirthDate,
    );
    let expiry_date = layout
        .expiry
        .and_then(|span| dates::expiry(span.of(lines), birth_date, today));
    check(
        layout.expiry.is_none_or(|_| expiry_date.is_some()),
        MrzWarning::ImplausibleExpiryDate,
    );
    let sex = match layout.sex.of(lines) {
        ['M'] => Some('M'),
        ['F'] => Some('F'),
        ['<' | 'X'] => Some('X'),
        _ => None,
    };
    check(sex.is_some(), MrzWarning::ImplausibleSex);

    let (surname, given, truncated, plausible) = match layout.names {
        NameSpans::Together(span) => {
            let run = span.of(lines);
            let split = run
                .windows(2)
                .position(|pair| pair == ['<', '<'])
                .unwrap_or(run.len());
            let (surname, given) = run.split_at(split);
            let given = given.get(2..).unwrap_or_default();
            let plausible = is_identifier(surname, false) && (is_blank(given) || is_identifier(given, false));
            (words(surname), words(given), run.last() != Some(&'<'), plausible)
        }
        NameSpans::Apart { surname, given } => {
            let (surname, given) = (surname.of(lines), given.of(lines));
            let full = |run: &[char]| run.last() != Some(&'<');
            // The French card separates given names by two fillers.
            let plausible = is_identifier(surname, false) && is_identifier(given, true);
            (
                words(surname),
                words(given),
                full(surname) || full(given),
                plausible,
            )
        }
    };
    check(plausible, MrzWarning::ImplausibleName);
    check(!truncated, MrzWarning::NameMayBeTruncated);

    let data = |span: super::layout::Span, skip: usize| -> String {
        let text: String = span.of(lines).iter().skip(skip).collect();
        text.trim_matches('<').replace('<', " ")
    };
    let mut document_number: Vec<char> = layout.number.of(lines).to_vec();
    if let Some(more) = layout.long_number {
        document_number.extend(&more.of(lines)[..rest]);
    }
    let fields = MrzFields {
        document_code,
        issuer_country: country(&issuer),
        issuer,
        surname,
        given_names: given,
        issue_date: (layout.format == MrzFormat::FrId)
            .then(|| dates::issue_month(&document_number[..4], today))
            .flatten(),
        document_number: document_number.into_iter().filter(|&c| c != '<').collect(),
        nationality_country: country(&nationality),
        nationality,
        birth_date,
        expiry_date,
        sex,
        optional_data: layout
            .optional
            .map(|span| data(span, if rest > 0 { rest + 1 } else { 0 }))
            .unwrap_or_default(),
        optional_data2: layout.optional2.map(|span| data(span, 0)).unwrap_or_default(),
    };
    (fields, warnings)
}

/// A date in a zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DateOfZone {
    Birth,
    Expiry,
}

/// The six characters of a date as they stand in the zone, whether such a day exists or not. `None` if its format has no
/// such date.
pub(crate) fn date_digits(mrz: &MrzReading, date: DateOfZone) -> Option<String> {
    let layout = Layout::of(mrz.format);
    let span = match date {
        DateOfZone::Birth => layout.birth,
        DateOfZone::Expiry => layout.expiry?,
    };
    let line = mrz.lines.get(span.line)?;
    Some(line.chars().skip(span.start).take(span.len).collect())
}

fn is_blank(run: &[char]) -> bool {
    run.iter().all(|&c| c == '<')
}

/// The words of a run, with single spaces instead of fillers.
fn words(run: &[char]) -> String {
    let words: Vec<String> = run
        .split(|&c| c == '<')
        .filter(|w| !w.is_empty())
        .map(|w| w.iter().collect())
        .collect();
    words.join(" ")
}

/// Whether a run has letters separated by single fillers (with `double`, also double ones), followed only by
/// fillers.
fn is_identifier(run: &[char], double: bool) -> bool {
    let end = run.iter().rposition(|&c| c != '<').map_or(0, |last| last + 1);
    let used = &run[..end];
    let most = if double { 2 } else { 1 };
    end > 0
        && used[0] != '<'
        && used
            .iter()
            .all(|&c| c == '<' || c == 'Ñ' || c.is_ascii_uppercase())
        && !used.windows(most + 1).any(is_blank)
}

#[cfg(test)]
#[path = "parse_tests.rs"]
mod tests;
