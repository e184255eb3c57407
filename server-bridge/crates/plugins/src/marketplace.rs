//! Marketplaces: `.claude-plugin/marketplace.json`, a list of plugins with their sources.

use serde_json::{Map, Value};

use crate::findings::{Problem, Unused};
use crate::json;
use crate::limits::{DESCRIPTION_CHARS, FIELD_CHARS, FINDINGS, MARKETPLACE_BYTES, MARKETPLACE_PLUGINS};
use crate::manifest::{Author, Format, Manifest};
use crate::text::{is_unseen, line, name_of, quoted};
use crate::tree::PluginPath;

/// A list of plugins with their sources.
#[derive(Clone, Debug, PartialEq)]
pub struct Marketplace {
    /// The marketplace's name.
    pub name: String,
    /// The person or organisation that maintains it.
    pub owner: Author,
    /// A description of its content.
    pub description: String,
    /// The marketplace's version; empty if there is none.
    pub version: String,
    /// The plugins that can be used; their names are unique.
    pub plugins: Vec<Entry>,
    /// Fields that are not used here.
    pub unused: Vec<Unused>,
    /// The problems of its entries.
    pub problems: Vec<Problem>,
}

/// A plugin of a marketplace.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The marketplace's description of the plugin.
    pub manifest: Manifest,
    /// The source of its files.
    pub source: Source,
    /// The group that it belongs to; empty if there is none.
    pub category: String,
    /// Keywords for searches.
    pub tags: Vec<String>,
    /// True if the plugin's own manifest declares its parts; false if this entry does.
    pub is_strict: bool,
    /// All fields of the entry, including those that declare parts.
    pub fields: Map<String, Value>,
}

/// The source of a plugin's files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A directory of the marketplace itself; an empty path means its root.
    Directory(PluginPath),
    /// A repository of GitHub.
    GitHub {
        /// `OWNER/NAME`.
        repository: String,
        /// The revision and directory to use.
        revision: Revision,
    },
    /// A git repository.
    Git {
        /// The repository's address: `https://…`, `ssh://…` or `git@HOST:PATH`.
        url: String,
        /// The revision and directory to use.
        revision: Revision,
    },
    /// A package of npm.
    Npm {
        /// The package's name: `NAME` or `@SCOPE/NAME`.
        package: String,
        /// The version or version range; empty for the newest version.
        version: String,
        /// The address of the registry; empty for the default one.
        registry: String,
    },
    /// A package of PyPI.
    Pip {
        /// The package's name.
        package: String,
        /// The version; empty for the newest one.
        version: String,
        /// The address of the registry; empty for the default one.
        registry: String,
    },
}

/// A commit of a repository, and a directory in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Revision {
    /// A branch or tag; empty for the default branch.
    pub branch: String,
    /// The commit, 40 hexadecimal digits; empty if none is pinned.
    pub commit: String,
    /// The plugin's directory; an empty path means the root.
    pub directory: PluginPath,
}

/// The reason why a marketplace is refused as a whole.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MarketplaceError {
    /// The document cannot be read.
    #[error("marketplace.json {0}")]
    Document(String),
    /// The document has no usable name.
    #[error("marketplace.json must have a `name` of letters, digits and `-`")]
    NoName,
    /// The document has no list of plugins.
    #[error("marketplace.json must have `plugins`, a list")]
    NoPlugins,
    /// The document has more plugins than the limit.
    #[error("marketplace.json has more than {MARKETPLACE_PLUGINS} plugins")]
    TooMany,
}

const KNOWN: &[&str] = &["$schema", "name", "owner", "metadata", "description", "version", "plugins"];

impl Marketplace {
    /// The path of a marketplace's document in its repository.
    pub const PATH: &str = ".claude-plugin/marketplace.json";

    /// Reads a marketplace's document.
    ///
    /// # Errors
    ///
    /// Fails if nothing of the document can be used.
    pub fn read(document: &[u8]) -> Result<Self, MarketplaceError> {
        let fields = json::object(document, MARKETPLACE_BYTES).map_err(MarketplaceError::Document)?;
        let name = name_of(&json::text(&fields, "name", FIELD_CHARS)).ok_or(MarketplaceError::NoName)?;
        let Some(Value::Array(entries)) = fields.get("plugins") else {
            return Err(MarketplaceError::NoPlugins);
        };
        if entries.len() > MARKETPLACE_PLUGINS {
            return Err(MarketplaceError::TooMany);
        }
        let empty = Map::new();
        let metadata = fields.get("metadata").and_then(Value::as_object).unwrap_or(&empty);
        let either = |name, most| {
            let own = json::text(&fields, name, most);
            if own.is_empty() { json::text(metadata, name, most) } else { own }
        };
        let mut market = Self {
            name,
            owner: Author::read(fields.get("owner")),
            description: either("description", DESCRIPTION_CHARS),
            version: either("version", FIELD_CHARS),
            plugins: Vec::new(),
            unused: Vec::new(),
            problems: Vec::new(),
        };
        for field in fields.keys().filter(|name| !KNOWN.contains(&name.as_str())).take(FINDINGS) {
            let why = "this field of marketplaces is not used here".to_owned();
            market.unused.push(Unused { what: line(field, FIELD_CHARS), why });
        }
        let root = json::text(metadata, "pluginRoot", usize::MAX);
        let mut names = std::collections::BTreeSet::new();
        for (at, entry) in entries.iter().enumerate() {
            let entry = match Entry::read(entry, &root) {
                Ok(entry) => entry,
                Err(reason) => {
                    market.refused(format!("plugins[{at}]"), reason);
                    continue;
                }
            };
            if names.insert(entry.manifest.name.to_lowercase()) {
                market.plugins.push(entry);
            } else {
                let reason = format!("is left out: another plugin is named {}", quoted(&entry.manifest.name));
                market.refused(format!("plugins[{at}]"), reason);
            }
        }
        Ok(market)
    }

    /// The plugin with this name.
    pub fn plugin(&self, name: &str) -> Option<&Entry> {
        self.plugins.iter().find(|entry| entry.manifest.name == name)
    }

    fn refused(&mut self, place: String, text: String) {
        if self.problems.len() < FINDINGS {
            self.problems.push(Problem { place, text, is_refused: true });
        }
    }
}

impl Entry {
    /// Reads an entry; `root` is the directory to which relative sources refer.
    ///
    /// Fails with the problem as text.
    fn read(value: &Value, root: &str) -> Result<Self, String> {
        let fields = value.as_object().ok_or("must be an object")?;
        let written = fields.get("name").and_then(Value::as_str).unwrap_or_default();
        let name = name_of(written).filter(|name| *name == written);
        let name =
            name.ok_or_else(|| format!("is left out: {} cannot be a plugin's name", quoted(written)))?;
        let source = fields.get("source").ok_or_else(|| format!("{} has no source", quoted(&name)))?;
        let source = Source::read(source, root).map_err(|reason| format!("{} {reason}", quoted(&name)))?;
        Ok(Self {
            manifest: Manifest::read(Format::ClaudeCode, name, fields),
            source,
            category: json::text(fields, "category", FIELD_CHARS),
            tags: fields.get("tags").map(|tags| json::texts(tags, FIELD_CHARS)).unwrap_or_default(),
            is_strict: fields.get("strict").and_then(Value::as_bool).unwrap_or(true),
            fields: fields.clone(),
        })
    }
}

impl Source {
    fn read(value: &Value, root: &str) -> Result<Self, String> {
        let fields = match value {
            Value::String(path) => return directory(path, root).map(Self::Directory),
            Value::Object(fields) => fields,
            _ => return Err("must have a source: a path or an object".to_owned()),
        };
        let text = |name: &str| {
            let text = fields.get(name).and_then(Value::as_str).unwrap_or_default();
            let is_fine = text.len() <= FIELD_CHARS * 4
                && !text.chars().any(|letter| letter.is_whitespace() || is_unseen(letter));
            // Programs would mistake a name that begins with a hyphen for an option.
            if is_fine && !text.starts_with('-') {
                Ok(text.to_owned())
            } else {
                Err(format!("has an unusable `{name}` in its source"))
            }
        };
        let kind = text("source")?;
        match kind.as_str() {
            "directory" | "path" | "relative" => directory(&text("path")?, root).map(Self::Directory),
            "github" => {
                let repository = text("repo")?;
                let is_repository =
                    repository.split('/').count() == 2 && repository.split('/').all(crate::text::is_name);
                if !is_repository {
                    return Err(format!("must name a repository as OWNER/NAME, not {}", quoted(&repository)));
                }
                Ok(Self::GitHub { repository, revision: Revision::read(fields, text)? })
            }
            "url" | "git" | "git-subdir" => {
                let url = text("url")?;
                let is_short = url.split('/').count() == 2 && url.split('/').all(crate::text::is_name);
                let revision = Revision::read(fields, text)?;
                if is_short {
                    return Ok(Self::GitHub { repository: url, revision });
                }
                let is_address =
                    ["https://", "http://", "ssh://"].iter().any(|scheme| url.starts_with(scheme));
                let is_login = url.strip_prefix("git@").is_some_and(|rest| rest.contains(':'));
                if !is_address && !is_login {
                    return Err(format!("must have an address with https or ssh, not {}", quoted(&url)));
                }
                Ok(Self::Git { url, revision })
            }
            "npm" | "pip" => {
                let (package, version, registry) = (text("package")?, text("version")?, text("registry")?);
                let names = package.strip_prefix('@').unwrap_or(&package);
                let most = if package.starts_with('@') { 2 } else { 1 };
                if names.split('/').count() != most || !names.split('/').all(crate::text::is_name) {
                    return Err(format!("must name a package, not {}", quoted(&package)));
                }
                if !registry.is_empty() && !registry.starts_with("https://") {
                    return Err(format!("must name a registry with https, not {}", quoted(&registry)));
                }
                Ok(if kind == "npm" {
                    Self::Npm { package, version, registry }
                } else {
                    Self::Pip { package, version, registry }
                })
            }
            other => Err(format!("has a source of a kind that is not known here: {}", quoted(other))),
        }
    }
}

impl Revision {
    fn read(
        fields: &Map<String, Value>,
        text: impl Fn(&str) -> Result<String, String>,
    ) -> Result<Self, String> {
        let commit = text("sha")?;
        let is_commit = commit.len() == 40 && commit.chars().all(|digit| digit.is_ascii_hexdigit());
        if !commit.is_empty() && !is_commit {
            return Err(format!(
                "must pin a full commit hash of 40 hexadecimal digits in `sha`, not {}",
                quoted(&commit)
            ));
        }
        let path = fields.get("path").and_then(Value::as_str).unwrap_or_default();
        Ok(Self { branch: text("ref")?, commit, directory: directory(path, "")? })
    }
}

fn directory(path: &str, root: &str) -> Result<PluginPath, String> {
    // As the field is documented: only a path that does not begin with `./` is relative to the root that the
    // marketplace names.
    let whole =
        if path.starts_with("./") || root.is_empty() { path.to_owned() } else { format!("{root}/{path}") };
    PluginPath::parse(&whole).map_err(|error| format!("has an unusable source: {error}"))
}

#[cfg(test)]
mod tests;
