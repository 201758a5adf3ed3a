//! Applies OpenSanctions' delta files (`entities.delta.json`): one change per line, `ADD`, `MOD` or `DEL` with the
//! entity.
//!
//! A delta does not state which version it changes, and a delta that was left out could hide a sanctioned person. So
//! the file's name must state the version that it changes and its own, as the publisher's folders are named:
//! `sanctions.20240527134702-zbn.20240527194702-wnk.delta.json`. Nothing is applied in part: the delta is refused if the
//! list in use has another version, if a line cannot be read, or if a change does not fit the list.

use std::io::BufRead;

use rustc_hash::{FxHashMap, FxHashSet};
use serde::Deserialize;

use super::ftm;
use super::input::{Tally, read_line};
use super::list::{ImportError, List, Use};
use crate::entity::{Entity, Schema, push_unique};

/// A line of a delta.
#[derive(Deserialize)]
struct Change {
    op: Op,
    entity: serde_json::Value,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
enum Op {
    Add,
    Mod,
    Del,
}

/// The list in use with the changes of a delta. `base` returns the list in use of a name.
pub(super) fn read(
    name: &str,
    input: impl BufRead,
    tally: &mut Tally,
    base: impl FnOnce(&str) -> Option<List>,
) -> Result<List, ImportError> {
    let list = ftm::list_name(name);
    let [from, to] = ftm::stated_versions(name).try_into().map_err(|_| {
        ImportError::Incomplete(format!(
            "{name} is a delta, whose name must state the version that it changes and its own: name it \
             LIST.VERSION.VERSION.delta.json, such as sanctions.20240527134702-zbn.20240527194702-wnk.delta.json"
        ))
    })?;
    let wrong_base = |found: String| {
        ImportError::Incomplete(format!(
            "{name} changes version {from} of {list}, but {found}: import all deltas since that version in their order, or \
             the whole list as {list}.VERSION.entities.ftm.json"
        ))
    };
    let base = base(&list).ok_or_else(|| wrong_base("no such list is in use here".into()))?;
    if base.version == to {
        // It was imported before, perhaps without being put to use.
        return Ok(base);
    }
    if base.version != from {
        return Err(wrong_base(format!("version {} is in use here", base.version)));
    }
    let mut changed = Changed::of(base);
    changed
        .apply(name, input, tally)
        .map_err(|(line, reason)| match reason {
            Reason::Unreadable(reason) => ImportError::Damaged {
                name: name.into(),
                record: line,
                reason,
            },
            Reason::DoesNotFit(what) => wrong_base(format!("its line {line} {what}")),
            Reason::Read(source) => ImportError::Read {
                name: name.into(),
                source,
            },
        })?;
    Ok(changed.finish(list, to))
}

/// Why a delta is refused at a line.
enum Reason {
    Unreadable(String),
    DoesNotFit(&'static str),
    Read(std::io::Error),
}

/// A list while it is changed.
struct Changed {
    /// The entities; `None` for those that were removed.
    entities: Vec<Option<Entity>>,
    by_id: FxHashMap<String, usize>,
    /// Holder's id and wallet, of the wallets that were added or changed.
    holders: Vec<(String, String)>,
    removed_wallets: FxHashSet<String>,
}

impl Changed {
    fn of(base: List) -> Changed {
        let entities = base.entities;
        let ids = entities.iter().enumerate();
        Changed {
            by_id: ids.map(|(at, entity)| (entity.id.clone(), at)).collect(),
            entities: entities.into_iter().map(Some).collect(),
            holders: Vec::new(),
            removed_wallets: FxHashSet::default(),
        }
    }

    fn apply(&mut self, name: &str, mut input: impl BufRead, tally: &mut Tally) -> Result<(), (u64, Reason)> {
        let list = ftm::list_name(name);
        let mut line = Vec::new();
        let mut number = 0;
        while read_line(&mut input, &mut line).map_err(|source| (number, Reason::Read(source)))? {
            number += 1;
            let text = line.trim_ascii();
            let text = text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text);
            if text.is_empty() {
                continue;
            }
            let unreadable = || {
                (
                    number,
                    Reason::Unreadable("no change of an entity in JSON; download it again".into()),
                )
            };
            let change: Change = serde_json::from_slice(text).map_err(|_| unreadable())?;
            tally.rows += 1;
            if let Op::Del = change.op {
                // A removal has only the id, so it may be that of an address or of another entity that is no subject.
                let id = change
                    .entity
                    .get("id")
                    .and_then(serde_json::Value::as_str)
                    .ok_or_else(unreadable)?;
                let used = if self.remove(id) {
                    Use::Compared
                } else {
                    Use::Unused
                };
                tally.value("DEL", "", id, used);
                continue;
            }
            let entity: ftm::Line = serde_json::from_value(change.entity).map_err(|_| unreadable())?;
            let (op, is_new) = match change.op {
                Op::Add => ("ADD", true),
                _ => ("MOD", false),
            };
            let Some((entity, holders)) = ftm::subject(entity, &list) else {
                tally.value(op, "", "no subject", Use::Unused);
                continue;
            };
            tally.value(op, "", &entity.id, Use::Compared);
            self.holders.extend(holders);
            self.put(entity, is_new)
                .map_err(|what| (number, Reason::DoesNotFit(what)))?;
        }
        Ok(())
    }

    /// Removes an entity, and a wallet from its holder. Returns whether the list had it.
    fn remove(&mut self, id: &str) -> bool {
        let removed = self.by_id.remove(id).and_then(|at| self.entities[at].take());
        if let Some(entity) = removed
            .as_ref()
            .filter(|entity| entity.schema == Schema::CryptoWallet)
        {
            self.removed_wallets.extend(entity.wallets.iter().cloned());
        }
        removed.is_some()
    }

    fn put(&mut self, mut entity: Entity, is_new: bool) -> Result<(), &'static str> {
        match (self.by_id.get(&entity.id), is_new) {
            (None, true) => {
                self.by_id.insert(entity.id.clone(), self.entities.len());
                self.entities.push(Some(entity));
                Ok(())
            }
            (Some(at), false) => {
                // Wallets come from entities of their own, which this delta need not have.
                let before = self.entities[*at].take();
                for wallet in before.iter().flat_map(|before| &before.wallets) {
                    push_unique(&mut entity.wallets, wallet);
                }
                self.entities[*at] = Some(entity);
                Ok(())
            }
            (Some(_), true) => Err("adds an entity that the list has already"),
            (None, false) => Err("changes an entity that the list lacks"),
        }
    }

    fn finish(mut self, name: String, version: String) -> List {
        for (holder, wallet) in &self.holders {
            let holder = self.by_id.get(holder).and_then(|at| self.entities[*at].as_mut());
            holder
                .into_iter()
                .for_each(|holder| push_unique(&mut holder.wallets, wallet));
            self.removed_wallets.remove(wallet);
        }
        let mut entities: Vec<Entity> = self.entities.into_iter().flatten().collect();
        if !self.removed_wallets.is_empty() {
            for entity in &mut entities {
                entity
                    .wallets
                    .retain(|wallet| !self.removed_wallets.contains(wallet));
            }
        }
        List {
            name,
            version,
            entities,
        }
    }
}
