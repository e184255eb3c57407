//! A transport that hides two things from crate `rmcp`: a server's concurrent requests beyond a limit (`rmcp` answers each one in
//! a separate task), and a response to `server/discover` that arrives after `initialize` was sent. In the second case `rmcp` would
//! end the connection, but a program that starts slowly answers both at once.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use rmcp::RoleClient;
use rmcp::model::{ClientRequest, JsonRpcMessage, RequestId};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::time::timeout;

use crate::limits::{MCP_REQUESTS_OPEN, MCP_SEND_PATIENCE};

/// A transport that limits its server's unanswered requests; the connection ends if the server makes more, or reads nothing.
pub(super) struct Bounded<T> {
    inner: T,
    /// The server's requests without an answer.
    open: Arc<AtomicUsize>,
    /// The id of the last `server/discover` request.
    discovery: Option<RequestId>,
    /// True if `initialize` was sent.
    is_initialized: bool,
    /// True if the server answered `server/discover` after `initialize` was sent, and not with an error.
    discovered_late: Arc<AtomicBool>,
    is_over: bool,
}

impl<T> Bounded<T> {
    pub(super) fn new(inner: T) -> Self {
        Self {
            inner,
            open: Arc::default(),
            discovery: None,
            is_initialized: false,
            discovered_late: Arc::default(),
            is_over: false,
        }
    }

    /// Becomes true if the server answers `server/discover` after `initialize` was sent, and not with an error.
    pub(super) fn discovered_late(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.discovered_late)
    }

    fn note_sent(&mut self, message: &TxJsonRpcMessage<RoleClient>) {
        let JsonRpcMessage::Request(request) = message else { return };
        match request.request {
            ClientRequest::DiscoverRequest(_) => self.discovery = Some(request.id.clone()),
            ClientRequest::InitializeRequest(_) => self.is_initialized = true,
            _ => {}
        }
    }

    /// True for a late response to `server/discover`, for which nothing waits any more.
    fn is_late(&self, message: &RxJsonRpcMessage<RoleClient>) -> bool {
        if !self.is_initialized || self.discovery.is_none() {
            return false;
        }
        match message {
            JsonRpcMessage::Response(answer) if self.discovery.as_ref() == Some(&answer.id) => {
                self.discovered_late.store(true, Ordering::Relaxed);
                true
            }
            JsonRpcMessage::Error(error) => self.discovery == error.id,
            _ => false,
        }
    }
}

/// The reason why a message was not sent.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unsent<E: std::error::Error + 'static> {
    /// The transport failed.
    #[error(transparent)]
    Transport(E),
    /// The server does not read what is sent to it.
    #[error("it does not read what is sent to it")]
    Late,
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for Bounded<T> {
    type Error = Unsent<T::Error>;

    fn name() -> Cow<'static, str> {
        T::name()
    }

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let answers = matches!(message, JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_));
        let open = Arc::clone(&self.open);
        self.note_sent(&message);
        let sent = self.inner.send(message);
        async move {
            // Over HTTP, sending a call takes until its answer begins, so only answers have a timeout.
            let sent = if answers {
                let sent = timeout(MCP_SEND_PATIENCE, sent).await;
                open.fetch_sub(1, Ordering::Relaxed);
                sent.map_err(|_| Unsent::Late)?
            } else {
                sent.await
            };
            sent.map_err(Unsent::Transport)
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        if self.is_over {
            return None;
        }
        let message = loop {
            let message = self.inner.receive().await?;
            if !self.is_late(&message) {
                break message;
            }
        };
        if let JsonRpcMessage::Request(_) = &message
            && self.open.fetch_add(1, Ordering::Relaxed) >= MCP_REQUESTS_OPEN
        {
            self.is_over = true;
            return None;
        }
        Some(message)
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.inner.close().await.map_err(Unsent::Transport)
    }
}
