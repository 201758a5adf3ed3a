//! The rules of invitations: the body that requests one, when applicants are reminded, and how many letters they get.
//! This module sends nothing.

use jiff::civil::Date;
use serde_json::{Map, Value};

use crate::json::Body;
use crate::link::LinkRequest;
use crate::submission::is_email;

const HOUR_MS: i64 = 60 * 60 * 1_000;
/// The most reminders of an invitation.
pub const MOST_REMINDERS: i64 = 3;
/// A reminder comes at least this long before the invitation's end (ms).
pub const REMINDER_BEFORE_END_MS: i64 = HOUR_MS;
/// How often a chain of expired invitations is renewed.
pub const MOST_RENEWALS: i64 = 5;
/// The most letters about one invitation.
pub const MOST_LETTERS: i64 = 10;
/// The shortest time between two letters about one invitation that are not scheduled (ms).
pub const LETTER_PAUSE_MS: i64 = 10 * 60 * 1_000;
/// The language of letters, unless the merchant names another.
pub const LANGUAGE: &str = "en";

/// A request for an invitation.
#[derive(Clone, PartialEq, Eq)]
pub struct InvitationRequest {
    /// What its sessions are for.
    pub link: LinkRequest,
    /// The applicant's address for letters.
    pub email: Option<String>,
    /// The language of letters.
    pub language: String,
}

impl InvitationRequest {
    /// Reads the body; unknown members are ignored, except in `expected`. `today` is in UTC, and `languages` are those of
    /// the letters.
    ///
    /// # Errors
    /// Every fault, as `<field> - <reason>`.
    pub fn parse(members: &Map<String, Value>, today: Date, languages: &[&str]) -> Result<Self, Vec<String>> {
        let mut body = Body::new(members);
        let email = body.text("email").map(str::to_owned);
        if email.as_deref().is_some_and(|email| !is_email(email)) {
            body.add_fault("email", "must be an email address");
        }
        let language = body.text("language").unwrap_or(LANGUAGE).to_owned();
        if !languages.contains(&language.as_str()) {
            body.add_fault("language", &format!("must be one of {}", languages.join(", ")));
        }
        match (LinkRequest::parse(members, today), body.finish()) {
            (Ok(link), Ok(())) => Ok(Self {
                link,
                email,
                language,
            }),
            (link, own) => Err([link.err(), own.err()].into_iter().flatten().flatten().collect()),
        }
    }
}

/// When the next reminder is due (ms), `hours` after the invitation or the reminder at `after`; `None`: there is none, because
/// reminders are off (0 hours), enough were sent, or the invitation ends first.
pub fn next_reminder(after: i64, hours: u32, sent: i64, expires_at: i64) -> Option<i64> {
    let due = after.checked_add(i64::from(hours) * HOUR_MS)?;
    (hours > 0 && sent < MOST_REMINDERS && due <= expires_at - REMINDER_BEFORE_END_MS).then_some(due)
}

/// Why no further letter may be requested for an invitation now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoLetter {
    /// The newest one is too recent; another is allowed after this many milliseconds.
    Pause(i64),
    /// The invitation has reached its limit.
    Enough,
}

/// Whether a request causes another letter about an invitation that has `count` letters, the newest queued at `newest` (ms).
/// If one waits to be sent, it serves this request, too.
///
/// # Errors
/// [`NoLetter`].
pub fn check_letter(now: i64, count: i64, newest: Option<i64>, has_queued: bool) -> Result<bool, NoLetter> {
    if has_queued {
        return Ok(false);
    }
    if count >= MOST_LETTERS {
        return Err(NoLetter::Enough);
    }
    match newest.map(|newest| newest + LETTER_PAUSE_MS - now) {
        Some(wait) if wait > 0 => Err(NoLetter::Pause(wait)),
        _ => Ok(true),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parse(more: &Value) -> Result<(Option<String>, String), Vec<String>> {
        let mut body = json!({"userId": "u", "groupId": "g", "flowId": "f"});
        let members = body.as_object_mut().expect("an object");
        members.extend(more.as_object().expect("an object").clone());
        let today = jiff::civil::date(2026, 11, 30);
        let parsed = InvitationRequest::parse(members, today, &["de", "en"]);
        parsed.map(|request| (request.email, request.language))
    }

    #[test]
    fn an_address_and_a_language_are_read() {
        let address = "ada@example.org";
        for (more, email, language) in [
            (json!({}), None, "en"),
            (json!({"email": address}), Some(address), "en"),
            (json!({"email": address, "language": "de"}), Some(address), "de"),
        ] {
            assert_eq!(
                parse(&more),
                Ok((email.map(str::to_owned), language.to_owned())),
                "{more}"
            );
        }
        for (more, faults) in [
            (json!({"email": "ada"}), vec!["email - must be an email address"]),
            (
                json!({"email": "ada@example.org\r\nBcc: b@example.org"}),
                vec!["email - must be an email address"],
            ),
            (json!({"email": null}), vec!["email - must be a string"]),
            (
                json!({"language": "xx"}),
                vec!["language - must be one of de, en"],
            ),
            (
                json!({"userId": "", "email": 7}),
                vec!["userId - cannot be empty", "email - must be a string"],
            ),
        ] {
            let faults = faults.into_iter().map(str::to_owned).collect();
            assert_eq!(parse(&more), Err(faults), "{more}");
        }
    }

    #[test]
    fn reminders_come_at_intervals_and_end() {
        for (hours, sent, life, due) in [
            (0, 0, 168, None),
            (24, 0, 168, Some(24)),
            (24, 2, 168, Some(24)),
            (24, 3, 168, None),
            (24, 0, 25, Some(24)),
            (24, 0, 24, None),
            (720, 0, 168, None),
        ] {
            let found = next_reminder(5, hours, sent, 5 + life * HOUR_MS);
            assert_eq!(found, due.map(|due| 5 + due * HOUR_MS), "{hours} {sent} {life}");
        }
    }

    #[test]
    fn letters_on_request_are_limited() {
        for (count, age, has_queued, expected) in [
            (0, None, false, Ok(true)),
            (1, Some(LETTER_PAUSE_MS), false, Ok(true)),
            (1, Some(LETTER_PAUSE_MS - 1), false, Err(NoLetter::Pause(1))),
            (1, Some(0), true, Ok(false)),
            (MOST_LETTERS, Some(LETTER_PAUSE_MS), false, Err(NoLetter::Enough)),
            (MOST_LETTERS, Some(LETTER_PAUSE_MS), true, Ok(false)),
            (MOST_LETTERS - 1, Some(LETTER_PAUSE_MS), false, Ok(true)),
        ] {
            let now = 1_000_000_000;
            let found = check_letter(now, count, age.map(|age| now - age), has_queued);
            assert_eq!(found, expected, "{count} {age:?} {has_queued}");
        }
    }
}
