//! Problems with documents, plugins and machines, each with its place.

use std::fmt;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A problem with a file, a plugin or a machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Problem {
    /// The file or the plugin that has the problem; empty if the text names what has it.
    #[serde(default, serialize_with = "crate::language::text")]
    #[schema(required)]
    pub origin: String,
    /// The place in that file or plugin, such as `hooks.PreToolUse[0].matcher`; empty if all of it is meant.
    #[serde(default)]
    #[schema(required)]
    pub place: String,
    /// What is wrong, in a sentence.
    #[serde(serialize_with = "crate::language::text")]
    pub text: String,
}

impl Problem {
    /// A problem without an origin: its text names what has it.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// A problem with a file or a plugin.
    pub fn of(origin: impl Into<String>, text: impl Into<String>) -> Self {
        Self { origin: origin.into(), ..Self::new(text) }
    }

    /// The same problem at a place in its file or plugin.
    #[must_use]
    pub fn at(self, place: impl Into<String>) -> Self {
        Self { place: place.into(), ..self }
    }
}

impl fmt::Display for Problem {
    /// Writes `ORIGIN, PLACE: TEXT`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { origin, place, text } = self;
        match (origin.as_str(), place.as_str()) {
            ("", "") => formatter.write_str(text),
            ("", one) | (one, "") => write!(formatter, "{one}: {text}"),
            (origin, place) => write!(formatter, "{origin}, {place}: {text}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_is_written_with_what_is_known_of_its_place() {
        let problem = Problem::of("hooks.json", "a hook must be an object");
        assert_eq!(problem.to_string(), "hooks.json: a hook must be an object");
        assert_eq!(
            problem.clone().at("hooks.Stop[0]").to_string(),
            "hooks.json, hooks.Stop[0]: a hook must be an object"
        );
        assert_eq!(Problem::new("no").at("plugins[1]").to_string(), "plugins[1]: no");
        assert_eq!(Problem::new("no").to_string(), "no");
    }
}
