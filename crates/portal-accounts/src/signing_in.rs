//! Sign-in, second factor, fresh proof of identity, and sign-out. Unknown addresses take as long as known
//! ones.

use std::net::IpAddr;

use secrecy::SecretString;
use service::App;
use service::actor::of_staff;
use service::problem::Problem;
use store::portal_sessions::{self, ActiveSession, Stage};
use store::staff;
use uuid::Uuid;

use crate::devices::{Browser, SignedIn};
use crate::{Fault, audit_everywhere, begin_session, codes, complete_sign_in, passwords, sign_in, throttle};

/// Stands for an unknown address. Its failures are recorded too, so that they take as long.
const NOBODY: Uuid = Uuid::nil();

/// The result of a password check.
#[derive(Debug)]
pub enum SignIn {
    /// Signed in.
    Done(SignedIn),
    /// A code is required next; this token identifies the session.
    CodeNeeded(SecretString),
    /// Email or password is incorrect.
    Wrong,
}

/// Signs in with email address and password.
pub async fn with_password(
    app: &App,
    email: &str,
    password: &SecretString,
    browser: &Browser,
    address: IpAddr,
) -> Result<SignIn, Problem> {
    let (whom, member, hash) = {
        let mut conn = app.db.read().await?;
        let whom = staff::pseudonym(&conn, email);
        let member = staff::by_email(&mut conn, email).await?;
        let hash = match &member {
            Some(member) => Some(staff::password_hash(&mut conn, member.id).await?),
            None => None,
        };
        (whom, member, hash)
    };
    throttle::count(app, &whom, address).await?;
    let right = passwords::matches(app, hash.clone(), password).await?;
    let (Some(member), Some(hash)) = (member, hash) else {
        record_failure(app, NOBODY, "password").await?;
        return Ok(SignIn::Wrong);
    };
    if !right || member.disabled_at.is_some() {
        record_failure(app, member.id, "password").await?;
        return Ok(SignIn::Wrong);
    }
    store::transaction!(app.db, |tx| -> Result<SignIn, Problem> {
        // During hashing the password may have changed, or a second factor may have been turned on.
        if !staff::lock_password(tx, member.id, &hash).await? {
            return Ok(SignIn::Wrong);
        }
        let member = staff::get(tx, member.id).await?;
        let member = member.ok_or_else(|| Problem::not_found("This account no longer exists"))?;
        Ok(if member.has_totp {
            SignIn::CodeNeeded(begin_session(app, tx, &member, Stage::Password, &browser.device).await?)
        } else {
            SignIn::Done(sign_in(app, tx, &member, browser).await?)
        })
    })
}

/// Completes a sign-in with a code after the password. `None`: the code is wrong.
pub async fn with_code(
    app: &App,
    half: &ActiveSession,
    code: &str,
    browser: &Browser,
    address: IpAddr,
) -> Result<Option<SignedIn>, Problem> {
    let id = half.staff.id;
    throttle::count(app, &format!("code {id}"), address).await?;
    let signed_in = store::transaction!(app.db, |tx| -> Result<Option<SignedIn>, Problem> {
        if !codes::use_code(tx, id, code).await? {
            return Ok(None);
        }
        let token = portal_sessions::renew_authenticated(tx, half.session_id).await?;
        Ok(Some(
            complete_sign_in(tx, &half.staff, token, browser, true).await?,
        ))
    })?;
    if signed_in.is_none() {
        record_failure(app, id, "code").await?;
    }
    Ok(signed_in)
}

/// Proves a signed-in member's identity again, as [`is_proof`] requires. Returns the session's new token, or
/// `None`.
pub async fn prove(
    app: &App,
    staff_id: Uuid,
    session_id: Uuid,
    secret: &SecretString,
    address: IpAddr,
) -> Result<Option<SecretString>, Problem> {
    if !is_proof(app, staff_id, secret, address).await? {
        return Ok(None);
    }
    let token = store::transaction!(app.db, |tx| -> Result<SecretString, Problem> {
        audit_everywhere(tx, staff_id, &of_staff(staff_id), "staff.proved", "{}").await?;
        Ok(portal_sessions::renew_authenticated(tx, session_id).await?)
    })?;
    Ok(Some(token))
}

/// Whether `secret` proves a member's identity: a code if a second factor is set up (the code is then used
/// up), or else the password. A password alone is no proof then, because the second factor protects against
/// stolen passwords. Counts as an attempt.
pub(crate) async fn is_proof(
    app: &App,
    staff_id: Uuid,
    secret: &SecretString,
    address: IpAddr,
) -> Result<bool, Problem> {
    use secrecy::ExposeSecret;
    throttle::count(app, &format!("proof {staff_id}"), address).await?;
    if has_second_factor(app, staff_id).await? {
        let code = secret.expose_secret();
        let spent = store::transaction!(app.db, |tx| -> Result<bool, Problem> {
            Ok(codes::use_code(tx, staff_id, code).await?)
        })?;
        if !spent {
            record_failure(app, staff_id, "proof").await?;
        }
        return Ok(spent);
    }
    let hash = staff::password_hash(&mut app.db.read().await?, staff_id).await?;
    // During hashing a second factor may have been turned on.
    let right =
        passwords::matches(app, Some(hash), secret).await? && !has_second_factor(app, staff_id).await?;
    if !right {
        record_failure(app, staff_id, "proof").await?;
    }
    Ok(right)
}

async fn has_second_factor(app: &App, staff_id: Uuid) -> Result<bool, Problem> {
    let member = staff::get(&mut app.db.read().await?, staff_id).await?;
    let member = member.ok_or_else(|| Problem::not_found("This account no longer exists"))?;
    Ok(member.has_totp)
}

/// Records a failure in the audit trail of each of the member's accounts.
async fn record_failure(app: &App, staff_id: Uuid, what: &str) -> Result<(), Problem> {
    let detail = format!("{{\"wrong\":\"{what}\"}}");
    store::transaction!(app.db, |tx| -> Result<(), Problem> {
        Ok(audit_everywhere(tx, staff_id, "unknown", "staff.sign_in_failed", &detail).await?)
    })
}

/// Signs out: ends a session.
pub async fn sign_out(app: &App, staff_id: Uuid, session_id: Uuid) -> Result<(), Problem> {
    store::transaction!(app.db, |tx| -> Result<(), Problem> {
        portal_sessions::end(tx, staff_id, session_id).await?;
        Ok(audit_everywhere(tx, staff_id, &of_staff(staff_id), "staff.signed_out", "{}").await?)
    })
}

/// Selects another of the member's accounts; 404 for an account that is not theirs.
pub async fn choose_account(
    app: &App,
    staff_id: Uuid,
    session_id: Uuid,
    merchant_id: Uuid,
) -> Result<(), Problem> {
    store::transaction!(app.db, |tx| -> Result<(), Problem> {
        let merchants = staff::merchants_of(tx, staff_id).await?;
        let chosen = merchants.iter().find(|(merchant, _)| merchant.id == merchant_id);
        let (merchant, _) = chosen.ok_or_else(|| Problem::not_found("There is no such account"))?;
        let sandbox = crate::begins_in_sandbox(app, merchant);
        Ok(portal_sessions::set_account(tx, session_id, Some(merchant_id), sandbox).await?)
    })
}

/// Selects the sandbox or live data.
pub async fn choose_mode(
    app: &App,
    session_id: Uuid,
    merchant_id: Uuid,
    sandbox: bool,
) -> Result<(), Problem> {
    store::transaction!(app.db, |tx| -> Result<(), Problem> {
        Ok(portal_sessions::set_account(tx, session_id, Some(merchant_id), sandbox).await?)
    })
}

/// The fault of an invalid proof.
pub(crate) fn no_proof() -> Fault {
    Fault::new("proof", "accounts.fault.proof")
}
