//! What a model waits for: a word that it may, or an answer in words.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use records::{MessageId, UserId};
use tokio::sync::oneshot;

use crate::approval::Answer;

/// The questions that wait for an answer. Cheap to clone; every clone is the same.
#[derive(Clone, Default)]
pub struct Questions(Arc<Mutex<HashMap<MessageId, Question>>>);

/// What a user said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// Whether a tool may go on.
    Approval(Answer),
    /// Something in words; nothing where nobody is there to say it.
    Words(Option<String>),
}

/// What is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// A word whether something may be done.
    Approval,
    /// An answer in words.
    Words,
}

struct Question {
    user: UserId,
    wanted: Wanted,
    answer: oneshot::Sender<Said>,
}

/// A question that waits; withdrawn when dropped.
pub struct Asking {
    questions: Questions,
    message: MessageId,
    answer: oneshot::Receiver<Said>,
}

impl Said {
    fn is(&self, wanted: Wanted) -> bool {
        match self {
            Self::Approval(_) => wanted == Wanted::Approval,
            Self::Words(_) => wanted == Wanted::Words,
        }
    }
}

impl Questions {
    /// Asks a user with a message.
    pub fn ask(&self, user: UserId, message: MessageId, wanted: Wanted) -> Asking {
        let (sender, answer) = oneshot::channel();
        self.lock().insert(message, Question { user, wanted, answer: sender });
        Asking { questions: self.clone(), message, answer }
    }

    /// A user's answer; whether anything waits for one of its kind.
    pub fn answer(&self, user: UserId, message: MessageId, said: Said) -> bool {
        let mut questions = self.lock();
        let waits = |question: &Question| question.user == user && said.is(question.wanted);
        if !questions.get(&message).is_some_and(waits) {
            return false;
        }
        questions.remove(&message).is_some_and(|question| question.answer.send(said).is_ok())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<MessageId, Question>> {
        // Every change is one step, so a panic elsewhere leaves the map whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Asking {
    /// Waits for a word whether a tool may go on.
    pub async fn approval(&mut self) -> Answer {
        match (&mut self.answer).await {
            Ok(Said::Approval(answer)) => answer,
            Ok(Said::Words(_)) | Err(_) => Answer::Deny,
        }
    }

    /// Waits for an answer in words; nothing where nobody is there to give one.
    pub async fn words(&mut self) -> Option<String> {
        match (&mut self.answer).await {
            Ok(Said::Words(words)) => words,
            Ok(Said::Approval(_)) | Err(_) => None,
        }
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

    const ANN: UserId = UserId(1);
    const EVE: UserId = UserId(2);
    const MESSAGE: MessageId = MessageId(7);

    fn words(text: &str) -> Said {
        Said::Words(Some(text.to_owned()))
    }

    #[tokio::test]
    async fn an_approval_is_given_once_and_by_its_own_user() {
        let questions = Questions::default();
        let mut asking = questions.ask(ANN, MESSAGE, Wanted::Approval);
        assert!(!questions.answer(EVE, MESSAGE, Said::Approval(Answer::Allow)));
        assert!(!questions.answer(ANN, MessageId(8), Said::Approval(Answer::Allow)));
        assert!(!questions.answer(ANN, MESSAGE, words("yes")), "words are no approval");
        assert!(questions.answer(ANN, MESSAGE, Said::Approval(Answer::AllowForGood)));
        assert!(!questions.answer(ANN, MESSAGE, Said::Approval(Answer::Deny)));
        assert_eq!(asking.approval().await, Answer::AllowForGood);
        drop(questions.ask(ANN, MESSAGE, Wanted::Approval));
        assert!(!questions.answer(ANN, MESSAGE, Said::Approval(Answer::Allow)), "it was withdrawn");
    }

    #[tokio::test]
    async fn words_are_given_once_and_may_be_none() {
        let questions = Questions::default();
        let mut asking = questions.ask(ANN, MESSAGE, Wanted::Words);
        assert!(!questions.answer(EVE, MESSAGE, words("blue")));
        assert!(!questions.answer(ANN, MESSAGE, Said::Approval(Answer::Allow)), "an approval is no words");
        assert!(questions.answer(ANN, MESSAGE, words("red")));
        assert!(!questions.answer(ANN, MESSAGE, words("blue")));
        assert_eq!(asking.words().await.as_deref(), Some("red"));
        let mut asking = questions.ask(ANN, MESSAGE, Wanted::Words);
        assert!(questions.answer(ANN, MESSAGE, Said::Words(None)));
        assert_eq!(asking.words().await, None);
    }
}
