//! The parameters of a tool, given as a JSON schema, a list or a map.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::error::{Problem, Result};
use crate::limits::{DEPTH, PARAMETERS, SCHEMA_BYTES};
use crate::template::is_key;

/// The parameters of a tool.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Parameters {
    properties: Map<String, Value>,
    required: BTreeSet<String>,
    schema: Value,
}

impl Parameters {
    /// Reads parameters in one of their forms: `{"type": "object", "properties": …}`, `[{"name": "city", "type": "string", "required":
    /// true}]`, or `{"city": {"type": "string", "required": true}}`.
    pub(crate) fn parse(value: Option<&Value>) -> Result<Self> {
        let schema = match value {
            None => json!({"type": "object", "properties": {}}),
            Some(Value::Array(list)) => from_list(list)?,
            Some(Value::Object(fields)) if is_schema(fields) => Value::Object(fields.clone()),
            Some(Value::Object(fields)) => from_map(fields)?,
            Some(_) => {
                return Err(Problem::new(
                    "they must be a list of parameters, a map of parameters, or a JSON schema of an object",
                ));
            }
        };
        let bytes = schema.to_string().len();
        if bytes > SCHEMA_BYTES {
            return Err(Problem::new(format!("they have {bytes} bytes; the maximum is {SCHEMA_BYTES}")));
        }
        check_schema(&schema, 0)?;
        let properties = match schema.get("properties") {
            Some(Value::Object(properties)) => properties.clone(),
            None => Map::new(),
            Some(_) => return Err(Problem::new("`properties` is not an object")),
        };
        if properties.len() > PARAMETERS {
            return Err(Problem::new(format!("there are {}; the maximum is {PARAMETERS}", properties.len())));
        }
        for (name, about) in &properties {
            if !is_key(name) {
                return Err(Problem::new(format!(
                    "{name:?} is not a valid name for a parameter: use 1 to 64 letters, digits, `_`, `-` or `.`, and not `secret.` at its beginning"
                )));
            }
            if !about.is_object() && !about.is_boolean() {
                return Err(Problem::new(format!("the schema of {name:?} is not an object")));
            }
        }
        let required: BTreeSet<String> = match schema.get("required") {
            None => BTreeSet::new(),
            Some(Value::Array(names)) if names.iter().all(Value::is_string) => {
                names.iter().filter_map(Value::as_str).map(str::to_owned).collect()
            }
            Some(_) => return Err(Problem::new("`required` is not a list of names")),
        };
        if let Some(unknown) = required.iter().find(|name| !properties.contains_key(*name)) {
            return Err(Problem::new(format!("`required` names {unknown:?}, which is not among them")));
        }
        let mut schema = schema;
        if let Value::Object(fields) = &mut schema {
            fields.remove("$schema");
            fields.insert("type".to_owned(), json!("object"));
            fields.entry("properties").or_insert_with(|| json!({}));
        }
        Ok(Self { properties, required, schema })
    }

    /// The JSON schema for models.
    pub(crate) fn schema(&self) -> &Value {
        &self.schema
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.properties.contains_key(name)
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.properties.keys().map(String::as_str)
    }

    /// The checked arguments of a call, with defaults for those that are missing.
    pub(crate) fn check(&self, arguments: &Map<String, Value>) -> Result<Map<String, Value>> {
        let known = || self.names().collect::<Vec<_>>().join(", ");
        if let Some(unknown) = arguments.keys().find(|name| !self.has(name)) {
            return Err(Problem::new(format!("there is no argument {unknown:?}; there are: {}", known())));
        }
        let mut checked = arguments.clone();
        for (name, about) in &self.properties {
            // Unless the schema allows null as a value, a null argument counts as absent.
            if checked.get(name).is_some_and(|value| value.is_null() && !may_be_null(about)) {
                checked.remove(name);
            }
            let given = checked.get(name);
            match (given, about.get("default")) {
                (Some(value), _) => {
                    check_value(value, about)
                        .map_err(|problem| problem.of(&format!("the argument {name:?}")))?;
                }
                (None, Some(default)) => {
                    checked.insert(name.clone(), default.clone());
                }
                (None, None) if self.required.contains(name) => {
                    return Err(Problem::new(format!(
                        "the argument {name:?} is missing; its schema is {about}"
                    )));
                }
                (None, None) => {}
            }
        }
        Ok(checked)
    }
}

/// True for a schema, which has the type `object` or whose `properties` are all objects; a map of parameters may have a
/// parameter with the name `properties`.
fn is_schema(fields: &Map<String, Value>) -> bool {
    fields.get("type").is_some_and(|kind| kind == "object")
        || fields.get("properties").is_some_and(|properties| {
            properties.as_object().is_some_and(|properties| properties.values().all(Value::is_object))
                && !properties.get("type").is_some_and(Value::is_string)
        })
}

fn from_list(list: &[Value]) -> Result<Value> {
    let mut fields = Map::new();
    for parameter in list {
        let Some(name) = parameter.get("name").and_then(Value::as_str) else {
            return Err(Problem::new("each item of the list needs a `name`"));
        };
        let mut about = parameter.as_object().cloned().unwrap_or_default();
        about.remove("name");
        if fields.insert(name.to_owned(), Value::Object(about)).is_some() {
            return Err(Problem::new(format!("{name:?} occurs twice")));
        }
    }
    from_map(&fields)
}

fn from_map(fields: &Map<String, Value>) -> Result<Value> {
    let (mut properties, mut required) = (Map::new(), Vec::new());
    for (name, about) in fields {
        let mut about = match about {
            Value::Object(about) => about.clone(),
            Value::String(words) if is_type(words) => Map::from_iter([("type".to_owned(), json!(words))]),
            Value::String(words) => Map::from_iter([
                ("type".to_owned(), json!("string")),
                ("description".to_owned(), json!(words)),
            ]),
            _ => return Err(Problem::new(format!("{name:?} is described by neither an object nor a text"))),
        };
        match about.get("required") {
            Some(Value::Bool(is_required)) => {
                if *is_required {
                    required.push(json!(name));
                }
                about.remove("required");
            }
            None | Some(Value::Array(_)) => {}
            Some(_) => return Err(Problem::new(format!("`required` of {name:?} is neither true nor false"))),
        }
        about.entry("type").or_insert_with(|| json!("string"));
        properties.insert(name.clone(), Value::Object(about));
    }
    Ok(json!({"type": "object", "properties": properties, "required": required}))
}

fn is_type(word: &str) -> bool {
    matches!(word, "string" | "number" | "integer" | "boolean" | "array" | "object")
}

/// Checks that models can use a schema: its depth must be limited, and it must be self-contained.
fn check_schema(value: &Value, depth: usize) -> Result<()> {
    if depth > DEPTH {
        return Err(Problem::new(format!("their schema is deeper than {DEPTH} levels")));
    }
    match value {
        Value::Object(fields) => fields.iter().try_for_each(|(name, value)| match (name.as_str(), value) {
            ("$ref" | "$dynamicRef", Value::String(target)) if !target.starts_with('#') => {
                Err(Problem::new("their schema refers to another document (`$ref`), which is not loaded"))
            }
            (_, value) => check_schema(value, depth + 1),
        }),
        Value::Array(items) => items.iter().try_for_each(|item| check_schema(item, depth + 1)),
        _ => Ok(()),
    }
}

/// True if a schema allows null as a value.
fn may_be_null(about: &Value) -> bool {
    let is_null = |kind: &Value| kind == "null";
    about.get("type").and_then(Value::as_array).is_some_and(|kinds| kinds.iter().any(is_null))
        || about.get("enum").and_then(Value::as_array).is_some_and(|values| values.contains(&Value::Null))
}

/// Checks a value's type, and that its schema lists the value if it lists any.
fn check_value(value: &Value, about: &Value) -> Result<()> {
    let is_of = |kind: &str| match kind {
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => {
            value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|value| value.fract() == 0.0)
        }
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        _ => true,
    };
    let is_right = match about.get("type") {
        Some(Value::String(kind)) => is_of(kind),
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).any(is_of),
        _ => true,
    };
    if !is_right {
        return Err(Problem::new(format!("it must be of the type {}", about["type"])));
    }
    if let Some(Value::Array(values)) = about.get("enum")
        && !values.contains(value)
    {
        return Err(Problem::new(format!("it must be one of {}", about["enum"])));
    }
    Ok(())
}
