//! One-time links of the portal: to join a merchant's staff, to become an operator, to set a new password or address. A token is 256 random bits,
//! kept as a keyed hash, and used up in one conditional update. It sends nothing.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use secrecy::SecretString;
use uuid::Uuid;

use crate::keyring::{DataKey, Place, random};
use crate::sql::{execute, fetch};
use crate::text_enum::{Word, text_enum};
use crate::{Conn, Error, Tx, merchants, staff};

text_enum! {
    /// What a link is for.
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
    /// Names it in lists.
    pub id: Uuid,
    /// What it is for.
    pub kind: Kind,
    /// The account to join.
    pub merchant_id: Option<Uuid>,
    /// Whose password or address it sets.
    pub staff_id: Option<Uuid>,
    /// The role in the account.
    pub role: Option<String>,
    /// Whom it was meant for (`None`: whoever has the link), or the address that it sets.
    pub email: Option<String>,
    /// Who made it; `None`: the command line, or the server itself.
    pub invited_by: Option<Uuid>,
    /// When it was made (ms).
    pub created_at: i64,
    /// Until when it can be used (ms).
    pub expires_at: i64,
}

/// What a new link is for.
#[derive(Clone, Copy, Debug)]
pub enum Purpose<'a> {
    /// To join a merchant's staff.
    Member {
        /// The account.
        merchant_id: Uuid,
        /// The role's name.
        role: &'a str,
        /// Whom it is meant for.
        email: Option<&'a str>,
    },
    /// To become an operator.
    Operator,
    /// To set a new password.
    Password {
        /// Whose.
        staff_id: Uuid,
    },
    /// To sign in with another address.
    Email {
        /// Who.
        staff_id: Uuid,
        /// The address, which the link is sent to.
        email: &'a str,
    },
}

/// What a token is worth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InvitationToken {
    /// Unused and unexpired.
    Good(Invitation),
    /// Nobody's, or revoked.
    Invalid,
    /// Somebody has used it.
    Used,
    /// Too late.
    Expired,
}

fn token_ref(conn: &Conn, token: &str) -> Vec<u8> {
    conn.keyring().hash("invitation", &[token.as_bytes()]).to_vec()
}

/// The key that seals a link's address, and its place: the account's that is joined, or the member's own.
async fn email_key<'a>(
    conn: &mut Conn,
    merchant_id: Option<Uuid>,
    staff_id: Option<Uuid>,
    id: &'a Uuid,
) -> Result<(DataKey, Place<'a>), Error> {
    let key = match (merchant_id, staff_id) {
        (Some(merchant_id), _) => merchants::key(conn, merchant_id).await?,
        (None, Some(staff_id)) => staff::key(conn, staff_id).await?,
        (None, None) => return Err(Error::Missing("invitation's owner")),
    };
    let place = Place {
        merchant_id: merchant_id.unwrap_or_default(),
        what: "invitations.email",
        id: id.as_bytes(),
    };
    Ok((key, place))
}

/// Makes a link; its token is shown this once. A new link that changes how somebody signs in voids their earlier ones of its kind, and no
/// other: anybody may ask for a new password.
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

/// What a token is worth, using nothing up.
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
        Some(row) => Ok(InvitationToken::Good(row.open(conn).await?)),
    }
}

/// Uses a token up, in one conditional update: of any number of simultaneous calls one gets [`InvitationToken::Good`].
///
/// # Errors
/// [`Error::Sealed`].
pub async fn take(tx: &mut Tx, token: &str) -> Result<InvitationToken, Error> {
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
        Some(row) => Ok(InvitationToken::Good(row.open(tx).await?)),
        None => peek(tx, token).await,
    }
}

/// An account's links that can still be used, newest first.
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

/// Voids an account's link; whether there was one that could be used.
pub async fn revoke(tx: &mut Tx, merchant_id: Uuid, id: Uuid) -> Result<bool, Error> {
    const SQL: &str = "delete from invitations where merchant_id = $1 and id = $2 and used_at is null";
    Ok(execute!(tx, merchant(merchant_id), SQL, id)? == 1)
}

/// Voids the links that set a member's password or address, of every kind: because something about how they sign in did change.
pub async fn void_own(tx: &mut Tx, staff_id: Uuid) -> Result<u64, Error> {
    const SQL: &str = "delete from invitations where staff_id = $1 and used_at is null";
    execute!(
        tx,
        across_accounts("a member of staff may belong to several accounts"),
        SQL,
        staff_id
    )
}

/// Voids the links that a member made for others, to join an account or to set a password: whoever loses a right leaves no door open.
pub async fn void_made_by(tx: &mut Tx, merchant_id: Uuid, staff_id: Uuid) -> Result<u64, Error> {
    const SQL: &str = "delete from invitations
               where invited_by = $2 and used_at is null and (merchant_id = $1 or kind = 'password')";
    execute!(tx, merchant(merchant_id), SQL, staff_id)
}

/// Voids every unused link to become an operator: the console shows the latest only.
pub async fn void_operators(tx: &mut Tx) -> Result<u64, Error> {
    execute!(
        tx,
        across_accounts("an operator's invitation belongs to no account"),
        "delete from invitations where kind = 'operator' and used_at is null"
    )
}

/// Deletes the links that could be used until some time ago; answers how many.
pub async fn sweep(tx: &mut Tx, before: i64) -> Result<u64, Error> {
    execute!(
        tx,
        across_accounts("retention deletes every account's invitations"),
        "delete from invitations where expires_at <= $1",
        before
    )
}
