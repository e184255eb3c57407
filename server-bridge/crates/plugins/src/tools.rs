//! Names of tools in heads: `Read`, `Bash(git add:*)`, `mcp__server__tool`.

use frontmatter::Value;

use crate::limits::{FIELD_CHARS, LIST_ITEMS};
use crate::text::line;

/// A tool that a head names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tool {
    /// The tool as it was written; a rule of the same grammar.
    pub written: String,
    /// Our name for the tool.
    pub name: String,
    /// The text between parentheses, if there is one.
    pub specifier: Option<String>,
}

impl Tool {
    /// Reads a tool.
    pub fn read(written: &str) -> Self {
        let written = line(written, FIELD_CHARS);
        let (name, specifier) = match written.split_once('(') {
            Some((name, rest)) => (name.trim(), Some(rest.trim_end().trim_end_matches(')').to_owned())),
            None => (written.as_str(), None),
        };
        Self { name: rules::names::ours(name).to_owned(), specifier, written }
    }

    /// True if a tool with this name exists here, or may be one of a server.
    pub fn is_known(&self) -> bool {
        self.name == "*" || self.name.starts_with("mcp_") || rules::names::TOOLS.contains(&self.name.as_str())
    }

    /// Reads a list of tools.
    pub(crate) fn list(value: &Value) -> Vec<Self> {
        value.words().iter().take(LIST_ITEMS).map(|word| Self::read(word)).collect()
    }
}
