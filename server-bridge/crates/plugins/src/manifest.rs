//! What a plugin says about itself.

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

/// An author or owner.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Author {
    /// The name.
    pub name: String,
    /// The email address; empty if there is none.
    pub email: String,
    /// The page; empty if there is none.
    pub url: String,
}

/// What a plugin says about itself. Every text is on one line, shortened, and without characters that cannot be seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// The format.
    pub format: Format,
    /// The name: letters, digits, `-`, `_` and `.`.
    pub name: String,
    /// The name for people; empty if there is none.
    pub display_name: String,
    /// The version as it was written; empty if there is none. The hash of the files, not this, is the plugin's identity.
    pub version: String,
    /// The purpose.
    pub description: String,
    /// The author.
    pub author: Author,
    /// The page of the plugin; empty if there is none.
    pub homepage: String,
    /// The place of its sources; empty if there is none.
    pub repository: String,
    /// The licence; empty if none is named.
    pub license: String,
    /// Keywords by which people find it.
    pub keywords: Vec<String>,
}

/// Fields that say something about a plugin in both formats.
pub(crate) const DESCRIPTIVE: &[&str] =
    &["$schema", "name", "version", "description", "author", "homepage", "repository", "license", "keywords"];

impl Manifest {
    /// Reads the fields of a manifest; those of another type count as missing.
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
                // As npm writes it.
                Some(Value::Object(repository)) => json::text(repository, "url", FIELD_CHARS),
                _ => field("repository"),
            },
            license: field("license"),
            keywords: fields.get("keywords").map(|words| json::texts(words, FIELD_CHARS)).unwrap_or_default(),
        }
    }

    /// Takes from a marketplace's entry what the manifest does not say.
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
    /// Reads an author, as a text or as an object.
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
