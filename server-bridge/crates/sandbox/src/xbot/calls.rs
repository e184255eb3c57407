//! Requests on their way to an xbot runner, matched with their answers by id.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use proto::ErrorKind;
use proto::limits::MAX_REQUESTS;
use serde::{Deserialize, Serialize};
use tokio::sync::{mpsc, oneshot};

use super::wire::{Answered, Asked, Fault, Head};
use crate::budget::MessageAccount;
use crate::error::SandboxError;

/// A request to be sent, and the receiver of its answer.
#[derive(Debug)]
pub(super) struct Call {
    id: String,
    /// The complete message.
    pub(super) text: String,
    /// The call's share of the budget until the request has been sent.
    pub(super) account: Option<MessageAccount>,
    answer: Waiter,
}

type Waiter = oneshot::Sender<Result<Answer, SandboxError>>;

/// Sends requests for one job.
#[derive(Debug)]
pub(super) struct Calls {
    shared: Arc<Shared>,
    has_asked: AtomicBool,
}

#[derive(Debug)]
struct Shared {
    place: Arc<str>,
    user: String,
    next_id: AtomicU64,
    calls: mpsc::UnboundedSender<Call>,
}

impl Calls {
    /// Calls of one link, and the queue from which the driver takes them. At most [`MAX_REQUESTS`] jobs with a call each
    /// share it.
    pub(super) fn new(place: Arc<str>, user: String) -> (Self, mpsc::UnboundedReceiver<Call>) {
        let (calls, receiver) = mpsc::unbounded_channel();
        let shared = Shared { place, user, next_id: AtomicU64::new(1), calls };
        (Self { shared: Arc::new(shared), has_asked: AtomicBool::new(false) }, receiver)
    }

    /// A sender of calls on the same link, for another job.
    pub(super) fn for_job(&self) -> Self {
        Self { shared: Arc::clone(&self.shared), has_asked: AtomicBool::new(false) }
    }

    /// True if anything was sent: this distinguishes `offline` from `lost`.
    pub(super) fn has_asked(&self) -> bool {
        self.has_asked.load(Ordering::Relaxed)
    }

    /// Sends a request and waits for its answer, without a limit.
    pub(super) async fn ask<B: Serialize>(
        &self,
        kind: &str,
        body: &B,
        account: Option<MessageAccount>,
    ) -> Result<Answer, SandboxError> {
        let Shared { place, user, next_id, calls } = &*self.shared;
        let lost = || SandboxError::Lost { runner: place.to_string() };
        let id = format!("req_{:016x}", next_id.fetch_add(1, Ordering::Relaxed));
        let asked = Asked { id: &id, r#type: kind, user_id: user, body };
        let text = serde_json::to_string(&asked).map_err(|error| SandboxError::Remote {
            kind: ErrorKind::InvalidBody,
            message: format!("the request cannot be written as JSON: {error}"),
        })?;
        let (answer, answered) = oneshot::channel();
        self.has_asked.store(true, Ordering::Relaxed);
        calls.send(Call { id, text, account, answer }).map_err(|_| lost())?;
        answered.await.unwrap_or_else(|_| Err(lost()))
    }

    /// The error for an invalid answer.
    pub(super) fn broken(&self, what: &'static str) -> SandboxError {
        SandboxError::Protocol { runner: self.shared.place.to_string(), what }
    }

    /// The body of an answer that must be of this kind; the runner's error if the answer is one.
    pub(super) fn body<'a, B: Deserialize<'a>>(
        &self,
        answer: &'a Answer,
        kind: &str,
    ) -> Result<B, SandboxError> {
        self.expect(answer, kind)?;
        serde_json::from_str::<Answered<B>>(&answer.text)
            .map(|answered| answered.body)
            .map_err(|_| self.broken("an answer whose body cannot be decoded"))
    }

    /// Checks that an answer is of this kind, if its body is not needed; fails with the runner's error if the answer is one.
    pub(super) fn expect(&self, answer: &Answer, kind: &str) -> Result<(), SandboxError> {
        match answer.kind.as_str() {
            "error" => Err(match serde_json::from_str::<Answered<Fault>>(&answer.text) {
                Ok(answered) => answered.body.into_error(),
                Err(_) => self.broken("an error whose body cannot be decoded"),
            }),
            other if other == kind => Ok(()),
            _ => Err(self.broken("an answer to another kind of request")),
        }
    }
}

/// A runner's answer.
#[derive(Debug)]
pub(super) struct Answer {
    kind: String,
    text: String,
    account: MessageAccount,
}

impl Answer {
    /// The answer's share of the budget, to be kept as long as the data taken from it.
    pub(super) fn into_account(self) -> MessageAccount {
        self.account
    }
}

/// The requests that wait for an answer.
#[derive(Debug, Default)]
pub(super) struct Pending {
    waiting: HashMap<String, Waiter>,
}

impl Pending {
    /// Enters a call.
    pub(super) fn enter(&mut self, id: String, answer: Waiter) {
        if self.waiting.len() >= 2 * MAX_REQUESTS {
            // Abandoned requests need not be matched: unknown ids are ignored.
            self.waiting.retain(|_, answer| !answer.is_closed());
        }
        self.waiting.insert(id, answer);
    }

    /// Hands a message to the request that waits for it. `charge` makes room for it in the budget.
    ///
    /// Ids that are unknown, or were answered before, and pushed messages without one are ignored. Fails if the text is not
    /// a message at all: the request that it answered is unknown then.
    pub(super) fn receive(
        &mut self,
        text: String,
        charge: impl FnOnce(usize) -> Option<MessageAccount>,
    ) -> Result<(), serde_json::Error> {
        let head: Head<'_> = serde_json::from_str(&text)?;
        let waiter = head.id.as_deref().and_then(|id| self.waiting.remove(id));
        let Some(waiter) = waiter.filter(|waiter| !waiter.is_closed()) else {
            tracing::debug!(kind = ?head.r#type, id = ?head.id, "a message that no request waits for");
            return Ok(());
        };
        let kind = head.r#type.into_owned();
        let answer = match charge(text.len()) {
            Some(account) => Ok(Answer { kind, text, account }),
            None => Err(SandboxError::Remote {
                kind: ErrorKind::Busy,
                message:
                    "runners without streaming are transferring too much data at once; try again in a moment"
                        .to_owned(),
            }),
        };
        // A request that stopped waiting this very moment does not want it.
        let _ = waiter.send(answer);
        Ok(())
    }
}

impl Call {
    /// Adds the call to those that wait for an answer; returns the text to send.
    pub(super) fn wait_in(self, pending: &mut Pending) -> (String, Option<MessageAccount>) {
        pending.enter(self.id, self.answer);
        (self.text, self.account)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::MessageBudget;

    fn waiting(pending: &mut Pending, id: &str) -> oneshot::Receiver<Result<Answer, SandboxError>> {
        let (sender, receiver) = oneshot::channel();
        pending.enter(id.to_owned(), sender);
        receiver
    }

    #[test]
    fn answers_find_their_request_in_any_order_and_once() {
        let (mut pending, budget) = (Pending::default(), MessageBudget::of(1000));
        let (mut first, mut second) = (waiting(&mut pending, "1"), waiting(&mut pending, "2"));
        for text in [
            r#"{"id":"2","type":"ok"}"#,
            r#"{"id":"2","type":"error","body":{}}"#,
            r#"{"id":"unknown","type":"ok"}"#,
            r#"{"type":"stdio_data","body":{"stream_id":"s"}}"#,
            r#"{"id":"1","type":"later","body":[1]}"#,
        ] {
            pending.receive(text.to_owned(), |bytes| budget.charge(bytes)).unwrap();
        }
        assert_eq!(first.try_recv().unwrap().unwrap().kind, "later");
        assert_eq!(second.try_recv().unwrap().unwrap().kind, "ok");
        assert_eq!(budget.left_bytes(), 1000);
    }

    #[test]
    fn what_is_no_message_is_an_error() {
        let mut pending = Pending::default();
        for text in ["", "[]", "null", "{", "{}", r#"{"id":5,"type":"ok"}"#, r#"{"type":"ok"} x"#] {
            assert!(pending.receive(text.to_owned(), |_| None).is_err(), "{text}");
        }
    }

    #[test]
    fn without_room_the_request_fails_and_nothing_is_kept() {
        let (mut pending, budget) = (Pending::default(), MessageBudget::of(10));
        let mut waiter = waiting(&mut pending, "1");
        pending.receive(r#"{"id":"1","type":"ok"}"#.to_owned(), |bytes| budget.charge(bytes)).unwrap();
        assert_eq!(waiter.try_recv().unwrap().unwrap_err().kind(), "busy");
    }

    #[test]
    fn calls_that_were_given_up_do_not_pile_up() {
        let mut pending = Pending::default();
        for number in 0..10 * MAX_REQUESTS {
            drop(waiting(&mut pending, &number.to_string()));
        }
        assert!(pending.waiting.len() <= 2 * MAX_REQUESTS);
    }
}
