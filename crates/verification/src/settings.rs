//! A Flow's private settings, which the portal and the command line show but the API never does
//! (`docs/decisions/0005-settings-outside-the-api.md`).

use serde_json::{Map, Value};

use crate::json::Body;

/// Which attempts are sent to review.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReviewPolicy {
    /// No attempt is reviewed. An attempt that does not pass fails.
    Never,
    /// Sanctions matches, similarities in the review band, near-duplicate faces and holds are reviewed.
    #[default]
    OnMatch,
    /// All of those and every attempt that passes are reviewed.
    Always,
}

/// What becomes of signs of fraud on documents. None fails an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FraudSigns {
    /// Nobody looks for them.
    #[default]
    Off,
    /// Reviewers see them.
    Show,
    /// Reviewers see them, and a raised one holds the attempt for review.
    Review,
}

/// The settings. An absent one has its default.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Similarity (0–100) from which faces match; `None`: the engine's default.
    pub match_threshold: Option<f64>,
    /// Similarity (0–100) from which, up to the match threshold, an attempt is reviewed; `None`: the engine's
    /// default.
    pub review_band: Option<f64>,
    /// Which attempts are reviewed.
    pub review_policy: ReviewPolicy,
    /// Attempts that one link allows.
    pub attempts_per_link: u32,
    /// How long an invitation opens sessions, in hours.
    pub invitation_hours: u32,
    /// After how many hours an applicant is reminded of an open invitation, and again; 0: no reminders.
    pub reminder_hours: u32,
    /// An applicant can request a new link in place of an expired invitation, at the address that the merchant gave.
    pub renew_invitations: bool,
    /// Days after which attempts are deleted; `None`: the server's default.
    pub retention_days: Option<u32>,
    /// `whsec_…`, which signs this Flow's webhooks from now on. It is sealed and stored apart from the other
    /// settings.
    pub webhook_secret: Option<String>,
    /// The hosted page receives no details of a sanctions hit.
    pub hide_sanctions_detail: bool,
    /// Applicants type their details before they photograph a document, instead of confirming what it says.
    pub details_first: bool,
    /// A reviewer's decision takes effect only when a second person confirms it.
    pub four_eyes: bool,
    /// What becomes of signs of fraud on documents.
    pub fraud_signs: FraudSigns,
    /// Approved people are looked at again when a sanctions list changes.
    pub ongoing_screening: bool,
    /// The sanctions lists against which the Flow's people are screened. If empty, those of the account.
    pub screening_lists: Vec<String>,
}

/// The most sanctions lists that a Flow may choose.
pub const MAX_SCREENING_LISTS: usize = 50;

impl Default for Settings {
    fn default() -> Self {
        Self {
            match_threshold: None,
            review_band: None,
            review_policy: ReviewPolicy::default(),
            attempts_per_link: 3,
            invitation_hours: 168,
            reminder_hours: 0,
            renew_invitations: true,
            retention_days: None,
            webhook_secret: None,
            hide_sanctions_detail: false,
            details_first: false,
            four_eyes: false,
            fraud_signs: FraudSigns::default(),
            ongoing_screening: true,
            screening_lists: Vec::new(),
        }
    }
}

impl Settings {
    /// Reads `matchThreshold`, `reviewBand`, `reviewPolicy` (`never`, `on_match`, `always`),
    /// `attemptsPerLink`, `invitationHours`, `reminderHours`, `renewInvitations`, `retentionDays`, `webhookSecret`,
    /// `hideSanctionsDetail`, `detailsFirst`, `fourEyes`, `fraudSigns` (`off`, `show`, `review`), `ongoingScreening`,
    /// `screeningLists`. Null and absent mean the same. Unknown members are ignored.
    ///
    /// # Errors
    /// Every fault, as `settings.<field> - <reason>`.
    pub fn parse(members: &Map<String, Value>) -> Result<Self, Vec<String>> {
        let mut body = Body::new(members);
        let defaults = Self::default();
        let settings = Self {
            match_threshold: read(
                &mut body,
                "matchThreshold",
                "must be a number from 0 to 100",
                percentage,
            ),
            review_band: read(
                &mut body,
                "reviewBand",
                "must be a number from 0 to 100",
                percentage,
            ),
            review_policy: read(
                &mut body,
                "reviewPolicy",
                "must be never, on_match or always",
                policy,
            )
            .unwrap_or_default(),
            attempts_per_link: read(
                &mut body,
                "attemptsPerLink",
                "must be a whole number from 1 to 20",
                |v| whole(v, 20),
            )
            .unwrap_or(defaults.attempts_per_link),
            invitation_hours: read(
                &mut body,
                "invitationHours",
                "must be a whole number from 1 to 720",
                |v| whole(v, 720),
            )
            .unwrap_or(defaults.invitation_hours),
            reminder_hours: read(
                &mut body,
                "reminderHours",
                "must be a whole number from 0 to 720",
                |v| (v.as_u64() == Some(0)).then_some(0).or_else(|| whole(v, 720)),
            )
            .unwrap_or(defaults.reminder_hours),
            renew_invitations: read(
                &mut body,
                "renewInvitations",
                "must be true or false",
                Value::as_bool,
            )
            .unwrap_or(defaults.renew_invitations),
            retention_days: read(
                &mut body,
                "retentionDays",
                "must be a whole number from 1 to 36500",
                |v| whole(v, 36_500),
            ),
            webhook_secret: read(
                &mut body,
                "webhookSecret",
                "must be a string that begins with whsec_",
                secret,
            ),
            hide_sanctions_detail: read(
                &mut body,
                "hideSanctionsDetail",
                "must be true or false",
                Value::as_bool,
            )
            .unwrap_or_default(),
            details_first: read(&mut body, "detailsFirst", "must be true or false", Value::as_bool)
                .unwrap_or_default(),
            four_eyes: read(&mut body, "fourEyes", "must be true or false", Value::as_bool)
                .unwrap_or_default(),
            fraud_signs: read(
                &mut body,
                "fraudSigns",
                "must be off, show or review",
                fraud_signs,
            )
            .unwrap_or_default(),
            ongoing_screening: read(
                &mut body,
                "ongoingScreening",
                "must be true or false",
                Value::as_bool,
            )
            .unwrap_or(defaults.ongoing_screening),
            screening_lists: read(
                &mut body,
                "screeningLists",
                "must be an array of at most 50 different names of sanctions lists",
                list_names,
            )
            .unwrap_or_default(),
        };
        if let (Some(band), Some(threshold)) = (settings.review_band, settings.match_threshold)
            && band > threshold
        {
            body.add_fault("settings.reviewBand", "must not be above matchThreshold");
        }
        body.finish()?;
        Ok(settings)
    }
}

fn read<T>(body: &mut Body<'_>, field: &str, reason: &str, parse: impl Fn(&Value) -> Option<T>) -> Option<T> {
    let value = body.get(field).filter(|value| !value.is_null())?;
    let parsed = parse(value);
    if parsed.is_none() {
        body.add_fault(&format!("settings.{field}"), reason);
    }
    parsed
}

fn percentage(value: &Value) -> Option<f64> {
    value.as_f64().filter(|n| (0.0..=100.0).contains(n))
}

fn whole(value: &Value, most: u32) -> Option<u32> {
    value
        .as_u64()
        .and_then(|n| u32::try_from(n).ok())
        .filter(|n| (1..=most).contains(n))
}

fn secret(value: &Value) -> Option<String> {
    value
        .as_str()
        .filter(|text| text.starts_with("whsec_"))
        .map(str::to_owned)
}

fn policy(value: &Value) -> Option<ReviewPolicy> {
    match value.as_str()? {
        "never" => Some(ReviewPolicy::Never),
        "on_match" => Some(ReviewPolicy::OnMatch),
        "always" => Some(ReviewPolicy::Always),
        _ => None,
    }
}

fn fraud_signs(value: &Value) -> Option<FraudSigns> {
    match value.as_str()? {
        "off" => Some(FraudSigns::Off),
        "show" => Some(FraudSigns::Show),
        "review" => Some(FraudSigns::Review),
        _ => None,
    }
}

fn list_names(value: &Value) -> Option<Vec<String>> {
    let items = value
        .as_array()
        .filter(|items| items.len() <= MAX_SCREENING_LISTS)?;
    let mut names: Vec<String> = Vec::new();
    for item in items {
        let name = item.as_str().filter(|name| !name.trim().is_empty())?;
        if names.iter().any(|known| known == name) {
            return None;
        }
        names.push(name.to_owned());
    }
    Some(names)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parse(value: &Value) -> Result<Settings, Vec<String>> {
        Settings::parse(value.as_object().expect("an object"))
    }

    #[test]
    fn defaults_and_values() {
        assert_eq!(parse(&json!({})), Ok(Settings::default()));
        assert_eq!(
            parse(&json!({"reviewPolicy": null, "zzz": 1})),
            Ok(Settings::default())
        );
        let set = parse(
            &json!({"matchThreshold": 85, "reviewBand": 70.5, "reviewPolicy": "always",
            "attemptsPerLink": 1, "reminderHours": 0, "renewInvitations": false, "retentionDays": 30, "webhookSecret": "whsec_x", "hideSanctionsDetail": true,
            "fourEyes": true, "fraudSigns": "show"}),
        );
        let set = set.expect("valid");
        assert_eq!((set.match_threshold, set.review_band), (Some(85.0), Some(70.5)));
        assert_eq!(
            (set.review_policy, set.attempts_per_link),
            (ReviewPolicy::Always, 1)
        );
        assert!(set.four_eyes && set.hide_sanctions_detail && !set.renew_invitations);
        assert_eq!(set.fraud_signs, FraudSigns::Show);
    }

    #[test]
    fn faults() {
        let errors = parse(
            &json!({"matchThreshold": 101, "reviewPolicy": "sometimes", "attemptsPerLink": 0,
            "fraudSigns": true, "reminderHours": 721}),
        );
        assert_eq!(
            errors,
            Err(vec![
                "settings.matchThreshold - must be a number from 0 to 100".to_owned(),
                "settings.reviewPolicy - must be never, on_match or always".to_owned(),
                "settings.attemptsPerLink - must be a whole number from 1 to 20".to_owned(),
                "settings.reminderHours - must be a whole number from 0 to 720".to_owned(),
                "settings.fraudSigns - must be off, show or review".to_owned(),
            ])
        );
        assert!(parse(&json!({"matchThreshold": 50, "reviewBand": 60})).is_err());
    }

    #[test]
    fn sanctions_lists_are_different_names() {
        let numbered = |count: usize| (0..count).map(|n| format!("list-{n}")).collect::<Vec<_>>();
        for (lists, expected) in [
            (json!(null), Some(vec![])),
            (json!([]), Some(vec![])),
            (json!(["un", "eu"]), Some(vec!["un".to_owned(), "eu".to_owned()])),
            (
                json!(numbered(MAX_SCREENING_LISTS)),
                Some(numbered(MAX_SCREENING_LISTS)),
            ),
            (json!(numbered(MAX_SCREENING_LISTS + 1)), None),
            (json!(["un", "un"]), None),
            (json!([""]), None),
            (json!([" "]), None),
            (json!(["un", 1]), None),
            (json!("un"), None),
            (json!({"un": true}), None),
        ] {
            let found = parse(&json!({"screeningLists": lists}));
            let expected = expected.ok_or_else(|| {
                vec![
                    "settings.screeningLists - must be an array of at most 50 different names of sanctions lists"
                        .to_owned(),
                ]
            });
            assert_eq!(
                found.map(|settings| settings.screening_lists),
                expected,
                "{lists}"
            );
        }
    }
}
