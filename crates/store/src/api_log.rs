//! The API log: the calls made with an account's keys and sessions, and the responses. The exchange is sealed
//! under the account's key. It must contain no secret and no personal data that an erasure would have to find
//! here; the caller ensures that. Old rows are deleted.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use uuid::Uuid;

use crate::keyring::{DataKey, SealContext};
use crate::sql::{checked, execute, fetch};
use crate::{Conn, Error, Scope, Tx, merchants};

/// A logged call of the API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The account and mode.
    pub scope: Scope,
    /// The call without its content.
    pub summary: CallSummary,
    /// Address, request and response as JSON (sealed).
    pub exchange: String,
}

/// A call of the API without its content.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct CallSummary {
    /// A UUID of version 7, made when the call arrived, so ids sort by time.
    pub id: Uuid,
    /// The `X-Request-Id` of the response.
    pub request_id: String,
    /// When it arrived (ms).
    pub at: i64,
    /// The HTTP method.
    pub method: String,
    /// The route's pattern.
    pub route: String,
    /// The HTTP status of the response.
    #[sqlx(try_from = "i64")]
    pub status: u16,
    /// How long the response took (ms).
    pub ms: i64,
    /// The API key, or `session` and the hosted session's id.
    pub key: String,
}

/// Which calls to list. `None` does not restrict.
#[derive(Clone, Copy, Debug, Default)]
pub struct Filter<'a> {
    /// With this route.
    pub route: Option<&'a str>,
    /// With this outcome.
    pub outcome: OutcomeFilter,
    /// With this API key.
    pub key: Option<&'a str>,
    /// With this request id.
    pub request_id: Option<&'a str>,
    /// Not before this time (ms).
    pub from: Option<i64>,
    /// Before this time (ms).
    pub until: Option<i64>,
    /// Older than the call with this id.
    pub before: Option<Uuid>,
}

/// Which outcomes to list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OutcomeFilter {
    /// Any.
    #[default]
    Any,
    /// A status of 400 or more.
    Refused,
    /// This status.
    With(u16),
}

fn seal_context<'a>(scope: Scope, id: &'a Uuid) -> SealContext<'a> {
    SealContext {
        merchant_id: scope.merchant_id,
        what: "api_log.exchange",
        id: id.as_bytes(),
    }
}

/// The keys of the accounts, under which [`insert`] seals the calls. They are in the durable part of the
/// database.
///
/// # Errors
/// [`Error::Missing`] for an unknown account.
pub async fn keys(conn: &mut Conn, calls: &[Call]) -> Result<HashMap<Uuid, DataKey>, Error> {
    let mut keys = HashMap::new();
    for Call { scope, .. } in calls {
        if let Entry::Vacant(unknown) = keys.entry(scope.merchant_id) {
            unknown.insert(merchants::key(conn, scope.merchant_id).await?);
        }
    }
    Ok(keys)
}

/// Stores calls of any accounts in the [traffic](crate::Db::traffic) part, sealed under [their keys](keys).
///
/// # Errors
/// [`Error::Missing`] for an account without a key.
pub async fn insert(tx: &mut Tx, keys: &HashMap<Uuid, DataKey>, calls: &[Call]) -> Result<(), Error> {
    for Call {
        scope,
        summary: line,
        exchange,
    } in calls
    {
        let key = keys.get(&scope.merchant_id).ok_or(Error::Missing("merchant"))?;
        let sealed = key.seal(&seal_context(*scope, &line.id), exchange.as_bytes());
        execute!(
            tx,
            *scope,
            "insert into api_log (merchant_id, sandbox, id, request_id, at, method, route, status, ms, key,
                 exchange_sealed)
             values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
            line.id,
            &line.request_id,
            line.at,
            &line.method,
            &line.route,
            i64::from(line.status),
            line.ms,
            &line.key,
            &sealed
        )?;
    }
    Ok(())
}

/// A call whose exchange is sealed under its account's key.
#[derive(Debug)]
pub struct SealedCall {
    scope: Scope,
    row: Row,
}

#[derive(Debug, sqlx::FromRow)]
struct Row {
    #[sqlx(flatten)]
    line: CallSummary,
    exchange_sealed: Vec<u8>,
}

impl SealedCall {
    /// Opens the exchange. `durable` is a connection for reading the account's key; it is taken after the one for
    /// the traffic part was returned, so that no request waits for two connections.
    ///
    /// # Errors
    /// [`Error::Missing`]; [`Error::Sealed`].
    pub async fn open(self, durable: &mut Conn) -> Result<Call, Error> {
        let SealedCall { scope, row } = self;
        let key = merchants::key(durable, scope.merchant_id).await?;
        Ok(Call {
            exchange: key.open_text(&seal_context(scope, &row.line.id), &row.exchange_sealed)?,
            scope,
            summary: row.line,
        })
    }
}

/// One call, from the traffic part.
pub async fn get(conn: &mut Conn, scope: Scope, id: Uuid) -> Result<Option<SealedCall>, Error> {
    const SQL: &str =
        "select id, request_id, at, method, route, status, ms, key, exchange_sealed from api_log
               where merchant_id = $1 and sandbox = $2 and id = $3";
    let row = fetch!(optional, conn, scope, Row, SQL, id)?;
    Ok(row.map(|row| SealedCall { scope, row }))
}

/// Each literal narrows the search so that the database uses the index of request ids, refused calls, keys or
/// routes.
macro_rules! select {
    ($narrowed:literal) => {
        concat!(
            "select id, request_id, at, method, route, status, ms, key from api_log
             where merchant_id = $1 and sandbox = $2 and id < $3 and id >= $4 ",
            $narrowed,
            "and ($5 or route = $6) and ($7 or key = $8) and ($9 or request_id = $10) and ($11 or status = $12)
                 and ($13 or status >= 400)
             order by id desc limit $14"
        )
    };
}

/// The newest calls that match a filter, newest first.
pub async fn list(
    conn: &mut Conn,
    scope: Scope,
    filter: Filter<'_>,
    limit: i64,
) -> Result<Vec<CallSummary>, Error> {
    let (refused, status) = match filter.outcome {
        OutcomeFilter::Any => (false, None),
        OutcomeFilter::Refused => (true, None),
        OutcomeFilter::With(status) => (status >= 400, Some(i64::from(status))),
    };
    // The most selective condition first.
    let sql = match filter {
        Filter {
            request_id: Some(_), ..
        } => checked!(scope, select!("and request_id = $10 ")),
        _ if refused => checked!(scope, select!("and status >= 400 ")),
        Filter { key: Some(_), .. } => checked!(scope, select!("and key = $8 ")),
        Filter { route: Some(_), .. } => checked!(scope, select!("and route = $6 ")),
        _ => checked!(scope, select!("")),
    };
    let until = filter.until.map_or(Uuid::max(), first_id_at);
    fetch!(
        all,
        conn,
        scope,
        CallSummary,
        checked(sql),
        filter.before.map_or(until, |before| before.min(until)),
        filter.from.map_or(Uuid::nil(), first_id_at),
        filter.route.is_none(),
        filter.route.unwrap_or_default(),
        filter.key.is_none(),
        filter.key.unwrap_or_default(),
        filter.request_id.is_none(),
        filter.request_id.unwrap_or_default(),
        status.is_none(),
        status.unwrap_or_default(),
        !refused,
        limit
    )
}

/// The smallest id of a call at this time (ms), because ids begin with their time.
fn first_id_at(at: i64) -> Uuid {
    let at = u128::from(at.clamp(0, (1 << 48) - 1).unsigned_abs());
    Uuid::from_u128(at << 80)
}

/// Deletes at most `limit` calls older than a time (ms); returns how many.
pub async fn sweep(tx: &mut Tx, before: i64, limit: i64) -> Result<u64, Error> {
    const SQL: &str = "delete from api_log where (merchant_id, sandbox, id) in
                   (select merchant_id, sandbox, id from api_log where at < $1 order by at limit $2)";
    execute!(
        tx,
        across_accounts("retention deletes every account's calls"),
        SQL,
        before,
        limit
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_bounded_by_their_time() {
        let id = Uuid::now_v7();
        let (seconds, nanos) = id.get_timestamp().unwrap().to_unix();
        let at = i64::try_from(seconds * 1_000 + u64::from(nanos) / 1_000_000).unwrap();
        assert!(first_id_at(at) <= id && id < first_id_at(at + 1));
        assert_eq!(first_id_at(-1), Uuid::nil());
    }
}
