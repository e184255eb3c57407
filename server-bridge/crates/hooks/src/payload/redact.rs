//! Removes secrets from payloads.

use std::sync::LazyLock;

use regex::{Captures, Regex};
use serde_json::{Map, Value};

use crate::limits::SECRET_BYTES;

/// The mark that replaces a secret.
pub const MARK: &str = "[redacted]";

/// Words that make a field a secret, wherever they occur in its name.
const SECRET_WORDS: &[&str] = &[
    "apikey",
    "authorization",
    "cookie",
    "credential",
    "credentials",
    "passphrase",
    "passwd",
    "password",
    "secret",
    "secrets",
    "token",
];

/// Pairs of words that name a secret together: `api_key`, `privateKey`.
const SECRET_PAIRS: &[(&str, &str)] =
    &[("access", "key"), ("api", "key"), ("private", "key"), ("pass", "word"), ("signing", "key")];

/// Texts that are secrets by their form. Groups named `kept…` stay. None of the forms covers code that a shell would run, such as
/// `$(…)`: a guard must see it. Boundaries are those of ASCII: with Unicode's, other scripts would be searched much more slowly.
static FORMS: LazyLock<Regex> = LazyLock::new(|| {
    let forms = [
        r"(?-u:\b)sk-[A-Za-z0-9_-]{12,}",
        r"(?-u:\b)gh[a-z]_[A-Za-z0-9]{20,}",
        r"(?-u:\b)github_pat_[A-Za-z0-9_]{20,}",
        r"(?-u:\b)glpat-[A-Za-z0-9_-]{16,}",
        r"(?-u:\b)xox[a-z]-[A-Za-z0-9-]{10,}",
        r"(?-u:\b)AKIA[0-9A-Z]{16}(?-u:\b)",
        r"(?-u:\b)AIza[0-9A-Za-z_-]{30,}",
        r"(?-u:\b)eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{5,}",
        r"-----BEGIN [A-Z ]*PRIVATE KEY-----(?:(?:\s|\\n)*[A-Za-z0-9+/=]{16,})*",
        r"(?i)(?P<kept_bearer>(?-u:\b)bearer[ \t]+)[A-Za-z0-9._~+/=-]{12,}",
        r#"(?i)(?P<kept_header>(?-u:\b)authorization["']?[ \t]*[:=][ \t]*["']?(?:(?:basic|bearer|token)[ \t]+)?)[^\s"'`$;,&|<>(){}]{4,}"#,
        r#"(?P<kept_variable>(?-u:\b)[A-Z0-9_]*(?:API_?KEY|SECRET|TOKEN|PASSWORD|PASSWD)[A-Z0-9_]*=["']?)[^\s"'`$;&|<>(){}]{4,}"#,
        r#"(?i)(?P<kept_json>"[a-z0-9_-]*(?:api_?key|secret|token|password|passwd)"\s*:\s*")[^"`$(]{4,}"#,
        r#"(?i)(?P<kept_query>[?&](?:[a-z0-9_-]*(?:api_?key|secret|token|password))=)[^\s"'`$;&#|<>(){}]{4,}"#,
        r"(?P<kept_user>://[^\s/:@]+:)[^\s/@`$;&|<>(){}]+(?P<kept_at>@)",
    ];
    Regex::new(&forms.map(|form| format!("(?:{form})")).join("|")).expect("a constant that a test compiles")
});

/// Replaces secrets with [`MARK`].
#[derive(Clone, Debug, Default)]
pub struct Redactor {
    /// Known secrets, the longest first, because one may be part of another.
    secrets: Vec<String>,
}

impl Redactor {
    /// A redactor that knows some exact secrets, in addition to those that it recognises by their names and forms.
    pub fn new(secrets: impl IntoIterator<Item = String>) -> Self {
        let mut secrets: Vec<String> =
            secrets.into_iter().filter(|secret| secret.len() >= SECRET_BYTES).collect();
        secrets.sort_unstable_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        secrets.dedup();
        Self { secrets }
    }

    /// A copy of the value in which secrets are replaced.
    pub fn redact(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.text(text)),
            Value::Array(items) => Value::Array(items.iter().map(|item| self.redact(item)).collect()),
            Value::Object(fields) => {
                let named = |(name, field): (&String, &Value)| {
                    let field = if is_secret(name) { hidden(field) } else { self.redact(field) };
                    (self.known(name), field)
                };
                Value::Object(fields.iter().map(named).collect::<Map<_, _>>())
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }
    }

    /// A copy of the text in which secrets are replaced.
    pub fn text(&self, text: &str) -> String {
        let known = self.known(text);
        let replace = |found: &Captures<'_>| {
            let kept = |prefix: bool| {
                let names: &[&str] = if prefix {
                    &["kept_bearer", "kept_header", "kept_variable", "kept_json", "kept_query", "kept_user"]
                } else {
                    &["kept_at"]
                };
                names.iter().find_map(|name| found.name(name)).map_or("", |group| group.as_str()).to_owned()
            };
            format!("{}{MARK}{}", kept(true), kept(false))
        };
        FORMS.replace_all(&known, replace).into_owned()
    }

    fn known(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for secret in self.secrets.iter().filter(|secret| !MARK.contains(secret.as_str())) {
            if text.contains(secret.as_str()) {
                text = text.replace(secret.as_str(), MARK);
            }
        }
        text
    }
}

/// Hides everything within a secret field, except numbers, which are counts (`token: 7`).
fn hidden(value: &Value) -> Value {
    match value {
        Value::String(text) if text.is_empty() => value.clone(),
        Value::String(_) => Value::String(MARK.to_owned()),
        Value::Array(items) => Value::Array(items.iter().map(hidden).collect()),
        Value::Object(fields) => {
            Value::Object(fields.iter().map(|(name, field)| (name.clone(), hidden(field))).collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

/// True if a field of this name contains a secret: `api_key`, `clientSecret`, `X-Auth-Token`; not `max_tokens`.
pub(super) fn is_secret(name: &str) -> bool {
    let mut words: Vec<String> = vec![String::new()];
    let mut was_lower = false;
    for letter in name.chars() {
        if !letter.is_alphanumeric() || (letter.is_uppercase() && was_lower) {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| letter.is_alphanumeric()) {
            word.extend(letter.to_lowercase());
        }
        was_lower = letter.is_lowercase() || letter.is_numeric();
    }
    words.retain(|word| !word.is_empty());
    words.iter().any(|word| SECRET_WORDS.contains(&word.as_str()))
        || words.windows(2).any(|pair| SECRET_PAIRS.contains(&(pair[0].as_str(), pair[1].as_str())))
}
