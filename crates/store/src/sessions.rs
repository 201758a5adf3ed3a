//! Hosted sessions: their access tokens, and the status of each session. Tokens contain the merchant's short id and are
//! stored as keyed hashes. This module does not decide when a session has succeeded. An expired session stays pending
//! until [`admissions`](crate::admissions) settles it.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use secrecy::SecretString;
use uuid::Uuid;

use crate::applicant_invitation_state::InvitationStatus;
use crate::keyring::{DataKey, SealContext, random};
use crate::labels::external_ref;
use crate::merchants::{self, Merchant};
use crate::sql::{execute, fetch};
use crate::text_enum::{Word, text_enum};
use crate::{Conn, Error, Scope, Tx, applicant_invitation_state as invitation, document_readings};

/// The content of a link: its applicant, Group and Flow.
#[derive(Clone, PartialEq, Eq)]
pub struct Link {
    /// The Group.
    pub group_id: Uuid,
    /// The Flow.
    pub flow_id: Uuid,
    /// The merchant's label for the applicant (sealed).
    pub user_id: String,
    /// Whom the merchant expects, as JSON that this crate does not read (sealed). A session that has ended has none.
    pub expected: Option<String>,
}

/// Without the label and the expected person, which are personal data.
impl std::fmt::Debug for Link {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Link")
            .field("group_id", &self.group_id)
            .field("flow_id", &self.flow_id)
            .finish_non_exhaustive()
    }
}

/// Deletes the expected persons of sessions that a node of an earlier version ended; returns how many.
pub async fn forget_expected(tx: &mut Tx) -> Result<u64, Error> {
    execute!(
        tx,
        across_accounts("housekeeping forgets every account's expected persons"),
        "update sessions set expected_sealed = null where status <> 'pending' and expected_sealed is not null"
    )
}

/// Creates a token of the merchant's short id and 256 random bits; returns it and its keyed hash.
pub(crate) async fn new_token(tx: &mut Tx, merchant_id: Uuid) -> Result<(SecretString, Vec<u8>), Error> {
    let merchant = merchants::get(tx, merchant_id)
        .await?
        .ok_or(Error::Missing("merchant"))?;
    let token = format!("{}{}", merchant.short_id, URL_SAFE_NO_PAD.encode(random::<32>()));
    let token_ref = token_ref(tx, &token);
    Ok((SecretString::from(token), token_ref))
}

pub(crate) fn token_ref(conn: &Conn, token: &str) -> Vec<u8> {
    conn.keyring().hash("session token", &[token.as_bytes()]).to_vec()
}

/// The account whose short id the token contains. The token itself is not checked.
pub(crate) async fn claimed_merchant(conn: &mut Conn, token: &str) -> Result<Option<Merchant>, Error> {
    match token.get(..8) {
        Some(short_id) => merchants::by_short_id(conn, short_id).await,
        None => Ok(None),
    }
}

pub(crate) fn seal_context<'a>(merchant_id: Uuid, what: &'a str, id: &'a [u8]) -> SealContext<'a> {
    SealContext {
        merchant_id,
        what,
        id,
    }
}

text_enum! {
    /// The status of a session (interface §2.4).
    SessionStatus("session status") {
        /// It is not finished.
        Pending = "pending",
        /// It was passed.
        Success = "success",
        /// It finished without passing.
        Failed = "failed",
        /// It expired before the applicant finished.
        Expired = "expired",
    }
}

text_enum! {
    /// Who has to act next in a session.
    Stage("session stage") {
        /// The applicant.
        Open = "open",
        /// A reviewer.
        InReview = "in_review",
        /// Neither; the session is finished.
        Done = "done",
    }
}

/// A hosted session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// The session.
    pub id: Uuid,
    /// The content of its link.
    pub link: Link,
    /// The invitation that opened it; `None`: a one-time link did.
    pub invitation_id: Option<Uuid>,
    /// Its status. A terminal status does not change.
    pub status: SessionStatus,
    /// Who has to act next.
    pub stage: Stage,
    /// Attempts made.
    pub attempts: i64,
    /// Attempts allowed.
    pub max_attempts: i64,
    /// The attempt that decided it. Until then the attempt in review, otherwise the latest.
    pub log_id: Option<i64>,
    /// When it was created (ms).
    pub created_at: i64,
    /// When its access token expires (ms).
    pub expires_at: i64,
    /// When it became terminal (ms).
    pub completed_at: Option<i64>,
}

impl Session {
    /// Whether status and clock allow a new attempt at a time (ms).
    #[must_use]
    pub fn is_open(&self, now: i64) -> bool {
        self.status == SessionStatus::Pending && (self.stage == Stage::InReview || self.expires_at > now)
    }
}

/// Creates a session with its access token, which is valid for `ttl_ms` and returned only this once. `invitation_id`: the
/// invitation that opens it.
///
/// # Errors
/// [`Error::Missing`] for an unknown account.
pub async fn create(
    tx: &mut Tx,
    scope: Scope,
    link: Link,
    invitation_id: Option<Uuid>,
    max_attempts: i64,
    ttl_ms: i64,
) -> Result<(Session, SecretString), Error> {
    let (token, token_ref) = new_token(tx, scope.merchant_id).await?;
    let session = Session {
        id: Uuid::new_v4(),
        link,
        invitation_id,
        status: SessionStatus::Pending,
        stage: Stage::Open,
        attempts: 0,
        max_attempts,
        log_id: None,
        created_at: tx.now(),
        expires_at: tx.now() + ttl_ms,
        completed_at: None,
    };
    let key = merchants::key(tx, scope.merchant_id).await?;
    let sealed = seal_user_id(&key, scope.merchant_id, &session.id, &session.link.user_id);
    let expected = session.link.expected.as_ref().map(|expected| {
        let context = seal_context(scope.merchant_id, "sessions.expected", session.id.as_bytes());
        key.seal(&context, expected.as_bytes())
    });
    let user_ref = external_ref(tx, scope, &session.link.user_id);
    execute!(
        tx,
        scope,
        "insert into sessions (merchant_id, sandbox, id, token_ref, group_id, flow_id, user_id_sealed, status, stage,
             attempts, max_attempts, created_at, expires_at, user_ref, expected_sealed, invitation_id)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, 0, $10, $11, $12, $13, $14, $15)",
        session.id,
        &token_ref,
        session.link.group_id,
        session.link.flow_id,
        &sealed,
        session.status.as_str(),
        session.stage.as_str(),
        session.max_attempts,
        session.created_at,
        session.expires_at,
        &user_ref,
        expected,
        session.invitation_id,
    )?;
    Ok((session, token))
}

/// Opens a sealed text that need not be there.
pub(crate) fn open_optional(
    key: &DataKey,
    context: &SealContext<'_>,
    sealed: Option<&[u8]>,
) -> Result<Option<String>, Error> {
    sealed.map(|sealed| key.open_text(context, sealed)).transpose()
}

/// Seals the label of a session's applicant for its row.
pub(crate) fn seal_user_id(merchant_key: &DataKey, merchant_id: Uuid, id: &Uuid, user_id: &str) -> Vec<u8> {
    merchant_key.seal(
        &seal_context(merchant_id, "sessions.user_id", id.as_bytes()),
        user_id.as_bytes(),
    )
}

#[derive(sqlx::FromRow)]
struct Row {
    sandbox: bool,
    id: Uuid,
    group_id: Uuid,
    flow_id: Uuid,
    user_id_sealed: Vec<u8>,
    expected_sealed: Option<Vec<u8>>,
    invitation_id: Option<Uuid>,
    #[sqlx(try_from = "Word<SessionStatus>")]
    status: SessionStatus,
    #[sqlx(try_from = "Word<Stage>")]
    stage: Stage,
    attempts: i64,
    max_attempts: i64,
    log_id: Option<i64>,
    created_at: i64,
    expires_at: i64,
    completed_at: Option<i64>,
}

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "select sandbox, id, group_id, flow_id, user_id_sealed, expected_sealed, invitation_id, status, stage,
                    attempts, max_attempts, log_id, created_at, expires_at, completed_at
             from sessions where merchant_id = $1 ",
            $rest
        )
    };
}

async fn open(conn: &mut Conn, merchant_id: Uuid, row: Row) -> Result<Session, Error> {
    let key = merchants::key(conn, merchant_id).await?;
    open_with(&key, merchant_id, row)
}

fn open_with(key: &DataKey, merchant_id: Uuid, row: Row) -> Result<Session, Error> {
    let user_id = key.open_text(
        &seal_context(merchant_id, "sessions.user_id", row.id.as_bytes()),
        &row.user_id_sealed,
    )?;
    let expected = seal_context(merchant_id, "sessions.expected", row.id.as_bytes());
    let expected = open_optional(key, &expected, row.expected_sealed.as_deref())?;
    Ok(Session {
        id: row.id,
        link: Link {
            group_id: row.group_id,
            flow_id: row.flow_id,
            user_id,
            expected,
        },
        invitation_id: row.invitation_id,
        status: row.status,
        stage: row.stage,
        attempts: row.attempts,
        max_attempts: row.max_attempts,
        log_id: row.log_id,
        created_at: row.created_at,
        expires_at: row.expires_at,
        completed_at: row.completed_at,
    })
}

/// The newest sessions, newest first.
///
/// # Errors
/// [`Error::Sealed`].
pub async fn recent(conn: &mut Conn, scope: Scope, limit: i64) -> Result<Vec<Session>, Error> {
    const SQL: &str = select!("and sandbox = $2 order by created_at desc, id limit $3");
    let rows = fetch!(all, conn, scope, Row, SQL, limit)?;
    let key = merchants::key(conn, scope.merchant_id).await?;
    rows.into_iter()
        .map(|row| open_with(&key, scope.merchant_id, row))
        .collect()
}

/// One session.
///
/// # Errors
/// [`Error::Sealed`].
pub async fn get(conn: &mut Conn, scope: Scope, id: Uuid) -> Result<Option<Session>, Error> {
    const SQL: &str = select!("and sandbox = $2 and id = $3");
    match fetch!(optional, conn, scope, Row, SQL, id)? {
        Some(row) => open(conn, scope.merchant_id, row).await.map(Some),
        None => Ok(None),
    }
}

/// The session of an unexpired access token, with its account. The token comes from the exchange of the link
/// or from the hand-off to the second device.
///
/// # Errors
/// [`Error::Sealed`].
pub async fn by_access_token(
    conn: &mut Conn,
    token: &str,
) -> Result<Option<(Merchant, Scope, Session)>, Error> {
    let Some(merchant) = claimed_merchant(conn, token).await? else {
        return Ok(None);
    };
    let token_ref = token_ref(conn, token);
    let now = conn.now();
    let mut row = fetch!(
        optional,
        conn,
        both_modes(
            merchant.id,
            "an access token carries the account and not the mode"
        ),
        Row,
        select!("and token_ref = $2 and expires_at > $3"),
        &token_ref,
        now
    )?;
    if row.is_none() {
        row = fetch!(
            optional,
            conn,
            both_modes(
                merchant.id,
                "an access token carries the account and not the mode"
            ),
            Row,
            select!(
                "and expires_at > $3 and (sandbox, id) in
                 (select sandbox, session_id from handoffs where merchant_id = $1 and access_ref = $2)"
            ),
            &token_ref,
            now
        )?;
    }
    let Some(row) = row else {
        return Ok(None);
    };
    let scope = Scope {
        merchant_id: merchant.id,
        sandbox: row.sandbox,
    };
    let session = open(conn, merchant.id, row).await?;
    Ok(Some((merchant, scope, session)))
}

/// The invitation that opened a session.
pub(crate) async fn invitation_of(conn: &mut Conn, scope: Scope, id: Uuid) -> Result<Option<Uuid>, Error> {
    const SQL: &str =
        "select invitation_id from sessions where merchant_id = $1 and sandbox = $2 and id = $3";
    let found = fetch!(optional, conn, scope, (Option<Uuid>,), SQL, id)?;
    Ok(found.and_then(|(invitation_id,)| invitation_id))
}

/// As [`invitation_of`], after locking the invitation, which is locked before its sessions.
async fn lock_invitation(tx: &mut Tx, scope: Scope, id: Uuid) -> Result<Option<Uuid>, Error> {
    let invitation_id = invitation_of(tx, scope, id).await?;
    if let Some(invitation_id) = invitation_id {
        invitation::lock(tx, scope, invitation_id).await?;
    }
    Ok(invitation_id)
}

/// Ends the open invitation of a session by a decision on an attempt, also if the session ended before. If the invitation
/// was replaced by another one, that one ends; if it has expired, it is not renewed any more.
pub async fn end_invitation(tx: &mut Tx, scope: Scope, id: Uuid, status: SessionStatus) -> Result<(), Error> {
    let state = match status {
        SessionStatus::Success => InvitationStatus::Success,
        SessionStatus::Failed => InvitationStatus::Failed,
        // A session that only ran out of time leaves its invitation open.
        SessionStatus::Pending | SessionStatus::Expired => return Ok(()),
    };
    let Some(invitation_id) = lock_invitation(tx, scope, id).await? else {
        return Ok(());
    };
    let invitation_id = invitation::lock_newest(tx, scope, invitation_id).await?;
    // The review of another session's attempt decides the invitation.
    const REVIEWED: &str = "select exists (select 1 from sessions
               where merchant_id = $1 and sandbox = $2 and invitation_id = $3 and id <> $4 and status = 'pending'
                   and stage = 'in_review')";
    let (is_reviewed,) = fetch!(one, tx, scope, (bool,), REVIEWED, invitation_id, id)?;
    if state == InvitationStatus::Failed && is_reviewed {
        return Ok(());
    }
    if !invitation::end(tx, scope, invitation_id, state, Some(id)).await? {
        invitation::forget_contact(tx, scope, invitation_id).await?;
    }
    Ok(())
}

/// Sets the status and stage of a pending session; returns whether it was pending. A terminal status also
/// sets the time, deletes the expected person and the readings of documents before the submission, and ends the
/// invitation that opened the session.
pub async fn advance(
    tx: &mut Tx,
    scope: Scope,
    id: Uuid,
    status: SessionStatus,
    stage: Stage,
    log_id: Option<i64>,
) -> Result<bool, Error> {
    let completed_at = (status != SessionStatus::Pending).then(|| tx.now());
    lock_invitation(tx, scope, id).await?;
    let changed = execute!(
        tx,
        scope,
        "update sessions set status = $4, stage = $5, log_id = coalesce($6, log_id), completed_at = $7,
             expected_sealed = case when $7 is null then expected_sealed end
         where merchant_id = $1 and sandbox = $2 and id = $3 and status = 'pending'",
        id,
        status.as_str(),
        stage.as_str(),
        log_id,
        completed_at
    )?;
    if changed == 1 && status != SessionStatus::Pending {
        document_readings::delete_of_session(tx, scope, id).await?;
        end_invitation(tx, scope, id, status).await?;
    }
    Ok(changed == 1)
}

/// Moves the end of an open session to at least `until` (ms).
pub async fn extend(tx: &mut Tx, scope: Scope, id: Uuid, until: i64) -> Result<(), Error> {
    let now = tx.now();
    execute!(
        tx,
        scope,
        "update sessions set expires_at = $4
         where merchant_id = $1 and sandbox = $2 and id = $3 and status = 'pending' and expires_at > $5
             and expires_at < $4",
        id,
        until,
        now
    )
    .map(|_| ())
}

/// Deletes ended sessions without an attempt that expired before a time (ms), with all events and consents;
/// returns how many.
pub async fn sweep(tx: &mut Tx, before: i64) -> Result<u64, Error> {
    const SQL: &str = "delete from sessions where attempts = 0 and status <> 'pending' and expires_at < $1";
    execute!(
        tx,
        across_accounts("retention deletes every account's sessions"),
        SQL,
        before
    )
}
