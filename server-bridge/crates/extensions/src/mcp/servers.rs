//! The servers of a user on a machine, from the documents of all layers.
//!
//! Of servers with the same name the administrator's is used, else the user's own, else that of the workspace's local document, else
//! that of the workspace. A workspace's server is used only after its user approved the hash of what runs.

use std::collections::{HashMap, HashSet};

use agent::library::beginning;
use api::mcp::McpServerEntry;
use api::words::{ExtensionLayer, McpServerState, McpTransport};
use futures_util::future::join_all;
use sandbox::Sandbox;
use serde_json::{Map, Value};
use store::UserId;

use super::Inner;
use super::config::{self, Entry, Spec};
use super::names;
use crate::documents::{hashes, managed};
use crate::limits::{EXTENSION_SCRIPTS, MCP_FILE_BYTES};

/// The administrator's file in the server's home directory.
const MANAGED: &str = "mcp.json";

/// The kind of the approvals of servers.
pub(super) const TRUST: &str = "mcp-server";

/// The name of the user's own servers, for people.
const OWN: &str = "your servers";

/// The files of a workspace: of two servers with the same name the first one is used.
const OF_WORKSPACE: [(&str, ExtensionLayer); 3] = [
    (".sandbridge/mcp.local.json", ExtensionLayer::WorkspaceLocal),
    (".sandbridge/mcp.json", ExtensionLayer::Workspace),
    (".mcp.json", ExtensionLayer::Workspace),
];

/// A server.
#[derive(Clone, Debug)]
pub(super) struct Server {
    pub(super) name: String,
    pub(super) spec: Spec,
    /// The hash of what runs.
    pub(super) hash: String,
    pub(super) layer: ExtensionLayer,
    pub(super) origin: String,
    pub(super) state: McpServerState,
}

/// The servers, and what is wrong with the documents that define them.
#[derive(Debug, Default)]
pub(super) struct Servers {
    pub(super) all: Vec<Server>,
    pub(super) problems: Vec<String>,
}

/// A document that was found.
struct Found {
    layer: ExtensionLayer,
    origin: &'static str,
    entries: Vec<Entry>,
}

impl Server {
    /// True if it is used.
    pub(super) fn is_ready(&self) -> bool {
        self.state == McpServerState::Ready
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
        let Found { layer, origin, entries } = found;
        for (name, entry) in entries {
            let spec = config::check_name(&name).and_then(|()| Spec::of(&entry?));
            let spec = match spec {
                Ok(spec) => spec,
                Err(why) => {
                    let name = agent::tool::visible::line(&name);
                    self.problems.push(format!("{origin}: the server {name:?} is left out: {why}"));
                    continue;
                }
            };
            let mut clashing =
                self.all.iter().filter(|known| names::prefix(&known.name) == names::prefix(&name));
            let state = match clashing.next() {
                Some(known) if known.name != name => {
                    self.problems.push(format!(
                        "{origin}: the server {name:?} is left out: models could not tell it from {:?}",
                        known.name
                    ));
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
                origin: origin.to_owned(),
                state,
            });
        }
    }
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
                Ok(entries) => found.push(Found { layer, origin, entries }),
                Err(why) => servers.problems.push(format!("{origin}: {why}")),
            }
        }
        let own = Found { layer: ExtensionLayer::User, origin: OWN, entries: self.own(user).await? };
        let after_managed = found.iter().take_while(|found| found.layer == ExtensionLayer::Managed).count();
        found.insert(after_managed, own);
        found.into_iter().for_each(|found| servers.add(found));
        self.seal(user, &mut servers, sandbox).await?;
        Ok(servers)
    }

    /// The user's own entries, with their secrets.
    async fn own(&self, user: UserId) -> store::Result<Vec<Entry>> {
        let servers = self.store.mcp_servers(user).await?;
        let entry = |server: store::McpServer| {
            let read = || {
                let mut entry: Map<String, Value> = serde_json::from_str(&server.entry_json)?;
                if let Some(secrets) = &server.secrets_json {
                    entry.extend(serde_json::from_str::<Map<String, Value>>(secrets)?);
                }
                serde_json::from_value::<McpServerEntry>(entry.into())
            };
            let entry = read().map_err(|error| error.to_string());
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
        let scripts_of = |server: &Server| -> Vec<String> {
            match server.needs_approval() {
                true => server.spec.scripts().into_iter().map(|script| script.path).collect(),
                false => Vec::new(),
            }
        };
        let paths: HashSet<String> = servers.all.iter().flat_map(scripts_of).collect();
        let is_countable = paths.len() <= EXTENSION_SCRIPTS;
        let known: HashMap<String, String> = match sandbox {
            Some(sandbox) if is_countable => hashes(sandbox, paths.iter().map(String::as_str)).await,
            _ => HashMap::new(),
        };
        let approved: HashSet<String> = match servers.all.iter().any(Server::needs_approval) {
            true => self.store.trusts(user, TRUST).await?.into_iter().map(|trust| trust.hash).collect(),
            false => HashSet::new(),
        };
        for server in &mut servers.all {
            let scripts: Vec<(String, Option<String>)> = scripts_of(server)
                .into_iter()
                .map(|path| (path.clone(), known.get(&path).cloned()))
                .collect();
            server.hash = server.spec.hash(&server.name, &scripts);
            // What is not hashed could change after it was approved.
            let is_approved = is_countable && approved.contains(&server.hash);
            if server.is_ready() && server.needs_approval() && !is_approved {
                server.state = McpServerState::Waiting;
            }
        }
        if !is_countable {
            servers.problems.push(format!(
                "the servers of the workspace name more than {EXTENSION_SCRIPTS} files; none of them is used"
            ));
        }
        Ok(())
    }
}
