//! A sub-agent's turn, and the call by the parent's turn that started it.
//!
//! ```text
//!   parent's chat:     message ─ card of the call
//!   sub-agent's chat:  task ─ answer ─ turn (card, turn at the top) ◄── all of it in one transaction
//! ```

use sqlx::FromRow;

use crate::background::beside;
use crate::error::{Result, check_length};
use crate::limits::TURN_ITEM_MAX_BYTES;
use crate::messages::{Author, NewMessage, append_to};
use crate::sql::{Scope, query, query_as};
use crate::sub_agents::{select, use_in};
use crate::turns::queue_in;
use crate::{ChatId, Message, MessageId, MessageRole, Store, SubAgent, TurnId, TurnStatus, UserId};

/// A task for a sub-agent.
#[derive(Clone, Copy, Debug)]
pub struct NewDelegation<'a> {
    /// The sub-agent's conversation.
    pub chat: &'a ChatId,
    /// The message that shows the call in its parent's conversation.
    pub card: MessageId,
    /// The top turn that the sub-agent's turn is a part of.
    pub root: TurnId,
    /// The text of the task.
    pub text: &'a str,
    /// The document of the message that will show the answer.
    pub document_json: &'a str,
    /// The first item of the turn.
    pub item_json: &'a str,
    /// The inputs of a turn in the background; `None` for one in the foreground.
    pub background: Option<NewBackground<'a>>,
}

/// A turn in the background: its call does not wait for its end.
#[derive(Clone, Copy, Debug)]
pub struct NewBackground<'a> {
    /// The turn's inputs, as JSON of crate `agent`.
    pub json: &'a str,
    /// The limit on unfinished background turns of the same conversation's agent, including this one.
    pub most: u64,
}

/// A sub-agent that was called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CalledSubAgent {
    /// The sub-agent, with its conversation.
    pub agent: SubAgent,
    /// The turn of the call; `None` if it was not queued yet.
    pub turn: Option<CalledTurn>,
}

/// The turn in which a called sub-agent works on its task.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct CalledTurn {
    /// The turn's id.
    pub id: TurnId,
    /// The sub-agent's conversation.
    #[sqlx(rename = "chat_id")]
    pub chat: ChatId,
    /// The message that shows its first answer.
    #[sqlx(rename = "message_id")]
    pub message: Option<MessageId>,
    /// The turn's status.
    pub status: TurnStatus,
    /// The reason why it failed; `None` if it did not.
    pub error: Option<String>,
    /// True if its user stopped it.
    pub is_cancelled: bool,
    /// True if the sub-agent has not been called again since.
    pub is_last: bool,
}

impl Store {
    /// Gives a sub-agent a task: adds a message with the task, the message that will show the answer, and the queued turn, in one transaction.
    /// Returns all three, or `None` if too many turns are in the background.
    ///
    /// # Errors
    /// [`crate::Error::NotFound`] for a sub-agent that does not exist or belongs to another user; [`crate::Error::Invalid`] for an item beyond 32
    /// MiB, and as for [`Store::append_message`].
    pub async fn queue_delegated_turn(
        &self,
        user: UserId,
        new: NewDelegation<'_>,
    ) -> Result<Option<(Message, Message, TurnId)>> {
        let NewDelegation { chat, card, root, text, document_json, item_json, background } = new;
        check_length("item", item_json, TURN_ITEM_MAX_BYTES)?;
        if let Some(NewBackground { json, .. }) = background {
            check_length("beginning of a turn in the background", json, TURN_ITEM_MAX_BYTES)?;
        }
        let now_ms = self.now_ms();
        let mut transaction = self.database.write(Scope::User(user)).await?;
        use_in(&mut transaction, user, chat, card, now_ms).await?;
        if let Some(NewBackground { most, .. }) = background
            && beside(&mut transaction, chat).await? >= most
        {
            return Ok(None);
        }
        let message = |role, text, document_json| NewMessage {
            user,
            chat,
            turn: None,
            role,
            author: Author::Owner,
            text,
            document_json,
        };
        let task = message(MessageRole::User, text, None);
        let said = append_to(&mut transaction, now_ms, task).await?;
        let answer = message(MessageRole::Assistant, "", Some(document_json));
        let shown = append_to(&mut transaction, now_ms, answer).await?;
        let (first, beneath) = ((shown.id, item_json), Some((root, card)));
        let turn = queue_in(&mut transaction, chat, Some(said.id), first, beneath, now_ms).await?;
        if let Some(NewBackground { json, .. }) = background {
            query("UPDATE turns SET background_json = $1 WHERE id = $2")
                .bind(json)
                .bind(turn)
                .execute(&mut transaction)
                .await?;
        }
        transaction.commit().await?;
        Ok(Some((said, shown, turn)))
    }

    /// The sub-agent that was called by the call which this message of a user's conversation shows; `None` if none was created or called
    /// for it.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn called_sub_agent(
        &self,
        user: UserId,
        parent: &ChatId,
        card: MessageId,
    ) -> Result<Option<CalledSubAgent>> {
        let turn: Option<CalledTurn> = query_as(
            "SELECT t.id, t.chat_id, t.message_id, t.status, t.error, t.is_cancelled,
                NOT EXISTS (SELECT 1 FROM turns l WHERE l.chat_id = t.chat_id AND l.id > t.id) AS is_last
             FROM turns t JOIN chats c ON c.id = t.chat_id
             WHERE c.parent_id = $1 AND c.user_id = $2 AND t.card_id = $3 ORDER BY t.id DESC LIMIT 1",
        )
        .bind(parent)
        .bind(user)
        .bind(card)
        .fetch_optional(self.database.reader())
        .await?;
        if let Some(turn) = turn {
            let agent = self.sub_agent(user, &turn.chat).await?;
            return Ok(agent.map(|agent| CalledSubAgent { agent, turn: Some(turn) }));
        }
        let agent: Option<SubAgent> =
            query_as(select!("c.parent_id = $2 AND s.message_id = $3 ORDER BY s.used_at_ms DESC LIMIT 1"))
                .bind(user)
                .bind(parent)
                .bind(card)
                .fetch_optional(self.database.reader())
                .await?;
        Ok(agent.map(|agent| CalledSubAgent { agent, turn: None }))
    }
}
