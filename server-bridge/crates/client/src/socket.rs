//! WebSockets to a server.

use std::collections::VecDeque;
use std::future::poll_fn;

use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use serde::Serialize;
use tokio_websockets::{ClientBuilder, Error, Message, WebSocketStream};
use wsclient::{Ask, Resumed};

use super::endpoint::BoxedSocket;
use super::failure::Failure;
use super::http::failure_from;
use super::limits::{CONNECT_TIMEOUT, GOODBYE_TIMEOUT};
use super::session::Session;

/// Opens the WebSocket at `path` with the session's login. Its two halves never wait for each other.
pub(super) async fn open(session: &Session, path: &str) -> Result<(Outbox, Inbox), Failure> {
    let endpoint = session.endpoint()?;
    let ask = Ask {
        authority: &endpoint.authority,
        path: &format!("{}{path}", endpoint.base_path),
        bearer: Some(session.token()?),
        patience: CONNECT_TIMEOUT,
    };
    match wsclient::open(endpoint.connect().await?, ask).await {
        Ok(stream) => {
            let (sink, stream) = ClientBuilder::new().take_over(stream).split();
            Ok((Outbox { sink, queue: VecDeque::new(), is_flushed: true }, Inbox { stream }))
        }
        Err(wsclient::Error::Refused(it)) => {
            Err(failure_from(it.status, &it.body, it.retry_after.as_deref()))
        }
        Err(error @ wsclient::Error::Request(_)) => Err(Failure::other("invalid", error.to_string())),
        Err(error @ (wsclient::Error::Http(_) | wsclient::Error::NotAWebSocket(_))) => {
            Err(endpoint.no_http(&error))
        }
        Err(error @ (wsclient::Error::Io(_) | wsclient::Error::Late(_))) => Err(endpoint.unreachable(&error)),
    }
}

/// The sending half.
pub(super) struct Outbox {
    sink: SplitSink<WebSocketStream<Resumed<BoxedSocket>>, Message>,
    queue: VecDeque<Message>,
    is_flushed: bool,
}

impl Outbox {
    /// Queues a message, to be sent by [`Outbox::send_all`].
    pub(super) fn push(&mut self, message: Message) {
        self.queue.push_back(message);
    }

    /// Queues a JSON document, to be sent by [`Outbox::send_all`].
    pub(super) fn push_json(&mut self, document: &impl Serialize) {
        match serde_json::to_string(document) {
            Ok(text) => self.push(Message::text(text)),
            Err(error) => tracing::error!(%error, "a frame cannot be written as JSON"),
        }
    }

    /// True while something waits to be sent.
    pub(super) fn is_busy(&self) -> bool {
        !self.queue.is_empty() || !self.is_flushed
    }

    /// How many messages wait to be sent.
    pub(super) fn waiting(&self) -> usize {
        self.queue.len()
    }

    /// Sends the queued messages. May be cancelled at any time and called again: nothing is lost or sent twice. After an error the queue is
    /// empty: the connection accepts no more.
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

/// Sends a goodbye, so that the server knows that everything arrived.
pub(super) async fn goodbye(mut outbox: Outbox, mut inbox: Inbox) {
    let goodbye = async {
        outbox.push(Message::close(None, ""));
        outbox.send_all().await?;
        while inbox.next().await.is_ok() {}
        Ok::<_, Failure>(())
    };
    // If the goodbye is lost, that does not matter, because this program ends.
    let _ = tokio::time::timeout(GOODBYE_TIMEOUT, goodbye).await;
}

/// The receiving half.
pub(super) struct Inbox {
    stream: SplitStream<WebSocketStream<Resumed<BoxedSocket>>>,
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
