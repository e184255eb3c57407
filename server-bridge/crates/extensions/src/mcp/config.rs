//! Definitions of servers: entries of `mcpServers` in `.mcp.json`, and what runs for each.

use std::collections::BTreeMap;
use std::fmt::{self, Write};
use std::time::Duration;

use api::mcp::{McpOAuth, McpServerEntry};
use api::words::McpTransport;
use rules::Named;
use rules::named::of_words;
use sandbox::ExecRequest;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::credentials::ClientCredentials;
use crate::limits::{
    MCP_CALL_PATIENCE, MCP_FILE_BYTES, MCP_MAX_CALL_PATIENCE, MCP_NAME_CHARS, MCP_WORD_BYTES, MCP_WORDS,
};

/// The version of the hashed data: incrementing it invalidates all approvals.
const VERSION: u32 = 2;

/// The definition of a server. `Debug` shows no secrets.
#[derive(Clone, PartialEq)]
pub(super) struct Spec {
    pub(super) launch: Launch,
    /// How long one call may take without a sign of progress.
    pub(super) patience: Duration,
}

/// How a server is reached.
#[derive(Clone, PartialEq)]
pub(super) enum Launch {
    /// A program on the user's machine. `${NAME}` and `${NAME:-default}` are replaced with variables of that machine.
    Program { command: String, args: Vec<String>, env: BTreeMap<String, String> },
    /// A server on the network.
    Address(Box<Address>),
}

/// A server on the network.
#[derive(Clone, PartialEq)]
pub(super) struct Address {
    pub(super) url: String,
    /// The runner whose network the requests go through; `None` if they go out from this server.
    pub(super) via: Option<String>,
    pub(super) headers: BTreeMap<String, String>,
    pub(super) credentials: Option<ClientCredentials>,
}

impl fmt::Debug for Spec {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Spec({}, …)", self.action())
    }
}

/// Checks the name of a server: 1 to 32 visible characters, without blanks at its ends.
///
/// Fails with the problem as text.
pub(super) fn check_name(name: &str) -> Result<(), String> {
    let is_fine = !name.is_empty()
        && name.chars().count() <= MCP_NAME_CHARS
        && name.trim() == name
        && name.chars().any(|letter| letter.is_ascii_alphanumeric())
        && !name.contains(['/', '\\'])
        && !name.chars().any(|letter| letter.is_control() || store::is_unseen(letter));
    if is_fine {
        return Ok(());
    }
    let shown: String = name.chars().take(MCP_NAME_CHARS).collect();
    Err(format!(
        "{shown:?} is not a valid server name: use up to {MCP_NAME_CHARS} letters, digits, '-', '_' or '.', with at least one letter or digit"
    ))
}

impl Spec {
    /// Reads a definition.
    ///
    /// The error names the problem of the definition; it contains no part of a secret.
    pub(super) fn of(entry: &McpServerEntry) -> Result<Self, String> {
        let McpServerEntry { transport, command, args, env, url, via, headers, oauth, timeout } = entry;
        if via.is_some() && url.is_none() {
            return Err(
                "\"via\" belongs to an address: a command runs on the machine that you use".to_owned()
            );
        }
        let launch = match (transport.as_deref(), command, url) {
            (Some("sse"), ..) => {
                return Err(
                    "the transport \"sse\" was replaced in 2025; use the server's streamable HTTP address"
                        .to_owned(),
                );
            }
            (None | Some("stdio"), Some(command), None) => program(command, args, env)?,
            (None | Some("http" | "streamable-http" | "streamableHttp"), None, Some(url)) => {
                address(url, via.as_deref(), headers, oauth.as_ref())?
            }
            (Some(other), ..) if !["stdio", "http", "streamable-http", "streamableHttp"].contains(&other) => {
                return Err(format!("the type {other:?} is unknown; write \"stdio\" or \"http\""));
            }
            (_, Some(_), Some(_)) => {
                return Err("it has both a command and a url; write one of them".to_owned());
            }
            (_, None, None) => return Err("it has neither a command nor a url".to_owned()),
            (_, Some(_), None) => {
                return Err("an entry with a command must have the type \"stdio\"".to_owned());
            }
            (_, None, Some(_)) => return Err("an entry with a url must have the type \"http\"".to_owned()),
        };
        let patience = match timeout {
            None => MCP_CALL_PATIENCE,
            Some(0) => {
                return Err("the timeout must be more than 0 ms; leave it out for the default".to_owned());
            }
            Some(milliseconds) => Duration::from_millis(*milliseconds).min(MCP_MAX_CALL_PATIENCE),
        };
        Ok(Self { launch, patience })
    }

    /// The command or the address, for people; without secrets.
    pub(super) fn action(&self) -> String {
        match &self.launch {
            Launch::Program { command, args, .. } => {
                let words = std::iter::once(command).chain(args);
                words.map(|word| shown(word)).collect::<Vec<_>>().join(" ")
            }
            Launch::Address(address) => address.shown(),
        }
    }

    /// The names of its secrets.
    pub(super) fn secrets(&self) -> Vec<String> {
        let credentials = self.credentials().map(|credentials| credentials.secret_name().to_owned());
        let names = match &self.launch {
            Launch::Program { env: secrets, .. } => secrets.keys(),
            Launch::Address(address) => address.headers.keys(),
        };
        names.cloned().chain(credentials).collect()
    }

    /// The server's own client credentials, if it has any.
    pub(super) fn credentials(&self) -> Option<&ClientCredentials> {
        match &self.launch {
            Launch::Program { .. } => None,
            Launch::Address(address) => address.credentials.as_ref(),
        }
    }

    /// The way in which the server is reached, as the API names it.
    pub(super) fn transport(&self) -> McpTransport {
        match self.launch {
            Launch::Program { .. } => McpTransport::Stdio,
            Launch::Address(_) => McpTransport::Http,
        }
    }

    /// The files that its command and its variables may name. If one of them changes, other code may run.
    pub(super) fn named(&self) -> Named {
        let Launch::Program { command, args, env } = &self.launch else { return Named::default() };
        let words = std::iter::once(command).chain(args).map(String::as_str);
        // A variable such as NODE_OPTIONS names files too.
        of_words(words, env.iter().map(|(name, value)| (name.as_str(), value.as_str())), &[])
    }

    /// The server's secrets with their values, for a definition that its user did not write: values in a file are not secret, and they may change
    /// what runs.
    pub(super) fn told_secrets(&self) -> Vec<String> {
        match &self.launch {
            Launch::Program { env, .. } => {
                env.iter().map(|(name, value)| format!("{name}={value}")).collect()
            }
            Launch::Address(address) => {
                let Address { headers, credentials, .. } = &**address;
                let client = credentials.iter().flat_map(|client| {
                    let scopes = client.scopes.join(" ");
                    let known = [("oauth.clientId", client.client_id.as_str()), ("oauth.scopes", &scopes)];
                    let known = known.map(|(name, value)| format!("{name}: {value}"));
                    known.into_iter().chain([client.secret_name().to_owned()])
                });
                headers.iter().map(|(name, value)| format!("{name}: {value}")).chain(client).collect()
            }
        }
    }

    /// The SHA-256 that identifies a server for its tools: a server with another token is the same server.
    pub(super) fn identity(&self, name: &str) -> String {
        let what = match &self.launch {
            Launch::Program { command, args, .. } => json!({"name": name, "command": command, "args": args}),
            Launch::Address(address) => address.through(json!({"name": name, "url": address.url})),
        };
        hash_of(&what)
    }

    /// The SHA-256 of what runs under this name, in hexadecimal digits. For a definition of a workspace it includes the
    /// workspace's location and the hash of each file that the command names.
    pub(super) fn hash(&self, name: &str, of: Option<&OfWorkspace<'_>>) -> String {
        let launch = match &self.launch {
            Launch::Program { command, args, env } => json!({"command": command, "args": args, "env": env}),
            Launch::Address(address) => {
                let mut launch = json!({"url": address.url, "headers": address.headers});
                // The secret is left out: it is only sent to the provider at this address, and hashes are shown to
                // people.
                if let Some(client) = &address.credentials {
                    launch["oauth"] = client.identity();
                }
                address.through(launch)
            }
        };
        let what = json!({
            "version": VERSION,
            "name": name,
            "launch": launch,
            "timeout": u64::try_from(self.patience.as_millis()).unwrap_or(u64::MAX),
            "workspace": of.map(|of| of.workspace),
            "files": of.map(|of| of.files),
        });
        hash_of(&what)
    }
}

impl Address {
    /// The address for people, with the runner through which it is reached.
    fn shown(&self) -> String {
        match &self.via {
            Some(via) => format!("{} via {via}", self.url),
            None => self.url.clone(),
        }
    }

    /// The text that is hashed. It includes the runner, because the same address in another network is another server.
    fn through(&self, mut what: Value) -> Value {
        if let Some(via) = &self.via {
            what["via"] = json!(via);
        }
        what
    }
}

/// The workspace that a definition belongs to.
pub(super) struct OfWorkspace<'a> {
    /// The location of the workspace.
    pub(super) workspace: &'a str,
    /// The files that the command names, each with its SHA-256.
    pub(super) files: &'a [(String, String)],
}

/// The SHA-256 of a JSON value in hexadecimal digits, independent of the order of its keys.
pub(super) fn hash_of(value: &Value) -> String {
    // The maps of serde_json are sorted.
    store::hex(&Sha256::digest(value.to_string()))
}

fn program(command: &str, args: &[String], env: &BTreeMap<String, String>) -> Result<Launch, String> {
    if command.trim().is_empty() {
        return Err("its command is empty".to_owned());
    }
    let words = || std::iter::once(command).chain(args.iter().map(String::as_str));
    if args.len() >= MCP_WORDS || env.len() > MCP_WORDS {
        return Err(format!("it has more than {MCP_WORDS} arguments or variables"));
    }
    if let Some(word) =
        words().chain(env.values().map(String::as_str)).find(|word| word.len() > MCP_WORD_BYTES)
    {
        return Err(format!(
            "an argument or a variable has {} bytes; the maximum is {MCP_WORD_BYTES}",
            word.len()
        ));
    }
    if words().chain(env.values().map(String::as_str)).any(|word| word.contains('\0')) {
        return Err("an argument or a variable contains a NUL character".to_owned());
    }
    if let Some(name) = env.keys().find(|name| !is_variable(name)) {
        return Err(format!("{name:?} is not the name of a variable"));
    }
    Ok(Launch::Program { command: command.to_owned(), args: args.to_vec(), env: env.clone() })
}

fn address(
    url: &str,
    via: Option<&str>,
    headers: &BTreeMap<String, String>,
    oauth: Option<&McpOAuth>,
) -> Result<Launch, String> {
    guard::check_text(url).map_err(|error| error.to_string())?;
    if std::iter::once(url).chain(headers.values().map(String::as_str)).any(|text| text.contains("${")) {
        return Err(
            "variables (${…}) are not replaced in an address or a header, since the request comes from the server and not from \
             your machine: write the value itself"
                .to_owned(),
        );
    }
    if headers.len() > MCP_WORDS {
        return Err(format!("it has more than {MCP_WORDS} headers"));
    }
    for (name, value) in headers {
        guard::header(name, value).map_err(|_| {
            format!(
                "the header {:?} has an invalid name or value",
                name.chars().take(MCP_NAME_CHARS).collect::<String>()
            )
        })?;
    }
    let credentials = oauth.map_or(Ok(None), ClientCredentials::of)?;
    if credentials.is_some() && headers.keys().any(|name| name.eq_ignore_ascii_case("authorization")) {
        return Err(
            "it has both an Authorization header and client credentials; write one of them".to_owned()
        );
    }
    if via.is_some_and(|via| !http_tools::is_place(via)) {
        return Err(
            "its \"via\" is not the name of a runner: write one as `sandbridge runner list` shows it, or __docker__ for your container"
                .to_owned(),
        );
    }
    let via = via.map(str::to_owned);
    let address = Address { url: url.to_owned(), via, headers: headers.clone(), credentials };
    Ok(Launch::Address(Box::new(address)))
}

fn is_variable(name: &str) -> bool {
    let mut letters = name.bytes();
    letters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && letters.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// A word of a command, quoted for a shell if necessary.
fn shown(word: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:@=,+%".contains(&byte);
    if !word.is_empty() && word.bytes().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// The exec that runs a program.
pub(super) fn request(command: &str, args: &[String], env: &BTreeMap<String, String>) -> ExecRequest {
    let words = || std::iter::once(command).chain(args.iter().map(String::as_str));
    let has_variables = words().chain(env.values().map(String::as_str)).any(|word| word.contains("${"));
    if !has_variables {
        let mut request = ExecRequest::argv(words().map(|word| word.as_bytes().to_vec()).collect::<Vec<_>>());
        request.env =
            env.iter().map(|(name, value)| (name.clone().into_bytes(), value.clone().into_bytes())).collect();
        return request;
    }
    // The variables are those of the machine, so its shell replaces them, and nothing else. Values without variables stay out
    // of the line, which other processes of the machine could read.
    let (with, without): (Vec<_>, Vec<_>) = env.iter().partition(|(_, value)| value.contains("${"));
    let mut line = String::new();
    for (name, value) in with {
        let _ = write!(line, "export {name}={}; ", expanded(value));
    }
    line.push_str("exec");
    for word in words() {
        line.push(' ');
        line.push_str(&expanded(word));
    }
    let mut request = ExecRequest::shell(line);
    request.env = without
        .into_iter()
        .map(|(name, value)| (name.clone().into_bytes(), value.clone().into_bytes()))
        .collect();
    request
}

/// A word in double quotes for a shell that replaces `${NAME}` and `${NAME:-default}` in it, and leaves everything else
/// unchanged.
fn expanded(word: &str) -> String {
    let mut quoted = "\"".to_owned();
    let mut rest = word;
    while let Some(at) = rest.find("${") {
        let variable = rest[at + 2..].split_once('}').and_then(|(inside, after)| {
            let (name, default) = match inside.split_once(":-") {
                Some((name, default)) => (name, Some(default)),
                None => (inside, None),
            };
            is_variable(name).then_some((name, default, after))
        });
        let Some((name, default, after)) = variable else {
            escape(&rest[..at + 2], &mut quoted);
            rest = &rest[at + 2..];
            continue;
        };
        escape(&rest[..at], &mut quoted);
        match default {
            Some(default) => {
                let _ = write!(quoted, "${{{name}:-");
                escape(default, &mut quoted);
                quoted.push('}');
            }
            None => {
                let _ = write!(quoted, "${{{name}?commands on this machine do not have this variable}}");
            }
        }
        rest = after;
    }
    escape(rest, &mut quoted);
    quoted.push('"');
    quoted
}

fn escape(text: &str, quoted: &mut String) {
    for letter in text.chars() {
        if "\"\\$`".contains(letter) {
            quoted.push('\\');
        }
        quoted.push(letter);
    }
}

/// An entry of a document: a name, and a definition or the reason why it is not valid.
pub(super) type Entry = (String, Result<McpServerEntry, String>);

/// The entries of a document, by name; an invalid one is replaced with its problem. Entries that are turned off are left
/// out.
///
/// Fails if the document cannot be read.
pub(super) fn entries(text: &str) -> Result<Vec<Entry>, String> {
    if text.len() as u64 >= MCP_FILE_BYTES {
        return Err(format!("it is larger than {} KiB", MCP_FILE_BYTES / 1024));
    }
    let document: Map<String, Value> =
        serde_json::from_str(text).map_err(|error| format!("it is not a valid JSON object: {error}"))?;
    let servers = match document.get("mcpServers").or_else(|| document.get("servers")) {
        Some(Value::Object(servers)) => servers,
        Some(_) => return Err("\"mcpServers\" is not an object".to_owned()),
        None => return Err("it has no \"mcpServers\"".to_owned()),
    };
    if servers.len() > MCP_WORDS {
        return Err(format!("it defines more than {MCP_WORDS} servers"));
    }
    let is_on = |entry: &Value| {
        entry.get("disabled") != Some(&Value::Bool(true)) && entry.get("enabled") != Some(&Value::Bool(false))
    };
    let read = |(name, entry): (&String, &Value)| (name.clone(), entry_of(entry));
    Ok(servers.iter().filter(|(_, entry)| is_on(entry)).map(read).collect())
}

/// Reads an entry.
///
/// Fails with the name of the wrong field, and no part of its value, which may be a secret.
pub(super) fn entry_of(value: &Value) -> Result<McpServerEntry, String> {
    let Value::Object(fields) = value else { return Err("it is not an object".to_owned()) };
    let is_read =
        |field: &Map<String, Value>| serde_json::from_value::<McpServerEntry>(field.clone().into()).is_ok();
    let wrong =
        fields.iter().find(|(name, value)| !is_read(&Map::from_iter([((*name).clone(), (*value).clone())])));
    if let Some((name, _)) = wrong {
        return Err(format!("the field {name:?} has the wrong type"));
    }
    serde_json::from_value(value.clone()).map_err(|_| "it is not a definition".to_owned())
}

#[cfg(test)]
mod tests;
