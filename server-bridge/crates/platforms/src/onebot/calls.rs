//! Actions that are asked of the other side on the connection that is open now, and their answers.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use crate::limits::REQUEST_TIMEOUT;
use crate::platform::Failure;

/// How many actions may wait to be sent.
const QUEUE: usize = 64;

type Answer = Result<Value, Failure>;

/// An action on its way.
#[derive(Debug)]
pub(super) struct Call {
    action: &'static str,
    params: Value,
    tell: oneshot::Sender<Answer>,
}

/// Where actions go: to the newest connection.
#[derive(Debug, Default)]
pub(super) struct Calls {
    open: Mutex<Option<mpsc::Sender<Call>>>,
}

impl Calls {
    /// Begins a connection; what is asked from now on goes there.
    pub(super) fn begin(&self) -> (mpsc::Sender<Call>, mpsc::Receiver<Call>) {
        let (line, calls) = mpsc::channel(QUEUE);
        *self.open.lock().unwrap_or_else(PoisonError::into_inner) = Some(line.clone());
        (line, calls)
    }

    /// Ends a connection, unless another one has begun by now.
    pub(super) fn end(&self, line: &mpsc::Sender<Call>) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.as_ref().is_some_and(|open| open.same_channel(line)) {
            *open = None;
        }
    }

    /// True if a connection is open.
    #[cfg(test)]
    pub(super) fn is_open(&self) -> bool {
        self.open.lock().unwrap().is_some()
    }

    /// Asks for an action: the field `data` of its answer.
    ///
    /// # Errors
    /// [`Failure::Away`] if it was not sent, [`Failure::Unknown`] if it was and no answer came, [`Failure::Message`] if it is refused.
    pub(super) async fn ask(&self, action: &'static str, params: Value) -> Answer {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let away = || Failure::Away("the account is not connected".to_owned());
        let (tell, told) = oneshot::channel();
        open.ok_or_else(away)?.send(Call { action, params, tell }).await.map_err(|_| away())?;
        match timeout(REQUEST_TIMEOUT, told).await {
            Ok(Ok(answer)) => answer,
            // It stayed in the queue.
            Ok(Err(_)) => Err(away()),
            Err(_) => Err(Failure::Unknown("no answer came".to_owned())),
        }
    }
}

/// What was sent on a connection and has no answer yet.
#[derive(Debug, Default)]
pub(super) struct Pending {
    calls: HashMap<u64, oneshot::Sender<Answer>>,
    next: u64,
}

impl Pending {
    /// An action as it is sent; its answer is waited for.
    pub(super) fn add(&mut self, call: Call) -> Value {
        // Those who gave up are forgotten.
        self.calls.retain(|_, tell| !tell.is_closed());
        self.next += 1;
        self.calls.insert(self.next, call.tell);
        json!({"action": call.action, "params": call.params, "echo": self.next.to_string()})
    }

    /// Takes the answer to an action; `false` if it answers none of ours.
    pub(super) fn answer(&mut self, answer: &Value) -> bool {
        let echo = answer["echo"].as_str().and_then(|echo| echo.parse().ok()).or(answer["echo"].as_u64());
        let Some(tell) = echo.and_then(|echo| self.calls.remove(&echo)) else { return false };
        let result = match answer["status"].as_str() {
            // `async`: it is taken, and its result is not told.
            Some("ok" | "async") => Ok(answer["data"].clone()),
            _ => Err(failure(answer)),
        };
        // Nobody may wait any more.
        let _ = tell.send(result);
        true
    }
}

/// What was sent and has no answer may have been done.
impl Drop for Pending {
    fn drop(&mut self) {
        for (_, tell) in self.calls.drain() {
            let _ = tell.send(Err(Failure::Unknown("the connection ended before the answer".to_owned())));
        }
    }
}

/// Why an action failed.
pub(super) fn failure(answer: &Value) -> Failure {
    let texts = ["wording", "message", "msg"].map(|key| answer[key].as_str().unwrap_or_default());
    let text = texts.into_iter().find(|text| !text.is_empty()).unwrap_or("no reason given");
    let code = answer["retcode"].as_i64().unwrap_or(0);
    let why = format!("{text:.200} ({code})");
    if matches!(code, 1401 | 1403) { Failure::Account(why) } else { Failure::Message(why) }
}
