//! The `screen` and `screen --pairs` commands: one JSON object per line in, one per line out. An error is
//! reported on the line of its input.

use std::time::Instant;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::entity::{Entity, Schema};
use crate::import::entity_of_properties;
use crate::query::Query;
use crate::score::score_pair;
use crate::screener::{ScreenOptions, Screener, SearchError};

/// Reads a query, and the id that its result repeats.
fn read_query(line: &str) -> (Value, Result<Query, String>) {
    let mut object: Map<String, Value> = match serde_json::from_str(line) {
        Ok(object) => object,
        Err(_) => return (Value::Null, Err("not a JSON object".into())),
    };
    let id = object.shift_remove("id").unwrap_or(Value::Null);
    // A null means the same as an absent key.
    object.retain(|_, value| !value.is_null());
    let query = Query::deserialize(Value::Object(object)).map_err(|e| without_values(&e));
    (id, query)
}

/// The message of a JSON error without values of the input. Names of fields remain.
fn without_values(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.split_once('`') {
        Some(("unknown field ", rest)) => {
            let field: String = rest.split('`').next().unwrap_or("").chars().take(60).collect();
            format!("unknown key {field}")
        }
        _ => "a key has a value of the wrong type".into(),
    }
}

/// Answers one line of `screen` with one JSON object.
pub fn answer_line(screener: &Screener, options: &ScreenOptions, line: &str) -> String {
    let start = Instant::now();
    let (id, query) = read_query(line);
    let bad_query = |message: String| ("bad_query", message);
    let answer = query.map_err(bad_query).and_then(|query| {
        screener.screen(&query, options).map_err(|error| match error {
            SearchError::Query(error) => bad_query(error.to_string()),
            SearchError::Index(damage) => ("unavailable", damage.to_string()),
        })
    });
    let timing = (start.elapsed().as_secs_f64() * 1e6).round() / 1e3;
    let out = match answer {
        Ok(result) => json!({
            "id": id,
            "error": null,
            "results": result.results,
            "total": result.total,
            "lists": result.lists,
            "timingMs": timing,
        }),
        Err((code, message)) => json!({
            "id": id,
            "error": { "code": code, "message": message },
            "results": [],
            "total": { "value": 0, "relation": "eq" },
            "lists": screener.lists(),
            "timingMs": timing,
        }),
    };
    out.to_string()
}

/// Answers one line of `screen --pairs` with one JSON object.
pub fn answer_pair_line(line: &str) -> String {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Pair {
        #[serde(default)]
        id: Value,
        query: Value,
        candidate: Value,
    }
    let pair: Pair = match serde_json::from_str(line) {
        Ok(pair) => pair,
        Err(error) => return failed_pair(Value::Null, &without_values(&error)),
    };
    match (ftm_entity(&pair.query), ftm_entity(&pair.candidate)) {
        (Ok(query), Ok(candidate)) => {
            let scored = score_pair(&query, &candidate);
            let out = json!({
                "id": pair.id,
                "error": null,
                "score": scored.score,
                "match": scored.matched,
                "features": scored.features,
                "explanation": scored.explanation,
            });
            out.to_string()
        }
        (Err(message), _) => failed_pair(pair.id, &format!("query - {message}")),
        (_, Err(message)) => failed_pair(pair.id, &format!("candidate - {message}")),
    }
}

fn failed_pair(id: Value, message: &str) -> String {
    let error = json!({ "code": "bad_query", "message": message });
    json!({ "id": id, "error": error, "score": 0.0, "match": false, "features": {} }).to_string()
}

/// An entity in FollowTheMoney's shape: `{"schema", "properties": {name: [values]}}`.
fn ftm_entity(value: &Value) -> Result<Entity, String> {
    let object = value.as_object().ok_or("not an object")?;
    let known = [
        "id",
        "schema",
        "caption",
        "properties",
        "datasets",
        "referents",
        "target",
        "first_seen",
        "last_seen",
        "last_change",
    ];
    if let Some(key) = object.keys().find(|k| !known.contains(&k.as_str())) {
        return Err(format!(
            "unknown key {}",
            key.chars().take(60).collect::<String>()
        ));
    }
    let schema = match object.get("schema").and_then(Value::as_str) {
        Some(name) => Schema::from_ftm(name).ok_or("unknown schema")?,
        None => Schema::Thing,
    };
    let empty = Map::new();
    let properties = match object.get("properties") {
        Some(Value::Object(properties)) => properties,
        None => &empty,
        Some(_) => return Err("properties is not an object".into()),
    };
    Ok(entity_of_properties(schema, properties))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn screener() -> Screener {
        Screener::new([crate::demo_list()])
    }

    fn answer(line: &str) -> Value {
        serde_json::from_str(&answer_line(&screener(), &ScreenOptions::default(), line)).unwrap()
    }

    #[test]
    fn bad_lines_answer_on_their_line() {
        for (line, message) in [
            ("", "not a JSON object"),
            ("[1]", "not a JSON object"),
            ("{\"id\": 1}", "nothing to screen"),
            ("{\"id\": 1, \"nom\": \"x\"}", "unknown key nom"),
            ("{\"id\": 1, \"name\": 7}", "wrong type"),
            ("{\"id\": 1, \"name\": \"x\", \"dob\": \"yesterday\"}", "dob"),
            ("{\"id\": 1, \"name\": \"x\", \"schema\": \"Planet\"}", "schema"),
        ] {
            let answer = answer(line);
            let text = answer["error"]["message"].as_str().unwrap();
            assert!(text.contains(message), "{line}: {text}");
            assert_eq!(answer["results"].as_array().unwrap().len(), 0);
        }
    }

    #[test]
    fn pairs() {
        let line = r#"{"id": 7, "query": {"schema": "Person", "properties": {"name": ["Jon Smith"]}},
            "candidate": {"schema": "Person", "properties": {"name": ["Smith, John"]}}}"#;
        let answer: Value = serde_json::from_str(&answer_pair_line(line)).unwrap();
        assert_eq!((&answer["id"], &answer["match"]), (&json!(7), &json!(true)));
        let bad = answer_pair_line(r#"{"id": 8, "query": 1, "candidate": {}}"#);
        assert!(bad.contains("query - not an object"), "{bad}");
    }
}
