//! Requests on a connection that is open now, and their answers, which come on it with the requests' ids.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use crate::limits::REQUEST_TIMEOUT;
use crate::platform::Failure;

/// How many requests may wait to be sent.
const QUEUE: usize = 64;

type Answer = Result<Value, Failure>;

/// A request on its way.
#[derive(Debug)]
pub(crate) struct Call {
    id: String,
    request: Value,
    tell: oneshot::Sender<Answer>,
}

/// Where requests go: to the newest connection.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    open: Mutex<Option<mpsc::Sender<Call>>>,
    next: AtomicU64,
}

impl Calls {
    /// Begins a connection; what is asked from now on goes there.
    pub(crate) fn begin(&self) -> (mpsc::Sender<Call>, mpsc::Receiver<Call>) {
        let (line, calls) = mpsc::channel(QUEUE);
        *self.open.lock().unwrap_or_else(PoisonError::into_inner) = Some(line.clone());
        (line, calls)
    }

    /// Ends a connection, unless another one has begun by now.
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

    /// A number that no other request of this process has.
    pub(crate) fn number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Sends a request with an id that no other open request has, and waits for its answer.
    ///
    /// # Errors
    /// [`Failure::Away`] if it was not sent, [`Failure::Unknown`] if it was and no answer came; what [`Pending::answer`] was told.
    pub(crate) async fn ask(&self, id: String, request: Value) -> Answer {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let away = || Failure::Away("the account is not connected".to_owned());
        let (tell, told) = oneshot::channel();
        open.ok_or_else(away)?.send(Call { id, request, tell }).await.map_err(|_| away())?;
        match timeout(REQUEST_TIMEOUT, told).await {
            Ok(Ok(answer)) => answer,
            // The request was not sent: it is still in the queue.
            Ok(Err(_)) => Err(away()),
            Err(_) => Err(Failure::Unknown("no answer came".to_owned())),
        }
    }
}

/// What was sent on a connection and has no answer yet.
#[derive(Debug, Default)]
pub(crate) struct Pending(HashMap<String, oneshot::Sender<Answer>>);

impl Pending {
    /// A request as it is sent; its answer is waited for.
    pub(crate) fn add(&mut self, call: Call) -> String {
        // Removes requests whose callers stopped waiting.
        self.0.retain(|_, tell| !tell.is_closed());
        self.0.insert(call.id, call.tell);
        call.request.to_string()
    }

    /// Passes an answer to the caller that waits for it; `false` if no caller does.
    pub(crate) fn answer(&mut self, id: &str, answer: Answer) -> bool {
        // The caller may have stopped waiting.
        self.0.remove(id).map(|tell| tell.send(answer)).is_some()
    }
}

/// Ends all open requests. Their outcome is unknown, because the platform may have carried them out.
impl Drop for Pending {
    fn drop(&mut self) {
        for (_, tell) in self.0.drain() {
            let _ = tell.send(Err(Failure::Unknown("the connection ended before the answer".to_owned())));
        }
    }
}
