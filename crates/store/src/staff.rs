//! People who sign in to the portal, a merchant's staff and the installation's operators, with their
//! credentials. The database reveals none of them: names, addresses and TOTP secrets are sealed under the
//! member's own key, and passwords and recovery codes are hashed. This module neither knows what a role
//! allows nor hashes passwords.

mod key_rotation;
mod keys;
mod totp;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

pub use self::key_rotation::rewrap_keys;
use self::keys::{EMAIL, NAME, WRAPPED_KEY};
pub(crate) use self::keys::{key, seal_context};
pub use self::totp::{clear_totp, pending_totp, set_totp, totp, use_totp_step};
use crate::keyring::DataKey;
use crate::merchants::Merchant;
use crate::sql::{execute, fetch};
use crate::{Conn, Error, Tx};

/// A person who can sign in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StaffMember {
    /// The person's id.
    pub id: Uuid,
    /// The email address as the person entered it.
    pub email: String,
    /// The name as the person entered it.
    pub name: String,
    /// Whether the person is an operator of the installation.
    pub operator: bool,
    /// The language of the pages; `None` for the browser's.
    pub language: Option<String>,
    /// Whether an authenticator app is set up.
    pub has_totp: bool,
    /// Whether a passkey was added.
    pub has_passkey: bool,
    /// When the account was created (ms).
    pub created_at: i64,
    /// When the person last signed in (ms).
    pub signed_in_at: Option<i64>,
    /// When an operator disabled the account (ms).
    pub disabled_at: Option<i64>,
}

impl StaffMember {
    /// Whether a password alone signs nobody in: an authenticator app is set up, or a passkey was added.
    #[must_use]
    pub fn has_second_factor(&self) -> bool {
        self.has_totp || self.has_passkey
    }
}

/// The content of a new account.
#[derive(Clone, Copy, Debug)]
pub struct NewStaff<'a> {
    /// The email address, unique regardless of case.
    pub email: &'a str,
    /// The name.
    pub name: &'a str,
    /// The Argon2id hash of the password, in PHC form.
    pub password_hash: &'a str,
    /// Whether the person is an operator of the installation.
    pub operator: bool,
}

/// A member of a merchant's staff.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Membership {
    /// The member.
    pub member: StaffMember,
    /// The role's name.
    pub role: String,
    /// When the member joined (ms).
    pub created_at: i64,
    /// Since when the member is disabled in this merchant (ms).
    pub disabled_at: Option<i64>,
}

impl Membership {
    /// Whether the member may use this merchant's account: disabled neither here nor in the installation.
    pub fn is_active(&self) -> bool {
        self.disabled_at.is_none() && self.member.disabled_at.is_none()
    }
}

#[derive(sqlx::FromRow)]
struct Row {
    id: Uuid,
    wrapped_key: Vec<u8>,
    email_sealed: Vec<u8>,
    name_sealed: Vec<u8>,
    operator: bool,
    language: Option<String>,
    has_totp: bool,
    has_passkey: bool,
    created_at: i64,
    signed_in_at: Option<i64>,
    disabled_at: Option<i64>,
}

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "select s.id, s.wrapped_key, s.email_sealed, s.name_sealed, s.operator, s.language,
                 s.totp_sealed is not null as has_totp,
                 exists (select 1 from staff_passkeys p where p.staff_id = s.id) as has_passkey,
                 s.created_at, s.signed_in_at, s.disabled_at
             from staff s ",
            $rest
        )
    };
}

impl Row {
    fn open(self, conn: &Conn) -> Result<StaffMember, Error> {
        let key = conn
            .keyring()
            .unwrap_key(&seal_context(&self.id, WRAPPED_KEY), &self.wrapped_key)?;
        Ok(StaffMember {
            email: key.open_text(&seal_context(&self.id, EMAIL), &self.email_sealed)?,
            name: key.open_text(&seal_context(&self.id, NAME), &self.name_sealed)?,
            id: self.id,
            operator: self.operator,
            language: self.language,
            has_totp: self.has_totp,
            has_passkey: self.has_passkey,
            created_at: self.created_at,
            signed_in_at: self.signed_in_at,
            disabled_at: self.disabled_at,
        })
    }
}

fn email_ref(conn: &Conn, email: &str) -> Vec<u8> {
    let email = email.trim().to_lowercase();
    conn.keyring().hash("staff.email", &[email.as_bytes()]).to_vec()
}

/// A keyed hash of an address, known or not, as a name for counting tries. It does not reveal the address.
#[must_use]
pub fn pseudonym(conn: &Conn, email: &str) -> String {
    hex::encode(email_ref(conn, email))
}

/// Creates an account, which belongs to no merchant yet.
///
/// # Errors
/// [`Error::Conflict`] if the address already has an account.
pub async fn create(tx: &mut Tx, new: &NewStaff<'_>) -> Result<StaffMember, Error> {
    let member = StaffMember {
        id: Uuid::now_v7(),
        email: new.email.trim().into(),
        name: new.name.into(),
        operator: new.operator,
        language: None,
        has_totp: false,
        has_passkey: false,
        created_at: tx.now(),
        signed_in_at: None,
        disabled_at: None,
    };
    let key = DataKey::generate();
    let wrapped = tx.keyring().wrap(&seal_context(&member.id, WRAPPED_KEY), &key);
    let email_ref = email_ref(tx, new.email);
    execute!(
        tx,
        installation,
        "insert into staff (id, email_ref, wrapped_key, email_sealed, name_sealed, password_hash, recovery, operator, created_at)
         values ($1, $2, $3, $4, $5, $6, '[]', $7, $8)",
        member.id,
        &email_ref,
        &wrapped,
        &key.seal(&seal_context(&member.id, EMAIL), member.email.as_bytes()),
        &key.seal(&seal_context(&member.id, NAME), member.name.as_bytes()),
        new.password_hash,
        member.operator,
        member.created_at,
    )?;
    Ok(member)
}

/// One member.
///
/// # Errors
/// [`Error::Sealed`].
pub async fn get(conn: &mut Conn, id: Uuid) -> Result<Option<StaffMember>, Error> {
    let row = fetch!(optional, conn, installation, Row, select!("where s.id = $1"), id)?;
    row.map(|row| row.open(conn)).transpose()
}

/// The member with an email address, regardless of case.
///
/// # Errors
/// As [`get`].
pub async fn by_email(conn: &mut Conn, email: &str) -> Result<Option<StaffMember>, Error> {
    let email_ref = email_ref(conn, email);
    let row = fetch!(
        optional,
        conn,
        installation,
        Row,
        select!("where s.email_ref = $1"),
        &email_ref
    )?;
    row.map(|row| row.open(conn)).transpose()
}

/// The operators, oldest first.
///
/// # Errors
/// As [`get`].
pub async fn operators(conn: &mut Conn) -> Result<Vec<StaffMember>, Error> {
    let rows = fetch!(
        all,
        conn,
        installation,
        Row,
        select!("where s.operator order by s.created_at, s.id")
    )?;
    rows.into_iter().map(|row| row.open(conn)).collect()
}

/// Grants or revokes a person's operator role.
pub async fn set_operator(tx: &mut Tx, id: Uuid, operator: bool) -> Result<(), Error> {
    execute!(
        tx,
        installation,
        "update staff set operator = $2 where id = $1",
        id,
        operator
    )
    .map(|_| ())
}

/// Disables or enables an account.
pub async fn set_disabled(tx: &mut Tx, id: Uuid, disabled: bool) -> Result<(), Error> {
    let at = disabled.then_some(tx.now());
    execute!(
        tx,
        installation,
        "update staff set disabled_at = $2 where id = $1",
        id,
        at
    )
    .map(|_| ())
}

/// Records that a member signed in.
pub async fn record_sign_in(tx: &mut Tx, id: Uuid) -> Result<(), Error> {
    let now = tx.now();
    execute!(
        tx,
        installation,
        "update staff set signed_in_at = $2 where id = $1",
        id,
        now
    )
    .map(|_| ())
}

/// Changes a member's name.
///
/// # Errors
/// [`Error::Missing`]; [`Error::Sealed`].
pub async fn set_name(tx: &mut Tx, id: Uuid, name: &str) -> Result<(), Error> {
    let sealed = key(tx, id).await?.seal(&seal_context(&id, NAME), name.as_bytes());
    execute!(
        tx,
        installation,
        "update staff set name_sealed = $2 where id = $1",
        id,
        &sealed
    )
    .map(|_| ())
}

/// Changes a member's email address.
///
/// # Errors
/// [`Error::Conflict`] if the address already has an account; [`Error::Missing`]; [`Error::Sealed`].
pub async fn set_email(tx: &mut Tx, id: Uuid, email: &str) -> Result<(), Error> {
    let sealed = key(tx, id)
        .await?
        .seal(&seal_context(&id, EMAIL), email.as_bytes());
    let email_ref = email_ref(tx, email);
    const SQL: &str = "update staff set email_ref = $2, email_sealed = $3 where id = $1";
    execute!(tx, installation, SQL, id, &email_ref, &sealed).map(|_| ())
}

/// The Argon2id hash of a member's password, in PHC form.
///
/// # Errors
/// [`Error::Missing`].
pub async fn password_hash(conn: &mut Conn, id: Uuid) -> Result<String, Error> {
    const SQL: &str = "select password_hash from staff where id = $1";
    let (hash,) =
        fetch!(optional, conn, installation, (String,), SQL, id)?.ok_or(Error::Missing("member of staff"))?;
    Ok(hash)
}

/// Whether a member's password still has this hash. The row stays locked until the transaction ends. So a
/// session created in it exists before the password can change, and that change ends the session.
pub async fn lock_password(tx: &mut Tx, id: Uuid, hash: &str) -> Result<bool, Error> {
    const SQL: &str = "update staff set password_hash = $2 where id = $1 and password_hash = $2";
    Ok(execute!(tx, installation, SQL, id, hash)? == 1)
}

/// Sets the hash of a member's password.
pub async fn set_password(tx: &mut Tx, id: Uuid, hash: &str) -> Result<(), Error> {
    execute!(
        tx,
        installation,
        "update staff set password_hash = $2 where id = $1",
        id,
        hash
    )
    .map(|_| ())
}

/// The keyed hashes of recovery codes, in hex.
#[derive(Default, Serialize, Deserialize)]
struct Recovery(Vec<String>);

fn recovery_ref(conn: &Conn, id: Uuid, code: &str) -> String {
    hex::encode(
        conn.keyring()
            .hash("staff.recovery", &[id.as_bytes(), code.as_bytes()]),
    )
}

async fn load_recovery_codes(conn: &mut Conn, id: Uuid) -> Result<(String, Recovery), Error> {
    const SQL: &str = "select recovery from staff where id = $1";
    let (text,) =
        fetch!(optional, conn, installation, (String,), SQL, id)?.ok_or(Error::Missing("member of staff"))?;
    let codes = serde_json::from_str(&text).map_err(|_| Error::Unreadable("recovery codes"))?;
    Ok((text, codes))
}

/// Replaces a member's recovery codes.
pub async fn set_recovery(tx: &mut Tx, id: Uuid, codes: &[String]) -> Result<(), Error> {
    let hashes: Vec<String> = codes.iter().map(|code| recovery_ref(tx, id, code)).collect();
    let text = serde_json::Value::from(hashes).to_string();
    execute!(
        tx,
        installation,
        "update staff set recovery = $2 where id = $1",
        id,
        &text
    )
    .map(|_| ())
}

/// Uses up a recovery code; returns whether it was valid. Of any number of simultaneous uses, one succeeds.
///
/// # Errors
/// [`Error::Missing`].
pub async fn use_recovery(tx: &mut Tx, id: Uuid, code: &str) -> Result<bool, Error> {
    let used = recovery_ref(tx, id, code);
    let (before, codes) = load_recovery_codes(tx, id).await?;
    let left: Vec<String> = codes.0.iter().filter(|code| **code != used).cloned().collect();
    if left.len() == codes.0.len() {
        return Ok(false);
    }
    let after = serde_json::Value::from(left).to_string();
    const SQL: &str = "update staff set recovery = $3 where id = $1 and recovery = $2";
    Ok(execute!(tx, installation, SQL, id, &before, &after)? == 1)
}

/// The number of recovery codes that a member has left.
///
/// # Errors
/// [`Error::Missing`].
pub async fn count_recovery_codes(conn: &mut Conn, id: Uuid) -> Result<usize, Error> {
    Ok(load_recovery_codes(conn, id).await?.1.0.len())
}

/// Adds a person to a merchant's staff.
///
/// # Errors
/// [`Error::Conflict`] if the person already belongs to it, disabled or not.
pub async fn join(tx: &mut Tx, merchant_id: Uuid, staff_id: Uuid, role: &str) -> Result<(), Error> {
    let now = tx.now();
    let joined = execute!(
        tx,
        merchant(merchant_id),
        "insert into memberships (merchant_id, staff_id, role, created_at) values ($1, $2, $3, $4)
         on conflict (merchant_id, staff_id) do nothing",
        staff_id,
        role,
        now
    )?;
    if joined == 0 {
        return Err(Error::Conflict);
    }
    Ok(())
}

/// Sets a member's role; returns whether there was such a member.
pub async fn set_role(tx: &mut Tx, merchant_id: Uuid, staff_id: Uuid, role: &str) -> Result<bool, Error> {
    const SQL: &str = "update memberships set role = $3 where merchant_id = $1 and staff_id = $2";
    Ok(execute!(tx, merchant(merchant_id), SQL, staff_id, role)? == 1)
}

/// Disables or enables a member in a merchant; returns whether there was such a member.
pub async fn set_membership_disabled(
    tx: &mut Tx,
    merchant_id: Uuid,
    staff_id: Uuid,
    disabled: bool,
) -> Result<bool, Error> {
    let at = disabled.then_some(tx.now());
    const SQL: &str = "update memberships set disabled_at = $3 where merchant_id = $1 and staff_id = $2";
    Ok(execute!(tx, merchant(merchant_id), SQL, staff_id, at)? == 1)
}

/// A member's role; `None` if the member is disabled. The row stays locked until the transaction ends. So the
/// effects of the transaction exist before the member can be disabled, and disabling can undo them.
pub async fn lock_member(tx: &mut Tx, merchant_id: Uuid, staff_id: Uuid) -> Result<Option<String>, Error> {
    const SQL: &str =
        "update memberships set role = role where merchant_id = $1 and staff_id = $2 and disabled_at is null
               returning role";
    let row = fetch!(optional, tx, merchant(merchant_id), (String,), SQL, staff_id)?;
    Ok(row.map(|(role,)| role))
}

/// A member, whose row stays locked until the transaction ends: simultaneous changes of the second factors wait for
/// each other.
///
/// # Errors
/// [`Error::Missing`]; [`Error::Sealed`].
pub async fn lock(tx: &mut Tx, id: Uuid) -> Result<StaffMember, Error> {
    const SQL: &str = "update staff set wrapped_key = wrapped_key where id = $1";
    execute!(tx, installation, SQL, id)?;
    get(tx, id).await?.ok_or(Error::Missing("member of staff"))
}

/// Whether a person is an operator and not disabled. Locks the row like [`lock_member`].
pub async fn lock_operator(tx: &mut Tx, id: Uuid) -> Result<bool, Error> {
    const SQL: &str =
        "update staff set operator = operator where id = $1 and operator and disabled_at is null";
    Ok(execute!(tx, installation, SQL, id)? == 1)
}

/// The number of members who have a role and are not disabled. Their rows stay locked until the transaction
/// ends. If two people take the role from each other at once, one of them finds that nobody else has it.
pub async fn count_and_lock_role(tx: &mut Tx, merchant_id: Uuid, role: &str) -> Result<u64, Error> {
    const SQL: &str = "update memberships set role = $2
               where merchant_id = $1 and role = $2 and disabled_at is null
                   and staff_id in (select id from staff where disabled_at is null)";
    execute!(tx, merchant(merchant_id), SQL, role)
}

#[derive(sqlx::FromRow)]
struct MembershipRow {
    #[sqlx(flatten)]
    staff: Row,
    role: String,
    joined_at: i64,
    left_at: Option<i64>,
}

impl MembershipRow {
    fn open(self, conn: &Conn) -> Result<Membership, Error> {
        Ok(Membership {
            member: self.staff.open(conn)?,
            role: self.role,
            created_at: self.joined_at,
            disabled_at: self.left_at,
        })
    }
}

macro_rules! select_membership {
    ($rest:literal) => {
        concat!(
            "select s.id, s.wrapped_key, s.email_sealed, s.name_sealed, s.operator, s.language,
                 s.totp_sealed is not null as has_totp,
                 exists (select 1 from staff_passkeys p where p.staff_id = s.id) as has_passkey, s.created_at, s.signed_in_at, s.disabled_at,
                 m.role, m.created_at as joined_at, m.disabled_at as left_at
             from memberships m join staff s on s.id = m.staff_id ",
            $rest
        )
    };
}

/// A merchant's staff, oldest first.
///
/// # Errors
/// As [`get`].
pub async fn of_merchant(conn: &mut Conn, merchant_id: Uuid) -> Result<Vec<Membership>, Error> {
    const SQL: &str = select_membership!("where m.merchant_id = $1 order by m.created_at, s.id");
    let rows = fetch!(all, conn, merchant(merchant_id), MembershipRow, SQL)?;
    rows.into_iter().map(|row| row.open(conn)).collect()
}

/// Whether an email address, regardless of case, belongs to an active member of a merchant's staff.
pub async fn is_member(conn: &mut Conn, merchant_id: Uuid, email: &str) -> Result<bool, Error> {
    let email_ref = email_ref(conn, email);
    const SQL: &str = "select count(*) from memberships m join staff s on s.id = m.staff_id
               where m.merchant_id = $1 and s.email_ref = $2 and m.disabled_at is null and s.disabled_at is null";
    let (count,) = fetch!(one, conn, merchant(merchant_id), (i64,), SQL, &email_ref)?;
    Ok(count > 0)
}

/// One member of a merchant's staff.
///
/// # Errors
/// As [`get`].
pub async fn get_membership(
    conn: &mut Conn,
    merchant_id: Uuid,
    staff_id: Uuid,
) -> Result<Option<Membership>, Error> {
    const SQL: &str = select_membership!("where m.merchant_id = $1 and m.staff_id = $2");
    let row = fetch!(
        optional,
        conn,
        merchant(merchant_id),
        MembershipRow,
        SQL,
        staff_id
    )?;
    row.map(|row| row.open(conn)).transpose()
}

/// The merchants that a member has access to, with the role in each, by name.
pub async fn merchants_of(conn: &mut Conn, staff_id: Uuid) -> Result<Vec<(Merchant, String)>, Error> {
    #[derive(sqlx::FromRow)]
    struct Entry {
        #[sqlx(flatten)]
        merchant: Merchant,
        role: String,
    }
    let rows = fetch!(
        all,
        conn,
        across_accounts("a member of staff may belong to several accounts"),
        Entry,
        "select m.id, m.short_id, m.name, m.status, m.settings, m.created_at, m.updated_at, s.role
         from memberships s join merchants m on m.id = s.merchant_id
         where s.staff_id = $1 and s.disabled_at is null order by m.name, m.id",
        staff_id
    )?;
    Ok(rows.into_iter().map(|row| (row.merchant, row.role)).collect())
}

/// Whether a member also belongs to another merchant, disabled there or not.
pub async fn belongs_elsewhere(conn: &mut Conn, merchant_id: Uuid, staff_id: Uuid) -> Result<bool, Error> {
    const SQL: &str = "select count(*) from memberships where staff_id = $1 and merchant_id <> $2";
    let (others,) = fetch!(
        one,
        conn,
        across_accounts("a member of staff may belong to several accounts"),
        (i64,),
        SQL,
        staff_id,
        merchant_id
    )?;
    Ok(others > 0)
}
