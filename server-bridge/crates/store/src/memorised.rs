//! Memory in chats: the memory text in a chat's prompt, the user's own messages, and the chats from which memories were proposed.

use crate::error::{Error, Result};
use crate::homes::at_home;
use crate::limits::rows;
use crate::sql::{Scope, query, query_as, query_scalar};
use crate::{Asker, ChatId, MessageId, Store, TurnId, User, UserId};

macro_rules! quotation {
    () => {
        "The block below is the message that this one replies to"
    };
}

/// The beginning of the paragraph in which a message quotes the message it replies to. From there on, the author of the message did not write the
/// text.
pub const QUOTATION: &str = quotation!();

/// The beginning of a message to a sub-agent, before that one's name.
const TO_SUB_AGENT: &str = "/agent ";

/// Removes the quotation from a message.
fn unquoted(mut text: String) -> String {
    if let Some(at) = text.find(QUOTATION) {
        text.truncate(text[..at].trim_end().len());
    }
    text
}

/// True for a message `m` of the conversation `c` that its owner wrote: messages from others have no author, and messages that were made by a
/// command have a document.
macro_rules! is_own {
    () => {
        "m.role = 'user' AND m.author_id = c.user_id AND m.document_json IS NULL"
    };
}

/// True for a message `m` of the conversation `c` whose text its owner wrote for a model: not for commands, messages that were undone, and messages
/// that only quote others.
macro_rules! has_own_words {
    () => {
        concat!(
            is_own!(),
            " AND NOT m.undone AND m.text NOT LIKE '!%' AND (m.text NOT LIKE '/%' OR SUBSTR(m.text, 1, 7) = '/agent ')
               AND LTRIM(m.text, ' \t\r\n') <> '' AND LTRIM(m.text, ' \t\r\n') NOT LIKE '",
            quotation!(),
            "%'"
        )
    };
}

/// A request to an agent of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentRequest {
    /// The message that contains the request.
    pub message: MessageId,
    /// The text of the request.
    pub text: String,
    /// True if a person wrote the text; a text that an agent wrote is only information.
    pub is_persons: bool,
}

impl Store {
    /// The time up to which a user's chat was read for proposals of memories, in Unix milliseconds; 0 if it was not read. `None` if it is not read
    /// again: a chat is read once while it goes on, and once when it `is_over`.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn memorised_until(&self, user: UserId, chat: &ChatId, is_over: bool) -> Result<Option<i64>> {
        let read: Option<(i64, bool)> = query_as(
            "SELECT m.at_ms, m.is_over FROM memorised_chats m JOIN chats c ON c.id = m.chat_id WHERE m.chat_id = $1 AND c.user_id = $2",
        )
        .bind(chat)
        .bind(user)
        .fetch_optional(self.database.latest())
        .await?;
        Ok(match read {
            None => Some(0),
            Some((at_ms, false)) if is_over => Some(at_ms),
            Some(_) => None,
        })
    }

    /// Claims a user's chat for proposals of memories from what its user wrote up to `at_ms`; returns false if it is not read on this occasion: see
    /// [`Store::memorised_until`].
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn claim_memorising(
        &self,
        user: UserId,
        chat: &ChatId,
        is_over: bool,
        at_ms: i64,
    ) -> Result<bool> {
        let claimed = query(
            "INSERT INTO memorised_chats (chat_id, at_ms, is_over)
             SELECT c.id, $3, $4 FROM chats c WHERE c.id = $1 AND c.user_id = $2 AND c.parent_id IS NULL AND NOT c.is_copying
             ON CONFLICT (chat_id) DO UPDATE SET at_ms = excluded.at_ms, is_over = excluded.is_over
               WHERE excluded.is_over AND NOT memorised_chats.is_over",
        )
        .bind(chat)
        .bind(user)
        .bind(at_ms)
        .bind(is_over)
        .execute(self.database.writer(Scope::User(user)))
        .await?;
        Ok(claimed.rows_affected() == 1)
    }

    /// Takes back the claim of `at_ms` after an attempt that failed: what its user wrote after `after_ms` is read when the chat is over. Without
    /// effect if the chat was claimed again meanwhile, or has not changed since `since_ms`.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn unclaim_memorising(
        &self,
        user: UserId,
        chat: &ChatId,
        at_ms: i64,
        after_ms: i64,
        since_ms: i64,
    ) -> Result<()> {
        query(
            "UPDATE memorised_chats SET at_ms = $4, is_over = FALSE WHERE chat_id = $1 AND at_ms = $3
               AND EXISTS (SELECT 1 FROM chats c WHERE c.id = $1 AND c.user_id = $2 AND c.updated_at_ms >= $5)",
        )
        .bind(chat)
        .bind(user)
        .bind(at_ms)
        .bind(after_ms)
        .bind(since_ms)
        .execute(self.database.writer(Scope::User(user)))
        .await?;
        Ok(())
    }

    /// Chats in which their users wrote something that was not read yet, that have not changed since `since_ms` and are not claimed as over, of
    /// users whose setting `setting` is `on`; with these users, at most `limit`.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn idle_chats(&self, setting: &str, since_ms: i64, limit: u32) -> Result<Vec<(User, ChatId)>> {
        let found: Vec<(UserId, ChatId)> = query_as(concat!(
            "SELECT c.user_id, c.id FROM chats c JOIN settings s ON s.user_id = c.user_id AND s.name = $1 AND s.value = 'on'
             WHERE c.updated_at_ms < $2 AND c.parent_id IS NULL AND NOT c.is_copying
               AND NOT EXISTS (SELECT 1 FROM memorised_chats m WHERE m.chat_id = c.id AND m.is_over)
               AND EXISTS (SELECT 1 FROM turns t WHERE t.chat_id = c.id)
               AND EXISTS (SELECT 1 FROM messages m WHERE m.chat_id = c.id
                 AND m.created_at_ms > COALESCE((SELECT r.at_ms FROM memorised_chats r WHERE r.chat_id = c.id), 0) AND ",
            has_own_words!(),
            ") AND ",
            at_home!("c.user_id", "$4"),
            " ORDER BY c.updated_at_ms DESC LIMIT $3"
        ))
        .bind(setting)
        .bind(since_ms)
        .bind(rows(limit))
        .bind(self.database.node_id())
        .fetch_all(self.database.reader())
        .await?;
        let users = if found.is_empty() { Vec::new() } else { self.users().await? };
        let user_of = |(id, chat)| Some((users.iter().find(|user| user.id == id)?.clone(), chat));
        Ok(found.into_iter().filter_map(user_of).collect())
    }

    /// The latest messages that a user wrote in a chat after `after_ms`, in Unix milliseconds; at most `limit`, the oldest first. Without commands,
    /// messages that others wrote in the user's name, and quotations; of a message to a sub-agent, with that one's name.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn own_words(
        &self,
        user: UserId,
        chat: &ChatId,
        after_ms: i64,
        limit: u32,
    ) -> Result<Vec<String>> {
        let texts: Vec<String> = query_scalar(concat!(
            "SELECT m.text FROM messages m JOIN chats c ON c.id = m.chat_id WHERE m.chat_id = $1 AND c.user_id = $2 AND ",
            has_own_words!(),
            " AND m.created_at_ms > $4 ORDER BY m.id DESC LIMIT $3"
        ))
        .bind(chat)
        .bind(user)
        .bind(rows(limit))
        .bind(after_ms)
        .fetch_all(self.database.reader())
        .await?;
        let own = |text: String| {
            let text = unquoted(text);
            match text.strip_prefix(TO_SUB_AGENT) {
                Some(to_sub_agent) => to_sub_agent.to_owned(),
                None => text,
            }
        };
        Ok(texts.into_iter().rev().map(own).filter(|text| !text.is_empty()).collect())
    }

    /// The memory text in the prompt of a user's chat: the one that is stored for the chat, or `now`, which is then stored.
    ///
    /// # Errors
    /// [`Error::NotFound`] for a conversation that does not exist or belongs to another user.
    pub async fn chat_memory(&self, user: UserId, chat: &ChatId, now: &str) -> Result<String> {
        let told: Option<Option<String>> =
            query_scalar("SELECT memory FROM chats WHERE id = $1 AND user_id = $2")
                .bind(chat)
                .bind(user)
                .fetch_optional(self.database.reader())
                .await?;
        if let Some(told) = told.ok_or_else(|| Error::not_found("chat", chat))? {
            return Ok(told);
        }
        // If two callers store a text at the same time, both get the same one.
        let told: Option<String> = query_scalar(
            "UPDATE chats SET memory = COALESCE(memory, $1) WHERE id = $2 AND user_id = $3 RETURNING memory",
        )
        .bind(now)
        .bind(chat)
        .bind(user)
        .fetch_optional(self.database.writer(Scope::User(user)))
        .await?;
        told.ok_or_else(|| Error::not_found("chat", chat))
    }

    /// The user's own message that a turn answers, and its text without quotations; `None` if the message is unknown, was made from a command, or
    /// was written by others.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn said_of_turn(&self, user: UserId, turn: TurnId) -> Result<Option<(MessageId, String)>> {
        let said: Option<(MessageId, String)> = query_as(concat!(
            "SELECT m.id, m.text FROM turns t JOIN messages m ON m.id = t.said_id JOIN chats c ON c.id = t.chat_id
             WHERE t.id = $1 AND c.user_id = $2 AND ",
            is_own!()
        ))
        .bind(turn)
        .bind(user)
        .fetch_optional(self.database.reader())
        .await?;
        Ok(said.map(|(message, text)| (message, unquoted(text))))
    }

    /// The request that a turn of a group's agent answers, without the log and the other texts that the server puts around it, and without
    /// quotations. `None` if the request is unknown or has ended.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn asked_of_turn(
        &self,
        owner: UserId,
        chat: &ChatId,
        turn: TurnId,
    ) -> Result<Option<AgentRequest>> {
        let call = match self.asker_of_turn(chat, turn).await? {
            Asker::Call(call) => call,
            Asker::Owner => {
                let said = self.said_of_turn(owner, turn).await?;
                return Ok(said.map(|(message, text)| AgentRequest { message, text, is_persons: true }));
            }
            Asker::Nobody => return Ok(None),
        };
        let said: Option<Option<MessageId>> =
            query_scalar("SELECT said_id FROM turns WHERE id = $1 AND chat_id = $2")
                .bind(turn)
                .bind(chat)
                .fetch_optional(self.database.latest())
                .await?;
        // Requests between agents are written by agents, and a step's request contains the outputs of earlier steps.
        let is_persons = call.by_agent.is_none() && call.mode.is_none() && call.run_id.is_none();
        let text = unquoted(call.request);
        Ok(said.flatten().map(|message| AgentRequest { message, text, is_persons }))
    }

    /// The items of one turn of a user's conversation, in order.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn items_of_turn(&self, user: UserId, turn: TurnId) -> Result<Vec<String>> {
        Ok(query_scalar(
            "SELECT i.item_json FROM turn_items i JOIN turns t ON t.id = i.turn_id JOIN chats c ON c.id = t.chat_id
             WHERE t.id = $1 AND c.user_id = $2 ORDER BY i.id",
        )
        .bind(turn)
        .bind(user)
        .fetch_all(self.database.latest())
        .await?)
    }
}
