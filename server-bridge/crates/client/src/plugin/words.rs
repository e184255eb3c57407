//! Texts about plugins. Text from a plugin cannot imitate other output: anybody may have written it.

use api::plugin::{PluginList, PluginView};

use crate::extension::{short_hash, warning};
use crate::output;
use crate::output::{one_line, short_line};

/// All plugins, as a table.
pub(super) fn list(list: &PluginList) -> String {
    if list.plugins.is_empty() {
        return "you have no plugins; `sandbridge plugin install SOURCE` installs one".to_owned();
    }
    let heading = ["NAME", "VERSION", "STATE", "CONTENTS", "FROM"].map(str::to_owned).to_vec();
    let rows = list.plugins.iter().map(|plugin| {
        vec![
            name(plugin),
            short_line(&plugin.version),
            state(plugin),
            contents(plugin),
            short_line(&plugin.source),
        ]
    });
    let mut parts = vec![output::table(&std::iter::once(heading).chain(rows).collect::<Vec<_>>())];
    let updates = list.plugins.iter().filter(|plugin| plugin.has_update);
    parts.extend(updates.map(|plugin| {
        let source = one_line(&plugin.source);
        format!(
            "{}: there is another copy now; look at it with `sandbridge plugin install {source}`",
            name(plugin)
        )
    }));
    let problems =
        list.plugins.iter().flat_map(|plugin| plugin.problems.iter().map(move |why| (plugin, why)));
    parts.extend(
        problems.map(|(plugin, why)| format!("warning: {}: {}", name(plugin), one_line(&why.to_string()))),
    );
    parts.join("\n")
}

fn state(plugin: &PluginView) -> String {
    let used = if plugin.enabled { "used" } else { "not used" };
    if plugin.shared { format!("{used}, shared") } else { used.to_owned() }
}

/// A plugin, with all that is in it.
pub(super) fn show(plugin: &PluginView) -> String {
    let mut lines = vec![
        format!("{} {}", name(plugin), one_line(&plugin.version)).trim_end().to_owned(),
        one_line(&plugin.description),
        format!("from: {}", one_line(&plugin.source)),
        format!("hash: {}", one_line(&plugin.hash)),
    ];
    lines.retain(|line| !line.is_empty());
    for (title, parts) in [
        ("hooks, which run on your machines", &plugin.hooks),
        ("MCP servers", &plugin.servers),
        ("slash commands", &plugin.commands),
        ("skills", &plugin.skills),
        ("roles of sub-agents", &plugin.roles),
    ] {
        if !parts.is_empty() {
            lines.push(format!("{title}:"));
            lines.extend(parts.iter().flat_map(|one| part(&one.name, &one.about)));
        }
    }
    if !plugin.unused.is_empty() {
        lines.push("not used here:".to_owned());
        lines.extend(plugin.unused.iter().flat_map(|one| part(&one.name, &one.about)));
    }
    lines.extend(plugin.problems.iter().map(warning));
    if let Some(replaced) = plugin.replaces.as_ref().filter(|replaced| replaced.hash != plugin.hash) {
        lines.push(format!(
            "replaces the installed copy {} {}; files that differ:",
            one_line(&replaced.version),
            short_hash(&replaced.hash)
        ));
        lines.extend(replaced.files.iter().map(|file| format!("  {}", one_line(file))));
    }
    lines.join("\n")
}

/// A plugin's name.
pub(super) fn name(plugin: &PluginView) -> String {
    short_line(&plugin.name)
}

/// The name and the description of a part; the description's lines stay separate.
fn part(name: &str, about: &str) -> Vec<String> {
    let mut about = about.lines();
    let first = match about.next() {
        Some(first) => format!("  {}: {}", one_line(name), one_line(first)),
        None => format!("  {}", one_line(name)),
    };
    std::iter::once(first).chain(about.map(|line| format!("    | {}", one_line(line)))).collect()
}

fn contents(plugin: &PluginView) -> String {
    let counts = [
        (plugin.skills.len(), "skills"),
        (plugin.commands.len(), "commands"),
        (plugin.roles.len(), "roles"),
        (plugin.hooks.len(), "hooks"),
        (plugin.servers.len(), "servers"),
    ];
    let counts = counts.iter().filter(|(count, _)| *count > 0);
    counts.map(|(count, what)| format!("{what}: {count}")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use api::plugin::{PluginPart, PluginReplaced, UnusedPart};
    use api::problem::Problem;

    use super::*;

    #[test]
    fn everything_that_runs_is_shown_and_nothing_leaves_its_place() {
        let part = |name: &str, about: &str| PluginPart { name: name.to_owned(), about: about.to_owned() };
        let plugin = PluginView {
            name: "lint".to_owned(),
            version: "2.0".to_owned(),
            hash: "ab".repeat(32),
            source: "npm:lint".to_owned(),
            hooks: vec![part("PreToolUse Bash", "./check.sh\nrm -rf x")],
            servers: vec![part("db\ninstalled", "{}")],
            skills: vec![part("lint:style", "")],
            unused: vec![UnusedPart {
                name: "lspServers".to_owned(),
                about: "there are no language servers here".to_owned(),
            }],
            problems: vec![Problem::new("has no text").at("skills/x")],
            replaces: Some(PluginReplaced {
                version: "1.0".to_owned(),
                hash: "cd".repeat(32),
                files: vec!["check.sh".to_owned()],
            }),
            ..PluginView::default()
        };
        let text = show(&plugin);
        for line in [
            "  PreToolUse Bash: ./check.sh\n    | rm -rf x",
            "  lint:style",
            "  lspServers: there",
            "warning: skills/x",
            "files that differ:\n  check.sh",
        ] {
            assert!(text.contains(line), "{line}: {text}");
        }
        assert!(!text.contains("\ninstalled"), "{text}");
        let list = list(&PluginList { plugins: vec![plugin] });
        assert!(list.contains("skills: 1, hooks: 1, servers: 1") && list.contains("not used"), "{list}");
    }
}
