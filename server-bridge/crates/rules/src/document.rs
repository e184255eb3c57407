//! Rules as JSON: `{"permissions": {"deny": […], "ask": […], "allow": […]}}`, or the inner object alone.
//!
//! An entry is a rule's text, or an object `{"rule", "justification", "examples": {"matches": […], "not_matches": […]}}`. Other
//! keys of the document are settings of other programs, and are ignored.

use serde_json::{Map, Value};

mod keys;

use crate::examples::Examples;
use crate::layer::LoadedRule;
use crate::limits::RULES_PER_DOCUMENT;
use crate::rule::{Effect, Origin, Rule, RuleError, Warning};

/// Settings of a similar product that occur next to the lists.
const BESIDE_LISTS: &[&str] =
    &["additionalDirectories", "defaultMode", "disableAutoMode", "disableBypassPermissionsMode"];

/// The rules of a document, and the problems of its entries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Document {
    /// The rules that have an effect, each with its place as its id: `deny[3]`.
    pub rules: Vec<LoadedRule>,
    /// The entries that their author should look at. A caller that depends on its deny rules refuses a document that has errors
    /// among these.
    pub problems: Vec<Problem>,
}

/// A problem of an entry, for its author.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The entry's place: `deny[3]`.
    pub place: String,
    /// The effect that the entry should have.
    pub effect: Effect,
    /// The rule's text, if the entry has one.
    pub text: String,
    /// The kind of the problem.
    pub kind: ProblemKind,
}

/// A problem of an entry.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProblemKind {
    /// The entry is refused, and has no effect.
    #[error(transparent)]
    Refused(RuleError),
    /// The entry has the wrong shape, and has no effect.
    #[error("{0}")]
    Shape(&'static str),
    /// The key is unknown in this place: a list under it has no effect.
    #[error("this key is not known; write `deny`, `ask` or `allow`")]
    Key,
    /// A key that occurs twice: only the last one has an effect.
    #[error("this key occurs twice, and only the last one would have an effect; join them")]
    Twice,
    /// A warning that does not affect the entry.
    #[error(transparent)]
    Warning(Warning),
}

impl ProblemKind {
    /// True if the entry has no effect because of this problem.
    pub fn is_error(&self) -> bool {
        !matches!(self, Self::Warning(_))
    }
}

impl std::fmt::Display for Problem {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} `{}`: {}", self.place, crate::set::quoted(&self.text), self.kind)
    }
}

/// The reason why a document is refused as a whole.
#[derive(Debug, thiserror::Error)]
pub enum DocumentError {
    /// The document is not valid JSON.
    #[error("the document is not valid JSON: {0}; correct it at this place")]
    Json(#[from] serde_json::Error),
    /// A part of the document has the wrong shape.
    #[error("{0} must be {1}")]
    Shape(&'static str, &'static str),
    /// The document has more rules than the limit.
    #[error("the document has more than {RULES_PER_DOCUMENT} rules; remove some")]
    TooMany,
}

impl Document {
    /// Reads a document of an origin; `tools` are the names of known tools in addition to ours.
    pub fn parse(json: &str, origin: Origin, tools: &[&str]) -> Result<Self, DocumentError> {
        let value: Value = serde_json::from_str(json)?;
        let whole = value.as_object().ok_or(DocumentError::Shape("the document", "an object"))?;
        let lists = match whole.get("permissions") {
            Some(inner) => inner.as_object().ok_or(DocumentError::Shape("`permissions`", "an object"))?,
            None => whole,
        };
        let mut document = Self::default();
        document.keys(json, whole, lists)?;
        for effect in Effect::ALL {
            let entries = match lists.get(effect.as_str()) {
                None | Some(Value::Null) => continue,
                Some(Value::Array(entries)) => entries,
                Some(_) => return Err(DocumentError::Shape(effect.as_str(), "a list of rules")),
            };
            if document.rules.len() + entries.len() > RULES_PER_DOCUMENT {
                return Err(DocumentError::TooMany);
            }
            for (number, entry) in entries.iter().enumerate() {
                document.entry(entry, format!("{effect}[{number}]"), effect, origin, tools);
            }
        }
        Ok(document)
    }

    /// Adds the problems of the keys: other programs' settings may occur next to `permissions`, but only a few of them
    /// inside.
    fn keys(
        &mut self,
        json: &str,
        whole: &Map<String, Value>,
        lists: &Map<String, Value>,
    ) -> Result<(), DocumentError> {
        let mut problem = |key: &str, kind| {
            let effect = Effect::ALL.into_iter().find(|effect| key.eq_ignore_ascii_case(effect.as_str()));
            let effect = effect.unwrap_or(Effect::Deny);
            self.problems.push(Problem { place: key.to_owned(), effect, text: String::new(), kind });
        };
        for key in keys::twice(json)? {
            problem(&key, ProblemKind::Twice);
        }
        if whole.contains_key("permissions") {
            let is_known = |key: &str| {
                Effect::ALL.iter().any(|effect| effect.as_str() == key) || BESIDE_LISTS.contains(&key)
            };
            for key in lists.keys().filter(|key| !is_known(key)) {
                problem(key, ProblemKind::Key);
            }
        }
        Ok(())
    }

    fn entry(&mut self, entry: &Value, place: String, effect: Effect, origin: Origin, tools: &[&str]) {
        let text = match entry {
            Value::Object(object) => object.get("rule").and_then(Value::as_str),
            _ => entry.as_str(),
        };
        let text = text.unwrap_or_default().to_owned();
        let problem = |kind| Problem { place: place.clone(), effect, text: text.clone(), kind };
        let loaded = match read(entry, &place, effect) {
            Ok(loaded) => loaded,
            Err(kind) => return self.problems.push(problem(kind)),
        };
        let warnings = loaded.rule.warnings(effect, origin, tools);
        let is_inert = warnings.contains(&Warning::WorkspaceAllows);
        self.problems.extend(warnings.into_iter().map(|warning| problem(ProblemKind::Warning(warning))));
        if !is_inert {
            self.rules.push(loaded);
        }
    }
}

fn read(entry: &Value, place: &str, effect: Effect) -> Result<LoadedRule, ProblemKind> {
    let (text, justification, examples) = match entry {
        Value::String(text) => (text, None, Examples::default()),
        Value::Object(object) => (text(object)?, justification(object)?, examples(object)?),
        _ => return Err(ProblemKind::Shape("an entry must be a rule's text, or an object with `rule`")),
    };
    let rule = Rule::parse(text).map_err(ProblemKind::Refused)?;
    if let Some(error) = rule.refusal(effect) {
        return Err(ProblemKind::Refused(error));
    }
    examples.check(&rule, effect).map_err(ProblemKind::Refused)?;
    Ok(LoadedRule { id: place.to_owned(), effect, rule, justification })
}

fn text(object: &Map<String, Value>) -> Result<&String, ProblemKind> {
    match object.get("rule") {
        Some(Value::String(text)) => Ok(text),
        _ => Err(ProblemKind::Shape("`rule` must be the rule's text")),
    }
}

fn justification(object: &Map<String, Value>) -> Result<Option<String>, ProblemKind> {
    match object.get("justification") {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(ProblemKind::Shape("`justification` must be a string")),
    }
}

fn examples(object: &Map<String, Value>) -> Result<Examples, ProblemKind> {
    let examples = match object.get("examples") {
        None | Some(Value::Null) => return Ok(Examples::default()),
        Some(Value::Object(examples)) => examples,
        Some(_) => {
            return Err(ProblemKind::Shape("`examples` must be an object with `matches` and `not_matches`"));
        }
    };
    if examples.keys().any(|key| !matches!(key.as_str(), "matches" | "not_matches")) {
        return Err(ProblemKind::Shape("`examples` can contain only `matches` and `not_matches`"));
    }
    let list = |key| match examples.get(key) {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(texts)) => {
            let texts = texts.iter().map(|text| text.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>();
            texts.ok_or(ProblemKind::Shape("each example must be a string"))
        }
        Some(_) => Err(ProblemKind::Shape("`matches` and `not_matches` must be lists of strings")),
    };
    Ok(Examples { matches: list("matches")?, not_matches: list("not_matches")? })
}

#[cfg(test)]
mod tests;
