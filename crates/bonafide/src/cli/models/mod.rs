//! `bonafide models`: an operator's custom models. A model is added with its declaration, calibrated on the operator's
//! own pictures, and then used. `docs/operators/own-models.md` describes how.
//!
//! This module never sends anything anywhere, and never stores a picture of a calibration.

mod calibrate;
mod calibrate_embedder;
mod calibrate_pad;
mod figures;
mod labelled;
mod opened;
mod scale;
mod threshold;

use std::path::PathBuf;

use anyhow::Context;
use clap::{Args, Subcommand, ValueEnum};
use faces::{EMBEDDER_RECIPE, PAD_RECIPE};
use inference::own::{ModelKind, OwnFolder, Selection};
use serde_json::{Value, json};

use self::figures::{figures, of_embedder, of_pad, warn_of_better_built_in, warn_of_refusals};
use self::opened::Opened;
use super::errors::Unusable;
use super::output::{note, print_line};
use crate::cli::engines::ModelsArg;

/// `bonafide models`.
#[derive(Args)]
pub(crate) struct ModelsCommand {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Add a model with its declaration, after its golden tests have passed.
    Add(Add),
    /// List the custom models with their calibrations, and whether they are in use.
    List(List),
    /// Choose a model's threshold or scale with half of the people, and measure it with the other half.
    Calibrate(calibrate::Calibrate),
    /// Use a calibrated model. Servers use it from their next start.
    Use(Use),
    /// Remove a model that is not in use.
    Remove(Remove),
}

#[derive(Args)]
struct Add {
    /// The declaration, a JSON file beside the model and its golden pictures.
    declaration: PathBuf,
    #[command(flatten)]
    models: ModelsArg,
}

#[derive(Args)]
struct List {
    #[command(flatten)]
    models: ModelsArg,
}

#[derive(Args)]
struct Use {
    /// The model's name.
    #[arg(required_unless_present = "built_in", conflicts_with = "built_in")]
    name: Option<String>,
    /// Stop using the custom model of this kind. Only the built-in models remain in use.
    #[arg(long, value_name = "KIND")]
    built_in: Option<Kind>,
    #[command(flatten)]
    models: ModelsArg,
}

#[derive(Args)]
struct Remove {
    /// The model's name.
    name: String,
    #[command(flatten)]
    models: ModelsArg,
}

/// A kind of custom model.
#[derive(Clone, Copy, ValueEnum)]
enum Kind {
    Pad,
    Embedder,
}

impl From<Kind> for ModelKind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Pad => Self::Pad,
            Kind::Embedder => Self::Embedder,
        }
    }
}

pub(super) fn run(command: ModelsCommand) -> anyhow::Result<()> {
    match command.action {
        Action::Add(command) => command.run(),
        Action::List(command) => command.run(),
        Action::Calibrate(command) => command.run(),
        Action::Use(command) => command.run(),
        Action::Remove(command) => command.run(),
    }
}

impl Add {
    fn run(self) -> anyhow::Result<()> {
        let opened = Opened::of(&self.models)?;
        let staged = opened.folder.stage(&self.declaration)?;
        let model = opened.models.open_staged(&staged)?;
        opened.engine.check_golden(&model)?;
        let declaration = model.declaration().clone();
        opened.folder.keep(staged)?;
        print_line(
            &json!({
                "name": declaration.name,
                "kind": declaration.kind(),
                "sha256": declaration.sha256,
                "goldenTests": declaration.golden_pictures().count(),
            })
            .to_string(),
        )?;
        let pictures = match declaration.kind() {
            ModelKind::Pad => "--live FOLDER --attacks FOLDER",
            ModelKind::Embedder => "--people FOLDER",
        };
        note!(
            "Added. Next: bonafide models calibrate {} {pictures}",
            declaration.name
        );
        Ok(())
    }
}

impl List {
    fn run(self) -> anyhow::Result<()> {
        let folder = OwnFolder::of(&self.models.dir()?);
        let selection = folder.selection()?;
        for name in folder.names()? {
            print_line(&described(&folder, &name, &selection).to_string())?;
        }
        // A selected model whose folder is gone stops the engines, so it must not be left out.
        for name in ModelKind::ALL.into_iter().filter_map(|kind| selection.of(kind)) {
            folder.read(name).context("a model in use cannot be read")?;
        }
        Ok(())
    }
}

/// A model as the list shows it.
fn described(folder: &OwnFolder, name: &str, selection: &Selection) -> Value {
    let in_use = ModelKind::ALL
        .into_iter()
        .any(|kind| selection.of(kind) == Some(name));
    match folder.read(name) {
        Ok((declaration, calibration)) => json!({
            "name": name,
            "kind": declaration.kind(),
            "sha256": declaration.sha256,
            "licence": declaration.licence,
            "source": declaration.source,
            "inUse": in_use,
            "calibration": calibration.as_ref().map(figures),
            "error": null,
        }),
        Err(error) => json!({"name": name, "inUse": in_use, "error": error.to_string()}),
    }
}

impl Use {
    fn run(self) -> anyhow::Result<()> {
        let dir = self.models.dir()?;
        let folder = OwnFolder::of(&dir);
        let Some(name) = self.name else {
            let kind = self.built_in.map(ModelKind::from);
            let kind = kind.ok_or_else(|| Unusable("name a model, or use --built-in KIND".into()))?;
            folder.select(&folder.selection()?.with(kind, None))?;
            print_line(&json!({"kind": kind, "inUse": null}).to_string())?;
            note!("From their next start, servers use no custom model of this kind.");
            return Ok(());
        };
        let opened = Opened::of(&self.models)?;
        let model = opened.model(&name)?;
        let kind = model.declaration().kind();
        let figures = match kind {
            ModelKind::Pad => {
                let calibration = model.calibration(PAD_RECIPE)?;
                warn_of_refusals(calibration);
                of_pad(calibration)
            }
            ModelKind::Embedder => {
                let calibration = model.embedder_calibration(EMBEDDER_RECIPE)?;
                warn_of_better_built_in(calibration);
                of_embedder(calibration)
            }
        };
        opened.engine.check_golden(&model)?;
        folder.select(&folder.selection()?.with(kind, Some(name.clone())))?;
        print_line(&json!({"kind": kind, "inUse": name, "calibration": figures}).to_string())?;
        note!(
            "Servers use it from their next start. Each node needs the same model in its own models folder."
        );
        if kind == ModelKind::Embedder {
            note!(
                "Known faces remain searchable while the servers embed them with the new model in the background."
            );
        }
        Ok(())
    }
}

impl Remove {
    fn run(self) -> anyhow::Result<()> {
        OwnFolder::of(&self.models.dir()?).remove(&self.name)?;
        print_line(&json!({"name": self.name, "removed": true}).to_string())
    }
}
