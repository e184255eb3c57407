//! Questions to people: each belongs to a message, and is answered once, with its audit entry in the same step.

use sqlx::FromRow;

use crate::audit::append_entry;
use crate::error::{Result, check_length};
use crate::limits::{ASK_ANSWER_MAX_BYTES, SETTING_KEY_MAX_BYTES};
use crate::sql::{On, Scope, query, query_as, query_scalar};
use crate::{AuditEntry, MessageId, Store, TurnId, UserId};

/// The result of [`Store::answer_ask`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AskAnswered {
    /// This call recorded the answer.
    Now,
    /// Another answer was recorded first.
    Before(GivenAnswer),
    /// The message has no open question of this kind: it was withdrawn, it timed out, or it was never asked.
    Gone,
}

/// A recorded answer.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct GivenAnswer {
    /// The answer, as its writer's JSON text.
    pub answer_json: String,
    /// The interface through which it was given: `page`, `cli`, or a channel's name.
    pub surface: String,
}

impl Store {
    /// Records that a user's message asks a question of this kind, and withdraws any earlier question of that message.
    ///
    /// # Errors
    /// [`crate::Error::Invalid`] for a kind beyond 128 bytes; [`crate::Error::NotFound`] for a message that does not exist or belongs to another
    /// user.
    pub async fn put_ask(
        &self,
        user: UserId,
        message: MessageId,
        kind: &str,
        patience_ms: i64,
    ) -> Result<()> {
        check_length("kind", kind, SETTING_KEY_MAX_BYTES)?;
        let now_ms = self.now_ms();
        let mut transaction = self.database.write(Scope::User(user)).await?;
        query(
            "UPDATE asks SET withdrawn_at_ms = $1
             WHERE message_id = $2 AND answered_at_ms IS NULL AND withdrawn_at_ms IS NULL",
        )
        .bind(now_ms)
        .bind(message)
        .execute(&mut transaction)
        .await?;
        let put = query(
            "INSERT INTO asks (message_id, user_id, kind, asked_at_ms, expires_at_ms)
             SELECT m.id, c.user_id, $1, $2, $3 FROM messages m JOIN chats c ON c.id = m.chat_id
             WHERE m.id = $4 AND c.user_id = $5",
        )
        .bind(kind)
        .bind(now_ms)
        .bind(now_ms.saturating_add(patience_ms))
        .bind(message)
        .bind(user)
        .execute(&mut transaction)
        .await?;
        if put.rows_affected() == 0 {
            return Err(crate::Error::not_found("message", message.0));
        }
        transaction.commit().await?;
        Ok(())
    }

    /// Records a user's answer to a message's question together with its audit entry, in one transaction. If several answers arrive, the first one
    /// counts.
    ///
    /// # Errors
    /// [`crate::Error::Invalid`] for an answer beyond 256 KiB.
    pub async fn answer_ask(
        &self,
        user: UserId,
        message: MessageId,
        kind: &str,
        given: &GivenAnswer,
        audit: &AuditEntry,
    ) -> Result<AskAnswered> {
        check_length("answer", &given.answer_json, ASK_ANSWER_MAX_BYTES)?;
        check_length("surface", &given.surface, SETTING_KEY_MAX_BYTES)?;
        let now_ms = self.now_ms();
        let mut transaction = self.database.write(Scope::User(user)).await?;
        let answered = query(
            "UPDATE asks SET answer_json = $1, surface = $2, answered_at_ms = $3
             WHERE message_id = $4 AND user_id = $5 AND kind = $6
                AND answered_at_ms IS NULL AND withdrawn_at_ms IS NULL AND expires_at_ms > $3",
        )
        .bind(&given.answer_json)
        .bind(&given.surface)
        .bind(now_ms)
        .bind(message)
        .bind(user)
        .bind(kind)
        .execute(&mut transaction)
        .await?;
        if answered.rows_affected() > 0 {
            append_entry(&mut transaction, now_ms, audit).await?;
            transaction.commit().await?;
            return Ok(AskAnswered::Now);
        }
        let before = first_given(user, message, kind, &mut transaction).await?;
        Ok(before.map_or(AskAnswered::Gone, AskAnswered::Before))
    }

    /// A user's recorded answer to a message's question, if there is one.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn given_answer(
        &self,
        user: UserId,
        message: MessageId,
        kind: &str,
    ) -> Result<Option<GivenAnswer>> {
        first_given(user, message, kind, self.database.reader()).await
    }

    /// True if a user's message asks a question of this kind that is unanswered and was not withdrawn.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn is_ask_open(&self, user: UserId, message: MessageId, kind: &str) -> Result<bool> {
        Ok(query_scalar(
            "SELECT EXISTS (SELECT 1 FROM asks WHERE message_id = $1 AND user_id = $2 AND kind = $3
                AND answered_at_ms IS NULL AND withdrawn_at_ms IS NULL AND expires_at_ms > $4)",
        )
        .bind(message)
        .bind(user)
        .bind(kind)
        .bind(self.now_ms())
        .fetch_one(self.database.reader())
        .await?)
    }

    /// The messages, of a user or of all users, that have an unanswered question and belong to no turn. After a restart of the server, nothing waits
    /// for their answers.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn asks_outside_turns(&self, user: Option<UserId>) -> Result<Vec<(UserId, MessageId)>> {
        Ok(query_as(
            "SELECT a.user_id, a.message_id FROM asks a JOIN messages m ON m.id = a.message_id
             WHERE m.turn_id IS NULL AND a.answered_at_ms IS NULL AND a.withdrawn_at_ms IS NULL
               AND (a.user_id = $1 OR $1 IS NULL) ORDER BY a.id",
        )
        .bind(user)
        .fetch_all(self.database.reader())
        .await?)
    }

    /// The messages of a turn that have an unanswered question.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn asks_of_turn(&self, turn: TurnId) -> Result<Vec<MessageId>> {
        Ok(query_scalar(
            "SELECT a.message_id FROM asks a JOIN messages m ON m.id = a.message_id
             WHERE m.turn_id = $1 AND a.answered_at_ms IS NULL AND a.withdrawn_at_ms IS NULL ORDER BY a.id",
        )
        .bind(turn)
        .fetch_all(self.database.reader())
        .await?)
    }

    /// Withdraws the unanswered question of a user's message, if there is one.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn withdraw_ask(&self, user: UserId, message: MessageId) -> Result<()> {
        query(
            "UPDATE asks SET withdrawn_at_ms = $1
             WHERE message_id = $2 AND user_id = $3 AND answered_at_ms IS NULL AND withdrawn_at_ms IS NULL",
        )
        .bind(self.now_ms())
        .bind(message)
        .bind(user)
        .execute(self.database.writer(Scope::User(user)))
        .await?;
        Ok(())
    }

    /// Withdraws the unanswered questions of a turn's messages, because nothing waits for the answers any longer.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn withdraw_asks(&self, turn: TurnId) -> Result<()> {
        query(
            "UPDATE asks SET withdrawn_at_ms = $1
             WHERE answered_at_ms IS NULL AND withdrawn_at_ms IS NULL
                AND message_id IN (SELECT id FROM messages WHERE turn_id = $2)",
        )
        .bind(self.now_ms())
        .bind(turn)
        .execute(self.database.writer(Scope::Turn(turn)))
        .await?;
        Ok(())
    }
}

async fn first_given(
    user: UserId,
    message: MessageId,
    kind: &str,
    executor: impl On<'_>,
) -> Result<Option<GivenAnswer>> {
    Ok(query_as(
        "SELECT answer_json, surface FROM asks
         WHERE message_id = $1 AND user_id = $2 AND kind = $3 AND answered_at_ms IS NOT NULL ORDER BY id DESC LIMIT 1",
    )
    .bind(message)
    .bind(user)
    .bind(kind)
    .fetch_optional(executor)
    .await?)
}
