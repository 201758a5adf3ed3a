//! Invitations of applicants: links for mail or SMS that open hosted sessions, one at a time, until the verification
//! has ended. A token contains the merchant's short id and is stored as a keyed hash. (The invitations of the portal's
//! staff are in [`invitations`](crate::invitations).) This module opens no session and sends nothing.
//! [`applicant_invitation_state`](crate::applicant_invitation_state) has what sessions change, and
//! [`applicant_letters`](crate::applicant_letters) the mail.

use secrecy::{ExposeSecret as _, SecretString};
use uuid::Uuid;

use crate::applicant_letters::LetterState;
use crate::keyring::SealContext;
use crate::labels::external_ref;
use crate::merchants::{self, Merchant};
use crate::sessions::{self, Link, SessionStatus};
use crate::sql::{execute, fetch};
use crate::text_enum::Word;
use crate::{Conn, Error, Scope, Tx, applicant_invitation_state as state};

pub use crate::applicant_invitation_state::{
    InvitationStatus, end_by_time, expire, forget_contact, lock, lock_newest, postpone_reminder,
    revoke_of_configuration, set_reminder, set_renewed, sweep, to_remind,
};

/// An invitation, without its token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invitation {
    /// Its id. Ids increase with time, but for differences between the nodes' clocks.
    pub id: Uuid,
    /// The applicant, Group, Flow and expected person of its sessions. An invitation that has ended expects nobody,
    /// unless it can be renewed.
    pub link: Link,
    /// Where its letters go; `None` after it has ended, unless it can be renewed.
    pub recipient: Option<Recipient>,
    /// The state of its newest letter, and when that was last handed to the mail server, or else queued (ms); `None` if there
    /// is no letter.
    pub mail: Option<(LetterState, i64)>,
    /// The number of reminders: those that were queued, and those that the merchant requested.
    pub reminders: i64,
    /// When the next reminder is due (ms).
    pub remind_at: Option<i64>,
    /// The expired invitation that this one replaces.
    pub renews: Option<Uuid>,
    /// The invitation that replaces this one.
    pub renewed_by: Option<Uuid>,
    /// How many invitations this one follows by renewal.
    pub renewals: i64,
    /// The file that it was created from.
    pub import_id: Option<Uuid>,
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

/// Where an invitation's letters go.
#[derive(Clone, PartialEq, Eq)]
pub struct Recipient {
    /// The email address.
    pub email: String,
    /// The language of the letters, such as `de`.
    pub language: String,
}

/// Without the address, which is personal.
impl std::fmt::Debug for Recipient {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Recipient(..)")
    }
}

/// An invitation to create.
#[derive(Clone, Debug)]
pub struct NewInvitation {
    /// See [`Invitation::link`].
    pub link: Link,
    /// See [`Invitation::recipient`].
    pub recipient: Option<Recipient>,
    /// The attempts that its predecessors used.
    pub attempts: i64,
    /// See [`Invitation::max_attempts`].
    pub max_attempts: i64,
    /// Until when it opens sessions (ms).
    pub expires_at: i64,
    /// See [`Invitation::remind_at`].
    pub remind_at: Option<i64>,
    /// See [`Invitation::renews`].
    pub renews: Option<Uuid>,
    /// See [`Invitation::renewals`].
    pub renewals: i64,
    /// See [`Invitation::import_id`].
    pub import_id: Option<Uuid>,
}

impl NewInvitation {
    /// An invitation without letters that replaces none.
    pub fn new(link: Link, max_attempts: i64, expires_at: i64) -> Self {
        NewInvitation {
            link,
            recipient: None,
            attempts: 0,
            max_attempts,
            expires_at,
            remind_at: None,
            renews: None,
            renewals: 0,
            import_id: None,
        }
    }
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

/// Creates an invitation. Its token is returned only this once.
///
/// # Errors
/// [`Error::Missing`] for an unknown account.
pub async fn create(
    tx: &mut Tx,
    scope: Scope,
    new: NewInvitation,
) -> Result<(Invitation, SecretString), Error> {
    let (token, _) = sessions::new_token(tx, scope.merchant_id).await?;
    let token_ref = token_ref(tx, token.expose_secret());
    let invitation = Invitation {
        id: Uuid::now_v7(),
        link: new.link,
        recipient: new.recipient,
        mail: None,
        reminders: 0,
        remind_at: new.remind_at,
        renews: new.renews,
        renewed_by: None,
        renewals: new.renewals,
        import_id: new.import_id,
        status: InvitationStatus::Open,
        attempts: new.attempts,
        max_attempts: new.max_attempts,
        deciding_session: None,
        created_at: tx.now(),
        expires_at: new.expires_at,
        ended_at: None,
    };
    let Invitation {
        id, link, recipient, ..
    } = &invitation;
    let key = merchants::key(tx, scope.merchant_id).await?;
    let user_id = key.seal(&context(scope, USER_ID, id), link.user_id.as_bytes());
    let expected = link
        .expected
        .as_ref()
        .map(|expected| key.seal(&context(scope, EXPECTED, id), expected.as_bytes()));
    let email = recipient
        .as_ref()
        .map(|to| key.seal(&context(scope, EMAIL, id), to.email.as_bytes()));
    let user_ref = external_ref(tx, scope, &link.user_id);
    execute!(
        tx,
        scope,
        "insert into applicant_invitations (merchant_id, sandbox, id, token_ref, group_id, flow_id, user_id_sealed,
             user_ref, expected_sealed, state, max_attempts, created_at, expires_at, attempts, email_sealed, language,
             remind_at, renews, renewals, import_id)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, 'open', $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)",
        *id,
        &token_ref,
        link.group_id,
        link.flow_id,
        &user_id,
        &user_ref,
        expected,
        invitation.max_attempts,
        invitation.created_at,
        invitation.expires_at,
        invitation.attempts,
        email,
        recipient.as_ref().map(|to| to.language.as_str()),
        invitation.remind_at,
        invitation.renews,
        invitation.renewals,
        invitation.import_id
    )?;
    Ok((invitation, token))
}

/// Adds a token to an invitation, which opens sessions like the first one. It is returned only this once.
///
/// # Errors
/// [`Error::Missing`] for an unknown account.
pub async fn add_token(tx: &mut Tx, scope: Scope, id: Uuid) -> Result<SecretString, Error> {
    let (token, _) = sessions::new_token(tx, scope.merchant_id).await?;
    let token_ref = token_ref(tx, token.expose_secret());
    const SQL: &str =
        "insert into applicant_invitation_tokens (merchant_id, sandbox, token_ref, invitation_id)
               values ($1, $2, $3, $4)";
    execute!(tx, scope, SQL, &token_ref, id)?;
    Ok(token)
}

fn token_ref(conn: &Conn, token: &str) -> Vec<u8> {
    conn.keyring()
        .hash("applicant invitation", &[token.as_bytes()])
        .to_vec()
}

const USER_ID: &str = "applicant_invitations.user_id";
const EXPECTED: &str = "applicant_invitations.expected";
const EMAIL: &str = "applicant_invitations.email";

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
        "select sandbox, id from applicant_invitations where merchant_id = $1 and token_ref = $2
         union all
         select sandbox, invitation_id from applicant_invitation_tokens where merchant_id = $1 and token_ref = $2",
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
    email_sealed: Option<Vec<u8>>,
    language: Option<String>,
    mail_state: Option<Word<LetterState>>,
    mail_at: Option<i64>,
    reminders: i64,
    remind_at: Option<i64>,
    renews: Option<Uuid>,
    renewed_by: Option<Uuid>,
    renewals: i64,
    import_id: Option<Uuid>,
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

/// Whether a reminder of an invitation `i` is due at `$5`.
macro_rules! due {
    () => {
        concat!(
            "i.state = 'open' and i.remind_at <= $5 and i.expires_at > $5 and i.attempts < i.max_attempts and not ",
            in_review!()
        )
    };
}

macro_rules! select {
    ($($rest:tt)*) => {
        concat!(
            "select i.id, i.group_id, i.flow_id, i.user_id_sealed, i.expected_sealed, i.attempts, i.max_attempts,
                 i.deciding_session, i.created_at, i.expires_at, i.ended_at, i.email_sealed, i.language, i.reminders,
                 i.remind_at, i.renews, i.renewed_by, i.renewals, i.import_id,
                 (select l.state from applicant_letters l where l.merchant_id = $1 and l.sandbox = $2
                     and l.invitation_id = i.id order by l.id desc limit 1) as mail_state,
                 (select coalesce(l.handed_at, l.created_at) from applicant_letters l where l.merchant_id = $1
                     and l.sandbox = $2 and l.invitation_id = i.id order by l.id desc limit 1) as mail_at,
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
        let email =
            sessions::open_optional(&key, &context(scope, EMAIL, &row.id), row.email_sealed.as_deref())?;
        Ok(Invitation {
            id: row.id,
            link: Link {
                group_id: row.group_id,
                flow_id: row.flow_id,
                user_id,
                expected,
            },
            recipient: email
                .zip(row.language)
                .map(|(email, language)| Recipient { email, language }),
            mail: row.mail_state.map(|Word(state)| state).zip(row.mail_at),
            reminders: row.reminders,
            remind_at: row.remind_at,
            renews: row.renews,
            renewed_by: row.renewed_by,
            renewals: row.renewals,
            import_id: row.import_id,
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

/// Which invitations a list contains, by what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InvitationSelection {
    /// All.
    #[default]
    All,
    /// Those with this status.
    Status(InvitationStatus),
    /// Those that can be used and whose reminder is due.
    Due,
    /// Those that were created from this file, or the invitations that replaced them.
    Import(Uuid),
}

/// Which invitations a list contains.
#[derive(Clone, Debug, Default)]
pub struct InvitationFilter<'a> {
    /// Which ones of these.
    pub only: InvitationSelection,
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
    let now = conn.now();
    let rows = match (filter.only, &user_ref) {
        (InvitationSelection::All, None) => page!([""]),
        (InvitationSelection::All, Some(user)) => page!(["i.user_ref = $5 and "], user),
        (InvitationSelection::Status(InvitationStatus::Open), None) => {
            page!(["i.state = 'open' and not ", in_review!(), " and "])
        }
        (InvitationSelection::Status(InvitationStatus::Open), Some(user)) => page!(
            [
                "i.user_ref = $5 and i.state = 'open' and not ",
                in_review!(),
                " and "
            ],
            user
        ),
        (InvitationSelection::Status(InvitationStatus::InReview), None) => {
            page!(["i.state = 'open' and ", in_review!(), " and "])
        }
        (InvitationSelection::Status(InvitationStatus::InReview), Some(user)) => page!(
            ["i.user_ref = $5 and i.state = 'open' and ", in_review!(), " and "],
            user
        ),
        (InvitationSelection::Status(ended), None) => page!(["i.state = $5 and "], ended.as_str()),
        (InvitationSelection::Status(ended), Some(user)) => {
            page!(["i.user_ref = $6 and i.state = $5 and "], ended.as_str(), user)
        }
        (InvitationSelection::Due, None) => page!([due!(), " and "], now),
        (InvitationSelection::Due, Some(user)) => page!(["i.user_ref = $6 and ", due!(), " and "], now, user),
        (InvitationSelection::Import(import), None) => {
            page!(["i.import_id = $5 and i.renewed_by is null and "], import)
        }
        (InvitationSelection::Import(import), Some(user)) => {
            page!(
                ["i.user_ref = $6 and i.import_id = $5 and i.renewed_by is null and "],
                import,
                user
            )
        }
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

/// The sessions of an invitation that have not ended. The time of one may be over.
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
