//! The format of times in answers.

/// Milliseconds since 1970 as ISO 8601 with milliseconds, UTC.
pub(super) fn iso(time: i64) -> Option<String> {
    let time = jiff::Timestamp::from_millisecond(time).ok()?;
    Some(time.strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string())
}
