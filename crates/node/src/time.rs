//! Formats times as the API does.

use jiff::Timestamp;

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

#[cfg(test)]
mod tests {
    #[test]
    fn times_are_written_as_the_contract_says() {
        assert_eq!(super::iso(1_795_228_722_007), "2026-11-21T02:38:42.007Z");
        assert_eq!(super::iso(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(super::plain(1_795_228_722_007), "2026-11-21 02:38:42");
    }
}
