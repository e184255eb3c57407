//! WebSockets to a server.

use std::collections::VecDeque;
use std::future::poll_fn;

use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use hyper::header::AUTHORIZATION;
use hyper::{Method, StatusCode, Uri};
use serde_json::Value;
use tokio_websockets::upgrade::Error as UpgradeError;
use tokio_websockets::{ClientBuilder, Error, Message, WebSocketStream};

use super::body::RequestBody;
use super::client::{Client, failure_from, refusal};
use super::endpoint::BoxedSocket;
use super::failure::Failure;
use super::limits::{CONNECT_TIMEOUT, GOODBYE_TIMEOUT};
use super::session::Session;

/// Opens the WebSocket at `path` with the session's login. Its two halves never wait for each other.
pub(super) async fn open(session: &Session, path: &str) -> Result<(Outbox, Inbox), Failure> {
    let endpoint = session.endpoint()?;
    let token = session.token()?;
    let invalid = |error: &str| Failure::other("invalid", error);
    let url: Uri = endpoint.websocket_url(path).parse().map_err(|_| invalid("not a path"))?;
    let authorization =
        format!("Bearer {token}").try_into().map_err(|_| invalid("the stored token is damaged"))?;
    let request = ClientBuilder::from_uri(url)
        .add_header(AUTHORIZATION, authorization)
        .map_err(|error| invalid(&error.to_string()))?;
    let socket = endpoint.connect().await?;
    match tokio::time::timeout(CONNECT_TIMEOUT, request.connect_on(socket)).await {
        Ok(Ok((stream, _))) => {
            let (sink, stream) = stream.split();
            Ok((Outbox { sink, queue: VecDeque::new(), is_flushed: true }, Inbox { stream }))
        }
        Ok(Err(Error::Upgrade(UpgradeError::DidNotSwitchProtocols(status)))) => {
            Err(why_refused(session, path, StatusCode::from_u16(status).unwrap_or_default()).await)
        }
        Ok(Err(error @ Error::Upgrade(_))) => Err(endpoint.no_http(&error)),
        Ok(Err(error)) => Err(endpoint.unreachable(&error)),
        Err(_) => Err(endpoint.unreachable(&"it gives no answer")),
    }
}

/// Why a socket was refused: of the answer only its status is known, so that it is asked for again without one.
async fn why_refused(session: &Session, path: &str, status: StatusCode) -> Failure {
    let asked_again = async {
        let mut client = Client::new(session)?;
        client.send_with(Method::GET, path, &[], RequestBody::Empty).await
    };
    match tokio::time::timeout(CONNECT_TIMEOUT, asked_again).await {
        Ok(Ok(response)) if response.status() == status => refusal(response).await,
        // It was refused for another reason; this one is gone.
        _ => failure_from(status, &[], None),
    }
}

/// The sending half.
pub(super) struct Outbox {
    sink: SplitSink<WebSocketStream<BoxedSocket>, Message>,
    queue: VecDeque<Message>,
    is_flushed: bool,
}

impl Outbox {
    /// Takes a message, to be sent by [`Outbox::send_all`].
    pub(super) fn push(&mut self, message: Message) {
        self.queue.push_back(message);
    }

    /// Takes a JSON document, to be sent by [`Outbox::send_all`].
    pub(super) fn push_json(&mut self, value: &Value) {
        self.push(Message::text(value.to_string()));
    }

    /// True while something waits to be sent.
    pub(super) fn is_busy(&self) -> bool {
        !self.queue.is_empty() || !self.is_flushed
    }

    /// How many messages wait to be sent.
    pub(super) fn waiting(&self) -> usize {
        self.queue.len()
    }

    /// Sends what was taken. May be given up at any time and called again: nothing is lost or sent twice.
    /// After an error nothing waits any more: the connection takes no more.
    pub(super) async fn send_all(&mut self) -> Result<(), Failure> {
        let sent = self.try_send_all().await;
        if sent.is_err() {
            self.queue.clear();
            self.is_flushed = true;
        }
        sent.map_err(|error| broken(&error))
    }

    async fn try_send_all(&mut self) -> Result<(), Error> {
        while !self.queue.is_empty() {
            poll_fn(|context| self.sink.poll_ready_unpin(context)).await?;
            if let Some(message) = self.queue.pop_front() {
                self.is_flushed = false;
                self.sink.start_send_unpin(message)?;
            }
        }
        poll_fn(|context| self.sink.poll_flush_unpin(context)).await?;
        self.is_flushed = true;
        Ok(())
    }
}

/// Says goodbye, so that the server knows that everything arrived.
pub(super) async fn goodbye(mut outbox: Outbox, mut inbox: Inbox) {
    let goodbye = async {
        outbox.push(Message::close(None, ""));
        outbox.send_all().await?;
        while inbox.next().await.is_ok() {}
        Ok::<_, Failure>(())
    };
    // What is not heard is asked for by nobody: this program ends.
    let _ = tokio::time::timeout(GOODBYE_TIMEOUT, goodbye).await;
}

/// The receiving half.
pub(super) struct Inbox {
    stream: SplitStream<WebSocketStream<BoxedSocket>>,
}

impl Inbox {
    /// The next text or binary message; an error if the server ends the connection.
    pub(super) async fn next(&mut self) -> Result<Message, Failure> {
        loop {
            match self.stream.next().await {
                Some(Ok(message)) if message.is_text() || message.is_binary() => return Ok(message),
                Some(Ok(message)) if !message.is_close() => {}
                Some(Ok(_)) | None => return Err(broken(&"it closed the connection")),
                Some(Err(error)) => return Err(broken(&error)),
            }
        }
    }
}

fn broken(why: &dyn std::fmt::Display) -> Failure {
    Failure::other("lost", format!("the connection to the server was lost: {why}"))
}
