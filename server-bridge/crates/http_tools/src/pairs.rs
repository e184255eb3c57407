//! Names and values in queries and forms.

use serde_json::{Map, Value};

use crate::error::{Problem, Result};
use crate::limits::PAIRS;
use crate::template::{Template, Values, percent, plain};

/// Names and values, in their order. Names and literal texts are already encoded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pairs(pub(crate) Vec<(String, Template)>);

impl Pairs {
    /// Reads pairs as written in an address: `a=1&b={{x}}`, with literal texts that are already encoded.
    pub(crate) fn encoded(text: &str) -> Result<Self> {
        let pair = |pair: &str| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            if name.contains("{{") {
                return Err(Problem::new(
                    "a placeholder cannot be a name in a query or a form, only a value",
                ));
            }
            let value = Template::parse(value)?;
            for text in std::iter::once(name).chain(value.texts()) {
                check_encoded(text, "query")?;
            }
            Ok((name.to_owned(), value))
        };
        let pairs = text.split('&').filter(|pair| !pair.is_empty()).map(pair);
        Self(pairs.collect::<Result<_>>()?).checked()
    }

    /// Reads pairs of a JSON object: each value is a template, a number or a boolean.
    pub(crate) fn object(fields: &Map<String, Value>) -> Result<Self> {
        let pair = |(name, value): (&String, &Value)| {
            let value = match value {
                Value::Array(_) | Value::Object(_) | Value::Null => {
                    return Err(Problem::new(format!(
                        "the value of {name:?} must be a string, a number or a boolean"
                    )));
                }
                value => Template::parse(&plain(value)?)?,
            };
            if name.contains("{{") || name.is_empty() {
                return Err(Problem::new("a name in a query or a form must be a literal text"));
            }
            Ok((percent(name), value.map_texts(percent)))
        };
        Self(fields.iter().map(pair).collect::<Result<_>>()?).checked()
    }

    fn checked(self) -> Result<Self> {
        match self.0.len() {
            count if count > PAIRS => {
                Err(Problem::new(format!("it has {count} names and values; the maximum is {PAIRS}")))
            }
            _ => Ok(self),
        }
    }

    /// The text with all values encoded. A pair whose argument is absent is left out; a list is one pair for each item.
    pub(crate) fn render(&self, values: &Values<'_>) -> Result<String> {
        let mut pairs = Vec::new();
        for (name, template) in &self.0 {
            if let Some(Value::Array(items)) = template.whole().and_then(|key| values.argument(key)) {
                for item in items {
                    if item.is_array() || item.is_object() {
                        return Err(Problem::new(format!(
                            "the list for {name:?} can only contain strings, numbers and booleans"
                        )));
                    }
                    pairs.push(format!("{name}={}", percent(&plain(item)?)));
                }
            } else if let Some(value) = template.text(values, |value| Ok(percent(value)))? {
                pairs.push(format!("{name}={value}"));
            }
        }
        Ok(pairs.join("&"))
    }
}

/// Checks a literal text of an address: it may only contain permitted characters and complete percent-encodings.
pub(crate) fn check_encoded(text: &str, part: &str) -> Result<()> {
    let is_hex = |at: usize| text.as_bytes().get(at).is_some_and(u8::is_ascii_hexdigit);
    for (at, letter) in text.char_indices() {
        let is_allowed = match letter {
            '%' => is_hex(at + 1) && is_hex(at + 2),
            '/' | '?' => part == "query",
            letter => letter.is_ascii_alphanumeric() || "-._~!$&()*+,;=:@".contains(letter),
        };
        if !is_allowed {
            let found = if part == "query" { "the query contains" } else { "the path contains" };
            return Err(Problem::new(format!("{found} {letter:?}, which must be percent-encoded")));
        }
    }
    Ok(())
}
