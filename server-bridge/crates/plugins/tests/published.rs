//! Published plugins, unmodified: each one loads and has its parts, and its unused parts are reported.
//!
//! They are npm tarballs, pinned by version and integrity in `published.txt`, which `scripts/test` keeps in the user's
//! cache. `SANDBRIDGE_PLUGINS` names a directory with more plugins, which is searched for plugins and marketplaces.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use hooks::Event;
use hooks::config::{Document, Format};
use hooks::dialect::Dialect;
use plugins::{Marketplace, Plugin, PluginPath, Source, Tree, TreeBuilder};

/// A line of `published.txt`.
struct Published<'a> {
    package: &'a str,
    /// The directory of the plugin in the package.
    directory: &'a str,
    /// The numbers of skills, commands, roles, handlers of hooks that would run, and servers.
    counts: [usize; 5],
    /// Part of the text that names unused parts, without blanks; `-` if there are none.
    unused: &'a str,
    file: PathBuf,
}

fn published() -> Vec<Published<'static>> {
    let cache = std::env::var_os("XDG_CACHE_HOME")
        .map_or_else(|| PathBuf::from(std::env::var_os("HOME").unwrap()).join(".cache"), PathBuf::from);
    let lines =
        include_str!("published.txt").lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    lines
        .map(|line| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let [package, version, _integrity, directory, counts, unused] = fields[..] else {
                panic!("{line}")
            };
            let file = format!("{}-{version}.tgz", package.trim_start_matches('@').replace('/', "-"));
            let counts: Vec<usize> = counts.split('/').map(|count| count.parse().unwrap()).collect();
            Published {
                package,
                directory,
                counts: counts.try_into().unwrap(),
                unused,
                file: cache.join("sandbridge-tests/plugins").join(file),
            }
        })
        .collect()
}

fn plugin(published: &Published<'_>) -> Plugin {
    let Published { package, directory, file, .. } = published;
    let archive = std::fs::read(file)
        .unwrap_or_else(|error| panic!("{}: {error}; `scripts/test` downloads it once", file.display()));
    let tree = Tree::of_archive(&archive, &PluginPath::parse(directory).unwrap());
    let tree = tree.unwrap_or_else(|error| panic!("{package}: {error}"));
    Plugin::read(&tree, package).unwrap_or_else(|error| panic!("{package}: {error}"))
}

/// The number of handlers that crate `hooks` accepts from all documents of a plugin.
fn handlers(plugin: &Plugin) -> usize {
    let documents = plugin.hooks.iter().filter_map(|hooks| Document::read(&hooks.text, Format::Plugin).ok());
    documents.flat_map(|document| document.groups).map(|group| group.handlers.len()).sum()
}

fn counts(plugin: &Plugin) -> [usize; 5] {
    [plugin.skills.len(), plugin.commands.len(), plugin.roles.len(), handlers(plugin), plugin.servers.len()]
}

/// Checks that every part has what it needs to be shown and used.
fn check_parts(plugin: &Plugin) {
    let name = &plugin.manifest.name;
    for skill in &plugin.skills {
        assert!(!skill.text.is_empty(), "{name}: {} has no text", skill.name);
    }
    for command in &plugin.commands {
        let template = plugins::Template::parse(&command.text, &command.arguments);
        let expansion = template.expand("one 'two words'", &plugins::Variables::default(), "");
        assert!(expansion.is_ok_and(|prompt| !prompt.parts.is_empty()), "{name}: {}", command.name);
    }
    for server in &plugin.servers {
        let has_any = ["command", "url"].iter().any(|field| server.definition.get(field).is_some());
        assert!(has_any, "{name}: {} has neither a command nor an address", server.name);
    }
    for problem in &plugin.problems {
        assert!(!problem.place.is_empty() && problem.text.len() > 10, "{name}: {problem:?}");
    }
}

#[test]
fn published_plugins_load_as_they_are() {
    let all = published();
    assert!(all.len() >= 10);
    let mut wrong = Vec::new();
    for published in &all {
        let plugin = plugin(published);
        check_parts(&plugin);
        let mut named = plugin.unused.iter().map(|unused| unused.what.replace(' ', ""));
        let is_named = match published.unused {
            "-" => named.len() == 0,
            part => named.any(|what| what.contains(part)),
        };
        if counts(&plugin) != published.counts || !is_named {
            wrong.push(format!(
                "{}: {:?}, unused {:#?}, problems {:#?}",
                published.package,
                counts(&plugin),
                plugin.unused,
                plugin.problems
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Hooks that use peers' names of tools run for our tools.
#[test]
fn hooks_of_published_plugins_ask_for_our_tools_by_peers_names() {
    let mut asked = BTreeSet::new();
    for published in published() {
        let plugin = plugin(&published);
        let documents =
            plugin.hooks.iter().filter_map(|hooks| Document::read(&hooks.text, Format::Plugin).ok());
        for group in documents.flat_map(|document| document.groups) {
            for tool in ["Shell", "FileReplace", "FileCreate"] {
                let is_named = group.matcher.is_exact() && !group.matcher.pattern().is_empty();
                let names = hooks::dialect::names(tool);
                let fits = |name: &hooks::dialect::Name| {
                    name.dialect == Dialect::Peer && group.matcher.fits(&name.text)
                };
                if group.event == Event::PreToolUse && is_named && names.iter().any(fits) {
                    asked.insert(tool);
                }
            }
        }
    }
    assert_eq!(asked.into_iter().collect::<Vec<_>>(), ["FileCreate", "FileReplace", "Shell"]);
}

/// All plain files below a directory; `None` if there are links or oversized files, which a published plugin cannot
/// have.
fn tree_of(directory: &Path) -> Option<Tree> {
    let mut builder = TreeBuilder::default();
    // A marketplace may list a directory that is missing in its copy here.
    if !directory.is_dir() {
        return None;
    }
    let mut open = vec![directory.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder).unwrap().map(Result::unwrap) {
            let (path, kind) = (entry.path(), entry.file_type().unwrap());
            if kind.is_dir() && entry.file_name() != ".git" && entry.file_name() != "node_modules" {
                open.push(path);
            } else if kind.is_file() {
                let name = path.strip_prefix(directory).unwrap().to_str()?;
                builder.add(name, std::fs::read(&path).unwrap(), false).ok()?;
            }
        }
    }
    builder.build().ok()
}

fn manifests(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).unwrap().map(Result::unwrap) {
        if entry.file_type().unwrap().is_dir() {
            if entry.file_name() == ".claude-plugin" {
                found.push(directory.to_owned());
            } else if entry.file_name() != ".git" {
                manifests(&entry.path(), found);
            }
        }
    }
}

/// Plugins that are not on npm, by path: those in `SANDBRIDGE_PLUGINS`.
#[test]
fn plugins_of_a_directory_load_as_they_are() {
    let Some(directory) = std::env::var_os("SANDBRIDGE_PLUGINS") else { return };
    let mut found = Vec::new();
    manifests(Path::new(&directory), &mut found);
    assert!(!found.is_empty(), "SANDBRIDGE_PLUGINS has no .claude-plugin in it");
    for folder in found {
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        if folder.join(".claude-plugin/plugin.json").is_file() {
            let Some(tree) = tree_of(&folder) else { continue };
            let plugin =
                Plugin::read(&tree, &name).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
            check_parts(&plugin);
            println!(
                "{name}: {:?}, unused {:?}, problems {:?}",
                counts(&plugin),
                plugin.unused,
                plugin.problems
            );
        }
        let Ok(document) = std::fs::read(folder.join(Marketplace::PATH)) else { continue };
        let market =
            Marketplace::read(&document).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        println!(
            "{}: {} plugins, {:?} {:?}",
            market.name,
            market.plugins.len(),
            market.unused,
            market.problems
        );
        for entry in &market.plugins {
            let Source::Directory(path) = &entry.source else { continue };
            let Some(tree) = tree_of(&folder.join(path.as_str())) else { continue };
            let plugin = Plugin::read_entry(&tree, entry)
                .unwrap_or_else(|error| panic!("{}: {error}", entry.manifest.name));
            check_parts(&plugin);
            println!(
                "  {}: {:?}, unused {:?}, problems {:?}",
                entry.manifest.name,
                counts(&plugin),
                plugin.unused,
                plugin.problems
            );
        }
    }
}
