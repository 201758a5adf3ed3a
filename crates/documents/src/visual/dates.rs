//! Parses dates as documents print them: `12.08.1974`, `12 AUG/AOÛT 74`, `1974-08-12`, `08/12/1974`.
//!
//! It never decides which date is the holder's birth.

use crate::reading::PartialDate;

/// Beginnings of month names, folded to ASCII capitals, in the languages of passports and licences. A word
/// names the month whose beginning it has; each beginning has at least three letters.
const MONTHS: [&[&str]; 12] = [
    &["JAN", "GEN", "ENE", "STY", "SIJ", "LED", "OCA", "JAAN", "TAM"],
    &["FEB", "FEV", "LUT", "VELJ", "UNO", "SUB", "HEL", "VEEB"],
    &["MAR", "MRT", "MRZ", "MAAR", "BRE", "OZU", "MAERZ", "MAE", "MRC"],
    &["APR", "AVR", "ABR", "KWI", "TRA", "DUB", "NIS", "HUH"],
    &["MAY", "MAI", "MAJ", "MEI", "MAG", "KVE", "SVI", "TOU", "MAYIS"],
    &["JUN", "JUIN", "GIU", "CZE", "CVN", "HAZ", "KES"],
    &["JUL", "JUIL", "LUG", "LIP", "CVC", "SRP", "TEM", "HEI"],
    &["AUG", "AOU", "AGO", "SIE", "KOL", "ELO", "AVG"],
    &["SEP", "SET", "WRZ", "RUJ", "ZAR", "EYL", "SYY"],
    &["OCT", "OKT", "OTT", "OUT", "PAZ", "RIJ", "EKI", "LOK"],
    &["NOV", "LIS", "STU", "KAS", "MARR"],
    &["DEC", "DEZ", "DES", "DIC", "GRU", "PRO", "ARA", "JOU", "DET"],
];

/// The order of day and month where both are possible.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DateOrder {
    /// Day first, as everywhere except in the United States.
    DayFirst,
    /// Month first.
    MonthFirst,
}

/// Finds all dates in a text. Two-digit years are between `century_end` − 99 and `century_end`.
pub(super) fn find_dates(text: &str, order: DateOrder, century_end: i16) -> Vec<PartialDate> {
    let tokens = tokens(text);
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        match date_at(&tokens[at..], order, century_end) {
            Some((date, used)) => {
                found.push(date);
                at += used;
            }
            None => at += 1,
        }
    }
    found
}

/// A run of digits or of letters.
#[derive(Debug, PartialEq)]
enum Token {
    Number { value: u32, digits: usize },
    Word(String),
}

fn tokens(text: &str) -> Vec<Token> {
    let folded = any_ascii::any_ascii(text).to_ascii_uppercase();
    let mut tokens = Vec::new();
    let mut run = String::new();
    let mut flush = |run: &mut String| {
        if run.is_empty() {
            return;
        }
        let word = std::mem::take(run);
        tokens.push(match word.parse() {
            Ok(value) if word.len() <= 8 => Token::Number {
                value,
                digits: word.len(),
            },
            _ => Token::Word(word),
        });
    };
    let mut previous_is_digit = false;
    for c in folded.chars() {
        if !c.is_ascii_alphanumeric() {
            flush(&mut run);
        } else {
            if c.is_ascii_digit() != previous_is_digit {
                flush(&mut run);
            }
            run.push(c);
        }
        previous_is_digit = c.is_ascii_digit();
    }
    flush(&mut run);
    tokens
}

/// Parses a date from the first tokens. Also returns the number of tokens that it uses.
fn date_at(tokens: &[Token], order: DateOrder, century_end: i16) -> Option<(PartialDate, usize)> {
    let Token::Number { value: first, digits } = *tokens.first()? else {
        return None;
    };
    if digits == 8 {
        return compact(first, order).map(|date| (date, 1));
    }
    // Examples: `12 AUG 1974`, `12 AUG/AOUT 1974`.
    if digits <= 2
        && let Some(Token::Word(word)) = tokens.get(1)
    {
        let month = month(word)?;
        let (year_at, year) = [2, 3].into_iter().find_map(|at| match tokens.get(at)? {
            Token::Number { value, digits } => Some((at, full_year(*value, *digits, century_end)?)),
            Token::Word(_) => None,
        })?;
        let between = tokens[2..year_at].iter().all(|t| matches!(t, Token::Word(_)));
        return between
            .then(|| PartialDate::from_ymd(year, month, u8::try_from(first).ok()?))?
            .map(|d| (d, year_at + 1));
    }
    let (
        Token::Number {
            value: second,
            digits: second_digits,
        },
        Token::Number {
            value: third,
            digits: third_digits,
        },
    ) = (tokens.get(1)?, tokens.get(2)?)
    else {
        return None;
    };
    // In `3. 12.08.1990`, a field's number precedes the date.
    let longer_year_follows = matches!(tokens.get(3), Some(Token::Number { digits: 4, .. }));
    if *second_digits > 2 || (*third_digits == 2 && longer_year_follows) {
        return None;
    }
    let small = |n: u32| u8::try_from(n).ok();
    let date = if digits == 4 {
        PartialDate::from_ymd(full_year(first, 4, century_end)?, small(*second)?, small(*third)?)
    } else {
        let year = full_year(*third, *third_digits, century_end)?;
        let (day_first, month_first) = (
            PartialDate::from_ymd(year, small(*second)?, small(first)?),
            PartialDate::from_ymd(year, small(first)?, small(*second)?),
        );
        match order {
            DateOrder::DayFirst => day_first.or(month_first),
            DateOrder::MonthFirst => month_first.or(day_first),
        }
    };
    date.map(|date| (date, 3))
}

/// Parses a date without separators: `19740812`, `12081974`, `08121974`.
fn compact(value: u32, order: DateOrder) -> Option<PartialDate> {
    let part = |divisor: u32, modulus: u32| value / divisor % modulus;
    let date = |year: u32, month: u32, day: u32| {
        let year = i16::try_from(year).ok().filter(|y| (1900..2100).contains(y))?;
        PartialDate::from_ymd(year, u8::try_from(month).ok()?, u8::try_from(day).ok()?)
    };
    let year_first = date(part(10_000, 10_000), part(100, 100), part(1, 100));
    let day_first = date(part(1, 10_000), part(10_000, 100), part(1_000_000, 100));
    let month_first = date(part(1, 10_000), part(1_000_000, 100), part(10_000, 100));
    match order {
        DateOrder::DayFirst => year_first.or(day_first).or(month_first),
        DateOrder::MonthFirst => year_first.or(month_first).or(day_first),
    }
}

fn month(word: &str) -> Option<u8> {
    // The longest beginning decides: MARR over MAR.
    let beginning = |names: &[&str]| {
        names
            .iter()
            .filter(|n| word.starts_with(*n))
            .map(|n| n.len())
            .max()
    };
    let (month, _) = (1..)
        .zip(MONTHS)
        .filter_map(|(m, names)| Some((m, beginning(names)?)))
        .max_by_key(|&(_, n)| n)?;
    Some(month)
}

fn full_year(value: u32, digits: usize, century_end: i16) -> Option<i16> {
    let value = i16::try_from(value).ok()?;
    match digits {
        4 => (1900..2100).contains(&value).then_some(value),
        2 => {
            let year = century_end - century_end.rem_euclid(100) + value;
            Some(if year > century_end { year - 100 } else { year })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn printed_dates_are_read() {
        let rows: &[(&str, DateOrder, &[&str])] = &[
            ("12.08.1974", DateOrder::DayFirst, &["1974-08-12"]),
            ("12/08/1974", DateOrder::MonthFirst, &["1974-12-08"]),
            ("08/25/1974", DateOrder::DayFirst, &["1974-08-25"]),
            ("1974-08-12", DateOrder::MonthFirst, &["1974-08-12"]),
            ("12 AUG/AOÛT 1974", DateOrder::DayFirst, &["1974-08-12"]),
            ("12 AUG 74", DateOrder::DayFirst, &["1974-08-12"]),
            ("12AUG1974", DateOrder::DayFirst, &["1974-08-12"]),
            ("04 JUIL 2012", DateOrder::DayFirst, &["2012-07-04"]),
            ("3. 12.08.1990 PRAHA", DateOrder::DayFirst, &["1990-08-12"]),
            (
                "4a ISS 01/02/2020 4b EXP 01/02/2028",
                DateOrder::MonthFirst,
                &["2020-01-02", "2028-01-02"],
            ),
            ("19740812", DateOrder::DayFirst, &["1974-08-12"]),
            ("31.02.1974", DateOrder::DayFirst, &[]),
            ("12.08.197", DateOrder::DayFirst, &[]),
            ("AB-345/67, 27.09.2007.", DateOrder::DayFirst, &["2007-09-27"]),
            ("no date 12 34", DateOrder::DayFirst, &[]),
        ];
        for (text, order, expected) in rows {
            let found: Vec<String> = find_dates(text, *order, 2050)
                .iter()
                .map(ToString::to_string)
                .collect();
            assert_eq!(found, *expected, "{text}");
        }
    }

    #[test]
    fn short_years_lie_in_their_century() {
        assert_eq!(find_dates("01.02.30", DateOrder::DayFirst, 2026)[0].year(), 1930);
        assert_eq!(find_dates("01.02.30", DateOrder::DayFirst, 2060)[0].year(), 2030);
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in "\\PC{0,40}") {
            let _ = find_dates(&text, DateOrder::DayFirst, 2026);
        }
    }
}
