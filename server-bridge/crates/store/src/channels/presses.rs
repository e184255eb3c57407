//! The answers that people can choose below a question: each has a token, of which only the hash is stored. One answer to each question is
//! accepted.

use sqlx::FromRow;

use crate::error::Result;
use crate::sql::{Scope, Transaction, query, query_as, query_scalar};
use crate::{MessageId, Store, UserId};

/// An answer to choose from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewPress {
    /// The SHA-256 of the answer's token, in hex.
    pub token_sha256: String,
    /// The answer's number, from 1; within a conversation, each question continues the numbering of the previous question.
    pub place: i64,
    /// The label of its button.
    pub label: String,
    /// The answer to record, as JSON.
    pub reply_json: String,
    /// When it expires, in Unix milliseconds.
    pub expires_at_ms: i64,
}

/// A recorded answer to choose from, with its question.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct Press {
    /// The outbox row of the question.
    pub outbox_id: i64,
    /// The account on the messenger.
    pub account_id: i64,
    /// The conversation of the question.
    pub conversation: String,
    /// The user who was asked; `None` for the question of a gate.
    #[sqlx(rename = "user_id")]
    pub user: Option<UserId>,
    /// The messenger's id of the question's message.
    pub platform_id: Option<String>,
    /// The chat's message that asks the question; `None` for the question of a gate.
    #[sqlx(rename = "ask_message_id")]
    pub ask: Option<MessageId>,
    /// The label of its button.
    pub label: String,
    /// The answer to record, as JSON.
    pub reply_json: String,
    /// When it expires, in Unix milliseconds.
    pub expires_at_ms: i64,
    /// When one of the question's answers was chosen, or the question ended; `None` until then.
    pub used_at_ms: Option<i64>,
}

/// A question that was sent.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct OpenAsk {
    /// The outbox row of the question.
    pub outbox_id: i64,
    /// The account on the messenger.
    pub account_id: i64,
    /// The conversation of the question.
    pub conversation: String,
    /// True if the conversation is a group.
    pub is_group: bool,
    /// The user who was asked.
    #[sqlx(rename = "user_id")]
    pub user: Option<UserId>,
    /// The chat's message that asks the question.
    #[sqlx(rename = "ask_message_id")]
    pub ask: Option<MessageId>,
}

macro_rules! presses {
    () => {
        "SELECT p.outbox_id, o.account_id, o.conversation, o.user_id, o.platform_id, o.ask_message_id, p.label, p.reply_json,
            p.expires_at_ms, p.used_at_ms
         FROM channel_presses p JOIN channel_outbox o ON o.id = p.outbox_id"
    };
}

/// Selects questions to one user. Questions of a group's gates are left out: they are for everybody in the group, and end in another way.
macro_rules! open_asks {
    () => {
        "SELECT o.id AS outbox_id, o.account_id, o.conversation, o.is_group, o.user_id, o.ask_message_id
         FROM channel_outbox o
         WHERE o.user_id IS NOT NULL AND EXISTS (SELECT 1 FROM channel_presses p WHERE p.outbox_id = o.id AND p.used_at_ms IS NULL)"
    };
}

/// True if the person got the question `o` in full, with all of its messages.
macro_rules! is_shown {
    () => {
        "o.state = 'sent' AND NOT EXISTS (SELECT 1 FROM channel_outbox x WHERE x.account_id = o.account_id
            AND x.source = o.source AND x.state <> 'sent')"
    };
}

impl NewPress {
    pub(super) async fn insert(&self, transaction: &mut Transaction, outbox_id: i64) -> Result<()> {
        query(
            "INSERT INTO channel_presses (token_sha256, outbox_id, place, label, reply_json, expires_at_ms)
             VALUES ($1, $2, $3, $4, $5, $6)",
        )
        .bind(&self.token_sha256)
        .bind(outbox_id)
        .bind(self.place)
        .bind(&self.label)
        .bind(&self.reply_json)
        .bind(self.expires_at_ms)
        .execute(&mut *transaction)
        .await?;
        Ok(())
    }
}

impl Store {
    /// The answer with this token, once all earlier parts of its question were sent and its own part may have arrived.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn channel_press(&self, token_sha256: &str) -> Result<Option<Press>> {
        Ok(query_as(concat!(
            presses!(),
            " WHERE p.token_sha256 = $1 AND o.state IN ('sending', 'sent')
                AND NOT EXISTS (SELECT 1 FROM channel_outbox x WHERE x.account_id = o.account_id AND x.source = o.source
                    AND x.part < o.part AND x.state <> 'sent')"
        ))
            .bind(token_sha256)
            .fetch_optional(self.database.reader())
            .await?)
    }

    /// The answer with this number below a question to a user in a conversation that was sent in full and waits for an answer. Also `None` if two
    /// such questions have an answer with this number.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn numbered_press(
        &self,
        account: i64,
        conversation: &str,
        user: UserId,
        place: i64,
    ) -> Result<Option<Press>> {
        let mut found: Vec<Press> = query_as(concat!(
            presses!(),
            " WHERE o.account_id = $1 AND o.conversation = $2 AND o.user_id = $3 AND p.place = $4 AND p.used_at_ms IS NULL
                AND p.expires_at_ms > $5 AND ",
            is_shown!(),
            " LIMIT 2"
        ))
        .bind(account)
        .bind(conversation)
        .bind(user)
        .bind(place)
        .bind(self.now_ms())
        .fetch_all(self.database.reader())
        .await?;
        Ok(found.pop().filter(|_| found.is_empty()))
    }

    /// The largest answer number of the newest question to a user in a conversation; 0 if none is recorded.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn last_press_place(&self, account: i64, conversation: &str, user: UserId) -> Result<i64> {
        Ok(query_scalar(
            "SELECT COALESCE(MAX(p.place), 0) FROM channel_presses p WHERE p.outbox_id = (
                SELECT MAX(q.outbox_id) FROM channel_presses q JOIN channel_outbox o ON o.id = q.outbox_id
                WHERE o.account_id = $1 AND o.conversation = $2 AND o.user_id = $3)",
        )
        .bind(account)
        .bind(conversation)
        .bind(user)
        .fetch_one(self.database.reader())
        .await?)
    }

    /// True if any recorded question to a user in a conversation has an answer with this number.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn is_press_place(
        &self,
        account: i64,
        conversation: &str,
        user: UserId,
        place: i64,
    ) -> Result<bool> {
        Ok(query_scalar(
            "SELECT EXISTS (SELECT 1 FROM channel_presses p JOIN channel_outbox o ON o.id = p.outbox_id
                WHERE o.account_id = $1 AND o.conversation = $2 AND o.user_id = $3 AND p.place = $4)",
        )
        .bind(account)
        .bind(conversation)
        .bind(user)
        .bind(place)
        .fetch_one(self.database.reader())
        .await?)
    }

    /// The newest question to a chat's user in a conversation that was sent in full and waits for an answer.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn open_ask(&self, account: i64, conversation: &str, user: UserId) -> Result<Option<OpenAsk>> {
        Ok(query_as(concat!(
            open_asks!(),
            " AND o.account_id = $1 AND o.conversation = $2 AND o.user_id = $3 AND o.ask_message_id IS NOT NULL
                AND EXISTS (SELECT 1 FROM channel_presses p WHERE p.outbox_id = o.id AND p.expires_at_ms > $4) AND ",
            is_shown!(),
            " ORDER BY o.id DESC LIMIT 1"
        ))
        .bind(account)
        .bind(conversation)
        .bind(user)
        .bind(self.now_ms())
        .fetch_optional(self.database.reader())
        .await?)
    }

    /// The open questions of a message, by their outbox rows.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn asks_of(&self, message: MessageId) -> Result<Vec<OpenAsk>> {
        Ok(query_as(concat!(open_asks!(), " AND o.ask_message_id = $1 ORDER BY o.id"))
            .bind(message)
            .fetch_all(self.database.reader())
            .await?)
    }

    /// All questions that wait for an answer, at most `limit`.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn open_asks(&self, limit: i64) -> Result<Vec<OpenAsk>> {
        Ok(query_as(concat!(open_asks!(), " ORDER BY o.id LIMIT $1"))
            .bind(limit)
            .fetch_all(self.database.reader())
            .await?)
    }

    /// Closes a question to further answers; returns true if this call closed it.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn use_presses(&self, outbox_id: i64) -> Result<bool> {
        let used =
            query("UPDATE channel_presses SET used_at_ms = $1 WHERE outbox_id = $2 AND used_at_ms IS NULL")
                .bind(self.now_ms())
                .bind(outbox_id)
                .execute(self.database.writer(Scope::Alone))
                .await?;
        Ok(used.rows_affected() > 0)
    }
}
