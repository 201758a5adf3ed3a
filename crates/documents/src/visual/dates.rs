//! Finds dates in the forms that documents print: `12.08.1974`, `12 AUG/AOÛT 74`, `1974-08-12`, `08/12/1974`.
//!
//! A year of two digits is completed only by [`PrintedDate::in_century`] and what is known about the date's role. It
//! never decides which date is the holder's birth, and never guesses a month that has two meanings.

use std::ops::Range;

use jiff::civil::Date;

use crate::reading::PartialDate;

use super::months::MONTHS;
use super::text::edit_distance;

/// The order of day and month where both are possible.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DateOrder {
    /// Day first, as everywhere except in the United States.
    DayFirst,
    /// Month first.
    MonthFirst,
}

/// The role of a date, which bounds its year.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DateRole {
    /// Date of birth of a holder whose age at issue lies in the range, in years.
    Birth {
        /// The least and the greatest plausible age.
        ages: (i16, i16),
        /// The date of issue, or today.
        by: Date,
    },
    /// Date of issue.
    Issue,
    /// Date of expiry.
    Expiry,
}

/// A date as printed. Its known parts form a real date in every century that its year may belong to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PrintedDate {
    year: Year,
    month: Option<u8>,
    day: Option<u8>,
    /// Its characters in the text.
    pub(super) chars: Range<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Year {
    Full(i16),
    /// Two digits.
    Short(i16),
}

impl PrintedDate {
    /// Whether the year is printed with four digits.
    pub(super) fn has_full_year(&self) -> bool {
        matches!(self.year, Year::Full(_))
    }

    /// The date in its role. A year of two digits belongs to the only century that is plausible; `None` if none or
    /// two are. A year of four digits is used as printed unless a birth would be in the future.
    pub(super) fn in_century(&self, role: DateRole, today: Date) -> Option<PartialDate> {
        let years = match self.year {
            Year::Full(year) => vec![year],
            Year::Short(short) => vec![1900 + short, 2000 + short],
        };
        let mut plausible = years
            .into_iter()
            .filter_map(|year| PartialDate::new(year, self.month, self.day))
            .filter(|date| self.is_plausible(date, role, today));
        let date = plausible.next()?;
        plausible.next().is_none().then_some(date)
    }

    fn is_plausible(&self, date: &PartialDate, role: DateRole, today: Date) -> bool {
        let Some(first_day) =
            PartialDate::from_ymd(date.year(), date.month().unwrap_or(1), date.day().unwrap_or(1))
                .and_then(|date| date.to_date())
        else {
            return false;
        };
        let is_short = !self.has_full_year();
        match role {
            DateRole::Birth { ages, by } => {
                let age = by.year()
                    - first_day.year()
                    - i16::from((by.month(), by.day()) < (first_day.month(), first_day.day()));
                first_day <= today && first_day <= by && (!is_short || (ages.0..=ages.1).contains(&age))
            }
            // Documents of before 1970 are no longer shown, and few are valid for more than 50 years.
            DateRole::Issue => first_day <= today && (!is_short || date.year() >= 1970),
            DateRole::Expiry => !is_short || (1980..=today.year() + 50).contains(&date.year()),
        }
    }

    /// Whether two dates are printed with the same parts.
    pub(super) fn is_same_print(&self, other: &Self) -> bool {
        (self.year, self.month, self.day) == (other.year, other.month, other.day)
    }

    /// Whether the date can be another reading of the same print as `date`: its day, month and year of the century
    /// are equal.
    pub(super) fn can_be(&self, date: &PartialDate) -> bool {
        let year = match self.year {
            Year::Full(year) => year == date.year(),
            Year::Short(short) => date.year().rem_euclid(100) == short,
        };
        year && self.month == date.month() && self.day == date.day()
    }
}

/// Finds all dates in a text, in order.
pub(super) fn find_dates(text: &str, order: DateOrder) -> Vec<PrintedDate> {
    let tokens = tokens(text);
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let mut read = date_at(&tokens[at..], order);
        // In `3. 12.08.64` a field number comes before the date, and `3.12.08` is none. Where both are dates and the
        // number is not that of a birth, the text is ambiguous.
        if let Some((date, 3)) = &read
            && !date.has_full_year()
            && let Some((later, used)) = date_at(&tokens[at + 1..], order)
            && tokens[at + 1..].first().is_some_and(Token::is_short_number)
        {
            read = if tokens[at].is_number(3) {
                Some((later, used + 1))
            } else {
                at += used + 1;
                continue;
            };
        }
        match read {
            Some((date, used)) => {
                found.push(date);
                at += used;
            }
            None => at += 1,
        }
    }
    found
}

/// A run of digits or of letters, with its characters in the text.
#[derive(Debug, Clone, PartialEq)]
struct Token {
    kind: TokenKind,
    chars: Range<usize>,
}

#[derive(Debug, Clone, PartialEq)]
enum TokenKind {
    Number { value: u32, digits: usize },
    Word(String),
}

impl Token {
    fn is_number(&self, number: u32) -> bool {
        matches!(self.kind, TokenKind::Number { value, digits: 1 } if value == number)
    }

    fn is_short_number(&self) -> bool {
        matches!(self.kind, TokenKind::Number { digits: 1 | 2, .. })
    }
}

fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut run: Option<(String, Range<usize>, bool)> = None;
    let mut flush = |run: Option<(String, Range<usize>, bool)>| {
        let Some((word, chars, _)) = run else { return };
        let digits = word.len();
        let kind = match word.parse() {
            Ok(value) if digits <= 8 && word.bytes().all(|b| b.is_ascii_digit()) => {
                TokenKind::Number { value, digits }
            }
            _ => TokenKind::Word(word),
        };
        tokens.push(Token { kind, chars });
    };
    for (at, c) in text.chars().enumerate() {
        // The signs after year, month and day in Chinese, Japanese and Korean separate like full stops.
        let folded = if matches!(c, '年' | '月' | '日' | '년' | '월' | '일') {
            ""
        } else {
            any_ascii::any_ascii_char(c)
        };
        let letters: String = folded
            .chars()
            .filter(char::is_ascii_alphanumeric)
            .map(|c| c.to_ascii_uppercase())
            .collect();
        if letters.is_empty() {
            flush(run.take());
            continue;
        }
        let is_digit = letters.bytes().all(|b| b.is_ascii_digit());
        match &mut run {
            Some((word, chars, digits)) if *digits == is_digit => {
                word.push_str(&letters);
                chars.end = at + 1;
            }
            _ => {
                flush(run.take());
                run = Some((letters, at..at + 1, is_digit));
            }
        }
    }
    flush(run);
    tokens
}

/// Parses a date from the first tokens. Also returns the number of tokens that it uses.
fn date_at(tokens: &[Token], order: DateOrder) -> Option<(PrintedDate, usize)> {
    let chars = |used: usize| Some(tokens.first()?.chars.start..tokens.get(used - 1)?.chars.end);
    let date = |year: Year, month: u32, day: u32, used: usize| {
        let (month, day) = (u8::try_from(month).ok()?, u8::try_from(day).ok()?);
        let probe = match year {
            Year::Full(year) => year,
            // Both 1900 and 2000 must have the day: 29 February of 00 exists in 2000 only.
            Year::Short(short) => 2000 + short,
        };
        PartialDate::from_ymd(probe, month, day)?;
        let date = PrintedDate {
            year,
            month: Some(month),
            day: Some(day),
            chars: chars(used)?,
        };
        Some((date, used))
    };
    let number = |at: usize| match tokens.get(at)?.kind {
        TokenKind::Number { value, digits } => Some((value, digits)),
        TokenKind::Word(_) => None,
    };
    let word = |at: usize| match &tokens.get(at)?.kind {
        TokenKind::Word(word) => Some(word.as_str()),
        TokenKind::Number { .. } => None,
    };
    // The month is one word, or the same month in two languages. Returns the index after it.
    let month_words = |at: usize| -> Option<(u32, usize)> {
        // Examples: `12 de agosto de 1974`, `12 of August 1974`.
        let skip =
            |at: usize| at + usize::from(word(at).is_some_and(|word| matches!(word, "DE" | "OF" | "D")));
        let at = skip(at);
        let (first, second) = (months(word(at)?), word(at + 1).map(months).unwrap_or_default());
        let both = if first == 0 || second == 0 {
            first | second
        } else {
            first & second
        };
        let is_two_words = word(at + 1).is_some_and(|word| !matches!(word, "DE" | "OF" | "D"));
        (both.count_ones() == 1).then(|| {
            (
                both.trailing_zeros() + 1,
                skip(at + 1 + usize::from(is_two_words)),
            )
        })
    };
    // Examples: `AUG 12, 1974`.
    if let Some((month, at)) = month_words(0) {
        let (day, day_digits) = number(at)?;
        let (year, digits) = number(at + 1)?;
        return (day_digits <= 2 && digits == 4)
            .then(|| date(full_year(year, digits)?, month, day, at + 2))
            .flatten();
    }
    let (first, digits) = number(0)?;
    if digits == 8 {
        return compact(first, order).map(|(year, month, day)| date(Year::Full(year), month, day, 1))?;
    }
    // Examples: `12 AUG 1974`, `12 AUG/AOUT 74`.
    if digits <= 2
        && let Some((month, at)) = month_words(1)
    {
        let (year, year_digits) = number(at)?;
        return date(full_year(year, year_digits)?, month, first, at + 1);
    }
    let ((second, second_digits), (third, third_digits)) = (number(1)?, number(2)?);
    // In `3. 12.08.1990`, a field's number comes before the date.
    let longer_year_follows = matches!(number(3), Some((_, 4)));
    if second_digits > 2 || (third_digits == 2 && longer_year_follows) {
        return None;
    }
    if digits == 4 {
        return (third_digits <= 2)
            .then(|| date(full_year(first, 4)?, second, third, 3))
            .flatten();
    }
    if digits > 2 {
        return None;
    }
    let year = full_year(third, third_digits)?;
    let (day_first, month_first) = (date(year, second, first, 3), date(year, first, second, 3));
    match order {
        DateOrder::DayFirst => day_first.or(month_first),
        DateOrder::MonthFirst => month_first.or(day_first),
    }
}

/// Parses a date without separators: `19740812`, `12081974`, `08121974`. Returns year, month and day.
fn compact(value: u32, order: DateOrder) -> Option<(i16, u32, u32)> {
    let part = |divisor: u32, modulus: u32| value / divisor % modulus;
    let date = |year: u32, month: u32, day: u32| {
        let Year::Full(full) = full_year(year, 4)? else {
            return None;
        };
        PartialDate::from_ymd(full, u8::try_from(month).ok()?, u8::try_from(day).ok()?)?;
        Some((full, month, day))
    };
    let year_first = date(part(10_000, 10_000), part(100, 100), part(1, 100));
    let day_first = date(part(1, 10_000), part(10_000, 100), part(1_000_000, 100));
    let month_first = date(part(1, 10_000), part(1_000_000, 100), part(10_000, 100));
    match order {
        DateOrder::DayFirst => year_first.or(day_first).or(month_first),
        DateOrder::MonthFirst => year_first.or(month_first).or(day_first),
    }
}

/// The months that a word may name, as bits: January is bit 0. In falling order of certainty, a word is a name, the
/// beginning of names, or a name of six letters or more with one misread letter.
fn months(word: &str) -> u16 {
    let matching = |matches: &dyn Fn(&str) -> bool| {
        MONTHS
            .iter()
            .enumerate()
            .filter(|(_, names)| names.iter().any(|name| matches(name)))
            .fold(0, |bits, (month, _)| bits | 1 << month)
    };
    if word.len() < 3 {
        return 0;
    }
    let exact = matching(&|name| name == word);
    if exact != 0 {
        return exact;
    }
    let beginning = matching(&|name| name.starts_with(word));
    if beginning != 0 || word.len() < 6 {
        return beginning;
    }
    matching(&|name| name.len() >= 6 && edit_distance(name, word, 1).is_some())
}

fn full_year(value: u32, digits: usize) -> Option<Year> {
    let value = i16::try_from(value).ok()?;
    match digits {
        4 => (1900..2100).contains(&value).then_some(Year::Full(value)),
        2 => Some(Year::Short(value)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn written(date: &PrintedDate) -> String {
        match date.year {
            Year::Full(year) => PartialDate::new(year, date.month, date.day).unwrap().to_string(),
            Year::Short(short) => format!(
                "{short:02}-{:02}-{:02}",
                date.month.unwrap_or_default(),
                date.day.unwrap_or_default()
            ),
        }
    }

    #[test]
    fn printed_dates_are_read() {
        use DateOrder::{DayFirst, MonthFirst};
        let rows: &[(&str, DateOrder, &[&str])] = &[
            ("12.08.1974", DayFirst, &["1974-08-12"]),
            ("12.08.1974.", DayFirst, &["1974-08-12"]),
            ("12 08 1974", DayFirst, &["1974-08-12"]),
            ("12/08/1974", MonthFirst, &["1974-12-08"]),
            ("08/25/1974", DayFirst, &["1974-08-25"]),
            ("1974-08-12", MonthFirst, &["1974-08-12"]),
            ("1974. 08. 12.", DayFirst, &["1974-08-12"]),
            ("1974年8月12日", DayFirst, &["1974-08-12"]),
            ("١٢/٠٨/١٩٧٤", DayFirst, &["1974-08-12"]),
            ("12 AUG/AOÛT 1974", DayFirst, &["1974-08-12"]),
            ("12 AUG 74", DayFirst, &["74-08-12"]),
            ("12 AUG/AOUT 74", DayFirst, &["74-08-12"]),
            ("12AUG1974", DayFirst, &["1974-08-12"]),
            ("AUG 12, 1974", MonthFirst, &["1974-08-12"]),
            ("12 de agosto de 1974", DayFirst, &["1974-08-12"]),
            ("04 JUIL 2012", DayFirst, &["2012-07-04"]),
            ("12 AUGUSI 1974", DayFirst, &["1974-08-12"]),
            ("12 АВГ 1974", DayFirst, &["1974-08-12"]),
            ("12 ΑΥΓ 1974", DayFirst, &["1974-08-12"]),
            ("1 srpnja 1974", DayFirst, &["1974-07-01"]),
            ("1 srpna 1974", DayFirst, &["1974-08-01"]),
            // October in Croatian and November in Polish: only the second language decides.
            ("12 LIS 2016", DayFirst, &[]),
            ("12 LIS/NOV 2016", DayFirst, &["2016-11-12"]),
            ("12 MAR/APR 2016", DayFirst, &[]),
            ("3. 12.08.1990 PRAHA", DayFirst, &["1990-08-12"]),
            ("3. 12.08.64", DayFirst, &["64-08-12"]),
            ("3.12.08.64 LONDON", DayFirst, &["64-08-12"]),
            ("5. 12.08.11", DayFirst, &[]),
            (
                "4a ISS 01/02/2020 4b EXP 01/02/2028",
                MonthFirst,
                &["2020-01-02", "2028-01-02"],
            ),
            ("10 DEC/DEC 11 10 DEC/DEC 16", DayFirst, &["11-12-10", "16-12-10"]),
            ("19740812", DayFirst, &["1974-08-12"]),
            ("31.02.1974", DayFirst, &[]),
            ("12.08.197", DayFirst, &[]),
            ("AB-345/67, 27.09.2007.", DayFirst, &["2007-09-27"]),
            ("no date 12 34", DayFirst, &[]),
        ];
        for (text, order, expected) in rows {
            let found: Vec<String> = find_dates(text, *order).iter().map(written).collect();
            assert_eq!(found, *expected, "{text}");
        }
    }

    #[test]
    fn short_years_belong_to_the_only_plausible_century() {
        let today = Date::constant(2026, 11, 27);
        let birth = |ages, by| DateRole::Birth { ages, by };
        let (licence, any) = ((14, 99), (0, 99));
        let rows = [
            ("12.08.64", birth(licence, today), Some("1964-08-12")),
            ("12.08.08", birth(licence, today), Some("2008-08-12")),
            ("12.08.08", birth(any, today), Some("2008-08-12")),
            // A holder of 6 or of 106 years has no licence.
            ("12.08.20", birth(licence, today), None),
            ("12.08.20", birth(any, today), Some("2020-08-12")),
            // In 2010, the holder was 1 or 101 years old, in 2004 only 95.
            (
                "12.08.09",
                birth(any, Date::constant(2010, 9, 1)),
                Some("2009-08-12"),
            ),
            (
                "12.08.09",
                birth(any, Date::constant(2004, 9, 1)),
                Some("1909-08-12"),
            ),
            // A child of a year, or a holder of 99: two centuries remain.
            ("12.08.25", birth((0, 110), today), None),
            ("12.08.30", DateRole::Issue, None),
            ("12.08.20", DateRole::Issue, Some("2020-08-12")),
            ("12.08.98", DateRole::Issue, Some("1998-08-12")),
            ("12.08.34", DateRole::Expiry, Some("2034-08-12")),
            ("12.08.99", DateRole::Expiry, Some("1999-08-12")),
            ("12.08.2027", birth(any, today), None),
            ("12.08.1914", birth(any, today), Some("1914-08-12")),
        ];
        for (text, role, expected) in rows {
            let dates = find_dates(text, DateOrder::DayFirst);
            let date = dates[0].in_century(role, today).map(|date| date.to_string());
            assert_eq!(date.as_deref(), expected, "{text} {role:?}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in "\\PC{0,40}") {
            for date in find_dates(&text, DateOrder::DayFirst) {
                prop_assert!(date.chars.end <= text.chars().count());
                let _ = date.in_century(DateRole::Expiry, Date::constant(2026, 1, 1));
            }
        }
    }
}
