//! Questions to people: one form for everything that an agent, a tool or a chain of agents asks. Each is answered once, from any surface.
//!
//! ```text
//!   Permissions::ask ─▶ on record ─▶ shown ─▶ answered once ─▶ on record, with its audit entry ─▶ Asking::reply
//!                                      └─▶ its patience or its turn ends: nothing waits for it
//! ```
//! A surface (the page, a terminal, a channel) passes an answer to the server, which records it and its audit entry in one step,
//! and only then hands it to [`Waiters`]. Of two answers the first counts, and the sender of the second gets an error. A new
//! kind of question is a [`Kind`] and the [`Reply`] that answers it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use records::{MessageId, UserId};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::approval::Answer;

/// The kind of answer that a question needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Permission to do something.
    Approval,
    /// An answer in words, with or without options to choose from.
    Words,
    /// The fields of a form.
    Form,
    /// An address to open; the answer is whether the user opened it and finished there.
    Url,
    /// A gate in a chain of agents: whether to continue.
    Gate,
}

/// A question that is about to be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ask {
    /// The kind of answer that the question needs.
    pub kind: Kind,
    /// How long the question waits for its answer.
    pub patience: Duration,
}

/// A person's answer. It is stored as JSON: to change a variant, add an optional field.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// The answer to [`Kind::Approval`].
    Approval(Answer),
    /// The answer to [`Kind::Words`]; `None` if there was none.
    Words(Option<String>),
    /// The answer to [`Kind::Form`]; `None` if the form was declined.
    Form(Option<Map<String, Value>>),
    /// The answer to [`Kind::Url`].
    Url(bool),
    /// The answer to [`Kind::Gate`].
    Gate(bool),
}

impl Kind {
    /// The kind's name in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Approval => "approval",
            Self::Words => "words",
            Self::Form => "form",
            Self::Url => "url",
            Self::Gate => "gate",
        }
    }
}

impl Reply {
    /// The kind of question that the reply answers.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Approval(_) => Kind::Approval,
            Self::Words(_) => Kind::Words,
            Self::Form(_) => Kind::Form,
            Self::Url(_) => Kind::Url,
            Self::Gate(_) => Kind::Gate,
        }
    }

    /// The audit trail's word for the reply, which never contains the answer's text.
    pub fn outcome(&self) -> &'static str {
        match self {
            Self::Approval(Answer::Allow | Answer::AllowForGood) | Self::Gate(true) => "allow",
            Self::Approval(Answer::Deny) | Self::Gate(false) => "deny",
            Self::Approval(Answer::NobodyThere) | Self::Words(None) => "nobody there",
            Self::Words(Some(_)) | Self::Form(Some(_)) | Self::Url(true) => "answered",
            Self::Form(None) | Self::Url(false) => "declined",
        }
    }
}

/// The questions that wait in this process for their answers. Cheap to clone; all clones share the same questions.
#[derive(Clone, Default)]
pub struct Waiters(Arc<Mutex<HashMap<MessageId, Waiter>>>);

struct Waiter {
    user: UserId,
    kind: Kind,
    answer: oneshot::Sender<Reply>,
}

/// A question that waits for its answer; withdrawn when dropped.
pub struct Asking {
    waiters: Waiters,
    message: MessageId,
    patience: Duration,
    answer: oneshot::Receiver<Reply>,
}

impl Waiters {
    /// Waits for a user's answer to the question that a message shows.
    pub fn wait(&self, user: UserId, message: MessageId, ask: Ask) -> Asking {
        let (sender, answer) = oneshot::channel();
        let Ask { kind, patience } = ask;
        self.lock().insert(message, Waiter { user, kind, answer: sender });
        Asking { waiters: self.clone(), message, patience, answer }
    }

    /// True if a question of this kind waits for this user's answer.
    pub fn is_waited_for(&self, user: UserId, message: MessageId, kind: Kind) -> bool {
        self.lock().get(&message).is_some_and(|waiter| waiter.user == user && waiter.kind == kind)
    }

    /// True if a question of any kind waits for this user's answer.
    pub fn is_waited_for_at_all(&self, user: UserId, message: MessageId) -> bool {
        self.lock().get(&message).is_some_and(|waiter| waiter.user == user)
    }

    /// Hands an answer to the question that waits for it; returns false if none does.
    pub fn deliver(&self, user: UserId, message: MessageId, reply: Reply) -> bool {
        let mut waiters = self.lock();
        let waits = |waiter: &Waiter| waiter.user == user && waiter.kind == reply.kind();
        if !waiters.get(&message).is_some_and(waits) {
            return false;
        }
        waiters.remove(&message).is_some_and(|waiter| waiter.answer.send(reply).is_ok())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<MessageId, Waiter>> {
        // Each change is a single step, so the data stays consistent if another thread panics.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Asking {
    /// Waits for the answer; `None` if none arrives in time.
    pub async fn reply(&mut self) -> Option<Reply> {
        timeout(self.patience, &mut self.answer).await.ok()?.ok()
    }

    /// Waits for the answer to [`Kind::Approval`].
    pub async fn approval(&mut self) -> Option<Answer> {
        match self.reply().await? {
            Reply::Approval(answer) => Some(answer),
            _ => None,
        }
    }

    /// Waits for the answer to [`Kind::Words`].
    pub async fn words(&mut self) -> Option<String> {
        match self.reply().await? {
            Reply::Words(words) => words,
            _ => None,
        }
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        self.waiters.lock().remove(&self.message);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANN: UserId = UserId(1);
    const EVE: UserId = UserId(2);
    const MESSAGE: MessageId = MessageId(7);

    fn ask(kind: Kind) -> Ask {
        Ask { kind, patience: Duration::from_secs(60) }
    }

    fn words(text: &str) -> Reply {
        Reply::Words(Some(text.to_owned()))
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_is_given_once_by_its_own_user_and_of_the_kind_that_was_asked_for() {
        let waiters = Waiters::default();
        let mut asking = waiters.wait(ANN, MESSAGE, ask(Kind::Approval));
        let allow = || Reply::Approval(Answer::Allow);
        assert!(!waiters.deliver(EVE, MESSAGE, allow()));
        assert!(!waiters.deliver(ANN, MessageId(8), allow()));
        assert!(!waiters.deliver(ANN, MESSAGE, words("yes")), "words are no approval");
        assert!(waiters.is_waited_for(ANN, MESSAGE, Kind::Approval));
        assert!(waiters.deliver(ANN, MESSAGE, Reply::Approval(Answer::AllowForGood)));
        assert!(!waiters.deliver(ANN, MESSAGE, Reply::Approval(Answer::Deny)));
        assert_eq!(asking.approval().await, Some(Answer::AllowForGood));
        drop(waiters.wait(ANN, MESSAGE, ask(Kind::Words)));
        assert!(!waiters.deliver(ANN, MESSAGE, words("late")), "it was withdrawn");
    }

    #[tokio::test(start_paused = true)]
    async fn patience_ends_and_then_nothing_waits() {
        let waiters = Waiters::default();
        let mut asking = waiters.wait(ANN, MESSAGE, ask(Kind::Words));
        assert_eq!(asking.words().await, None);
        drop(asking);
        assert!(!waiters.is_waited_for(ANN, MESSAGE, Kind::Words));
    }

    #[test]
    fn replies_read_back_from_their_record() {
        let form = Map::from_iter([("name".to_owned(), Value::from("x"))]);
        for reply in [
            Reply::Approval(Answer::AllowForGood),
            words("blue"),
            Reply::Words(None),
            Reply::Form(Some(form)),
            Reply::Url(true),
            Reply::Gate(false),
        ] {
            let json = serde_json::to_string(&reply).unwrap();
            assert_eq!(serde_json::from_str::<Reply>(&json).unwrap(), reply, "{json}");
        }
    }
}
