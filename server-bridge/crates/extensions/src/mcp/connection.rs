//! A connection to a server: calls of its tools, and the server's requests during these calls.

#![expect(deprecated, reason = "servers of the revisions up to 2025-11-25 ask models, and log")]

use std::future::Future;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use rmcp::model::{
    CallToolRequestParams, CallToolResult, CreateMessageRequestParams, CreateMessageResult,
    ElicitRequestParams, ElicitResult, LoggingLevel, ProtocolVersion, ReadResourceRequestParams,
    ReadResourceResult, RequestParamsMeta, SetLevelRequestParams,
};
use rmcp::service::{
    ClientCacheConfig, ClientInitializeError, ClientLifecycleMode, ClientServiceExt, RunningService,
    ServiceError,
};
use rmcp::transport::IntoTransport;
use rmcp::{ErrorData, RoleClient};
use serde_json::{Map, Value};
use tokio::sync::{Mutex as AsyncMutex, Semaphore, mpsc, oneshot};
use tokio::time::{Instant, timeout};

use super::bounded::Bounded;
use super::client::Client;
use super::icon;
use super::listing::{Era, Listing};
use super::program::ProgramStatus;
use super::watch::{Listeners, Watched};
use crate::limits::{
    MCP_ASKS_WAITING, MCP_CALL_TOTAL, MCP_ERROR_BYTES, MCP_EVENTS, MCP_LOG_LEVEL_PATIENCE,
    MCP_QUESTIONS_PER_CALL, MCP_SAMPLES_PER_CALL,
};

/// A request of a server during a call.
pub(super) enum Event {
    /// The server reports progress, as text.
    Progress(String),
    /// The server asks the user something; the answer is sent to the channel.
    Asks(Box<ElicitRequestParams>, oneshot::Sender<ElicitResult>),
    /// The server asks the user's model for an answer, which is sent to the channel.
    Samples(Box<CreateMessageRequestParams>, oneshot::Sender<Result<CreateMessageResult, ErrorData>>),
}

/// Handles a server's requests during a call.
pub(super) trait Listener: Send {
    /// Handles one event; the call continues after it.
    fn on(&mut self, event: Event) -> BoxFuture<'_, ()>;
}

/// A connection. When it is dropped, the server's program ends and the session is over.
pub(super) struct Connection {
    pub(super) service: RunningService<RoleClient, Client>,
    calls: Calls,
    pub(super) is_stale: Arc<AtomicBool>,
    /// Becomes true when the server has ended the session over HTTP, and another one begins.
    pub(super) is_renewed: Arc<AtomicBool>,
    /// The tasks that hear of changed lists and resources.
    pub(super) listeners: Listeners,
    /// The server's resources that are watched.
    pub(super) watched: Watched,
    /// The server's tools, as last listed and recorded. The task that lists them holds the lock.
    pub(super) verified: AsyncMutex<Option<Verified>>,
    /// True once a call was not answered in time: the next call gets another connection.
    is_suspect: AtomicBool,
    /// What is known about its program, if it is one.
    status: ProgramStatus,
    last_used: Mutex<Instant>,
    /// The server's requirements for a new login, if it refused a call for lack of one.
    challenge: Mutex<Option<String>>,
}

/// A listing that was recorded.
pub(super) struct Verified {
    pub(super) listing: Arc<Listing>,
    pub(super) since: Instant,
}

/// The calls in progress on a connection.
#[derive(Clone, Default)]
pub(super) struct Calls {
    begun: Arc<Mutex<Vec<Begun>>>,
    next_id: Arc<AtomicU64>,
}

/// A call that has begun, and the channel for the server's requests during it.
pub(super) struct Begun {
    id: u64,
    pub(super) events: mpsc::Sender<Event>,
}

/// A call in progress, until it is dropped.
struct Calling<'a> {
    connection: &'a Connection,
    id: u64,
}

impl Calls {
    pub(super) fn all(&self) -> MutexGuard<'_, Vec<Begun>> {
        // Each change is a single step, so the data stays consistent if another thread panics.
        self.begun.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The channel of the most recent call: a server does not name the call that it means.
    pub(super) fn last(&self) -> Option<mpsc::Sender<Event>> {
        Some(self.all().last()?.events.clone())
    }
}

impl Drop for Calling<'_> {
    fn drop(&mut self) {
        self.connection.calls.all().retain(|call| call.id != self.id);
        self.connection.touch();
    }
}

/// Connects, and agrees on the protocol. `root` is the address of the workspace that the server runs in.
///
/// Fails with the reason as text.
pub(super) async fn connect<T, E, A>(
    transport: T,
    era: Era,
    root: Option<String>,
    status: ProgramStatus,
) -> Result<Connection, Refused>
where
    T: IntoTransport<RoleClient, E, A>,
    E: std::error::Error + Send + Sync + 'static,
    A: 'static,
{
    let transport = Bounded::new(transport.into_transport());
    let discovered_late = transport.discovered_late();
    let (calls, is_stale) = (Calls::default(), Arc::new(AtomicBool::new(true)));
    let watched = Watched::default();
    let client = Client {
        calls: calls.clone(),
        is_stale: Arc::clone(&is_stale),
        watched: watched.clone(),
        root,
        asking: Semaphore::new(MCP_ASKS_WAITING),
    };
    let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
    let lifecycle = match era {
        Era::Unknown => ClientLifecycleMode::Auto {
            preferred_versions,
            legacy_version: Some(ProtocolVersion::V_2025_11_25),
        },
        Era::Initialize => ClientLifecycleMode::Initialize,
        Era::Discover => ClientLifecycleMode::Discover { preferred_versions },
    };
    let begun = client.serve_with_lifecycle(transport, lifecycle).await;
    let service = begun.map_err(|error| {
        let mut refused = Refused::of(&error);
        if discovered_late.load(Ordering::Relaxed) {
            refused.may_speak = Some(Era::Discover);
        }
        refused
    })?;
    // The list is compared with the accepted one: a cached list would not show a change.
    service.set_response_cache_config(ClientCacheConfig::disabled()).await;
    if service
        .peer_info()
        .is_some_and(|info| info.protocol_version.has_initialize() && info.capabilities.logging.is_some())
    {
        let level = service.set_level(SetLevelRequestParams::new(LoggingLevel::Info));
        // The server's log messages help people, but the connection also works without them.
        let _ = timeout(MCP_LOG_LEVEL_PATIENCE, level).await;
    }
    Ok(Connection {
        service,
        calls,
        is_stale,
        is_renewed: Arc::default(),
        listeners: Listeners::default(),
        watched,
        verified: AsyncMutex::default(),
        is_suspect: AtomicBool::new(false),
        status,
        last_used: Mutex::new(Instant::now()),
        challenge: Mutex::default(),
    })
}

/// The reason, for models and people, if a server requires a login.
pub(super) const LOGIN_WANTED: &str = "it requires a login, which only its user can do: `sandbridge mcp-server login NAME`, or MCP servers \
    in the settings";

/// The reason why there is no connection.
#[derive(Debug, Default)]
pub(super) struct Refused {
    pub(super) why: String,
    /// The server's requirements for a login, in its own terms, if it requires one.
    pub(super) challenge: Option<String>,
    /// The only era of the protocol that the server may speak, if its behaviour indicates one.
    pub(super) may_speak: Option<Era>,
    /// True if nothing is wrong with the server, and another attempt may soon succeed.
    pub(super) is_passing: bool,
}

impl Refused {
    /// A reason as text.
    pub(super) fn of_words(why: String) -> Self {
        Self { why, ..Self::default() }
    }

    fn of(error: &ClientInitializeError) -> Self {
        // Some servers of the older era end, or answer with something else, when they get a request that they do not know.
        let is_older = matches!(
            error,
            ClientInitializeError::ConnectionClosed(_)
                | ClientInitializeError::ExpectedInitResult(_)
                | ClientInitializeError::ExpectedInitResponse(_)
        );
        let challenge = error.auth_challenge().map(str::to_owned);
        let why = if error.is_authorization_required() {
            LOGIN_WANTED.to_owned()
        } else {
            match error {
                ClientInitializeError::ConnectionClosed(_) => "it ended the connection".to_owned(),
                ClientInitializeError::JsonRpcError(error) => format!("it refused: {}", error.message),
                ClientInitializeError::TransportError { error, .. } => cause(&*error.error),
                ClientInitializeError::LegacyFallbackFailed { fallback, .. } => return Self::of(fallback),
                other => guard::cause(other),
            }
        };
        Self { why, challenge, may_speak: is_older.then_some(Era::Initialize), is_passing: false }
    }
}

/// The innermost cause of an error, without the transport's prefix.
fn cause(error: &(dyn std::error::Error + 'static)) -> String {
    let cause = guard::cause(error);
    cause.strip_prefix("Client error: ").map_or_else(|| cause.clone(), str::to_owned)
}

impl Connection {
    /// True if it cannot serve another call.
    pub(super) fn is_over(&self) -> bool {
        self.service.is_closed()
            || self.service.is_transport_closed()
            || self.is_suspect.load(Ordering::Relaxed)
    }

    /// How long ago the last call ended; `None` while a call is in progress.
    pub(super) fn idle(&self) -> Option<Duration> {
        let is_idle = self.calls.all().is_empty();
        is_idle.then(|| self.last_used.lock().unwrap_or_else(PoisonError::into_inner).elapsed())
    }

    /// Ends it, with the calls in progress.
    pub(super) fn end(&self) {
        self.service.cancellation_token().cancel();
    }

    /// Records that the connection is used now.
    pub(super) fn touch(&self) {
        *self.last_used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// The server's requirements for a new login; returned once.
    pub(super) fn take_challenge(&self) -> Option<String> {
        self.challenge.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// The protocol that was agreed on.
    pub(super) fn era(&self) -> Era {
        match self.service.peer_info() {
            Some(info) if info.protocol_version.has_initialize() => Era::Initialize,
            Some(_) => Era::Discover,
            None => Era::Unknown,
        }
    }

    /// True if the server has resources.
    pub(super) fn has_resources(&self) -> bool {
        self.service.peer_info().is_some_and(|info| info.capabilities.resources.is_some())
    }

    /// What the server says about its use, if it says something.
    pub(super) fn instructions(&self) -> Option<String> {
        self.service.peer_info()?.instructions.clone()
    }

    /// The server's icon, if it sent one that can be shown.
    pub(super) fn icon(&self) -> Option<String> {
        icon::of(self.service.peer_info()?.server_info.as_ref()?.icons.as_deref()?)
    }

    /// True at first, and once after each notification that the tools changed, and after each new session.
    pub(super) fn take_stale(&self) -> bool {
        self.note_renewal();
        self.is_stale.swap(false, Ordering::Relaxed)
    }

    /// Calls a tool. The listener gets the server's requests in the meantime; the call may take `patience`, counted from
    /// the last such event.
    ///
    /// Fails with the reason as text.
    pub(super) async fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        patience: Duration,
        listener: Option<&mut dyn Listener>,
    ) -> Result<CallToolResult, String> {
        let mut request = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        if self.era() == Era::Discover {
            request.meta_mut().get_or_insert_default().set_log_level(LoggingLevel::Info);
        }
        self.watch_again().await;
        self.wait(self.called(request), patience, listener).await
    }

    /// Reads a resource.
    ///
    /// Fails with the reason as text.
    pub(super) async fn resource(
        &self,
        uri: &str,
        patience: Duration,
        listener: Option<&mut dyn Listener>,
    ) -> Result<ReadResourceResult, String> {
        self.watch_again().await;
        let request = ReadResourceRequestParams::new(uri.to_owned());
        self.wait(self.service.read_resource(request), patience, listener).await
    }

    pub(super) async fn wait<T>(
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
        let mut at_last = Instant::now() + patience.max(MCP_CALL_TOTAL);
        let (mut questions, mut samples) = (0, 0);
        loop {
            let event = tokio::select! {
                done = &mut request => return done.map_err(|error| self.words(&error)),
                Some(event) = events.recv() => event,
                // Dropping the request informs the server that it was cancelled.
                () = tokio::time::sleep_until(deadline.min(at_last)) => {
                    self.is_suspect.store(true, Ordering::Relaxed);
                    let is_over = Instant::now() >= at_last;
                    return Err(match is_over {
                        true => format!("the call took more than {} s and was cancelled", patience.max(MCP_CALL_TOTAL).as_secs()),
                        false => format!("it reported nothing for {} s; the call was cancelled", patience.as_secs()),
                    });
                }
            };
            if matches!(event, Event::Asks(..)) {
                questions += 1;
                if questions > MCP_QUESTIONS_PER_CALL {
                    return Err(format!(
                        "it asked more than {MCP_QUESTIONS_PER_CALL} questions; the call was cancelled"
                    ));
                }
            }
            if matches!(event, Event::Samples(..)) {
                samples += 1;
                if samples > MCP_SAMPLES_PER_CALL {
                    return Err(format!(
                        "it asked the model more than {MCP_SAMPLES_PER_CALL} times; the call was cancelled"
                    ));
                }
            }
            let since = Instant::now();
            if let Some(listener) = &mut listener {
                tokio::select! {
                    // When a call ends, its questions end too.
                    done = &mut request => return done.map_err(|error| self.words(&error)),
                    () = listener.on(event) => {}
                }
            }
            at_last += since.elapsed();
            deadline = Instant::now() + patience;
        }
    }

    /// An error as text, with the last output of the server's program.
    pub(super) fn words(&self, error: &ServiceError) -> String {
        let mut words = self.words_of(error);
        words.truncate(words.floor_char_boundary(MCP_ERROR_BYTES));
        words
    }

    fn words_of(&self, error: &ServiceError) -> String {
        match error {
            ServiceError::McpError(error) => match &error.data {
                Some(data) => format!("{} ({data})", error.message),
                None => error.message.to_string(),
            },
            ServiceError::TransportClosed | ServiceError::Cancelled { .. } => {
                let status = self.status.words();
                match status.is_empty() {
                    true => "the connection ended before it answered".to_owned(),
                    false => format!("the connection ended before it answered: {status}"),
                }
            }
            ServiceError::TransportSend(_) if error.auth_challenge().is_some() => {
                let challenge = error.auth_challenge().unwrap_or_default();
                *self.challenge.lock().unwrap_or_else(PoisonError::into_inner) = Some(challenge.to_owned());
                LOGIN_WANTED.to_owned()
            }
            ServiceError::TransportSend(error) => {
                let status = self.status.words();
                let cause = cause(&*error.error);
                if status.is_empty() { cause } else { format!("{cause}: {status}") }
            }
            other => guard::cause(other),
        }
    }
}

#[cfg(test)]
mod tests;
