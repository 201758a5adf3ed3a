//! Applicant look-up across registrations and the log (interface §2.6): which facemaps a label has been seen with.

use uuid::Uuid;

use crate::db::fetch;
use crate::registrations::{external_ref, from_column};
use crate::{Conn, Error, Scope};

/// One facemap in one group, under one label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applicant {
    /// The facemap.
    pub facemap_id: Uuid,
    /// The group; `None`: without one.
    pub grouping_id: Option<Uuid>,
    /// The registration's status; `None` when it has none or there is no registration.
    pub status: Option<String>,
    /// Whether the facemap is registered in this group under this label, or only appears in the log.
    pub registered: bool,
    /// When it was made, or first appeared (ms).
    pub created_at: i64,
    /// When its latest attempt was (ms).
    pub last_active: i64,
}

/// All facemaps and groups that a label has been seen with, most recently active first.
///
/// # Errors
/// Database errors.
pub async fn by_external_user_id(
    conn: &mut Conn,
    scope: Scope,
    external_user_id: &str,
) -> Result<Vec<Applicant>, Error> {
    let external_ref = external_ref(conn, scope, external_user_id);
    type Row = (Uuid, Uuid, Option<String>, bool, i64, i64);
    let rows = fetch!(
        all,
        conn,
        Row,
        "select facemap_id, grouping_id, status, true as registered, created_at, last_active
         from registrations where merchant_id = $1 and sandbox = $2 and external_ref = $3
         union all
         select a.facemap_id, a.grouping_id, null, false, min(a.created_at), max(a.created_at)
         from attempts a where a.merchant_id = $1 and a.sandbox = $2 and a.external_ref = $3
             and not exists (select 1 from registrations r
                 where r.merchant_id = $1 and r.sandbox = $2 and r.external_ref = $3
                     and r.facemap_id = a.facemap_id and r.grouping_id = a.grouping_id)
         group by a.facemap_id, a.grouping_id
         order by last_active desc, registered desc, facemap_id",
        scope.merchant_id,
        scope.sandbox,
        &external_ref,
    )?;
    let applicant = |(facemap_id, grouping_id, status, registered, created_at, last_active): Row| Applicant {
        facemap_id,
        grouping_id: from_column(grouping_id),
        status,
        registered,
        created_at,
        last_active,
    };
    Ok(rows.into_iter().map(applicant).collect())
}
