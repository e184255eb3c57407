//! Documents of MCP servers, and the closed schema that Agent Plugins has for them.

use serde_json::{Map, Value};

use crate::limits::DOCUMENT_BYTES;
use crate::{PluginPath, json};

/// The identifier of the schema of `mcp.json`.
pub(crate) const SCHEMA: &str = "https://agent-plugins.org/schemas/1.0.0/mcp.schema.json";

/// The entries of a document, which are in `mcpServers` or, as in many plugins, at its top level.
///
/// Fails with the problem as text.
pub(crate) fn entries(bytes: &[u8]) -> Result<Map<String, Value>, String> {
    unwrapped(json::object(bytes, DOCUMENT_BYTES)?)
}

/// The entries of a document that was already parsed.
pub(crate) fn unwrapped(mut document: Map<String, Value>) -> Result<Map<String, Value>, String> {
    match document.remove("mcpServers") {
        Some(Value::Object(entries)) => Ok(entries),
        Some(_) => Err("has `mcpServers` that are not an object".to_owned()),
        None => {
            document.retain(|name, value| value.is_object() && name != "mcpServers");
            Ok(document)
        }
    }
}

/// The entries of an `mcp.json` of Agent Plugins.
pub(crate) fn portable_entries(bytes: &[u8]) -> Result<Map<String, Value>, String> {
    let document = json::object(bytes, DOCUMENT_BYTES)?;
    match document.get("$schema") {
        Some(Value::String(schema)) if schema == SCHEMA => {}
        _ => return Err(format!("must have `$schema` {SCHEMA:?}, of the same version as plugin.json")),
    }
    if let Some(name) = document.keys().find(|name| !matches!(name.as_str(), "$schema" | "mcpServers")) {
        return Err(format!("has the unknown field {}", crate::text::quoted(name)));
    }
    match document.get("mcpServers") {
        Some(Value::Object(entries)) => Ok(entries.clone()),
        _ => Err("must have `mcpServers`, an object".to_owned()),
    }
}

/// Checks an entry of Agent Plugins.
///
/// Fails with the problem as text.
pub(crate) fn check_portable(entry: &Value) -> Result<(), String> {
    let fields = entry.as_object().ok_or("must be an object")?;
    let text = |name| fields.get(name).and_then(Value::as_str);
    let allowed: &[&str] = match text("type") {
        Some("stdio") => &["type", "command", "args", "env", "cwd"],
        Some("streamable-http" | "sse") => &["type", "url", "headers"],
        _ => return Err("must have a `type`: \"stdio\", \"streamable-http\" or \"sse\"".to_owned()),
    };
    if let Some(name) = fields.keys().find(|name| !allowed.contains(&name.as_str())) {
        return Err(format!("has the field {}, which its type does not have", crate::text::quoted(name)));
    }
    for name in ["env", "headers"] {
        let is_fine = fields
            .get(name)
            .is_none_or(|map| map.as_object().is_some_and(|map| map.values().all(Value::is_string)));
        if !is_fine {
            return Err(format!("must have texts in `{name}`"));
        }
    }
    if allowed.contains(&"url") {
        return check_address(text("url").unwrap_or_default(), fields.get("headers"));
    }
    let args = fields
        .get("args")
        .is_none_or(|args| args.as_array().is_some_and(|args| args.iter().all(Value::is_string)));
    if !args {
        return Err("must have a list of texts in `args`".to_owned());
    }
    let reserved = fields.get("env").and_then(Value::as_object);
    if reserved.is_some_and(|env| env.contains_key("PLUGIN_ROOT") || env.contains_key("PLUGIN_DATA")) {
        return Err("must not set PLUGIN_ROOT or PLUGIN_DATA".to_owned());
    }
    let command = text("command").unwrap_or_default();
    let is_plain = match command.strip_prefix("./") {
        Some(_) => PluginPath::parse(command).is_ok_and(|path| !path.is_root()),
        None => !command.is_empty() && !command.contains(['/', '\\']),
    };
    if !is_plain {
        return Err(
            "must have a `command`: the name of a program, or a path that begins with `./`".to_owned()
        );
    }
    match fields.get("cwd") {
        None => Ok(()),
        Some(cwd) if cwd.as_str().is_some_and(is_directory) => Ok(()),
        Some(_) => Err(
            "must have a `cwd` that begins with `./`, `${PLUGIN_ROOT}` or `${PLUGIN_DATA}` and stays there"
                .to_owned(),
        ),
    }
}

fn is_directory(cwd: &str) -> bool {
    let rest = cwd.strip_prefix("./").or_else(|| {
        let rest = cwd.strip_prefix("${PLUGIN_ROOT}").or_else(|| cwd.strip_prefix("${PLUGIN_DATA}"))?;
        if rest.is_empty() { Some(rest) } else { rest.strip_prefix('/') }
    });
    rest.is_some_and(|rest| PluginPath::parse(rest).is_ok())
}

fn check_address(url: &str, headers: Option<&Value>) -> Result<(), String> {
    let names = headers.and_then(Value::as_object).into_iter().flat_map(Map::keys);
    let mut names: Vec<String> = names.map(|name| name.to_ascii_lowercase()).collect();
    names.sort_unstable();
    if names.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err("must not name a header twice".to_owned());
    }
    let (scheme, rest) = url.split_once("://").ok_or("must have a `url` with http or https")?;
    let authority = rest.split(['/', '?']).next().unwrap_or_default();
    if authority.is_empty()
        || authority.contains('@')
        || url.contains('#')
        || url.chars().any(char::is_whitespace)
    {
        return Err("must have a `url` with a host, without a user and without a fragment".to_owned());
    }
    let host = match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    };
    let is_near =
        host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
    match scheme {
        "https" => Ok(()),
        "http" if is_near => Ok(()),
        _ => Err("must have a `url` with https; http is for this machine only".to_owned()),
    }
}
