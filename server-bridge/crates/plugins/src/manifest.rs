//! A plugin's description of itself.

use serde_json::{Map, Value};

use crate::json;
use crate::limits::{DESCRIPTION_CHARS, FIELD_CHARS};

/// The format of a plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Claude Code's, with `.claude-plugin/plugin.json` or without a manifest.
    ClaudeCode,
    /// Agent Plugins 1.0.0, with `plugin.json` at the root.
    AgentPlugins,
}

/// The author of a plugin, or the owner of a marketplace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Author {
    /// The name of the person or organisation.
    pub name: String,
    /// The email address; empty if there is none.
    pub email: String,
    /// The address of a web page; empty if there is none.
    pub url: String,
}

/// A plugin's description of itself. Every text is shortened and on one line, and contains no invisible characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// The format in which the plugin is written.
    pub format: Format,
    /// The name: letters, digits, `-`, `_` and `.`.
    pub name: String,
    /// The name for people; empty if there is none.
    pub display_name: String,
    /// The version as it was written; empty if there is none. The plugin's identity is the hash of its files, not this.
    pub version: String,
    /// A description of the plugin's purpose.
    pub description: String,
    /// The author of the plugin.
    pub author: Author,
    /// The address of the plugin's web page; empty if there is none.
    pub homepage: String,
    /// The address of its source repository; empty if there is none.
    pub repository: String,
    /// The licence; empty if none is named.
    pub license: String,
    /// Keywords for searches.
    pub keywords: Vec<String>,
}

/// Fields that describe a plugin in both formats.
pub(crate) const DESCRIPTIVE: &[&str] =
    &["$schema", "name", "version", "description", "author", "homepage", "repository", "license", "keywords"];

impl Manifest {
    /// Reads the fields of a manifest; fields of the wrong type count as missing.
    pub(crate) fn read(format: Format, name: String, fields: &Map<String, Value>) -> Self {
        let field = |name| json::text(fields, name, FIELD_CHARS);
        Self {
            format,
            name,
            display_name: field("displayName"),
            version: field("version"),
            description: json::text(fields, "description", DESCRIPTION_CHARS),
            author: Author::read(fields.get("author")),
            homepage: field("homepage"),
            repository: match fields.get("repository") {
                // In the form that npm uses.
                Some(Value::Object(repository)) => json::text(repository, "url", FIELD_CHARS),
                _ => field("repository"),
            },
            license: field("license"),
            keywords: fields.get("keywords").map(|words| json::texts(words, FIELD_CHARS)).unwrap_or_default(),
        }
    }

    /// Fills empty fields of the manifest from a marketplace's entry.
    pub(crate) fn fill(&mut self, entry: &Self) {
        let texts = [
            (&mut self.display_name, &entry.display_name),
            (&mut self.version, &entry.version),
            (&mut self.description, &entry.description),
            (&mut self.homepage, &entry.homepage),
            (&mut self.repository, &entry.repository),
            (&mut self.license, &entry.license),
        ];
        for (mine, other) in texts {
            if mine.is_empty() {
                mine.clone_from(other);
            }
        }
        if self.author == Author::default() {
            self.author = entry.author.clone();
        }
        if self.keywords.is_empty() {
            self.keywords.clone_from(&entry.keywords);
        }
    }
}

impl Author {
    /// Reads an author, who may be given as a string or an object.
    pub(crate) fn read(value: Option<&Value>) -> Self {
        match value {
            Some(Value::Object(fields)) => Self {
                name: json::text(fields, "name", FIELD_CHARS),
                email: json::text(fields, "email", FIELD_CHARS),
                url: json::text(fields, "url", FIELD_CHARS),
            },
            Some(Value::String(name)) => {
                Self { name: crate::text::line(name, FIELD_CHARS), ..Self::default() }
            }
            _ => Self::default(),
        }
    }
}
