//! Indexes rows that a version before migration 0034 wrote: events, links and sessions without the column by
//! which an erasure finds them. They are at most 60 days old when the migration runs, so later this module
//! has nothing to do.

use serde::Deserialize;
use uuid::Uuid;

use crate::keyring::SealContext;
use crate::labels::{NO_ID, external_ref};
use crate::sql::{execute, fetch};
use crate::{Conn, Error, Scope, Tx, merchants, people};

/// The part of a webhook event's body that names the person.
#[derive(Deserialize)]
struct Event {
    data: EventData,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct EventData {
    facemap_id: Option<Uuid>,
}

/// Fills in the missing columns of at most `limit` rows of each table; returns how many rows it changed.
/// Until it returns 0, an erasure would miss rows.
pub async fn index(tx: &mut Tx, limit: i64) -> Result<usize, Error> {
    let events = index_events(tx, limit).await?;
    let links = index_links(tx, limit).await?;
    let sessions = index_sessions(tx, limit).await?;
    Ok(events + links + sessions)
}

/// Whether [`index`] has work to do.
pub async fn any(conn: &mut Conn) -> Result<bool, Error> {
    const SQL: &str = "select exists (select 1 from outbox where facemap_id is null)
               or exists (select 1 from link_tokens where user_ref is null)
               or exists (select 1 from sessions where user_ref is null)";
    let (any,) = fetch!(
        one,
        conn,
        across_accounts("housekeeping indexes every account's earlier rows"),
        (bool,),
        SQL
    )?;
    Ok(any)
}

async fn index_events(tx: &mut Tx, limit: i64) -> Result<usize, Error> {
    let rows = fetch!(
        all,
        tx,
        across_accounts("housekeeping indexes every account's earlier rows"),
        (Uuid, bool, Uuid, Vec<u8>),
        "select merchant_id, sandbox, id, body_sealed from outbox where facemap_id is null order by id limit $1",
        limit
    )?;
    for (merchant_id, sandbox, id, sealed) in &rows {
        let scope = Scope {
            merchant_id: *merchant_id,
            sandbox: *sandbox,
        };
        let body = open(tx, *merchant_id, "outbox.body", id.as_bytes(), sealed).await?;
        let event: Option<Event> = body.and_then(|body| serde_json::from_str(&body).ok());
        let named = event.and_then(|event| event.data.facemap_id);
        // A merge may have moved the facemap to another person.
        let person = match named {
            Some(facemap) => people::resolve(tx, scope, facemap).await?,
            None => None,
        };
        let facemap_id = person.map(|person| person.facemap_id).or(named);
        let facemap_id = facemap_id.unwrap_or(NO_ID);
        execute!(
            tx,
            scope,
            "update outbox set facemap_id = $4 where merchant_id = $1 and sandbox = $2 and id = $3",
            *id,
            facemap_id
        )?;
    }
    Ok(rows.len())
}

async fn index_links(tx: &mut Tx, limit: i64) -> Result<usize, Error> {
    const WITHOUT: &str =
        "select merchant_id, sandbox, token_ref, user_id_sealed from link_tokens where user_ref is null
        order by token_ref limit $1";
    const FILL: &str =
        "update link_tokens set user_ref = $4 where merchant_id = $1 and sandbox = $2 and token_ref = $3";
    let rows = fetch!(
        all,
        tx,
        across_accounts("housekeeping indexes every account's earlier rows"),
        (Uuid, bool, Vec<u8>, Vec<u8>),
        WITHOUT,
        limit
    )?;
    for (merchant_id, sandbox, token_ref, sealed) in &rows {
        let scope = Scope {
            merchant_id: *merchant_id,
            sandbox: *sandbox,
        };
        let user_ref = user_ref(tx, scope, "link_tokens.user_id", token_ref, sealed).await?;
        execute!(tx, scope, FILL, token_ref, user_ref)?;
    }
    Ok(rows.len())
}

async fn index_sessions(tx: &mut Tx, limit: i64) -> Result<usize, Error> {
    const WITHOUT: &str = "select merchant_id, sandbox, id, user_id_sealed from sessions where user_ref is null order by id limit $1";
    const FILL: &str =
        "update sessions set user_ref = $4 where merchant_id = $1 and sandbox = $2 and id = $3";
    let rows = fetch!(
        all,
        tx,
        across_accounts("housekeeping indexes every account's earlier rows"),
        (Uuid, bool, Uuid, Vec<u8>),
        WITHOUT,
        limit
    )?;
    for (merchant_id, sandbox, id, sealed) in &rows {
        let scope = Scope {
            merchant_id: *merchant_id,
            sandbox: *sandbox,
        };
        let user_ref = user_ref(tx, scope, "sessions.user_id", id.as_bytes(), sealed).await?;
        execute!(tx, scope, FILL, *id, user_ref)?;
    }
    Ok(rows.len())
}

async fn user_ref(
    conn: &mut Conn,
    scope: Scope,
    what: &str,
    id: &[u8],
    sealed: &[u8],
) -> Result<Vec<u8>, Error> {
    let label = open(conn, scope.merchant_id, what, id, sealed).await?;
    Ok(label.map_or_else(Vec::new, |label| external_ref(conn, scope, &label)))
}

/// Opens a value that is sealed under the account's key. `None` if it does not open; then it contains nothing
/// that an erasure would have to delete.
async fn open(
    conn: &mut Conn,
    merchant_id: Uuid,
    what: &str,
    id: &[u8],
    sealed: &[u8],
) -> Result<Option<String>, Error> {
    let key = merchants::key(conn, merchant_id).await?;
    let place = SealContext {
        merchant_id,
        what,
        id,
    };
    Ok(key.open_text(&place, sealed).ok())
}
