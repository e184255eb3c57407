//! Listing, changing, checking and approving servers.

use std::collections::HashMap;
use std::sync::Arc;

use agent::tool::visible;
use api::mcp::{
    McpInstructions, McpLogin, McpLoginStart, McpServerEntry, McpServerList, McpServerView, McpToolView,
};
use api::problem::Problem;
use api::words::{McpServerState, McpToolState};
use futures_util::future::BoxFuture;
use sandbox::Sandbox;
use serde_json::json;
use store::{McpCatalogue, McpServer, User};

use super::config::{self, Address, Launch, Spec};
use super::connection::LOGIN_WANTED;
use super::credentials::ClientCredentials;
use super::listing::{Instructions, Listing, Pinned};
use super::login::{Start, Who};
use super::servers::{HAS_SECRETS, KIND, Server, Servers};
use super::{McpServers, Owner, find, names, read};
use crate::limits::MCP_LISTING_TRIES;
use crate::machine::of_place;
use crate::way_back::check_redirect;
use crate::{Error, Result, approvals, trust};

impl McpServers {
    /// The servers of a user at a place, with the tools that they listed there. No server is started.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub async fn list(&self, user: &User, on: Option<&str>) -> Result<McpServerList> {
        let found = self.found(user, on).await?;
        let mut problems = found.servers.problems.clone();
        problems.extend(
            found
                .away
                .iter()
                .map(|away| Problem::new(format!("the workspace's servers are not known: {away}"))),
        );
        let mut servers: Vec<McpServerView> =
            found.servers.all.iter().map(|server| found.view(server)).collect();
        let is_unused = |view: &McpServerView| view.state == McpServerState::Shadowed;
        servers.sort_by(|one, two| (is_unused(one), &one.name).cmp(&(is_unused(two), &two.name)));
        Ok(McpServerList { servers, problems })
    }

    /// Adds one of the user's own servers, or replaces it. Audited.
    ///
    /// # Errors
    /// [`Error::Refused`] if the definition is not valid; [`Error::Store`].
    pub async fn put(&self, user: &User, name: &str, entry: &McpServerEntry) -> Result<()> {
        let spec = config::check_name(name).and_then(|()| Spec::of(entry));
        let spec =
            spec.map_err(|why| Error::refused("invalid", format!("the server was not saved: {why}")))?;
        let store = &self.0.store;
        let others = store.mcp_servers(user.id).await?;
        let alike =
            |other: &&McpServer| other.name != name && names::prefix(&other.name) == names::prefix(name);
        if let Some(other) = others.iter().find(alike) {
            let why = format!(
                "models could not tell {name:?} from your server {:?}; choose another name",
                other.name
            );
            return Err(Error::refused("invalid", why));
        }
        let (mut kept, secrets) = match &spec.launch {
            Launch::Program { command, args, env } => {
                (json!({"command": command, "args": args}), json!({"env": env}))
            }
            Launch::Address(address) => {
                let Address { url, via, headers, credentials } = &**address;
                let client = credentials.as_ref().map(ClientCredentials::entry);
                let secrets = client.map_or_else(
                    || json!({"headers": headers}),
                    |client| json!({"headers": headers, "oauth": client}),
                );
                let mut kept = json!({"type": "http", "url": url});
                if let Some(via) = via {
                    kept["via"] = json!(via);
                }
                (kept, secrets)
            }
        };
        if let Some(timeout) = entry.timeout {
            kept["timeout"] = json!(timeout);
        }
        kept[HAS_SECRETS] = json!(!spec.secrets().is_empty());
        let server = McpServer {
            name: name.to_owned(),
            entry_json: kept.to_string(),
            secrets_json: (!spec.secrets().is_empty()).then(|| secrets.to_string()),
        };
        store.put_mcp_server(user.id, &server).await?;
        if spec.credentials().is_some() {
            // A stored token may have been issued for the previous secret, which the hash does not distinguish from
            // this one.
            store.remove_oauth_grant(user.id, name).await?;
        }
        self.0.pool.forget(|key| key.user == user.id && key.server == name);
        approvals::note(&self.0.store, user, "mcp_server.put", name, &spec.action()).await;
        Ok(())
    }

    /// Removes one of the user's own servers. Audited.
    ///
    /// # Errors
    /// [`Error::Refused`] if there is none; [`Error::Store`].
    pub async fn remove(&self, user: &User, name: &str) -> Result<()> {
        if !self.0.store.remove_mcp_server(user.id, name).await? {
            let why =
                format!("you have no MCP server {name:?} of your own; see `sandbridge mcp-server list`");
            return Err(Error::refused("not_found", why));
        }
        self.0.store.remove_oauth_grant(user.id, name).await?;
        self.0.pool.forget(|key| key.user == user.id && key.server == name);
        approvals::note(&self.0.store, user, "mcp_server.remove", name, "").await;
        Ok(())
    }

    /// Connects to a server, asks it for its tools, and returns it with them.
    ///
    /// # Errors
    /// [`Error::Refused`] with the reason if it cannot be used, or does not answer; [`Error::Store`].
    pub async fn check(&self, user: &User, name: &str, on: Option<&str>) -> Result<McpServerView> {
        let found = self.found(user, on).await?;
        let server = found.named(name)?;
        if !server.is_ready() {
            return Err(waits(name));
        }
        if server.is_program()
            && let Some(away) = &found.away
        {
            return Err(Error::refused("unavailable", format!("the MCP server {name:?} cannot run: {away}")));
        }
        let sandbox = found.sandbox.as_ref().filter(|_| server.is_program());
        let owner = Owner { user: user.clone(), chat: None };
        let (inner, server, sandbox) = (Arc::clone(&self.0), server.clone(), sandbox.cloned());
        // A separate connection, which ends with this check even if the caller does not wait.
        let checked = self.0.tasks.spawn(async move {
            let sandbox = sandbox.as_ref();
            let connection = inner.connect(&owner, &server, sandbox).await.map_err(|refused| refused.why)?;
            inner.listed(&owner, &server, sandbox.map(Sandbox::place), &connection).await.map(drop)
        });
        let checked = checked
            .await
            .unwrap_or_else(|_| Err("an internal error of Sandbridge; its log says more".to_owned()));
        if let Err(why) = checked {
            if why == LOGIN_WANTED {
                let why =
                    format!("the MCP server {name:?} requires a login: `sandbridge mcp-server login {name}`");
                return Err(Error::refused("login_required", why));
            }
            return Err(Error::refused(
                "mcp_failed",
                format!("the MCP server {name:?} cannot be used: {why}"),
            ));
        }
        // The next turn need not wait before it tries again.
        self.0.failures.forget(user.id, name);
        let found = self.found(user, on).await?;
        Ok(found.view(found.named(name)?))
    }

    /// Begins a login to a server; returns the page for the user's browser. `own` is this server's public address.
    ///
    /// # Errors
    /// [`Error::Refused`] if the server requires no login, or its provider refuses; [`Error::Store`].
    pub async fn login(
        &self,
        user: &User,
        name: &str,
        start: &McpLoginStart,
        own: Option<&str>,
        on: Option<&str>,
    ) -> Result<McpLogin> {
        check_redirect(&start.redirect_uri, own).map_err(|why| Error::refused("invalid", why))?;
        let found = self.found(user, on).await?;
        let server = found.named(name)?;
        let Launch::Address(address) = &server.spec.launch else {
            let why =
                format!("the MCP server {name:?} is a program; only servers with an address have logins");
            return Err(Error::refused("invalid", why));
        };
        if server.spec.credentials().is_some() {
            let why = format!("the MCP server {name:?} has credentials of its own, and needs no login");
            return Err(Error::refused("invalid", why));
        }
        if !server.is_ready() {
            return Err(waits(name));
        }
        let who = Who::of(user.id, server);
        let start = Start {
            redirect_uri: &start.redirect_uri,
            client_id: start.client_id.as_deref(),
            client_secret: start.client_secret.as_deref(),
        };
        let inner = &self.0;
        let way = inner.way(user, address);
        let begun = inner.logins.begin(&inner.store, &way, &who, &address.url, &start).await;
        let failed = |why| {
            Error::refused(
                "mcp_failed",
                format!("the login to the MCP server {name:?} could not be started: {why}"),
            )
        };
        Ok(McpLogin { url: begun.map_err(failed)? })
    }

    /// Ends a login with the address to which the provider sent the browser back; returns the server's name. Audited.
    ///
    /// # Errors
    /// [`Error::Refused`] if no login of this user waits for it, or the provider refuses; [`Error::Store`].
    pub async fn end_login(&self, user: &User, url: &str) -> Result<String> {
        let inner = &self.0;
        let done = inner.logins.end(&inner.store, user.id, url).await;
        let failed = |why| Error::refused("mcp_failed", format!("the login to the MCP server failed: {why}"));
        let Who { server, .. } = done.map_err(failed)?;
        inner.pool.forget(|key| key.user == user.id && key.server == server);
        inner.failures.forget(user.id, &server);
        approvals::note(&self.0.store, user, "mcp_server.login", &server, "").await;
        Ok(server)
    }

    /// Forgets the login to a server. Audited.
    ///
    /// # Errors
    /// [`Error::Refused`] if there is none; [`Error::Store`].
    pub async fn logout(&self, user: &User, name: &str) -> Result<()> {
        if !self.0.store.remove_oauth_grant(user.id, name).await? {
            return Err(Error::refused(
                "not_found",
                format!("you are not logged in to the MCP server {name:?}"),
            ));
        }
        self.0.pool.forget(|key| key.user == user.id && key.server == name);
        approvals::note(&self.0.store, user, "mcp_server.logout", name, "").await;
        Ok(())
    }

    /// Accepts the changed tools and instructions of a server, by the hash of the changes that the user saw. Audited.
    ///
    /// # Errors
    /// [`Error::Refused`] if they changed again, or if no tool changed; [`Error::Store`].
    pub async fn accept(&self, user: &User, name: &str, hash: &str, on: Option<&str>) -> Result<()> {
        for _ in 0..MCP_LISTING_TRIES {
            let found = self.found(user, on).await?;
            let server = found.named(name)?;
            let catalogue = found.catalogue(server);
            let listing = catalogue.and_then(|catalogue| read(catalogue, server)).unwrap_or_default();
            let Some(catalogue) = catalogue.filter(|_| listing.changes().as_deref() == Some(hash)) else {
                let why = format!(
                    "the tools of the MCP server {name:?} changed again, or none waits for you: look again with `sandbridge mcp-server accept \
                     {name}`"
                );
                return Err(Error::refused("not_found", why));
            };
            let mut accepted = listing;
            accepted.accept();
            let after = McpCatalogue {
                listing_json: serde_json::to_string(&accepted).unwrap_or_default(),
                ..catalogue.clone()
            };
            if self.0.store.put_mcp_catalogue(user.id, &after, Some(&catalogue.listing_json)).await? {
                approvals::note(&self.0.store, user, "mcp_server.accept", name, hash).await;
                return Ok(());
            }
        }
        Err(Error::refused("conflict", "the server listed its tools at the same time; try again"))
    }

    /// Approves a waiting server of a workspace. Audited.
    ///
    /// # Errors
    /// [`Error::Refused`] if no server with this hash waits; [`Error::Store`].
    pub async fn approve(&self, user: &User, hash: &str, on: Option<&str>) -> Result<()> {
        let found = self.found(user, on).await?;
        let is_it = |server: &&Server| {
            server.state == McpServerState::Waiting && server.is_approvable && server.hash == hash
        };
        let Some(server) = found.servers.all.iter().find(is_it) else {
            return Err(Error::refused(
                "not_found",
                "no MCP server with this hash waits for approval; it may have changed since you looked at it: see `sandbridge \
                 mcp-server list`",
            ));
        };
        approvals::approve(&self.0.store, user, found.sandbox.as_ref(), &item(server).approval(KIND)).await
    }

    /// Revokes an approval; the server is ended. Audited.
    ///
    /// # Errors
    /// [`Error::Refused`] if it was not approved; [`Error::Store`].
    pub async fn revoke(&self, user: &User, hash: &str) -> Result<()> {
        if !approvals::revoke(&self.0.store, user, KIND, hash).await? {
            return Err(Error::refused(
                "not_found",
                "you approved no MCP server with this hash; see `sandbridge mcp-server list`",
            ));
        }
        trust::Source::revoked(self, user, hash);
        Ok(())
    }

    async fn found(&self, user: &User, on: Option<&str>) -> Result<Found> {
        let inner = &self.0;
        let (sandbox, away) = of_place(&inner.ledger, user, on).await;
        let servers = inner.servers(user.id, sandbox.as_ref()).await?;
        let place = sandbox.as_ref().map(Sandbox::place);
        let catalogues = inner.store.mcp_catalogues(user.id, place).await?;
        let logins = inner.store.oauth_grants(user.id).await?;
        Ok(Found { servers, sandbox, away, catalogues, logins })
    }
}

impl trust::Source for McpServers {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn items<'a>(
        &'a self,
        user: &'a User,
        sandbox: &'a Sandbox,
    ) -> BoxFuture<'a, store::Result<trust::Items>> {
        Box::pin(async move {
            let servers = self.0.servers(user.id, Some(sandbox)).await?;
            let of_workspace =
                |server: &&Server| server.needs_approval() && server.state != McpServerState::Shadowed;
            let items = servers.all.iter().filter(of_workspace).map(item).collect();
            Ok(trust::Items { items, problems: Vec::new() })
        })
    }

    fn revoked(&self, user: &User, hash: &str) {
        self.0.pool.forget(|key| key.user == user.id && key.hash == hash);
    }
}

/// A workspace's server, as an item that needs approval.
fn item(server: &Server) -> trust::Item {
    trust::Item {
        name: server.name.clone(),
        origin: server.origin.clone(),
        action: std::iter::once(server.spec.action())
            .chain(server.spec.told_secrets())
            .collect::<Vec<_>>()
            .join("\n"),
        hash: server.hash.clone(),
        files: server.files.clone(),
        unseen: server.unseen.clone(),
        is_approved: server.is_ready(),
        is_approvable: server.is_approvable,
    }
}

/// The error for a workspace's server that was not approved.
fn waits(name: &str) -> Error {
    Error::refused(
        "approval_required",
        format!(
            "the MCP server {name:?} waits for your approval: look at it with `sandbridge mcp-server approve {name}`, or under MCP \
             servers in the settings"
        ),
    )
}

/// The servers at a place, with the tools that they listed.
struct Found {
    servers: Servers,
    sandbox: Option<Sandbox>,
    /// The reason why the machine cannot be reached, if it cannot.
    away: Option<String>,
    catalogues: Vec<McpCatalogue>,
    /// The servers that the user is logged in to, with the hashes of their definitions.
    logins: Vec<(String, String)>,
}

impl Found {
    fn named(&self, name: &str) -> Result<&Server> {
        self.servers.named(name).ok_or_else(|| {
            let known: Vec<&str> = self.servers.all.iter().map(|server| server.name.as_str()).collect();
            let known = if known.is_empty() {
                "no servers are defined".to_owned()
            } else {
                format!("the servers are {}", known.join(", "))
            };
            Error::refused("not_found", format!("there is no MCP server {name:?} here; {known}"))
        })
    }

    fn catalogue(&self, server: &Server) -> Option<&McpCatalogue> {
        find(&self.catalogues, server, self.sandbox.as_ref().map(Sandbox::place))
    }

    fn view(&self, server: &Server) -> McpServerView {
        let catalogue = self.catalogue(server);
        let listing = catalogue.and_then(|catalogue| read(catalogue, server));
        let listed_at = catalogue.filter(|_| listing.is_some()).map(|catalogue| catalogue.listed_at_ms);
        let listing = listing.unwrap_or_default();
        McpServerView {
            name: server.name.clone(),
            layer: server.layer.clone(),
            origin: server.origin.clone(),
            transport: server.spec.transport(),
            action: server.spec.action(),
            secrets: match server.needs_approval() {
                true => server.spec.told_secrets(),
                false => server.spec.secrets(),
            },
            files: server.files.iter().map(|(path, _)| path.clone()).collect(),
            unseen: server.unseen.clone(),
            hash: server.hash.clone(),
            state: server.state.clone(),
            tools: tools(server, &listing),
            instructions: instructions(&listing),
            icon: listing.icon.clone(),
            listed_at,
            logged_in: server.spec.credentials().is_none()
                && self.logins.iter().any(|(name, hash)| *name == server.name && *hash == server.hash),
            changes: listing.changes(),
        }
    }
}

fn instructions(listing: &Listing) -> Option<McpInstructions> {
    let Instructions { accepted, changed, is_absent } = &listing.instructions;
    let text = visible::lines(accepted);
    (!is_absent && !text.is_empty())
        .then(|| McpInstructions { text, changed: changed.as_deref().map(visible::lines) })
}

fn tools(server: &Server, listing: &Listing) -> Vec<McpToolView> {
    // Of several tools that models would call by the same name, the first one is offered.
    let mut named: HashMap<String, &str> = HashMap::new();
    let mut views = Vec::new();
    for tool in listing.tools.iter().filter(|tool| !tool.is_absent) {
        let Pinned { accepted, changed, .. } = tool;
        let name = names::wire(&server.name, &accepted.name);
        let mut problem = accepted.problem();
        if tool.is_offered() {
            let first = *named.entry(name.clone()).or_insert(&accepted.name);
            problem = (first != accepted.name)
                .then(|| format!("models could not tell it from the tool {first:?}, which comes first"));
        }
        let first = accepted.description.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        views.push(McpToolView {
            name,
            tool: accepted.name.clone(),
            state: match (changed, &problem) {
                (Some(_), _) => McpToolState::Changed,
                (None, Some(_)) => McpToolState::Invalid,
                (None, None) => McpToolState::Ready,
            },
            description: first.trim().to_owned(),
            problem,
            definition: accepted.shown(),
            changed: changed.as_ref().map(super::listing::Definition::shown),
        });
    }
    views
}

#[cfg(test)]
mod tests {
    use super::super::listing::Definition;
    use super::*;

    #[test]
    fn of_tools_that_models_would_call_by_one_name_the_first_is_offered() {
        let tool = |name: &str| Definition { name: name.to_owned(), ..Definition::default() };
        let found = ["read.it", "read it", "write"].map(tool).into();
        let listing = Listing::default().after(found).unwrap();
        let views = tools(&Server::for_test("files"), &listing);
        let shown: Vec<_> = views.iter().map(|view| (view.name.as_str(), view.state.as_str())).collect();
        assert_eq!(
            shown,
            [
                ("mcp__files__read_it", "ready"),
                ("mcp__files__read_it", "invalid"),
                ("mcp__files__write", "ready")
            ]
        );
        assert!(
            views[1]
                .problem
                .as_ref()
                .is_some_and(|problem| problem.contains("\"read.it\", which comes first")),
            "{views:?}"
        );
    }
}
