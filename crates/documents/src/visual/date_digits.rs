//! Whether print states the six digits of a zone's date, even if no calendar has that day: 29 February 1911.
//!
//! `dates` reads only days that exist. This module reads no value: it compares, by the forms that `dates` knows.

use super::date_tokens::{Token, tokens};
use super::dates::{is_part_of_number, months};

/// The orders in which day, month and year are printed, as places in `YYMMDD`.
const ORDERS: [[usize; 3]; 3] = [[2, 1, 0], [1, 2, 0], [0, 1, 2]];

/// Whether a line of print has day, month and year of `digits` (`YYMMDD`) beside each other. The month may be a word, or
/// one word in each of two languages.
pub(crate) fn are_printed(digits: &str, text: &str) -> bool {
    let parts: Vec<u32> = (0..6)
        .step_by(2)
        .filter_map(|at| digits.get(at..at + 2)?.parse().ok())
        .collect();
    let [year, month, day] = parts[..] else {
        return false;
    };
    let is_part = |token: &Token, part: usize| match (part, token.number()) {
        (0, Some((value, digits))) => matches!(digits, 2 | 4) && value % 100 == year,
        // A thirteenth month would be a day before a month.
        (1, Some((value, digits))) => digits <= 2 && value == month && month <= 12,
        (1, None) => is_month(token, month),
        (_, Some((value, digits))) => digits <= 2 && value == day,
        (_, None) => false,
    };
    let mut tokens = tokens(text);
    tokens.dedup_by(|second, first| is_month(first, month) && is_month(second, month));
    let are = |at: usize| {
        let three = &tokens[at..at + 3];
        let fits = |order: &&[usize; 3]| {
            three
                .iter()
                .zip(*order)
                .all(|(token, part)| is_part(token, *part))
        };
        ORDERS.iter().find(fits).is_some_and(|order| {
            let is_full_year = |token: &Token| token.number().is_some_and(|(_, digits)| digits == 4);
            // `11.02.29` is 11 February.
            let has_order = order[0] != 0 || is_full_year(&three[0]);
            let has_word = three.iter().any(|token| token.word().is_some());
            let is_even = has_word || three[1].gap == three[2].gap;
            has_order && is_even && !is_part_of_number(&tokens, at, 3)
        })
    };
    (0..tokens.len().saturating_sub(2)).any(are)
}

fn is_month(token: &Token, month: u32) -> bool {
    let bits = token.word().map(months).unwrap_or_default();
    (1..=12).contains(&month) && bits & (1 << (month - 1)) != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn print_states_the_digits_of_days_that_do_not_exist() {
        for (expected, digits, text) in [
            (true, "110229", "29.02.1911"),
            (true, "110229", "Born 29 02 11"),
            (true, "110229", "02/29/1911"),
            (true, "110229", "1911-02-29"),
            (true, "110229", "29 FEB/FÉV 11"),
            (true, "110229", "29 únor 1911"),
            (true, "000000", "00.00.0000"),
            (true, "990230", "30.02.99"),
            // Days that exist, written in another order; part of a number.
            (false, "110229", "11.02.29"),
            (false, "741308", "13.08.1974"),
            (false, "110229", "tel. 11-02-29-44"),
            (false, "110229", "29.02.11.45"),
            (false, "110229", "1.29.02.11"),
            (false, "110229", "29.02-11"),
            // Another day, month or year; parts that are not beside each other; longer numbers.
            (false, "110229", "28.02.1911"),
            (false, "110229", "29.03.1911"),
            (false, "110229", "29.02.1912"),
            (false, "110229", "29 JAN 11"),
            (false, "110229", "29.02."),
            (false, "110229", "29 A 02 B 11"),
            (false, "110229", "115229/1111"),
            (false, "110229", "110229"),
            (false, "<<<<<<", "29.02.1911"),
            (false, "", ""),
        ] {
            assert_eq!(are_printed(digits, text), expected, "{digits} {text}");
        }
    }
}
