//! Formats values of a screening for people. It never reads the database.

use serde_json::Value;
use store::monitoring::Screening;

use crate::page::Page;

/// A score with one digit, or a dash.
pub(super) fn score(score: &Option<f64>) -> String {
    score.map_or_else(|| "–".to_owned(), one_digit)
}

/// The outcome of a screening, in a few words.
pub(super) fn outcome(page: &Page, screening: &Screening) -> String {
    match &screening.failure {
        Some(why) if screening.score.is_none() => page.word("monitoring.outcome", why),
        _ => page.word("monitoring.status", &screening.status.to_string()),
    }
}

/// Rounds to one decimal digit, and never prints a negative zero.
pub(super) fn one_digit(number: f64) -> String {
    format!("{:.1}", (number * 10.0).round() / 10.0 + 0.0)
}

/// A JSON value on one line.
pub(super) fn plain(value: &Value) -> String {
    match value {
        Value::Null => "–".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// At most three decimal digits, without trailing zeros.
pub(super) fn three_digits(number: f64) -> String {
    ((number * 1_000.0).round() / 1_000.0 + 0.0).to_string()
}
