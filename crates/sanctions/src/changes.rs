//! What differs between two versions of a list, entity by entity and field by field. It scores nothing and decides
//! nothing.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::entity::Entity;

/// How an entity differs between two versions of its list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    /// Only the new version has it.
    Added,
    /// Both versions have it, with other content.
    Changed,
    /// Only the old version has it.
    Removed,
}

/// A field whose values differ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FieldChange {
    /// The field, as in [`Entity`]'s JSON: `names`, `birthDates`, …
    pub field: String,
    /// Values that only the old version has.
    pub from: Vec<String>,
    /// Values that only the new version has.
    pub to: Vec<String>,
}

/// A difference between two versions of a list.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EntityChange<'a> {
    /// How the entity differs.
    pub kind: ChangeKind,
    /// It in the old version.
    pub before: Option<&'a Entity>,
    /// It in the new version.
    pub after: Option<&'a Entity>,
}

impl<'a> EntityChange<'a> {
    /// The entity in the newest version that has it.
    pub fn entity(&self) -> Option<&'a Entity> {
        self.after.or(self.before)
    }

    /// The fields that differ; none unless both versions have the entity.
    pub fn fields(&self) -> Vec<FieldChange> {
        match (self.before, self.after) {
            (Some(before), Some(after)) => field_changes(before, after),
            _ => Vec::new(),
        }
    }
}

/// The differences between two versions of a list: those of the new version's entities in its order, then the entities
/// that it lacks, in the old version's order.
pub fn changes<'a>(before: &'a [Entity], after: &'a [Entity]) -> Vec<EntityChange<'a>> {
    let old: HashMap<&str, &Entity> = before.iter().map(|e| (e.id.as_str(), e)).collect();
    let new: HashMap<&str, &Entity> = after.iter().map(|e| (e.id.as_str(), e)).collect();
    let of_new = after.iter().filter_map(|entity| {
        let before = old.get(entity.id.as_str()).copied();
        let kind = match before {
            None => ChangeKind::Added,
            Some(before) if before != entity => ChangeKind::Changed,
            Some(_) => return None,
        };
        Some(EntityChange {
            kind,
            before,
            after: Some(entity),
        })
    });
    let removed = before
        .iter()
        .filter(|entity| !new.contains_key(entity.id.as_str()));
    let removed = removed.map(|entity| EntityChange {
        kind: ChangeKind::Removed,
        before: Some(entity),
        after: None,
    });
    of_new.chain(removed).collect()
}

/// The fields in which two versions of an entity differ.
pub fn field_changes(before: &Entity, after: &Entity) -> Vec<FieldChange> {
    let members = |entity: &Entity| match serde_json::to_value(entity) {
        Ok(Value::Object(members)) => members,
        // An entity always serialises as an object.
        _ => serde_json::Map::new(),
    };
    let (before, after) = (members(before), members(after));
    let mut names: Vec<&String> = before.keys().chain(after.keys()).collect();
    names.sort_unstable();
    names.dedup();
    let change = |name: &String| {
        let (from, to) = (texts(before.get(name)), texts(after.get(name)));
        let only = |own: &[String], other: &[String]| -> Vec<String> {
            own.iter().filter(|text| !other.contains(text)).cloned().collect()
        };
        let (left, come) = (only(&from, &to), only(&to, &from));
        (!left.is_empty() || !come.is_empty()).then(|| FieldChange {
            field: name.clone(),
            from: left,
            to: come,
        })
    };
    names.into_iter().filter_map(change).collect()
}

/// A member's values as texts.
fn texts(value: Option<&Value>) -> Vec<String> {
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        Value::Object(members) => {
            let parts: Vec<String> = members.values().map(|part| texts(Some(part)).join(" ")).collect();
            parts.join(" ")
        }
        other => other.to_string(),
    };
    match value {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(values)) => values.iter().map(text).collect(),
        Some(other) => vec![text(other)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entity::{Identifier, IdentifierKind};

    fn entity(id: &str, names: &[&str]) -> Entity {
        Entity {
            id: id.into(),
            names: names.iter().map(|name| (*name).to_owned()).collect(),
            ..Entity::default()
        }
    }

    #[test]
    fn versions_are_compared_entity_by_entity_and_field_by_field() {
        let before = [
            entity("stays", &["Ada Quill"]),
            entity("changes", &["Bo Tern", "Bo Turn"]),
            entity("goes", &["Cy Moss"]),
        ];
        let mut changed = entity("changes", &["Bo Tern", "Bo Terne"]);
        changed.identifiers.push(Identifier {
            kind: IdentifierKind::Passport,
            value: "X1".into(),
        });
        let after = [
            entity("comes", &["Di Rook"]),
            changed,
            entity("stays", &["Ada Quill"]),
        ];
        let found = changes(&before, &after);
        let kinds: Vec<_> = found
            .iter()
            .map(|change| (change.entity().unwrap().id.as_str(), change.kind))
            .collect();
        assert_eq!(
            kinds,
            [
                ("comes", ChangeKind::Added),
                ("changes", ChangeKind::Changed),
                ("goes", ChangeKind::Removed)
            ]
        );
        let change = |field: &str, from: &[&str], to: &[&str]| FieldChange {
            field: field.into(),
            from: from.iter().map(|text| (*text).to_owned()).collect(),
            to: to.iter().map(|text| (*text).to_owned()).collect(),
        };
        assert_eq!(
            found[1].fields(),
            [
                change("identifiers", &[], &["passport X1"]),
                change("names", &["Bo Turn"], &["Bo Terne"]),
            ]
        );
        assert!(found[0].fields().is_empty() && found[2].fields().is_empty());
        assert!(changes(&after, &after).is_empty());
    }
}
