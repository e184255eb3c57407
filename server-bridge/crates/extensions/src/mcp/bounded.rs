//! A transport that bounds a server's concurrent requests: crate `rmcp` answers each one in a separate task.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rmcp::RoleClient;
use rmcp::model::JsonRpcMessage;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::time::timeout;

use crate::limits::{MCP_REQUESTS_OPEN, MCP_SEND_PATIENCE};

/// A transport that limits its server's unanswered requests; the connection ends if the server makes more, or reads nothing.
pub(super) struct Bounded<T> {
    inner: T,
    /// The server's requests without an answer.
    open: Arc<AtomicUsize>,
    is_over: bool,
}

impl<T> Bounded<T> {
    pub(super) fn new(inner: T) -> Self {
        Self { inner, open: Arc::default(), is_over: false }
    }
}

/// Why a message was not sent.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unsent<E: std::error::Error + 'static> {
    /// The transport failed.
    #[error(transparent)]
    Transport(E),
    /// The server reads nothing.
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
        let message = self.inner.receive().await?;
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
