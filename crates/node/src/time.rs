//! Formats and reads times as the API does.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

/// Milliseconds since 1970 → `2026-11-21T02:38:42.000Z` (contract §2: ISO 8601, UTC, milliseconds).
pub fn iso(ms: i64) -> String {
    let timestamp = Timestamp::from_millisecond(ms).unwrap_or(Timestamp::UNIX_EPOCH);
    format!("{timestamp:.3}")
}

/// Milliseconds since 1970 → `2026-11-21 02:38:42`, as applicant look-up writes it (contract §2.6).
pub fn plain(ms: i64) -> String {
    let timestamp = Timestamp::from_millisecond(ms).unwrap_or(Timestamp::UNIX_EPOCH);
    timestamp.strftime("%Y-%m-%d %H:%M:%S").to_string()
}

/// Milliseconds since 1970 of a date (its beginning in UTC), or of a date and time with an offset; `None`: neither.
pub fn read(text: &str) -> Option<i64> {
    if let Ok(at) = text.parse::<Timestamp>() {
        return Some(at.as_millisecond());
    }
    // `Date` would also read the date of a time without an offset.
    let date = Some(text).filter(|text| text.len() == "2026-11-21".len())?;
    let begin = date.parse::<Date>().ok()?.to_zoned(TimeZone::UTC).ok()?;
    Some(begin.timestamp().as_millisecond())
}

#[cfg(test)]
mod tests {
    #[test]
    fn dates_and_times_are_read() {
        for (text, ms) in [
            ("2026-11-21", Some(1_795_219_200_000)),
            ("2026-11-21T02:38:42.007Z", Some(1_795_228_722_007)),
            ("2026-11-21T03:38:42+01:00", Some(1_795_228_722_000)),
            ("2026-11-21T02:38:42", None),
            ("2026-02-30", None),
            ("21/11/2026", None),
            ("", None),
        ] {
            assert_eq!(super::read(text), ms, "{text}");
        }
    }

    #[test]
    fn times_are_written_as_the_contract_says() {
        assert_eq!(super::iso(1_795_228_722_007), "2026-11-21T02:38:42.007Z");
        assert_eq!(super::iso(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(super::plain(1_795_228_722_007), "2026-11-21 02:38:42");
    }
}
