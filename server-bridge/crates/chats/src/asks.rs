//! Answers to questions in messages, which may come from any surface, and terminals' answers to agents.

use agent::ask::{Kind, Reply};
use api::tui::TuiAnswer;
use store::{AskAnswered, AuditEntry, ChatId, GivenAnswer, MessageId, User, UserId};

use crate::house::ChatService;
use crate::limits::ANSWER_BYTES;
use crate::{Error, Result};

/// The text for a user whose answer arrives after a restart, before the server has resumed the turn that asks.
pub const ASKS_AGAIN: &str =
    "the server was restarted and will ask this again once it resumes its work; answer then";

/// The origin of an answer, as the record and the audit trail name it: `page`, `cli`, or the name of a key or a channel.
#[derive(Clone, Copy, Debug)]
pub struct Surface<'a>(pub &'a str);

impl ChatService {
    /// Takes a user's answer to a question in one of their chats: records it with its audit entry, then acts on it. If there are several
    /// answers, the first one counts.
    ///
    /// # Errors
    /// [`Error::Invalid`] for an answer that is too long; [`Error::Store`] for a chat that was deleted or belongs to another user;
    /// [`Error::Refused`] if the question does not wait for an answer (`not_found`), if another answer came first (`conflict`), and while
    /// the question is about to be asked again after a restart of the server (`busy`).
    pub async fn answer(
        &self,
        user: &User,
        chat: &ChatId,
        message: MessageId,
        reply: Reply,
        surface: Surface<'_>,
    ) -> Result<()> {
        self.0.store.chat(user.id, chat).await?;
        if matches!(&reply, Reply::Words(Some(words)) if words.len() > ANSWER_BYTES) {
            let text = format!("an answer can have at most {ANSWER_BYTES} bytes; shorten it");
            return Err(Error::Refused { kind: "invalid", text });
        }
        let kind = reply.kind();
        // An answer that is no longer awaited has no effect, so it is not recorded as one that took effect.
        let is_waited_for = self.0.asks.is_waited_for(user.id, message, kind);
        let answer_json = serde_json::to_string(&reply).expect("words and flags are always JSON");
        let given = GivenAnswer { answer_json, surface: surface.0.to_owned() };
        let answered = match is_waited_for {
            true => {
                let audit = entry(user, message, &reply, surface);
                self.0.store.answer_ask(user.id, message, kind.as_str(), &given, &audit).await?
            }
            false => match self.0.store.given_answer(user.id, message, kind.as_str()).await? {
                Some(before) => AskAnswered::Before(before),
                None => AskAnswered::Gone,
            },
        };
        match answered {
            AskAnswered::Now => {
                // The turn that asked may have been stopped meanwhile; then the answer is only recorded.
                self.0.asks.deliver(user.id, message, reply);
                Ok(())
            }
            AskAnswered::Before(before) => Err(Error::Refused { kind: "conflict", text: already(&before) }),
            AskAnswered::Gone if self.asks_again(user.id, message, kind).await? => {
                Err(Error::Refused { kind: "busy", text: ASKS_AGAIN.to_owned() })
            }
            AskAnswered::Gone => Err(Error::Refused {
                kind: "not_found",
                text: "this question is no longer waiting for an answer".to_owned(),
            }),
        }
    }
}

impl ChatService {
    /// Takes the answer of a user's terminal to an action that the agent of a chat asked it for with `tui_control`.
    ///
    /// # Errors
    /// [`Error::Refused`]: `not_found` if no action of this chat waits for an answer of this terminal, `conflict` if the terminal took it
    /// before, or did not take it before it reports the end, and `invalid` for a text that is too long or an unknown state.
    pub fn answer_tui(&self, user: UserId, chat: &ChatId, answer: &TuiAnswer) -> Result<()> {
        self.0.terminals.answer(user, chat, answer)
    }

    /// True if a question is on record and nothing waits for its answer yet: the server was restarted, and is about to resume the turn
    /// that asks. The turn may then ask about something that has changed, so an earlier answer does not count.
    ///
    /// # Errors
    /// [`store::Error::Database`].
    pub async fn asks_again(&self, user: UserId, message: MessageId, kind: Kind) -> store::Result<bool> {
        let is_waited_for = self.0.asks.is_waited_for(user, message, kind);
        Ok(!is_waited_for && self.0.store.is_ask_open(user, message, kind.as_str()).await?)
    }
}

fn entry(user: &User, message: MessageId, reply: &Reply, surface: Surface<'_>) -> AuditEntry {
    let action = match reply.kind() {
        Kind::Approval => "approval",
        Kind::Words | Kind::Form | Kind::Url | Kind::Gate => "answer",
    };
    AuditEntry {
        user: Some(user.name.clone()),
        action: action.to_owned(),
        location: None,
        target: format!("message {message} ({})", surface.0),
        outcome: reply.outcome().to_owned(),
    }
}

/// The message for a user whose answer came after the first one.
fn already(before: &GivenAnswer) -> String {
    let outcome = serde_json::from_str::<Reply>(&before.answer_json).map(|reply| reply.outcome());
    let outcome = outcome.unwrap_or("answered");
    format!("this was answered already ({outcome}, from {}); the first answer counts", before.surface)
}
