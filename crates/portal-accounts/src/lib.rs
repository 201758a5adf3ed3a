//! Access to the portal: sign-up, sign-in, second factors, one-time links, an account's staff, and its
//! application for live access. These are use cases as in `service`, and open their own transactions. The pages
//! are in `portal`, the tables in `store`. No password, code or token reaches a log line or an audit row.

pub mod applications;
pub mod codes;
pub mod devices;
pub mod joining;
mod managers;
pub mod passkeys;
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
use store::staff::StaffMember;
use store::{Error, Scope, Tx};
use uuid::Uuid;

use self::devices::{Browser, Device, SignedIn};
use service::App;
use service::actor::of_staff;

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
pub(crate) async fn audit_at(
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
    member: &StaffMember,
    stage: Stage,
    device: &Device,
) -> Result<SecretString, Error> {
    let merchants = store::staff::merchants_of(tx, member.id).await?;
    let merchant = match merchants.as_slice() {
        [(only, _)] => Some(only),
        _ => None,
    };
    let is_new = member.signed_in_at.is_none();
    let new = NewSession {
        staff_id: member.id,
        merchant_id: merchant.map(|merchant| merchant.id),
        sandbox: is_new || merchant.is_none_or(|merchant| begins_in_sandbox(app, merchant)),
        stage,
        device: &device.to_json(),
    };
    let (_, token) = portal_sessions::create(tx, &new).await?;
    Ok(token)
}

/// Begins a session without a second factor.
async fn sign_in(app: &App, tx: &mut Tx, member: &StaffMember, browser: &Browser) -> Result<SignedIn, Error> {
    let session = begin_session(app, tx, member, Stage::Full, &browser.device).await?;
    complete_sign_in(tx, member, session, browser, Factors::Password).await
}

/// What a member signed in with.
#[derive(Clone, Copy, Debug)]
enum Factors {
    /// The password alone.
    Password,
    /// The password, and a code of an authenticator app or a recovery code.
    PasswordAndCode,
    /// The password, and the passkey with this id.
    PasswordAndPasskey(Uuid),
    /// The passkey with this id alone, which is both factors.
    Passkey(Uuid),
}

/// Completes a sign-in: recognises the browser, and writes the audit trail.
async fn complete_sign_in(
    tx: &mut Tx,
    member: &StaffMember,
    session: SecretString,
    browser: &Browser,
    factors: Factors,
) -> Result<SignedIn, Error> {
    store::staff::record_sign_in(tx, member.id).await?;
    let (token, is_new_browser) = devices::recognise(tx, member.id, browser).await?;
    let mut detail = serde_json::Map::new();
    let second_factor = !matches!(factors, Factors::Password);
    let password = !matches!(factors, Factors::Passkey(_));
    for (name, value) in [
        ("secondFactor", second_factor),
        ("newBrowser", is_new_browser),
        ("withoutPassword", !password),
    ] {
        if value {
            detail.insert(name.to_owned(), true.into());
        }
    }
    if let Factors::PasswordAndPasskey(id) | Factors::Passkey(id) = factors {
        detail.insert("passkey".to_owned(), id.to_string().into());
    }
    let detail = serde_json::Value::Object(detail).to_string();
    audit_everywhere(tx, member.id, &of_staff(member.id), "staff.signed_in", &detail).await?;
    Ok(SignedIn {
        session,
        browser: token,
        is_new_browser,
        email: member.email.clone(),
    })
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
