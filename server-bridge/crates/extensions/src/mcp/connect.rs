//! Connects to a server: once for all callers that wait for it, in a task that continues if they stop waiting.

use std::sync::Arc;

use agent::approval::Mode;
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::{StreamableHttpClient, StreamableHttpClientTransportConfig};
use sandbox::{Profile, Sandbox};
use store::UserId;
use tokio::time::{Instant, timeout};

use super::config::{self, Address, Launch};
use super::connection::{self, Connection, Refused};
use super::credentials::ClientCredentials;
use super::listing::Era;
use super::login::Who;
use super::pool::{Held, Key};
use super::program::{self, ProgramStatus};
use super::servers::Server;
use super::sessions::Sessions;
use super::via_client::ViaClient;
use super::watch::Listeners;
use super::way::Way;
use super::{Inner, Owner, place_of, read, unread};
use crate::limits::{MCP_CONNECT_PATIENCE, MCP_FAILURE_SHARED, MCP_LINE_BYTES};
use crate::on_record::OnRecord;

impl Inner {
    /// The connection for a chat; made if there is none.
    ///
    /// Fails with the reason.
    pub(super) async fn connection(
        self: &Arc<Self>,
        owner: &Owner,
        server: &Arc<Server>,
        sandbox: Option<&Sandbox>,
    ) -> Result<Arc<Connection>, Refused> {
        let Some(chat) = owner.chat.clone() else {
            return Err(Refused::of_words("there is no chat".to_owned()));
        };
        let is_read_only = server.is_program() && self.is_plan(owner).await.map_err(Refused::of_words)?;
        let key = Key {
            user: owner.user.id,
            chat,
            is_read_only,
            place: place_of(server, sandbox.map(Sandbox::place)),
            server: server.name.clone(),
            hash: server.hash.clone(),
            copy: server.plugin.as_ref().map(|plugin| plugin.hash.clone()),
            secret: server.spec.credentials().map(ClientCredentials::sealed),
        };
        let busy = |why| Refused { why, is_passing: true, ..Refused::default() };
        let slot = self.pool.slot(&key, server.plugin.as_ref()).map_err(busy)?;
        let mut held = Arc::clone(&slot.held).lock_owned().await;
        if let Some(connection) = held.connection() {
            connection.touch();
            return Ok(Arc::clone(connection));
        }
        if let Held::Failure(when, why) = &*held
            && when.elapsed() < MCP_FAILURE_SHARED
        {
            return Err(Refused::of_words(why.clone()));
        }
        let (inner, owner, server, sandbox) =
            (Arc::clone(self), owner.clone(), Arc::clone(server), sandbox.cloned());
        // If a caller gives up, the attempt continues: the next caller finds the connection.
        let made = self.tasks.spawn(async move {
            let made = inner.connect(&owner, &server, sandbox.as_ref()).await.map(Arc::new);
            *held = match &made {
                Ok(connection) => Held::Connection(Arc::clone(connection)),
                Err(refused) => Held::Failure(Instant::now(), refused.why.clone()),
            };
            made
        });
        made.await.unwrap_or_else(|_| {
            Err(Refused::of_words("an internal error of Sandbridge; its log says more".to_owned()))
        })
    }

    /// Connects, with all attempts, within a minute.
    ///
    /// Fails with the reason.
    pub(super) async fn connect(
        self: &Arc<Self>,
        owner: &Owner,
        server: &Server,
        sandbox: Option<&Sandbox>,
    ) -> Result<Connection, Refused> {
        let attempts = async {
            self.check_server(owner.user.id, server, sandbox).await.map_err(Refused::of_words)?;
            let place = place_of(server, sandbox.map(Sandbox::place));
            let known =
                self.store.mcp_catalogue(owner.user.id, &place, &server.name, &server.identity()).await;
            let known = known.map_err(|error| Refused::of_words(unread(error)))?;
            let era =
                known.and_then(|found| read(&found, server)).map_or(Era::Unknown, |listing| listing.era);
            let first = self.attempt(owner, server, sandbox, era).await;
            let next = match (&first, era) {
                (Ok(_), _) => None,
                (Err(refused), Era::Unknown) => refused.may_speak,
                // The server may have been updated.
                (Err(refused), _) => refused.challenge.is_none().then_some(Era::Unknown),
            };
            match next {
                Some(era) => self.attempt(owner, server, sandbox, era).await,
                None => first,
            }
        };
        let mut made = tokio::select! {
            made = timeout(MCP_CONNECT_PATIENCE, attempts) => made.unwrap_or_else(|_| {
                Err(Refused::of_words(format!("it did not answer within {} s", MCP_CONNECT_PATIENCE.as_secs())))
            }),
            () = self.stop.cancelled() => Err(Refused::of_words("Sandbridge is shutting down".to_owned())),
        };
        if let Ok(connection) = &mut made {
            connection.listeners = Listeners::new(self.tasks.clone(), self.stop.child_token());
            connection.hear_of_lists();
        }
        made
    }

    /// True if the owner's chat is in plan mode: a program that runs then can change nothing.
    pub(super) async fn is_plan(&self, owner: &Owner) -> Result<bool, String> {
        let Some(chat) = &owner.chat else { return Ok(false) };
        Ok(self.store.approval(owner.user.id, chat).await.map_err(unread)? == Mode::Plan.as_str())
    }

    /// Checks that a server is still defined and approved as it was when the turn began.
    ///
    /// Fails with the reason as text.
    async fn check_server(
        &self,
        user: UserId,
        server: &Server,
        sandbox: Option<&Sandbox>,
    ) -> Result<(), String> {
        let servers = self.servers(user, sandbox).await.map_err(unread)?;
        let now = servers.named(&server.name);
        if now.is_some_and(|now| now.is_ready() && now.hash == server.hash) {
            return Ok(());
        }
        // A turn that began before its plugin was updated keeps the copy with which it began.
        if now.is_none_or(|now| now.plugin.is_some()) && self.was_replaced(user, server).await? {
            return Ok(());
        }
        Err(format!(
            "it was changed or removed, or is not approved any more; see `sandbridge mcp-server list` for {}",
            server.name
        ))
    }

    /// True if a server belongs to a copy of a plugin in place of which another one was installed since the turn began.
    async fn was_replaced(&self, user: UserId, server: &Server) -> Result<bool, String> {
        let Some(own) = &server.plugin else { return Ok(false) };
        let now = self.plugins.of(user).await.map_err(unread)?;
        Ok(now.iter().any(|plugin| plugin.name == own.name && plugin.hash != own.hash))
    }

    async fn attempt(
        self: &Arc<Self>,
        owner: &Owner,
        server: &Server,
        sandbox: Option<&Sandbox>,
        era: Era,
    ) -> Result<Connection, Refused> {
        match &server.spec.launch {
            Launch::Address(address) => {
                let who = Who::of(owner.user.id, server);
                let connected = match self.way(&owner.user, address) {
                    Way::Machine(via) => {
                        let client = ViaClient((*via).clone());
                        self.talk(&who, address, &Way::Machine(via), client, era).await
                    }
                    Way::Server(talker) => {
                        let made = talker.client(&address.url);
                        let (client, _) = made.map_err(|error| Refused::of_words(error.to_string()))?;
                        self.talk(&who, address, &Way::Server(talker), client, era).await
                    }
                };
                connected.inspect_err(|refused| {
                    if let Some(challenge) = &refused.challenge {
                        self.logins.challenged(&who, challenge);
                    }
                })
            }
            Launch::Program { command, args, env } => {
                let Some(sandbox) = sandbox else {
                    return Err(Refused::of_words("no machine can be reached".to_owned()));
                };
                let mut request = config::request(command, args, env);
                if let Some(plugin) = &server.plugin {
                    let brought = self.plugins.bring(owner.user.id, plugin, sandbox).await;
                    brought.map_err(Refused::of_words)?;
                    let variables = plugin.variables(&sandbox.facts().workspace);
                    let pairs = variables.pairs();
                    let pairs = pairs
                        .iter()
                        .map(|(name, value)| (name.as_bytes().to_vec(), value.as_bytes().to_vec()));
                    request.env.extend(pairs);
                }
                request.profile =
                    self.is_plan(owner).await.map_err(Refused::of_words)?.then_some(Profile::ReadOnly);
                let action = server.spec.action();
                let shown = format!("MCP server {}: {action}", server.name);
                let (ledger, user, chat) = (&self.ledger, &owner.user, owner.chat.as_ref());
                let recorded = OnRecord::begin(ledger, user, chat, &request, sandbox.place(), action, shown)
                    .await
                    .map_err(|error| Refused::of_words(unread(error)))?;
                let (over, tasks) = (self.stop.child_token(), &self.tasks);
                let spawn = |task| drop(tasks.spawn(task));
                let started = program::start(recorded, sandbox, request, over.clone(), spawn).await;
                let (pipe, status) = started.map_err(Refused::of_words)?;
                // The program of an abandoned attempt is ended.
                let gives_up = over.drop_guard();
                let root = file_address(&sandbox.facts().workspace);
                let connected = connection::connect(pipe, era, Some(root), status.clone()).await;
                match connected {
                    Ok(connection) => {
                        gives_up.disarm();
                        Ok(connection)
                    }
                    Err(refused) => {
                        let (why, words) = (&refused.why, status.words());
                        let why = if words.is_empty() { why.clone() } else { format!("{why}: {words}") };
                        Err(Refused { why, ..refused })
                    }
                }
            }
        }
    }
}

impl Inner {
    /// Connects to a server with an address, through this client of the transport.
    ///
    /// Fails with the reason.
    async fn talk<C: StreamableHttpClient + Sync>(
        &self,
        who: &Who,
        address: &Address,
        way: &Way,
        client: C,
        era: Era,
    ) -> Result<Connection, Refused> {
        let Address { url, headers, credentials, .. } = address;
        let (client, is_renewed) = Sessions::new(client);
        let url = guard::check_text(url).map_err(|error| Refused::of_words(error.to_string()))?;
        let mut config = StreamableHttpClientTransportConfig::with_uri(url.as_str());
        config.max_sse_event_size = MCP_LINE_BYTES;
        for (name, value) in headers {
            let header = guard::header(name, value);
            let (name, value) = header.map_err(|error| Refused::of_words(error.to_string()))?;
            config.custom_headers.insert(name, value);
        }
        let has_token = headers.keys().any(|name| name.eq_ignore_ascii_case("authorization"));
        let mut connection = if has_token {
            let transport = StreamableHttpClientTransport::with_client(client, config);
            connection::connect(transport, era, None, ProgramStatus::default()).await?
        } else {
            let own = credentials.as_ref();
            let client = self.logins.client(&self.store, way, who, url.as_str(), client, own).await;
            let transport =
                StreamableHttpClientTransport::with_client(client.map_err(Refused::of_words)?, config);
            connection::connect(transport, era, None, ProgramStatus::default()).await?
        };
        connection.is_renewed = is_renewed;
        Ok(connection)
    }
}

/// A directory as an address.
fn file_address(path: &str) -> String {
    reqwest::Url::from_file_path(path).map_or_else(|()| format!("file://{path}"), String::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workspace_is_an_address() {
        assert_eq!(file_address("/work/a b"), "file:///work/a%20b");
        assert_eq!(file_address("/"), "file:///");
    }
}
