//! One-time links of the portal: to join a merchant's staff, to become an operator, and to set a new password
//! or email address. A token has 256 random bits, is stored as a keyed hash and is used up in one conditional
//! update. This module sends no email.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use secrecy::SecretString;
use uuid::Uuid;

use crate::keyring::{DataKey, SealContext, random};
use crate::sql::{execute, fetch};
use crate::text_enum::{Word, text_enum};
use crate::{Conn, Error, Tx, merchants, staff};

text_enum! {
    /// The purpose of a link.
    Kind("kind of a link") {
        /// To join a merchant's staff.
        Member = "member",
        /// To become an operator of the installation.
        Operator = "operator",
        /// To set a new password.
        Password = "password",
        /// To sign in with another address.
        Email = "email",
    }
}

/// A link, without its token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invitation {
    /// Its id in lists.
    pub id: Uuid,
    /// The purpose of the link.
    pub kind: Kind,
    /// The account to join.
    pub merchant_id: Option<Uuid>,
    /// The member of staff whose password or address it sets.
    pub staff_id: Option<Uuid>,
    /// The role in the account that it gives.
    pub role: Option<String>,
    /// The intended recipient (`None`: anyone with the link), or the new address that it sets.
    pub email: Option<String>,
    /// The member of staff who created it; `None` for the command line or the server itself.
    pub invited_by: Option<Uuid>,
    /// When it was created (ms).
    pub created_at: i64,
    /// Until when it can be used (ms).
    pub expires_at: i64,
}

/// The purpose of a new link.
#[derive(Clone, Copy, Debug)]
pub enum Purpose<'a> {
    /// To join a merchant's staff.
    Member {
        /// The account.
        merchant_id: Uuid,
        /// The role's name.
        role: &'a str,
        /// The intended recipient; `None`: anyone with the link.
        email: Option<&'a str>,
    },
    /// To become an operator.
    Operator,
    /// To set a new password.
    Password {
        /// The member of staff.
        staff_id: Uuid,
    },
    /// To sign in with another address.
    Email {
        /// The member of staff.
        staff_id: Uuid,
        /// The new address, to which the link is sent.
        email: &'a str,
    },
}

/// The state of a link's token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InvitationToken {
    /// Unused and unexpired.
    Valid(Invitation),
    /// Unknown or revoked.
    Invalid,
    /// It has already been used.
    Used,
    /// It has expired.
    Expired,
}

fn token_ref(conn: &Conn, token: &str) -> Vec<u8> {
    conn.keyring().hash("invitation", &[token.as_bytes()]).to_vec()
}

/// The key that seals a link's address, and the context. The key is the account's if the link joins one;
/// otherwise it is the member's.
async fn email_key<'a>(
    conn: &mut Conn,
    merchant_id: Option<Uuid>,
    staff_id: Option<Uuid>,
    id: &'a Uuid,
) -> Result<(DataKey, SealContext<'a>), Error> {
    let key = match (merchant_id, staff_id) {
        (Some(merchant_id), _) => merchants::key(conn, merchant_id).await?,
        (None, Some(staff_id)) => staff::key(conn, staff_id).await?,
        (None, None) => return Err(Error::Missing("invitation's owner")),
    };
    let place = SealContext {
        merchant_id: merchant_id.unwrap_or_default(),
        what: "invitations.email",
        id: id.as_bytes(),
    };
    Ok((key, place))
}

/// Creates a link; its token is returned only this once. A new link that changes a member's password or
/// address voids that member's earlier links of the same kind. It voids no others, because anyone can request
/// a new password.
///
/// # Errors
/// [`Error::Missing`] for an unknown account.
pub async fn create(
    tx: &mut Tx,
    purpose: &Purpose<'_>,
    invited_by: Option<Uuid>,
    life_ms: i64,
) -> Result<(Invitation, SecretString), Error> {
    let token = URL_SAFE_NO_PAD.encode(random::<32>());
    let token_ref = token_ref(tx, &token);
    let (kind, merchant_id, staff_id, role, email) = match *purpose {
        Purpose::Member {
            merchant_id,
            role,
            email,
        } => (Kind::Member, Some(merchant_id), None, Some(role), email),
        Purpose::Operator => (Kind::Operator, None, None, None, None),
        Purpose::Password { staff_id } => (Kind::Password, None, Some(staff_id), None, None),
        Purpose::Email { staff_id, email } => (Kind::Email, None, Some(staff_id), None, Some(email)),
    };
    let invitation = Invitation {
        id: Uuid::now_v7(),
        kind,
        merchant_id,
        staff_id,
        role: role.map(str::to_owned),
        email: email.map(str::to_owned),
        invited_by,
        created_at: tx.now(),
        expires_at: tx.now().saturating_add(life_ms),
    };
    if let Some(staff_id) = staff_id {
        const SQL: &str = "delete from invitations where staff_id = $1 and kind = $2 and used_at is null";
        execute!(
            tx,
            across_accounts("a member of staff may belong to several accounts"),
            SQL,
            staff_id,
            kind.as_str()
        )?;
    }
    let email_sealed = match email {
        Some(email) => {
            let (key, place) = email_key(tx, merchant_id, staff_id, &invitation.id).await?;
            Some(key.seal(&place, email.as_bytes()))
        }
        None => None,
    };
    execute!(
        tx,
        across_accounts("an operator's invitation belongs to no account"),
        "insert into invitations
             (token_ref, id, kind, merchant_id, staff_id, role, email_sealed, invited_by, created_at, expires_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
        &token_ref,
        invitation.id,
        kind.as_str(),
        merchant_id,
        staff_id,
        role,
        &email_sealed,
        invited_by,
        invitation.created_at,
        invitation.expires_at,
    )?;
    Ok((invitation, SecretString::from(token)))
}

#[derive(sqlx::FromRow)]
struct Row {
    id: Uuid,
    #[sqlx(try_from = "Word<Kind>")]
    kind: Kind,
    merchant_id: Option<Uuid>,
    staff_id: Option<Uuid>,
    role: Option<String>,
    email_sealed: Option<Vec<u8>>,
    invited_by: Option<Uuid>,
    created_at: i64,
    expires_at: i64,
    used_at: Option<i64>,
}

impl Row {
    async fn open(self, conn: &mut Conn) -> Result<Invitation, Error> {
        let email = match &self.email_sealed {
            Some(sealed) => {
                let (key, place) = email_key(conn, self.merchant_id, self.staff_id, &self.id).await?;
                Some(key.open_text(&place, sealed)?)
            }
            None => None,
        };
        Ok(Invitation {
            id: self.id,
            kind: self.kind,
            merchant_id: self.merchant_id,
            staff_id: self.staff_id,
            role: self.role,
            email,
            invited_by: self.invited_by,
            created_at: self.created_at,
            expires_at: self.expires_at,
        })
    }
}

/// The state of a token. It does not use the token up.
///
/// # Errors
/// [`Error::Sealed`].
pub async fn peek(conn: &mut Conn, token: &str) -> Result<InvitationToken, Error> {
    let token_ref = token_ref(conn, token);
    let row = fetch!(
        optional,
        conn,
        across_accounts("the link's token does not carry the account"),
        Row,
        "select id, kind, merchant_id, staff_id, role, email_sealed, invited_by, created_at, expires_at, used_at
         from invitations where token_ref = $1",
        &token_ref,
    )?;
    match row {
        None => Ok(InvitationToken::Invalid),
        Some(row) if row.used_at.is_some() => Ok(InvitationToken::Used),
        Some(row) if row.expires_at <= conn.now() => Ok(InvitationToken::Expired),
        Some(row) => Ok(InvitationToken::Valid(row.open(conn).await?)),
    }
}

/// Uses a token up in one conditional update. Of any number of simultaneous calls, one gets
/// [`InvitationToken::Valid`].
///
/// # Errors
/// [`Error::Sealed`].
pub async fn redeem(tx: &mut Tx, token: &str) -> Result<InvitationToken, Error> {
    let token_ref = token_ref(tx, token);
    let now = tx.now();
    let row = fetch!(
        optional,
        tx,
        across_accounts("the link's token does not carry the account"),
        Row,
        "update invitations set used_at = $2 where token_ref = $1 and used_at is null and expires_at > $2
         returning id, kind, merchant_id, staff_id, role, email_sealed, invited_by, created_at, expires_at, used_at",
        &token_ref,
        now,
    )?;
    match row {
        Some(row) => Ok(InvitationToken::Valid(row.open(tx).await?)),
        None => peek(tx, token).await,
    }
}

/// An account's valid links, newest first.
///
/// # Errors
/// [`Error::Sealed`].
pub async fn of_merchant(conn: &mut Conn, merchant_id: Uuid) -> Result<Vec<Invitation>, Error> {
    let now = conn.now();
    let rows = fetch!(
        all,
        conn,
        merchant(merchant_id),
        Row,
        "select id, kind, merchant_id, staff_id, role, email_sealed, invited_by, created_at, expires_at, used_at
         from invitations where merchant_id = $1 and used_at is null and expires_at > $2 order by id desc",
        now,
    )?;
    let mut open = Vec::with_capacity(rows.len());
    for row in rows {
        open.push(row.open(conn).await?);
    }
    Ok(open)
}

/// Voids an account's unused link; returns whether there was one.
pub async fn revoke(tx: &mut Tx, merchant_id: Uuid, id: Uuid) -> Result<bool, Error> {
    const SQL: &str = "delete from invitations where merchant_id = $1 and id = $2 and used_at is null";
    Ok(execute!(tx, merchant(merchant_id), SQL, id)? == 1)
}

/// Voids all unused links that set a member's password or address. Called after a change to how the member
/// signs in.
pub async fn void_own(tx: &mut Tx, staff_id: Uuid) -> Result<u64, Error> {
    const SQL: &str = "delete from invitations where staff_id = $1 and used_at is null";
    execute!(
        tx,
        across_accounts("a member of staff may belong to several accounts"),
        SQL,
        staff_id
    )
}

/// Voids the unused links that a member created to join this account or to set a password. Called when the
/// member has lost the right to create them.
pub async fn void_made_by(tx: &mut Tx, merchant_id: Uuid, staff_id: Uuid) -> Result<u64, Error> {
    const SQL: &str = "delete from invitations
               where invited_by = $2 and used_at is null and (merchant_id = $1 or kind = 'password')";
    execute!(tx, merchant(merchant_id), SQL, staff_id)
}

/// Voids all unused links to become an operator, because only the latest one, which the console shows, stays
/// valid.
pub async fn void_operators(tx: &mut Tx) -> Result<u64, Error> {
    execute!(
        tx,
        across_accounts("an operator's invitation belongs to no account"),
        "delete from invitations where kind = 'operator' and used_at is null"
    )
}

/// Deletes the links that expired before a time (ms); returns how many.
pub async fn sweep(tx: &mut Tx, before: i64) -> Result<u64, Error> {
    execute!(
        tx,
        across_accounts("retention deletes every account's invitations"),
        "delete from invitations where expires_at <= $1",
        before
    )
}
