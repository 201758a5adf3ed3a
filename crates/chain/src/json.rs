//! Reads JSON of other parties into values.
//!
//! `serde_json` gives one member's name a private meaning: it reads the member's text as more JSON, with a new
//! limit of nesting. Such JSON can be nested without a limit, and its meaning depends on the reader. The
//! functions here refuse that name.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// The name of the member that `serde_json` reserves for itself.
const RESERVED: &str = "$serde_json::private::RawValue";

/// Checks the name of a member.
///
/// # Errors
/// When the name is reserved.
pub fn check_name<E: Error>(name: &str) -> Result<(), E> {
    match name == RESERVED {
        true => Err(E::custom(format!(
            "has the member `{RESERVED}`, which is reserved"
        ))),
        false => Ok(()),
    }
}

/// Parses JSON. Of a repeated member the last one counts.
///
/// # Errors
/// When the bytes are not JSON, are nested deeper than 127 levels, or use the reserved name.
pub fn parse(bytes: &[u8]) -> serde_json::Result<Value> {
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let value = Plain.deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(value)
}

#[derive(Clone, Copy)]
struct Plain;

impl<'de> DeserializeSeed<'de> for Plain {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Plain {
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
        let mut items = Vec::new();
        while let Some(item) = seq.next_element_seed(self)? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            check_name(&name)?;
            object.insert(name, members.next_value_seed(self)?);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_serde_json_reads_them() {
        for text in [
            r#"{"a": [1, -2, 2.5, 1e300, null, true, "x\u00fc"], "": {"b": {}}, "a": 2}"#,
            "[]",
            "18446744073709551615",
            "\"\"",
        ] {
            let expected = serde_json::from_str::<Value>(text).ok();
            assert_eq!(parse(text.as_bytes()).ok(), expected, "{text}");
        }
        for text in ["", "{", "[1] 2", "{\"a\": \u{0}}", &"[".repeat(128)] {
            assert!(parse(text.as_bytes()).is_err(), "{text}");
        }
    }

    #[test]
    fn the_reserved_name_is_refused() {
        let inner = format!(r#"{{"{RESERVED}": "[1]"}}"#);
        let meaning = serde_json::from_str::<Value>(&inner).ok();
        assert_eq!(
            meaning,
            Some(serde_json::json!([1])),
            "serde_json reads it as other JSON"
        );
        let escaped = inner.replacen('$', "\\u0024", 1);
        for text in [
            inner.clone(),
            escaped,
            format!(r#"{{"a": [{inner}]}}"#),
            format!(r#"{{"a": 1, "{RESERVED}": 2}}"#),
        ] {
            let error = parse(text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains("reserved"), "{text}: {error}");
        }
        assert!(
            parse(format!("\"{RESERVED}\"").as_bytes()).is_ok(),
            "a text is no name"
        );
    }
}
