//! A connection to a server: calls of its tools, and what it wants to know meanwhile.

#![expect(deprecated, reason = "servers of the revisions up to 2025-11-25 ask for roots")]

use std::future::Future;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use rmcp::model::{
    CallToolRequestParams, CallToolResult, ClientCapabilities, ClientConfig, ElicitRequestParams,
    ElicitResult, ElicitationAction, ElicitationCapability, FormElicitationCapability, Implementation,
    ListRootsResult, PaginatedRequestParams, ProgressNotificationParam, ProtocolVersion,
    ReadResourceRequestParams, ReadResourceResult, Resource, Root, UrlElicitationCapability,
};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, ClientServiceExt, NotificationContext, RequestContext,
    RunningService, ServiceError,
};
use rmcp::transport::IntoTransport;
use rmcp::{ClientHandler, ErrorData, RoleClient};
use serde_json::{Map, Value};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, timeout};

use super::listing::{Definition, Era};
use super::program::Remains;
use crate::limits::{
    MCP_CONNECT_PATIENCE, MCP_EVENTS, MCP_INSTRUCTIONS_BYTES, MCP_LIST_PATIENCE, MCP_PAGES, MCP_TOOLS,
};

/// A server's wish during a call.
pub(super) enum Event {
    /// It reports progress, in words.
    Progress(String),
    /// It asks the user something; the answer goes into the channel.
    Asks(Box<ElicitRequestParams>, oneshot::Sender<ElicitResult>),
}

/// Handles what a server wants during a call.
pub(super) trait Listener: Send {
    /// Handles one event; the call goes on after it.
    fn on(&mut self, event: Event) -> BoxFuture<'_, ()>;
}

/// A connection. The server's program ends, and its session is over, when it is dropped.
pub(super) struct Connection {
    service: RunningService<RoleClient, Client>,
    calls: Calls,
    is_stale: Arc<AtomicBool>,
    /// What is known of its program, if it is one.
    remains: Remains,
    last_used: Mutex<Instant>,
}

/// The calls in progress on a connection.
#[derive(Clone, Default)]
struct Calls {
    begun: Arc<Mutex<Vec<Begun>>>,
    next_id: Arc<AtomicU64>,
}

/// A call that began, and the channel for what the server wants during it.
struct Begun {
    id: u64,
    events: mpsc::Sender<Event>,
}

/// A call in progress, until it is dropped.
struct Calling<'a> {
    connection: &'a Connection,
    id: u64,
}

impl Calls {
    fn all(&self) -> MutexGuard<'_, Vec<Begun>> {
        // Every change is one step, so a panic elsewhere leaves it whole.
        self.begun.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The channel of the call that began last: a server does not say which of them it means.
    fn last(&self) -> Option<mpsc::Sender<Event>> {
        Some(self.all().last()?.events.clone())
    }
}

impl Drop for Calling<'_> {
    fn drop(&mut self) {
        self.connection.calls.all().retain(|call| call.id != self.id);
        self.connection.touch();
    }
}

/// Answers what a server asks.
pub(super) struct Client {
    calls: Calls,
    is_stale: Arc<AtomicBool>,
    /// The address of the workspace, if the server runs beside it.
    root: Option<String>,
}

impl ClientHandler for Client {
    fn get_info(&self) -> ClientConfig {
        let elicitation = ElicitationCapability::new()
            .with_form(FormElicitationCapability::default())
            .with_url(UrlElicitationCapability::default());
        let mut capabilities = ClientCapabilities::default();
        capabilities.elicitation = Some(elicitation);
        capabilities.roots = self.root.is_some().then(Default::default);
        let info = Implementation::new("sandbridge", env!("CARGO_PKG_VERSION")).with_title("Sandbridge");
        ClientConfig::new(capabilities, info).with_protocol_version(ProtocolVersion::V_2025_11_25)
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let nobody = || ElicitResult::new(ElicitationAction::Cancel);
        let Some(call) = self.calls.last() else { return Ok(nobody()) };
        let (answer, answered) = oneshot::channel();
        if call.send(Event::Asks(Box::new(request), answer)).await.is_err() {
            return Ok(nobody());
        }
        Ok(answered.await.unwrap_or_else(|_| nobody()))
    }

    async fn list_roots(&self, _: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        let root = self.root.iter().map(|root| Root::new(root.clone()).with_name("workspace"));
        Ok(ListRootsResult::new(root.collect()))
    }

    async fn on_progress(&self, progress: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        let of = progress.total.map(|total| format!(" of {total}")).unwrap_or_default();
        let message = progress.message.map(|message| format!(": {message}")).unwrap_or_default();
        let text = format!("{}{of}{message}\n", progress.progress);
        for call in self.calls.all().iter() {
            // A storm of reports is not worth waiting for.
            let _ = call.events.try_send(Event::Progress(text.clone()));
        }
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.is_stale.store(true, Ordering::Relaxed);
    }
}

/// Connects, and agrees on the protocol. `root` is the address of the workspace that the server runs beside.
///
/// Fails with the reason in words.
pub(super) async fn connect<T, E, A>(
    transport: T,
    era: Era,
    root: Option<String>,
    remains: Remains,
) -> Result<Connection, Refused>
where
    T: IntoTransport<RoleClient, E, A>,
    E: std::error::Error + Send + Sync + 'static,
{
    let (calls, is_stale) = (Calls::default(), Arc::new(AtomicBool::new(true)));
    let client = Client { calls: calls.clone(), is_stale: Arc::clone(&is_stale), root };
    let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
    let lifecycle = match era {
        Era::Unknown => ClientLifecycleMode::Auto {
            preferred_versions,
            legacy_version: Some(ProtocolVersion::V_2025_11_25),
        },
        Era::Initialize => ClientLifecycleMode::Initialize,
        Era::Discover => ClientLifecycleMode::Discover { preferred_versions },
    };
    let begun = timeout(MCP_CONNECT_PATIENCE, client.serve_with_lifecycle(transport, lifecycle)).await;
    let service = match begun {
        Ok(Ok(service)) => service,
        Ok(Err(error)) => return Err(Refused::of(&error)),
        Err(_) => {
            let why = format!("it did not answer within {} s", MCP_CONNECT_PATIENCE.as_secs());
            return Err(Refused { why, is_closed: false });
        }
    };
    let last_used = Mutex::new(Instant::now());
    Ok(Connection { service, calls, is_stale, remains, last_used })
}

/// The reason why there is no connection.
#[derive(Debug)]
pub(super) struct Refused {
    pub(super) why: String,
    /// True if the server ended the connection without a word: some that do not know `server/discover` do.
    pub(super) is_closed: bool,
}

impl Refused {
    fn of(error: &ClientInitializeError) -> Self {
        let is_closed = matches!(error, ClientInitializeError::ConnectionClosed(_));
        let why = if error.is_authorization_required() {
            "it wants a login; add a token as a header, such as \"Authorization: Bearer …\"".to_owned()
        } else {
            match error {
                ClientInitializeError::ConnectionClosed(_) => "it ended the connection".to_owned(),
                ClientInitializeError::JsonRpcError(error) => format!("it refused: {}", error.message),
                ClientInitializeError::TransportError { error, .. } => guard::cause(&*error.error),
                ClientInitializeError::LegacyFallbackFailed { fallback, .. } => return Self::of(fallback),
                other => other.to_string(),
            }
        };
        Self { why, is_closed }
    }
}

impl Connection {
    /// True if nothing can be called any more.
    pub(super) fn is_closed(&self) -> bool {
        self.service.is_closed() || self.service.is_transport_closed()
    }

    /// How long nothing was called; zero while something is.
    pub(super) fn idle(&self) -> Duration {
        if !self.calls.all().is_empty() {
            return Duration::ZERO;
        }
        self.last_used.lock().unwrap_or_else(PoisonError::into_inner).elapsed()
    }

    fn touch(&self) {
        *self.last_used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// The protocol that was agreed on.
    pub(super) fn era(&self) -> Era {
        match self.service.peer_info() {
            Some(info) if info.protocol_version.has_initialize() => Era::Initialize,
            Some(_) => Era::Discover,
            None => Era::Unknown,
        }
    }

    /// The server's words on how to use it, cut to the length that is kept.
    pub(super) fn instructions(&self) -> String {
        let info = self.service.peer_info();
        let mut text = info.and_then(|info| info.instructions.clone()).unwrap_or_default();
        text.truncate(text.floor_char_boundary(MCP_INSTRUCTIONS_BYTES));
        text
    }

    /// True if the server has resources.
    pub(super) fn has_resources(&self) -> bool {
        self.service.peer_info().is_some_and(|info| info.capabilities.resources.is_some())
    }

    /// True once after each time that its tools may have changed, and in the beginning.
    pub(super) fn take_stale(&self) -> bool {
        self.is_stale.swap(false, Ordering::Relaxed)
    }

    /// Marks its list of tools as not known.
    pub(super) fn set_stale(&self) {
        self.is_stale.store(true, Ordering::Relaxed);
    }

    /// Its tools.
    ///
    /// Fails with the reason in words.
    pub(super) async fn tools(&self) -> Result<Vec<Definition>, String> {
        if self.service.peer_info().is_none_or(|info| info.capabilities.tools.is_none()) {
            return Ok(Vec::new());
        }
        let listed = async {
            let mut tools: Vec<Definition> = Vec::new();
            let mut cursor = None;
            for _ in 0..MCP_PAGES {
                let page = PaginatedRequestParams::default().with_cursor(cursor);
                let page = self.service.list_tools(Some(page)).await.map_err(|error| self.words(&error))?;
                tools.extend(page.tools.iter().map(Definition::from));
                if tools.len() > MCP_TOOLS {
                    return Err(format!("it has more than {MCP_TOOLS} tools"));
                }
                cursor = page.next_cursor;
                if cursor.is_none() {
                    return Ok(tools);
                }
            }
            Err(format!("its list of tools has more than {MCP_PAGES} pages"))
        };
        let late = || format!("it did not list its tools within {} s", MCP_LIST_PATIENCE.as_secs());
        timeout(MCP_LIST_PATIENCE, listed).await.map_err(|_| late())?
    }

    /// Calls a tool. The listener gets what the server wants meanwhile; the call may take `patience` from the last of that on.
    ///
    /// Fails with the reason in words.
    pub(super) async fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        patience: Duration,
        listener: Option<&mut dyn Listener>,
    ) -> Result<CallToolResult, String> {
        let request = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        self.wait(self.service.call_tool(request), patience, listener).await
    }

    /// The first of its resources.
    ///
    /// Fails with the reason in words.
    pub(super) async fn resources(&self, patience: Duration) -> Result<Vec<Resource>, String> {
        let page = self.wait(self.service.list_resources(None), patience, None).await?;
        Ok(page.resources)
    }

    /// Reads a resource.
    ///
    /// Fails with the reason in words.
    pub(super) async fn resource(
        &self,
        uri: &str,
        patience: Duration,
        listener: Option<&mut dyn Listener>,
    ) -> Result<ReadResourceResult, String> {
        let request = ReadResourceRequestParams::new(uri.to_owned());
        self.wait(self.service.read_resource(request), patience, listener).await
    }

    async fn wait<T>(
        &self,
        request: impl Future<Output = Result<T, ServiceError>>,
        patience: Duration,
        mut listener: Option<&mut dyn Listener>,
    ) -> Result<T, String> {
        let (sender, mut events) = mpsc::channel(MCP_EVENTS);
        let id = self.calls.next_id.fetch_add(1, Ordering::Relaxed);
        self.calls.all().push(Begun { id, events: sender });
        let _calling = Calling { connection: self, id };
        tokio::pin!(request);
        let mut deadline = Instant::now() + patience;
        loop {
            tokio::select! {
                done = &mut request => return done.map_err(|error| self.words(&error)),
                Some(event) = events.recv() => {
                    if let Some(listener) = &mut listener {
                        listener.on(event).await;
                    }
                    deadline = Instant::now() + patience;
                }
                // Dropping the request tells the server that it is cancelled.
                () = tokio::time::sleep_until(deadline) => {
                    return Err(format!("it did not answer within {} s; the call was cancelled", patience.as_secs()));
                }
            }
        }
    }

    /// An error, with the last words of its program.
    fn words(&self, error: &ServiceError) -> String {
        match error {
            ServiceError::McpError(error) => error.message.to_string(),
            ServiceError::TransportClosed | ServiceError::Cancelled { .. } => {
                let remains = self.remains.words();
                match remains.is_empty() {
                    true => "the connection ended before it answered".to_owned(),
                    false => format!("the connection ended before it answered: {remains}"),
                }
            }
            ServiceError::TransportSend(error) => {
                let remains = self.remains.words();
                let cause = guard::cause(&*error.error);
                if remains.is_empty() { cause } else { format!("{cause}: {remains}") }
            }
            other => other.to_string(),
        }
    }
}
