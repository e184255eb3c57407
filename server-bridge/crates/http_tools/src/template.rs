//! Texts with `{{key}}` for an argument and `{{secret.NAME}}` for a secret.

use std::borrow::Cow;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value};

use crate::error::{Problem, Result};
use crate::limits::KEY_CHARS;

/// The prefix of a secret's placeholder.
const SECRET: &str = "secret.";

/// All characters except RFC 3986's unreserved ones.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A text with placeholders.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Template(pub(crate) Vec<Piece>);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    /// A literal text.
    Text(String),
    /// The argument with this name.
    Argument(String),
    /// The secret with this name.
    Secret(String),
}

/// The values of placeholders.
pub(crate) struct Values<'a> {
    /// The arguments, checked and with their defaults.
    pub(crate) arguments: &'a Map<String, Value>,
    /// The value of a secret by its name.
    pub(crate) secret: &'a dyn Fn(&str) -> Option<String>,
}

impl Template {
    /// Reads a template.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let (mut pieces, mut rest) = (Vec::new(), text);
        while let Some((before, after)) = rest.split_once("{{") {
            let Some((key, after)) = after.split_once("}}") else {
                return Err(Problem::new("a placeholder `{{` has no `}}`"));
            };
            if !before.is_empty() {
                pieces.push(Piece::Text(before.to_owned()));
            }
            pieces.push(placeholder(key.trim())?);
            rest = after;
        }
        if !rest.is_empty() {
            pieces.push(Piece::Text(rest.to_owned()));
        }
        Ok(Self(pieces))
    }

    /// This template with its literal texts changed.
    pub(crate) fn map_texts(self, change: impl Fn(&str) -> String) -> Self {
        let change = |piece| match piece {
            Piece::Text(text) => Piece::Text(change(&text)),
            other => other,
        };
        Self(self.0.into_iter().map(change).collect())
    }

    /// The text, if it has no placeholder.
    pub(crate) fn literal(&self) -> Option<&str> {
        match self.0.as_slice() {
            [] => Some(""),
            [Piece::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// The argument's name, if the template is a single placeholder.
    pub(crate) fn whole(&self) -> Option<&str> {
        match self.0.as_slice() {
            [Piece::Argument(key)] => Some(key),
            _ => None,
        }
    }

    pub(crate) fn arguments(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Argument(key) => Some(key.as_str()),
            Piece::Text(_) | Piece::Secret(_) => None,
        })
    }

    pub(crate) fn secrets(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Secret(name) => Some(name.as_str()),
            Piece::Text(_) | Piece::Argument(_) => None,
        })
    }

    /// The literal texts between the placeholders.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Text(text) => Some(text.as_str()),
            Piece::Argument(_) | Piece::Secret(_) => None,
        })
    }

    /// The text with its placeholders replaced, each value changed by `escape`; `None` if it is a single placeholder whose argument is
    /// absent. Within a longer text, an absent argument is replaced with nothing. A value is never read as a template.
    pub(crate) fn text(
        &self,
        values: &Values<'_>,
        escape: impl Fn(&str) -> Result<String>,
    ) -> Result<Option<String>> {
        if self.whole().is_some_and(|key| values.argument(key).is_none()) {
            return Ok(None);
        }
        let mut text = String::new();
        for piece in &self.0 {
            match piece {
                Piece::Text(literal) => text.push_str(literal),
                Piece::Argument(key) => {
                    let Some(value) = values.argument(key) else { continue };
                    let value =
                        plain(value).map_err(|problem| problem.of(&format!("the argument {key:?}")))?;
                    text.push_str(
                        &escape(&value).map_err(|problem| problem.of(&format!("the argument {key:?}")))?,
                    );
                }
                Piece::Secret(name) => text.push_str(&escape(&values.secret(name)?)?),
            }
        }
        Ok(Some(text))
    }
}

impl Values<'_> {
    /// The value of an argument for a JSON body.
    pub(crate) fn json(&self, key: &str) -> Option<&Value> {
        self.arguments.get(key)
    }

    /// The value of an argument as text; a null argument counts as absent.
    pub(crate) fn argument(&self, key: &str) -> Option<&Value> {
        self.arguments.get(key).filter(|value| !value.is_null())
    }

    fn secret(&self, name: &str) -> Result<String> {
        (self.secret)(name).ok_or_else(|| {
            Problem::new(format!(
                "the secret {name:?} is not set for this host; its user has to set it first"
            ))
        })
    }
}

/// Percent-encodes all characters that are not unreserved.
pub(crate) fn percent(text: &str) -> String {
    utf8_percent_encode(text, RESERVED).to_string()
}

/// A value as plain text.
pub(crate) fn plain(value: &Value) -> Result<Cow<'_, str>> {
    match value {
        Value::String(text) => Ok(Cow::Borrowed(text)),
        Value::Number(number) => Ok(Cow::Owned(number.to_string())),
        Value::Bool(value) => Ok(Cow::Borrowed(if *value { "true" } else { "false" })),
        Value::Null => Ok(Cow::Borrowed("")),
        Value::Array(items) => {
            let is_flat = |item: &&Value| !item.is_array() && !item.is_object();
            if !items.iter().all(|item| is_flat(&item)) {
                return Err(Problem::new("a list can only contain strings, numbers and booleans here"));
            }
            let items: Result<Vec<_>> = items.iter().map(plain).collect();
            Ok(Cow::Owned(items?.join(",")))
        }
        Value::Object(_) => {
            Err(Problem::new("an object cannot be used here; give a string, a number or a boolean"))
        }
    }
}

/// True for a valid name of a parameter: all providers accept it.
pub(crate) fn is_key(key: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
    (1..=KEY_CHARS).contains(&key.len()) && key.chars().all(is_letter) && !key.starts_with(SECRET)
}

/// True for a valid name of a secret.
pub fn is_secret_name(name: &str) -> bool {
    (1..=KEY_CHARS).contains(&name.len()) && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn placeholder(key: &str) -> Result<Piece> {
    match key.strip_prefix(SECRET) {
        Some(name) if is_secret_name(name) => Ok(Piece::Secret(name.to_owned())),
        Some(_) => Err(Problem::new(format!(
            "`{{{{{key}}}}}` is not a valid name of a secret: it must have 1 to {KEY_CHARS} letters, digits or `_`"
        ))),
        None if is_key(key) => Ok(Piece::Argument(key.to_owned())),
        None => Err(Problem::new(format!(
            "`{{{{{key}}}}}` is not a valid name of a parameter: it must have 1 to {KEY_CHARS} letters, digits, `_`, `-` or `.`"
        ))),
    }
}
