//! Agent Plugins 1.0.0: `plugin.json` at the root, a closed schema, fixed places.

use serde_json::{Map, Value};

use super::reader::Reader;
use super::{PORTABLE_MANIFEST, Plugin, PluginError};
use crate::component::servers;
use crate::json::{self, type_of};
use crate::limits::{DESCRIPTION_CHARS, DOCUMENT_BYTES, NAME_CHARS};
use crate::manifest::{DESCRIPTIVE, Format, Manifest};
use crate::text::quoted;
use crate::tree::{File, PluginPath, Tree};

/// The identifier of the schema of `plugin.json`.
const SCHEMA: &str = "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json";
/// The common prefix of the identifiers of all versions.
const SCHEMAS: &str = "https://agent-plugins.org/schemas/";

/// True if a `plugin.json` claims to be in this format. Other programs use files of this name too.
pub(super) fn is_one(file: &File) -> bool {
    match json::object(&file.content, DOCUMENT_BYTES) {
        Ok(fields) => {
            fields.get("$schema").and_then(Value::as_str).is_some_and(|schema| schema.starts_with(SCHEMAS))
        }
        // A broken file is read so that its error is reported.
        Err(_) => true,
    }
}

pub(super) fn read(tree: &Tree) -> Result<Plugin, PluginError> {
    let refused = |reason: String| PluginError::Manifest { place: PORTABLE_MANIFEST, reason };
    let content = tree.at(PORTABLE_MANIFEST).map(|file| file.content.as_slice()).unwrap_or_default();
    let fields = json::object(content, DOCUMENT_BYTES).map_err(refused)?;
    check(&fields).map_err(refused)?;
    let name = json::text(&fields, "name", NAME_CHARS);
    let mut reader = Reader::new(tree, Manifest::read(Format::AgentPlugins, name, &fields));
    unused(&mut reader, &fields);
    let skills = PluginPath::default().join("skills");
    let own: Vec<_> = tree
        .below(&skills)
        .filter(|(rest, ..)| {
            rest.split_once('/').is_some_and(|(name, rest)| !name.is_empty() && rest == "SKILL.md")
        })
        .collect();
    for (_, path, _) in own {
        reader.skill_if(path, "", |name, head| {
            let written = head.field("name");
            let description = head.text.line("description");
            if written != name || !is_skill_name(name) {
                return Err(format!(
                    "is left out: its name must be that of its directory, in lower-case letters, digits and hyphens, not {}",
                    quoted(&written)
                ));
            }
            if description.is_empty() || description.chars().count() > DESCRIPTION_CHARS {
                return Err(format!("is left out: it must have a description of at most {DESCRIPTION_CHARS} characters"));
            }
            Ok(())
        });
    }
    if tree.file(&skills).is_some() {
        reader.refused("skills", "must be a directory");
    }
    let servers_path = PluginPath::default().join("mcp.json");
    if tree.has_directory(&servers_path) {
        reader.refused("mcp.json", "must be a file");
    }
    reader.server_file(&servers_path, servers::portable_entries, servers::check_portable);
    Ok(reader.done())
}

/// Checks the fields that the specification defines.
///
/// Fails with the problem as text.
fn check(fields: &Map<String, Value>) -> Result<(), String> {
    match fields.get("$schema").and_then(Value::as_str) {
        Some(SCHEMA) => {}
        Some(other) => return Err(format!("is of a version that is not known here: {}", quoted(other))),
        None => return Err(format!("must have `$schema`: {SCHEMA:?}")),
    }
    for name in ["name", "version", "description", "homepage", "repository", "license"] {
        if let Some(value) = fields.get(name).filter(|value| !value.is_string()) {
            return Err(format!("must have a string in `{name}`, not {}", type_of(value)));
        }
    }
    let name = fields.get("name").and_then(Value::as_str).unwrap_or_default();
    if !is_plugin_name(name) {
        return Err(format!(
            "must have a `name` of lower-case letters, digits, single hyphens and periods, not {}",
            quoted(name)
        ));
    }
    let is_author = |author: &Value| {
        author.as_object().is_some_and(|author| {
            author
                .iter()
                .all(|(name, value)| matches!(name.as_str(), "name" | "email" | "url") && value.is_string())
        })
    };
    if !fields.get("author").is_none_or(is_author) {
        return Err("must have an `author` with only the strings `name`, `email` and `url`".to_owned());
    }
    let is_list = |list: &Value| list.as_array().is_some_and(|words| words.iter().all(Value::is_string));
    if !fields.get("keywords").is_none_or(is_list) {
        return Err("must have a list of strings in `keywords`".to_owned());
    }
    Ok(())
}

fn unused(reader: &mut Reader<'_>, fields: &Map<String, Value>) {
    for name in fields.keys().filter(|name| *name != "extensions" && !DESCRIPTIVE.contains(&name.as_str())) {
        reader.unused(
            crate::text::line(name, crate::limits::FIELD_CHARS),
            "Agent Plugins 1.0.0 has no such field",
        );
    }
    match fields.get("extensions") {
        None => {}
        Some(Value::Object(extensions)) => {
            for name in extensions.keys() {
                let name = crate::text::line(name, crate::limits::FIELD_CHARS);
                reader.unused(format!("extensions.{name}"), "it is for another program");
            }
        }
        Some(_) => {
            reader.warning(format!("{PORTABLE_MANIFEST}: extensions"), "must be an object; it is not used")
        }
    }
    let directories: Vec<String> = reader.tree.top().into_iter().map(str::to_owned).collect();
    for name in directories {
        // The directory of another program, named by its reversed domain.
        let is_domain = name.split('.').count() >= 3 && name.split('.').all(|word| !word.is_empty());
        if is_domain && reader.tree.has_directory(&PluginPath::default().join(&name)) {
            reader.unused(format!("{name}/"), "it is for another program");
        }
    }
}

fn is_plugin_name(name: &str) -> bool {
    let is_plain = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit();
    (1..=NAME_CHARS).contains(&name.len())
        && name.starts_with(is_plain)
        && name.ends_with(is_plain)
        && name.chars().all(|letter| is_plain(letter) || matches!(letter, '-' | '.'))
        && !name.contains("--")
        && !name.contains("..")
}

fn is_skill_name(name: &str) -> bool {
    is_plugin_name(name) && !name.contains('.')
}
