//! Messages to sub-agents that are running in the background.
//!
//! ```text
//!   the call of the agent that sends it ─► waits ─► an item of the sub-agent's turn, before its next request
//!                                            └─ the turn ends first ─► unread, which the result reports
//! ```
//! The end of a turn and the change that adds a message to it exclude each other, so each message is either read or counted as unread.

use crate::error::{Result, check_length};
use crate::limits::TURN_ITEM_MAX_BYTES;
use crate::messages::{Author, NewMessage, append_to};
use crate::sql::{Scope, query, query_as, query_scalar};
use crate::turns::append;
use crate::{ChatId, ItemId, Message, MessageId, MessageRole, Store, TurnId, UserId};

/// A message to a sub-agent in the background.
#[derive(Clone, Copy, Debug)]
pub struct BackgroundMessage<'a> {
    /// The conversation whose agent sends it.
    pub parent: &'a ChatId,
    /// The sub-agent's conversation.
    pub agent: &'a ChatId,
    /// The message that shows the call in its parent's conversation: each call sends one message.
    pub card: MessageId,
    /// The text to show to people.
    pub text: &'a str,
    /// The item for its turn.
    pub item_json: &'a str,
}

/// The outcome of sending a message to a sub-agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sent {
    /// The message is waiting for the sub-agent. Contains the message that shows it in the sub-agent's conversation.
    Now(Message),
    /// The same call has already sent its message.
    Before,
    /// The sub-agent is not running in the background.
    NotAtWork,
}

impl Store {
    /// Sends a message to a sub-agent whose last turn is in the background and has not ended, once per call.
    ///
    /// # Errors
    /// [`crate::Error::Invalid`] for an item beyond 32 MiB, and as for [`Store::append_message`].
    pub async fn send_to_background(&self, user: UserId, new: BackgroundMessage<'_>) -> Result<Sent> {
        let BackgroundMessage { parent, agent, card, text, item_json } = new;
        check_length("item", item_json, TURN_ITEM_MAX_BYTES)?;
        let now_ms = self.now_ms();
        let mut transaction = self.database.write(Scope::User(user)).await?;
        let before: Option<i64> = query_scalar("SELECT turn_id FROM background_messages WHERE card_id = $1")
            .bind(card)
            .fetch_optional(&mut transaction)
            .await?;
        if before.is_some() {
            return Ok(Sent::Before);
        }
        // The row is written to lock it, which delays the end of the turn until this transaction ends.
        let turn: Option<TurnId> = query_scalar(
            "UPDATE turns SET resumes = resumes
             WHERE background_json IS NOT NULL AND status IN ('queued', 'running') AND undone_at_ms IS NULL
                AND id = (SELECT MAX(t.id) FROM turns t JOIN chats c ON c.id = t.chat_id
                    WHERE t.chat_id = $1 AND c.parent_id = $2 AND c.user_id = $3)
             RETURNING id",
        )
        .bind(agent)
        .bind(parent)
        .bind(user)
        .fetch_optional(&mut transaction)
        .await?;
        let Some(turn) = turn else { return Ok(Sent::NotAtWork) };
        let message = NewMessage {
            user,
            chat: agent,
            turn: None,
            role: MessageRole::User,
            author: Author::Owner,
            text,
            document_json: None,
        };
        let said = append_to(&mut transaction, now_ms, message).await?;
        query("INSERT INTO background_messages (card_id, turn_id, item_json) VALUES ($1, $2, $3)")
            .bind(card)
            .bind(turn)
            .bind(item_json)
            .execute(&mut transaction)
            .await?;
        transaction.commit().await?;
        Ok(Sent::Now(said))
    }

    /// Adds the oldest message that waits for a turn to the turn's conversation; returns the item, or `None` if no message waits.
    ///
    /// # Errors
    /// [`crate::Error::NotFound`] for a turn whose conversation was deleted.
    pub async fn read_background_message(&self, turn: TurnId) -> Result<Option<(ItemId, String)>> {
        // Nearly always no message waits, and a read costs less than a transaction.
        if self.unread_background_messages(turn).await? == 0 {
            return Ok(None);
        }
        let mut transaction = self.database.write(Scope::Turn(turn)).await?;
        let next: Option<(MessageId, String)> = query_as(
            "SELECT card_id, item_json FROM background_messages WHERE turn_id = $1 AND item_id IS NULL
             ORDER BY card_id LIMIT 1",
        )
        .bind(turn)
        .fetch_optional(&mut transaction)
        .await?;
        let Some((card, item_json)) = next else { return Ok(None) };
        let item = append(turn, &item_json, &mut transaction).await?;
        query("UPDATE background_messages SET item_id = $1 WHERE card_id = $2")
            .bind(item)
            .bind(card)
            .execute(&mut transaction)
            .await?;
        transaction.commit().await?;
        Ok(Some((item, item_json)))
    }

    /// The number of messages that wait for a turn, or that the turn did not read before it ended.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn unread_background_messages(&self, turn: TurnId) -> Result<u64> {
        let count: i64 =
            query_scalar("SELECT COUNT(*) FROM background_messages WHERE turn_id = $1 AND item_id IS NULL")
                .bind(turn)
                .fetch_one(self.database.reader())
                .await?;
        Ok(count.cast_unsigned())
    }
}
