//! Chats as their users have them: beginning, finding, naming, reading and deleting them.

use store::{Chat, ChatId, ChatSearch, FoundChat, Message, MessageId, SubAgent, User, UserId};

use crate::limits::{
    CHAT_PAGE_ROWS, CHAT_SEARCH_ROWS, EXCERPT_BYTES, MESSAGE_PAGE_MAX_ROWS, MESSAGE_PAGE_ROWS,
};
use crate::told::Told;
use crate::{ChatEvent, ChatService, Error, Result};

/// Which chats are wanted: all, the one where something last happened first, or those that have some words.
#[derive(Clone, Copy, Debug, Default)]
pub struct Find<'a> {
    /// Words, all of them in the title or in one message.
    pub words: &'a [&'a str],
    /// Only those after this one, in their order.
    pub before: Option<&'a ChatId>,
    /// At most so many; [`CHAT_PAGE_ROWS`], or with words [`CHAT_SEARCH_ROWS`], if `None`, and at most.
    pub limit: Option<u32>,
}

/// A chat that was looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The chat.
    pub chat: Chat,
    /// Where a message has the words, unless the title has them.
    pub excerpt: Option<Excerpt>,
}

/// The place of a word in a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excerpt {
    /// The message.
    pub message: MessageId,
    /// The word, with what stands around it.
    pub text: String,
}

/// Which of a chat's messages are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Page {
    /// The last ones.
    Last,
    /// Those before this one.
    Before(MessageId),
    /// Those after this one, the first of them.
    After(MessageId),
}

/// A message, with what was sent live of it so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// The message.
    pub message: Message,
    /// What its own text does not hold yet.
    pub live: Vec<Told>,
}

impl ChatService {
    /// A user's chats, or those of them that have some words.
    ///
    /// # Errors
    /// [`Error::Store`] for a chat named in `before` that is none of theirs, and for words that take too long to be found.
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
    /// [`Error::Store`] for one that is gone or another user's.
    pub async fn chat(&self, user: UserId, chat: &ChatId) -> Result<Chat> {
        Ok(self.0.store.chat(user, chat).await?)
    }

    /// Begins a chat.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub async fn create(&self, user: &User) -> Result<Chat> {
        let chat = self.0.store.create_chat(user.id).await?;
        self.0.tell(user.id, ChatEvent::Chat(chat.clone()));
        Ok(chat)
    }

    /// The user's chat in which nothing was said yet, or a new one: so that two wishes for a new chat leave one empty one.
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
    /// [`Error::Refused`] for an empty one; [`Error::Store`] for one that is too long, and for a chat that is gone or another
    /// user's.
    pub async fn rename(&self, user: &User, chat: &ChatId, title: &str) -> Result<Chat> {
        let title = title.trim();
        if title.is_empty() {
            return Err(Error::refused("invalid", "the title is empty; give one"));
        }
        let chat = self.0.store.rename_chat(user.id, chat, title).await?;
        self.0.tell(user.id, ChatEvent::Chat(chat.clone()));
        Ok(chat)
    }

    /// Some of a chat's messages, the oldest first, [`MESSAGE_PAGE_ROWS`] of them unless `limit` says otherwise; and whether
    /// there are more in that direction.
    ///
    /// # Errors
    /// [`Error::Store`] for a chat that is gone or another user's.
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
        self.fill_live(&mut messages);
        let shown = messages.into_iter().map(|message| Shown { live: self.told(message.id), message });
        Ok((shown.collect(), more))
    }

    /// The sub-agents that a chat's agent called, the oldest first.
    ///
    /// # Errors
    /// [`Error::Store`] for a chat that is gone or another user's.
    pub async fn sub_agents(&self, user: UserId, chat: &ChatId) -> Result<Vec<SubAgent>> {
        Ok(self.0.store.sub_agents(user, chat).await?)
    }
}

/// The text around the first place of a word.
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
