//! The servers of a user on a machine, from the documents of all layers.
//!
//! Of several servers with the same name, the administrator's is used, or else the user's own, or else that of the workspace's local
//! document, or else that of the workspace. A workspace's server is used only after its user has approved the hash of what runs.

use std::sync::Arc;

use agent::library::beginning;
use api::mcp::McpServerEntry;
use api::problem::Problem;
use api::words::{ExtensionLayer, McpServerState, McpTransport};
use futures_util::future::join_all;
use rules::Named;
use sandbox::Sandbox;
use serde_json::{Map, Value};
use store::UserId;

use super::Inner;
use super::config::{self, Entry, OfWorkspace, Spec};
use super::names;
use crate::approvals::{approved, workspace_of};
use crate::covered::{Covered, covered};
use crate::documents::managed;
use crate::limits::MCP_FILE_BYTES;
use crate::plugins::Installed;

/// The administrator's file in the server's home directory.
const MANAGED: &str = "mcp.json";

/// The kind under which approvals of servers are stored.
pub(super) const KIND: &str = "mcp_server";

/// The field of a user's own server that shows that it has secrets, which are stored separately.
pub(super) const HAS_SECRETS: &str = "has_secrets";

/// The name of the user's own servers, as shown to people.
const OWN: &str = "your servers";

/// The files of a workspace: of two servers with the same name the first one is used.
const OF_WORKSPACE: [(&str, ExtensionLayer); 3] = [
    (".sandbridge/mcp.local.json", ExtensionLayer::WorkspaceLocal),
    (".sandbridge/mcp.json", ExtensionLayer::Workspace),
    (".mcp.json", ExtensionLayer::Workspace),
];

/// A server of a user, from any layer.
#[derive(Clone, Debug)]
pub(super) struct Server {
    pub(super) name: String,
    pub(super) spec: Spec,
    /// The hash of what runs.
    pub(super) hash: String,
    pub(super) layer: ExtensionLayer,
    pub(super) origin: String,
    pub(super) state: McpServerState,
    /// The files of the workspace that its approval covers, each with the SHA-256 of its content.
    pub(super) files: Vec<(String, String)>,
    /// Descriptions of what it may run that its approval does not cover.
    pub(super) unseen: Vec<String>,
    /// True if it can be approved: everything that its command names is known.
    pub(super) is_approvable: bool,
    /// The plugin that it belongs to: the plugin's files are copied to the machine before the server starts.
    pub(super) plugin: Option<Arc<Installed>>,
    /// The prefix of its tools' names.
    prefix: String,
}

/// The servers, and the problems of the documents that define them.
#[derive(Debug, Default)]
pub(super) struct Servers {
    pub(super) all: Vec<Server>,
    pub(super) problems: Vec<Problem>,
}

/// The prefix of the names of a plugin's servers.
pub(super) fn of_plugin(plugin: &str) -> String {
    format!("plugin_{plugin}_")
}

/// A document that was found.
struct Found {
    layer: ExtensionLayer,
    origin: String,
    entries: Vec<Entry>,
    plugin: Option<Arc<Installed>>,
}

impl Server {
    /// A server with this name, which is a program.
    #[cfg(test)]
    pub(super) fn for_test(name: &str) -> Self {
        let entry = McpServerEntry { command: Some("true".to_owned()), ..McpServerEntry::default() };
        let mut servers = Servers::default();
        servers.add(Found {
            layer: ExtensionLayer::User,
            origin: OWN.to_owned(),
            plugin: None,
            entries: vec![(name.to_owned(), Ok(entry))],
        });
        servers.all.remove(0)
    }

    /// True if the server is used.
    pub(super) fn is_ready(&self) -> bool {
        self.state == McpServerState::Ready
    }

    /// The hash that identifies the server for its tools.
    pub(super) fn identity(&self) -> String {
        self.spec.identity(&self.name)
    }

    /// True if it is a program on the user's machine.
    pub(super) fn is_program(&self) -> bool {
        self.spec.transport() == McpTransport::Stdio
    }

    /// True if it needs its user's approval.
    pub(super) fn needs_approval(&self) -> bool {
        matches!(self.layer, ExtensionLayer::Workspace | ExtensionLayer::WorkspaceLocal)
    }
}

impl Servers {
    /// The server that is used under a name.
    pub(super) fn named(&self, name: &str) -> Option<&Server> {
        self.all.iter().find(|server| server.name == name && server.state != McpServerState::Shadowed)
    }

    fn add(&mut self, found: Found) {
        let Found { layer, origin, entries, plugin } = found;
        for (name, entry) in entries {
            let spec = config::check_name(&name).and_then(|()| Spec::of(&entry?));
            let spec = match spec {
                Ok(spec) => spec,
                Err(why) => {
                    let name = agent::tool::visible::line(&name);
                    let text = format!("the server {name:?} is left out: {why}");
                    self.problems.push(Problem::of(&origin, text));
                    continue;
                }
            };
            let prefix = names::prefix(&name);
            let mut clashing = self.all.iter().filter(|known| known.prefix == prefix);
            let state = match clashing.next() {
                Some(known) if known.name != name => {
                    let text = format!(
                        "the server {name:?} is left out: models could not tell it from {:?}",
                        known.name
                    );
                    self.problems.push(Problem::of(&origin, text));
                    continue;
                }
                Some(_) => McpServerState::Shadowed,
                None => McpServerState::Ready,
            };
            self.all.push(Server {
                name,
                spec,
                hash: String::new(),
                layer: layer.clone(),
                origin: origin.clone(),
                plugin: plugin.clone(),
                state,
                files: Vec::new(),
                unseen: Vec::new(),
                is_approvable: true,
                prefix,
            });
        }
    }
}

/// The definition of a user's own server.
fn own_entry(server: &store::McpServer) -> Result<McpServerEntry, String> {
    let read = |json: &str| serde_json::from_str::<Map<String, Value>>(json).unwrap_or_default();
    let mut entry = read(&server.entry_json);
    let has_secrets = entry.remove(HAS_SECRETS) == Some(Value::Bool(true));
    match &server.secrets_json {
        Some(secrets) => entry.extend(read(secrets)),
        None if has_secrets => {
            return Err(
                "its secrets cannot be decrypted, since the key is lost; add the server again".to_owned()
            );
        }
        None => {}
    }
    config::entry_of(&Value::Object(entry))
}

impl Inner {
    /// The servers of a user on a machine, if one can be reached.
    pub(super) async fn servers(&self, user: UserId, sandbox: Option<&Sandbox>) -> store::Result<Servers> {
        let mut servers = Servers::default();
        let mut texts: Vec<(ExtensionLayer, &'static str, String)> = Vec::new();
        if let Some(text) = managed(&self.home, MANAGED, MCP_FILE_BYTES).await {
            texts.push((ExtensionLayer::Managed, MANAGED, text));
        }
        if let Some(sandbox) = sandbox {
            let read = OF_WORKSPACE.map(|(file, layer)| async move {
                // A file that cannot be read defines nothing.
                let text = beginning(sandbox, file, MCP_FILE_BYTES).await.ok().flatten()?;
                Some((layer, file, text))
            });
            texts.extend(join_all(read).await.into_iter().flatten());
        }
        let mut found: Vec<Found> = Vec::new();
        for (layer, origin, text) in texts {
            match config::entries(&text) {
                Ok(entries) => found.push(Found { layer, origin: origin.to_owned(), entries, plugin: None }),
                Err(why) => servers.problems.push(Problem::of(origin, why)),
            }
        }
        let entries = self.own(user).await?;
        let own = Found { layer: ExtensionLayer::User, origin: OWN.to_owned(), entries, plugin: None };
        let after_managed = found.iter().take_while(|found| found.layer == ExtensionLayer::Managed).count();
        let of_plugins = self.of_plugins(user, sandbox, &mut servers.problems).await?;
        found.splice(after_managed..after_managed, std::iter::once(own).chain(of_plugins));
        found.into_iter().for_each(|found| servers.add(found));
        self.seal(user, &mut servers, sandbox).await?;
        Ok(servers)
    }

    /// The servers of the user's plugins, named `plugin_PLUGIN_SERVER` as in similar products.
    async fn of_plugins(
        &self,
        user: UserId,
        sandbox: Option<&Sandbox>,
        problems: &mut Vec<Problem>,
    ) -> store::Result<Vec<Found>> {
        let workspace = sandbox.map_or(".", |sandbox| sandbox.facts().workspace.as_str());
        let mut found = Vec::new();
        for plugin in self.plugins.of(user).await? {
            if plugin.plugin.servers.is_empty() {
                continue;
            }
            let origin = format!("plugin {}", plugin.name);
            let mut document = plugin.plugin.servers_document();
            plugin.variables(workspace).fill_json(&mut document);
            match config::entries(&document.to_string()) {
                Ok(entries) => {
                    let named = |(name, entry): Entry| (format!("{}{name}", of_plugin(&plugin.name)), entry);
                    let entries = entries.into_iter().map(named).collect();
                    let plugin = Some(Arc::clone(&plugin));
                    found.push(Found { layer: ExtensionLayer::User, origin, entries, plugin });
                }
                Err(why) => problems.push(Problem::of(origin, why)),
            }
        }
        Ok(found)
    }

    /// The user's own entries, with their secrets.
    pub(super) async fn own(&self, user: UserId) -> store::Result<Vec<Entry>> {
        let servers = self.store.mcp_servers(user).await?;
        let entry = |server: store::McpServer| {
            let entry = own_entry(&server);
            (server.name, entry)
        };
        Ok(servers.into_iter().map(entry).collect())
    }

    /// Computes the hashes, and finds out which servers of the workspace were approved.
    async fn seal(
        &self,
        user: UserId,
        servers: &mut Servers,
        sandbox: Option<&Sandbox>,
    ) -> store::Result<()> {
        let Some(sandbox) = sandbox.filter(|_| servers.all.iter().any(Server::needs_approval)) else {
            servers.all.iter_mut().for_each(|server| server.hash = server.spec.hash(&server.name, None));
            return Ok(());
        };
        let of_workspace = servers.all.iter().filter(|server| server.needs_approval());
        let named: Vec<Named> = of_workspace.map(|server| server.spec.named()).collect();
        let covered = covered(sandbox, &named).await;
        if let Err(why) = &covered {
            let text = format!("none of the servers of the workspace is used: {why}");
            servers.problems.push(Problem::new(text));
        }
        let is_countable = covered.is_ok();
        let mut covered = covered.unwrap_or_default().into_iter();
        let approved = approved(&self.store, user, KIND).await?;
        let workspace = workspace_of(sandbox);
        for server in &mut servers.all {
            if !server.needs_approval() {
                server.hash = server.spec.hash(&server.name, None);
                continue;
            }
            let Covered { files, unseen, unknown } = covered.next().unwrap_or_default();
            let of = OfWorkspace { workspace: &workspace, files: &files };
            server.hash = server.spec.hash(&server.name, Some(&of));
            (server.files, server.unseen) = (files, unseen);
            // Anything that is not hashed could change after the approval.
            let is_hashed = is_countable && unknown.is_none();
            if server.is_ready() && !(is_hashed && approved.contains(&server.hash)) {
                server.state = McpServerState::Waiting;
            }
            server.is_approvable = is_hashed;
            if let Some(why) = unknown {
                let text = format!("the server {:?} is not used: {why}", server.name);
                servers.problems.push(Problem::of(&server.origin, text));
            }
        }
        Ok(())
    }
}
