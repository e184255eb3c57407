//! Bodies: JSON as a structure, forms as pairs, and plain text.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::error::{Problem, Result};
use crate::limits::{BODY_BYTES, BODY_TEMPLATE_BYTES, DEPTH};
use crate::pairs::Pairs;
use crate::template::{Template, Values};

/// The content type of a body if its document does not set one.
pub(crate) const JSON: &str = "application/json";

/// A body with placeholders.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Body {
    Json(Node),
    Form(Pairs),
    Text(Template),
}

/// A value of a JSON body.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Node {
    Literal(Value),
    Text(Template),
    List(Vec<Node>),
    Object(Vec<(String, Node)>),
}

impl Body {
    /// Reads the template of a body of this content type.
    pub(crate) fn parse(template: &Value, content_type: Option<&str>) -> Result<Self> {
        let content_type = content_type.unwrap_or(JSON).to_ascii_lowercase();
        let media_type = content_type.split(';').next().unwrap_or_default().trim();
        let is_json = media_type == JSON || media_type.ends_with("+json") || media_type == "text/json";
        let text = match template {
            Value::String(text) => Some(text.as_str()),
            Value::Array(_) | Value::Object(_) => None,
            _ => return Err(Problem::new("it must be a string or a JSON object")),
        };
        let bytes = text.map_or_else(|| template.to_string().len(), str::len);
        if bytes > BODY_TEMPLATE_BYTES {
            return Err(Problem::new(format!("it has {bytes} bytes; the maximum is {BODY_TEMPLATE_BYTES}")));
        }
        let parsed = || {
            match text {
            Some(text) => serde_json::from_str(&quoted(text)).map_err(|error| {
                Problem::new(format!(
                    "it is not JSON ({error}); for another kind of body set the header Content-Type, for example to text/plain"
                ))
            }),
            None => Ok(template.clone()),
        }
        };
        if is_json {
            return Ok(Self::Json(Node::of(&parsed()?, 0)?));
        }
        match (media_type, text) {
            ("application/x-www-form-urlencoded", text) => match (parsed(), text) {
                (Ok(Value::Object(fields)), _) => Ok(Self::Form(Pairs::object(&fields)?)),
                (_, Some(text)) => Ok(Self::Form(Pairs::encoded(text)?)),
                (_, None) => Err(Problem::new("a form must be a string like a=1&b={{x}} or a JSON object")),
            },
            (kind, _) if kind.starts_with("multipart/") => {
                Err(Problem::new("a body of several parts (multipart) is not supported"))
            }
            (_, Some(text)) => Ok(Self::Text(Template::parse(text)?)),
            (_, None) => Err(Problem::new("it is JSON, and the header Content-Type names another kind")),
        }
    }

    /// The body with its placeholders replaced.
    pub(crate) fn render(&self, values: &Values<'_>) -> Result<String> {
        let body = match self {
            // If the whole value is left out, the body is empty.
            Self::Json(node) => node.render(values)?.map(|value| value.to_string()).unwrap_or_default(),
            Self::Form(pairs) => pairs.render(values)?,
            Self::Text(template) => template.text(values, |value| Ok(value.to_owned()))?.unwrap_or_default(),
        };
        match body.len() {
            bytes if bytes > BODY_BYTES => {
                Err(Problem::new(format!("the body would have {bytes} bytes; the maximum is {BODY_BYTES}")))
            }
            _ => Ok(body),
        }
    }

    /// Calls `see` with each template in the body.
    pub(crate) fn templates<'a>(&'a self, see: &mut dyn FnMut(&'a Template)) {
        match self {
            Self::Json(node) => node.templates(see),
            Self::Form(pairs) => pairs.0.iter().for_each(|(_, template)| see(template)),
            Self::Text(template) => see(template),
        }
    }
}

impl Node {
    fn of(value: &Value, depth: usize) -> Result<Self> {
        if depth > DEPTH {
            return Err(Problem::new(format!("it is deeper than {DEPTH} levels")));
        }
        Ok(match value {
            Value::String(text) => match Template::parse(text)? {
                template if template.literal().is_some() => Self::Literal(value.clone()),
                template => Self::Text(template),
            },
            Value::Array(items) => {
                Self::List(items.iter().map(|item| Self::of(item, depth + 1)).collect::<Result<_>>()?)
            }
            Value::Object(fields) => {
                let field = |(name, value): (&String, &Value)| match name.contains("{{") {
                    true => Err(Problem::new("a placeholder cannot be the name of a field, only its value")),
                    false => Ok((name.clone(), Self::of(value, depth + 1)?)),
                };
                Self::Object(fields.iter().map(field).collect::<Result<_>>()?)
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => Self::Literal(value.clone()),
        })
    }

    /// The value with its placeholders replaced; `None` if it is a single placeholder whose argument is absent.
    fn render(&self, values: &Values<'_>) -> Result<Option<Value>> {
        Ok(Some(match self {
            Self::Literal(value) => value.clone(),
            Self::Text(template) => match template.whole() {
                Some(key) => return Ok(values.json(key).cloned()),
                None => match template.text(values, |value| Ok(value.to_owned()))? {
                    Some(text) => Value::String(text),
                    None => return Ok(None),
                },
            },
            Self::List(items) => {
                let items: Result<Vec<_>> = items.iter().map(|item| item.render(values)).collect();
                Value::Array(items?.into_iter().flatten().collect())
            }
            Self::Object(fields) => {
                let mut object = Map::new();
                for (name, node) in fields {
                    if let Some(value) = node.render(values)? {
                        object.insert(name.clone(), value);
                    }
                }
                Value::Object(object)
            }
        }))
    }

    fn templates<'a>(&'a self, see: &mut dyn FnMut(&'a Template)) {
        match self {
            Self::Literal(_) => {}
            Self::Text(template) => see(template),
            Self::List(items) => items.iter().for_each(|item| item.templates(see)),
            Self::Object(fields) => fields.iter().for_each(|(_, node)| node.templates(see)),
        }
    }
}

/// A JSON template in which placeholders outside of strings are put into quotes: `{"n": {{n}}}` means `{"n": "{{n}}"}`, because a
/// string that is a single placeholder keeps its argument's type.
fn quoted(text: &str) -> String {
    let (mut quoted, mut rest) = (String::with_capacity(text.len()), text);
    let (mut is_in_text, mut is_escaped) = (false, false);
    while let Some(letter) = rest.chars().next() {
        if !is_in_text
            && let Some((key, after)) = rest.strip_prefix("{{").and_then(|inside| inside.split_once("}}"))
        {
            // Text that contains a quote is not a key, and stays unchanged.
            if !key.contains('"') {
                quoted.push_str("\"{{");
                quoted.push_str(key);
                quoted.push_str("}}\"");
                rest = after;
                continue;
            }
        }
        match letter {
            '"' if !is_escaped => is_in_text = !is_in_text,
            _ => {}
        }
        is_escaped = is_in_text && letter == '\\' && !is_escaped;
        quoted.push(letter);
        rest = &rest[letter.len_utf8()..];
    }
    quoted
}

/// The names of the arguments and secrets that templates use.
#[derive(Debug, Default)]
pub(crate) struct Used {
    pub(crate) arguments: BTreeSet<String>,
    pub(crate) secrets: BTreeSet<String>,
}

impl Used {
    pub(crate) fn see(&mut self, template: &Template) {
        self.arguments.extend(template.arguments().map(str::to_owned));
        self.secrets.extend(template.secrets().map(str::to_owned));
    }
}
