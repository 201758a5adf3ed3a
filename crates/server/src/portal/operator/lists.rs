//! The sanctions lists, with what came of their last imports, and the models.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use inference::{Manifest, find_models_dir};
use sanctions::store::{LastImport, ListStatus};

use crate::app::{App, Shared, operations};
use crate::error::Problem;
use crate::portal::page::{Page, done, html};
use crate::portal::session::Member;

struct Model {
    name: String,
    version: String,
    sha256: String,
    present: bool,
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
}

pub(super) async fn lists(State(app): State<Shared>, page: Page) -> Result<Response, Problem> {
    let (lists, imports, models) = {
        let app = Arc::clone(&app);
        let look = move || {
            let store = app.lists.store();
            (store.status(), store.imports(), models(&app))
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
    html(ListsPage {
        lists,
        imports: imports.unwrap_or_default(),
        broken: unreadable.or_else(|| app.lists.screener().err()),
        models,
        models_broken: missing.or_else(|| app.engines.get().err().map(str::to_owned)),
        page,
    })
}

/// The models that the manifest names; whether they are what it says, the engines found out when they loaded them.
fn models(app: &App) -> Result<Vec<Model>, String> {
    let folder = find_models_dir(app.config.models.as_deref()).ok_or("no model folder")?;
    let manifest = Manifest::read(&folder).map_err(|error| error.to_string())?;
    let model = |entry: inference::ManifestEntry| Model {
        present: folder.join(&entry.file).is_file(),
        name: entry.name,
        version: entry.version,
        sha256: entry.sha256,
    };
    let models = manifest
        .files
        .into_iter()
        .filter(|entry| !entry.name.starts_with("sample"));
    Ok(models.map(model).collect())
}

pub(super) async fn reload(State(app): State<Shared>, member: Member) -> Result<Response, Problem> {
    let reloading = Arc::clone(&app);
    tokio::task::spawn_blocking(move || reloading.lists.reload())
        .await
        .map_err(Problem::internal)?;
    store::transaction!(app.db, |tx| -> Result<(), Problem> {
        Ok(operations::record(tx, &member.actor(), "lists.reloaded", "").await?)
    })?;
    Ok(done("/portal/operator/lists", "operator.reloaded"))
}
