//! Managing a user's chats: creating, finding, naming and reading them.

use store::{Chat, ChatId, ChatSearch, FoundChat, Message, MessageId, SubAgent, User, UserId};

use crate::limits::{
    CHAT_PAGE_ROWS, CHAT_SEARCH_ROWS, EXCERPT_BYTES, MESSAGE_PAGE_MAX_ROWS, MESSAGE_PAGE_ROWS,
};
use crate::live::LivePiece;
use crate::{ChatEvent, ChatService, Error, Result};

/// A search for chats: all, the most recently active first, or those that contain some words.
#[derive(Clone, Copy, Debug, Default)]
pub struct Find<'a> {
    /// The words to find; all of them must be in the title or in one message.
    pub words: &'a [&'a str],
    /// Limits the result to chats that come after this one in the order.
    pub before: Option<&'a ChatId>,
    /// Limit on the number of chats to return, at most [`CHAT_PAGE_ROWS`], or with words [`CHAT_SEARCH_ROWS`]; these are the defaults.
    pub limit: Option<u32>,
}

/// A chat that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The chat itself.
    pub chat: Chat,
    /// The first match in a message, unless the title contains the words.
    pub excerpt: Option<Excerpt>,
}

/// A match in a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excerpt {
    /// The id of the message.
    pub message: MessageId,
    /// The word, with the text around it.
    pub text: String,
}

/// The part of a chat's messages to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Page {
    /// The last messages.
    Last,
    /// The messages before this one.
    Before(MessageId),
    /// The messages after this one, the oldest first.
    After(MessageId),
}

/// A message with its live text so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// The message itself.
    pub message: Message,
    /// The live text that the message's own text does not contain yet.
    pub live: Vec<LivePiece>,
}

impl ChatService {
    /// A user's chats, or those that contain some words.
    ///
    /// # Errors
    /// [`Error::Store`] for a chat named in `before` that does not belong to the user, and for words whose search takes too
    /// long.
    pub async fn find(&self, user: UserId, wanted: Find<'_>) -> Result<Vec<Found>> {
        let Find { words, before, limit } = wanted;
        let most = if words.is_empty() { CHAT_PAGE_ROWS } else { CHAT_SEARCH_ROWS };
        let search = ChatSearch { words, before, limit: limit.unwrap_or(most).clamp(1, most) };
        let (store, mut found) = (&self.0.store, Vec::new());
        for FoundChat { chat, message } in store.search_chats(user, &search).await? {
            let message = match message {
                Some(id) => store.message(user, id).await.ok(),
                None => None,
            };
            let excerpt = message.map(|message| Excerpt {
                message: message.id,
                text: excerpt(&message.text, words.first().copied().unwrap_or_default()),
            });
            found.push(Found { chat, excerpt });
        }
        Ok(found)
    }

    /// A user's chat.
    ///
    /// # Errors
    /// [`Error::Store`] for a chat that was deleted or belongs to another user.
    pub async fn chat(&self, user: UserId, chat: &ChatId) -> Result<Chat> {
        Ok(self.0.store.chat(user, chat).await?)
    }

    /// Creates a chat.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub async fn create(&self, user: &User) -> Result<Chat> {
        let chat = self.0.store.create_chat(user.id).await?;
        self.0.tell(user.id, ChatEvent::Chat(chat.clone()));
        Ok(chat)
    }

    /// The user's empty chat, or a new one, so that two requests for a new chat leave only one empty chat.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub async fn create_or_reuse(&self, user: &User) -> Result<Chat> {
        let chat = self.0.store.empty_chat(user.id).await?;
        self.0.tell(user.id, ChatEvent::Chat(chat.clone()));
        Ok(chat)
    }

    /// Gives a chat a title.
    ///
    /// # Errors
    /// [`Error::Refused`] for an empty title; [`Error::Store`] for a title that is too long, and for a chat that was deleted or belongs
    /// to another user.
    pub async fn rename(&self, user: &User, chat: &ChatId, title: &str) -> Result<Chat> {
        let title = title.trim();
        if title.is_empty() {
            return Err(Error::refused("invalid", "the title is empty; enter one"));
        }
        let chat = self.0.store.rename_chat(user.id, chat, title).await?;
        self.0.tell(user.id, ChatEvent::Chat(chat.clone()));
        Ok(chat)
    }

    /// A page of a chat's messages, the oldest first: [`MESSAGE_PAGE_ROWS`] unless `limit` is given. The flag is true if there are more
    /// messages in that direction.
    ///
    /// # Errors
    /// [`Error::Store`] for a chat that was deleted or belongs to another user.
    pub async fn messages(
        &self,
        user: UserId,
        chat: &ChatId,
        page: Page,
        limit: Option<u32>,
    ) -> Result<(Vec<Shown>, bool)> {
        let limit = limit.unwrap_or(MESSAGE_PAGE_ROWS).min(MESSAGE_PAGE_MAX_ROWS);
        let store = &self.0.store;
        let (mut messages, more) = match page {
            Page::Last => store.messages(user, chat, None, limit).await?,
            Page::Before(message) => store.messages(user, chat, Some(message), limit).await?,
            Page::After(message) => store.messages_after(user, chat, message, limit).await?,
        };
        self.fill_live(user, &mut messages);
        let shown = messages.into_iter().map(|message| Shown { live: self.live(message.id), message });
        Ok((shown.collect(), more))
    }

    /// The sub-agents that a chat's agent called, the oldest first.
    ///
    /// # Errors
    /// [`Error::Store`] for a chat that was deleted or belongs to another user.
    pub async fn sub_agents(&self, user: UserId, chat: &ChatId) -> Result<Vec<SubAgent>> {
        Ok(self.0.store.sub_agents(user, chat).await?)
    }
}

/// The text around a word's first match.
fn excerpt(text: &str, word: &str) -> String {
    let (lower, word) = (text.to_ascii_lowercase(), word.to_ascii_lowercase());
    let at = lower.find(&word).unwrap_or(0);
    let from = text.floor_char_boundary(at.saturating_sub(EXCERPT_BYTES / 4));
    let until = text.floor_char_boundary((from + EXCERPT_BYTES).min(text.len()));
    let (before, behind) = (if from > 0 { "…" } else { "" }, if until < text.len() { "…" } else { "" });
    let words: Vec<&str> = text[from..until].split_whitespace().collect();
    format!("{before}{}{behind}", words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_shows_the_word_and_is_cut_where_characters_end() {
        assert_eq!(excerpt("say\n hello   there", "HELLO"), "say hello there");
        let long = format!("{}needle{}", "ü".repeat(500), "图".repeat(500));
        let shown = excerpt(&long, "needle");
        assert!(shown.contains("needle") && shown.starts_with('…') && shown.ends_with('…'), "{shown}");
        assert!(shown.len() <= EXCERPT_BYTES + 6);
        assert_eq!(excerpt("İstanbul", "x"), "İstanbul");
    }
}
