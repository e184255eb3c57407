//! Sends requests on the currently open connection, and matches the responses that arrive on it to them by request id.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use crate::limits::REQUEST_TIMEOUT;
use crate::platform::Failure;

/// The limit on requests that wait to be sent.
const QUEUE: usize = 64;

type Answer = Result<Value, Failure>;

/// A request, with the channel for its response.
#[derive(Debug)]
pub(crate) struct Call {
    id: String,
    request: Value,
    tell: oneshot::Sender<Answer>,
}

/// Sends requests on the newest connection.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    open: Mutex<Option<mpsc::Sender<Call>>>,
    next: AtomicU64,
}

impl Calls {
    /// Registers a new connection; later requests are sent on it.
    pub(crate) fn begin(&self) -> (mpsc::Sender<Call>, mpsc::Receiver<Call>) {
        let (line, calls) = mpsc::channel(QUEUE);
        *self.open.lock().unwrap_or_else(PoisonError::into_inner) = Some(line.clone());
        (line, calls)
    }

    /// Unregisters a connection, unless a newer one has replaced it in the meantime.
    pub(crate) fn end(&self, line: &mpsc::Sender<Call>) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.as_ref().is_some_and(|open| open.same_channel(line)) {
            *open = None;
        }
    }

    /// True if a connection is open.
    pub(crate) fn is_begun(&self) -> bool {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.as_ref().is_some_and(|open| !open.is_closed())
    }

    /// Returns a number that is unique among the requests of this process.
    pub(crate) fn number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Sends a request with an id that no other open request has, and waits for its response.
    ///
    /// # Errors
    /// [`Failure::Away`] if it was not sent, [`Failure::Unknown`] if it was sent but no response arrived, and the failures given to
    /// [`Pending::answer`].
    pub(crate) async fn ask(&self, id: String, request: Value) -> Answer {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let away = || Failure::Away("the account is not connected".to_owned());
        let (tell, told) = oneshot::channel();
        open.ok_or_else(away)?.send(Call { id, request, tell }).await.map_err(|_| away())?;
        match timeout(REQUEST_TIMEOUT, told).await {
            Ok(Ok(answer)) => answer,
            // The connection ended while the request was still in the queue, so it was not sent.
            Ok(Err(_)) => Err(away()),
            Err(_) => Err(Failure::Unknown("no response".to_owned())),
        }
    }
}

/// The requests that were sent on a connection and have no response yet.
#[derive(Debug, Default)]
pub(crate) struct Pending(HashMap<String, oneshot::Sender<Answer>>);

impl Pending {
    /// Adds a request that waits for its response; returns the text to send.
    pub(crate) fn add(&mut self, call: Call) -> String {
        // Removes requests whose callers stopped waiting.
        self.0.retain(|_, tell| !tell.is_closed());
        self.0.insert(call.id, call.tell);
        call.request.to_string()
    }

    /// Passes a response to the caller that waits for it; returns false if no open request has this id.
    pub(crate) fn answer(&mut self, id: &str, answer: Answer) -> bool {
        // The caller may have stopped waiting.
        self.0.remove(id).map(|tell| tell.send(answer)).is_some()
    }
}

/// Ends all open requests. Their outcome is unknown, because the platform may have carried them out.
impl Drop for Pending {
    fn drop(&mut self) {
        for (_, tell) in self.0.drain() {
            let _ = tell
                .send(Err(Failure::Unknown("the connection ended before the response arrived".to_owned())));
        }
    }
}
