//! The fields of a handler, read with their types.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::limits::{FIELD_BYTES, FIELD_ITEMS};

/// The fields of a handler. Each error names its field.
pub(super) struct Fields<'a>(pub(super) &'a Map<String, Value>);

impl Fields<'_> {
    fn value(&self, name: &str) -> Option<&Value> {
        self.0.get(name).filter(|value| !value.is_null())
    }

    pub(super) fn text(&self, name: &str) -> Result<Option<String>, String> {
        match self.value(name) {
            None => Ok(None),
            Some(Value::String(text)) => text_of(name, text).map(Some),
            Some(_) => Err(format!("{name} must be a string")),
        }
    }

    pub(super) fn required(&self, name: &str) -> Result<String, String> {
        match self.text(name)? {
            Some(text) if !text.trim().is_empty() => Ok(text),
            Some(_) => Err(format!("{name} is empty")),
            None => Err(format!("{name} is missing")),
        }
    }

    pub(super) fn flag(&self, name: &str) -> Result<bool, String> {
        match self.value(name) {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(_) => Err(format!("{name} must be true or false")),
        }
    }

    pub(super) fn seconds(&self, name: &str) -> Result<Option<Duration>, String> {
        let Some(value) = self.value(name) else { return Ok(None) };
        let duration = value.as_f64().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        match duration {
            // 0 means the default.
            Some(Duration::ZERO) => Ok(None),
            Some(duration) => Ok(Some(duration)),
            None => Err(format!("{name} must be a number of seconds")),
        }
    }

    pub(super) fn texts(&self, name: &str) -> Result<Option<Vec<String>>, String> {
        let Some(value) = self.value(name) else { return Ok(None) };
        let wrong = || format!("{name} must be a list of strings");
        let items = value.as_array().ok_or_else(wrong)?;
        if items.len() > FIELD_ITEMS {
            return Err(format!("{name} has {} items; at most {FIELD_ITEMS} are allowed", items.len()));
        }
        let texts: Result<Vec<_>, _> = items
            .iter()
            .map(|item| item.as_str().ok_or_else(wrong).and_then(|text| text_of(name, text)))
            .collect();
        texts.map(Some)
    }

    pub(super) fn pairs(&self, name: &str) -> Result<BTreeMap<String, String>, String> {
        let Some(value) = self.value(name) else { return Ok(BTreeMap::new()) };
        let wrong = || format!("{name} must be an object whose values are strings");
        let fields = value.as_object().ok_or_else(wrong)?;
        if fields.len() > FIELD_ITEMS {
            return Err(format!("{name} has {} items; at most {FIELD_ITEMS} are allowed", fields.len()));
        }
        fields
            .iter()
            .map(|(key, value)| Ok((key.clone(), text_of(name, value.as_str().ok_or_else(wrong)?)?)))
            .collect()
    }

    pub(super) fn object(&self, name: &str) -> Result<Map<String, Value>, String> {
        match self.value(name) {
            None => Ok(Map::new()),
            Some(Value::Object(fields)) => Ok(fields.clone()),
            Some(_) => Err(format!("{name} must be an object")),
        }
    }
}

fn text_of(name: &str, text: &str) -> Result<String, String> {
    if text.len() > FIELD_BYTES {
        return Err(format!("{name} is longer than {FIELD_BYTES} bytes"));
    }
    if text.contains('\0') {
        return Err(format!("{name} contains a NUL character"));
    }
    Ok(text.to_owned())
}
