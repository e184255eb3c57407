//! References within a document: followed within limits, and never out of the document.

use serde_json::{Map, Value, json};

use super::{fields, items};
use crate::error::{Problem, Result};
use crate::limits::{DEPTH, OPENAPI_REFERENCES, OPENAPI_VALUES};

/// The keywords of schemas whose value is one schema (`ONE`), or a list of schemas (`LISTS`).
const ONE: [&str; 3] = ["items", "not", "additionalProperties"];
const LISTS: [&str; 4] = ["allOf", "anyOf", "oneOf", "prefixItems"];
/// The keywords that are kept unchanged.
const KEPT: [&str; 18] = [
    "type",
    "title",
    "description",
    "enum",
    "const",
    "default",
    "format",
    "pattern",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minProperties",
    "maxProperties",
    "multipleOf",
    "minimum",
    "maximum",
];

/// The references of one operation.
pub(super) struct Refs<'a> {
    root: &'a Value,
    /// The number of further references that may be followed.
    references: usize,
    /// The number of further values that schemas may have.
    values: usize,
    /// Descriptions of what was left out.
    pub(super) notes: Vec<String>,
}

impl<'a> Refs<'a> {
    pub(super) fn new(root: &'a Value) -> Self {
        Self { root, references: OPENAPI_REFERENCES, values: OPENAPI_VALUES, notes: Vec::new() }
    }

    /// Records that an optional part was left out.
    pub(super) fn note(&mut self, what: &str, why: &Problem) {
        self.notes.push(format!("{what} is left out: {why}"));
    }

    /// Follows the references of a value to their target.
    pub(super) fn follow(&mut self, value: &'a Value) -> Result<&'a Value> {
        let mut seen: Vec<&str> = Vec::new();
        let mut value = value;
        while let Some(target) = value.get("$ref").and_then(Value::as_str) {
            if seen.contains(&target) {
                return Err(recursive(target));
            }
            seen.push(target);
            value = self.target(target)?;
        }
        Ok(value)
    }

    fn target(&mut self, target: &str) -> Result<&'a Value> {
        let Some(pointer) = target.strip_prefix('#') else {
            return Err(Problem::new(format!(
                "the reference {target:?} leads to another document, which is not loaded"
            )));
        };
        self.references = self.references.checked_sub(1).ok_or_else(|| {
            Problem::new(format!("it has more than {OPENAPI_REFERENCES} references (`$ref`)"))
        })?;
        let decoded = percent_encoding::percent_decode_str(pointer).decode_utf8_lossy();
        self.root
            .pointer(&decoded)
            .ok_or_else(|| Problem::new(format!("the reference {target:?} leads nowhere")))
    }

    /// A schema with its references resolved, in the form that models get.
    pub(super) fn schema(&mut self, value: &'a Value) -> Result<Value> {
        self.within(value, &mut Vec::new(), 0)
    }

    fn within(&mut self, value: &'a Value, stack: &mut Vec<&'a str>, depth: usize) -> Result<Value> {
        if depth > DEPTH / 2 {
            return Err(Problem::new(format!("its schema is deeper than {} levels", DEPTH / 2)));
        }
        self.values = self
            .values
            .checked_sub(1)
            .ok_or_else(|| Problem::new(format!("its schemas have more than {OPENAPI_VALUES} values")))?;
        if let Some(target) = value.get("$ref").and_then(Value::as_str) {
            if stack.contains(&target) {
                return Err(recursive(target));
            }
            stack.push(target);
            let found = self.target(target).and_then(|found| self.within(found, stack, depth + 1));
            stack.pop();
            let mut found = found?;
            if let (Some(description), Value::Object(found)) = (value.get("description"), &mut found) {
                found.insert("description".to_owned(), description.clone());
            }
            return Ok(found);
        }
        let Value::Object(schema) = value else {
            return match value {
                Value::Bool(_) => Ok(value.clone()),
                _ => Err(Problem::new("a schema is not an object")),
            };
        };
        let mut plain = Map::new();
        for keyword in KEPT {
            if let Some(value) = schema.get(keyword) {
                plain.insert(keyword.to_owned(), value.clone());
            }
        }
        // A schema of version 3.0 declares this separately from the type.
        if schema.get("nullable") == Some(&Value::Bool(true))
            && let Some(Value::String(kind)) = schema.get("type")
        {
            plain.insert("type".to_owned(), json!([kind, "null"]));
        }
        for keyword in ONE {
            if let Some(value) = schema.get(keyword) {
                plain.insert(keyword.to_owned(), self.within(value, stack, depth + 1)?);
            }
        }
        for keyword in LISTS {
            if schema.contains_key(keyword) {
                let list: Result<Vec<_>> =
                    items(schema.get(keyword)).map(|value| self.within(value, stack, depth + 1)).collect();
                plain.insert(keyword.to_owned(), Value::Array(list?));
            }
        }
        let required: Vec<&Value> = items(schema.get("required")).collect();
        let mut properties = Map::new();
        for (name, about) in fields(schema.get("properties")) {
            let is_required = required.iter().any(|required| *required == name);
            match self.within(about, stack, depth + 1) {
                _ if about.get("readOnly") == Some(&Value::Bool(true)) => {}
                Ok(about) => {
                    properties.insert(name.clone(), about);
                }
                Err(problem) if is_required => return Err(problem.of(&format!("the property {name:?}"))),
                Err(problem) => self.note(&format!("the property {name:?}"), &problem),
            }
        }
        let required: Vec<Value> = required
            .into_iter()
            .filter(|name| name.as_str().is_some_and(|name| properties.contains_key(name)))
            .cloned()
            .collect();
        if schema.contains_key("properties") {
            plain.insert("properties".to_owned(), Value::Object(properties));
        }
        if !required.is_empty() {
            plain.insert("required".to_owned(), Value::Array(required));
        }
        Ok(Value::Object(plain))
    }
}

fn recursive(target: &str) -> Problem {
    Problem::new(format!("the reference {target:?} leads back to itself"))
}
