//! A merchant's application for live access: its profile, its submission and the operator's decision (`draft
//! → submitted → approved | rejected`, `approved ↔ suspended`). A rejected application may be submitted
//! again.

use serde::{Deserialize, Serialize};
use service::problem::{Kind, Problem};
use service::{App, operations};
use store::merchant_profiles;
use store::merchants::{self, Merchant, MerchantStatus};
use uuid::Uuid;

use crate::joining::Outcome;
use crate::{Fault, audit_at, email_of};

/// What a merchant states about itself. Fields that are not filled in are empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Profile {
    /// The company's registered name.
    pub legal_name: String,
    /// Its registration number.
    pub registration_number: String,
    /// Where it is registered (alpha-2).
    pub country: String,
    /// Street, place and postcode.
    pub address: String,
    /// Its website.
    pub website: String,
    /// The contact person for the operator.
    pub contact_name: String,
    /// The contact person's email address.
    pub contact_email: String,
    /// Why people are verified.
    pub purpose: String,
    /// Expected verifications per month, as text.
    pub volume: String,
}

/// A merchant's application and its state.
#[derive(Clone, Debug)]
pub struct Application {
    /// The account.
    pub merchant: Merchant,
    /// The merchant's profile.
    pub profile: Profile,
    /// When it was submitted (ms).
    pub submitted_at: Option<i64>,
    /// When it was decided (ms).
    pub decided_at: Option<i64>,
    /// Why it was rejected or suspended.
    pub reason: Option<String>,
}

/// An operator's decision on an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApplicationDecision {
    /// Live keys start to work.
    Approve,
    /// Rejects the application, with a reason; it may be submitted again.
    Reject,
    /// Suspends the account, with a reason.
    Suspend,
}

/// The status after a decision; `None` if the decision is not possible.
pub fn status_after(status: MerchantStatus, verdict: ApplicationDecision) -> Option<MerchantStatus> {
    use MerchantStatus::{Approved, Draft, Rejected, Submitted, Suspended};
    match (status, verdict) {
        // An operator may approve a known merchant without an application.
        (Draft | Submitted | Rejected | Suspended, ApplicationDecision::Approve) => Some(Approved),
        (Submitted, ApplicationDecision::Reject) => Some(Rejected),
        (Approved, ApplicationDecision::Suspend) => Some(Suspended),
        _ => None,
    }
}

/// Whether an application may be changed and submitted.
pub fn is_editable(status: MerchantStatus) -> bool {
    matches!(status, MerchantStatus::Draft | MerchantStatus::Rejected)
}

/// A merchant's application.
pub async fn profile(app: &App, merchant_id: Uuid) -> Result<Application, Problem> {
    let mut conn = app.db.read().await?;
    let merchant = merchants::get(&mut conn, merchant_id)
        .await?
        .ok_or_else(no_account)?;
    let stored = merchant_profiles::get(&mut conn, merchant_id).await?;
    let profile = stored
        .as_ref()
        .and_then(|stored| serde_json::from_str(&stored.profile).ok());
    Ok(Application {
        merchant,
        profile: profile.unwrap_or_default(),
        submitted_at: stored.as_ref().and_then(|stored| stored.submitted_at),
        decided_at: stored.as_ref().and_then(|stored| stored.decided_at),
        reason: stored.and_then(|stored| stored.reason),
    })
}

fn no_account() -> Problem {
    Problem::not_found("There is no such account")
}

impl Profile {
    fn trimmed(mut self) -> Self {
        for (_, text) in self.fields_mut() {
            *text = text.trim().to_owned();
        }
        self.country = self.country.to_ascii_uppercase();
        self
    }

    fn fields_mut(&mut self) -> [(&'static str, &mut String); 9] {
        [
            ("legalName", &mut self.legal_name),
            ("registrationNumber", &mut self.registration_number),
            ("country", &mut self.country),
            ("address", &mut self.address),
            ("website", &mut self.website),
            ("contactName", &mut self.contact_name),
            ("contactEmail", &mut self.contact_email),
            ("purpose", &mut self.purpose),
            ("volume", &mut self.volume),
        ]
    }

    /// The faults of the fields that are filled in and, if the profile must be complete, of those that are
    /// missing.
    fn faults(&self, complete: bool) -> Vec<Fault> {
        let mut faults = Vec::new();
        for (field, text) in self.clone().fields_mut() {
            let optional = matches!(field, "registrationNumber" | "website");
            if text.is_empty() {
                if complete && !optional {
                    faults.push(Fault::new(field, "accounts.fault.empty"));
                }
                continue;
            }
            let wrong = match field {
                _ if text.chars().count() > 1_000 => Some("accounts.fault.long"),
                "country"
                    if reference::country(text).is_none_or(|country| country.alpha2 != text.as_str()) =>
                {
                    Some("accounts.fault.country")
                }
                "website" if !is_website(text) => Some("accounts.fault.website"),
                "contactEmail" if email_of(text).is_err() => Some("accounts.fault.email"),
                _ => None,
            };
            faults.extend(wrong.map(|text| Fault::new(field, text)));
        }
        faults
    }
}

fn is_website(text: &str) -> bool {
    reqwest::Url::parse(text).is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
}

/// Saves the profile without submitting it.
pub async fn save(
    app: &App,
    merchant_id: Uuid,
    profile: Profile,
    actor: &str,
) -> Result<Outcome<()>, Problem> {
    save_profile(app, merchant_id, profile, actor, false).await
}

/// Saves the profile and submits the application.
pub async fn submit(
    app: &App,
    merchant_id: Uuid,
    profile: Profile,
    actor: &str,
) -> Result<Outcome<()>, Problem> {
    save_profile(app, merchant_id, profile, actor, true).await
}

async fn save_profile(
    app: &App,
    merchant_id: Uuid,
    profile: Profile,
    actor: &str,
    hand_in: bool,
) -> Result<Outcome<()>, Problem> {
    let profile = profile.trimmed();
    let faults = profile.faults(hand_in);
    if !faults.is_empty() {
        return Ok(Err(faults));
    }
    let text = serde_json::to_string(&profile).map_err(Problem::internal)?;
    store::transaction!(app.db, |tx| -> Result<(), Problem> {
        let merchant = merchants::get_for_update(tx, merchant_id)
            .await?
            .ok_or_else(no_account)?;
        if !is_editable(merchant.status) {
            let text = "The application was submitted and cannot be changed now";
            return Err(Problem::new(Kind::Conflict, text));
        }
        merchant_profiles::save(tx, merchant_id, &text).await?;
        let action = if hand_in {
            merchants::set_status(tx, merchant_id, MerchantStatus::Submitted).await?;
            merchant_profiles::mark_submitted(tx, merchant_id).await?;
            "merchant.submitted"
        } else {
            "merchant.profile_saved"
        };
        Ok(audit_at(tx, merchant_id, actor, action, &merchant_id.to_string(), "{}").await?)
    })?;
    Ok(Ok(()))
}

/// Decides on an account as an operator. To reject or suspend it requires a reason, which the merchant sees.
pub async fn decide(
    app: &App,
    merchant_id: Uuid,
    verdict: ApplicationDecision,
    reason: Option<&str>,
    actor: &str,
) -> Result<MerchantStatus, Problem> {
    let reason = reason.map(str::trim).filter(|reason| !reason.is_empty());
    if verdict != ApplicationDecision::Approve && reason.is_none() {
        return Err(Problem::invalid("Enter a reason. The merchant sees it"));
    }
    if reason.is_some_and(|reason| reason.chars().count() > 1_000) {
        return Err(Problem::invalid("The reason is longer than 1,000 characters"));
    }
    store::transaction!(app.db, |tx| -> Result<MerchantStatus, Problem> {
        let merchant = merchants::get_for_update(tx, merchant_id)
            .await?
            .ok_or_else(no_account)?;
        let status = status_after(merchant.status, verdict).ok_or_else(|| {
            let text = format!(
                "The account is {}: this cannot be decided now",
                merchant.status.as_str()
            );
            Problem::new(Kind::Conflict, text)
        })?;
        merchants::set_status(tx, merchant_id, status).await?;
        merchant_profiles::record_decision(tx, merchant_id, reason).await?;
        let action = match status {
            MerchantStatus::Rejected => "merchant.rejected",
            MerchantStatus::Suspended => "merchant.suspended",
            _ => "merchant.approved",
        };
        let subject = merchant_id.to_string();
        audit_at(tx, merchant_id, actor, action, &subject, "{}").await?;
        operations::record(tx, actor, action, &subject).await?;
        Ok(status)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_have_their_places() {
        use ApplicationDecision::{Approve, Reject, Suspend};
        use MerchantStatus::{Approved, Draft, Rejected, Submitted, Suspended};
        for (status, verdict, expected) in [
            (Draft, Approve, Some(Approved)),
            (Draft, Reject, None),
            (Draft, Suspend, None),
            (Submitted, Approve, Some(Approved)),
            (Submitted, Reject, Some(Rejected)),
            (Submitted, Suspend, None),
            (Approved, Approve, None),
            (Approved, Reject, None),
            (Approved, Suspend, Some(Suspended)),
            (Rejected, Approve, Some(Approved)),
            (Rejected, Reject, None),
            (Rejected, Suspend, None),
            (Suspended, Approve, Some(Approved)),
            (Suspended, Reject, None),
            (Suspended, Suspend, None),
        ] {
            assert_eq!(status_after(status, verdict), expected, "{status:?} {verdict:?}");
        }
    }

    #[test]
    fn an_application_is_handed_in_whole() {
        let whole = Profile {
            legal_name: " Acme GmbH ".into(),
            country: "de".into(),
            address: "Hauptstr. 1, Berlin".into(),
            contact_name: "Ada".into(),
            contact_email: "ada@example.com".into(),
            purpose: "Opening accounts".into(),
            volume: "100".into(),
            ..Profile::default()
        }
        .trimmed();
        assert_eq!(
            (whole.faults(true), whole.legal_name.as_str()),
            (Vec::new(), "Acme GmbH")
        );
        assert_eq!(Profile::default().faults(false), []);
        assert_eq!(Profile::default().faults(true).len(), 7);
        for (field, text) in [
            ("country", "Germany"),
            ("country", "DEU"),
            ("website", "acme"),
            ("website", "javascript:alert(1)"),
            ("contactEmail", "ada"),
            ("purpose", "x".repeat(1_001).as_str()),
        ] {
            let mut profile = whole.clone();
            for (name, value) in profile.fields_mut() {
                if name == field {
                    *value = text.into();
                }
            }
            let faults = profile.faults(false);
            assert_eq!(faults.first().map(|fault| fault.field), Some(field), "{text}");
        }
    }
}
