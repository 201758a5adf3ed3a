//! Finds dates in the forms that documents print: `12.08.1974`, `12 AUG/AOÛT 74`, `1974-08-12`, `08/12/1974`.
//!
//! A year of two digits is completed only by [`PrintedDate::in_century`] and the date's role. This module never decides
//! which date is the holder's birth, never guesses a month that has two meanings, and never takes a part of a longer
//! number or word for a date.

use std::ops::Range;

use jiff::civil::Date;

use crate::reading::PartialDate;

use super::date_tokens::{Gap, Sign, Token, tokens};
use super::months::MONTHS;
use super::text::edit_distance;

/// The order of day and month where both are possible.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DateOrder {
    /// Day first, as everywhere except in the United States.
    DayFirst,
    /// Month first. Only obliques and hyphens divide such dates.
    MonthFirst,
    /// Nothing proves the order. Full stops and blanks divide only dates that begin with the day.
    Unproven,
}

/// The role of a date, which bounds its year.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DateRole {
    /// Date of birth of a holder who had an age when the document was issued.
    Birth {
        /// The least age, in years.
        least_age: i16,
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
    /// The order that the print proves, because only one is possible.
    pub(super) proves: Option<DateOrder>,
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

    /// The date in its role. A year of two digits belongs to the only century that is possible; `None` if none or two
    /// are. A year of four digits is used as printed unless it is impossible.
    pub(super) fn in_century(&self, role: DateRole, today: Date) -> Option<PartialDate> {
        let years = match self.year {
            Year::Full(year) => vec![year],
            Year::Short(short) => vec![1900 + short, 2000 + short],
        };
        let mut possible = years
            .into_iter()
            .filter_map(|year| PartialDate::new(year, self.month, self.day))
            .filter_map(|date| Some((date, first_day(&date)?)))
            .filter(|(_, day)| self.is_possible(*day, role, today));
        let (date, day) = possible.next()?;
        let is_old_enough = match role {
            DateRole::Birth { least_age, by } => age(day, by) >= least_age || self.has_full_year(),
            _ => true,
        };
        (possible.next().is_none() && is_old_enough).then_some(date)
    }

    fn is_possible(&self, day: Date, role: DateRole, today: Date) -> bool {
        /// Hardly any holder of a document is older.
        const MOST_AGE: i16 = 115;
        let is_short = !self.has_full_year();
        match role {
            DateRole::Birth { by, .. } => {
                day <= today && day <= by && (!is_short || (0..=MOST_AGE).contains(&age(day, by)))
            }
            // Documents of before 1970 are no longer shown, and few are valid for more than 50 years.
            DateRole::Issue => day <= today && (!is_short || day.year() >= 1970),
            DateRole::Expiry => (1980..=today.year() + 50).contains(&day.year()),
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

/// The first day that a date may be.
fn first_day(date: &PartialDate) -> Option<Date> {
    PartialDate::from_ymd(date.year(), date.month().unwrap_or(1), date.day().unwrap_or(1))?.to_date()
}

/// The age in years on a day.
fn age(birth: Date, on: Date) -> i16 {
    on.year() - birth.year() - i16::from((on.month(), on.day()) < (birth.month(), birth.day()))
}

/// Whether dates without separators, such as `12081974`, are found. Numbers of documents resemble them, so they are
/// dates only beside a date's label.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Compact {
    /// They are dates.
    Dates,
    /// They are numbers.
    Numbers,
}

/// Words of the eras by which Japan and Taiwan count years. A line with one has no other date.
const ERAS: [&str; 7] = ["明治", "大正", "昭和", "平成", "令和", "民國", "民国"];

/// Finds all dates in a text, in order.
pub(super) fn find_dates(text: &str, order: DateOrder, compact: Compact) -> Vec<PrintedDate> {
    if ERAS.iter().any(|era| text.contains(era)) {
        return Vec::new();
    }
    let tokens = tokens(text);
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let (date, used) = match numbered_date(&tokens, at, order) {
            Numbered::Date(date) => (Some(date), 4),
            Numbered::Unclear => (None, 4),
            Numbered::No => match date_at(&tokens, at, order, compact) {
                Parsed::Date(date, used) => (Some(date), used),
                Parsed::Refused(used) => (None, used),
                Parsed::None => (None, 1),
            },
        };
        found.extend(date);
        at += used;
    }
    found
}

/// What four numbers are of which the last three are a date.
enum Numbered {
    /// A field's number before a date.
    Date(PrintedDate),
    /// The first three may be a date as well.
    Unclear,
    /// No such numbers, or a date before another number.
    No,
}

/// In `3. 12.08.64` a field's number comes before the date, and `3.12.08` is none. The signs between the numbers decide,
/// then the field number of a birth.
fn numbered_date(tokens: &[Token], at: usize, order: DateOrder) -> Numbered {
    let numbers: Option<Vec<(u32, usize)>> = tokens
        .get(at..at + 4)
        .and_then(|four| four.iter().map(Token::number).collect());
    let Some([first @ (_, 1 | 2), (_, 1 | 2), (_, 1 | 2), _]) = numbers.as_deref() else {
        return Numbered::No;
    };
    let Parsed::Date(later, 3) = date_at(tokens, at + 1, order, Compact::Numbers) else {
        return Numbered::No;
    };
    let is_even = |at: usize| tokens[at + 1].gap == tokens[at + 2].gap;
    let is_date = || matches!(date_at(tokens, at, order, Compact::Numbers), Parsed::Date(..));
    match (is_even(at), is_even(at + 1)) {
        (true, false) => Numbered::No,
        _ if *first == (3, 1) => Numbered::Date(later),
        (false, true) if first.1 == 1 && later.has_full_year() => Numbered::Date(later),
        _ if is_date() => Numbered::Unclear,
        _ => Numbered::No,
    }
}

/// The result of parsing at a token, with the number of tokens used.
enum Parsed {
    Date(PrintedDate, usize),
    /// The form of a date, but part of a longer word or number, or of two meanings.
    Refused(usize),
    None,
}

/// Parses a date at a token.
fn date_at(tokens: &[Token], at: usize, order: DateOrder, compact: Compact) -> Parsed {
    let rest = &tokens[at..];
    let parsed = in_words(rest)
        .or_else(|| in_figures(rest, order))
        .or_else(|| without_separators(rest, order).filter(|_| compact == Compact::Dates));
    match parsed {
        Some((Some(date), used)) if is_alone(tokens, at, used, date.has_full_year()) => {
            Parsed::Date(date, used)
        }
        Some((_, used)) => Parsed::Refused(used),
        None => Parsed::None,
    }
}

/// Whether the sign between tokens also joins them with a number before or after them, as in `99.12.08.11`.
pub(super) fn is_part_of_number(tokens: &[Token], at: usize, used: usize) -> bool {
    let sign = tokens[at + used - 1].gap.sign;
    let joins = |gap: Gap, other: &Token| gap.joins(sign) && other.number().is_some();
    let before = at
        .checked_sub(1)
        .is_some_and(|before| joins(tokens[at].gap, &tokens[before]));
    before || tokens.get(at + used).is_some_and(|after| joins(after.gap, after))
}

/// Whether tokens are no part of a longer word or number. A field's number may come before a date.
fn is_alone(tokens: &[Token], at: usize, used: usize, has_full_year: bool) -> bool {
    let (first, after) = (&tokens[at], tokens.get(at + used));
    let sign = tokens
        .get(at + used - 1)
        .filter(|_| used > 1)
        .map(|last| last.gap.sign);
    // `99.12.08.11` and `AB-12-08-74` are numbers; in `4a.12.08.2014` the word numbers a field.
    let joins = |gap: Gap, other: &Token| {
        sign.is_some_and(|sign| gap.joins(sign) && (other.number().is_some() || sign != Sign::Stop))
    };
    let before = at.checked_sub(1).map(|before| &tokens[before]);
    let starts = match before {
        None => true,
        Some(word) if first.gap.sign == Sign::Nothing => {
            // `4b01.02.2029`
            let is_letter = word.word().is_some_and(|word| matches!(word, "A" | "B"));
            let is_field = at >= 2 && tokens[at - 2].number() == Some((4, 1));
            is_letter && is_field && word.gap.sign == Sign::Nothing
        }
        Some(other) => other.number() == Some((3, 1)) || !joins(first.gap, other),
    };
    let ends = match after {
        None => true,
        // The abbreviation of *year* in Bulgarian, Russian and Ukrainian.
        Some(word) if word.gap.sign == Sign::Nothing => {
            has_full_year && word.word().is_some_and(|word| matches!(word, "G" | "R"))
        }
        Some(other) => !joins(other.gap, other),
    };
    starts && ends
}

/// A date of known parts, or `None` if no century has it.
fn date(tokens: &[Token], year: Year, [month, day]: [u32; 2], used: usize) -> Option<PrintedDate> {
    let (month, day) = (u8::try_from(month).ok()?, u8::try_from(day).ok()?);
    let probe = match year {
        Year::Full(year) => year,
        // 29 February of 00 exists in 2000 only, not in 1900.
        Year::Short(short) => 2000 + short,
    };
    PartialDate::from_ymd(probe, month, day)?;
    Some(PrintedDate {
        year,
        month: Some(month),
        day: Some(day),
        proves: None,
        chars: tokens.first()?.chars.start..tokens.get(used - 1)?.chars.end,
    })
}

/// Parses a date whose month is a word: `12 AUG 1974`, `12 AUG/AOUT 74`, `AUG 12, 1974`.
fn in_words(tokens: &[Token]) -> Option<(Option<PrintedDate>, usize)> {
    let number = |at: usize| tokens.get(at)?.number();
    if let Some((month, at)) = month_at(tokens, 0) {
        let (day, day_digits) = number(at)?;
        let (year, digits) = number(at + 1)?;
        let found = (day_digits <= 2 && digits == 4)
            .then(|| date(tokens, full_year(year, digits)?, [month, day], at + 2))??;
        return Some((Some(found), at + 2));
    }
    let (day, digits) = number(0)?;
    let (month, at) = month_at(tokens, 1).filter(|_| digits <= 2)?;
    let (year, year_digits) = number(at)?;
    let found = date(tokens, full_year(year, year_digits)?, [month, day], at + 1)?;
    Some((Some(found), at + 1))
}

/// The month at a token: one word, or the same month in two languages. Returns the index after it.
fn month_at(tokens: &[Token], at: usize) -> Option<(u32, usize)> {
    let word = |at: usize| tokens.get(at)?.word();
    // Examples: `12 de agosto de 1974`, `12 of August 1974`.
    let is_particle = |word: &str| matches!(word, "DE" | "OF" | "D");
    let skip = |at: usize| at + usize::from(word(at).is_some_and(is_particle));
    let at = skip(at);
    let (first, second) = (months(word(at)?), word(at + 1).map(months).unwrap_or_default());
    let both = if first == 0 || second == 0 {
        first | second
    } else {
        first & second
    };
    let is_two_words = word(at + 1).is_some_and(|word| !is_particle(word));
    (both.count_ones() == 1).then(|| {
        (
            both.trailing_zeros() + 1,
            skip(at + 1 + usize::from(is_two_words)),
        )
    })
}

/// Parses a date in figures: `12.08.1974`, `1974-08-12`, `1974年8月12日`. The date is `None` if its meaning is open.
fn in_figures(tokens: &[Token], order: DateOrder) -> Option<(Option<PrintedDate>, usize)> {
    let [a, b, c, ..] = tokens else { return None };
    let [(first, digits), (second, second_digits), (third, third_digits)] =
        [a.number()?, b.number()?, c.number()?];
    let signs = (b.gap.sign, c.gap.sign);
    if signs.0 == Sign::Year {
        // A year of fewer digits counts from the beginning of an era.
        let is_full = digits == 4 && signs.1 == Sign::Month;
        let found = is_full.then(|| date(tokens, full_year(first, 4)?, [second, third], 3));
        return Some((found.flatten(), 3));
    }
    let has_full_year = digits == 4 || third_digits == 4;
    let is_divided = signs.0.divides_date() && signs.1.divides_date();
    // Recognition may lose one sign of a date.
    let is_even = signs.0 == signs.1 || has_full_year && (signs.0 == Sign::Blank || signs.1 == Sign::Blank);
    if !is_divided || !is_even || second_digits > 2 {
        return None;
    }
    if digits == 4 {
        let found = (third_digits <= 2).then(|| date(tokens, full_year(first, 4)?, [second, third], 3))??;
        return Some((Some(found), 3));
    }
    if digits > 2 {
        return None;
    }
    let year = full_year(third, third_digits)?;
    let with_proof = |found: Option<PrintedDate>, order| {
        found.map(|date| PrintedDate {
            proves: Some(order),
            ..date
        })
    };
    let day_first = date(tokens, year, [second, first], 3);
    let month_first = date(tokens, year, [first, second], 3);
    let found = match (day_first, month_first) {
        (None, None) => return None,
        (found, None) => with_proof(found, DateOrder::DayFirst),
        (None, found) => with_proof(found, DateOrder::MonthFirst),
        (found, Some(_)) if first == second => found,
        (day_first, month_first) => {
            let is_neutral = [signs.0, signs.1]
                .iter()
                .any(|sign| matches!(sign, Sign::Slash | Sign::Hyphen));
            match order {
                DateOrder::DayFirst => day_first,
                DateOrder::MonthFirst => month_first.filter(|_| is_neutral),
                DateOrder::Unproven => day_first.filter(|_| !is_neutral),
            }
        }
    };
    Some((found, 3))
}

/// Parses a date without separators: `19740812`, `12081974`. It is `None` if several orders are possible.
fn without_separators(tokens: &[Token], order: DateOrder) -> Option<(Option<PrintedDate>, usize)> {
    let (value, digits) = tokens.first()?.number()?;
    if digits != 8 {
        return None;
    }
    let part = |divisor: u32, modulus: u32| value / divisor % modulus;
    let with = |year: u32, parts: [u32; 2]| date(tokens, full_year(year, 4)?, parts, 1);
    let year_first = with(part(10_000, 10_000), [part(100, 100), part(1, 100)]);
    let day_first = with(part(1, 10_000), [part(10_000, 100), part(1_000_000, 100)]);
    let month_first = with(part(1, 10_000), [part(1_000_000, 100), part(10_000, 100)]);
    let year_last = match (day_first, month_first) {
        (Some(day_first), Some(month_first)) if !day_first.is_same_print(&month_first) => match order {
            DateOrder::DayFirst => Some(day_first),
            DateOrder::MonthFirst => Some(month_first),
            DateOrder::Unproven => None,
        },
        (day_first, month_first) => day_first.or(month_first),
    };
    match (year_first, year_last) {
        (Some(_), Some(_)) => Some((None, 1)),
        (found, other) => found.or(other).map(|date| (Some(date), 1)),
    }
}

/// The months that a word may name, as bits: January is bit 0. In falling order of certainty, a word is a name, the
/// beginning of names, or a name of six letters or more with one misread letter.
pub(super) fn months(word: &str) -> u16 {
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
        use DateOrder::{DayFirst, MonthFirst, Unproven};
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
            ("12081974", DayFirst, &["1974-08-12"]),
            ("12081974", Unproven, &[]),
            ("31081974", Unproven, &["1974-08-31"]),
            ("A12081974", DayFirst, &[]),
            ("AB-12-08-74", DayFirst, &[]),
            ("04/08/1977", Unproven, &[]),
            ("04/08/1977", MonthFirst, &["1977-04-08"]),
            ("04.08.1977", MonthFirst, &[]),
            ("04.08.1977", Unproven, &["1977-08-04"]),
            ("08/08/1977", Unproven, &["1977-08-08"]),
            ("31/08/1977", Unproven, &["1977-08-31"]),
            ("31.02.1974", DayFirst, &[]),
            ("12.08.197", DayFirst, &[]),
            ("AB-345/67, 27.09.2007.", DayFirst, &["2007-09-27"]),
            // Two dates.
            ("1974-08-12 2032-04-15", DayFirst, &["1974-08-12", "2032-04-15"]),
            ("1974 08 12 2032 04 15", DayFirst, &["1974-08-12", "2032-04-15"]),
            ("12.08.1974 15.04.2032", DayFirst, &["1974-08-12", "2032-04-15"]),
            ("12.08.74 2032-04-15", DayFirst, &["74-08-12", "2032-04-15"]),
            ("12.08.14-12.08.24", DayFirst, &["14-08-12", "24-08-12"]),
            ("12 08 74 15 04 32", DayFirst, &["74-08-12", "32-04-15"]),
            ("10 11 12 13 01 22", DayFirst, &[]),
            ("12 AUG 1974 15 APR 2032", DayFirst, &["1974-08-12", "2032-04-15"]),
            ("01.02.03 2004-05-06", DayFirst, &["03-02-01", "2004-05-06"]),
            // Letters and digits that touch a date, and parts of longer numbers.
            ("l2.08.1974", DayFirst, &[]),
            ("l2.08.11 12", DayFirst, &[]),
            ("12.08.l974", DayFirst, &[]),
            ("A12.08.1974", DayFirst, &[]),
            ("12.08.1974B", DayFirst, &[]),
            ("99.12.08.11", DayFirst, &[]),
            ("12.08.1974.5", DayFirst, &[]),
            // Years of eras, and years without a century.
            ("平成31年04月01日", DayFirst, &[]),
            ("31年04月01日", DayFirst, &[]),
            ("令和 06.12.08", DayFirst, &[]),
            ("no date 12 34", DayFirst, &[]),
        ];
        for (text, order, expected) in rows {
            let found: Vec<String> = find_dates(text, *order, Compact::Dates)
                .iter()
                .map(written)
                .collect();
            assert_eq!(found, *expected, "{text}");
        }
    }

    #[test]
    fn short_years_belong_to_the_only_plausible_century() {
        let today = Date::constant(2026, 11, 27);
        let birth = |least_age, by| DateRole::Birth { least_age, by };
        let (licence, any) = (14, 0);
        let rows = [
            ("12.08.64", birth(licence, today), Some("1964-08-12")),
            ("12.08.08", birth(licence, today), Some("2008-08-12")),
            ("12.08.08", birth(any, today), Some("2008-08-12")),
            // A child, or a holder of more than 99 years.
            ("12.08.20", birth(licence, today), None),
            ("12.08.20", birth(any, today), None),
            ("12.08.12", birth(any, today), None),
            ("12.08.09", birth(any, Date::constant(2010, 9, 1)), None),
            // In 2004, a holder born in 2009 had no document.
            (
                "12.08.09",
                birth(any, Date::constant(2004, 9, 1)),
                Some("1909-08-12"),
            ),
            ("12.08.2020", birth(any, today), Some("2020-08-12")),
            ("12.08.30", DateRole::Issue, None),
            ("12.08.20", DateRole::Issue, Some("2020-08-12")),
            ("12.08.98", DateRole::Issue, Some("1998-08-12")),
            ("12.08.34", DateRole::Expiry, Some("2034-08-12")),
            ("12.08.99", DateRole::Expiry, Some("1999-08-12")),
            ("12.08.2099", DateRole::Expiry, None),
            ("12.08.1912", birth(any, today), Some("1912-08-12")),
            ("12.08.2027", birth(any, today), None),
            ("12.08.1914", birth(any, today), Some("1914-08-12")),
        ];
        for (text, role, expected) in rows {
            let dates = find_dates(text, DateOrder::DayFirst, Compact::Dates);
            let date = dates[0].in_century(role, today).map(|date| date.to_string());
            assert_eq!(date.as_deref(), expected, "{text} {role:?}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in "\\PC{0,40}") {
            for date in find_dates(&text, DateOrder::Unproven, Compact::Dates) {
                prop_assert!(date.chars.end <= text.chars().count());
                let _ = date.in_century(DateRole::Expiry, Date::constant(2026, 1, 1));
            }
        }
    }
}
