//! Rows that a version before migration 0034 wrote: events, links and sessions without the column by which an erasure finds them. They
//! are at most 60 days old when it runs, so this module has nothing to do later.

use serde::Deserialize;
use uuid::Uuid;

use crate::db::{execute, fetch};
use crate::keyring::Place;
use crate::{Conn, Error, Scope, Tx, merchants, people, registrations};

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

/// Fills in the missing columns, at most `limit` rows of each table; answers how many rows it changed. Until it answers 0, an erasure
/// would miss rows.
///
/// # Errors
/// Database errors.
pub async fn index(tx: &mut Tx, limit: i64) -> Result<usize, Error> {
    let events = index_events(tx, limit).await?;
    let links = index_users(tx, &LINKS, limit).await?;
    let sessions = index_users(tx, &SESSIONS, limit).await?;
    Ok(events + links + sessions)
}

/// Whether [`index`] has work to do.
///
/// # Errors
/// Database errors.
pub async fn any(conn: &mut Conn) -> Result<bool, Error> {
    let sql = "select exists (select 1 from outbox where facemap_id is null)
               or exists (select 1 from link_tokens where user_ref is null)
               or exists (select 1 from sessions where user_ref is null)";
    let (any,) = fetch!(one, conn, (bool,), sql)?;
    Ok(any)
}

async fn index_events(tx: &mut Tx, limit: i64) -> Result<usize, Error> {
    let sql = "select merchant_id, sandbox, id, body_sealed from outbox where facemap_id is null order by id limit $1";
    let rows = fetch!(all, tx, (Uuid, bool, Uuid, Vec<u8>), sql, limit)?;
    for (merchant_id, sandbox, id, sealed) in &rows {
        let scope = Scope {
            merchant_id: *merchant_id,
            sandbox: *sandbox,
        };
        let body = open(tx, *merchant_id, "outbox.body", id.as_bytes(), sealed).await?;
        let event: Option<Event> = body.and_then(|body| serde_json::from_str(&body).ok());
        let named = event.and_then(|event| event.data.facemap_id);
        // A merge may have given the facemap to another person.
        let person = match named {
            Some(facemap) => people::resolve(tx, scope, facemap).await?,
            None => None,
        };
        let facemap_id = person.map(|person| person.facemap_id).or(named);
        let sql = "update outbox set facemap_id = $4 where merchant_id = $1 and sandbox = $2 and id = $3";
        let facemap_id = facemap_id.unwrap_or(Uuid::nil());
        execute!(tx, sql, *merchant_id, *sandbox, *id, facemap_id)?;
    }
    Ok(rows.len())
}

/// A table with a sealed label of an applicant.
struct Users {
    select: &'static str,
    update: &'static str,
    place: &'static str,
}

const LINKS: Users = Users {
    select: "select merchant_id, sandbox, token_ref, user_id_sealed from link_tokens where user_ref is null
             order by token_ref limit $1",
    update: "update link_tokens set user_ref = $4 where merchant_id = $1 and sandbox = $2 and token_ref = $3",
    place: "link_tokens.user_id",
};

const SESSIONS: Users = Users {
    select: "select merchant_id, sandbox, id, user_id_sealed from sessions where user_ref is null order by id limit $1",
    update: "update sessions set user_ref = $4 where merchant_id = $1 and sandbox = $2 and id = $3",
    place: "sessions.user_id",
};

async fn index_users(tx: &mut Tx, users: &Users, limit: i64) -> Result<usize, Error> {
    // On PostgreSQL a session's id is a UUID and a link's reference is bytes, so each table is read in its own type.
    if users.place == LINKS.place {
        let rows = fetch!(all, tx, (Uuid, bool, Vec<u8>, Vec<u8>), users.select, limit)?;
        for (merchant_id, sandbox, token_ref, sealed) in &rows {
            let user_ref = user_ref(tx, (*merchant_id, *sandbox), users.place, token_ref, sealed).await?;
            execute!(tx, users.update, *merchant_id, *sandbox, token_ref, user_ref)?;
        }
        return Ok(rows.len());
    }
    let rows = fetch!(all, tx, (Uuid, bool, Uuid, Vec<u8>), users.select, limit)?;
    for (merchant_id, sandbox, id, sealed) in &rows {
        let user_ref = user_ref(tx, (*merchant_id, *sandbox), users.place, id.as_bytes(), sealed).await?;
        execute!(tx, users.update, *merchant_id, *sandbox, *id, user_ref)?;
    }
    Ok(rows.len())
}

async fn user_ref(
    conn: &mut Conn,
    (merchant_id, sandbox): (Uuid, bool),
    what: &str,
    id: &[u8],
    sealed: &[u8],
) -> Result<Vec<u8>, Error> {
    let scope = Scope { merchant_id, sandbox };
    let label = open(conn, merchant_id, what, id, sealed).await?;
    Ok(label.map_or_else(Vec::new, |label| registrations::external_ref(conn, scope, &label)))
}

/// What a row holds under the account's key. `None`: it does not open, so it holds nothing that an erasure would have to delete.
async fn open(
    conn: &mut Conn,
    merchant_id: Uuid,
    what: &str,
    id: &[u8],
    sealed: &[u8],
) -> Result<Option<String>, Error> {
    let key = merchants::key(conn, merchant_id).await?;
    let place = Place {
        merchant_id,
        what,
        id,
    };
    Ok(key.open_text(&place, sealed).ok())
}
