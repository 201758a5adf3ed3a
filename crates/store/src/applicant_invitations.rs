//! Invitations of applicants: links for mail or SMS that open hosted sessions, one at a time, until the verification
//! has ended. A token contains the merchant's short id and is stored as a keyed hash. (The invitations of the portal's
//! staff are in [`invitations`](crate::invitations).) This module opens no session and sends nothing.
//! [`applicant_invitation_state`](crate::applicant_invitation_state) has what sessions change.

use secrecy::{ExposeSecret as _, SecretString};
use uuid::Uuid;

use crate::keyring::SealContext;
use crate::labels::external_ref;
use crate::merchants::{self, Merchant};
use crate::sessions::{self, Link, SessionStatus};
use crate::sql::{execute, fetch};
use crate::text_enum::Word;
use crate::{Conn, Error, Scope, Tx, applicant_invitation_state as state};

pub use crate::applicant_invitation_state::{InvitationStatus, lock};

/// An invitation, without its token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invitation {
    /// Its id. Ids increase with time, but for differences between the nodes' clocks.
    pub id: Uuid,
    /// The applicant, Group, Flow and expected person of its sessions. An invitation that has ended expects nobody.
    pub link: Link,
    /// Its status.
    pub status: InvitationStatus,
    /// The attempts of all its sessions.
    pub attempts: i64,
    /// The attempts that it allows.
    pub max_attempts: i64,
    /// The session whose attempt or review ended it.
    pub deciding_session: Option<Uuid>,
    /// When it was created (ms).
    pub created_at: i64,
    /// Until when it opens sessions (ms).
    pub expires_at: i64,
    /// When an attempt, a reviewer, the merchant or its time ended it (ms).
    pub ended_at: Option<i64>,
}

/// A session that an invitation opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvitedSession {
    /// The session.
    pub id: Uuid,
    /// Its status.
    pub status: SessionStatus,
    /// When it was opened (ms).
    pub created_at: i64,
}

/// Creates an invitation that opens sessions for `ttl_ms`. Its token is returned only this once.
///
/// # Errors
/// [`Error::Missing`] for an unknown account.
pub async fn create(
    tx: &mut Tx,
    scope: Scope,
    link: Link,
    max_attempts: i64,
    ttl_ms: i64,
) -> Result<(Invitation, SecretString), Error> {
    let (token, _) = sessions::new_token(tx, scope.merchant_id).await?;
    let token_ref = token_ref(tx, token.expose_secret());
    let invitation = Invitation {
        id: Uuid::now_v7(),
        link,
        status: InvitationStatus::Open,
        attempts: 0,
        max_attempts,
        deciding_session: None,
        created_at: tx.now(),
        expires_at: tx.now().saturating_add(ttl_ms),
        ended_at: None,
    };
    let Invitation { id, link, .. } = &invitation;
    let key = merchants::key(tx, scope.merchant_id).await?;
    let user_id = key.seal(&context(scope, USER_ID, id), link.user_id.as_bytes());
    let expected = link
        .expected
        .as_ref()
        .map(|expected| key.seal(&context(scope, EXPECTED, id), expected.as_bytes()));
    let user_ref = external_ref(tx, scope, &link.user_id);
    execute!(
        tx,
        scope,
        "insert into applicant_invitations (merchant_id, sandbox, id, token_ref, group_id, flow_id, user_id_sealed,
             user_ref, expected_sealed, state, max_attempts, created_at, expires_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, 'open', $10, $11, $12)",
        *id,
        &token_ref,
        link.group_id,
        link.flow_id,
        &user_id,
        &user_ref,
        expected,
        invitation.max_attempts,
        invitation.created_at,
        invitation.expires_at
    )?;
    Ok((invitation, token))
}

fn token_ref(conn: &Conn, token: &str) -> Vec<u8> {
    conn.keyring()
        .hash("applicant invitation", &[token.as_bytes()])
        .to_vec()
}

const USER_ID: &str = "applicant_invitations.user_id";
const EXPECTED: &str = "applicant_invitations.expected";

fn context<'a>(scope: Scope, what: &'static str, id: &'a Uuid) -> SealContext<'a> {
    SealContext {
        merchant_id: scope.merchant_id,
        what,
        id: id.as_bytes(),
    }
}

/// Finds the invitation of a token, with its account; `None` if the token is unknown.
pub async fn of_token(conn: &mut Conn, token: &str) -> Result<Option<(Merchant, Scope, Uuid)>, Error> {
    let Some(merchant) = sessions::claimed_merchant(conn, token).await? else {
        return Ok(None);
    };
    let token_ref = token_ref(conn, token);
    let found = fetch!(
        optional,
        conn,
        both_modes(
            merchant.id,
            "the invitation's token carries the account and not the mode"
        ),
        (bool, Uuid),
        "select sandbox, id from applicant_invitations where merchant_id = $1 and token_ref = $2",
        &token_ref
    )?;
    Ok(found.map(|(sandbox, id)| {
        let scope = Scope {
            merchant_id: merchant.id,
            sandbox,
        };
        (merchant, scope, id)
    }))
}

#[derive(sqlx::FromRow)]
struct Row {
    id: Uuid,
    group_id: Uuid,
    flow_id: Uuid,
    user_id_sealed: Vec<u8>,
    expected_sealed: Option<Vec<u8>>,
    #[sqlx(try_from = "Word<InvitationStatus>")]
    status: InvitationStatus,
    attempts: i64,
    max_attempts: i64,
    deciding_session: Option<Uuid>,
    created_at: i64,
    expires_at: i64,
    ended_at: Option<i64>,
}

/// Whether an attempt of an invitation `i` waits for a reviewer.
macro_rules! in_review {
    () => {
        "exists (select 1 from sessions s where s.merchant_id = $1 and s.sandbox = $2 and s.invitation_id = i.id
             and s.status = 'pending' and s.stage = 'in_review')"
    };
}

macro_rules! select {
    ($($rest:tt)*) => {
        concat!(
            "select i.id, i.group_id, i.flow_id, i.user_id_sealed, i.expected_sealed, i.attempts, i.max_attempts,
                 i.deciding_session, i.created_at, i.expires_at, i.ended_at,
                 case when i.state = 'open' and ", in_review!(), " then 'in_review' else i.state end as status
             from applicant_invitations i where i.merchant_id = $1 and i.sandbox = $2 and ",
            $($rest)*
        )
    };
}

async fn open_all(conn: &mut Conn, scope: Scope, rows: Vec<Row>) -> Result<Vec<Invitation>, Error> {
    let key = merchants::key(conn, scope.merchant_id).await?;
    let open = |row: Row| {
        let user_id = key.open_text(&context(scope, USER_ID, &row.id), &row.user_id_sealed)?;
        let expected = sessions::open_optional(
            &key,
            &context(scope, EXPECTED, &row.id),
            row.expected_sealed.as_deref(),
        )?;
        Ok(Invitation {
            id: row.id,
            link: Link {
                group_id: row.group_id,
                flow_id: row.flow_id,
                user_id,
                expected,
            },
            status: row.status,
            attempts: row.attempts,
            max_attempts: row.max_attempts,
            deciding_session: row.deciding_session,
            created_at: row.created_at,
            expires_at: row.expires_at,
            ended_at: row.ended_at,
        })
    };
    rows.into_iter().map(open).collect()
}

/// One invitation.
///
/// # Errors
/// [`Error::Sealed`].
pub async fn get(conn: &mut Conn, scope: Scope, id: Uuid) -> Result<Option<Invitation>, Error> {
    let rows = fetch!(all, conn, scope, Row, select!("i.id = $3"), id)?;
    Ok(open_all(conn, scope, rows).await?.pop())
}

/// Which invitations a list contains.
#[derive(Clone, Debug, Default)]
pub struct InvitationFilter<'a> {
    /// Only those with this status.
    pub status: Option<InvitationStatus>,
    /// Only those of this applicant.
    pub user_id: Option<&'a str>,
    /// Only those created before this one.
    pub before: Option<Uuid>,
}

/// An account's invitations, newest first, at most `limit`.
///
/// # Errors
/// [`Error::Sealed`].
pub async fn list(
    conn: &mut Conn,
    scope: Scope,
    filter: &InvitationFilter<'_>,
    limit: i64,
) -> Result<Vec<Invitation>, Error> {
    let before = filter.before.unwrap_or(Uuid::max());
    let user_ref = filter.user_id.map(|user_id| external_ref(conn, scope, user_id));
    // One statement for each combination, so that each uses its index.
    macro_rules! page {
        ([$($only:tt)*] $(, $bind:expr)*) => {{
            const SQL: &str = select!($($only)*, "i.id < $3 order by i.id desc limit $4");
            fetch!(all, conn, scope, Row, SQL, before, limit $(, $bind)*)?
        }};
    }
    let rows = match (filter.status, &user_ref) {
        (None, None) => page!([""]),
        (None, Some(user)) => page!(["i.user_ref = $5 and "], user),
        (Some(InvitationStatus::Open), None) => page!(["i.state = 'open' and not ", in_review!(), " and "]),
        (Some(InvitationStatus::Open), Some(user)) => {
            page!(
                [
                    "i.user_ref = $5 and i.state = 'open' and not ",
                    in_review!(),
                    " and "
                ],
                user
            )
        }
        (Some(InvitationStatus::InReview), None) => page!(["i.state = 'open' and ", in_review!(), " and "]),
        (Some(InvitationStatus::InReview), Some(user)) => {
            page!(
                ["i.user_ref = $5 and i.state = 'open' and ", in_review!(), " and "],
                user
            )
        }
        (Some(ended), None) => page!(["i.state = $5 and "], ended.as_str()),
        (Some(ended), Some(user)) => page!(["i.user_ref = $6 and i.state = $5 and "], ended.as_str(), user),
    };
    open_all(conn, scope, rows).await
}

#[derive(sqlx::FromRow)]
struct SessionRow {
    id: Uuid,
    #[sqlx(try_from = "Word<SessionStatus>")]
    status: SessionStatus,
    created_at: i64,
}

/// The newest sessions that an invitation opened, at most `limit`, the earliest first.
pub async fn sessions_of(
    conn: &mut Conn,
    scope: Scope,
    id: Uuid,
    limit: i64,
) -> Result<Vec<InvitedSession>, Error> {
    const SQL: &str = "select id, status, created_at from sessions
               where merchant_id = $1 and sandbox = $2 and invitation_id = $3
               order by created_at desc, id desc limit $4";
    let rows = fetch!(all, conn, scope, SessionRow, SQL, id, limit)?;
    let of_row = |row: SessionRow| InvitedSession {
        id: row.id,
        status: row.status,
        created_at: row.created_at,
    };
    Ok(rows.into_iter().rev().map(of_row).collect())
}

/// The sessions of an invitation that have not ended.
pub async fn open_sessions_of(conn: &mut Conn, scope: Scope, id: Uuid) -> Result<Vec<Uuid>, Error> {
    const SQL: &str = "select id from sessions
               where merchant_id = $1 and sandbox = $2 and invitation_id = $3 and status = 'pending'";
    let rows = fetch!(all, conn, scope, (Uuid,), SQL, id)?;
    Ok(rows.into_iter().map(|(id,)| id).collect())
}

/// Revokes an open invitation; returns whether it was open. Its sessions are left as they are.
pub async fn revoke(tx: &mut Tx, scope: Scope, id: Uuid) -> Result<bool, Error> {
    state::end(tx, scope, id, InvitationStatus::Revoked, None).await
}

/// Revokes the open invitations of a Flow or Group that is deleted, except those in review; returns how many. Their
/// sessions are left as they are.
pub async fn revoke_of_configuration(tx: &mut Tx, scope: Scope, flow_or_group: Uuid) -> Result<u64, Error> {
    // Whether a session is in review is read after the locks, because a decision or an attempt may hold them.
    const LOCK: &str = "update applicant_invitations set attempts = attempts
               where merchant_id = $1 and sandbox = $2 and state = 'open' and (flow_id = $3 or group_id = $3)";
    execute!(tx, scope, LOCK, flow_or_group)?;
    let now = tx.now();
    const SQL: &str =
        "update applicant_invitations set state = 'revoked', ended_at = $4, expected_sealed = null
               where merchant_id = $1 and sandbox = $2 and state = 'open' and (flow_id = $3 or group_id = $3)
                   and not exists (select 1 from sessions s where s.merchant_id = $1 and s.sandbox = $2
                       and s.invitation_id = applicant_invitations.id and s.status = 'pending'
                       and s.stage = 'in_review')";
    execute!(tx, scope, SQL, flow_or_group, now)
}

/// How long after its time an invitation is still `open` if nothing ended it (ms). A press just before the end may have to
/// wait for other transactions; a status that was read as final must not change.
const GRACE_MS: i64 = 5 * 60 * 1_000;

/// Ends the open invitations whose time is over and that have no open session; returns how many.
pub async fn expire(tx: &mut Tx) -> Result<u64, Error> {
    let before = tx.now() - GRACE_MS;
    execute!(
        tx,
        across_accounts("housekeeping ends every account's invitations"),
        "update applicant_invitations set state = 'expired', ended_at = expires_at, expected_sealed = null
         where state = 'open' and expires_at <= $1
             and not exists (select 1 from sessions s where s.merchant_id = applicant_invitations.merchant_id
                 and s.sandbox = applicant_invitations.sandbox and s.invitation_id = applicant_invitations.id
                 and s.status = 'pending')",
        before
    )
}

/// Deletes ended invitations that expired before a time (ms); returns how many.
pub async fn sweep(tx: &mut Tx, before: i64) -> Result<u64, Error> {
    execute!(
        tx,
        across_accounts("retention deletes every account's invitations"),
        "delete from applicant_invitations where expires_at < $1 and state <> 'open'",
        before
    )
}
