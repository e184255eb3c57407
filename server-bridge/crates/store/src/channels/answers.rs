//! Answers that are sent once they are complete.

use sqlx::FromRow;

use super::outbox::NewOutgoing;
use crate::error::Result;
use crate::sql::{Scope, Transaction, query, query_as, query_scalar};
use crate::{ChannelAccount, Message, MessageId, Store, UserId};

/// An answer that the server is to send once it is complete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewAnswer {
    /// The conversation to which it is sent.
    pub conversation: String,
    /// True if the conversation is a group.
    pub is_group: bool,
    /// The messenger's data for a reply, as JSON.
    pub reply_json: String,
    /// The user whose message is answered.
    pub user: UserId,
    /// The message of the chat that shows the answer.
    pub message: MessageId,
}

/// An answer that was not sent yet.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct ChannelAnswer {
    /// The id; later answers have larger ones.
    pub id: i64,
    /// The inbox event that it answers.
    pub inbox_id: i64,
    /// The account that sends it.
    pub account_id: i64,
    /// The conversation to which it is sent.
    pub conversation: String,
    /// True if the conversation is a group.
    pub is_group: bool,
    /// The messenger's data for a reply, as JSON.
    pub reply_json: String,
    /// The user whose message is answered.
    #[sqlx(rename = "user_id")]
    pub user: UserId,
    /// The message of the chat that shows the answer.
    #[sqlx(rename = "message_id")]
    pub message: MessageId,
    /// True if its turn or its command has ended.
    pub is_complete: bool,
    /// True if its turn was stopped.
    pub is_cancelled: bool,
    /// The reason why its turn failed; `None` if it did not.
    pub error: Option<String>,
}

/// A messenger's conversation that uses a chat.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct HeldConversation {
    /// The account on the messenger.
    pub account_id: i64,
    /// The conversation's id on the messenger.
    pub conversation: String,
    /// True if the conversation is a group.
    pub is_group: bool,
}

macro_rules! answers {
    () => {
        "SELECT a.id, a.inbox_id, a.account_id, a.conversation, a.is_group, a.reply_json, a.user_id, a.message_id,
            COALESCE(t.status NOT IN ('queued', 'running'), TRUE) AND COALESCE(e.status <> 'running', TRUE) AS is_complete,
            COALESCE(t.status = 'cancelled', FALSE) AS is_cancelled, t.error
         FROM channel_answers a LEFT JOIN turns t ON t.message_id = a.message_id
         LEFT JOIN execs e ON e.message_id = a.message_id"
    };
}
pub(super) use answers;

impl NewAnswer {
    pub(super) async fn insert(
        &self,
        transaction: &mut Transaction,
        account: i64,
        event: i64,
        now_ms: i64,
    ) -> Result<()> {
        query(
            "INSERT INTO channel_answers (inbox_id, account_id, conversation, is_group, reply_json, user_id, message_id, created_at_ms)
             SELECT $1, $2, $3, $4, $5, $6, m.id, $7 FROM messages m WHERE m.id = $8",
        )
        .bind(event)
        .bind(account)
        .bind(&self.conversation)
        .bind(self.is_group)
        .bind(&self.reply_json)
        .bind(self.user)
        .bind(now_ms)
        .bind(self.message)
        .execute(&mut *transaction)
        .await?;
        Ok(())
    }
}

impl Store {
    /// The complete answers with ids above `after`, at most `limit`.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn complete_answers(&self, after: i64, limit: i64) -> Result<Vec<ChannelAnswer>> {
        Ok(query_as(concat!(
            answers!(),
            " WHERE a.id > $1 AND COALESCE(t.status NOT IN ('queued', 'running'), TRUE)
                AND COALESCE(e.status <> 'running', TRUE) ORDER BY a.id LIMIT $2"
        ))
        .bind(after)
        .bind(limit)
        .fetch_all(self.database.reader())
        .await?)
    }

    /// The unsent answers to the turn that a message belongs to.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn answers_of_turn(&self, user: UserId, message: MessageId) -> Result<Vec<ChannelAnswer>> {
        Ok(query_as(concat!(
            answers!(),
            " WHERE a.user_id = $1 AND t.id = (SELECT m.turn_id FROM messages m WHERE m.id = $2) ORDER BY a.id"
        ))
        .bind(user)
        .bind(message)
        .fetch_all(self.database.reader())
        .await?)
    }

    /// The messengers' conversations that use the chat of a user's message, if the message belongs to a turn that has ended.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn conversations_after_turn(
        &self,
        user: UserId,
        message: MessageId,
    ) -> Result<Vec<HeldConversation>> {
        Ok(query_as(
            "SELECT k.account_id, k.conversation,
                EXISTS (SELECT 1 FROM channel_groups g WHERE g.account_id = k.account_id AND g.conversation = k.conversation) AS is_group
             FROM messages m JOIN turns t ON t.id = m.turn_id JOIN channel_chats k ON k.chat_id = m.chat_id
             WHERE m.id = $1 AND k.user_id = $2 AND t.status NOT IN ('queued', 'running') ORDER BY k.account_id, k.conversation",
        )
        .bind(message)
        .bind(user)
        .fetch_all(self.database.reader())
        .await?)
    }

    /// Changes the answers of a message's turn that are to be sent to a conversation, so that they reply to a newer event there.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn renew_answers(
        &self,
        account: &ChannelAccount,
        conversation: &str,
        (user, message): (UserId, MessageId),
        reply_json: &str,
    ) -> Result<()> {
        let sql = "UPDATE channel_answers SET reply_json = $1 WHERE account_id = $2 AND conversation = $3 AND user_id = $4
            AND message_id IN (SELECT t.message_id FROM turns t JOIN messages m ON m.turn_id = t.id WHERE m.id = $5)";
        let renewing =
            query(sql).bind(reply_json).bind(account.id).bind(conversation).bind(user).bind(message);
        renewing.execute(self.database.writer(Scope::User(account.user))).await?;
        Ok(())
    }

    /// True if the answer that this message shows is yet to be sent.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn is_awaited(&self, message: MessageId) -> Result<bool> {
        let sql = "SELECT EXISTS (SELECT 1 FROM channel_answers WHERE message_id = $1)";
        Ok(query_scalar(sql).bind(message).fetch_one(self.database.reader()).await?)
    }

    /// The messages of a turn in order, beginning with the one that shows its first answer.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn turn_messages(&self, user: UserId, first: MessageId) -> Result<Vec<Message>> {
        Ok(query_as(
            "SELECT m.id, m.chat_id, m.role, m.author_id, m.text, m.document_json, m.created_at_ms, m.undone
             FROM messages m JOIN messages f ON f.turn_id = m.turn_id AND f.chat_id = m.chat_id JOIN chats c ON c.id = m.chat_id
             WHERE f.id = $1 AND m.id >= $1 AND c.user_id = $2 ORDER BY m.id",
        )
        .bind(first)
        .bind(user)
        .fetch_all(self.database.reader())
        .await?)
    }

    /// Replaces an answer with the messages that are sent for it, in one transaction; does nothing if that was done before.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn complete_answer(&self, answer: &ChannelAnswer, outgoing: &[NewOutgoing]) -> Result<()> {
        let mut transaction = self.database.write(Scope::User(answer.user)).await?;
        let gone = query("DELETE FROM channel_answers WHERE id = $1")
            .bind(answer.id)
            .execute(&mut transaction)
            .await?;
        if gone.rows_affected() == 0 {
            return Ok(());
        }
        for one in outgoing {
            one.insert(&mut transaction, answer.account_id, self.now_ms()).await?;
        }
        Ok(transaction.commit().await?)
    }
}
