//! Pages of the account's log for reports, newest first. They open every row, so pages are short.

use std::cmp::Reverse;

use reference::status::AttemptStatus;
use uuid::Uuid;

use super::{Attempt, Row, columns, open_all};
use crate::labels::{external_ref, group_to_column};
use crate::sql::{checked, fetch};
use crate::{Conn, Error, Scope};

/// Which attempts to list. The default does not restrict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AttemptFilter<'a> {
    /// Submitted under this label.
    pub external_user_id: Option<&'a str>,
    /// Of this person. The id is no alias.
    pub facemap_id: Option<Uuid>,
    /// Of this hosted session.
    pub session_id: Option<Uuid>,
    /// Of this Flow.
    pub flow_id: Option<Uuid>,
    /// Of this group.
    pub grouping_id: Option<Uuid>,
    /// With this status.
    pub status: Option<AttemptStatus>,
    /// With this failure code.
    pub code: Option<u16>,
    /// Made at this time (ms) or later.
    pub from: Option<i64>,
    /// Made before this time (ms).
    pub until: Option<i64>,
    /// After the attempt of this time (ms) and number, in the order of the list.
    pub after: Option<(i64, i64)>,
}

// `$3` to `$8` are the times, the status, the pattern of the code, and the group; `$9` to `$12` the Flow, the label, the
// person and the session. The sum keeps the databases from reading the whole log in the order of time.
macro_rules! page_of {
    ($whose:literal) => {
        concat!(
            "select ",
            columns!(),
            " from attempts a join people p
                 on p.merchant_id = a.merchant_id and p.sandbox = a.sandbox and p.facemap_id = a.facemap_id
             where a.merchant_id = $1 and a.sandbox = $2 and a.created_at + 0 >= $3
                 and (a.created_at + 0, a.log_id) < ($4, $5) and ($6 is null or a.status = $6)
                 and ($7 is null or a.codes like $7) and ($8 is null or a.grouping_id = $8)
                 and ($9 is null or a.flow_id = $9) and ",
            $whose,
            " order by a.created_at + 0 desc, a.log_id desc limit $13"
        )
    };
}

const OF_LABEL: &str = page_of!(
    "a.external_ref = $10 and ($11 is null or a.facemap_id = $11) and ($12 is null or a.session_id = $12)"
);
const OF_PERSON: &str = page_of!(
    "a.facemap_id = $11 and ($10 is null or a.external_ref = $10) and ($12 is null or a.session_id = $12)"
);
const OF_SESSION: &str = page_of!(
    "a.session_id = $12 and ($10 is null or a.external_ref = $10) and ($11 is null or a.facemap_id = $11)"
);
// The inner query finds the page in an index. The rows are ordered afterwards: to order the joined rows, SQLite would read
// the whole log.
const OF_EVERYBODY: &str = concat!(
    "select ",
    columns!(),
    " from (select log_id from attempts
           where merchant_id = $1 and sandbox = $2 and created_at >= $3 and (created_at, log_id) < ($4, $5)
               and ($6 is null or status = $6) and ($7 is null or codes like $7)
               and ($8 is null or grouping_id = $8) and ($9 is null or flow_id = $9)
               and ($10 is null or external_ref = $10) and ($11 is null or facemap_id = $11)
               and ($12 is null or session_id = $12)
           order by created_at desc, log_id desc limit $13) q
     join attempts a on a.merchant_id = $1 and a.sandbox = $2 and a.log_id = q.log_id
     join people p on p.merchant_id = $1 and p.sandbox = $2 and p.facemap_id = a.facemap_id"
);

/// A page of the log, newest first, at most `limit` attempts.
///
/// # Errors
/// [`Error::Sealed`].
pub async fn page(
    conn: &mut Conn,
    scope: Scope,
    filter: &AttemptFilter<'_>,
    limit: i64,
) -> Result<Vec<Attempt>, Error> {
    let from = filter.from.unwrap_or(i64::MIN);
    // The end of the period excludes every attempt of that time.
    let end = (filter.until.unwrap_or(i64::MAX), i64::MIN);
    let (before, log_id) = filter.after.map_or(end, |after| after.min(end));
    let status = filter.status.map(AttemptStatus::as_str);
    let code = filter.code.map(|code| format!("%{code}%"));
    let code = code.as_deref();
    let group = filter.grouping_id.map(|id| group_to_column(Some(id)));
    let label = filter
        .external_user_id
        .map(|label| external_ref(conn, scope, label));
    // A text for each index. With a value that may be null, an index cannot be used.
    let sql = match () {
        _ if label.is_some() => checked!(scope, OF_LABEL),
        _ if filter.facemap_id.is_some() => checked!(scope, OF_PERSON),
        _ if filter.session_id.is_some() => checked!(scope, OF_SESSION),
        _ => checked!(scope, OF_EVERYBODY),
    };
    let mut rows = fetch!(
        all,
        conn,
        scope,
        Row,
        checked(sql),
        from,
        before,
        log_id,
        status,
        code,
        group,
        filter.flow_id,
        label.as_deref(),
        filter.facemap_id,
        filter.session_id,
        limit
    )?;
    rows.sort_by_key(|row| Reverse((row.created_at, row.log_id)));
    open_all(conn, scope, rows).await
}
