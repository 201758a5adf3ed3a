//! Sign-in, second factor, fresh proof of identity, and sign-out. Unknown addresses take as long as known
//! ones.

use std::net::IpAddr;

use secrecy::SecretString;
use service::App;
use service::actor::of_staff;
use service::problem::Problem;
use store::portal_sessions::{self, ActiveSession, Stage};
use store::{Error, Tx, staff};
use uuid::Uuid;

use crate::devices::{Browser, SignedIn};
use crate::passkeys::{self, PasskeyCheck};
use crate::{
    Factors, Fault, audit_everywhere, begin_session, codes, complete_sign_in, passwords, sign_in, throttle,
};

/// Stands for an unknown address. Its failures are recorded too, so that they take as long.
const NOBODY: Uuid = Uuid::nil();

/// The result of a password check.
#[derive(Debug)]
pub enum SignIn {
    /// Signed in.
    Done(SignedIn),
    /// A second factor is required next; this token identifies the session.
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
        Ok(if member.has_second_factor() {
            SignIn::CodeNeeded(begin_session(app, tx, &member, Stage::Password, &browser.device).await?)
        } else {
            SignIn::Done(sign_in(app, tx, &member, browser).await?)
        })
    })
}

/// Signs in with a passkey, which is both factors at once.
pub async fn with_passkey(
    app: &App,
    answer: &str,
    browser: &Browser,
    address: IpAddr,
) -> Result<Option<SignedIn>, Problem> {
    // Before the check for the address, and after it for the member, whom only the check finds.
    throttle::count_address(app, address).await?;
    let checked = passkeys::check(app, answer).await?;
    let whom = match &checked {
        PasskeyCheck::Verified(proven) => proven.staff_id(),
        PasskeyCheck::Wrong(staff_id) => *staff_id,
        PasskeyCheck::Unknown => NOBODY,
    };
    throttle::count_account(app, &format!("passkey {whom}"), address).await?;
    let signed_in = match &checked {
        PasskeyCheck::Verified(proven) => {
            store::transaction!(app.db, |tx| -> Result<Option<SignedIn>, Problem> {
                let member = staff::get(tx, whom).await?;
                let Some(member) = member.filter(|member| member.disabled_at.is_none()) else {
                    return Ok(None);
                };
                if !passkeys::use_up(tx, proven).await? {
                    return Ok(None);
                }
                let session = begin_session(app, tx, &member, Stage::Full, &browser.device).await?;
                Ok(Some(
                    complete_sign_in(tx, &member, session, browser, Factors::Passkey(proven.id())).await?,
                ))
            })?
        }
        PasskeyCheck::Wrong(_) | PasskeyCheck::Unknown => None,
    };
    if signed_in.is_none() {
        record_failure(app, whom, "passkey").await?;
    }
    Ok(signed_in)
}

/// Completes a sign-in with a code or a passkey after the password. `None`: it is wrong.
pub async fn with_code(
    app: &App,
    half: &ActiveSession,
    proof: &str,
    browser: &Browser,
    address: IpAddr,
) -> Result<Option<SignedIn>, Problem> {
    let id = half.staff.id;
    throttle::count(app, &format!("code {id}"), address).await?;
    let proof = Proof::read(app, proof).await?;
    let signed_in = store::transaction!(app.db, |tx| -> Result<Option<SignedIn>, Problem> {
        if !proof.use_up(tx, id).await? {
            return Ok(None);
        }
        let token = portal_sessions::renew_authenticated(tx, half.session_id).await?;
        Ok(Some(
            complete_sign_in(tx, &half.staff, token, browser, proof.factors()).await?,
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

/// A second factor, as a form sends it.
enum Proof<'a> {
    /// A code of an authenticator app, or a recovery code.
    Code(&'a str),
    /// The checked answer of a passkey.
    Passkey(PasskeyCheck),
}

impl Proof<'_> {
    async fn read<'a>(app: &App, text: &'a str) -> Result<Proof<'a>, Problem> {
        Ok(match passkeys::is_answer(text) {
            true => Proof::Passkey(passkeys::check(app, text).await?),
            false => Proof::Code(text),
        })
    }

    fn factors(&self) -> Factors {
        match self {
            Proof::Passkey(PasskeyCheck::Verified(proven)) => Factors::PasswordAndPasskey(proven.id()),
            Proof::Passkey(_) | Proof::Code(_) => Factors::PasswordAndCode,
        }
    }

    /// Uses it up; returns whether it was the member's and unused.
    async fn use_up(&self, tx: &mut Tx, staff_id: Uuid) -> Result<bool, Error> {
        match self {
            Proof::Code(code) => codes::use_code(tx, staff_id, code).await,
            Proof::Passkey(PasskeyCheck::Verified(proven)) if proven.staff_id() == staff_id => {
                passkeys::use_up(tx, proven).await
            }
            Proof::Passkey(_) => Ok(false),
        }
    }
}

/// Whether `secret` proves a member's identity: a code or a passkey's answer if a second factor is set up (it is then
/// used up), or else the password. A password alone is no proof then, because the second factor protects against
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
        let proof = Proof::read(app, secret.expose_secret()).await?;
        let spent = store::transaction!(app.db, |tx| -> Result<bool, Problem> {
            Ok(proof.use_up(tx, staff_id).await?)
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
    Ok(member.has_second_factor())
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
