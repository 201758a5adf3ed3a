//! Renders the specimens: documents of our own design and selfies, one set per outcome, with `index.json` telling what to
//! send and what to expect. They test the pipeline; they measure no matching. Deterministic: the same models give the
//! same bytes.

mod camera;
mod canvas;
mod cast;
mod documents;
mod face;
mod licence;
mod mrz;
mod person;

use std::{fs, path::Path, sync::Mutex, thread, time::Instant};

use anyhow::{Context, Result};
use serde::Serialize;

use canvas::Fonts;
use face::Studio;

/// One request: what to send, and what must come back.
#[derive(Serialize)]
struct Specimen {
    name: &'static str,
    /// `pass`, or the failure code.
    expect: &'static str,
    fields: serde_json::Map<String, serde_json::Value>,
    /// Form field to file name.
    files: serde_json::Map<String, serde_json::Value>,
    /// The demo Flow to send it to, by name.
    flow: &'static str,
    #[serde(skip)]
    contents: Vec<(String, Vec<u8>)>,
}

pub(crate) fn run(out: &Path, models: &Path) -> Result<()> {
    let start = Instant::now();
    let studio = Studio::open(models)?;
    let fonts = Fonts::load()?;
    let staging = out.join(".partial");
    if staging.exists() {
        fs::remove_dir_all(&staging).with_context(|| format!("removing {}", staging.display()))?;
    }
    fs::create_dir_all(&staging).with_context(|| format!("creating {}", staging.display()))?;
    let made = render(&studio, &fonts, &staging).and_then(|files| publish(&files, &staging, out));
    let removed = fs::remove_dir_all(&staging);
    let count = made?;
    removed.with_context(|| format!("removing {}", staging.display()))?;
    println!(
        "specimens: {count} in {} in {:.1} s",
        out.display(),
        start.elapsed().as_secs_f32()
    );
    Ok(())
}

/// Renders all specimens on all cores; the names of the files, the index last.
fn render(studio: &Studio, fonts: &Fonts, dir: &Path) -> Result<Vec<String>> {
    let orders = cast::orders();
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

    let mut names = Vec::new();
    for (name, bytes) in specimens.iter().flat_map(|specimen| &specimen.contents) {
        fs::write(dir.join(name), bytes).with_context(|| format!("writing {name}"))?;
        names.push(name.clone());
    }
    fs::write(dir.join("index.json"), serde_json::to_string_pretty(&specimens)?)
        .context("writing the index")?;
    names.push("index.json".to_owned());
    Ok(names)
}

/// Moves the files into place, the index last.
fn publish(files: &[String], staging: &Path, out: &Path) -> Result<usize> {
    for file in files {
        fs::rename(staging.join(file), out.join(file))
            .with_context(|| format!("moving {file} into {}", out.display()))?;
    }
    Ok(files.len() - 1)
}
