//! Plugins as clients see them.

use std::collections::BTreeMap;

use agent::tool::visible;
use api::plugin::{PluginPart, PluginReplaced, PluginView, UnusedPart};
use api::problem::Problem;
use hooks::layers::{Checks, Source};
use hooks::{Layer, config::Format};
use store::PluginRow;

use super::installed::Installed;
use crate::condition::Grammar;
use crate::limits::PLUGIN_CHANGES_SHOWN;

/// A plugin: its content, and the installed copy if there is one.
pub(super) fn view(plugin: &Installed, row: Option<&PluginRow>, source: &str) -> PluginView {
    let Installed { name, hash, plugin, shelved, .. } = plugin;
    let part = |name: &str, about: &str| PluginPart { name: name.to_owned(), about: visible::lines(about) };
    let unused = |unused: &plugins::Unused| UnusedPart {
        name: unused.what.clone(),
        about: visible::lines(&unused.why),
    };
    let mut problems: Vec<Problem> = plugin.problems.iter().map(problem).collect();
    let (hooks, broken) = hooks_of(plugin);
    problems.extend(broken);
    PluginView {
        name: name.clone(),
        version: plugin.manifest.version.clone(),
        description: visible::lines(&plugin.manifest.description),
        hash: hash.clone(),
        source: row.map_or(source, |row| &row.source).to_owned(),
        enabled: row.is_some_and(|row| row.is_enabled),
        shared: row.is_some_and(|row| row.is_shared),
        has_update: false,
        installed_at: row.map(|row| row.installed_at_ms),
        skills: shelved.skills.iter().map(|skill| part(&skill.name, &skill.description)).collect(),
        roles: shelved.roles.iter().map(|role| part(&role.name, &role.description)).collect(),
        commands: plugin
            .commands
            .iter()
            .map(|command| part(&format!("/{name}:{}", command.name), &command.description))
            .collect(),
        hooks,
        servers: plugin
            .servers
            .iter()
            .map(|server| part(&server.name, &server.definition.to_string()))
            .collect(),
        unused: plugin.unused.iter().map(unused).collect(),
        problems,
        replaces: None,
    }
}

/// A problem of a plugin or a marketplace, for clients.
pub(super) fn problem(problem: &plugins::Problem) -> Problem {
    Problem::new(&problem.text).at(&problem.place)
}

/// The plugin's hooks, and the problems of those that cannot be used.
fn hooks_of(plugin: &plugins::Plugin) -> (Vec<PluginPart>, Vec<Problem>) {
    let sources: Vec<Source<'_>> = plugin
        .hooks
        .iter()
        .map(|document| Source {
            layer: Layer::User,
            format: Format::Plugin,
            origin: &document.place,
            plugin_root: Some("."),
            workspace: None,
            text: &document.text,
            enables_commands: true,
        })
        .collect();
    let loaded = hooks::load(
        &sources,
        &Checks {
            is_approved: &|_| true,
            files: &|_, _| hooks::layers::Files::default(),
            condition: &Grammar,
            // The server checks them when it loads the user's hooks.
            callback: &|_, _, _| Ok(()),
        },
    );
    let hooks = loaded.hooks.all().iter().map(|hook| {
        let matcher = hook.matcher.pattern();
        let event = hook.event_name();
        let name = if matcher.is_empty() { event.to_owned() } else { format!("{event} {matcher}") };
        PluginPart { name, about: visible::lines(&hook.handler.describe()) }
    });
    (hooks.collect(), loaded.troubles.iter().map(crate::documents::of_hooks).collect())
}

/// The differences between a copy and the one that it replaces.
pub(super) fn replaced(before: &Installed, row: &PluginRow, now: &Installed) -> PluginReplaced {
    let map = |plugin: &Installed| plugin.files.iter().cloned().collect::<BTreeMap<_, _>>();
    let (old, new) = (map(before), map(now));
    let mut files: Vec<&String> = old.keys().chain(new.keys()).collect();
    files.sort_unstable();
    files.dedup();
    files.retain(|path| old.get(*path) != new.get(*path));
    files.truncate(PLUGIN_CHANGES_SHOWN);
    PluginReplaced {
        version: row.version.clone(),
        hash: row.hash.clone(),
        files: files.into_iter().cloned().collect(),
    }
}
