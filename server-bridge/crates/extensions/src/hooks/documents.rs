//! The documents of all layers: the administrator's file, the user's own document, and files of the workspace.

use std::collections::{BTreeMap, HashMap, HashSet};

use agent::library::beginning;
use futures_util::future::join_all;
use hooks::config::{Format, Problem, Severity};
use hooks::layers::{Checks, Source, Trouble};
use hooks::{Layer, Loaded};
use sandbox::Sandbox;
use store::UserId;

use super::Inner;
use crate::approvals::{approved, workspace_of};
use crate::condition::Grammar;
use crate::documents::{AtPath, look_at, managed};
use crate::limits::{EXTENSION_SCRIPTS, HOOK_FILE_BYTES};

/// The administrator's file in the server's home directory.
const MANAGED: &str = "hooks.json";

/// The kind of the approvals of hooks.
pub(super) const KIND: &str = "hook";

/// The name of the user's own document, for people.
const OWN: &str = "your hooks";

/// The files of a workspace.
const OF_WORKSPACE: [(&str, Layer, Format); 4] = [
    (".sandbridge/hooks.json", Layer::Workspace, Format::Own),
    (".claude/settings.json", Layer::Workspace, Format::Settings),
    (".sandbridge/hooks.local.json", Layer::WorkspaceLocal, Format::Own),
    (".claude/settings.local.json", Layer::WorkspaceLocal, Format::Settings),
];

/// A document that was found.
pub(super) struct Found {
    layer: Layer,
    format: Format,
    origin: String,
    /// Where the workspace is, for a document of a workspace.
    workspace: Option<String>,
    /// The directory, on the machine, of the plugin that it belongs to.
    plugin_root: Option<String>,
    text: String,
}

impl Found {
    fn source(&self) -> Source<'_> {
        Source {
            layer: self.layer,
            format: self.format,
            origin: &self.origin,
            plugin_root: self.plugin_root.as_deref(),
            workspace: self.workspace.as_deref(),
            text: &self.text,
            // A peer's settings and plugins have no switch for commands: the user's approval, or the installation, is the switch.
            enables_commands: matches!(self.format, Format::Settings | Format::Plugin),
        }
    }
}

impl Inner {
    /// All documents for a user on a machine, if one can be reached.
    pub(super) async fn documents(
        &self,
        user: UserId,
        sandbox: Option<&Sandbox>,
    ) -> store::Result<Vec<Found>> {
        let managed = managed(&self.home, MANAGED, HOOK_FILE_BYTES).await;
        let of_server = |layer, origin: &str, text| Found {
            layer,
            format: Format::Own,
            origin: origin.to_owned(),
            workspace: None,
            plugin_root: None,
            text,
        };
        let managed = managed.map(|text| of_server(Layer::Managed, MANAGED, text));
        let mut found: Vec<Found> = managed.into_iter().collect();
        if let Some(text) = self.store.hook_document(user).await? {
            found.push(of_server(Layer::User, OWN, text));
        }
        let workspace = sandbox.map_or("", |sandbox| sandbox.facts().workspace.as_str());
        for plugin in self.plugins.of(user).await? {
            let root = plugin.variables(workspace).root;
            found.extend(plugin.plugin.hooks.iter().map(|document| Found {
                layer: Layer::User,
                format: Format::Plugin,
                origin: format!("plugin {}: {}", plugin.name, document.place),
                workspace: None,
                plugin_root: Some(root.clone()),
                text: document.text.clone(),
            }));
        }
        let Some(sandbox) = sandbox else { return Ok(found) };
        let read = OF_WORKSPACE.map(|(file, layer, format)| async move {
            // A file that cannot be read defines nothing.
            let text = beginning(sandbox, file, HOOK_FILE_BYTES).await.ok().flatten()?;
            let workspace = Some(workspace_of(sandbox));
            Some(Found { layer, format, origin: file.to_owned(), workspace, plugin_root: None, text })
        });
        found.extend(join_all(read).await.into_iter().flatten());
        Ok(found)
    }

    /// The hooks of documents: those that run, those that wait for approval, and what is wrong with the others.
    pub(super) async fn load(
        &self,
        user: UserId,
        documents: &[Found],
        sandbox: Option<&Sandbox>,
    ) -> store::Result<Loaded> {
        if documents.is_empty() {
            return Ok(Loaded::default());
        }
        let approved = approved(&self.store, user, KIND).await?;
        let load = |documents: &[&Found], scripts: &HashMap<String, String>| {
            let sources: Vec<Source<'_>> = documents.iter().map(|document| document.source()).collect();
            hooks::load(
                &sources,
                &[],
                &Checks {
                    is_approved: &|hash| approved.contains(hash.as_str()),
                    script: &|_, script| scripts.get(&script.path).cloned(),
                    condition: &Grammar,
                },
            )
        };
        let all: Vec<&Found> = documents.iter().collect();
        let first = load(&all, &HashMap::new());
        let Scripts { hashes, unknown } = scripts(&first, sandbox).await;
        if hashes.is_empty() && unknown.is_empty() {
            return Ok(first);
        }
        // A file that is not hashed could change after its approval; the other documents are not affected.
        let kept: Vec<&Found> =
            all.into_iter().filter(|document| !unknown.contains_key(&document.origin)).collect();
        let mut loaded = load(&kept, &hashes);
        for (origin, why) in unknown {
            let text = format!("none of its hooks are used: {why}");
            let problem = Problem { severity: Severity::Refused, place: String::new(), event: None, text };
            loaded.troubles.push(Trouble { layer: Layer::Workspace, origin, problem });
        }
        Ok(loaded)
    }
}

/// The files that commands of the workspace name.
#[derive(Default)]
struct Scripts {
    /// Their hashes by their paths.
    hashes: HashMap<String, String>,
    /// The documents whose files cannot all be hashed, with the reason.
    unknown: BTreeMap<String, String>,
}

/// Hashes the files that commands of the workspace name: a change to one of them needs another approval.
async fn scripts(loaded: &Loaded, sandbox: Option<&Sandbox>) -> Scripts {
    let mut found = Scripts::default();
    let Some(sandbox) = sandbox else { return found };
    let mut paths: BTreeMap<&str, HashSet<&str>> = BTreeMap::new();
    let hooks = loaded.hooks.all().iter().chain(&loaded.waiting).chain(&loaded.inert);
    for hook in hooks.filter(|hook| hook.layer.needs_approval()) {
        let scripts = hook.scripts.iter().map(|(script, _)| script.path.as_str());
        paths.entry(&hook.origin).or_default().extend(scripts);
    }
    for (origin, paths) in paths {
        if paths.len() > EXTENSION_SCRIPTS {
            let why = format!("they name more than {EXTENSION_SCRIPTS} files");
            found.unknown.insert(origin.to_owned(), why);
            continue;
        }
        for (path, at) in look_at(sandbox, paths).await {
            match at {
                AtPath::File(hash) => drop(found.hashes.insert(path, hash)),
                AtPath::Unhashed => {
                    let why = format!("the content of {path:?} cannot be checked on this machine");
                    found.unknown.insert(origin.to_owned(), why);
                }
                AtPath::Nothing => {}
            }
        }
    }
    found
}
