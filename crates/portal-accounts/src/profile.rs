//! A member's own profile: name, email address, password, authenticator app and sessions.

use std::net::IpAddr;

use secrecy::SecretString;
use service::App;
use service::actor::of_staff;
use service::problem::Problem;
use store::invitations::{self, Purpose};
use store::{portal_sessions, staff, staff_devices};
use uuid::Uuid;

use crate::codes::{SetUp, recovery_codes, recovery_form};
use crate::devices::{Browser, Device};
use crate::joining::{NewLink, Outcome, PASSWORD_LINK_MS, path};
use crate::passkeys::is_second_factor_required;
use crate::signing_in::{is_proof, no_proof};
use crate::{Fault, audit_everywhere, email_of, name_of, passkeys, passwords};

/// A session, as its owner sees it.
#[derive(Clone, Debug)]
pub struct SessionRow {
    /// The session's id.
    pub id: Uuid,
    /// The device on which it was begun.
    pub device: Device,
    /// When it was begun (ms).
    pub created_at: i64,
    /// When it was last used (ms), to the minute.
    pub seen_at: i64,
}

/// A member's sessions, the most recently used first.
pub async fn sessions(app: &App, staff_id: Uuid) -> Result<Vec<SessionRow>, Problem> {
    let sessions = portal_sessions::list(&mut app.db.read().await?, staff_id).await?;
    let row = |session: portal_sessions::PortalSession| SessionRow {
        id: session.id,
        device: Device::from_json(&session.device),
        created_at: session.created_at,
        seen_at: session.seen_at,
    };
    Ok(sessions.into_iter().map(row).collect())
}

/// How many recovery codes a member has left.
pub async fn recovery_left(app: &App, staff_id: Uuid) -> Result<usize, Problem> {
    Ok(staff::count_recovery_codes(&mut app.db.read().await?, staff_id).await?)
}

/// Changes the member's own name.
pub async fn rename(app: &App, staff_id: Uuid, name: &str) -> Result<Outcome<()>, Problem> {
    let name = match name_of("name", name) {
        Ok(name) => name,
        Err(fault) => return Ok(Err(vec![fault])),
    };
    store::transaction!(app.db, |tx| -> Result<(), Problem> {
        staff::set_name(tx, staff_id, &name).await?;
        Ok(audit_everywhere(tx, staff_id, &of_staff(staff_id), "staff.renamed", "{}").await?)
    })?;
    Ok(Ok(()))
}

/// A requested change of email address.
#[derive(Debug)]
pub struct NewEmail {
    /// The new address.
    pub email: String,
    /// The link that confirms it, to be sent to the new address.
    pub link: NewLink,
    /// Another member signs in with this address. The link will be refused, and that member must be notified
    /// instead.
    pub is_taken: bool,
}

/// Requests a new email address, with proof of identity. It takes effect when its link is opened.
pub async fn ask_email(
    app: &App,
    staff_id: Uuid,
    email: &str,
    proof: &SecretString,
    address: IpAddr,
) -> Result<Outcome<NewEmail>, Problem> {
    let email = match email_of(email) {
        Ok(email) => email,
        Err(fault) => return Ok(Err(vec![Fault::new("newEmail", fault.text)])),
    };
    let (member, other) = {
        let mut conn = app.db.read().await?;
        let other = staff::by_email(&mut conn, &email).await?;
        (staff::get(&mut conn, staff_id).await?, other)
    };
    if member.is_some_and(|member| member.email == email) {
        return Ok(Err(vec![Fault::new("newEmail", "accounts.fault.email_same")]));
    }
    if !is_proof(app, staff_id, proof, address).await? {
        return Ok(Err(vec![Fault::new("emailProof", no_proof().text)]));
    }
    let link = store::transaction!(app.db, |tx| -> Result<NewLink, Problem> {
        let purpose = Purpose::Email {
            staff_id,
            email: &email,
        };
        let (invitation, token) = invitations::create(tx, &purpose, Some(staff_id), PASSWORD_LINK_MS).await?;
        audit_everywhere(tx, staff_id, &of_staff(staff_id), "staff.email_asked", "{}").await?;
        Ok(NewLink {
            path: path(&token),
            invitation,
        })
    })?;
    Ok(Ok(NewEmail {
        // The member's own address in another case is not taken.
        is_taken: other.is_some_and(|other| other.id != staff_id),
        email,
        link,
    }))
}

/// Changes the member's password, given the current one. All other sessions end, this one gets a new token, and only
/// this browser is still recognised.
pub async fn change_password(
    app: &App,
    staff_id: Uuid,
    session_id: Uuid,
    current: &SecretString,
    new: &SecretString,
    browser: &Browser,
    address: IpAddr,
) -> Result<Outcome<SecretString>, Problem> {
    let (member, hash) = {
        let mut conn = app.db.read().await?;
        let member = staff::get(&mut conn, staff_id).await?;
        let member = member.ok_or_else(|| Problem::not_found("This account no longer exists"))?;
        let hash = staff::password_hash(&mut conn, staff_id).await?;
        (member, hash)
    };
    crate::throttle::count(app, &format!("proof {staff_id}"), address).await?;
    if !passwords::matches(app, Some(hash), current).await? {
        return Ok(Err(vec![Fault::new("current", "accounts.fault.password_wrong")]));
    }
    if let Some(fault) = passwords::fault(app, new, &member.email, &member.name).await? {
        return Ok(Err(vec![fault]));
    }
    let hash = passwords::hash(app, new).await?;
    let token = store::transaction!(app.db, |tx| -> Result<SecretString, Problem> {
        staff::set_password(tx, staff_id, &hash).await?;
        store::invitations::void_own(tx, staff_id).await?;
        portal_sessions::end_all(tx, staff_id, Some(session_id)).await?;
        staff_devices::forget(tx, staff_id, browser.token()).await?;
        audit_everywhere(tx, staff_id, &of_staff(staff_id), "staff.password_changed", "{}").await?;
        // If the member has a second factor, the password alone is no fresh proof.
        Ok(match member.has_second_factor() {
            true => portal_sessions::renew(tx, session_id).await?,
            false => portal_sessions::renew_authenticated(tx, session_id).await?,
        })
    })?;
    Ok(Ok(token))
}

/// The result of turning the second factor on.
#[derive(Debug)]
pub struct SecondFactor {
    /// The session's new token.
    pub token: SecretString,
    /// The recovery codes. They are shown only once.
    pub recovery: Vec<String>,
}

/// Turns an authenticator app on, given a proof of identity and a first code. Other sessions end, because they began
/// without it.
pub async fn turn_totp_on(
    app: &App,
    staff_id: Uuid,
    session_id: Uuid,
    set_up: &SetUp,
    code: &str,
    password: &SecretString,
    address: IpAddr,
) -> Result<Outcome<SecondFactor>, Problem> {
    let Some((secret, step)) = set_up.verify_code(code) else {
        return Ok(Err(vec![Fault::new("code", "accounts.fault.code")]));
    };
    if !is_proof(app, staff_id, password, address).await? {
        return Ok(Err(vec![no_proof()]));
    }
    let recovery = recovery_codes();
    let kept: Vec<String> = recovery.iter().filter_map(|code| recovery_form(code)).collect();
    let token = store::transaction!(app.db, |tx| -> Result<SecretString, Problem> {
        staff::lock(tx, staff_id).await?;
        staff::set_totp(tx, staff_id, &secret, step).await?;
        staff::set_recovery(tx, staff_id, &kept).await?;
        portal_sessions::end_all(tx, staff_id, Some(session_id)).await?;
        audit_everywhere(tx, staff_id, &of_staff(staff_id), "staff.second_factor_on", "{}").await?;
        Ok(portal_sessions::renew_authenticated(tx, session_id).await?)
    })?;
    Ok(Ok(SecondFactor { token, recovery }))
}

/// Turns the authenticator app off, with proof of identity. It is refused if it is the member's last second factor and
/// one of the member's accounts requires one.
pub async fn turn_totp_off(
    app: &App,
    staff_id: Uuid,
    proof: &SecretString,
    address: IpAddr,
) -> Result<Outcome<()>, Problem> {
    if !is_proof(app, staff_id, proof, address).await? {
        return Ok(Err(vec![no_proof()]));
    }
    let required = store::transaction!(app.db, |tx| -> Result<bool, Problem> {
        let is_last = !staff::lock(tx, staff_id).await?.has_passkey;
        let leaves_none = !passkeys::is_any_usable_of(app, tx, staff_id).await?;
        if leaves_none && is_second_factor_required(tx, staff_id).await? {
            return Ok(true);
        }
        staff::clear_totp(tx, staff_id).await?;
        if is_last {
            staff::set_recovery(tx, staff_id, &[]).await?;
        }
        audit_everywhere(tx, staff_id, &of_staff(staff_id), "staff.second_factor_off", "{}").await?;
        Ok(false)
    })?;
    Ok(match required {
        true => Err(vec![Fault::new("proof", "accounts.fault.totp_required")]),
        false => Ok(()),
    })
}

/// Replaces the recovery codes, with proof of identity.
pub async fn renew_recovery(
    app: &App,
    staff_id: Uuid,
    proof: &SecretString,
    address: IpAddr,
) -> Result<Outcome<Vec<String>>, Problem> {
    if !is_proof(app, staff_id, proof, address).await? {
        return Ok(Err(vec![no_proof()]));
    }
    let recovery = recovery_codes();
    let kept: Vec<String> = recovery.iter().filter_map(|code| recovery_form(code)).collect();
    store::transaction!(app.db, |tx| -> Result<(), Problem> {
        staff::set_recovery(tx, staff_id, &kept).await?;
        Ok(audit_everywhere(tx, staff_id, &of_staff(staff_id), "staff.recovery_renewed", "{}").await?)
    })?;
    Ok(Ok(recovery))
}

/// Ends one of the member's own sessions or, without an id, all but this one.
pub async fn end_sessions(
    app: &App,
    staff_id: Uuid,
    session_id: Uuid,
    browser: &Browser,
    which: Option<Uuid>,
) -> Result<(), Problem> {
    store::transaction!(app.db, |tx| -> Result<(), Problem> {
        let ended = match which {
            Some(id) => u64::from(portal_sessions::end(tx, staff_id, id).await?),
            None => {
                // A member who ends all other sessions may suspect that one belongs to an attacker.
                staff_devices::forget(tx, staff_id, browser.token()).await?;
                portal_sessions::end_all(tx, staff_id, Some(session_id)).await?
            }
        };
        let detail = format!("{{\"ended\":{ended}}}");
        Ok(audit_everywhere(tx, staff_id, &of_staff(staff_id), "staff.sessions_ended", &detail).await?)
    })
}
