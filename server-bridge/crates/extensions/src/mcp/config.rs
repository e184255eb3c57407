//! Definitions of servers: entries of `mcpServers` in `.mcp.json`, and what runs for each.

use std::collections::BTreeMap;
use std::fmt::{self, Write};
use std::time::Duration;

use api::mcp::McpServerEntry;
use api::words::McpTransport;
use hooks::handler::{Script, scripts_of};
use sandbox::ExecRequest;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::limits::{MCP_CALL_PATIENCE, MCP_MAX_CALL_PATIENCE, MCP_NAME_CHARS, MCP_WORD_BYTES, MCP_WORDS};

/// The version of what is hashed: a change of its meaning asks for every approval again.
const VERSION: u32 = 1;

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
    /// A program on the user's machine. `${NAME}` and `${NAME:-default}` stand for variables of that machine.
    Program { command: String, args: Vec<String>, env: BTreeMap<String, String> },
    /// A server on the network.
    Address { url: String, headers: BTreeMap<String, String> },
}

impl fmt::Debug for Spec {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Spec({}, …)", self.action())
    }
}

/// Checks the name of a server: 1 to 64 characters that can all be seen, without blanks at its ends.
///
/// Fails with what is wrong.
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
        "the name {shown:?} is not one for a server: write 1 to {MCP_NAME_CHARS} letters, digits, '-', '_' or '.'"
    ))
}

impl Spec {
    /// Reads a definition.
    ///
    /// Fails with what is wrong with it; no part of a secret is in the text.
    pub(super) fn of(entry: &McpServerEntry) -> Result<Self, String> {
        let McpServerEntry { transport, command, args, env, url, headers, timeout } = entry;
        let launch = match (transport.as_deref(), command, url) {
            (Some("sse"), ..) => {
                return Err(
                    "the transport \"sse\" was replaced in 2025; use the server's streamable HTTP address"
                        .to_owned(),
                );
            }
            (None | Some("stdio"), Some(command), None) => program(command, args, env)?,
            (None | Some("http" | "streamable-http" | "streamableHttp"), None, Some(url)) => {
                address(url, headers)?
            }
            (Some(other), ..) if !["stdio", "http", "streamable-http", "streamableHttp"].contains(&other) => {
                return Err(format!("the type {other:?} is unknown; write \"stdio\" or \"http\""));
            }
            (_, Some(_), Some(_)) => {
                return Err("it has both a command and a url; write one of them".to_owned());
            }
            (_, None, None) => return Err("it has neither a command nor a url".to_owned()),
            (_, Some(_), None) => return Err("a command has the type \"stdio\"".to_owned()),
            (_, None, Some(_)) => return Err("a url has the type \"http\"".to_owned()),
        };
        let patience = match timeout {
            None => MCP_CALL_PATIENCE,
            Some(0) => return Err("a timeout of 0 ms is none; leave it out for the default".to_owned()),
            Some(milliseconds) => Duration::from_millis(*milliseconds).min(MCP_MAX_CALL_PATIENCE),
        };
        Ok(Self { launch, patience })
    }

    /// The command or the address, for people, without secrets.
    pub(super) fn action(&self) -> String {
        match &self.launch {
            Launch::Program { command, args, .. } => {
                let words = std::iter::once(command).chain(args);
                words.map(|word| shown(word)).collect::<Vec<_>>().join(" ")
            }
            Launch::Address { url, .. } => url.clone(),
        }
    }

    /// The names of its secrets.
    pub(super) fn secrets(&self) -> Vec<String> {
        match &self.launch {
            Launch::Program { env: secrets, .. } | Launch::Address { headers: secrets, .. } => {
                secrets.keys().cloned().collect()
            }
        }
    }

    /// How it is reached, in the words of the API.
    pub(super) fn transport(&self) -> McpTransport {
        match self.launch {
            Launch::Program { .. } => McpTransport::Stdio,
            Launch::Address { .. } => McpTransport::Http,
        }
    }

    /// The files that its command names: a change of one changes what runs.
    pub(super) fn scripts(&self) -> Vec<Script> {
        match &self.launch {
            Launch::Program { command, args, .. } => scripts_of(std::iter::once(command).chain(args)),
            Launch::Address { .. } => Vec::new(),
        }
    }

    /// The SHA-256 of what runs under this name, with the hash of each file that the command names, in hexadecimal digits.
    pub(super) fn hash(&self, name: &str, scripts: &[(String, Option<String>)]) -> String {
        let launch = match &self.launch {
            Launch::Program { command, args, env } => json!({"command": command, "args": args, "env": env}),
            Launch::Address { url, headers } => json!({"url": url, "headers": headers}),
        };
        let what = json!({
            "version": VERSION,
            "name": name,
            "launch": launch,
            "timeout": u64::try_from(self.patience.as_millis()).unwrap_or(u64::MAX),
            "scripts": scripts,
        });
        hash_of(&what)
    }
}

/// The SHA-256 of a JSON value in hexadecimal digits: the order of its keys does not matter.
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
        return Err(format!("an argument or a variable has {} bytes; {MCP_WORD_BYTES} at most", word.len()));
    }
    if words().chain(env.values().map(String::as_str)).any(|word| word.contains('\0')) {
        return Err("an argument or a variable contains a NUL character".to_owned());
    }
    if let Some(name) = env.keys().find(|name| !is_variable(name)) {
        return Err(format!("{name:?} is not the name of a variable"));
    }
    Ok(Launch::Program { command: command.to_owned(), args: args.to_vec(), env: env.clone() })
}

fn address(url: &str, headers: &BTreeMap<String, String>) -> Result<Launch, String> {
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
    Ok(Launch::Address { url: url.to_owned(), headers: headers.clone() })
}

fn is_variable(name: &str) -> bool {
    let mut letters = name.bytes();
    letters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && letters.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// A word of a command, as a shell would need it.
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
    // The variables are those of the machine, so its shell replaces them, and nothing else.
    let mut line = String::new();
    for (name, value) in env {
        let _ = write!(line, "export {name}={}; ", expanded(value));
    }
    line.push_str("exec");
    for word in words() {
        line.push(' ');
        line.push_str(&expanded(word));
    }
    ExecRequest::shell(line)
}

/// A word in double quotes for a shell that replaces `${NAME}` and `${NAME:-default}` in it, and takes everything else as it is.
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
                let _ = write!(quoted, "${{{name}?the variable is not set on this machine}}");
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

/// An entry of a document: a name, and a definition or the reason why it is none.
pub(super) type Entry = (String, Result<McpServerEntry, String>);

/// The entries of a document, by name; each may be one that is none, with what is wrong. Entries that are turned off are left out.
///
/// Fails if the document cannot be read.
pub(super) fn entries(text: &str) -> Result<Vec<Entry>, String> {
    let document: Map<String, Value> =
        serde_json::from_str(text).map_err(|error| format!("it is not a JSON object: {error}"))?;
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
    let read = |(name, entry): (&String, &Value)| {
        let entry = serde_json::from_value(entry.clone()).map_err(|error| error.to_string());
        (name.clone(), entry)
    };
    Ok(servers.iter().filter(|(_, entry)| is_on(entry)).map(read).collect())
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    fn entry(json: Value) -> McpServerEntry {
        serde_json::from_value(json).unwrap()
    }

    fn refused(json: Value) -> String {
        Spec::of(&entry(json)).unwrap_err()
    }

    #[test]
    fn a_definition_is_a_command_or_an_address_and_says_what_is_wrong() {
        let spec =
            Spec::of(&entry(json!({"command": "npx", "args": ["-y", "a b"], "env": {"TOKEN": "s3cret"}})))
                .unwrap();
        assert_eq!((spec.action().as_str(), spec.secrets()), ("npx -y 'a b'", vec!["TOKEN".to_owned()]));
        assert!(!format!("{spec:?}").contains("s3cret"));
        assert_eq!(spec.patience, MCP_CALL_PATIENCE);
        let spec = Spec::of(&entry(json!({"type": "http", "url": "https://a.example/mcp", "timeout": 1000})))
            .unwrap();
        assert_eq!((spec.action().as_str(), spec.patience.as_secs()), ("https://a.example/mcp", 1));
        for (json, why) in [
            (json!({}), "neither"),
            (json!({"command": "a", "url": "https://a.example"}), "both"),
            (json!({"type": "sse", "url": "https://a.example"}), "streamable HTTP"),
            (json!({"type": "pigeon", "url": "https://a.example"}), "unknown"),
            (json!({"type": "http", "command": "a"}), "stdio"),
            (json!({"type": "stdio", "url": "https://a.example"}), "http"),
            (json!({"command": " "}), "empty"),
            (json!({"command": "a\u{0}"}), "NUL"),
            (json!({"command": "a", "env": {"A B": "x"}}), "name of a variable"),
            (json!({"command": "a", "args": ["x".repeat(MCP_WORD_BYTES + 1)]}), "bytes"),
            (json!({"url": "javascript:alert(1)"}), "http"),
            (json!({"url": "https://user:pass@a.example"}), "password"),
            (json!({"url": "https://a.example/${TOKEN}"}), "not replaced"),
            (json!({"url": "https://a.example", "headers": {"A": "x\r\nB: y"}}), "header"),
            (json!({"url": "https://a.example", "timeout": 0}), "0 ms"),
        ] {
            let text = refused(json.clone());
            assert!(text.contains(why), "{json}: {text}");
        }
        let secret = refused(json!({"url": "https://a.example", "headers": {"A": "s3cret\n"}}));
        assert!(!secret.contains("s3cret"), "{secret}");
    }

    #[test]
    fn names_are_short_and_visible() {
        for name in ["time", "my.server-1", "GitHub Copilot"] {
            assert_eq!(check_name(name), Ok(()));
        }
        for name in ["", " a", "a\u{202e}b", "a/b", "---", "a\nb", &"x".repeat(MCP_NAME_CHARS + 1)] {
            assert!(check_name(name).is_err(), "{name:?}");
        }
    }

    #[test]
    fn an_approval_is_of_what_runs_and_of_the_files_it_names() {
        let spec = |json| Spec::of(&entry(json)).unwrap();
        let one = spec(json!({"command": "python3", "args": ["tools/a.py"]}));
        assert_eq!(
            one.scripts().iter().map(|script| script.path.as_str()).collect::<Vec<_>>(),
            ["tools/a.py"]
        );
        let hash = one.hash("a", &[("tools/a.py".to_owned(), Some("1".to_owned()))]);
        assert_eq!(hash.len(), 64);
        for other in [
            one.hash("b", &[("tools/a.py".to_owned(), Some("1".to_owned()))]),
            one.hash("a", &[("tools/a.py".to_owned(), Some("2".to_owned()))]),
            one.hash("a", &[("tools/a.py".to_owned(), None)]),
            spec(json!({"command": "python3", "args": ["tools/a.py"], "env": {"A": "1"}})).hash("a", &[]),
        ] {
            assert_ne!(hash, other);
        }
    }

    #[test]
    fn only_variables_are_replaced_by_the_machines_shell() {
        let ran = |word: &str| {
            let line = format!("printf %s {}", expanded(word));
            let output = Command::new("sh").args(["-c", &line]).env("HERE", "a 'b' $c").output().unwrap();
            let text = String::from_utf8(output.stdout).unwrap();
            if output.status.success() { text } else { String::from_utf8(output.stderr).unwrap() }
        };
        for plain in [
            "",
            "a b",
            "$(id)",
            "`id`",
            "$HOME",
            "\"; id; \"",
            "\\",
            "${}",
            "${a b}",
            "${HERE",
            "$${x",
            "a\nb",
            "*",
            "~",
        ] {
            assert_eq!(ran(plain), plain);
        }
        assert_eq!(ran("x${HERE}y"), "xa 'b' $cy");
        assert_eq!(ran("${NOT_SET:-$(id) `id` \"q\"}"), "$(id) `id` \"q\"");
        assert_eq!(ran("${NOT_SET:-}"), "");
        assert!(ran("${NOT_SET}").contains("NOT_SET"), "{}", ran("${NOT_SET}"));
    }

    #[test]
    fn a_document_names_each_entry_that_is_none() {
        let text = r#"{"mcpServers": {"a": {"command": "x", "alwaysAllow": []}, "b": {"command": 1},
                       "c": {"command": "x", "disabled": true}}}"#;
        let found = entries(text).unwrap();
        assert_eq!(found.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        assert!(found[0].1.is_ok() && found[1].1.is_err());
        for broken in ["", "[]", "{}", "{\"mcpServers\": []}"] {
            assert!(entries(broken).is_err(), "{broken}");
        }
    }
}
