//! Reads the body of a match: queries by example. It searches nothing.

use sanctions::{Example, ExampleError};
use serde_json::{Map, Value};
use service::problem::Problem;

/// The most queries of one request, as in yente.
pub const MAX_QUERIES: usize = 100;

/// The most faults that one error reports.
const MAX_FAULTS: usize = 100;

/// The members of `config` that yente's algorithms take. They change nothing here.
const CONFIG: [&str; 6] = [
    "nm_name_property",
    "nm_number_mismatch",
    "nm_extra_query_name",
    "nm_extra_result_name",
    "nm_family_name_weight",
    "nm_fuzzy_cutoff_factor",
];

/// A query of a match.
#[derive(Clone, Debug, PartialEq)]
pub struct MatchQuery {
    /// The caller's name for the query.
    pub name: String,
    /// The caller's id of the subject.
    pub id: Option<String>,
    /// The schema as sent.
    pub schema: String,
    /// The subject.
    pub example: Example,
}

/// Reads the body.
///
/// # Errors
/// 422 if a member is missing or has the wrong type, or if a query cannot be searched; 400 for no or too many queries,
/// or an unknown schema.
pub fn read(body: &Map<String, Value>) -> Result<Vec<MatchQuery>, Problem> {
    let mut faults = Vec::new();
    for (member, is_right) in [
        ("weights", is_weight as fn(&Value) -> bool),
        ("config", is_setting),
    ] {
        match body.get(member) {
            None => {}
            Some(Value::Object(members)) => {
                let wrong = members.iter().filter(|(_, value)| !is_right(value));
                faults.extend(
                    wrong.map(|(name, _)| format!("body.{member}.{} - has the wrong type", short(name))),
                );
            }
            Some(_) => faults.push(format!("body.{member} - must be an object")),
        }
    }
    let empty = Map::new();
    let queries = match body.get("queries") {
        Some(Value::Object(queries)) => queries,
        Some(_) => {
            faults.push("body.queries - must be an object with one query per name".into());
            &empty
        }
        None => {
            faults.push("body.queries - is required: an object with one query per name".into());
            &empty
        }
    };
    if queries.len() > MAX_QUERIES {
        let text = format!("Too many queries in one batch (limit: {MAX_QUERIES}); send several requests");
        return Err(Problem::invalid(text));
    }
    let parts: Vec<_> = queries
        .iter()
        .filter_map(|(name, query)| parts(name, query, &mut faults))
        .collect();
    if !faults.is_empty() {
        faults.truncate(MAX_FAULTS);
        return Err(Problem::validation(faults));
    }
    let config = body.get("config").and_then(Value::as_object);
    if let Some(unknown) = config
        .into_iter()
        .flat_map(Map::keys)
        .find(|name| !CONFIG.contains(&name.as_str()))
    {
        let text = format!(
            "Invalid configuration parameter: {}; omit it, as no parameter changes a score here",
            short(unknown)
        );
        return Err(Problem::invalid(text));
    }
    if parts.is_empty() {
        return Err(Problem::invalid(
            "No queries provided: send at least one query in `queries`",
        ));
    }
    parts.into_iter().map(query).collect()
}

fn is_weight(value: &Value) -> bool {
    value.is_number()
}

fn is_setting(value: &Value) -> bool {
    !value.is_array() && !value.is_object()
}

/// The beginning of a caller's name, for an error.
fn short(name: &str) -> String {
    name.chars().take(60).collect()
}

/// The parts of a query; `None`: it has a fault.
struct QueryParts<'a> {
    name: &'a str,
    id: Option<&'a str>,
    schema: &'a str,
    properties: &'a Map<String, Value>,
}

fn parts<'a>(name: &'a str, query: &'a Value, faults: &mut Vec<String>) -> Option<QueryParts<'a>> {
    let place = format!("body.queries.{}", short(name));
    let Value::Object(members) = query else {
        faults.push(format!("{place} - must be an object with schema and properties"));
        return None;
    };
    let before = faults.len();
    let schema = match members.get("schema") {
        Some(Value::String(schema)) => schema,
        Some(_) => {
            faults.push(format!("{place}.schema - must be a text"));
            ""
        }
        None => {
            faults.push(format!("{place}.schema - is required, such as Person"));
            ""
        }
    };
    let id = match members.get("id") {
        None | Some(Value::Null) => None,
        Some(Value::String(id)) => Some(id.as_str()),
        Some(_) => {
            faults.push(format!("{place}.id - must be a text"));
            None
        }
    };
    let properties = match members.get("properties") {
        Some(Value::Object(properties)) => Some(properties),
        Some(_) => {
            faults.push(format!("{place}.properties - must be an object"));
            None
        }
        None => {
            faults.push(format!("{place}.properties - is required"));
            None
        }
    };
    let properties = properties.filter(|_| faults.len() == before)?;
    Some(QueryParts {
        name,
        id,
        schema,
        properties,
    })
}

fn query(parts: QueryParts<'_>) -> Result<MatchQuery, Problem> {
    let QueryParts {
        name,
        id,
        schema,
        properties,
    } = parts;
    let example = Example::read(schema, properties).map_err(|error| {
        let place = format!("queries.{}.{error}", short(name));
        match error {
            ExampleError::Schema => Problem::invalid(format!("Cannot parse example entity: {place}")),
            _ => Problem::validation(vec![format!("body.{place}")]),
        }
    })?;
    Ok(MatchQuery {
        name: name.to_owned(),
        id: id.map(str::to_owned),
        schema: schema.to_owned(),
        example,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use service::problem::Family;

    use super::*;

    fn read_value(body: Value) -> Result<Vec<MatchQuery>, Problem> {
        let Value::Object(body) = body else {
            panic!("an object")
        };
        read(&body)
    }

    #[test]
    fn queries_are_read_in_their_order() {
        let body = json!({
            "weights": {"name_literal": 0.8}, "config": {"nm_number_mismatch": 0.4}, "params": {"limit": 3},
            "queries": {
                "b": {"id": "x", "schema": "Person", "properties": {"name": "Ann Lee"}},
                "a": {"id": null, "schema": "Company", "properties": {"registrationNumber": ["1"]}, "more": true},
            },
        });
        let queries = read_value(body).unwrap();
        let names: Vec<(&str, Option<&str>)> = queries
            .iter()
            .map(|query| (query.name.as_str(), query.id.as_deref()))
            .collect();
        assert_eq!(names, [("b", Some("x")), ("a", None)]);
    }

    #[test]
    fn faults_have_yentes_status() {
        let person = json!({"schema": "Person", "properties": {"name": "Banana"}});
        let many: Map<String, Value> = (0..=MAX_QUERIES)
            .map(|i| (i.to_string(), person.clone()))
            .collect();
        let one = |query: Value| json!({"queries": {"q": query}});
        for (body, status, part) in [
            (json!({}), 422, "body.queries - is required"),
            (json!({"queries": []}), 422, "body.queries - must"),
            (json!({"queries": {}}), 400, "No queries provided"),
            (json!({"queries": many}), 400, "Too many queries"),
            (one(json!(null)), 422, "body.queries.q - must"),
            (
                one(json!({"properties": {"name": "Banana"}})),
                422,
                "body.queries.q.schema - is required",
            ),
            (
                one(json!({"schema": "Person"})),
                422,
                "body.queries.q.properties - is required",
            ),
            (
                one(json!({"schema": 1, "properties": {}})),
                422,
                "body.queries.q.schema - must",
            ),
            (
                one(json!({"id": 1, "schema": "Person", "properties": {}})),
                422,
                "body.queries.q.id - must",
            ),
            (
                one(json!({"schema": "Person", "properties": {"name": 1}})),
                422,
                "body.queries.q.properties.name - must",
            ),
            (
                one(json!({"schema": "xxx", "properties": {"name": "Banana"}})),
                400,
                "queries.q.schema - is unknown",
            ),
            (
                one(json!({"schema": "Person", "properties": {}})),
                422,
                "queries.q.properties - has nothing",
            ),
            (
                json!({"queries": {"q": person}, "config": {"invalid_option": 0.4}}),
                400,
                "invalid_option",
            ),
            (
                json!({"queries": {"q": person}, "config": {"nm_number_mismatch": []}}),
                422,
                "body.config.nm_number_mismatch",
            ),
            (
                json!({"queries": {"q": person}, "weights": {"x": "y"}}),
                422,
                "body.weights.x",
            ),
            (
                json!({"queries": {"q": person}, "weights": 1}),
                422,
                "body.weights - must",
            ),
        ] {
            let problem = read_value(body.clone()).unwrap_err();
            let text = format!("{problem}");
            assert_eq!(problem.status(Family::Yente).as_u16(), status, "{body}");
            assert!(text.contains(part) && !text.contains("Banana"), "{text}");
        }
    }

    fn any_json() -> impl proptest::strategy::Strategy<Value = Value> {
        use proptest::prelude::*;
        let key = "queries|schema|properties|name|config|weights|id|Person|q\\PC{0,3}";
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<i32>().prop_map(Value::from),
            key.prop_map(Value::from)
        ];
        leaf.prop_recursive(6, 40, 5, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::vec((key, inner), 0..5)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest::proptest! {
        #[test]
        fn any_body_is_read_or_refused(queries in any_json(), weights in any_json(), config in any_json()) {
            let _ = read_value(json!({"queries": {"q": queries.clone()}}));
            let _ = read_value(json!({"queries": queries, "weights": weights, "config": config}));
        }
    }
}
