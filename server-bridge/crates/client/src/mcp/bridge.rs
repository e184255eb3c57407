//! The HTTP side: a POST per message, the server's session, and its responses as they arrive.

use std::sync::{Mutex, MutexGuard, PoisonError};

use hyper::body::Incoming;
use hyper::header::{ACCEPT, CONTENT_TYPE};
use hyper::{Method, Response, StatusCode};
use sse::Events;
use tokio::time::timeout;

use super::super::body::RequestBody;
use super::super::failure::Failure;
use super::super::http::{Client, failure_from, next_chunk, read_small};
use super::super::limits::GOODBYE_TIMEOUT;
use super::super::output;
use super::super::session::Session;
use super::message::Message;

const PATH: &str = "/mcp";
const SESSION: &str = "mcp-session-id";
const VERSION: &str = "mcp-protocol-version";
const METHOD: &str = "mcp-method";
const NAME: &str = "mcp-name";
/// Sends messages to a server's endpoint, and writes its responses to standard output.
pub(super) struct Bridge {
    session: Session,
    known: Mutex<Known>,
    /// Idle connections, kept for the next messages.
    idle: Mutex<Vec<Client>>,
    /// Locked by the request that opens a session, so that only one request does so at a time.
    opening: tokio::sync::Mutex<()>,
}

/// The state that client and server negotiated.
#[derive(Clone, Default)]
struct Known {
    session: Option<String>,
    version: Option<String>,
    /// The client's own message, to be sent again to a restarted server.
    initialize: Option<Message>,
}

impl Bridge {
    pub(super) fn new(session: Session) -> Self {
        let (known, idle) = (Mutex::default(), Mutex::default());
        Self { session, known, idle, opening: tokio::sync::Mutex::default() }
    }

    /// Opens a session; the server's response is passed on to the client.
    pub(super) async fn initialize(&self, message: &Message) -> Result<(), Failure> {
        let _one = self.opening.lock().await;
        *self.known() = Known { initialize: Some(message.clone()), ..Known::default() };
        let (client, response) = self.send(Method::POST, Some(message)).await?;
        self.learn(&response);
        self.relay(client, response, |answer| {
            self.known().version = answer.agreed_version();
            output::line(&answer.line());
        })
        .await
    }

    /// Sends a request, and passes its responses on to the client; calls `accepted` when the server has received the request.
    pub(super) async fn request(&self, message: &Message, accepted: impl FnOnce()) -> Result<(), Failure> {
        let (client, response) = self.send_in_session(message).await?;
        accepted();
        self.relay(client, response, |answer| output::line(&answer.line())).await
    }

    /// Sends a message that gets no response.
    pub(super) async fn notify(&self, message: &Message) -> Result<(), Failure> {
        let (client, response) = self.send_in_session(message).await?;
        self.relay(client, response, |_| {}).await
    }

    /// Ends the session, and the requests in progress there.
    pub(super) async fn close(&self) {
        if self.known().session.is_some() {
            // A server that does not receive it ends the session on its own.
            let _ = timeout(GOODBYE_TIMEOUT, self.send(Method::DELETE, None)).await;
        }
    }

    /// Sends a message; opens a new session first if the server no longer has this one.
    async fn send_in_session(&self, message: &Message) -> Result<(Client, Response<Incoming>), Failure> {
        let before = self.known().session.clone();
        let (client, response) = self.send(Method::POST, Some(message)).await?;
        if response.status() != StatusCode::NOT_FOUND || before.is_none() {
            return Ok((client, response));
        }
        self.open_again(before).await?;
        self.send(Method::POST, Some(message)).await
    }

    /// Replaces a session that the server no longer has, unless it was replaced already.
    async fn open_again(&self, gone: Option<String>) -> Result<(), Failure> {
        let _one = self.opening.lock().await;
        let known = self.known().clone();
        let Some(initialize) = known.initialize.filter(|_| known.session == gone) else { return Ok(()) };
        self.known().session = None;
        let (client, response) = self.send(Method::POST, Some(&initialize)).await?;
        self.learn(&response);
        self.relay(client, response, |_| {}).await?;
        let Ok(ready) = Message::initialized() else { return Ok(()) };
        let (client, response) = self.send(Method::POST, Some(&ready)).await?;
        self.relay(client, response, |_| {}).await
    }

    async fn send(
        &self,
        method: Method,
        message: Option<&Message>,
    ) -> Result<(Client, Response<Incoming>), Failure> {
        let idle = self.idle().pop();
        let mut client = match idle {
            Some(client) => client,
            None => Client::new(&self.session)?,
        };
        let mut headers = vec![(ACCEPT.as_str(), "application/json, text/event-stream".to_owned())];
        let (body, known) = (message.map(Message::line), self.known().clone());
        if body.is_some() {
            headers.push((CONTENT_TYPE.as_str(), "application/json".to_owned()));
        }
        let params = message.map(Message::params).unwrap_or_default();
        let own_version = params.version().map(str::to_owned);
        if own_version.is_some() {
            let method = message.and_then(Message::method);
            headers.extend(method.map(|method| (METHOD, method.to_owned())));
            headers.extend(params.name.map(|name| (NAME, name)));
        } else {
            headers.extend(known.session.map(|session| (SESSION, session)));
        }
        headers.extend(own_version.or(known.version).map(|version| (VERSION, version)));
        let body = body.map_or(RequestBody::Empty, |body| RequestBody::Bytes(body.into()));
        let response = client.send_with(method, PATH, &headers, body).await?;
        Ok((client, response))
    }

    /// Passes on each message of a response. An error response that is not a message becomes a failure.
    async fn relay(
        &self,
        client: Client,
        response: Response<Incoming>,
        mut each: impl FnMut(Message),
    ) -> Result<(), Failure> {
        let status = response.status();
        let is_stream = response
            .headers()
            .get(CONTENT_TYPE)
            .is_some_and(|value| value.as_bytes().starts_with(b"text/event-stream"));
        if !is_stream {
            let body = read_small(response).await?;
            self.idle().push(client);
            return match Message::parse(&body) {
                Ok(message) if message.is_rpc() => {
                    each(message);
                    Ok(())
                }
                _ if status.is_success() => Ok(()),
                _ => Err(failure_from(status, &body, None)),
            };
        }
        let (mut body, mut events) = (response.into_body(), Events::default());
        while let Some(chunk) = next_chunk(&mut body).await {
            events.push(&chunk?, |data| {
                // Events without a message only keep the connection alive, or number it.
                if let Ok(message) = Message::parse(data.as_bytes()) {
                    each(message);
                }
                Ok::<_, Failure>(false)
            })?;
        }
        self.idle().push(client);
        Ok(())
    }

    fn learn(&self, response: &Response<Incoming>) {
        let session = response.headers().get(SESSION).and_then(|value| value.to_str().ok());
        self.known().session = session.map(str::to_owned);
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        // Each change is a single step, so the data stays consistent if another thread panics.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Client>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
