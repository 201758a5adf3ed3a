//! Access to the portal: sign-in, second factors, one-time links and an account's staff. The pages are in
//! `portal`, the tables in `store`. No password, code or token reaches a log line or an audit row.

pub mod codes;
pub mod devices;
pub mod joining;
mod managers;
pub mod passwords;
pub mod profile;
pub mod sessions;
pub mod sign_up;
pub mod signing_in;
pub mod staff;
pub mod throttle;

use secrecy::SecretString;
use store::audit::{self, Entry};
use store::portal_sessions::{self, NewSession, Stage};
use store::{Error, Scope, Tx};
use uuid::Uuid;

use super::App;

/// A fault of one form field: the field's name and the key of the text that explains it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The field.
    pub field: &'static str,
    /// The text's key.
    pub text: &'static str,
}

impl Fault {
    /// A fault of a field.
    pub fn new(field: &'static str, text: &'static str) -> Self {
        Fault { field, text }
    }
}

/// Checks a name and returns it trimmed: 1 to 100 characters, no control characters.
pub fn name_of(field: &'static str, text: &str) -> Result<String, Fault> {
    let name = text.trim();
    if name.is_empty() {
        return Err(Fault::new(field, "accounts.fault.empty"));
    }
    if name.chars().count() > 100 || name.chars().any(char::is_control) {
        return Err(Fault::new(field, "accounts.fault.name"));
    }
    Ok(name.to_owned())
}

/// Checks an email address and returns it trimmed.
pub fn email_of(text: &str) -> Result<String, Fault> {
    let email = text.trim();
    let valid = email.len() <= 254 && email.parse::<lettre::Address>().is_ok() && !email.contains(['"', '[']);
    if !valid {
        return Err(Fault::new("email", "accounts.fault.email"));
    }
    Ok(email.to_owned())
}

/// A member of staff as audit rows and decisions name them.
pub fn actor(staff_id: Uuid) -> String {
    format!("staff:{staff_id}")
}

/// Writes a row about a member into the audit trail of each of their accounts and, for an operator, into the
/// operators' trail.
async fn audit_everywhere(
    tx: &mut Tx,
    staff_id: Uuid,
    actor: &str,
    action: &str,
    detail: &str,
) -> Result<(), Error> {
    let subject = staff_id.to_string();
    for (merchant, _) in store::staff::merchants_of(tx, staff_id).await? {
        audit_at(tx, merchant.id, actor, action, &subject, detail).await?;
    }
    let member = store::staff::get(tx, staff_id).await?;
    if member.is_some_and(|member| member.operator) {
        let entry = Entry {
            actor,
            action,
            subject: &subject,
            detail,
        };
        store::operator_audit::write(tx, &entry).await?;
    }
    Ok(())
}

/// Writes a row into an account's audit trail. Accounts have no mode, and their rows count as live.
pub(super) async fn audit_at(
    tx: &mut Tx,
    merchant_id: Uuid,
    actor: &str,
    action: &str,
    subject: &str,
    detail: &str,
) -> Result<(), Error> {
    let scope = Scope {
        merchant_id,
        sandbox: false,
    };
    let entry = Entry {
        actor,
        action,
        subject,
        detail,
    };
    audit::write(tx, scope, &entry).await
}

/// Begins a session. If the member has only one account, it is selected. A member's first session begins in
/// the sandbox; later ones begin in live mode if the account may have live data.
async fn begin_session(
    app: &App,
    tx: &mut Tx,
    staff_id: Uuid,
    stage: Stage,
    device: &str,
) -> Result<SecretString, Error> {
    let member = store::staff::get(tx, staff_id).await?;
    let is_new = member.is_none_or(|member| member.signed_in_at.is_none());
    let merchants = store::staff::merchants_of(tx, staff_id).await?;
    let merchant = match merchants.as_slice() {
        [(only, _)] => Some(only),
        _ => None,
    };
    let new = NewSession {
        staff_id,
        merchant_id: merchant.map(|merchant| merchant.id),
        sandbox: is_new || merchant.is_none_or(|merchant| begins_in_sandbox(app, merchant)),
        stage,
        device,
    };
    let (_, token) = portal_sessions::create(tx, &new).await?;
    if stage == Stage::Full {
        store::staff::record_sign_in(tx, staff_id).await?;
        audit_everywhere(tx, staff_id, &actor(staff_id), "staff.signed_in", "{}").await?;
    }
    Ok(token)
}

/// Whether sessions of an account begin in the sandbox.
fn begins_in_sandbox(app: &App, merchant: &store::merchants::Merchant) -> bool {
    app.config.demo || merchant.status != store::merchants::MerchantStatus::Approved
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_addresses_are_checked() {
        assert_eq!(name_of("name", "  Ada Lovelace ").unwrap(), "Ada Lovelace");
        for bad in ["", "  ", "a\nb", "\u{0}", &"x".repeat(101)] {
            assert!(name_of("name", bad).is_err(), "{bad:?}");
        }
        assert_eq!(email_of(" ada@example.com ").unwrap(), "ada@example.com");
        for bad in [
            "",
            "ada",
            "ada@",
            "@example.com",
            "a b@example.com",
            "a@b@c",
            "a@example.com\r\nBcc: b@example.com",
            "\"<script>\"@example.com",
            &format!("{}@example.com", "a".repeat(250)),
        ] {
            assert!(email_of(bad).is_err(), "{bad:?}");
        }
    }
}
