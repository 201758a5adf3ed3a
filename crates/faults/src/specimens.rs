//! The specimens that clients submit, read into memory once. It makes no pictures: `make specimens` and
//! `xtask specimens --faces` do.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, ensure};
use reqwest::multipart::{Form, Part};
use serde::Deserialize;

/// The specimen of hosted sessions that fail: its document cannot be decoded.
const FAILING: &str = "2003-document-corrupted";

/// An entry of `index.json`.
#[derive(Clone, Deserialize)]
pub(crate) struct Specimen {
    pub(crate) name: String,
    expect: String,
    pub(crate) flow: String,
    pub(crate) fields: BTreeMap<String, String>,
    files: BTreeMap<String, String>,
}

/// A specimen with its files.
#[derive(Clone)]
pub(crate) struct Person {
    pub(crate) specimen: Specimen,
    /// The files by form field.
    pub(crate) files: BTreeMap<String, Vec<u8>>,
}

impl Person {
    /// The request of a verification. `own` are fields that replace the specimen's.
    pub(crate) fn form(&self, own: &[(&str, &str)]) -> Form {
        let fields = self.specimen.fields.iter();
        let fields = fields.map(|(name, value)| (name.as_str(), value.as_str()));
        let fields: BTreeMap<&str, &str> = fields.chain(own.iter().copied()).collect();
        let mut form = Form::new();
        for (name, value) in fields {
            form = form.text(name.to_owned(), value.to_owned());
        }
        for (name, file) in &self.files {
            form = form.part(name.clone(), Part::bytes(file.clone()).file_name("x.jpg"));
        }
        form
    }
}

/// The specimens of a folder that `wanted` accepts.
fn read(folder: &Path, wanted: impl Fn(&Specimen) -> bool) -> anyhow::Result<Vec<Person>> {
    let index = std::fs::read(folder.join("index.json"))
        .with_context(|| format!("{} has no index.json: run `make specimens`", folder.display()))?;
    let all: Vec<Specimen> = serde_json::from_slice(&index)?;
    let mut people = Vec::new();
    for specimen in all.into_iter().filter(wanted) {
        let files = specimen
            .files
            .iter()
            .map(|(field, file)| Ok((field.clone(), std::fs::read(folder.join(file))?)))
            .collect::<anyhow::Result<_>>()?;
        people.push(Person { specimen, files });
    }
    Ok(people)
}

/// The specimens that pass, one for each face.
pub(crate) fn passing(folder: &Path) -> anyhow::Result<Vec<Person>> {
    // Flows with live capture accept no files.
    let people = read(folder, |specimen| {
        specimen.expect == "pass" && specimen.flow != "liveness"
    })?;
    ensure!(!people.is_empty(), "no specimen passes");
    Ok(people)
}

/// Everything in a folder that should pass (`xtask specimens --faces`).
pub(crate) fn faces(folder: &Path) -> anyhow::Result<Vec<Person>> {
    read(folder, |specimen| specimen.expect == "pass")
}

/// The specimen that fails.
pub(crate) fn failing(folder: &Path) -> anyhow::Result<Person> {
    let mut found = read(folder, |specimen| specimen.name == FAILING)?;
    found
        .pop()
        .with_context(|| format!("the specimen {FAILING} is missing"))
}
