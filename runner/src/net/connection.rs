//! An HTTP/1.1 connection without a separate task: the code that waits for its responses drives it.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;

/// A connection; its bytes move while something is awaited, and it is `None` once it has ended.
pub(crate) struct Connection(Option<Pin<Box<dyn Future<Output = hyper::Result<()>>>>>);

impl Connection {
    pub(crate) fn new(connection: impl Future<Output = hyper::Result<()>> + 'static) -> Self {
        Self(Some(Box::pin(connection)))
    }

    /// Waits for an event of the connection.
    pub(crate) async fn beside<T>(&mut self, wanted: impl Future<Output = T>) -> T {
        let mut wanted = std::pin::pin!(wanted);
        poll_fn(|cx| {
            // The awaited result shows how the connection ended.
            if self.0.as_mut().is_some_and(|connection| connection.as_mut().poll(cx).is_ready()) {
                self.0 = None;
            }
            match wanted.as_mut().poll(cx) {
                Poll::Ready(value) => Poll::Ready(value),
                Poll::Pending => Poll::Pending,
            }
        })
        .await
    }
}
