//! Strict JSON for documents: no duplicate names, and one canonical text.

use std::fmt::Write as _;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// Parses JSON, and refuses an object with duplicate names: most parsers would silently drop the first value.
///
/// # Errors
///
/// The reason and its place in the text.
pub fn parse(text: &str) -> Result<Value, serde_json::Error> {
    serde_json::from_str::<Strict>(text).map(|Strict(value)| value)
}

struct Strict(Value);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader).map(Strict)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Value;

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(Strict(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some((name, Strict(value))) = fields.next_entry::<String, Strict>()? {
            if map.contains_key(&name) {
                return Err(A::Error::custom(format_args!("{name:?} occurs twice")));
            }
            map.insert(name, value);
        }
        Ok(Value::Object(map))
    }
}

/// The canonical text of a value: its names are sorted, and it does not depend on how the value was written.
pub fn canonical(value: &Value) -> String {
    let mut text = String::new();
    write(value, &mut text);
    text
}

fn write(value: &Value, text: &mut String) {
    match value {
        Value::Array(items) => {
            text.push('[');
            for (at, item) in items.iter().enumerate() {
                text.push_str(if at == 0 { "" } else { "," });
                write(item, text);
            }
            text.push(']');
        }
        Value::Object(fields) => {
            // Sorted here: a feature of serde_json that another crate selects would keep the written order.
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_unstable_by_key(|(name, _)| *name);
            text.push('{');
            for (at, (name, field)) in fields.into_iter().enumerate() {
                let comma = if at == 0 { "" } else { "," };
                let _ = write!(text, "{comma}{}:", Value::from(name.as_str()));
                write(field, text);
            }
            text.push('}');
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            let _ = write!(text, "{value}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_occurs_twice_is_refused() {
        let error = parse(r#"{"a": {"b": 1, "b": 2}}"#).unwrap_err();
        assert!(error.to_string().contains("\"b\" occurs twice"), "{error}");
        assert!(parse(r#"[{"b": 1}, {"b": 2}]"#).is_ok());
    }

    #[test]
    fn the_canonical_text_does_not_depend_on_the_written_one() {
        let one = parse(r#"{"b": [1, {"d": "\u0041", "c": null}], "a": true}"#).unwrap();
        let other = parse("{\"a\":true,\n\"b\":[1,{\"c\":null,\"d\":\"A\"}]}").unwrap();
        assert_eq!(canonical(&one), r#"{"a":true,"b":[1,{"c":null,"d":"A"}]}"#);
        assert_eq!(canonical(&one), canonical(&other));
    }

    #[test]
    fn deep_nesting_is_an_error() {
        assert!(parse(&"[".repeat(100_000)).is_err());
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(parse(&deep).is_err());
    }
}
