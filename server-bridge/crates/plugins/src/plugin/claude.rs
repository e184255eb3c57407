//! Claude Code's format: `.claude-plugin/plugin.json`, or no manifest; parts are in default directories, or where fields
//! declare them.

use serde_json::{Map, Value};

use super::declared::{Declared, Inline};
use super::reader::Reader;
use super::{CLAUDE_MANIFEST, Plugin, PluginError};
use crate::component::head::Head;
use crate::component::servers;
use crate::json;
use crate::limits::DOCUMENT_BYTES;
use crate::manifest::{DESCRIPTIVE, Format, Manifest};
use crate::marketplace::Entry;
use crate::text::{line, name_of, quoted};
use crate::tree::{File, PluginPath, Tree};

/// The fields that declare parts which are used here.
pub(crate) const COMPONENTS: &[&str] = &["agents", "commands", "hooks", "mcpServers", "skills"];

/// Fields that have a meaning in Claude Code but not here, with the reason.
const UNUSED_FIELDS: &[(&str, &str)] = &[
    ("channels", "channels of plugins are not used here"),
    ("defaultEnabled", "here the user decides which plugins are enabled"),
    ("dependencies", "other plugins are not installed automatically; install them too"),
    ("engines", "versions of other programs are not checked here"),
    ("experimental", "themes and monitors are not used here"),
    ("lspServers", "language servers are not used here"),
    ("monitors", "monitors are not used here"),
    ("outputStyles", "output styles are not used here"),
    ("settings", "settings of plugins are not used here"),
    ("statusLine", "there is no status line to fill here"),
    ("themes", "themes are not used here"),
    ("userConfig", "users are not asked for a plugin's values here; set them as environment variables"),
    ("workflows", "workflows are not used here"),
];

/// Directories and files that have a meaning in Claude Code but not here, with the reason.
const UNUSED_PLACES: &[(&str, &str)] = &[
    (".lsp.json", "language servers are not used here"),
    ("bin", "the plugin's programs are not on the PATH of commands here"),
    ("monitors", "monitors are not used here"),
    ("output-styles", "output styles are not used here"),
    ("settings.json", "settings of plugins are not used here"),
    ("themes", "themes are not used here"),
    ("workflows", "workflows are not used here"),
];

/// A document that declares parts: the manifest, or a marketplace's entry.
struct Declaring<'a> {
    place: &'a str,
    fields: &'a Map<String, Value>,
}

pub(super) fn read(tree: &Tree, name: &str, entry: Option<&Entry>) -> Result<Plugin, PluginError> {
    let manifest_error = |reason| PluginError::Manifest { place: CLAUDE_MANIFEST, reason };
    let fields = match tree.at(CLAUDE_MANIFEST) {
        Some(file) => json::object(&file.content, DOCUMENT_BYTES).map_err(manifest_error)?,
        None => Map::new(),
    };
    let written = fields.get("name").and_then(Value::as_str).unwrap_or_default();
    let own_name = name_of(written);
    let name = match (entry, &own_name) {
        (None, Some(own)) => own.clone(),
        _ => name_of(name).ok_or(PluginError::NoName)?,
    };
    let mut manifest = Manifest::read(Format::ClaudeCode, name.clone(), &fields);
    if let Some(entry) = entry {
        manifest.fill(&entry.manifest);
    }
    let mut reader = Reader::new(tree, manifest);
    if tree.at(CLAUDE_MANIFEST).is_some() {
        if written.is_empty() {
            reader.warning(CLAUDE_MANIFEST, format!("has no name; the plugin is called {}", quoted(&name)));
        } else if written != name {
            let text = format!("has the name {}; the plugin is called {}", quoted(written), quoted(&name));
            reader.warning(CLAUDE_MANIFEST, text);
        }
    }
    let mut declaring = vec![Declaring { place: CLAUDE_MANIFEST, fields: &fields }];
    if let Some(entry) = entry {
        let place = "the marketplace's entry";
        if !entry.is_strict && COMPONENTS.iter().any(|name| fields.contains_key(*name)) {
            reader.warning(
                CLAUDE_MANIFEST,
                "declares parts, but the marketplace's entry has `strict: false` and declares them itself; only that counts",
            );
            declaring.clear();
        }
        declaring.push(Declaring { place, fields: &entry.fields });
    }
    // An entry that declares everything itself lists the skills in a directory that it shares with other plugins.
    let is_listed = entry.is_some_and(|entry| !entry.is_strict && entry.fields.contains_key("skills"));
    skills(&mut reader, &declaring, is_listed);
    commands(&mut reader, &declaring);
    roles(&mut reader, &declaring);
    hooks(&mut reader, &declaring);
    mcp_servers(&mut reader, &declaring);
    unused(&mut reader, &declaring);
    Ok(reader.done())
}

/// The usable parts that a field declares in all documents; `None` if no document declares a usable one.
fn declared(
    reader: &mut Reader<'_>,
    declaring: &[Declaring<'_>],
    field: &str,
    inline: Inline,
) -> Option<Vec<(String, Declared)>> {
    let mut found = Vec::new();
    for Declaring { place, fields } in declaring {
        if let Some(value) = fields.get(field) {
            found.extend(reader.declared(&format!("{place}: {field}"), value, inline));
        }
    }
    (!found.is_empty()).then_some(found)
}

fn literal(path: &str) -> PluginPath {
    PluginPath::default().join(path)
}

fn skills(reader: &mut Reader<'_>, declaring: &[Declaring<'_>], is_listed: bool) {
    let declared = declared(reader, declaring, "skills", Inline::Never);
    let mut directories = Vec::new();
    if !is_listed {
        directories.push(literal("skills"));
    }
    for (_, declared) in declared.into_iter().flatten() {
        if let Declared::Path(path) = declared {
            directories.push(path);
        }
    }
    let tree = reader.tree;
    for directory in &directories {
        let own = directory.join("SKILL.md");
        if tree.file(&own).is_some() {
            whole_skill(reader, &own);
            continue;
        }
        let inner = tree.below(directory).filter(|(rest, ..)| {
            rest.split_once('/').is_some_and(|(name, rest)| rest == "SKILL.md" && !name.is_empty())
        });
        for (_, path, _) in inner.collect::<Vec<_>>() {
            reader.skill(path, "");
        }
    }
    // A whole plugin may be a single skill.
    if reader.plugin.skills.is_empty() && !is_listed {
        whole_skill(reader, &literal("SKILL.md"));
    }
}

/// Adds a skill that may be at the plugin's root; there, its name comes from its head or from the plugin.
fn whole_skill(reader: &mut Reader<'_>, path: &PluginPath) {
    let Some(file) = reader.tree.file(path) else { return };
    let named = Head::read(file).ok().and_then(|head| name_of(&head.field("name")));
    let name = named.unwrap_or_else(|| reader.plugin.manifest.name.clone());
    reader.skill(path, &name);
}

fn commands(reader: &mut Reader<'_>, declaring: &[Declaring<'_>]) {
    let default = literal("commands");
    match declared(reader, declaring, "commands", Inline::Whole) {
        None => commands_in(reader, &default),
        Some(declared) => {
            let is_replaced = declared.iter().all(|(_, declared)| !matches!(declared, Declared::Path(path) if path.below(&default).is_some() || *path == default));
            if is_replaced && reader.tree.has_directory(&default) {
                reader.unused(
                    "commands/",
                    "the manifest declares commands elsewhere, which replaces this directory",
                );
            }
            for (place, declared) in declared {
                match declared {
                    Declared::Path(path) => commands_in(reader, &path),
                    Declared::Inline(named) => named_commands(reader, &place, &named),
                }
            }
        }
    }
}

/// The commands in a directory, or in a single file.
fn commands_in(reader: &mut Reader<'_>, path: &PluginPath) {
    let tree = reader.tree;
    if tree.file(path).is_some() {
        return reader.command(path, path.name().trim_end_matches(".md"));
    }
    let files: Vec<_> = tree.below(path).filter(|(rest, ..)| rest.ends_with(".md")).collect();
    for (rest, path, _) in files {
        if path.name() == "SKILL.md" {
            reader.skill(path, "");
        } else {
            reader.command(path, &rest.trim_end_matches(".md").replace('/', ":"));
        }
    }
}

/// Commands as `NAME: {"source": PATH}` or `NAME: {"content": TEXT}`, with fields that take precedence over those of
/// the head.
fn named_commands(reader: &mut Reader<'_>, place: &str, named: &Map<String, Value>) {
    let tree = reader.tree;
    for (name, command) in named {
        let place = format!("{place}.{name}");
        let Some(fields) = command.as_object() else {
            reader.refused(place, "must be an object with `source` or `content`");
            continue;
        };
        let (file, path) = match (fields.get("source"), fields.get("content")) {
            (Some(Value::String(source)), None) => {
                let Some(path) = reader.declared_path(&place, source) else { continue };
                let Some(file) = tree.file(&path) else {
                    reader.refused(place, "must name a file in `source`");
                    continue;
                };
                (file.clone(), Some(path))
            }
            (None, Some(Value::String(text))) => {
                (File { content: text.clone().into_bytes(), is_executable: false }, None)
            }
            _ => {
                reader.refused(place, "must have either `source`, a path, or `content`, a string");
                continue;
            }
        };
        let file = with_fields(&file, fields);
        match Head::read(&file) {
            Ok(head) => reader.command_of(&place, name, path, &head),
            Err(reason) => reader.refused(place, reason),
        }
    }
}

/// The text with the manifest's fields added at the end of its head, where they take precedence.
fn with_fields(file: &File, fields: &Map<String, Value>) -> File {
    let names = [("description", "description"), ("argumentHint", "argument-hint"), ("model", "model")];
    let mut head = String::new();
    for (field, name) in names {
        if let Some(Value::String(text)) = fields.get(field) {
            head.push_str(&format!("{name}: {}\n", Value::from(line(text, usize::MAX))));
        }
    }
    if let Some(tools) = fields.get("allowedTools") {
        head.push_str(&format!("allowed-tools: {}\n", Value::from(json::texts(tools, usize::MAX))));
    }
    let text = String::from_utf8_lossy(&file.content).trim_start_matches('\u{feff}').replace("\r\n", "\n");
    let is_text = std::str::from_utf8(&file.content).is_ok();
    if head.is_empty() || !is_text {
        return file.clone();
    }
    let (own, body) = match text.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---\n")) {
        Some((own, body)) => (own, body),
        None => ("", text.as_str()),
    };
    File { content: format!("---\n{own}\n{head}---\n{body}").into_bytes(), is_executable: false }
}

fn roles(reader: &mut Reader<'_>, declaring: &[Declaring<'_>]) {
    let default = literal("agents");
    let declared = declared(reader, declaring, "agents", Inline::Never);
    let paths = match declared {
        None => vec![default],
        Some(declared) => {
            let paths: Vec<_> = declared
                .into_iter()
                .filter_map(|(_, declared)| match declared {
                    Declared::Path(path) => Some(path),
                    Declared::Inline(_) => None,
                })
                .collect();
            let is_replaced = paths.iter().all(|path| path.below(&default).is_none() && *path != default);
            if is_replaced && reader.tree.has_directory(&default) {
                reader.unused(
                    "agents/",
                    "the manifest declares agents elsewhere, which replaces this directory",
                );
            }
            paths
        }
    };
    let tree = reader.tree;
    for path in &paths {
        if tree.file(path).is_some() {
            reader.role(path);
        }
        for (_, path, _) in tree.below(path).filter(|(rest, ..)| rest.ends_with(".md")).collect::<Vec<_>>() {
            reader.role(path);
        }
    }
}

fn hooks(reader: &mut Reader<'_>, declaring: &[Declaring<'_>]) {
    reader.hook_file(&literal("hooks/hooks.json"));
    for (place, declared) in declared(reader, declaring, "hooks", Inline::Items).into_iter().flatten() {
        match declared {
            Declared::Path(path) if reader.tree.file(&path).is_some() => reader.hook_file(&path),
            Declared::Path(_) => reader.refused(place, "must name a file, not a directory"),
            Declared::Inline(hooks) => reader.hooks_of(&place, &hooks),
        }
    }
}

fn mcp_servers(reader: &mut Reader<'_>, declaring: &[Declaring<'_>]) {
    reader.server_file(&literal(".mcp.json"), servers::entries, |_| Ok(()));
    for (place, declared) in declared(reader, declaring, "mcpServers", Inline::Items).into_iter().flatten() {
        match declared {
            Declared::Path(path) if [".mcpb", ".dxt"].iter().any(|end| path.name().ends_with(end)) => {
                reader.unused(path.to_string(), "packed MCP servers are not used here");
            }
            Declared::Path(path) if reader.tree.file(&path).is_some() => {
                reader.server_file(&path, servers::entries, |_| Ok(()));
            }
            Declared::Path(_) => reader.refused(place, "must name a file, not a directory"),
            Declared::Inline(fields) => match servers::unwrapped(fields) {
                Ok(entries) => reader.servers_of(&place, entries, |_| Ok(())),
                Err(reason) => reader.refused(place, reason),
            },
        }
    }
}

fn unused(reader: &mut Reader<'_>, declaring: &[Declaring<'_>]) {
    let top = reader.tree.top();
    for (place, why) in UNUSED_PLACES.iter().filter(|(place, _)| top.contains(place)) {
        reader.unused(*place, *why);
    }
    for Declaring { place, fields } in declaring {
        let is_entry = *place != CLAUDE_MANIFEST;
        for name in fields.keys() {
            let is_known = matches!(name.as_str(), "category" | "displayName" | "tags")
                || DESCRIPTIVE.contains(&name.as_str())
                || COMPONENTS.contains(&name.as_str())
                || (is_entry && matches!(name.as_str(), "relevance" | "source" | "strict"));
            match UNUSED_FIELDS.iter().find(|(field, _)| field == name) {
                Some((field, why)) => reader.unused(*field, *why),
                None if is_known => {}
                None => reader.unused(
                    line(name, crate::limits::FIELD_CHARS),
                    "this field of the manifest is not known",
                ),
            }
        }
    }
}
