//! `bonafide lists diff`: what changed between two versions of a list, in words or as JSON. It changes nothing.

use anyhow::Context;
use sanctions::changes::{ChangeKind, EntityChange, changes};
use sanctions::store::ListContent;
use sanctions::{List, ListStore};
use serde_json::{Value, json};

use super::output::print_line;

/// Prints the differences between two versions of a list. Without `old`, it is the one that was replaced last; without
/// `new`, the one in use.
pub(super) fn run(
    store: &ListStore,
    list: &str,
    (old, new): (Option<&str>, Option<&str>),
    as_json: bool,
) -> anyhow::Result<()> {
    let versions = store.versions(list)?;
    let in_use = versions
        .last()
        .with_context(|| format!("no list {list}: `bonafide lists status` shows them"))?;
    let named = |wanted: &str| find(&versions, list, wanted);
    let new = new.map_or(Ok(in_use), named)?;
    let old = match old {
        Some(old) => named(old)?,
        None => replaced_last(&versions, list, &new.digest)?,
    };
    let (before, after) = (read(store, list, old)?, read(store, list, new)?);
    let found = changes(&before.entities, &after.entities);
    if as_json {
        let entries: Vec<Value> = found.iter().map(entry).collect();
        let whole = json!({"list": list, "from": old.version, "to": new.version, "changes": entries});
        return print_line(&whole.to_string());
    }
    let count = |kind: ChangeKind| found.iter().filter(|change| change.kind == kind).count();
    print_line(&format!(
        "{list} {} → {}: {} added, {} changed, {} removed",
        old.version,
        new.version,
        count(ChangeKind::Added),
        count(ChangeKind::Changed),
        count(ChangeKind::Removed)
    ))?;
    for change in &found {
        print_line(&describe(change))?;
    }
    Ok(())
}

/// The version that was replaced last, other than the one with a digest.
pub(super) fn replaced_last<'a>(
    versions: &'a [ListContent],
    list: &str,
    digest: &str,
) -> anyhow::Result<&'a ListContent> {
    let mut latest_first = versions.iter().rev();
    latest_first
        .find(|known| known.digest != digest)
        .with_context(|| format!("no earlier version of {list} is kept"))
}

/// The version of a name or a digest.
pub(super) fn find<'a>(
    versions: &'a [ListContent],
    list: &str,
    wanted: &str,
) -> anyhow::Result<&'a ListContent> {
    let is_it = |known: &&ListContent| known.version == wanted || known.digest == wanted;
    versions.iter().rev().find(is_it).with_context(|| {
        let known: Vec<&str> = versions.iter().map(|known| known.version.as_str()).collect();
        format!(
            "no version {wanted} of {list} is kept; there are {}",
            known.join(", ")
        )
    })
}

fn read(store: &ListStore, list: &str, wanted: &ListContent) -> anyhow::Result<List> {
    store.version(list, &wanted.digest)?.with_context(|| {
        format!(
            "version {} of {list} is damaged; import the list again",
            wanted.version
        )
    })
}

fn entry(change: &EntityChange<'_>) -> Value {
    let entity = change.entity();
    json!({
        "kind": change.kind,
        "id": entity.map(|entity| &entity.id),
        "caption": entity.map(|entity| &entity.caption),
        "schema": entity.map(|entity| entity.schema),
        "fields": change.fields(),
    })
}

fn describe(change: &EntityChange<'_>) -> String {
    let sign = match change.kind {
        ChangeKind::Added => '+',
        ChangeKind::Changed => '~',
        ChangeKind::Removed => '-',
    };
    let named = change
        .entity()
        .map(|entity| format!("{} ({})", entity.caption, entity.id));
    let mut text = format!("{sign} {}", named.unwrap_or_default());
    for field in change.fields() {
        let values = |values: &[String]| match values.is_empty() {
            true => "–".to_owned(),
            false => values.join("; "),
        };
        text.push_str(&format!(
            "\n    {}: {} → {}",
            field.field,
            values(&field.from),
            values(&field.to)
        ));
    }
    text
}
