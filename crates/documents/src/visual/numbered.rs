//! Finds the numbered fields of driving licences (Directive 2006/126/EC annex I, ISO 18013-1, and licences that follow
//! the Convention on Road Traffic of 1968): `1.` family name, `2.` given names, `3.` birth, `4a.` issue, `4b.` expiry,
//! `4c.` authority, `4d.` another number, `5.` number of the licence.
//!
//! Recognition often drops the point or joins number and value. This module finds where a field's value is; it never
//! decides what the value is.

use std::ops::Range;

/// The number of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum FieldNumber {
    /// 1: family name.
    Surname,
    /// 2: given names.
    GivenNames,
    /// 3: date and place of birth.
    Birth,
    /// 4a: date of issue.
    Issue,
    /// 4b: date of expiry.
    Expiry,
    /// 4c: issuing authority.
    Authority,
    /// 4d: a number other than 5, on European licences; the customer's number on North American ones.
    OtherNumber,
    /// 5: number of the licence on European licences; another number on North American ones.
    Number,
    /// 6–9: portrait, signature, residence and categories.
    Other,
}

/// A numbered field of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NumberedField {
    pub(super) number: FieldNumber,
    /// The characters of its value.
    pub(super) value: Range<usize>,
    /// Whether a sign shows that the number is a field's: a letter (`4a`), a point or a bracket. A number without one may
    /// be a part of an address.
    pub(super) has_point: bool,
}

/// The numbered fields of a line.
pub(super) fn numbered_fields(text: &str) -> Vec<NumberedField> {
    let chars: Vec<char> = text.chars().collect();
    let mut starts: Vec<(FieldNumber, Range<usize>)> = Vec::new();
    let mut at = 0;
    while at < chars.len() {
        let is_word_start = at == 0 || !chars[at - 1].is_alphanumeric();
        let is_line_start = chars[..at].iter().all(|c| !c.is_alphanumeric());
        let field = is_word_start
            .then(|| lettered(&chars[at..]).or_else(|| is_line_start.then(|| plain(&chars[at..]))?))
            .flatten();
        match field {
            Some((number, used)) => {
                starts.push((number, at..at + used));
                at += used;
            }
            None => at += 1,
        }
    }
    let ends: Vec<usize> = starts
        .iter()
        .skip(1)
        .map(|(_, printed)| printed.start)
        .chain([chars.len()])
        .collect();
    starts
        .into_iter()
        .zip(ends)
        .map(|((number, printed), end)| NumberedField {
            number,
            value: printed.end..end,
            has_point: chars[printed]
                .iter()
                .any(|c| c.is_alphabetic() || matches!(c, '.' | ',' | ')')),
        })
        .collect()
}

/// `4a` to `4d`, also joined with a date. Returns the characters used, with those of a separator.
fn lettered(chars: &[char]) -> Option<(FieldNumber, usize)> {
    let [first, second, rest @ ..] = chars else {
        return None;
    };
    if *first != '4' {
        return None;
    }
    let number = match second.to_ascii_lowercase() {
        'a' => FieldNumber::Issue,
        'b' => FieldNumber::Expiry,
        'c' => FieldNumber::Authority,
        'd' => FieldNumber::OtherNumber,
        _ => return None,
    };
    let is_date = matches!(number, FieldNumber::Issue | FieldNumber::Expiry);
    let ends = match rest.first() {
        None => true,
        Some(c) if c.is_ascii_digit() => is_date,
        Some(c) => !c.is_alphanumeric(),
    };
    ends.then(|| (number, 2 + separators(rest)))
}

/// `1` to `9`, with a point or a blank, or joined with a name.
fn plain(chars: &[char]) -> Option<(FieldNumber, usize)> {
    let [first, rest @ ..] = chars else {
        return None;
    };
    let number = match first {
        '1' => FieldNumber::Surname,
        '2' => FieldNumber::GivenNames,
        '3' => FieldNumber::Birth,
        '5' => FieldNumber::Number,
        '6'..='9' => FieldNumber::Other,
        _ => return None,
    };
    let is_name = matches!(number, FieldNumber::Surname | FieldNumber::GivenNames);
    let is_joined = is_name && matches!(rest, [a, b, ..] if a.is_uppercase() && b.is_alphabetic());
    let is_divided = rest
        .first()
        .is_none_or(|c| !c.is_alphanumeric() && !matches!(c, '/' | '-'));
    (is_joined || is_divided).then(|| (number, 1 + separators(rest)))
}

/// The number of characters that separate a field's number from its value.
fn separators(chars: &[char]) -> usize {
    chars
        .iter()
        .take_while(|c| c.is_whitespace() || matches!(c, '.' | ',' | ':' | ';' | ')' | '·'))
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_are_found_with_and_without_points() {
        use FieldNumber::*;
        let rows: &[(&str, &[(FieldNumber, &str)])] = &[
            ("1. SMITH", &[(Surname, "SMITH")]),
            ("1.SMITH", &[(Surname, "SMITH")]),
            ("1 SMITH", &[(Surname, "SMITH")]),
            ("1SMITH", &[(Surname, "SMITH")]),
            ("(1) SMITH", &[(Surname, "SMITH")]),
            ("3.12.08.64", &[(Birth, "12.08.64")]),
            ("3. 12.08.64 LONDON", &[(Birth, "12.08.64 LONDON")]),
            ("4a.01.02.2019", &[(Issue, "01.02.2019")]),
            (
                "4A 01.02.2019 4c. DVLA",
                &[(Issue, "01.02.2019 "), (Authority, "DVLA")],
            ),
            ("4b01.02.2029", &[(Expiry, "01.02.2029")]),
            (
                "4a. 01.02.19 4b. 01.02.29",
                &[(Issue, "01.02.19 "), (Expiry, "01.02.29")],
            ),
            ("5. MORGA753116SM9IJ 35", &[(Number, "MORGA753116SM9IJ 35")]),
            ("9. AM/B1/B", &[(Other, "AM/B1/B")]),
            // Dates and numbers without a field's number.
            ("12.08.1964", &[]),
            ("31.12.2029", &[]),
            ("3/12/2029", &[]),
            ("14A", &[]),
            ("", &[]),
        ];
        for (text, expected) in rows {
            let chars: Vec<char> = text.chars().collect();
            let found: Vec<(FieldNumber, String)> = numbered_fields(text)
                .into_iter()
                .map(|field| (field.number, chars[field.value].iter().collect()))
                .collect();
            let expected: Vec<(FieldNumber, String)> = expected
                .iter()
                .map(|(number, value)| (*number, (*value).to_owned()))
                .collect();
            assert_eq!(found, expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in "\\PC{0,40}") {
            let length = text.chars().count();
            for NumberedField { value, .. } in numbered_fields(&text) {
                prop_assert!(value.start <= value.end && value.end <= length);
            }
        }
    }
}
