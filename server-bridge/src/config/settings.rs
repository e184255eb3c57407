//! What the two files and the environment say.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use clap::Args;
use serde_json::Value;

use super::{ConfigError, ServeArgs};

/// Keys of `config.json` that are no flags of `serve`: those of the client commands, and secrets.
const OTHER_KEYS: [&str; 6] =
    ["server", "ca_cert", "api_key", "llm_api_key", "encryption_key", "search_api_key"];

/// What the files and the environment say, flags aside.
#[derive(Debug, Default)]
pub struct Settings {
    pub(super) dotenv: BTreeMap<String, String>,
    pub(super) json: serde_json::Map<String, Value>,
    pub(super) environment: BTreeMap<String, String>,
}

impl Settings {
    /// Reads `.env` and `config.json` beneath `home`, where they exist, and the environment.
    ///
    /// # Errors
    /// [`ConfigError::File`] if one of them exists and cannot be read or understood.
    pub fn load(home: &Path) -> Result<Self, ConfigError> {
        let dotenv = home.join(".env");
        let json = home.join("config.json");
        let file_error = |path: &Path, reason: String| ConfigError::File { path: path.to_owned(), reason };
        Ok(Self {
            dotenv: parse_dotenv(&read_optional(&dotenv)?).map_err(|reason| file_error(&dotenv, reason))?,
            json: match read_optional(&json)?.trim() {
                "" => serde_json::Map::new(),
                text => serde_json::from_str(text)
                    .map_err(|error| file_error(&json, format!("it is no JSON object: {error}")))?,
            },
            environment: std::env::vars_os()
                .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
                .filter(|(name, _)| name.starts_with("SANDBRIDGE_"))
                .collect(),
        })
    }

    /// Gives an option a value, unless it has one.
    pub fn set_default(&mut self, key: &str, value: &str) {
        if self.value(key).is_none() {
            self.dotenv.insert(variable(key), value.to_owned());
        }
    }

    /// The value of an option by its key in `config.json`; lists come with commas between their items. An empty value
    /// is none.
    pub fn value(&self, key: &str) -> Option<String> {
        let variable = variable(key);
        let some = |text: String| (!text.is_empty()).then_some(text);
        (self.environment.get(&variable).cloned().and_then(some))
            .or_else(|| self.json.get(key).and_then(json_text).and_then(some))
            .or_else(|| self.dotenv.get(&variable).cloned().and_then(some))
    }
}

impl Settings {
    /// Tells the log, in one line, which keys of `config.json` mean nothing.
    pub(super) fn warn_of_unknown_keys(&self, home: &Path) {
        let unknown = self.unknown_keys();
        if !unknown.is_empty() {
            let file = home.join("config.json");
            let keys = unknown.join(", ");
            tracing::warn!(
                "{} has keys that mean nothing here: {keys}; remove or correct them",
                file.display()
            );
        }
    }

    /// Keys of `config.json` that no command reads, in alphabetical order.
    pub(super) fn unknown_keys(&self) -> Vec<&str> {
        let serve = ServeArgs::augment_args(clap::Command::new("serve"));
        let is_known = |key: &str| {
            OTHER_KEYS.contains(&key) || serve.get_arguments().any(|argument| argument.get_id() == key)
        };
        let mut unknown: Vec<&str> =
            self.json.keys().map(String::as_str).filter(|key| !is_known(key)).collect();
        unknown.sort_unstable();
        unknown
    }
}

/// The environment's name of an option.
fn variable(key: &str) -> String {
    format!("SANDBRIDGE_{}", key.to_ascii_uppercase())
}

fn json_text(value: &Value) -> Option<String> {
    match value {
        Value::Null | Value::Object(_) => None,
        Value::Bool(on) => Some(if *on { "on" } else { "off" }.to_owned()),
        Value::Number(number) => Some(number.to_string()),
        Value::String(text) => Some(text.clone()),
        Value::Array(items) => Some(items.iter().filter_map(json_text).collect::<Vec<_>>().join(",")),
    }
}

fn read_optional(path: &Path) -> Result<String, ConfigError> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(ConfigError::File { path: path.to_owned(), reason: error.to_string() }),
    }
}

/// Reads lines of `KEY=VALUE`, with or without `export`, quotes and comments.
pub(super) fn parse_dotenv(text: &str) -> Result<BTreeMap<String, String>, String> {
    let mut values = BTreeMap::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let line = line.strip_prefix("export ").unwrap_or(line);
        let (key, value) =
            line.split_once('=').ok_or_else(|| format!("line {} is not KEY=VALUE", index + 1))?;
        let value = value.trim();
        let unquoted = ['"', '\'']
            .iter()
            .find_map(|quote| value.strip_prefix(*quote).and_then(|rest| rest.strip_suffix(*quote)));
        values.insert(key.trim().to_owned(), unquoted.unwrap_or(value).to_owned());
    }
    Ok(values)
}
