//! The sanctions lists with the results of their last imports, and the models.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;
use axum_extra::extract::Form;
use http_server::error::Rejection;
use inference::own::OwnFolder;
use inference::{Manifest, find_models_dir};
use sanctions::freshness::is_unchanged_too_long;
use sanctions::store::{LastImport, ListStatus};
use service::four_eyes::AnswerOutcome;
use service::installation_acts::{self, InstallationAct, Obstacle, Operators, PendingAct};
use service::lists::PastWallets;
use service::problem::Problem;
use service::{App, Shared, list_set, operations};
use store::list_updates::{self, ListUpdate};
use uuid::Uuid;

use crate::page::{Page, done, html};
use crate::proposal::AnswerForm;
use crate::session::Member;

struct Model {
    name: String,
    version: String,
    sha256: String,
    present: bool,
    /// Whether it is in use; `None` for a built-in model.
    used: Option<bool>,
}

#[derive(Template)]
#[template(path = "portal/operator/lists.html")]
struct ListsPage {
    page: Page,
    lists: Vec<ListStatus>,
    imports: Vec<LastImport>,
    broken: Option<String>,
    models: Vec<Model>,
    models_broken: Option<String>,
    /// Pending acts on lists, which need an operator's confirmation.
    acts: Vec<ListAct>,
    /// The number of imports in a row without a change that needs attention.
    alert_after: u32,
    /// The lists whose last update from the publisher failed.
    failed_updates: Vec<ListUpdate>,
}

impl ListsPage {
    /// Since when imports have found no change, if that needs attention. Only the day is shown.
    fn unchanged_since<'a>(&self, list: &'a ListStatus) -> Option<&'a str> {
        is_unchanged_too_long(list.unchanged_imports, self.alert_after)
            .then(|| list.unchanged_since.as_deref()?.get(..10))
            .flatten()
    }
}

/// A pending act, and what the reader may do with it.
struct ListAct {
    waiting: PendingAct,
    is_own: bool,
    /// The text keys of notes: why a button is missing, and what happens next.
    notes: Vec<&'static str>,
    may_confirm: bool,
    may_drop: bool,
}

impl ListAct {
    fn new(operators: &Operators, me: Uuid, waiting: PendingAct) -> ListAct {
        let obstacle = operators.obstacle(&waiting, me);
        let mut notes: Vec<&str> = obstacle
            .into_iter()
            .map(|obstacle| match obstacle {
                Obstacle::Own | Obstacle::Subject => "operator.lists.why.own",
                Obstacle::ProposerGone => "operator.lists.why.proposer_gone",
                Obstacle::NotCounted | Obstacle::InviterNotCounted => "operator.lists.why.not_counted",
                Obstacle::TooNew => "operator.lists.why.too_new",
            })
            .collect();
        if waiting.staff_id.is_none() && obstacle.is_none() {
            notes.push("operator.lists.support_hint");
        }
        if operators.nobody_confirms(&waiting) && obstacle != Some(Obstacle::ProposerGone) {
            notes.push(match waiting.staff_id {
                Some(_) => "operator.lists.nobody",
                None => "operator.lists.nobody.command_line",
            });
        }
        ListAct {
            is_own: waiting.staff_id == Some(me),
            may_confirm: obstacle.is_none(),
            may_drop: obstacle != Some(Obstacle::NotCounted),
            notes,
            waiting,
        }
    }
}

pub(super) async fn lists(
    State(app): State<Shared>,
    member: Member,
    page: Page,
) -> Result<Response, Rejection> {
    let mut conn = app.db.read().await?;
    let acts = installation_acts::pending_acts(&mut conn).await?;
    let operators = Operators::of(&mut conn).await?;
    let mut updates = list_updates::list(&mut conn).await?;
    updates.retain(|update| update.error.is_some());
    drop(conn);
    let (lists, imports, models) = {
        let app = Arc::clone(&app);
        let look = move || {
            let store = app.lists.store();
            (store.status(), store.last_imports(), models(&app))
        };
        tokio::task::spawn_blocking(look)
            .await
            .map_err(Problem::internal)?
    };
    let (lists, unreadable) = match lists {
        Ok(lists) => (lists, None),
        Err(error) => (Vec::new(), Some(error.to_string())),
    };
    let (models, missing) = match models {
        Ok(models) => (models, None),
        Err(reason) => (Vec::new(), Some(reason)),
    };
    Ok(html(ListsPage {
        alert_after: app.config.data.list_unchanged_imports,
        lists,
        imports: imports.unwrap_or_default(),
        broken: unreadable.or_else(|| app.lists.screener().err()),
        models,
        acts: acts
            .into_iter()
            .filter(|waiting| !matches!(waiting.act, InstallationAct::Operator { .. }))
            .map(|waiting| ListAct::new(&operators, member.staff_id, waiting))
            .collect(),
        failed_updates: updates,
        models_broken: missing.or_else(|| app.engines.known().err()),
        page,
    })?)
}

/// The models in the manifest. This checks only that the files exist; the engines compare the hashes when
/// they load them.
fn models(app: &App) -> Result<Vec<Model>, String> {
    let folder = find_models_dir(app.config.models.as_deref()).ok_or("no model folder")?;
    let manifest = Manifest::read(&folder).map_err(|error| error.to_string())?;
    let model = |entry: inference::ManifestEntry| Model {
        present: folder.join(&entry.file).is_file(),
        name: entry.name,
        version: entry.version,
        sha256: entry.sha256,
        used: None,
    };
    let models = manifest
        .files
        .into_iter()
        .filter(|entry| !entry.name.starts_with("sample"));
    let own = OwnFolder::of(&folder);
    let selection = own.selection().map_err(|error| error.to_string())?;
    let mut all: Vec<Model> = models.map(model).collect();
    for name in own.names().map_err(|error| error.to_string())? {
        let (declaration, _) = own.read(&name).map_err(|error| error.to_string())?;
        all.push(Model {
            present: own.has_model(&name),
            used: Some(selection.of(declaration.kind()) == Some(name.as_str())),
            name,
            version: String::new(),
            sha256: declaration.sha256,
        });
    }
    Ok(all)
}

pub(super) async fn reload(State(app): State<Shared>, member: Member) -> Result<Response, Rejection> {
    // If the lists are not usable, the page shows the reason.
    let _ = app.lists.confirm(&app.db).await;
    let reloading = Arc::clone(&app);
    tokio::task::spawn_blocking(move || reloading.lists.reload())
        .await
        .map_err(Problem::internal)?;
    operations::record_alone(&app.db, &member.actor(), "lists.reloaded", "").await?;
    Ok(done("/portal/operator/lists", "operator.reloaded"))
}

pub(super) async fn confirm(
    State(app): State<Shared>,
    member: Member,
    Path(id): Path<Uuid>,
    Form(form): Form<AnswerForm>,
) -> Result<Response, Rejection> {
    Ok(answer(&app, &member, id, (true, &form)).await?)
}

pub(super) async fn reject(
    State(app): State<Shared>,
    member: Member,
    Path(id): Path<Uuid>,
    Form(form): Form<AnswerForm>,
) -> Result<Response, Rejection> {
    Ok(answer(&app, &member, id, (false, &form)).await?)
}

async fn answer(
    app: &Shared,
    member: &Member,
    id: Uuid,
    (agrees, form): (bool, &AnswerForm),
) -> Result<Response, Problem> {
    let answer = (agrees, form.version()?);
    let (answered, act) = installation_acts::answer(&app.db, id, answer, member.staff_id).await?;
    let page = match act {
        InstallationAct::Operator { .. } => "/portal/operator/operators",
        _ => "/portal/operator/lists",
    };
    let key = match (answered, act) {
        (AnswerOutcome::Dropped, _) => "change_rejected",
        (AnswerOutcome::Adopted, InstallationAct::RemoveList(_)) => "removal_adopted",
        (AnswerOutcome::Adopted, InstallationAct::ShrinkList(_)) => "shrinkage_adopted",
        (AnswerOutcome::Adopted, InstallationAct::RollBackList(_)) => "rollback_adopted",
        (AnswerOutcome::Adopted, InstallationAct::Operator { .. }) => "operator_adopted",
        (AnswerOutcome::Done, InstallationAct::RemoveList(list)) => {
            remove(app, list, &member.actor()).await?;
            "change_confirmed"
        }
        (AnswerOutcome::Done, InstallationAct::ShrinkList(_)) => "shrinkage_confirmed",
        (AnswerOutcome::Done, InstallationAct::RollBackList(_)) => "rollback_confirmed",
        (AnswerOutcome::Done, InstallationAct::Operator { .. }) => "operator_confirmed",
    };
    Ok(done(page, key))
}

/// Removes a list from the installation's set, then from this node's folder. Its wallets remain in the
/// history of wallets that were once listed.
async fn remove(app: &Shared, list: String, actor: &str) -> Result<(), Problem> {
    list_set::remove(&app.db, &list, actor, true).await?;
    // If no other list remains, there is nothing to confirm.
    let _ = app.lists.confirm(&app.db).await;
    let node = Arc::clone(app);
    let removed = tokio::task::spawn_blocking(move || -> Result<(), Problem> {
        node.lists.store().remove(&list).map_err(Problem::internal)?;
        let now = jiff::Timestamp::now().as_millisecond();
        PastWallets::remember(&node.config.data, now).map_err(Problem::internal)?;
        node.lists.reload();
        Ok(())
    });
    removed.await.map_err(Problem::internal)?
}
