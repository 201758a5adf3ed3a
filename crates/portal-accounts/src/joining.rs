//! One-time links, and what they do: new members and operators join, and members set new passwords or email
//! addresses.

use std::net::IpAddr;

use secrecy::{ExposeSecret, SecretString};
use service::actor::{By, actor_name, of_staff};
use service::four_eyes;
use service::installation_acts::{self, Doubt};
use service::merchants::requires_second_factor;
use service::permissions::Role;
use service::problem::{Kind as ProblemKind, Problem};
use service::{App, operations};
use store::invitations::{self, Invitation, InvitationToken, Kind, Purpose};
use store::portal_sessions;
use store::staff::{self, NewStaff, StaffMember};
use store::{Db, Error, Tx, merchants, staff_devices, staff_passkeys};
use uuid::Uuid;

use crate::devices::{Browser, SignedIn};
use crate::managers::lock_manager;
use crate::{Fault, audit_at, audit_everywhere, email_of, name_of, passwords, sign_in, throttle};

pub(crate) const DAY_MS: i64 = 24 * 60 * 60 * 1_000;
/// How long an invitation can be used.
pub const INVITATION_MS: i64 = 7 * DAY_MS;
/// How long a link to set a new password can be used.
pub const PASSWORD_LINK_MS: i64 = DAY_MS;

/// A new link. It is shown only once.
#[derive(Clone, Debug)]
pub struct NewLink {
    /// The invitation behind it.
    pub invitation: Invitation,
    /// Its path below the public address.
    pub path: String,
}

pub(crate) fn path(token: &SecretString) -> String {
    format!("/portal/join/{}", token.expose_secret())
}

/// Creates a link to join an account, and writes a row into its audit trail.
pub async fn invite(
    db: &Db,
    merchant_id: Uuid,
    role: Role,
    email: Option<&str>,
    invited_by: Option<Uuid>,
) -> Result<NewLink, Problem> {
    let by = actor_name(invited_by);
    store::transaction!(db, |tx| -> Result<NewLink, Problem> {
        let merchant = merchants::get(tx, merchant_id).await?;
        merchant.ok_or_else(|| Problem::not_found("There is no such account"))?;
        if let Some(staff_id) = invited_by {
            lock_manager(tx, merchant_id, staff_id).await?.over(role)?;
        }
        let purpose = Purpose::Member {
            merchant_id,
            role: role.as_str(),
            email,
        };
        let (invitation, token) = invitations::create(tx, &purpose, invited_by, INVITATION_MS).await?;
        let detail = format!("{{\"role\":\"{}\"}}", role.as_str());
        let subject = invitation.id.to_string();
        audit_at(tx, merchant_id, &by, "staff.invited", &subject, &detail).await?;
        Ok(NewLink {
            path: path(&token),
            invitation,
        })
    })
}

/// Revokes the unused links to become an owner that the command line created.
pub async fn revoke_owner_links(db: &Db, merchant_id: Uuid) -> Result<(), Error> {
    store::transaction!(db, |tx| -> Result<(), Error> {
        for earlier in invitations::of_merchant(tx, merchant_id).await? {
            if earlier.invited_by.is_none() && earlier.role.as_deref() == Some(Role::Owner.as_str()) {
                invitations::revoke(tx, merchant_id, earlier.id).await?;
            }
        }
        Ok(())
    })
}

/// Creates a link to become an operator. Earlier links no longer work.
pub async fn operator_link(db: &Db, by: Option<Uuid>) -> Result<NewLink, Problem> {
    store::transaction!(db, |tx| -> Result<NewLink, Problem> {
        if let Some(staff_id) = by
            && !staff::lock_operator(tx, staff_id).await?
        {
            return Err(Problem::new(
                ProblemKind::Forbidden,
                "You are no operator any more",
            ));
        }
        invitations::void_operators(tx).await?;
        let (invitation, token) = invitations::create(tx, &Purpose::Operator, by, INVITATION_MS).await?;
        let by = actor_name(by);
        operations::record(tx, &by, "operator.invited", &invitation.id.to_string()).await?;
        Ok(NewLink {
            path: path(&token),
            invitation,
        })
    })
}

/// Creates a link to set a member's password. It replaces earlier ones.
pub(crate) async fn password_link(tx: &mut Tx, staff_id: Uuid, by: Option<Uuid>) -> Result<NewLink, Error> {
    let purpose = Purpose::Password { staff_id };
    let (invitation, token) = invitations::create(tx, &purpose, by, PASSWORD_LINK_MS).await?;
    Ok(NewLink {
        path: path(&token),
        invitation,
    })
}

/// Creates a link to set a member's password, for an operator at the command line. If `second_factor_lost` is set, it
/// also removes the authenticator app, the passkeys and the recovery codes, and ends the member's sessions.
pub async fn make_recovery_link(db: &Db, email: &str, second_factor_lost: bool) -> Result<NewLink, Problem> {
    store::transaction!(db, |tx| -> Result<NewLink, Problem> {
        let member = staff::by_email(tx, email).await?;
        let member = member.ok_or_else(|| Problem::not_found("nobody has this address"))?;
        let by = "command line";
        if second_factor_lost {
            staff::clear_totp(tx, member.id).await?;
            staff::set_recovery(tx, member.id, &[]).await?;
            staff_passkeys::remove_all(tx, member.id).await?;
            // The lost device may be signed in.
            portal_sessions::end_all(tx, member.id, None).await?;
            audit_everywhere(tx, member.id, by, "staff.second_factor_reset", "{}").await?;
        }
        audit_everywhere(tx, member.id, by, "staff.password_link_made", "{}").await?;
        for (merchant, role) in staff::merchants_of(tx, member.id).await? {
            let role = role
                .parse()
                .map_err(|()| Problem::internal("a member has an unknown role"))?;
            four_eyes::record_doubt(tx, merchant.id, (member.id, role), ("password", By::COMMAND_LINE))
                .await?;
        }
        if member.operator {
            installation_acts::record_doubt(tx, member.id, Doubt::Password, By::COMMAND_LINE).await?;
        }
        Ok(password_link(tx, member.id, None).await?)
    })
}

/// A link as its page shows it.
#[derive(Clone, Debug)]
pub struct LinkPreview {
    /// The invitation behind it.
    pub invitation: Invitation,
    /// The account's name.
    pub merchant: Option<String>,
    /// Whether the account requires a second factor.
    pub needs_second_factor: bool,
}

/// Reads a link without using it up. 404 if it is invalid; 410 if it was used or has expired.
pub async fn preview_link(app: &App, token: &str) -> Result<LinkPreview, Problem> {
    let mut conn = app.db.read().await?;
    let invitation = require_valid(invitations::peek(&mut conn, token).await?)?;
    let merchant = match invitation.merchant_id {
        Some(id) => merchants::get(&mut conn, id).await?,
        None => None,
    };
    let needs_second_factor = merchant.as_ref().map(requires_second_factor).transpose()?;
    Ok(LinkPreview {
        invitation,
        merchant: merchant.map(|merchant| merchant.name),
        needs_second_factor: needs_second_factor.unwrap_or_default(),
    })
}

fn require_valid(token: InvitationToken) -> Result<Invitation, Problem> {
    match token {
        InvitationToken::Valid(invitation) => Ok(invitation),
        InvitationToken::Invalid => Err(Problem::not_found(
            "This link is not valid. It may be incomplete or withdrawn. Ask for a new one.",
        )),
        InvitationToken::Used => Err(Problem::new(
            ProblemKind::Gone,
            "This link has already been used. If you used it, sign in. If not, contact the person who sent it.",
        )),
        InvitationToken::Expired => Err(Problem::new(
            ProblemKind::Gone,
            "This link has expired. Ask for a new one.",
        )),
    }
}

/// The details that a new member enters.
#[derive(Clone, Debug)]
pub struct Newcomer {
    /// The address.
    pub email: String,
    /// The name.
    pub name: String,
    /// The password.
    pub password: SecretString,
}

impl Newcomer {
    /// The same details, trimmed; or every fault. The password is judged only beside a name and an address that are
    /// valid.
    pub(crate) async fn checked(mut self, app: &App) -> Result<Outcome<Self>, Problem> {
        let mut faults = Vec::new();
        match name_of("name", &self.name) {
            Ok(name) => self.name = name,
            Err(fault) => faults.push(fault),
        }
        match email_of(&self.email) {
            Ok(email) => self.email = email,
            Err(fault) => faults.push(fault),
        }
        let (email, name) = match faults.is_empty() {
            true => (self.email.as_str(), self.name.as_str()),
            false => ("", ""),
        };
        faults.extend(passwords::fault(app, &self.password, email, name).await?);
        Ok(if faults.is_empty() { Ok(self) } else { Err(faults) })
    }

    pub(crate) async fn hashed(&self, app: &App) -> Result<String, Problem> {
        passwords::hash(app, &self.password).await
    }
}

/// The result of a form: a value, or the form's faults.
pub type Outcome<T> = Result<T, Vec<Fault>>;

/// Why a transaction is rolled back.
pub(crate) enum Stop {
    Faults(Vec<Fault>),
    Problem(Problem),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Stop::Problem(error.into())
    }
}

impl From<Problem> for Stop {
    fn from(problem: Problem) -> Self {
        Stop::Problem(problem)
    }
}

/// Converts a transaction's result.
pub(crate) fn outcome<T>(result: Result<T, Stop>) -> Result<Outcome<T>, Problem> {
    match result {
        Ok(done) => Ok(Ok(done)),
        Err(Stop::Faults(faults)) => Ok(Err(faults)),
        Err(Stop::Problem(problem)) => Err(problem),
    }
}

/// Joins by a link as a new member, who is signed in. The link is used up in the same transaction.
pub async fn join(
    app: &App,
    token: &str,
    mut newcomer: Newcomer,
    browser: &Browser,
) -> Result<Outcome<SignedIn>, Problem> {
    let shown = preview_link(app, token).await?;
    if let Some(email) = shown.invitation.email {
        newcomer.email = email;
    }
    let newcomer = match newcomer.checked(app).await? {
        Ok(newcomer) => newcomer,
        Err(faults) => return Ok(Err(faults)),
    };
    let hash = newcomer.hashed(app).await?;
    let joined = store::transaction!(app.db, |tx| -> Result<SignedIn, Stop> {
        let invitation = require_valid(invitations::redeem(tx, token).await?)?;
        let member = create(tx, &newcomer, &hash, invitation.kind == Kind::Operator).await?;
        accept_invitation(tx, &invitation, &member).await?;
        Ok(sign_in(app, tx, &member, browser).await?)
    });
    outcome(joined)
}

/// Creates a member. It is a fault if the address already has an account.
pub(crate) async fn create(
    tx: &mut Tx,
    newcomer: &Newcomer,
    hash: &str,
    operator: bool,
) -> Result<StaffMember, Stop> {
    let new = NewStaff {
        email: &newcomer.email,
        name: &newcomer.name,
        password_hash: hash,
        operator,
    };
    if staff::by_email(tx, new.email).await?.is_some() {
        return Err(Stop::Faults(vec![Fault::new(
            "email",
            "accounts.fault.email_taken",
        )]));
    }
    Ok(staff::create(tx, &new).await?)
}

/// Adds a member to what a link leads to. The member's open password links become void, because they were
/// created for a person with fewer rights.
async fn accept_invitation(tx: &mut Tx, invitation: &Invitation, member: &StaffMember) -> Result<(), Stop> {
    let (id, by) = (member.id, of_staff(member.id));
    invitations::void_own(tx, id).await?;
    match (invitation.kind, invitation.merchant_id, &invitation.role) {
        (Kind::Operator, ..) => {
            staff::set_operator(tx, id, true).await?;
            tracing::warn!(staff = %id, "somebody became an operator of this installation by a one-time link");
            operations::record(tx, &by, "operator.joined", &id.to_string()).await?;
            let inviter = actor_name(invitation.invited_by);
            Ok(installation_acts::record_doubt(tx, id, Doubt::Joined, By::actor(&inviter)).await?)
        }
        (Kind::Member, Some(merchant_id), Some(role)) => {
            match staff::join(tx, merchant_id, id, role).await {
                Err(Error::Conflict) => {
                    let membership = staff::get_membership(tx, merchant_id, id).await?;
                    let is_shut_out = membership.is_some_and(|membership| membership.disabled_at.is_some());
                    let (kind, text) = if is_shut_out {
                        let text = "Your access to this account was removed. Only its owners and administrators can restore it";
                        (ProblemKind::Forbidden, text)
                    } else {
                        (ProblemKind::Conflict, "You are already a member of this account")
                    };
                    return Err(Problem::new(kind, text).into());
                }
                joined => joined?,
            }
            let detail = format!("{{\"role\":\"{role}\",\"invitation\":\"{}\"}}", invitation.id);
            audit_at(tx, merchant_id, &by, "staff.joined", &id.to_string(), &detail).await?;
            let role = role
                .parse()
                .map_err(|()| Problem::internal("an invitation has an unknown role"))?;
            let inviter = actor_name(invitation.invited_by);
            Ok(four_eyes::record_doubt(tx, merchant_id, (id, role), ("joined", By::actor(&inviter))).await?)
        }
        _ => Err(Problem::not_found("This link has a different purpose").into()),
    }
}

/// Joins by a link as a signed-in member, and returns the session's new token. A link for another address is
/// refused.
pub async fn join_signed_in(
    app: &App,
    token: &str,
    staff_id: Uuid,
    session_id: Uuid,
) -> Result<SecretString, Problem> {
    store::transaction!(app.db, |tx| -> Result<SecretString, Problem> {
        let member = staff::get(tx, staff_id).await?;
        let member = member.ok_or_else(|| Problem::not_found("There is no such member"))?;
        let invitation = require_valid(invitations::redeem(tx, token).await?)?;
        let meant = invitation.email.as_deref();
        if meant.is_some_and(|email| email.to_lowercase() != member.email.to_lowercase()) {
            let text = "This invitation is for another address. Sign out, then open it again";
            return Err(Problem::new(ProblemKind::Forbidden, text));
        }
        if let Err(stop) = accept_invitation(tx, &invitation, &member).await {
            return Err(match stop {
                Stop::Problem(problem) => problem,
                Stop::Faults(_) => Problem::internal("nothing was filled in"),
            });
        }
        if let Some(merchant_id) = invitation.merchant_id {
            portal_sessions::set_account(tx, session_id, Some(merchant_id), true).await?;
        }
        Ok(portal_sessions::renew(tx, session_id).await?)
    })
}

/// Sets a new password by a link, and returns the member's email address. All sessions of the member end, no
/// browser is recognised any more, and the second factor stays.
pub async fn set_password(
    app: &App,
    token: &str,
    password: &SecretString,
) -> Result<Outcome<String>, Problem> {
    let shown = preview_link(app, token).await?;
    let Some(staff_id) = shown
        .invitation
        .staff_id
        .filter(|_| shown.invitation.kind == Kind::Password)
    else {
        return Err(Problem::not_found("This link has a different purpose"));
    };
    let member = staff::get(&mut app.db.read().await?, staff_id).await?;
    let member = member.ok_or_else(|| Problem::not_found("This account no longer exists"))?;
    if let Some(fault) = passwords::fault(app, password, &member.email, &member.name).await? {
        return Ok(Err(vec![fault]));
    }
    let hash = passwords::hash(app, password).await?;
    store::transaction!(app.db, |tx| -> Result<(), Problem> {
        require_valid(invitations::redeem(tx, token).await?)?;
        staff::set_password(tx, staff_id, &hash).await?;
        invitations::void_own(tx, staff_id).await?;
        portal_sessions::end_all(tx, staff_id, None).await?;
        staff_devices::forget(tx, staff_id, None).await?;
        let detail = r#"{"by":"link"}"#;
        Ok(audit_everywhere(
            tx,
            staff_id,
            &of_staff(staff_id),
            "staff.password_changed",
            detail,
        )
        .await?)
    })?;
    Ok(Ok(member.email))
}

/// Changes a member's email address by the link that was sent to the new one. Returns the former address, so
/// that it can be notified. The member's password links, which may be in the former mailbox, become void.
pub async fn confirm_email(app: &App, token: &str) -> Result<String, Problem> {
    store::transaction!(app.db, |tx| -> Result<String, Problem> {
        let invitation = require_valid(invitations::redeem(tx, token).await?)?;
        let (Kind::Email, Some(staff_id), Some(email)) =
            (invitation.kind, invitation.staff_id, invitation.email)
        else {
            return Err(Problem::not_found("This link has a different purpose"));
        };
        let gone = || Problem::not_found("This account no longer exists");
        let former = staff::get(tx, staff_id).await?.ok_or_else(gone)?.email;
        if let Some(other) = staff::by_email(tx, &email).await?
            && other.id != staff_id
        {
            // The response must not reveal whether an address has an account, so it is the same as for an
            // invalid link.
            require_valid(InvitationToken::Invalid)?;
        }
        staff::set_email(tx, staff_id, &email).await?;
        invitations::void_own(tx, staff_id).await?;
        audit_everywhere(tx, staff_id, &of_staff(staff_id), "staff.email_changed", "{}").await?;
        Ok(former)
    })
}

/// Creates a password link for the member with this address. Returns it with the stored address, to which it
/// is sent; `None` if no active member has the address. Counts as an attempt.
pub async fn request_password_link(
    app: &App,
    email: &str,
    address: IpAddr,
) -> Result<Option<(NewLink, String)>, Problem> {
    let whom = staff::pseudonym(&app.db.read().await?, email);
    throttle::count(app, &format!("forgotten {whom}"), address).await?;
    store::transaction!(app.db, |tx| -> Result<Option<(NewLink, String)>, Problem> {
        let Some(member) = staff::by_email(tx, email).await? else {
            return Ok(None);
        };
        if member.disabled_at.is_some() {
            return Ok(None);
        }
        let link = password_link(tx, member.id, None).await?;
        audit_everywhere(tx, member.id, "unknown", "staff.password_link_sent", "{}").await?;
        Ok(Some((link, member.email)))
    })
}
