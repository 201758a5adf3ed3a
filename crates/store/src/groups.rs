//! Groups: named collections of Flows.

use std::collections::HashSet;

use reference::status::GroupStatus;
use uuid::Uuid;

use crate::sql::{execute, fetch};
use crate::text_enum::Word;
use crate::{Conn, Error, Scope, Tx, counters};

/// A Group (interface §2.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The Group.
    pub id: Uuid,
    /// Unique in the account and mode.
    pub name: String,
    /// Free text.
    pub description: Option<String>,
    /// The status shown for the Group.
    pub status: GroupStatus,
    /// Its Flows, in the order given by the account.
    pub flows: Vec<GroupFlow>,
    /// When it was created (ms).
    pub created_at: i64,
    /// When it last changed (ms).
    pub updated_at: i64,
}

/// A Flow as a Group shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupFlow {
    /// The Flow.
    pub id: Uuid,
    /// Its name.
    pub name: String,
}

/// A new Group.
#[derive(Clone, Debug)]
pub struct NewGroup {
    /// See [`Group::name`].
    pub name: String,
    /// See [`Group::description`].
    pub description: Option<String>,
    /// See [`Group::status`].
    pub status: GroupStatus,
    /// Its Flows. Repeated ids and ids of other accounts are ignored.
    pub flow_ids: Vec<Uuid>,
}

/// What to change; `None` leaves a member unchanged.
#[derive(Clone, Debug, Default)]
pub struct GroupChanges {
    /// See [`Group::name`].
    pub name: Option<String>,
    /// See [`Group::description`]; `Some(None)` clears it.
    pub description: Option<Option<String>>,
    /// See [`Group::status`].
    pub status: Option<GroupStatus>,
    /// Replaces the whole list, as in [`NewGroup::flow_ids`].
    pub flow_ids: Option<Vec<Uuid>>,
}

#[derive(sqlx::FromRow)]
struct Row {
    id: Uuid,
    name: String,
    description: Option<String>,
    #[sqlx(try_from = "Word<GroupStatus>")]
    status: GroupStatus,
    created_at: i64,
    updated_at: i64,
    flow_id: Option<Uuid>,
    flow_name: Option<String>,
}

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "select g.id, g.name, g.description, g.status, g.created_at, g.updated_at,
                    f.id as flow_id, f.name as flow_name
             from groups g
             left join group_flows gf
                 on gf.merchant_id = g.merchant_id and gf.sandbox = g.sandbox and gf.group_id = g.id
             left join flows f
                 on f.merchant_id = gf.merchant_id and f.sandbox = gf.sandbox and f.id = gf.flow_id
             where g.merchant_id = $1 and g.sandbox = $2 ",
            $rest
        )
    };
}

/// Combines rows, one per Group and Flow, into Groups. The rows of a Group must be adjacent.
fn fold(rows: Vec<Row>) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for row in rows {
        if groups.last().is_none_or(|group| group.id != row.id) {
            groups.push(Group {
                id: row.id,
                name: row.name,
                description: row.description,
                status: row.status,
                flows: Vec::new(),
                created_at: row.created_at,
                updated_at: row.updated_at,
            });
        }
        if let (Some(group), Some(id), Some(name)) = (groups.last_mut(), row.flow_id, row.flow_name) {
            group.flows.push(GroupFlow { id, name });
        }
    }
    groups
}

/// All Groups, newest first.
pub async fn list(conn: &mut Conn, scope: Scope) -> Result<Vec<Group>, Error> {
    const SQL: &str = select!("order by g.created_at desc, g.id desc, gf.position");
    fetch!(all, conn, scope, Row, SQL).map(fold)
}

/// One Group.
pub async fn get(conn: &mut Conn, scope: Scope, id: Uuid) -> Result<Option<Group>, Error> {
    const SQL: &str = select!("and g.id = $3 order by gf.position");
    let rows = fetch!(all, conn, scope, Row, SQL, id)?;
    Ok(fold(rows).pop())
}

/// Creates a Group. `limit` is the number of Groups in the account's plan; `None` for no limit.
///
/// # Errors
/// [`Error::Conflict`] when the name is taken; [`Error::LimitReached`].
pub async fn create(tx: &mut Tx, scope: Scope, new: &NewGroup, limit: Option<i64>) -> Result<Group, Error> {
    if let Some(limit) = limit {
        counters::lock(tx, scope).await?;
        const SQL: &str = "select count(*) from groups where merchant_id = $1 and sandbox = $2";
        let (count,) = fetch!(one, tx, scope, (i64,), SQL)?;
        if count >= limit {
            return Err(Error::LimitReached);
        }
    }
    let id = Uuid::now_v7();
    let now = tx.now();
    execute!(
        tx,
        scope,
        "insert into groups (merchant_id, sandbox, id, name, description, status, created_at, updated_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8)",
        id,
        &new.name,
        &new.description,
        new.status.as_str(),
        now,
        now
    )?;
    add_flows(tx, scope, id, &new.flow_ids).await?;
    get(tx, scope, id).await?.ok_or(Error::Missing("group"))
}

/// Changes a Group; `None` if there is no such Group. Without a change, `updated_at` stays the same too.
///
/// # Errors
/// [`Error::Conflict`] when the name is taken.
pub async fn update(
    tx: &mut Tx,
    scope: Scope,
    id: Uuid,
    changes: &GroupChanges,
) -> Result<Option<Group>, Error> {
    let GroupChanges {
        name,
        description,
        status,
        flow_ids,
    } = changes;
    if name.is_none() && description.is_none() && status.is_none() && flow_ids.is_none() {
        return get(tx, scope, id).await;
    }
    let now = tx.now();
    let changed = execute!(
        tx,
        scope,
        "update groups set name = coalesce($4, name), status = coalesce($5, status),
             description = case when $6 then $7 else description end, updated_at = $8
         where merchant_id = $1 and sandbox = $2 and id = $3",
        id,
        name,
        status.map(GroupStatus::as_str),
        description.is_some(),
        description.clone().flatten(),
        now
    )?;
    if changed == 0 {
        return Ok(None);
    }
    if let Some(flow_ids) = flow_ids {
        const SQL: &str = "delete from group_flows where merchant_id = $1 and sandbox = $2 and group_id = $3";
        execute!(tx, scope, SQL, id)?;
        add_flows(tx, scope, id, flow_ids).await?;
    }
    get(tx, scope, id).await
}

async fn add_flows(tx: &mut Tx, scope: Scope, group_id: Uuid, flow_ids: &[Uuid]) -> Result<(), Error> {
    const SQL: &str = "select id from flows where merchant_id = $1 and sandbox = $2";
    let own = fetch!(all, tx, scope, (Uuid,), SQL)?;
    // Removing each id from the set once it is added ignores repetitions.
    let mut own: HashSet<Uuid> = own.into_iter().map(|(id,)| id).collect();
    for (position, flow_id) in (0_i64..).zip(flow_ids.iter().filter(|id| own.remove(*id))) {
        execute!(
            tx,
            scope,
            "insert into group_flows (merchant_id, sandbox, group_id, flow_id, position)
             values ($1, $2, $3, $4, $5)",
            group_id,
            flow_id,
            position
        )?;
    }
    Ok(())
}

/// Deletes a Group and its associations; its Flows remain. Returns whether there was one.
pub async fn delete(tx: &mut Tx, scope: Scope, id: Uuid) -> Result<bool, Error> {
    const SQL: &str = "delete from groups where merchant_id = $1 and sandbox = $2 and id = $3";
    Ok(execute!(tx, scope, SQL, id)? == 1)
}
