//! Sub-agents in the background: separate turns, whose results wait until the agents that called them are notified.
//!
//! ```text
//!   queued ─► running ─► ended ─result─► waits ─► reported, by a turn of the chat whose agent called it
//! ```
//! One transaction marks the result as reported and adds the message to the conversation, so an agent is notified once, even after a crash.

use sqlx::FromRow;

use crate::error::{Result, check_length};
use crate::limits::{MESSAGE_TEXT_MAX_BYTES, TURN_ITEM_MAX_BYTES, rows};
use crate::messages::{Author, NewMessage, append_to};
use crate::sql::{Scope, Transaction, query, query_as, query_scalar};
use crate::turns::{append, queue_in};
use crate::{ChatId, ItemId, Message, MessageId, MessageRole, Store, TurnId, TurnStatus, UserId};

/// A sub-agent's turn in the background.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct BackgroundTurn {
    /// The turn's id.
    pub id: TurnId,
    /// The sub-agent's conversation.
    #[sqlx(rename = "chat_id")]
    pub chat: ChatId,
    /// The user who owns both conversations.
    #[sqlx(rename = "user_id")]
    pub user: UserId,
    /// The conversation whose agent called it.
    #[sqlx(rename = "parent_id")]
    pub parent: ChatId,
    /// The turn of that conversation that called it.
    #[sqlx(rename = "root_turn_id")]
    pub root: TurnId,
    /// The message in that conversation that shows the call, if any.
    #[sqlx(rename = "card_id")]
    pub card: MessageId,
    /// The message that shows its first answer.
    #[sqlx(rename = "message_id")]
    pub message: Option<MessageId>,
    /// The sub-agent's role.
    pub role: Option<String>,
    /// The name by which the sub-agent can be called again.
    pub instance: Option<String>,
    /// The turn's status.
    pub status: TurnStatus,
    /// The turn's inputs, as JSON.
    pub background_json: String,
    /// The result; `None` until the turn has ended and its result is recorded.
    pub result_text: Option<String>,
}

/// Selects background turns `t` of sub-agents `s` with the conversation `c` that match the condition `$rest`.
macro_rules! select_background {
    ($rest:literal) => {
        concat!(
            "SELECT t.id, t.chat_id, c.user_id, c.parent_id, t.root_turn_id, t.card_id, t.message_id, s.role, s.instance,
                t.status, t.background_json, t.result_text
             FROM turns t JOIN chats c ON c.id = t.chat_id JOIN sub_agents s ON s.chat_id = t.chat_id
             WHERE t.background_json IS NOT NULL AND t.undone_at_ms IS NULL AND ",
            $rest
        )
    };
}

impl Store {
    /// The background turns that a server has to work on, of a user or of all users, the oldest first: those that have not ended, and those whose
    /// result is not recorded.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn background_to_do(&self, user: Option<UserId>) -> Result<Vec<BackgroundTurn>> {
        Ok(query_as(select_background!(
            "t.result_text IS NULL AND (c.user_id = $1 OR $1 IS NULL) ORDER BY t.id"
        ))
        .bind(user)
        .fetch_all(self.database.reader())
        .await?)
    }

    /// A user's background turn; `None` if it does not exist, or was undone.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn background_turn(&self, user: UserId, turn: TurnId) -> Result<Option<BackgroundTurn>> {
        Ok(query_as(select_background!("c.user_id = $1 AND t.id = $2"))
            .bind(user)
            .bind(turn)
            .fetch_optional(self.database.reader())
            .await?)
    }

    /// The background turns that a conversation's agent called, the newest first; at most `limit`.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn background_below(
        &self,
        user: UserId,
        parent: &ChatId,
        limit: u32,
    ) -> Result<Vec<BackgroundTurn>> {
        Ok(query_as(select_background!("c.user_id = $1 AND c.parent_id = $2 ORDER BY t.id DESC LIMIT $3"))
            .bind(user)
            .bind(parent)
            .bind(rows(limit))
            .fetch_all(self.database.reader())
            .await?)
    }

    /// The last background turn of a sub-agent, if the conversation's agent called it.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn background_of(
        &self,
        user: UserId,
        parent: &ChatId,
        agent: &ChatId,
    ) -> Result<Option<BackgroundTurn>> {
        Ok(query_as(select_background!(
            "c.user_id = $1 AND c.parent_id = $2 AND t.chat_id = $3 ORDER BY t.id DESC LIMIT 1"
        ))
        .bind(user)
        .bind(parent)
        .bind(agent)
        .fetch_optional(self.database.reader())
        .await?)
    }

    /// The background turns that a conversation's agent called and that have not ended.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn background_open(&self, user: UserId, parent: &ChatId) -> Result<Vec<BackgroundTurn>> {
        Ok(query_as(select_background!(
            "c.user_id = $1 AND c.parent_id = $2 AND t.status IN ('queued', 'running') ORDER BY t.id"
        ))
        .bind(user)
        .bind(parent)
        .fetch_all(self.database.reader())
        .await?)
    }

    /// The background turns that have ended, but about which the calling agent was not notified yet; the oldest first.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn background_ended(&self, user: UserId, parent: &ChatId) -> Result<Vec<BackgroundTurn>> {
        Ok(query_as(select_background!(
            "c.user_id = $1 AND c.parent_id = $2 AND t.result_text IS NOT NULL AND t.told_turn_id IS NULL ORDER BY t.id"
        ))
        .bind(user)
        .bind(parent)
        .fetch_all(self.database.reader())
        .await?)
    }

    /// The background turns about whose end the calling agent was not notified yet: running, ended, or waiting for a server to begin them or to
    /// record their result. The oldest first.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn background_untold(&self, user: UserId, parent: &ChatId) -> Result<Vec<BackgroundTurn>> {
        Ok(query_as(select_background!(
            "c.user_id = $1 AND c.parent_id = $2 AND t.told_turn_id IS NULL ORDER BY t.id"
        ))
        .bind(user)
        .bind(parent)
        .fetch_all(self.database.reader())
        .await?)
    }

    /// The conversations, of a user or of all users, whose agents have yet to be notified that a sub-agent in the background has ended without being
    /// stopped.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn chats_to_tell(&self, user: Option<UserId>) -> Result<Vec<(UserId, ChatId)>> {
        Ok(query_as(
            "SELECT DISTINCT c.user_id, c.parent_id FROM turns t JOIN chats c ON c.id = t.chat_id
             WHERE t.background_json IS NOT NULL AND t.result_text IS NOT NULL AND t.told_turn_id IS NULL
                AND t.undone_at_ms IS NULL AND t.status <> 'cancelled' AND (c.user_id = $1 OR $1 IS NULL)
             ORDER BY c.user_id, c.parent_id",
        )
        .bind(user)
        .fetch_all(self.database.reader())
        .await?)
    }

    /// Records the result of a background turn that has ended, once; true if this call recorded it.
    ///
    /// # Errors
    /// [`crate::Error::Invalid`] for a text beyond 1 MiB; [`crate::Error::Database`].
    pub async fn put_background_result(&self, turn: TurnId, text: &str) -> Result<bool> {
        check_length("result", text, MESSAGE_TEXT_MAX_BYTES)?;
        let put = query(
            "UPDATE turns SET result_text = $1 WHERE id = $2 AND background_json IS NOT NULL AND result_text IS NULL
                AND status NOT IN ('queued', 'running')",
        )
        .bind(text)
        .bind(turn)
        .execute(self.database.writer(Scope::Turn(turn)))
        .await?;
        Ok(put.rows_affected() == 1)
    }

    /// Notifies a turn that these sub-agents have ended, by adding an item to its conversation. Returns `None`, without any change, if another turn
    /// was notified of one of them.
    ///
    /// # Errors
    /// [`crate::Error::Invalid`] for an item beyond 32 MiB; [`crate::Error::NotFound`] for a turn whose conversation was deleted.
    pub async fn tell_of_background(
        &self,
        turn: TurnId,
        ended: &[TurnId],
        item_json: &str,
    ) -> Result<Option<ItemId>> {
        check_length("item", item_json, TURN_ITEM_MAX_BYTES)?;
        let mut transaction = self.database.write(Scope::Turn(turn)).await?;
        if !mark_told(&mut transaction, turn, ended).await? {
            return Ok(None);
        }
        let item = append(turn, item_json, &mut transaction).await?;
        transaction.commit().await?;
        Ok(Some(item))
    }

    /// Queues a turn that the server begins, to notify a conversation's agent that these sub-agents have ended: it adds a notice, the message that
    /// shows the answer, and the turn with its first item. If a messenger's conversation uses this chat, the answer is sent there. Returns `None`,
    /// without any change, if a turn was already notified of one of them.
    ///
    /// # Errors
    /// As [`Store::queue_shown_turn`].
    pub async fn queue_telling_turn(
        &self,
        user: UserId,
        chat: &ChatId,
        ended: &[TurnId],
        notice: &str,
        (document_json, item_json): (&str, &str),
    ) -> Result<Option<(Message, Message, TurnId)>> {
        check_length("item", item_json, TURN_ITEM_MAX_BYTES)?;
        let now_ms = self.now_ms();
        let mut transaction = self.database.write(Scope::User(user)).await?;
        let message = |role, text, document_json| NewMessage {
            user,
            chat,
            turn: None,
            role,
            author: Author::Owner,
            text,
            document_json,
        };
        let said = append_to(&mut transaction, now_ms, message(MessageRole::Notice, notice, None)).await?;
        let answer = message(MessageRole::Assistant, "", Some(document_json));
        let shown = append_to(&mut transaction, now_ms, answer).await?;
        let first = (shown.id, item_json);
        let turn = queue_in(&mut transaction, chat, Some(said.id), first, None, now_ms).await?;
        if !mark_told(&mut transaction, turn, ended).await? {
            return Ok(None);
        }
        answer_unasked(&mut transaction, user, chat, (turn, shown.id), now_ms).await?;
        transaction.commit().await?;
        Ok(Some((said, shown, turn)))
    }

    /// The number of turns in a conversation since the last one that answers a person's message.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn turns_by_themselves(&self, user: UserId, chat: &ChatId) -> Result<u64> {
        let count: i64 = query_scalar(
            "SELECT COUNT(*) FROM turns t JOIN chats c ON c.id = t.chat_id
             WHERE t.chat_id = $1 AND c.user_id = $2 AND t.undone_at_ms IS NULL
                AND t.id > COALESCE((SELECT MAX(p.id) FROM turns p LEFT JOIN messages m ON m.id = p.said_id
                    WHERE p.chat_id = $1 AND COALESCE(m.role, 'user') <> 'notice'), 0)",
        )
        .bind(chat)
        .bind(user)
        .fetch_one(self.database.reader())
        .await?;
        Ok(count.cast_unsigned())
    }
}

/// Marks these background turns as reported by a turn; false if one of them was already reported.
async fn mark_told(transaction: &mut Transaction, turn: TurnId, ended: &[TurnId]) -> Result<bool> {
    for id in ended {
        let marked = query(
            "UPDATE turns SET told_turn_id = $1 WHERE id = $2 AND told_turn_id IS NULL AND result_text IS NOT NULL",
        )
        .bind(turn)
        .bind(id)
        .execute(&mut *transaction)
        .await?;
        if marked.rows_affected() == 0 {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The number of unfinished background turns of this sub-agent and its siblings, which the same conversation's agent called.
pub(crate) async fn beside(transaction: &mut Transaction, chat: &ChatId) -> Result<u64> {
    let count: i64 = query_scalar(
        "SELECT COUNT(*) FROM turns t JOIN chats c ON c.id = t.chat_id
         WHERE t.background_json IS NOT NULL AND t.status IN ('queued', 'running')
            AND c.parent_id = (SELECT parent_id FROM chats WHERE id = $1)",
    )
    .bind(chat)
    .fetch_one(&mut *transaction)
    .await?;
    Ok(count.cast_unsigned())
}

/// Schedules the answer of a turn to be sent to the messengers' conversations that use this chat.
async fn answer_unasked(
    transaction: &mut Transaction,
    user: UserId,
    chat: &ChatId,
    (turn, shown): (TurnId, MessageId),
    now_ms: i64,
) -> Result<()> {
    // An answer belongs to an inbox event, so the server adds an event for it.
    query(
        "INSERT INTO channel_inbox
            (account_id, platform_id, conversation, person, state, event_json, user_id, chat_id, received_at_ms)
         SELECT k.account_id, 'sandbridge/turn/' || CAST($1 AS TEXT) || '/' || k.conversation, k.conversation, '', 'done', '',
            k.user_id, k.chat_id, $2
         FROM channel_chats k WHERE k.chat_id = $3 AND k.user_id = $4 ON CONFLICT DO NOTHING",
    )
    .bind(turn)
    .bind(now_ms)
    .bind(chat)
    .bind(user)
    .execute(&mut *transaction)
    .await?;
    query(
        "INSERT INTO channel_answers
            (inbox_id, account_id, conversation, is_group, reply_json, user_id, message_id, created_at_ms)
         SELECT i.id, i.account_id, i.conversation,
            EXISTS (SELECT 1 FROM channel_groups g WHERE g.account_id = i.account_id AND g.conversation = i.conversation),
            'null', i.user_id, m.id, $1
         FROM channel_chats k
         JOIN channel_inbox i ON i.account_id = k.account_id
            AND i.platform_id = 'sandbridge/turn/' || CAST($2 AS TEXT) || '/' || k.conversation
         JOIN messages m ON m.id = $3
         WHERE k.chat_id = $4 AND k.user_id = $5",
    )
    .bind(now_ms)
    .bind(turn)
    .bind(shown)
    .bind(chat)
    .bind(user)
    .execute(&mut *transaction)
    .await?;
    Ok(())
}
