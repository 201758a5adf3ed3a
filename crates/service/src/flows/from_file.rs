//! Creates and changes Flows from files: for the command line and the demo. Errors are texts for people.

use secrecy::SecretString;
use serde_json::{Map, Value};
use standardwebhooks::Webhook;
use store::audit::{self, Entry};
use store::flows;
use store::{Db, Scope};
use uuid::Uuid;
use verification::flow_body::FlowChanges;

use super::{
    SaveOutcome, apply_changes, change, empty, explain, for_people, new_flow_needs_second, not_found,
    propose_new, refused,
};
use crate::actor::By;
use crate::problem::Problem;
use crate::webhooks;

/// Creates a Flow from a file's members (for the command line and the demo). The error is a text for people.
pub async fn create(db: &Db, scope: Scope, file: &Map<String, Value>) -> Result<SaveOutcome, String> {
    let (changes, secret) = read_file(file, scope)?;
    if changes.name.is_none() {
        return Err("name - is required".into());
    }
    let content = apply_changes(empty(), &changes).map_err(|problem| problem.to_string())?;
    store::transaction!(db, |tx| -> Result<SaveOutcome, Problem> {
        if new_flow_needs_second(tx, scope).await? {
            refuse_secret(secret.as_ref())?;
            return propose_new(tx, scope, content.clone(), By::COMMAND_LINE).await;
        }
        let flow = flows::create(tx, scope, &content, None).await.map_err(refused)?;
        if let Some(secret) = &secret {
            store::webhooks::rotate(tx, scope, flow.id, Some(secret.clone()), 0).await?;
        }
        let entry = Entry {
            actor: By::COMMAND_LINE.actor,
            action: "flow.created",
            subject: &flow.id.to_string(),
            detail: "{}",
        };
        audit::write(tx, scope, &entry).await?;
        Ok(SaveOutcome::Done(flow))
    })
    .map_err(|problem| problem.to_string())
}

/// Refuses a webhook secret in a change that waits for a second person.
fn refuse_secret(secret: Option<&SecretString>) -> Result<(), Problem> {
    match secret {
        Some(_) => Err(Problem::invalid(
            "settings.webhookSecret - this change needs a second approval: change the secret separately",
        )),
        None => Ok(()),
    }
}

/// Changes a Flow that is named by id, or by the file's `flowId` or `name`.
pub async fn update_from_file(
    db: &Db,
    scope: Scope,
    id: Option<Uuid>,
    file: &Map<String, Value>,
) -> Result<SaveOutcome, String> {
    let (changes, secret) = read_file(file, scope)?;
    let id = match (id, file.get("flowId")) {
        (Some(id), _) => Some(id),
        (None, None) => None,
        (None, Some(named)) => Some(
            named
                .as_str()
                .and_then(|id| Uuid::parse_str(id).ok())
                .ok_or("flowId - must be the id of a Flow; leave it out to choose the Flow by `name`")?,
        ),
    };
    let all = async { flows::list(&mut db.read().await?, scope).await }
        .await
        .map_err(for_people)?;
    let known = all
        .iter()
        .find(|flow| id.map_or(Some(&flow.name) == changes.name.as_ref(), |id| flow.id == id));
    let id = known
        .ok_or("no such Flow: give --flow, or `flowId` or `name` in the file")?
        .id;
    store::transaction!(db, |tx| -> Result<SaveOutcome, Problem> {
        let flow = flows::get_for_update(tx, scope, id)
            .await?
            .ok_or_else(not_found)?;
        let content = apply_changes(flow.clone().into(), &changes)?;
        let saved = change(tx, scope, flow, content, None, By::COMMAND_LINE).await?;
        match (&saved, &secret) {
            (SaveOutcome::Proposed, secret) => refuse_secret(secret.as_ref())?,
            (SaveOutcome::Done(_), Some(secret)) => {
                webhooks::rotate(tx, scope, id, Some(secret.clone())).await?;
            }
            (SaveOutcome::Done(_), None) => {}
        }
        Ok(saved)
    })
    .map_err(|problem| problem.to_string())
}

/// A file's changes and, separately, its webhook secret, which is stored sealed and not among the settings.
fn read_file(file: &Map<String, Value>, scope: Scope) -> Result<(FlowChanges, Option<SecretString>), String> {
    let mut file = file.clone();
    // Validated with the other settings, then taken out of them.
    FlowChanges::parse_with_settings(&file, scope.sandbox).map_err(explain)?;
    let secret = file
        .get_mut("settings")
        .and_then(Value::as_object_mut)
        .and_then(|settings| settings.remove("webhookSecret"))
        .and_then(|secret| secret.as_str().map(str::to_owned));
    if secret
        .as_deref()
        .is_some_and(|secret| Webhook::new(secret).is_err())
    {
        return Err("settings.webhookSecret - must be whsec_ followed by base64".into());
    }
    let changes = FlowChanges::parse_with_settings(&file, scope.sandbox).map_err(explain)?;
    Ok((changes, secret.map(SecretString::from)))
}
