//! Tools from an OpenAPI document of version 3.0 or 3.1, one for each operation.
//!
//! An operation that requires something unsupported is left out; an unsupported optional part of an operation is left out too. The result lists
//! everything that was left out.

mod operation;
mod refs;

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::address::Address;
use crate::document::HttpTool;
use crate::error::{Problem, Result};
use crate::limits::{NAME_CHARS, OPENAPI_BYTES, OPENAPI_OPERATIONS, OPENAPI_PROBLEMS};
use crate::yaml;
use operation::{Item, operation};
use refs::Refs;

/// The fields of a path that are operations.
const METHODS: [&str; 8] = ["get", "put", "post", "delete", "patch", "head", "options", "trace"];

/// The tools of a document, and what was left out.
#[derive(Debug, Default)]
pub struct Imported {
    /// The tools, in the order of the document.
    pub tools: Vec<HttpTool>,
    /// A description of each part that was left out, with the reason.
    pub problems: Vec<String>,
}

/// Reads an OpenAPI document in JSON or YAML. `server` is the address that its paths belong to, instead of its first server.
///
/// # Errors
/// [`Problem`] if it is not an OpenAPI document, is too large, or names no host.
pub fn import(text: &str, server: Option<&str>) -> Result<Imported> {
    if text.len() > OPENAPI_BYTES {
        return Err(Problem::new(format!("it has {} bytes; the maximum is {OPENAPI_BYTES}", text.len())));
    }
    let root: Value = match text.trim_start().starts_with('{') {
        true => {
            serde_json::from_str(text).map_err(|error| Problem::new(format!("it is not JSON: {error}")))?
        }
        false => yaml::parse(text).map_err(|error| {
            Problem::new(format!("it is neither JSON nor YAML that can be read: {error}"))
        })?,
    };
    let version = root.get("openapi").and_then(Value::as_str).unwrap_or_default();
    if !version.starts_with("3.0") && !version.starts_with("3.1") {
        return Err(Problem::new(match root.get("swagger") {
            Some(_) => "it is of version 2 (Swagger); convert it to OpenAPI 3.0 first".to_owned(),
            None => "it is not an OpenAPI document of version 3.0 or 3.1".to_owned(),
        }));
    }
    let server = match server {
        Some(server) => server.trim_end_matches('/').to_owned(),
        None => first_server(root.get("servers"))?,
    };
    Address::parse(&server).map_err(|problem| problem.of(&format!("its server {server:?}")))?;
    let Some(paths) = root.get("paths").and_then(Value::as_object) else {
        return Err(Problem::new("it has no `paths`"));
    };
    let mut imported = Imported::default();
    let mut names = BTreeSet::new();
    let operations = paths.iter().flat_map(|(path, item)| METHODS.map(|method| (path, item, method)));
    let mut count = 0;
    for (path, item, method) in operations {
        let mut refs = Refs::new(&root);
        let item = match refs.follow(item) {
            Ok(item) => item,
            // This is reported only once for the path.
            Err(problem) if method == METHODS[0] => {
                imported.problem(format!("{path} is left out: {problem}"));
                continue;
            }
            Err(_) => continue,
        };
        let Some(operation_value) = item.get(method) else { continue };
        count += 1;
        if count > OPENAPI_OPERATIONS {
            imported.problem(format!("only the first {OPENAPI_OPERATIONS} operations are read"));
            break;
        }
        let name = name_of(operation_value, method, path);
        let label = format!("{name} ({} {path})", method.to_uppercase());
        let item = Item {
            root: &root,
            server: &server,
            path,
            item,
            method,
            operation: operation_value,
            name: &name,
        };
        match operation(&item, &mut refs).and_then(|document| HttpTool::parse(&document)) {
            Ok(_) if !names.insert(name.clone()) => {
                imported.problem(format!("{label} is left out: there is another operation with this name"));
            }
            Ok(tool) => {
                imported.tools.push(tool);
                let notes: Vec<String> = refs.notes.iter().map(|note| format!("{label}: {note}")).collect();
                notes.into_iter().for_each(|note| imported.problem(note));
            }
            Err(problem) => imported.problem(format!("{label} is left out: {problem}")),
        }
    }
    Ok(imported)
}

impl Imported {
    fn problem(&mut self, text: String) {
        if self.problems.len() < OPENAPI_PROBLEMS {
            self.problems.push(text);
        }
    }
}

/// The first server's address, with the default values of its variables.
fn first_server(servers: Option<&Value>) -> Result<String> {
    let wanted = "name the server's address yourself";
    let Some(server) = servers.and_then(|servers| servers.get(0)) else {
        return Err(Problem::new(format!("it has no `servers`; {wanted}")));
    };
    let mut url = server.get("url").and_then(Value::as_str).unwrap_or_default().to_owned();
    for (name, variable) in server.get("variables").and_then(Value::as_object).into_iter().flatten() {
        let default = variable.get("default").and_then(Value::as_str).unwrap_or_default();
        url = url.replace(&format!("{{{name}}}"), default);
    }
    if !url.contains("://") {
        return Err(Problem::new(format!("its first server {url:?} has no host; {wanted}")));
    }
    Ok(url.trim_end_matches('/').to_owned())
}

/// The name of an operation's tool: from its `operationId`, or else from its method and path.
fn name_of(operation: &Value, method: &str, path: &str) -> String {
    let id = operation.get("operationId").and_then(Value::as_str).filter(|id| !id.trim().is_empty());
    let name =
        clean(&id.map_or_else(|| format!("{method}{path}"), str::to_owned), |c| matches!(c, '_' | '-'));
    name[..name.len().min(NAME_CHARS)].trim_matches('_').to_owned()
}

/// A text with only ASCII letters, digits and the characters that are kept: runs of other characters become `_`.
fn clean(text: &str, is_kept: impl Fn(char) -> bool) -> String {
    let mut cleaned = String::new();
    for letter in text.chars() {
        if letter.is_ascii_alphanumeric() || is_kept(letter) {
            cleaned.push(letter);
        } else if !cleaned.ends_with('_') {
            cleaned.push('_');
        }
    }
    cleaned
}

/// The fields of an object; empty if there is no object.
fn fields(value: Option<&Value>) -> impl Iterator<Item = (&String, &Value)> {
    value.and_then(Value::as_object).into_iter().flat_map(Map::iter)
}

/// The items of a list; empty if there is no list.
fn items(value: Option<&Value>) -> impl Iterator<Item = &Value> {
    value.and_then(Value::as_array).into_iter().flatten()
}

#[cfg(test)]
mod tests;
