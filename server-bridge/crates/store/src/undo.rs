//! Undoing turns. They stay in the database, marked as undone, but are no longer part of the conversation.

use std::collections::BTreeMap;

use sqlx::FromRow;

use crate::checkpoints::drop_unused;
use crate::error::{Error, Result};
use crate::limits::rows;
use crate::sql::{Scope, Transaction, query, query_as, query_scalar};
use crate::todos::restore_todos;
use crate::{ChatId, Message, MessageId, Store, TurnId, TurnStatus, UserId};

/// A turn that has ended and was not undone.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct PastTurn {
    /// The turn's id.
    pub id: TurnId,
    /// The first message that shows its results.
    #[sqlx(rename = "message_id")]
    pub message: Option<MessageId>,
    /// The status with which it ended.
    pub status: TurnStatus,
    /// The number of commands it ran that may have changed something.
    pub commands: i64,
    /// The text of its user's message.
    pub text: String,
    /// The time of that message, in Unix milliseconds.
    pub created_at_ms: i64,
    /// True if the server began the turn: its message is a notice.
    pub by_itself: bool,
}

impl Store {
    /// The turns of a user's conversation that have ended and were not undone, the last one first; `limit` is at most 1,000.
    ///
    /// # Errors
    /// [`Error::NotFound`] for a conversation that does not exist or belongs to another user.
    pub async fn past_turns(&self, user: UserId, chat: &ChatId, limit: u32) -> Result<Vec<PastTurn>> {
        self.chat(user, chat).await?;
        // For a turn of an earlier version, only the message that shows it is recorded; the message that it answers is before that one.
        Ok(query_as(
            "SELECT t.id, t.message_id, t.status, t.commands, t.created_at_ms,
                COALESCE((SELECT m.text FROM messages m WHERE m.id = t.said_id),
                         (SELECT m.text FROM messages m WHERE m.chat_id = t.chat_id AND m.role = 'user'
                            AND m.id < t.message_id ORDER BY m.id DESC LIMIT 1), '') AS text,
                EXISTS (SELECT 1 FROM messages m WHERE m.id = t.said_id AND m.role = 'notice') AS by_itself
             FROM turns t WHERE t.chat_id = $1 AND t.undone_at_ms IS NULL
                AND t.status NOT IN ('queued', 'running') ORDER BY t.id DESC LIMIT $2",
        )
        .bind(chat)
        .bind(rows(limit))
        .fetch_all(self.database.reader())
        .await?)
    }

    /// The turn that a message of a user's conversation belongs to; `None` if the message belongs to no turn.
    ///
    /// # Errors
    /// [`Error::NotFound`] for a message that does not exist, or belongs to another conversation or another user.
    pub async fn turn_of_message(
        &self,
        user: UserId,
        chat: &ChatId,
        message: MessageId,
    ) -> Result<Option<TurnId>> {
        self.chat(user, chat).await?;
        query_scalar("SELECT turn_id FROM messages WHERE id = $1 AND chat_id = $2")
            .bind(message)
            .bind(chat)
            .fetch_optional(self.database.reader())
            .await?
            .ok_or_else(|| Error::not_found("message", message))
    }

    /// Undoes these turns of a user's conversation, together with the work of sub-agents for them, and returns the messages that are marked as
    /// undone. The agents' directories and task lists are restored to the state before the first of these turns, a sub-agent that was first called
    /// in them loses its name, and the earlier states of the turns' files are deleted.
    ///
    /// # Errors
    /// [`Error::NotFound`] for a conversation that does not exist or belongs to another user.
    pub async fn take_back(&self, user: UserId, chat: &ChatId, turns: &[TurnId]) -> Result<Vec<Message>> {
        self.chat(user, chat).await?;
        let now_ms = self.now_ms();
        let mut transaction = self.database.write(Scope::User(user)).await?;
        query("UPDATE chats SET updated_at_ms = $1 WHERE id = $2")
            .bind(now_ms)
            .bind(chat)
            .execute(&mut transaction)
            .await?;
        let mut beneath: BTreeMap<ChatId, Vec<TurnId>> = BTreeMap::new();
        for turn in turns {
            let parts: Vec<(ChatId, TurnId)> = query_as(
                "SELECT chat_id, id FROM turns WHERE root_turn_id = $1 AND undone_at_ms IS NULL AND chat_id <> $2",
            )
            .bind(turn)
            .bind(chat)
            .fetch_all(&mut transaction)
            .await?;
            for (agent, part) in parts {
                beneath.entry(agent).or_default().push(part);
            }
        }
        let mut marked = take_back_of(&mut transaction, chat, turns, now_ms).await?;
        for (agent, parts) in &beneath {
            marked.extend(take_back_of(&mut transaction, agent, parts, now_ms).await?);
            query(
                "UPDATE sub_agents SET instance = NULL WHERE chat_id = $1
                    AND NOT EXISTS (SELECT 1 FROM turns t WHERE t.chat_id = $1 AND t.undone_at_ms IS NULL)",
            )
            .bind(agent)
            .execute(&mut transaction)
            .await?;
        }
        drop_unused(&mut transaction, chat).await?;
        transaction.commit().await?;
        marked.sort_by_key(|message| message.id);
        Ok(marked)
    }
}

/// Undoes turns of one conversation; returns the messages that are marked as undone.
async fn take_back_of(
    transaction: &mut Transaction,
    chat: &ChatId,
    turns: &[TurnId],
    now_ms: i64,
) -> Result<Vec<Message>> {
    if let Some(first) = turns.iter().min() {
        query(
            "UPDATE chats SET cwd = COALESCE((SELECT t.cwd FROM turns t WHERE t.id = $1), cwd) WHERE id = $2",
        )
        .bind(first)
        .bind(chat)
        .execute(&mut *transaction)
        .await?;
        restore_todos(transaction, chat, *first).await?;
    }
    let mut marked: Vec<Message> = Vec::new();
    for turn in turns {
        query("UPDATE turns SET undone_at_ms = $1 WHERE id = $2 AND chat_id = $3")
            .bind(now_ms)
            .bind(turn)
            .bind(chat)
            .execute(&mut *transaction)
            .await?;
        query("DELETE FROM checkpoints WHERE turn_id = $1").bind(turn).execute(&mut *transaction).await?;
        // For a turn of an earlier version, only the message that shows it is recorded.
        let mark = query_as::<Message>(
            "UPDATE messages SET undone = TRUE
             WHERE chat_id = $1 AND (turn_id = $2 OR id = (SELECT t.message_id FROM turns t WHERE t.id = $2))
             RETURNING id, chat_id, role, author_id, text, document_json, created_at_ms, undone",
        );
        marked.extend(mark.bind(chat).bind(turn).fetch_all(&mut *transaction).await?);
    }
    Ok(marked)
}
