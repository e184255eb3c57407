//! The content of the two files and the environment.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use serde_json::Value;

use super::Error;

/// The settings from the files and the environment, without flags.
#[derive(Debug, Default)]
pub struct Settings {
    dotenv: BTreeMap<String, String>,
    json: serde_json::Map<String, Value>,
    environment: BTreeMap<String, String>,
}

impl Settings {
    /// Reads `.env` and `config.json` in `home`, if they exist, and the environment.
    ///
    /// # Errors
    /// [`Error::File`] if one of them exists and cannot be read or parsed.
    pub fn load(home: &Path) -> Result<Self, Error> {
        let dotenv = home.join(".env");
        let json = home.join("config.json");
        let file_error = |path: &Path, reason: String| Error::File { path: path.to_owned(), reason };
        let environment = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .filter(|(name, _)| name.starts_with("SANDBRIDGE_"));
        Ok(Self {
            dotenv: parse_dotenv(&read_optional(&dotenv)?).map_err(|reason| file_error(&dotenv, reason))?,
            json: parse_json(&read_optional(&json)?).map_err(|reason| file_error(&json, reason))?,
            environment: environment.collect(),
        })
    }

    /// The settings in these texts of `.env` and `config.json`, and in these variables.
    ///
    /// # Errors
    /// The reason why one of the texts cannot be parsed.
    pub fn parse<'a>(
        dotenv: &str,
        json: &str,
        environment: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, String> {
        let environment = environment.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
        Ok(Self {
            dotenv: parse_dotenv(dotenv)?,
            json: parse_json(json)?,
            environment: environment.collect(),
        })
    }

    /// Gives an option a value, unless it has one.
    pub fn set_default(&mut self, key: &str, value: &str) {
        if self.value(key).is_none() {
            self.dotenv.insert(variable(key), value.to_owned());
        }
    }

    /// The value of an option by its key in `config.json`; the items of a list are separated by commas. An empty value counts as unset.
    pub fn value(&self, key: &str) -> Option<String> {
        let variable = variable(key);
        let some = |text: String| (!text.is_empty()).then_some(text);
        (self.environment.get(&variable).cloned().and_then(some))
            .or_else(|| self.json.get(key).and_then(json_text).and_then(some))
            .or_else(|| self.dotenv.get(&variable).cloned().and_then(some))
    }

    /// The keys of `config.json`, in alphabetical order.
    pub fn json_keys(&self) -> impl Iterator<Item = &str> {
        self.json.keys().map(String::as_str)
    }
}

/// The environment variable of an option.
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

fn parse_json(text: &str) -> Result<serde_json::Map<String, Value>, String> {
    match text.trim() {
        "" => Ok(serde_json::Map::new()),
        text => serde_json::from_str(text).map_err(|error| format!("it is not a JSON object: {error}")),
    }
}

fn read_optional(path: &Path) -> Result<String, Error> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(Error::File { path: path.to_owned(), reason: error.to_string() }),
    }
}

/// Parses lines of `KEY=VALUE`, with or without `export`, quotes and comments.
fn parse_dotenv(text: &str) -> Result<BTreeMap<String, String>, String> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_environment_variable_counts_as_unset() {
        let settings = Settings::parse("", r#"{"listen":"b:2"}"#, [("SANDBRIDGE_LISTEN", "")]).unwrap();
        assert_eq!(settings.value("listen").unwrap(), "b:2");
    }

    #[test]
    fn a_line_of_dotenv_that_is_no_pair_is_named() {
        assert_eq!(parse_dotenv("A=1\nwhat\n").unwrap_err(), "line 2 is not KEY=VALUE");
    }
}
