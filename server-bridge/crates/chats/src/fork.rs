//! Copies a chat, so that it can be continued twice.

use store::{Chat, ChatId, MessageId, TurnId, User};

use crate::house::House;
use crate::undo::Turns;
use crate::{ChatEvent, ChatService, Error, Result};

impl ChatService {
    /// Copies a user's chat, either whole or only up to and including the results of the message `up_to`. The copy continues like the
    /// chat: it has the same place, directory, model and approval mode, the same summaries, task list and named sub-agents. Permissions
    /// given for good are not copied, and an undo in the copy restores no files, because the copy changed none. The copy appears once it
    /// is complete.
    ///
    /// # Errors
    /// [`Error::Refused`] with `not_found` for a message that had no effect there; [`Error::Store`] for a chat that was deleted or
    /// belongs to another user; [`Error::Stopping`].
    pub async fn fork(&self, user: &User, chat: &ChatId, up_to: Option<MessageId>) -> Result<Chat> {
        let _tracked = self.0.tasks.token();
        if self.0.is_stopping(user.id) {
            return Err(Error::Stopping);
        }
        fork(&self.0, user, chat, up_to.map(Turns::From)).await
    }
}

/// Copies a chat up to and including a message, or without its last ones.
pub(crate) async fn fork(service: &House, user: &User, chat: &ChatId, up_to: Option<Turns>) -> Result<Chat> {
    let last = match up_to {
        None => None,
        Some(up_to) => Some(last_turn(service, user, chat, up_to).await?),
    };
    let (store, user_id, chat) = (service.store.clone(), user.id, chat.clone());
    // This runs to its end even if the caller stops waiting, because half a copy is of no use.
    let copying = service.tasks.spawn(async move { store.fork_chat(user_id, &chat, last).await });
    let copy = copying.await.unwrap_or_else(|panicked| std::panic::resume_unwind(panicked.into_panic()))?;
    service.tell(user.id, ChatEvent::Chat(copy.clone()));
    Ok(copy)
}

async fn last_turn(service: &House, user: &User, chat: &ChatId, up_to: Turns) -> Result<TurnId> {
    let past = service.store.past_turns(user.id, chat, store::limits::PAGE_MAX_ROWS).await?;
    let unknown = || {
        Error::refused(
            "not_found",
            "That is not an answered message of this chat; /rewind lists the answered messages.",
        )
    };
    match up_to {
        // If all messages are left out, no turn is copied.
        Turns::Last(count) if count == past.len() => Ok(TurnId(0)),
        Turns::Last(count) => past.get(count).map(|turn| turn.id).ok_or_else(unknown),
        Turns::From(message) => {
            let turn = match service.store.turn_of_message(user.id, chat, message).await {
                Ok(turn) => turn,
                Err(store::Error::NotFound { what: "message", .. }) => None,
                Err(error) => return Err(error.into()),
            };
            let is_it = |past: &&store::PastTurn| Some(past.id) == turn || past.message == Some(message);
            past.iter().find(is_it).map(|turn| turn.id).ok_or_else(unknown)
        }
    }
}
