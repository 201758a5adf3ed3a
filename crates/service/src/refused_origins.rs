//! Origins that the hosted page refused to be embedded by or to return to. They are recorded in the audit trail, so
//! that a merchant learns which origin its settings lack. Nothing here decides what is refused.
//!
//! Everybody who has a link can cause such a row. So an origin is recorded once a day, and at most
//! [`MOST_A_DAY`] origins a day.

use store::audit::{self, AuditFilter, Entry};
use store::{Conn, Scope, merchants};
use uuid::Uuid;

use super::App;
use crate::problem::Problem;

const DAY_MS: i64 = 24 * 60 * 60 * 1_000;
/// Nothing else in the trail has this actor, so its rows are found without reading others.
const ACTOR: &str = "website";
/// How many origins are recorded in a day.
const MOST_A_DAY: i64 = 20;
/// How long the portal names an origin, in days.
const SHOWN_DAYS: i64 = 30;
/// The longest recorded origin, in characters. No website has a longer one.
const MAX_ORIGIN: usize = 300;

/// What an origin was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusedUse {
    /// To embed the page.
    Embedding,
    /// To receive the applicant back.
    Return,
}

impl RefusedUse {
    const ALL: [Self; 2] = [Self::Embedding, Self::Return];

    /// The action in the audit trail.
    pub const fn action(self) -> &'static str {
        match self {
            Self::Embedding => "merchant.embedding_refused",
            Self::Return => "merchant.return_refused",
        }
    }
}

/// An origin that was refused lately.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedOrigin {
    /// As browsers write it, such as `https://shop.example`; `null` for an address without one.
    pub origin: String,
    /// What it was refused.
    pub refused: RefusedUse,
    /// When it was recorded last (ms).
    pub at: i64,
}

/// Records a refusal, unless it or too many others were recorded within a day.
pub async fn record(app: &App, merchant_id: Uuid, refused: RefusedUse, origin: &str) -> Result<(), Problem> {
    let is_worth_it = origin.chars().count() <= MAX_ORIGIN
        && !is_recorded(&mut app.db.read().await?, merchant_id, refused, origin).await?;
    if !is_worth_it {
        return Ok(());
    }
    store::transaction!(app.db, |tx| -> Result<(), Problem> {
        // Visits at the same moment wait here, and see each other's rows.
        merchants::get_for_update(tx, merchant_id).await?;
        if is_recorded(tx, merchant_id, refused, origin).await? {
            return Ok(());
        }
        // Accounts are neither live nor sandbox.
        let scope = Scope {
            merchant_id,
            sandbox: false,
        };
        let entry = Entry {
            actor: ACTOR,
            action: refused.action(),
            subject: origin,
            detail: "{}",
        };
        Ok(audit::write(tx, scope, &entry).await?)
    })
}

/// Whether this refusal, or as many as are recorded in a day, were recorded within a day.
async fn is_recorded(
    conn: &mut Conn,
    merchant_id: Uuid,
    refused: RefusedUse,
    origin: &str,
) -> Result<bool, Problem> {
    let wanted = AuditFilter {
        actor: Some(ACTOR),
        from: Some(conn.now() - DAY_MS),
        ..AuditFilter::default()
    };
    let rows = audit::find(conn, merchant_id, wanted, MOST_A_DAY).await?;
    let is_same = |row: &audit::AuditRow| row.action == refused.action() && row.subject == origin;
    Ok(rows.len() as i64 >= MOST_A_DAY || rows.iter().any(is_same))
}

/// The origins that were refused within [`SHOWN_DAYS`], newest first, each use once.
pub async fn recent(conn: &mut Conn, merchant_id: Uuid) -> Result<Vec<RefusedOrigin>, Problem> {
    let wanted = AuditFilter {
        actor: Some(ACTOR),
        from: Some(conn.now() - SHOWN_DAYS * DAY_MS),
        ..AuditFilter::default()
    };
    let rows = audit::find(conn, merchant_id, wanted, MOST_A_DAY * SHOWN_DAYS).await?;
    let mut found: Vec<RefusedOrigin> = Vec::new();
    for row in rows {
        let Some(refused) = RefusedUse::ALL.into_iter().find(|one| one.action() == row.action) else {
            continue;
        };
        if !found
            .iter()
            .any(|one| one.refused == refused && one.origin == row.subject)
        {
            found.push(RefusedOrigin {
                origin: row.subject,
                refused,
                at: row.at,
            });
        }
    }
    Ok(found)
}
