//! Parses JSON bodies strictly: at most 1 MB and 64 levels
//! (`docs/decisions/0009-rate-limits-and-capacity.md`), no repeated member, no reserved name
//! ([`chain::json`]), no other content type.

use std::fmt;

use axum::extract::{FromRequest, Request};
use axum::http::header::CONTENT_TYPE;
use bytes::Bytes;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};
use service::problem::Problem;

use super::body;
use crate::error::Rejection;

/// The size of the largest JSON body in bytes.
pub const MAX_BYTES: usize = 1_000_000;
/// The deepest nesting of arrays and objects.
pub const MAX_DEPTH: usize = 64;

/// A JSON object from the request's body, with its original bytes for the idempotency key.
#[derive(Debug)]
pub struct JsonObject {
    /// The parsed object.
    pub object: Map<String, Value>,
    /// The body as sent.
    pub bytes: Bytes,
}

impl<S: Send + Sync> FromRequest<S> for JsonObject {
    type Rejection = Rejection;

    async fn from_request(request: Request, _: &S) -> Result<Self, Rejection> {
        let content_type = request
            .headers()
            .get(CONTENT_TYPE)
            .map(|value| value.to_str().unwrap_or_default().to_owned());
        if content_type.as_deref().is_some_and(|value| !is_json(value)) {
            return Err(
                Problem::validation(vec!["body - Content-Type must be application/json".into()]).into(),
            );
        }
        let bytes = body::whole(request.into_body(), MAX_BYTES).await?;
        match parse(&bytes) {
            Ok(Value::Object(object)) => Ok(JsonObject { object, bytes }),
            Ok(_) => Err(Problem::validation(vec!["body - must be a JSON object".into()]).into()),
            Err(reason) => Err(Problem::validation(vec![format!("body - {reason}")]).into()),
        }
    }
}

/// Whether a content type is JSON.
pub fn is_json(content_type: &str) -> bool {
    let essence = content_type
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase();
    essence == "application/json" || (essence.starts_with("application/") && essence.ends_with("+json"))
}

/// Parses JSON. A repeated member, a reserved name, or nesting beyond [`MAX_DEPTH`] is an error, which states its
/// position.
pub fn parse(bytes: &[u8]) -> Result<Value, String> {
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let value = Strict { depth: 0 }
        .deserialize(&mut deserializer)
        .map_err(|error| explain(&error))?;
    deserializer.end().map_err(|error| explain(&error))?;
    Ok(value)
}

fn explain(error: &serde_json::Error) -> String {
    use serde_json::error::Category;
    match error.classify() {
        Category::Data => error.to_string(),
        // serde_json's syntax errors quote no content, so the caller may see them.
        Category::Syntax | Category::Eof | Category::Io => format!("is not valid JSON: {error}"),
    }
}

#[derive(Clone, Copy)]
struct Strict {
    depth: usize,
}

impl Strict {
    fn deeper<E: Error>(self) -> Result<Self, E> {
        if self.depth == MAX_DEPTH {
            return Err(E::custom(format!("is nested deeper than {MAX_DEPTH} levels")));
        }
        Ok(Strict {
            depth: self.depth + 1,
        })
    }
}

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let inner = self.deeper()?;
        let mut items = Vec::new();
        while let Some(item) = seq.next_element_seed(inner)? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let inner = self.deeper()?;
        let mut object = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            chain::json::check_name::<A::Error>(&name)?;
            let value = members.next_value_seed(inner)?;
            if object.contains_key(&name) {
                let shown: String = name.chars().take(64).collect();
                return Err(A::Error::custom(format!(
                    "has the member `{shown}` twice; send it once"
                )));
            }
            object.insert(name, value);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_is_counted_and_bounded() {
        let nest = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        assert!(parse(nest(MAX_DEPTH).as_bytes()).is_ok());
        assert!(
            parse(nest(MAX_DEPTH + 1).as_bytes())
                .unwrap_err()
                .contains("nested deeper")
        );
        assert!(parse(nest(10_000).as_bytes()).is_err());
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, part) in [
            ("", "not valid JSON"),
            ("{", "not valid JSON"),
            ("{} x", "not valid JSON"),
            (r#"{"name": 1, "name": 2}"#, "`name` twice"),
            (r#"{"a": {"b": 1, "b": 1}}"#, "`b` twice"),
            (
                r#"{"a": {"$serde_json::private::RawValue": "1"}}"#,
                "which is reserved",
            ),
        ] {
            assert!(parse(text.as_bytes()).unwrap_err().contains(part), "{text}");
        }
        assert!(parse(b"{\"name\": \"\xff\"}").is_err());
        assert_eq!(
            parse(br#"{"a": [1, 2.5, null, true, "x"]}"#),
            Ok(serde_json::json!({"a": [1, 2.5, null, true, "x"]}))
        );
    }
}
