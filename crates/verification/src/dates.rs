//! Parses and formats dates: `MM/DD/YYYY`, and `YYYY-MM-DD` whose month or day may be unknown.

use jiff::civil::Date;

/// Parses `MM/DD/YYYY` with exactly two, two and four digits.
pub fn parse_us(text: &str) -> Option<Date> {
    let [month, day, year] = parts(text, '/')?.try_into().ok()?;
    date(digits(year, 4)?, digits(month, 2)?, digits(day, 2)?)
}

/// Formats as `MM/DD/YYYY`.
pub fn format_us(date: Date) -> String {
    format!("{:02}/{:02}/{:04}", date.month(), date.day(), date.year())
}

/// Formats as `YYYY-MM-DD`.
pub fn format_iso(date: Date) -> String {
    format!("{:04}-{:02}-{:02}", date.year(), date.month(), date.day())
}

/// Parses a complete `YYYY-MM-DD`.
pub fn parse_iso(text: &str) -> Option<Date> {
    let [year, month, day] = parts(text, '-')?.try_into().ok()?;
    date(digits(year, 4)?, digits(month, 2)?, digits(day, 2)?)
}

/// The first and the last day that `YYYY`, `YYYY-MM` or `YYYY-MM-DD` can mean.
pub fn iso_range(text: &str) -> Option<(Date, Date)> {
    match parts(text, '-')?.as_slice() {
        [year] => {
            let year = digits(year, 4)?;
            Some((date(year, 1, 1)?, date(year, 12, 31)?))
        }
        [year, month] => {
            let first = date(digits(year, 4)?, digits(month, 2)?, 1)?;
            Some((first, first.last_of_month()))
        }
        [_, _, _] => parse_iso(text).map(|day| (day, day)),
        _ => None,
    }
}

/// Whether the last day that `YYYY`, `YYYY-MM` or `YYYY-MM-DD` can mean is before a day; `None` for other texts.
pub fn is_past(text: &str, day: Date) -> Option<bool> {
    iso_range(text).map(|(_, last)| last < day)
}

/// Age in whole years on a day. In common years, a person born on 29 February turns older on 1 March.
pub fn age_on(day: Date, birth: Date) -> i64 {
    let had_birthday = (day.month(), day.day()) >= (birth.month(), birth.day());
    i64::from(day.year()) - i64::from(birth.year()) - i64::from(!had_birthday)
}

fn parts(text: &str, separator: char) -> Option<Vec<&str>> {
    let parts: Vec<_> = text.splitn(4, separator).collect();
    (parts.len() <= 3).then_some(parts)
}

fn digits(text: &str, width: usize) -> Option<i16> {
    (text.len() == width && text.bytes().all(|b| b.is_ascii_digit())).then(|| text.parse().ok())?
}

fn date(year: i16, month: i16, day: i16) -> Option<Date> {
    (year > 0).then_some(())?;
    Date::new(year, i8::try_from(month).ok()?, i8::try_from(day).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use jiff::civil::date as day;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn reads_and_writes() {
        assert_eq!(parse_us("02/29/2024"), Some(day(2024, 2, 29)));
        assert_eq!(format_us(day(2024, 2, 9)), "02/09/2024");
        assert_eq!(format_iso(day(2024, 2, 9)), "2024-02-09");
        for wrong in [
            "",
            "2/9/2024",
            "02/30/2024",
            "13/01/2024",
            "2024-02-09",
            "02/09/24",
            "02/09/2024/",
            "02/09/0000",
            "+2/09/2024",
            "٠٢/09/2024",
        ] {
            assert_eq!(parse_us(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn ranges_and_ages() {
        assert_eq!(iso_range("2024"), Some((day(2024, 1, 1), day(2024, 12, 31))));
        assert_eq!(iso_range("2024-02"), Some((day(2024, 2, 1), day(2024, 2, 29))));
        assert_eq!(
            iso_range("2024-02-29"),
            Some((day(2024, 2, 29), day(2024, 2, 29)))
        );
        assert_eq!(iso_range("2023-02-29"), None);
        assert_eq!(age_on(day(2026, 11, 21), day(2008, 11, 21)), 18);
        assert_eq!(age_on(day(2026, 11, 20), day(2008, 11, 21)), 17);
        assert_eq!(age_on(day(2026, 2, 28), day(2008, 2, 29)), 17);
        assert_eq!(age_on(day(2026, 3, 1), day(2008, 2, 29)), 18);
        assert_eq!(age_on(day(2007, 11, 21), day(2008, 11, 21)), -1);
    }

    proptest! {
        #[test]
        fn any_text_is_answered(text in "\\PC*") {
            let _ = (parse_us(&text), parse_iso(&text), iso_range(&text));
        }
    }
}
