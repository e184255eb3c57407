//! YAML as JSON, within limits: aliases may repeat their values so often that a small text becomes a huge value.

use std::cell::Cell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use crate::limits::{YAML_NODES, YAML_TEXT_BYTES};

/// Reads one document. Keys that are numbers or booleans become strings, and `<<` takes over the fields of other
/// values.
///
/// Fails with the reason as text.
pub(crate) fn parse(text: &str) -> Result<Value, String> {
    let left = Left { nodes: Cell::new(YAML_NODES), bytes: Cell::new(YAML_TEXT_BYTES) };
    Node(&left).deserialize(yaml_serde::Deserializer::from_str(text)).map_err(|error| error.to_string())
}

/// The values and bytes that a document may still contain.
struct Left {
    nodes: Cell<usize>,
    bytes: Cell<usize>,
}

impl Left {
    fn take<E: Error>(&self, bytes: usize) -> Result<(), E> {
        let nodes = self.nodes.get().checked_sub(1);
        let (Some(nodes), Some(bytes)) = (nodes, self.bytes.get().checked_sub(bytes)) else {
            return Err(E::custom(format!(
                "including what its aliases repeat, it has more than {YAML_NODES} values or {YAML_TEXT_BYTES} bytes"
            )));
        };
        self.nodes.set(nodes);
        self.bytes.set(bytes);
        Ok(())
    }
}

/// A value that is being read, within the limits.
#[derive(Clone, Copy)]
struct Node<'a>(&'a Left);

impl<'de> DeserializeSeed<'de> for Node<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node<'_> {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value that JSON has too")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        self.0.take(0)?;
        Ok(Value::Null)
    }

    fn visit_none<E: Error>(self) -> Result<Value, E> {
        self.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        self.deserialize(deserializer)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        self.0.take(0)?;
        Ok(value.into())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        self.0.take(0)?;
        Ok(value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        self.0.take(0)?;
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        self.0.take(0)?;
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("JSON has no such number"))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        self.0.take(value.len())?;
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        self.0.take(0)?;
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(self)? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        self.0.take(0)?;
        let (mut fields, mut merged) = (Map::new(), Map::new());
        while let Some(key) = entries.next_key_seed(self)? {
            let key = match key {
                Value::String(key) => key,
                Value::Null | Value::Bool(_) | Value::Number(_) => key.to_string(),
                Value::Array(_) | Value::Object(_) => return Err(A::Error::custom("a key is not a text")),
            };
            let value = entries.next_value_seed(self)?;
            if key == "<<" {
                let others = if let Value::Array(others) = value { others } else { vec![value] };
                for other in others {
                    let Value::Object(other) = other else {
                        return Err(A::Error::custom("the value of `<<` must consist of fields"));
                    };
                    for (name, value) in other {
                        merged.entry(name).or_insert(value);
                    }
                }
            } else if fields.insert(key.clone(), value).is_some() {
                return Err(A::Error::custom(format!("the key {key:?} occurs twice")));
            }
        }
        for (name, value) in merged {
            fields.entry(name).or_insert(value);
        }
        Ok(Value::Object(fields))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_document_is_what_its_json_is() {
        let text = "a: 1\n'200': {b: [x, true, null, 1.5]}\n201: y\nbase: &base {c: 1, d: 2}\nmore:\n  <<: *base\n  d: 3\ntext: |\n  two\n  lines\n";
        let expected = json!({"a": 1, "200": {"b": ["x", true, null, 1.5]}, "201": "y", "base": {"c": 1, "d": 2},
            "more": {"c": 1, "d": 3}, "text": "two\nlines\n"});
        assert_eq!(parse(text).unwrap(), expected);
        assert_eq!(parse(&expected.to_string()).unwrap(), expected, "JSON is YAML");
    }

    #[test]
    fn what_is_no_json_is_refused() {
        for text in [
            "a: 1\na: 2",
            "? [x]\n: 1",
            "a: !tag x: 1",
            "a: .inf",
            "a: 1\n---\nb: 2",
            "\"",
            "a: *none",
            "<<: 1",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
        let deep = format!("{}{}", "[".repeat(5_000), "]".repeat(5_000));
        assert!(parse(&deep).is_err());
    }

    #[test]
    fn a_bomb_of_aliases_is_refused_before_it_bursts() {
        let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..12 {
            let before = vec![format!("*a{}", level - 1); 9].join(", ");
            text.push_str(&format!("a{level}: &a{level} [{before}]\n"));
        }
        let begun = std::time::Instant::now();
        assert!(parse(&text).is_err());
        let long = "x".repeat(100_000);
        let wide = format!("a: &a {long}\nb: [{}]\n", vec!["*a"; 1_000].join(", "));
        assert!(parse(&wide).unwrap_err().contains("aliases"));
        assert!(begun.elapsed() < std::time::Duration::from_secs(20));
    }

    proptest::proptest! {
        #[test]
        fn no_text_panics(text in ".{0,200}") {
            let _ = parse(&text);
        }
    }
}
