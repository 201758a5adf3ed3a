//! Renders the specimens: documents of our own design and selfies, one set per outcome. `index.json` states
//! what to submit and which result to expect.
//!
//! The specimens test the pipeline. They do not measure face matching. The same models give the same bytes.

mod camera;
mod canvas;
mod cast;
mod documents;
mod face;
pub(crate) mod flat;
pub(crate) mod gallery;
mod licence;
mod moment;
mod mrz;
mod order;
mod person;
mod turning;

use std::{fs, path::Path, sync::Mutex, thread, time::Instant};

use anyhow::{Context, Result};
use inference::Manifest;
use serde::Serialize;
use sha2::{Digest, Sha256};

use canvas::Fonts;
use face::Studio;

/// One request: the data to submit, and the expected result.
#[derive(Serialize)]
struct Specimen {
    name: &'static str,
    /// `pass`, or the expected failure code.
    expect: &'static str,
    fields: serde_json::Map<String, serde_json::Value>,
    /// Form field to file name.
    files: serde_json::Map<String, serde_json::Value>,
    /// The name of the demo Flow for the request.
    flow: &'static str,
    #[serde(skip)]
    contents: Vec<(String, Vec<u8>)>,
}

/// The file that records the inputs of the specimens in its folder.
const RECIPE_FILE: &str = ".recipe";

/// The specimen whose person turns the head, see [`turning`].
const TURNING: &str = "pass-passport";

/// All inputs of the specimens, except the models.
const SOURCES: [&[u8]; 16] = [
    include_bytes!("camera.rs"),
    include_bytes!("canvas.rs"),
    include_bytes!("cast.rs"),
    include_bytes!("documents.rs"),
    include_bytes!("face.rs"),
    include_bytes!("licence.rs"),
    include_bytes!("mod.rs"),
    include_bytes!("moment.rs"),
    include_bytes!("mrz.rs"),
    include_bytes!("order.rs"),
    include_bytes!("person.rs"),
    include_bytes!("turning.rs"),
    include_bytes!("../../../crates/films/src/canvas.rs"),
    include_bytes!("../../../crates/films/src/depths.rs"),
    include_bytes!("../../../crates/films/src/mesh.rs"),
    include_bytes!("../../../crates/films/src/room.rs"),
];

pub(crate) fn run(out: &Path, models: &Path) -> Result<()> {
    let start = Instant::now();
    let recipe = recipe(models)?;
    if fs::read_to_string(out.join(RECIPE_FILE)).is_ok_and(|made_from| made_from == recipe) {
        eprintln!("specimens: {} is up to date", out.display());
        return Ok(());
    }
    let studio = Studio::open(models)?;
    let fonts = Fonts::load()?;
    let staging = out.join(".partial");
    if staging.exists() {
        fs::remove_dir_all(&staging).with_context(|| format!("removing {}", staging.display()))?;
    }
    fs::create_dir_all(&staging).with_context(|| format!("creating {}", staging.display()))?;
    let made =
        render(&studio, &fonts, &staging, models, &recipe).and_then(|files| publish(&files, &staging, out));
    let removed = fs::remove_dir_all(&staging);
    made?;
    removed.with_context(|| format!("removing {}", staging.display()))?;
    eprintln!(
        "specimens: {} made in {:.1} s",
        out.display(),
        start.elapsed().as_secs_f32()
    );
    Ok(())
}

fn recipe(models: &Path) -> Result<String> {
    let mut digest = Sha256::new();
    digest.update(Manifest::read(models)?.recipe);
    SOURCES.into_iter().for_each(|source| digest.update(source));
    Ok(hex::encode(digest.finalize()))
}

/// Renders all specimens on all cores. Returns the names of the files, with the index and the recipe last.
fn render(studio: &Studio, fonts: &Fonts, dir: &Path, models: &Path, recipe: &str) -> Result<Vec<String>> {
    let orders = &cast::SPECIMEN_SPECS;
    let next = Mutex::new(orders.iter().enumerate());
    let rendered = Mutex::new(Vec::new());
    let work = || {
        loop {
            let order = next.lock().map(|mut orders| orders.next());
            let Ok(Some((position, order))) = order else {
                return;
            };
            let specimen = order
                .specimen(studio, fonts)
                .with_context(|| format!("specimen {}", order.name));
            if let Ok(mut rendered) = rendered.lock() {
                rendered.push((position, specimen));
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    let mut specimens = rendered.into_inner().unwrap_or_default();
    specimens.sort_by_key(|(position, _)| *position);
    let specimens = specimens
        .into_iter()
        .map(|(_, specimen)| specimen)
        .collect::<Result<Vec<_>>>()?;
    anyhow::ensure!(specimens.len() == orders.len(), "a specimen was lost");

    let selfie = specimens
        .iter()
        .find(|specimen| specimen.name == TURNING)
        .and_then(|specimen| specimen.contents.iter().find(|(name, _)| name.contains("selfie")))
        .with_context(|| format!("{TURNING} has no selfie"))?;
    let views = turning::views(models, &selfie.1).context("views of a turning head")?;
    let mut names = Vec::new();
    for (name, bytes) in specimens
        .iter()
        .flat_map(|specimen| &specimen.contents)
        .chain(&views)
    {
        fs::write(dir.join(name), bytes).with_context(|| format!("writing {name}"))?;
        names.push(name.clone());
    }
    fs::write(dir.join("index.json"), serde_json::to_string_pretty(&specimens)?)
        .context("writing the index")?;
    fs::write(dir.join(RECIPE_FILE), recipe).context("writing the recipe")?;
    names.extend(["index.json".to_owned(), RECIPE_FILE.to_owned()]);
    Ok(names)
}

/// Moves the files into place in this order, so that a recipe's files are always complete.
fn publish(files: &[String], staging: &Path, out: &Path) -> Result<()> {
    let old = out.join(RECIPE_FILE);
    if old.exists() {
        fs::remove_file(&old).with_context(|| format!("removing {}", old.display()))?;
    }
    for file in files {
        let moved = fs::rename(staging.join(file), out.join(file));
        moved.with_context(|| format!("moving {file} into {}", out.display()))?;
    }
    Ok(())
}
