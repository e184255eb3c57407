//! Interpolation: `${tool_input.path}` is replaced with a value of the payload.
//!
//! A text that consists of a single `${…}` is replaced with the value and its type; within a longer text, a value that is not a
//! string is written as JSON. Inserted values are not searched again. `$${` is replaced with `${`.

use serde_json::{Map, Value};

use crate::limits::{INTERPOLATED_BYTES, QUOTED_CHARS};

/// The reason why a text could not be interpolated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The payload has no such value.
    #[error("the payload has no {0}")]
    Missing(String),
    /// A `${` has no end.
    #[error("a ${{ has no }}")]
    Unclosed,
    /// The result is too large.
    #[error("the result is larger than {INTERPOLATED_BYTES} bytes")]
    TooLarge,
    /// A header's value would have more than one line.
    #[error("the header {0} would have more than one line")]
    Lines(String),
    /// A value would determine the server of an address.
    #[error("${{…}} may only be used in the path and the query of an address")]
    Host,
}

/// Interpolates all texts within a value.
///
/// # Errors
///
/// Fails for a path that the payload does not have, and for a result that is too large.
pub fn value(template: &Value, payload: &Value) -> Result<Value, Error> {
    let mut room = INTERPOLATED_BYTES;
    value_within(template, payload, &mut room)
}

/// Interpolates the arguments of a tool.
///
/// # Errors
///
/// Fails as [`value`] does.
pub fn input(template: &Map<String, Value>, payload: &Value) -> Result<Map<String, Value>, Error> {
    let mut room = INTERPOLATED_BYTES;
    let fields = template.iter();
    fields.map(|(name, field)| Ok((name.clone(), value_within(field, payload, &mut room)?))).collect()
}

fn value_within(template: &Value, payload: &Value, room: &mut usize) -> Result<Value, Error> {
    Ok(match template {
        Value::String(text) => {
            let inner = text.strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
            if let Some(path) = inner.filter(|path| !path.contains(['{', '}'])) {
                let found = find(payload, path)?;
                take(room, found.to_string().len())?;
                return Ok(found.clone());
            }
            let filled = fill(text, |path| find(payload, path).map(plain))?;
            take(room, filled.len())?;
            Value::String(filled)
        }
        Value::Array(items) => Value::Array(
            items.iter().map(|item| value_within(item, payload, room)).collect::<Result<_, _>>()?,
        ),
        Value::Object(fields) => {
            let fields = fields.iter();
            let filled: Result<Map<_, _>, _> =
                fields.map(|(name, field)| Ok((name.clone(), value_within(field, payload, room)?))).collect();
            Value::Object(filled?)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => template.clone(),
    })
}

fn take(room: &mut usize, bytes: usize) -> Result<(), Error> {
    *room = room.checked_sub(bytes).ok_or(Error::TooLarge)?;
    Ok(())
}

/// Replaces each `${…}` with the text for its content.
fn fill(text: &str, mut with: impl FnMut(&str) -> Result<String, Error>) -> Result<String, Error> {
    let mut filled = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        filled.push_str(&rest[..at]);
        if filled.ends_with('$') {
            filled.push('{');
            rest = &rest[at + 2..];
            continue;
        }
        let (path, after) = rest[at + 2..].split_once('}').ok_or(Error::Unclosed)?;
        filled.push_str(&with(path)?);
        if filled.len() > INTERPOLATED_BYTES {
            return Err(Error::TooLarge);
        }
        rest = after;
    }
    filled.push_str(rest);
    Ok(filled)
}

/// The value at a path such as `tool_input.edits.0.path`.
fn find<'a>(payload: &'a Value, path: &str) -> Result<&'a Value, Error> {
    let mut value = payload;
    for name in path.trim().split('.') {
        let found = match value {
            Value::Object(fields) => fields.get(name),
            Value::Array(items) => name.parse::<usize>().ok().and_then(|at| items.get(at)),
            _ => None,
        };
        value = found.ok_or_else(|| Error::Missing(path.trim().chars().take(QUOTED_CHARS).collect()))?;
    }
    Ok(value)
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Checks the address of an HTTP handler: its server must be written out.
///
/// # Errors
///
/// The reason why it is refused, as a sentence.
pub fn check_url(url: &str) -> Result<(), String> {
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    let rest = rest.ok_or("url must begin with https:// or http://")?;
    let server = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if server.is_empty() {
        return Err("url names no server".to_owned());
    }
    if server.contains(['$', '{', '@', '\\'])
        || url.contains(|letter: char| letter.is_control() || letter == ' ')
    {
        return Err(
            "the server in url must be written out, without variables, user names or spaces".to_owned()
        );
    }
    Ok(())
}

/// Interpolates an address. Values are escaped, so that they stay within their place in the path or query.
///
/// # Errors
///
/// Fails as [`value`] does, and for an address whose server is not written out.
pub fn url(template: &str, payload: &Value) -> Result<String, Error> {
    check_url(template).map_err(|_| Error::Host)?;
    fill(template, |path| find(payload, path).map(|value| escaped(&plain(value))))
}

fn escaped(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_~".contains(&byte);
    // A text of dots only is escaped as well, because `..` between slashes leads to the parent directory.
    let climbs = text.chars().all(|letter| letter == '.');
    text.bytes().fold(String::new(), |mut escaped, byte| {
        if is_plain(byte) || (byte == b'.' && !climbs) {
            escaped.push(char::from(byte));
        } else {
            escaped.push_str(&format!("%{byte:02X}"));
        }
        escaped
    })
}

/// The headers of an HTTP handler. `$NAME` and `${NAME}` are replaced with the user's variable if `allowed` lists it, or else
/// with nothing; a path with a dot, such as `${tool_input.path}`, is replaced with a value of the payload.
///
/// # Errors
///
/// Fails as [`value`] does, and for a value with more than one line.
pub fn headers<'a>(
    templates: impl IntoIterator<Item = (&'a String, &'a String)>,
    allowed: &[String],
    payload: &Value,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<Vec<(String, String)>, Error> {
    let known = |name: &str| {
        let is_allowed = allowed.iter().any(|listed| listed == name);
        is_allowed.then(|| variable(name)).flatten().unwrap_or_default()
    };
    let mut filled = Vec::new();
    for (name, template) in templates {
        let braced = bare_to_braced(template);
        let text = fill(&braced, |path| match path.contains('.') {
            true => find(payload, path).map(plain),
            false => Ok(known(path.trim())),
        })?;
        if text.contains(['\r', '\n', '\0']) {
            return Err(Error::Lines(name.clone()));
        }
        filled.push((name.clone(), text));
    }
    Ok(filled)
}

/// The text of a prompt. `$ARGUMENTS` is replaced with the payload; without it, the payload is appended.
pub fn prompt(template: &str, payload: &str) -> String {
    match template.contains("$ARGUMENTS") {
        true => template.replace("$ARGUMENTS", payload),
        false => format!("{template}\n\n{payload}"),
    }
}

/// Writes `$NAME` as `${NAME}`.
fn bare_to_braced(text: &str) -> String {
    let mut braced = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        let (before, after) = (&rest[..at], &rest[at + 1..]);
        let end = after
            .find(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '_'))
            .unwrap_or(after.len());
        let is_name = after.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_');
        braced.push_str(before);
        if is_name {
            braced.push_str(&format!("${{{}}}", &after[..end]));
            rest = &after[end..];
        } else {
            braced.push('$');
            rest = after;
        }
    }
    braced.push_str(rest);
    braced
}

#[cfg(test)]
mod tests;
