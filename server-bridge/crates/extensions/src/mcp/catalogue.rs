//! Listing a server's tools, and comparing them with what was accepted.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::join_all;
use sandbox::Sandbox;
use store::{McpCatalogue, UserId};
use tokio::time::{Instant, timeout};

use super::connection::{Connection, Refused, Verified};
use super::listing::{Definition, Listing};
use super::prompts::ServerPrompt;
use super::servers::Server;
use super::{Inner, Owner, find, place_of, read, unread};
use crate::limits::{
    MCP_FAILURES_KEPT, MCP_FIRST_LISTING_PATIENCE, MCP_LISTING_FRESH, MCP_LISTING_TRIES, MCP_RETRY_AFTER,
};

/// A user's server at a place, with the hash of what runs.
type Key = (UserId, String, String, String);

/// The servers that could not be asked for their tools, or listed none, each with the time and the reason.
#[derive(Default)]
pub(super) struct Failures(Mutex<HashMap<Key, (Instant, String)>>);

impl Failures {
    fn all(&self) -> MutexGuard<'_, HashMap<Key, (Instant, String)>> {
        // Each change is a single step, so the data stays consistent if another thread panics.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lately(&self, key: &Key) -> Option<String> {
        let failures = self.all();
        let (when, why) = failures.get(key)?;
        (when.elapsed() < MCP_RETRY_AFTER).then(|| why.clone())
    }

    fn note(&self, key: Key, why: &str) {
        let mut failures = self.all();
        if failures.len() >= MCP_FAILURES_KEPT {
            failures.retain(|_, (when, _)| when.elapsed() < MCP_RETRY_AFTER);
        }
        if failures.len() < MCP_FAILURES_KEPT {
            failures.insert(key, (Instant::now(), why.to_owned()));
        }
    }

    /// Forgets the failures of a user's server.
    pub(super) fn forget(&self, user: UserId, server: &str) {
        self.all().retain(|(whose, _, name, _), _| *whose != user || name != server);
    }
}

fn key(owner: &Owner, server: &Server, place: Option<&str>) -> Key {
    (owner.user.id, place_of(server, place), server.name.clone(), server.hash.clone())
}

impl Inner {
    /// The listing of each of these servers. A server that has never listed anything here is asked. The caller waits for a
    /// moment; after that, the request continues in the background.
    pub(super) async fn listings(
        self: &Arc<Self>,
        owner: &Owner,
        servers: &[Arc<Server>],
        sandbox: Option<&Sandbox>,
    ) -> store::Result<Vec<Result<Listing, String>>> {
        let place = sandbox.map(Sandbox::place);
        let known = self.store.mcp_catalogues(owner.user.id, place).await?;
        // If the mode is unknown, the more careful assumption is made.
        let is_plan = self.is_plan(owner).await.unwrap_or(true);
        let listing = |server: &Arc<Server>| {
            let known = find(&known, server, place).and_then(|found| read(found, server));
            let server = Arc::clone(server);
            async move {
                let key = key(owner, &server, place);
                match (known, self.failures.lately(&key)) {
                    // A server that listed nothing may have more to offer by now.
                    (Some(listing), lately) if !listing.tools.is_empty() || lately.is_some() => {
                        return Ok(listing);
                    }
                    (None, Some(why)) => return Err(why),
                    _ if is_plan => {
                        return Err("its tools were never listed here, and it is not contacted in plan mode; check it first".to_owned());
                    }
                    _ => {}
                }
                let (inner, owner, sandbox) = (Arc::clone(self), owner.clone(), sandbox.cloned());
                let listed = self.tasks.spawn(async move {
                    let listed = inner.list(&owner, &server, sandbox.as_ref()).await;
                    match &listed {
                        Ok(listing) if listing.tools.is_empty() => {
                            inner.failures.note(key, "it listed no tools")
                        }
                        Ok(_) => inner.failures.forget(owner.user.id, &server.name),
                        Err(refused) if refused.is_passing => {}
                        Err(refused) => inner.failures.note(key, &refused.why),
                    }
                    listed.map_err(|refused| refused.why)
                });
                match timeout(MCP_FIRST_LISTING_PATIENCE, listed).await {
                    Ok(Ok(listed)) => listed,
                    Ok(Err(_)) => Err("an internal error of Sandbridge; its log says more".to_owned()),
                    Err(_) => {
                        Err("it is still starting; its tools are available from the next message on"
                            .to_owned())
                    }
                }
            }
        };
        Ok(join_all(servers.iter().map(listing)).await)
    }

    /// Connects to a server for a chat and asks it for its tools.
    ///
    /// Fails with the reason.
    async fn list(
        self: &Arc<Self>,
        owner: &Owner,
        server: &Arc<Server>,
        sandbox: Option<&Sandbox>,
    ) -> Result<Listing, Refused> {
        let connection = self.connection(owner, server, sandbox).await?;
        let listed = self.listed(owner, server, sandbox.map(Sandbox::place), &connection).await;
        Ok((*listed.map_err(Refused::of_words)?).clone())
    }

    /// The tools of a connection's server as they are now, after recording them.
    ///
    /// Fails with the reason as text.
    pub(super) async fn listed(
        &self,
        owner: &Owner,
        server: &Server,
        place: Option<&str>,
        connection: &Connection,
    ) -> Result<Arc<Listing>, String> {
        connection.touch();
        let mut verified = connection.verified.lock().await;
        let is_stale = connection.take_stale();
        if let Some(verified) =
            verified.as_ref().filter(|verified| !is_stale && verified.since.elapsed() < MCP_LISTING_FRESH)
        {
            return Ok(Arc::clone(&verified.listing));
        }
        // Until the listing is known again, nothing is called.
        *verified = None;
        let since = Instant::now();
        let found = tokio::select! {
            found = connection.tools() => (found?, connection.prompts().await),
            () = self.stop.cancelled() => return Err("Sandbridge is shutting down".to_owned()),
        };
        let listing = Arc::new(self.record(owner, server, place, connection, found).await?);
        *verified = Some(Verified { listing: Arc::clone(&listing), since });
        Ok(listing)
    }

    async fn record(
        &self,
        owner: &Owner,
        server: &Server,
        place: Option<&str>,
        connection: &Connection,
        (found, prompts): (Vec<Definition>, Vec<ServerPrompt>),
    ) -> Result<Listing, String> {
        let (user, place) = (owner.user.id, place_of(server, place));
        for _ in 0..MCP_LISTING_TRIES {
            let before = self
                .store
                .mcp_catalogue(user, &place, &server.name, &server.identity())
                .await
                .map_err(unread)?;
            let known = before.as_ref().and_then(|before| read(before, server));
            let listing = known.unwrap_or_default().after(found.clone())?;
            let mut listing = listing.saying(connection.instructions().as_deref());
            listing.prompts.clone_from(&prompts);
            listing.era = connection.era();
            listing.has_resources = connection.has_resources();
            listing.icon = connection.icon();
            // Stored even if nothing changed, because the listing that was stored longest ago is removed first.
            let catalogue = McpCatalogue {
                place: place.clone(),
                server: server.name.clone(),
                hash: server.identity(),
                listing_json: serde_json::to_string(&listing).unwrap_or_default(),
                listed_at_ms: 0,
            };
            let before = before.as_ref().map(|before| before.listing_json.as_str());
            if self.store.put_mcp_catalogue(user, &catalogue, before).await.map_err(unread)? {
                return Ok(listing);
            }
        }
        Err("its tools were listed by others at the same time; try again".to_owned())
    }

    /// Checks that a tool is still the accepted one, and the one that the turn knows.
    ///
    /// Fails with the reason as text.
    pub(super) async fn check_tool(
        &self,
        owner: &Owner,
        server: &Server,
        place: Option<&str>,
        connection: &Connection,
        definition: &Definition,
    ) -> Result<(), String> {
        let listing = self.listed(owner, server, place, connection).await?;
        let tool = agent::tool::visible::line(&definition.name);
        match listing.tools.iter().find(|known| known.accepted.name == definition.name) {
            Some(known) if known.is_offered() && known.accepted == *definition => Ok(()),
            Some(known) if known.changed.is_some() => Err(format!(
                "its tool {tool} has changed since it was accepted, and was not called. Tell the user to look at the difference with \
                 `sandbridge mcp-server accept {}`, or under MCP servers in the settings",
                server.name
            )),
            Some(known) if known.is_offered() => Err(format!(
                "its tool {tool} has changed since this turn began; it can be called from the next message on"
            )),
            _ => Err(format!("it no longer has the tool {tool}")),
        }
    }
}
