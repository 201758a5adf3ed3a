//! Pages of the account's log for reports, newest first. They open every row, so pages are short.

use reference::status::AttemptStatus;
use uuid::Uuid;

use super::{Attempt, Row, open_all, select};
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
// person and the session. The inner query uses columns of indexes, so that only the page's rows are read.
macro_rules! page {
    ($($whose:literal),+) => {
        select!(
            "and a.log_id in (
                 select log_id from attempts
                 where merchant_id = $1 and sandbox = $2 and created_at >= $3 and (created_at, log_id) < ($4, $5)
                     and ($6 is null or status = $6) and ($7 is null or codes like $7)
                     and ($8 is null or grouping_id = $8) ",
            $($whose),+,
            " order by created_at desc, log_id desc limit $13) order by a.created_at desc, a.log_id desc"
        )
    };
}

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
    const OF_LABEL: &str = page!(
        "and external_ref = $10 and ($9 is null or flow_id = $9) and ($11 is null or facemap_id = $11)
             and ($12 is null or session_id = $12)"
    );
    const OF_PERSON: &str = page!(
        "and facemap_id = $11 and ($9 is null or flow_id = $9) and ($10 is null or external_ref = $10)
             and ($12 is null or session_id = $12)"
    );
    const OF_SESSION: &str = page!(
        "and session_id = $12 and ($9 is null or flow_id = $9) and ($10 is null or external_ref = $10)
             and ($11 is null or facemap_id = $11)"
    );
    const OF_FLOW: &str = page!(
        "and flow_id = $9 and ($10 is null or external_ref = $10) and ($11 is null or facemap_id = $11)
             and ($12 is null or session_id = $12)"
    );
    const ALL: &str = page!(
        "and ($9 is null or flow_id = $9) and ($10 is null or external_ref = $10)
             and ($11 is null or facemap_id = $11) and ($12 is null or session_id = $12)"
    );
    let sql = match () {
        _ if label.is_some() => checked!(scope, OF_LABEL),
        _ if filter.facemap_id.is_some() => checked!(scope, OF_PERSON),
        _ if filter.session_id.is_some() => checked!(scope, OF_SESSION),
        _ if filter.flow_id.is_some() => checked!(scope, OF_FLOW),
        _ => checked!(scope, ALL),
    };
    let rows = fetch!(
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
    open_all(conn, scope, rows).await
}
