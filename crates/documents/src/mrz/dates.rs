//! Parses six digits into a date. Dates of birth are in the past; dates of expiry are near today, before or
//! after it.

use jiff::civil::Date;

use crate::reading::PartialDate;

/// Parses year of the century, month and day; a month or day of `<<` is unknown (ICAO 9303-3 §4.8). Returns
/// `None` if a part is neither digits nor unknown, or if the year is unknown.
fn parts(text: &[char]) -> Option<(i16, Option<u8>, Option<u8>)> {
    let part = |pair: &[char]| -> Option<Option<u8>> {
        match pair {
            ['<', '<'] => Some(None),
            [tens, ones] => {
                let number = tens.to_digit(10)? * 10 + ones.to_digit(10)?;
                Some(u8::try_from(number).ok())
            }
            _ => None,
        }
    };
    let year = part(text.get(0..2)?)??;
    Some((i16::from(year), part(text.get(2..4)?)?, part(text.get(4..6)?)?))
}

/// Parses a date of birth: the latest possible date that is not after `today`.
pub(super) fn birth(text: &[char], today: Date) -> Option<PartialDate> {
    past(parts(text)?, today)
}

/// Whether a text is a possible date of birth, or all fillers because none is known.
pub(super) fn may_be_birth(text: &[char], today: Date) -> bool {
    birth(text, today).is_some() || text.iter().all(|&c| c == '<')
}

/// Parses a month of issue from year and month: the latest possible month that does not begin after `today`.
pub(super) fn issue_month(text: &[char], today: Date) -> Option<PartialDate> {
    let text: Vec<char> = text.iter().copied().chain(['<', '<']).collect();
    let parts = parts(&text)?;
    parts.1?;
    past(parts, today)
}

fn past((year, month, day): (i16, Option<u8>, Option<u8>), today: Date) -> Option<PartialDate> {
    let century = today.year() / 100 * 100;
    [century + year, century - 100 + year]
        .into_iter()
        .filter_map(|year| PartialDate::new(year, month, day))
        .find(|date| earliest_day(date).is_some_and(|d| d <= today))
}

/// Parses a date of expiry: the date nearest to `today` whose year is not before the year of birth.
pub(super) fn expiry(text: &[char], birth: Option<PartialDate>, today: Date) -> Option<PartialDate> {
    let (year, month, day) = parts(text)?;
    let century = today.year() / 100 * 100;
    [century - 100, century, century + 100]
        .into_iter()
        .filter_map(|century| PartialDate::new(century + year, month, day))
        .filter(|date| birth.is_none_or(|birth| date.year() >= birth.year()))
        .min_by_key(|date| (date.year() - today.year()).abs())
}

/// The first day that the known parts allow.
fn earliest_day(date: &PartialDate) -> Option<Date> {
    let part = |p: Option<u8>| i8::try_from(p.unwrap_or(1)).ok();
    Date::new(date.year(), part(date.month())?, part(date.day())?).ok()
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;

    #[test]
    fn centuries_differ_for_birth_and_expiry() {
        let today = date(2026, 11, 21);
        let rows: &[(&str, Option<&str>, Option<&str>)] = &[
            // as printed, as a date of birth, as a date of expiry
            ("740812", Some("1974-08-12"), Some("2074-08-12")),
            ("261121", Some("2026-11-21"), Some("2026-11-21")),
            ("261122", Some("1926-11-22"), Some("2026-11-22")),
            ("350101", Some("1935-01-01"), Some("2035-01-01")),
            ("941101", Some("1994-11-01"), Some("1994-11-01")),
            ("74<<<<", Some("1974"), Some("2074")),
            ("7408<<", Some("1974-08"), Some("2074-08")),
            ("740230", None, None),
            ("741301", None, None),
            ("7408<1", None, None),
            ("<<<<<<", None, None),
            ("74O812", None, None),
            ("000229", Some("2000-02-29"), Some("2000-02-29")),
        ];
        for (text, born, expires) in rows {
            let chars: Vec<char> = text.chars().collect();
            let show = |d: Option<PartialDate>| d.map(|d| d.to_string());
            assert_eq!(show(birth(&chars, today)).as_deref(), *born, "{text} as birth");
            assert_eq!(
                show(expiry(&chars, None, today)).as_deref(),
                *expires,
                "{text} as expiry"
            );
        }
    }

    #[test]
    fn nothing_expires_before_its_holder_is_born() {
        let today = date(2026, 11, 21);
        let chars: Vec<char> = "800102".chars().collect();
        let born = |year| PartialDate::from_ymd(year, 10, 10);
        assert_eq!(expiry(&chars, born(1950), today).map(|d| d.year()), Some(1980));
        assert_eq!(expiry(&chars, born(2001), today).map(|d| d.year()), Some(2080));
    }
}
