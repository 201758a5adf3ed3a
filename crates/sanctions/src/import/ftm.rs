//! Reads OpenSanctions' FollowTheMoney lines (<https://www.opensanctions.org/docs/bulk/json/>): one entity
//! per line, with lists of strings by property. Wallets are linked to their holders; entities that are not
//! subjects are skipped. In nested files (`targets.nested.json`) a property may have whole entities, whose data is
//! counted and kept with the subject's.

use std::io::BufRead;

use rustc_hash::FxHashMap;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::ftm_nested;
use super::ftm_properties::{entity_of_properties, strings};
use super::input::{Tally, read_line};
use super::list::{ImportError, List};
use crate::entity::{Entity, Schema, push_unique};

/// The members of a line that are read; all others are ignored.
#[derive(Deserialize)]
pub(super) struct Line {
    id: String,
    schema: String,
    #[serde(default)]
    caption: String,
    #[serde(default)]
    properties: Map<String, Value>,
    #[serde(default)]
    datasets: Vec<String>,
    #[serde(default)]
    last_change: Option<String>,
    #[serde(default)]
    last_seen: Option<String>,
}

pub(super) fn read(name: &str, mut input: impl BufRead, tally: &mut Tally) -> Result<List, ImportError> {
    let mut list = List {
        name: list_name(name),
        ..List::default()
    };
    let mut holders: Vec<(String, String)> = Vec::new(); // holder's id, wallet
    let mut line = Vec::new();
    let mut number = 0;
    loop {
        let more = read_line(&mut input, &mut line).map_err(|source| ImportError::Read {
            name: name.into(),
            source,
        })?;
        if !more {
            break;
        }
        number += 1;
        let text = line.trim_ascii();
        let text = if number == 1 {
            text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text)
        } else {
            text
        };
        if text.is_empty() {
            continue;
        }
        let parsed: Line = match serde_json::from_slice(text) {
            Ok(parsed) => parsed,
            Err(_) => {
                tally.rows += 1;
                tally.reject(number, "not a FollowTheMoney entity in JSON");
                continue;
            }
        };
        // Addresses, ownerships and similar entities are not subjects.
        if Schema::from_ftm(&parsed.schema).is_none() {
            continue;
        }
        tally.rows += 1;
        let seen = parsed
            .last_seen
            .clone()
            .or(parsed.last_change.clone())
            .unwrap_or_default();
        ftm_nested::count(&parsed.properties, tally);
        let Some((entity, held)) = subject(parsed, &list.name) else {
            tally.reject(number, "no name and no wallet");
            continue;
        };
        holders.extend(held);
        if seen > list.version {
            list.version = seen;
        }
        list.entities.push(entity);
    }
    // A version in the file's name is what a delta refers to.
    if let [version] = &stated_versions(name)[..] {
        list.version.clone_from(version);
    }
    let at: FxHashMap<String, usize> = list
        .entities
        .iter()
        .enumerate()
        .map(|(i, e)| (e.id.clone(), i))
        .collect();
    for (holder, wallet) in holders {
        if let Some(i) = at.get(&holder) {
            push_unique(&mut list.entities[*i].wallets, &wallet);
        }
    }
    Ok(list)
}

/// A subject, and the wallets of others that it is: the holder's id and the wallet. `None` for an entity that is no
/// subject, or has neither a name nor a wallet.
pub(super) fn subject(line: Line, list: &str) -> Option<(Entity, Vec<(String, String)>)> {
    let schema = Schema::from_ftm(&line.schema)?;
    let mut entity = entity_of_properties(schema, &line.properties);
    ftm_nested::add(&mut entity, &line.properties);
    if entity.wallets.is_empty() && entity.names.is_empty() && entity.aliases.is_empty() {
        return None;
    }
    let mut holders = Vec::new();
    if schema == Schema::CryptoWallet {
        for holder in strings(&line.properties, "holder") {
            holders.extend(entity.wallets.iter().map(|w| (holder.to_owned(), w.clone())));
        }
    }
    entity.id = line.id;
    entity.caption = line.caption;
    entity.datasets = line.datasets;
    if entity.datasets.is_empty() {
        entity.datasets.push(list.to_owned());
    }
    Some((entity, holders))
}

/// The versions that a file's name states between its dots, such as `20240527134702-zbn`, as `2024-05-27T13:47:02-zbn`.
pub(super) fn stated_versions(file: &str) -> Vec<String> {
    let version = |part: &str| {
        let (digits, tag) = part.split_once('-')?;
        let is_version = digits.len() == 14
            && digits.bytes().all(|b| b.is_ascii_digit())
            && (1..=8).contains(&tag.len())
            && tag.bytes().all(|b| b.is_ascii_alphanumeric());
        let moment = jiff::civil::DateTime::strptime("%Y%m%d%H%M%S", digits).ok()?;
        is_version.then(|| format!("{moment}-{}", tag.to_ascii_lowercase()))
    };
    file.split('.').filter_map(version).collect()
}

/// The dataset's name, taken from the file name: `un_sc.entities.ftm.json` → `un_sc`. OpenSanctions names
/// files by content, not by dataset, so the operator's file name decides.
pub(super) fn list_name(file: &str) -> String {
    let name: String = file
        .split('.')
        .next()
        .unwrap_or("")
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || c == '_' || c == '-' {
                c.to_ascii_lowercase()
            } else {
                '_'
            }
        })
        .take(80)
        .collect();
    if name.is_empty() || name == "entities" || name == "targets" {
        "opensanctions".into()
    } else {
        name
    }
}
