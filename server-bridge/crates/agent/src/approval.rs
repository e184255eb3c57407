//! What a model may do without asking.

use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use store::{MessageId, UserId};
use tokio::sync::oneshot;

/// How much a chat's model may do without asking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// It looks and changes nothing: files are not written, and commands run with a read-only workspace.
    Plan,
    /// It asks before it changes a file or runs a command.
    Ask,
    /// It asks before it runs a command.
    AutoEdit,
    /// It does not ask.
    Full,
}

impl Mode {
    /// All of them, the most careful first.
    pub const ALL: [Self; 4] = [Self::Plan, Self::Ask, Self::AutoEdit, Self::Full];

    /// The word that stands for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Plan => "plan",
            Self::Ask => "ask",
            Self::AutoEdit => "auto-edit",
            Self::Full => "full",
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// A word that stands for no mode.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be plan, ask, auto-edit or full")]
pub struct UnknownMode;

impl FromStr for Mode {
    type Err = UnknownMode;

    fn from_str(word: &str) -> Result<Self, UnknownMode> {
        Self::ALL.into_iter().find(|mode| mode.as_str() == word).ok_or(UnknownMode)
    }
}

/// What a tool does to the place it works in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// Nothing.
    Read,
    /// It changes files.
    Edit,
    /// It runs what can do anything.
    Run,
    /// It ends what runs.
    End,
}

/// What is said to a tool that is about to begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Allowed,
    Asks,
    Denied,
}

/// What a mode says to a tool.
pub(crate) fn verdict(mode: Mode, access: Access) -> Verdict {
    match (mode, access) {
        (_, Access::Read) | (Mode::Full, _) | (Mode::AutoEdit, Access::Edit) => Verdict::Allowed,
        // With a profile that can change nothing.
        (Mode::Plan, Access::Run) => Verdict::Allowed,
        (Mode::Plan, Access::Edit | Access::End) => Verdict::Denied,
        (Mode::Ask, Access::Edit | Access::Run | Access::End) => Verdict::Asks,
        (Mode::AutoEdit, Access::Run | Access::End) => Verdict::Asks,
    }
}

/// A user's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// This once.
    Allow,
    /// This, whenever it comes again in the chat.
    AllowForGood,
    /// No.
    Deny,
}

/// The questions that wait for an answer. Cheap to clone; every clone is the same.
#[derive(Clone, Default)]
pub(crate) struct Questions(Arc<Mutex<HashMap<MessageId, Question>>>);

struct Question {
    user: UserId,
    answer: oneshot::Sender<Answer>,
}

/// A question that waits; withdrawn when dropped.
pub(crate) struct Asking {
    questions: Questions,
    message: MessageId,
    answer: oneshot::Receiver<Answer>,
}

impl Questions {
    /// Asks a user with a message.
    pub(crate) fn ask(&self, user: UserId, message: MessageId) -> Asking {
        let (sender, answer) = oneshot::channel();
        self.lock().insert(message, Question { user, answer: sender });
        Asking { questions: self.clone(), message, answer }
    }

    /// A user's answer; whether anything waits for it.
    pub(crate) fn answer(&self, user: UserId, message: MessageId, answer: Answer) -> bool {
        let mut questions = self.lock();
        if questions.get(&message).is_none_or(|question| question.user != user) {
            return false;
        }
        questions.remove(&message).is_some_and(|question| question.answer.send(answer).is_ok())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<MessageId, Question>> {
        // Every change is one step, so a panic elsewhere leaves the map whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Asking {
    /// Waits for the answer.
    pub(crate) async fn answer(&mut self) -> Answer {
        (&mut self.answer).await.unwrap_or(Answer::Deny)
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        self.questions.lock().remove(&self.message);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_mode_allows_more_than_the_one_before() {
        use Access::{Edit, End, Read, Run};
        use Verdict::{Allowed, Asks, Denied};
        let said = |mode| [Read, Edit, Run, End].map(|access| verdict(mode, access));
        assert_eq!(said(Mode::Plan), [Allowed, Denied, Allowed, Denied]);
        assert_eq!(said(Mode::Ask), [Allowed, Asks, Asks, Asks]);
        assert_eq!(said(Mode::AutoEdit), [Allowed, Allowed, Asks, Asks]);
        assert_eq!(said(Mode::Full), [Allowed, Allowed, Allowed, Allowed]);
        for mode in Mode::ALL {
            assert_eq!(mode.as_str().parse(), Ok(mode));
        }
        assert_eq!("Full".parse::<Mode>(), Err(UnknownMode));
    }

    #[tokio::test]
    async fn a_question_is_answered_once_and_by_its_own_user() {
        let questions = Questions::default();
        let (user, message) = (UserId(1), MessageId(7));
        let mut asking = questions.ask(user, message);
        assert!(!questions.answer(UserId(2), message, Answer::Allow));
        assert!(!questions.answer(user, MessageId(8), Answer::Allow));
        assert!(questions.answer(user, message, Answer::AllowForGood));
        assert!(!questions.answer(user, message, Answer::Deny));
        assert_eq!(asking.answer().await, Answer::AllowForGood);
        drop(questions.ask(user, message));
        assert!(!questions.answer(user, message, Answer::Allow), "it was withdrawn");
    }
}
