//! Derives an OpenAPI 3.0.3 document from the API's 3.1 document, for tools that read 3.0 only (progenitor and others). It
//! leaves out the webhook messages, which 3.0 cannot express.
//!
//! Sources: OpenAPI 3.0.3 §4.7.24 (Schema Object, `nullable`) and 3.1.0 §4.8.24 (JSON Schema 2020-12). A keyword that 3.0
//! does not have and that is not converted here is an error, so that no rule of a schema disappears unnoticed.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use serde_json::{Map, Value, json};

/// The document that the tests compare with the program. An insta snapshot has a header between two lines of dashes.
const SNAPSHOT: &str = "crates/bonafide/tests/it/snapshots/it__openapi__the_document_is_as_committed.snap";

/// Writes the 3.0.3 document.
///
/// # Errors
/// When the document cannot be read or converted.
pub(crate) fn run(document: Option<PathBuf>, out: &Path) -> anyhow::Result<()> {
    let path = document.unwrap_or_else(|| SNAPSHOT.into());
    let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let text = match path.extension().is_some_and(|extension| extension == "snap") {
        true => text
            .splitn(3, "---\n")
            .nth(2)
            .context("the snapshot has no header")?,
        false => &text,
    };
    let converted = downgrade(serde_json::from_str(text)?)?;
    let mut text = serde_json::to_string_pretty(&converted)?;
    text.push('\n');
    std::fs::write(out, text).with_context(|| out.display().to_string())?;
    eprintln!("wrote {}", out.display());
    Ok(())
}

/// The 3.0.3 form of a 3.1 document.
fn downgrade(mut document: Value) -> anyhow::Result<Value> {
    let root = document.as_object_mut().context("the document is no object")?;
    let version = root.get("openapi").and_then(Value::as_str).unwrap_or_default();
    ensure!(
        version.starts_with("3.1."),
        "the document is OpenAPI {version:?}, not 3.1"
    );
    root.insert("openapi".into(), "3.0.3".into());
    root.remove("webhooks");
    root.remove("jsonSchemaDialect");
    if let Some(license) = root
        .get_mut("info")
        .and_then(|info| info["license"].as_object_mut())
    {
        license.remove("identifier");
    }
    visit(&mut document, "#")?;
    drop_unused_schemas(&mut document);
    Ok(document)
}

/// Converts all schemas below a value that is no schema itself.
fn visit(value: &mut Value, place: &str) -> anyhow::Result<()> {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                let place = format!("{place}/{name}");
                match name.as_str() {
                    "schema" => schema(member, &place)?,
                    "schemas" => each(member, &place)?,
                    "example" | "examples" => {}
                    _ => visit(member, &place)?,
                }
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                visit(item, &format!("{place}/{index}"))?;
            }
        }
        _ => {}
    }
    Ok(())
}

/// Converts every member of a map of schemas.
fn each(map: &mut Value, place: &str) -> anyhow::Result<()> {
    let members = map.as_object_mut().into_iter().flatten();
    for (name, member) in members {
        schema(member, &format!("{place}/{name}"))?;
    }
    Ok(())
}

/// The keywords that mean the same in both versions and contain no schema.
const SAME: [&str; 22] = [
    "title",
    "multipleOf",
    "maximum",
    "minimum",
    "maxLength",
    "minLength",
    "pattern",
    "maxItems",
    "minItems",
    "uniqueItems",
    "maxProperties",
    "minProperties",
    "required",
    "enum",
    "description",
    "format",
    "default",
    "discriminator",
    "readOnly",
    "writeOnly",
    "example",
    "deprecated",
];

fn schema(value: &mut Value, place: &str) -> anyhow::Result<()> {
    // `true` allows everything.
    if *value == json!(true) {
        *value = json!({});
    }
    let Value::Object(old) = std::mem::take(value) else {
        bail!("{place}: no schema object");
    };
    let mut new = Map::new();
    let mut is_nullable = false;
    for (keyword, mut member) in old {
        let inner = format!("{place}/{keyword}");
        match keyword.as_str() {
            "type" => is_nullable |= set_type(&mut new, member).with_context(|| inner)?,
            "const" => {
                new.insert("enum".into(), json!([member]));
            }
            "examples" => {
                let first = member
                    .as_array_mut()
                    .and_then(|examples| examples.drain(..).next());
                new.extend(first.map(|first| ("example".to_owned(), first)));
            }
            "exclusiveMinimum" | "exclusiveMaximum" if member.is_number() => {
                let bound = if keyword == "exclusiveMinimum" {
                    "minimum"
                } else {
                    "maximum"
                };
                new.insert(bound.into(), member);
                new.insert(keyword, json!(true));
            }
            "properties" => {
                each(&mut member, &inner)?;
                new.insert(keyword, member);
            }
            "items" | "not" | "additionalProperties" => {
                if !member.is_boolean() || keyword != "additionalProperties" {
                    schema(&mut member, &inner)?;
                }
                new.insert(keyword, member);
            }
            // 3.0 has no names of members to restrict; the members' values remain restricted.
            "propertyNames" => {}
            "oneOf" | "anyOf" | "allOf" => {
                let mut parts = std::mem::take(member.as_array_mut().with_context(|| inner.clone())?);
                let before = parts.len();
                parts.retain(|part| part["type"] != "null");
                is_nullable |= parts.len() < before;
                for part in &mut parts {
                    schema(part, &inner)?;
                }
                let keyword = if parts.len() == 1 {
                    "allOf".to_owned()
                } else {
                    keyword
                };
                new.insert(keyword, parts.into());
            }
            "$ref" => {
                new.insert(keyword, member);
            }
            keyword if SAME.contains(&keyword) || keyword.starts_with("x-") => {
                new.insert(keyword.to_owned(), member);
            }
            _ => bail!("{inner}: OpenAPI 3.0 has no such keyword"),
        }
    }
    if new.get("type") == Some(&json!("array")) {
        new.entry("items").or_insert_with(|| json!({}));
    }
    if is_nullable {
        new.insert("nullable".into(), json!(true));
        // An enumeration must list null, too.
        if let Some(Value::Array(words)) = new.get_mut("enum")
            && !words.contains(&Value::Null)
        {
            words.push(Value::Null);
        }
    }
    // 3.0 ignores the members beside a reference.
    if new.len() > 1
        && let Some(reference) = new.remove("$ref")
    {
        new.insert("allOf".into(), json!([{ "$ref": reference }]));
    }
    *value = new.into();
    Ok(())
}

/// Sets the type; returns whether null is allowed beside it.
fn set_type(schema: &mut Map<String, Value>, member: Value) -> anyhow::Result<bool> {
    let Value::Array(mut types) = member else {
        schema.insert("type".into(), member);
        return Ok(false);
    };
    let before = types.len();
    types.retain(|name| name != "null");
    let is_nullable = types.len() < before;
    match (types.len(), types.pop()) {
        (1, Some(only)) => {
            schema.insert("type".into(), only);
        }
        // Without a type, every value is allowed.
        (0, _) => bail!("only null is allowed"),
        _ => {}
    }
    Ok(is_nullable)
}

/// Removes schemas that only webhook messages used.
fn drop_unused_schemas(document: &mut Value) {
    loop {
        let mut used = BTreeSet::new();
        collect_references(document, &mut used);
        let Some(schemas) = document["components"]["schemas"].as_object_mut() else {
            return;
        };
        let before = schemas.len();
        schemas.retain(|name, _| used.contains(&format!("#/components/schemas/{name}")));
        if schemas.len() == before {
            return;
        }
    }
}

fn collect_references(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) => {
            found.extend(members.get("$ref").and_then(Value::as_str).map(str::to_owned));
            members
                .values()
                .for_each(|member| collect_references(member, found));
        }
        Value::Array(items) => items.iter().for_each(|item| collect_references(item, found)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemas_are_converted() {
        for (given, expected) in [
            (
                json!({"type": ["string", "null"], "pattern": "^a$"}),
                json!({"type": "string", "pattern": "^a$", "nullable": true}),
            ),
            (
                json!({"type": ["string", "null"], "enum": ["a"]}),
                json!({"type": "string", "enum": ["a", null], "nullable": true}),
            ),
            (json!({"type": ["string", "integer"]}), json!({})),
            (
                json!({"const": "a", "examples": [1, 2]}),
                json!({"enum": ["a"], "example": 1}),
            ),
            (
                json!({"oneOf": [{"type": "null"}, {"$ref": "#/a"}]}),
                json!({"allOf": [{"$ref": "#/a"}], "nullable": true}),
            ),
            (
                json!({"$ref": "#/a", "description": "b"}),
                json!({"allOf": [{"$ref": "#/a"}], "description": "b"}),
            ),
            (json!({"$ref": "#/a"}), json!({"$ref": "#/a"})),
            (
                json!({"type": "number", "exclusiveMinimum": 0}),
                json!({"type": "number", "minimum": 0, "exclusiveMinimum": true}),
            ),
            (
                json!({"type": "object", "properties": {"type": {"type": ["array", "null"]}}, "additionalProperties": false}),
                json!({"type": "object", "properties": {"type": {"type": "array", "items": {}, "nullable": true}}, "additionalProperties": false}),
            ),
            (
                json!({"additionalProperties": true, "items": true}),
                json!({"additionalProperties": true, "items": {}}),
            ),
        ] {
            let mut converted = given.clone();
            schema(&mut converted, "#").unwrap();
            assert_eq!(converted, expected, "{given}");
        }
        for given in [
            json!({"prefixItems": []}),
            json!({"type": ["null"]}),
            json!("text"),
            json!({"items": 7}),
        ] {
            assert!(schema(&mut given.clone(), "#").is_err(), "{given}");
        }
    }

    #[test]
    fn the_committed_document_is_converted_whole() {
        let text = std::fs::read_to_string(Path::new("..").join(SNAPSHOT)).unwrap();
        let document: Value = serde_json::from_str(text.splitn(3, "---\n").nth(2).unwrap()).unwrap();
        let converted = downgrade(document.clone()).unwrap();
        assert_eq!(converted["openapi"], "3.0.3");
        assert_eq!(converted["webhooks"], Value::Null);
        let paths = |document: &Value| {
            document["paths"]
                .as_object()
                .unwrap()
                .keys()
                .cloned()
                .collect::<Vec<_>>()
        };
        assert_eq!(paths(&converted), paths(&document));
        let mut references = BTreeSet::new();
        collect_references(&converted, &mut references);
        for reference in references {
            assert!(
                converted.pointer(reference.trim_start_matches('#')).is_some(),
                "{reference}"
            );
        }
        assert!(downgrade(converted).is_err(), "it is 3.0 already");
    }
}
