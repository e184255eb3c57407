//! The documents of all layers: the administrator's file, the user's own document, and files of the workspace.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use agent::library::beginning;
use futures_util::future::join_all;
use hooks::config::{Format, Problem, Severity};
use hooks::handler::{Action, Handler, PROJECT_DIRS};
use hooks::layers::{Checks, Files, Source, Trouble};
use hooks::{Layer, Loaded};
use rules::Named;
use rules::named::{of_line, of_words};
use sandbox::Sandbox;
use store::UserId;

use super::Inner;
use crate::approvals::{approved, workspace_of};
use crate::condition::Grammar;
use crate::covered::covered;
use crate::documents::managed;
use crate::limits::HOOK_FILE_BYTES;
use crate::plugins::Installed;

/// The administrator's file in the server's home directory.
const MANAGED: &str = "hooks.json";

/// The kind under which approvals of hooks are stored.
pub(super) const KIND: &str = "hook";

/// The name of the user's own document, for people.
pub(super) const OWN: &str = "your hooks";

/// The files of a workspace.
const OF_WORKSPACE: [(&str, Layer, Format); 4] = [
    (".sandbridge/hooks.json", Layer::Workspace, Format::Own),
    (".claude/settings.json", Layer::Workspace, Format::Settings),
    (".sandbridge/hooks.local.json", Layer::WorkspaceLocal, Format::Own),
    (".claude/settings.local.json", Layer::WorkspaceLocal, Format::Settings),
];

/// The documents that were found, and the user's plugins.
pub(super) struct Documents {
    found: Vec<Found>,
    /// All of the user's plugins: a turn uses these copies until it ends, whatever is installed meanwhile.
    pub(super) plugins: Vec<Arc<Installed>>,
}

/// A document of hooks that was found.
struct Found {
    layer: Layer,
    format: Format,
    origin: String,
    /// The workspace's location, for a document of a workspace.
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
            // Another product's settings and plugins have no switch for commands: the user's approval, or the installation, takes
            // its place.
            enables_commands: matches!(self.format, Format::Settings | Format::Plugin),
        }
    }
}

impl Inner {
    /// All documents for a user on a machine, if one can be reached. `others` are machines whose workspaces' documents apply too.
    pub(super) async fn documents(
        &self,
        user: UserId,
        sandbox: Option<&Sandbox>,
        others: &[Sandbox],
    ) -> store::Result<Documents> {
        let own = self.store.hook_document(user).await?;
        self.documents_with(user, own, sandbox, others).await
    }

    /// All documents for a user if `own` is the user's own one.
    pub(super) async fn documents_with(
        &self,
        user: UserId,
        own: Option<String>,
        sandbox: Option<&Sandbox>,
        others: &[Sandbox],
    ) -> store::Result<Documents> {
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
        let own = own.map(|text| of_server(Layer::User, OWN, text));
        let mut found: Vec<Found> = managed.into_iter().chain(own).collect();
        let workspace = sandbox.map_or("", |sandbox| sandbox.facts().workspace.as_str());
        let plugins = self.plugins.of(user).await?;
        for plugin in &plugins {
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
        let here = sandbox.into_iter().map(|sandbox| of_workspace(sandbox, None));
        let others = others.iter().map(|sandbox| of_workspace(sandbox, Some(sandbox.place())));
        found.extend(join_all(here.chain(others)).await.into_iter().flatten());
        Ok(Documents { found, plugins })
    }

    /// The hooks of documents: those that run, those that wait for approval, and the problems of the others.
    pub(super) async fn load(
        &self,
        user: UserId,
        documents: &Documents,
        sandboxes: impl IntoIterator<Item = &Sandbox>,
    ) -> store::Result<Loaded> {
        let documents = &documents.found;
        if documents.is_empty() {
            return Ok(Loaded::default());
        }
        let approved = approved(&self.store, user, KIND).await?;
        let load = |documents: &[&Found], known: &Known| {
            let sources: Vec<Source<'_>> = documents.iter().map(|document| document.source()).collect();
            hooks::load(
                &sources,
                &Checks {
                    is_approved: &|hash| approved.contains(hash.as_str()),
                    files: &|source, handler| match source.layer.needs_approval() {
                        true => {
                            let key = (source.workspace.map(str::to_owned), words_of(handler));
                            known.files.get(&key).cloned().unwrap_or_default()
                        }
                        false => Files::default(),
                    },
                    condition: &Grammar,
                    callback: &|name, input, event| self.callbacks.check(name, input, event),
                },
            )
        };
        let all: Vec<&Found> = documents.iter().collect();
        let first = load(&all, &Known::default());
        let known = known(&first, sandboxes).await;
        if known.files.is_empty() && known.unknown.is_empty() {
            return Ok(first);
        }
        // A file that is not hashed could change after its approval; the other documents are not affected.
        let kept: Vec<&Found> =
            all.into_iter().filter(|document| !known.unknown.contains_key(&document.origin)).collect();
        let mut loaded = load(&kept, &known);
        for (origin, why) in known.unknown {
            let text = format!("none of its hooks are used: {why}");
            let problem = Problem { severity: Severity::Refused, place: String::new(), event: None, text };
            loaded.troubles.push(Trouble { layer: Layer::Workspace, origin, problem });
        }
        Ok(loaded)
    }
}

/// The documents of a workspace. `place` is named in their origins if it is not the machine of the turn.
async fn of_workspace(sandbox: &Sandbox, place: Option<&str>) -> Vec<Found> {
    let read = OF_WORKSPACE.map(|(file, layer, format)| async move {
        // A file that cannot be read defines nothing.
        let text = beginning(sandbox, file, HOOK_FILE_BYTES).await.ok().flatten()?;
        let origin = place.map_or_else(|| file.to_owned(), |place| format!("{place}: {file}"));
        let workspace = Some(workspace_of(sandbox));
        Some(Found { layer, format, origin, workspace, plugin_root: None, text })
    });
    join_all(read).await.into_iter().flatten().collect()
}

/// The files that the commands of a workspace name.
#[derive(Default)]
struct Known {
    /// The files of each command, by the command's workspace and words.
    files: HashMap<(Option<String>, Vec<String>), Files>,
    /// The documents whose files cannot all be hashed, with the reason.
    unknown: BTreeMap<String, String>,
}

/// The words of a handler's command: only the line for a shell, or a program and its arguments; none for other handlers.
fn words_of(handler: &Handler) -> Vec<String> {
    let Action::Command { command, args } = &handler.action else { return Vec::new() };
    // A line and a program without arguments are not the same.
    let args = args.as_ref().map(|args| std::iter::once(&String::new()).chain(args).cloned().collect());
    std::iter::once(command.clone()).chain(args.unwrap_or(Vec::new())).collect()
}

/// The files that a handler's command names.
pub(super) fn named(handler: &Handler) -> Named {
    match &handler.action {
        Action::Command { command, args: None } => of_line(command, &PROJECT_DIRS),
        Action::Command { command, args: Some(args) } => {
            of_words(std::iter::once(command).chain(args).map(String::as_str), [], &PROJECT_DIRS)
        }
        _ => Named::default(),
    }
}

/// Hashes the files that commands of the workspace name: a change of one needs another approval.
async fn known(loaded: &Loaded, sandboxes: impl IntoIterator<Item = &Sandbox>) -> Known {
    let mut known = Known::default();
    let sandboxes: HashMap<String, &Sandbox> =
        sandboxes.into_iter().map(|sandbox| (workspace_of(sandbox), sandbox)).collect();
    let mut commands: BTreeMap<&str, (&Option<String>, Vec<&Handler>)> = BTreeMap::new();
    let hooks = loaded.hooks.all().iter().chain(&loaded.waiting).chain(&loaded.inert);
    for hook in hooks.filter(|hook| hook.layer.needs_approval()) {
        let (_, handlers) = commands.entry(&hook.origin).or_insert((&hook.workspace, Vec::new()));
        handlers.push(&hook.handler);
    }
    for (origin, (workspace, handlers)) in commands {
        let Some(sandbox) = workspace.as_ref().and_then(|workspace| sandboxes.get(workspace)) else {
            continue;
        };
        let names: Vec<Named> = handlers.iter().map(|handler| named(handler)).collect();
        let found = match covered(sandbox, &names).await {
            Ok(found) => found,
            Err(why) => {
                known.unknown.insert(origin.to_owned(), why);
                continue;
            }
        };
        for (handler, found) in handlers.iter().zip(found) {
            if let Some(why) = found.unknown {
                known.unknown.insert(origin.to_owned(), why);
            }
            let key = (workspace.clone(), words_of(handler));
            known.files.insert(key, Files { covered: found.files, unseen: found.unseen });
        }
    }
    known
}
