//! Looks applicants up in the registrations and the log (interface §2.6): the facemaps that were submitted
//! under a label.

use std::collections::BTreeSet;

use reference::status::AttemptStatus;
use uuid::Uuid;

use crate::labels::{external_ref, group_from_column};
use crate::sql::fetch;
use crate::text_enum::Word;
use crate::{Conn, Error, Scope, attempts, merchants, people, registrations};

/// One facemap in one group, under one label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applicant {
    /// The facemap.
    pub facemap_id: Uuid,
    /// The group; `None` for a submission without a group.
    pub grouping_id: Option<Uuid>,
    /// The registration's status; `None` if it has none or there is no registration.
    pub status: Option<AttemptStatus>,
    /// Whether the facemap is registered in this group under this label. If not, it only appears in the log.
    pub registered: bool,
    /// When it was registered or first appeared in the log (ms).
    pub created_at: i64,
    /// When its latest attempt was made (ms).
    pub last_active: i64,
}

/// All facemaps and groups that were submitted under a label, most recently active first.
///
/// # Errors
/// [`Error::Unreadable`].
pub async fn by_external_user_id(
    conn: &mut Conn,
    scope: Scope,
    external_user_id: &str,
) -> Result<Vec<Applicant>, Error> {
    let external_ref = external_ref(conn, scope, external_user_id);
    type Row = (Uuid, Uuid, Option<Word<AttemptStatus>>, bool, i64, i64);
    let rows = fetch!(
        all,
        conn,
        scope,
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
        &external_ref
    )?;
    let applicant = |(facemap_id, grouping_id, status, registered, created_at, last_active): Row| Applicant {
        facemap_id,
        grouping_id: group_from_column(grouping_id),
        status: status.map(AttemptStatus::from),
        registered,
        created_at,
        last_active,
    };
    Ok(rows.into_iter().map(applicant).collect())
}

/// A merchant's label for a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Label {
    /// Its blind index.
    pub(crate) external_ref: Vec<u8>,
    /// The label itself.
    pub(crate) text: String,
    /// Whether another person is registered under the same label.
    pub(crate) is_shared: bool,
}

/// All labels that a person was submitted with, in registrations and in the log.
pub(crate) async fn labels_of(conn: &mut Conn, scope: Scope, facemap_id: Uuid) -> Result<Vec<Label>, Error> {
    let registered = registrations::labels_of_facemap(conn, scope, facemap_id).await?;
    let mut texts = BTreeSet::from_iter(registered);
    // One attempt for each label in the log.
    const SQL: &str =
        "select id, wrapped_key, external_id_sealed from attempts where merchant_id = $1 and sandbox = $2
               and log_id in (select min(log_id) from attempts
                   where merchant_id = $1 and sandbox = $2 and facemap_id = $3 group by external_ref)";
    type Row = (Uuid, Vec<u8>, Vec<u8>);
    let logged = fetch!(all, conn, scope, Row, SQL, facemap_id)?;
    if !logged.is_empty() {
        let merchant_key = merchants::key(conn, scope.merchant_id).await?;
        let person_key = people::wrapped_key(conn, scope, facemap_id).await?;
        for (id, wrapped, sealed) in logged {
            let key = attempts::unwrap(&merchant_key, scope, (&facemap_id, &person_key), (&id, &wrapped))?;
            texts.insert(attempts::open_external_id(&key, scope, &id, &sealed)?);
        }
    }
    let mut labels = Vec::with_capacity(texts.len());
    for text in texts {
        let external_ref = external_ref(conn, scope, &text);
        const SQL: &str = "select exists (select 1 from registrations
                   where merchant_id = $1 and sandbox = $2 and external_ref = $3 and facemap_id <> $4)";
        let (is_shared,) = fetch!(one, conn, scope, (bool,), SQL, &external_ref, facemap_id)?;
        labels.push(Label {
            external_ref,
            text,
            is_shared,
        });
    }
    Ok(labels)
}
