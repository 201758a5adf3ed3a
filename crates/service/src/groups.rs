//! Use cases of Groups. `verification::group` has the rules, `store::groups` the SQL.

use serde_json::{Map, Value};
use store::audit;
use store::groups::{self, Group, GroupChanges, NewGroup};
use store::idempotency::ResponseSubject;
use store::{Db, Error, Scope, Tx};
use uuid::Uuid;
use verification::group::{GroupCreate, GroupUpdate};

use super::{App, applicant_invitations};
use crate::caller::Caller;
use crate::idempotency::{Answer, Claim};
use crate::problem::{Kind, Problem};

/// All Groups of the account, newest first.
pub async fn list(app: &App, scope: Scope) -> Result<Vec<Group>, Problem> {
    Ok(groups::list(&mut app.db.read().await?, scope).await?)
}

/// One Group, or 404.
pub async fn get(app: &App, scope: Scope, id: &str) -> Result<Group, Problem> {
    let id = parse_id(id)?;
    groups::get(&mut app.db.read().await?, scope, id)
        .await?
        .ok_or_else(not_found)
}

/// Creates a Group and, in the same transaction, stores the response for an idempotency key.
pub async fn create(
    app: &App,
    caller: &Caller,
    body: &Map<String, Value>,
    claim: &Claim,
    answer: impl Fn(Group) -> Result<Answer, Problem>,
) -> Result<Answer, Problem> {
    let new = parse_new(body)?;
    store::transaction!(app.db, |tx| -> Result<Answer, Problem> {
        let answer = answer(insert(tx, caller, &new).await?)?;
        claim
            .complete(tx, &answer, ResponseSubject::Configuration)
            .await?;
        Ok(answer)
    })
}

/// Creates a Group for the portal, whose forms have no idempotency keys.
pub async fn make(app: &App, caller: &Caller, body: &Map<String, Value>) -> Result<Group, Problem> {
    let new = parse_new(body)?;
    store::transaction!(app.db, |tx| -> Result<Group, Problem> {
        insert(tx, caller, &new).await
    })
}

/// Creates a Group for a demonstration or a load test. The account's plan does not limit it.
pub async fn create_alone(db: &Db, scope: Scope, new: &NewGroup) -> Result<Group, Error> {
    store::transaction!(db, |tx| -> Result<Group, Error> {
        groups::create(tx, scope, new, None).await
    })
}

fn parse_new(body: &Map<String, Value>) -> Result<NewGroup, Problem> {
    let GroupCreate {
        name,
        description,
        status,
        flow_ids,
    } = GroupCreate::parse(body).map_err(Problem::validation)?;
    Ok(NewGroup {
        name,
        description,
        status,
        flow_ids: parse_flow_ids(&flow_ids),
    })
}

async fn insert(tx: &mut Tx, caller: &Caller, new: &NewGroup) -> Result<Group, Problem> {
    let limit = super::merchants::settings(&caller.merchant)?.max_groups;
    let group = groups::create(tx, caller.scope, new, limit)
        .await
        .map_err(refused)?;
    let id = group.id.to_string();
    audit::write(tx, caller.scope, &caller.audit_entry("group.created", &id)).await?;
    Ok(group)
}

/// Changes a Group; an empty change changes nothing.
pub async fn update(
    app: &App,
    caller: &Caller,
    id: &str,
    body: &Map<String, Value>,
) -> Result<Group, Problem> {
    let id = parse_id(id)?;
    // A missing Group is reported before faults of the body, as for every path with an id.
    get(app, caller.scope, &id.to_string()).await?;
    let GroupUpdate {
        name,
        description,
        status,
        flow_ids,
    } = GroupUpdate::parse(body).map_err(Problem::validation)?;
    let changes = GroupChanges {
        name,
        description,
        status,
        flow_ids: flow_ids.as_deref().map(parse_flow_ids),
    };
    store::transaction!(app.db, |tx| -> Result<Group, Problem> {
        let group = groups::update(tx, caller.scope, id, &changes)
            .await
            .map_err(refused)?
            .ok_or_else(not_found)?;
        audit::write(
            tx,
            caller.scope,
            &caller.audit_entry("group.updated", &group.id.to_string()),
        )
        .await?;
        Ok(group)
    })
}

/// Deletes a Group and its Flow associations.
pub async fn delete(app: &App, caller: &Caller, id: &str) -> Result<(), Problem> {
    let id = parse_id(id)?;
    let subject = id.to_string();
    store::transaction!(app.db, |tx| -> Result<(), Problem> {
        if !groups::delete(tx, caller.scope, id).await? {
            return Err(not_found());
        }
        let detail = applicant_invitations::revoke_of_configuration(tx, caller.scope, id).await?;
        let entry = audit::Entry {
            detail: &detail,
            ..caller.audit_entry("group.deleted", &subject)
        };
        audit::write(tx, caller.scope, &entry).await?;
        Ok(())
    })
}

/// An id that is no UUID is reported as not found.
fn parse_id(id: &str) -> Result<Uuid, Problem> {
    Uuid::parse_str(id).map_err(|_| not_found())
}

/// Unknown ids are ignored (contract §4.1 rule 1), and so are those that are no UUIDs.
fn parse_flow_ids(ids: &[String]) -> Vec<Uuid> {
    ids.iter().filter_map(|id| Uuid::parse_str(id).ok()).collect()
}

fn not_found() -> Problem {
    Problem::not_found("Group not found")
}

fn refused(error: Error) -> Problem {
    match error {
        Error::Conflict => Problem::new(Kind::Conflict, "A group with this name already exists"),
        Error::LimitReached => Problem::new(Kind::Forbidden, "The plan's limit of groups is reached"),
        error => error.into(),
    }
}
