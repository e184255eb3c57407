//! Messages to messengers.
//!
//! ```text
//!   ready ──▶ sending (an attempt is recorded) ──▶ sent | failed
//!     ▲           │
//!     └───────────┘  refused for now: later; outcome unknown: again with the same key
//! ```

use sqlx::FromRow;

use super::inbox::ChannelLane;
use super::presses::NewPress;
use crate::error::Result;
use crate::limits::{CHANNEL_ERROR_MAX_BYTES, beginning};
use crate::sql::{Scope, Transaction, query, query_as, query_scalar};
use crate::{MessageId, Store, UserId};

/// The state of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, sqlx::Type)]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum OutState {
    /// The message is waiting to be sent.
    Ready,
    /// The message is being sent. After a restart of the server, the outcome of the attempt is unknown.
    Sending,
    /// The messenger accepted the message.
    Sent,
    /// The message will not be sent.
    Failed,
}

/// A message to send.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewOutgoing {
    /// The conversation to which it is sent.
    pub conversation: String,
    /// True if the conversation is a group.
    pub is_group: bool,
    /// The messenger's data for a reply, as JSON.
    pub reply_json: String,
    /// The user it is for; `None` for a person who is not linked.
    pub user: Option<UserId>,
    /// The source of the message, such as the event that it answers.
    pub source: String,
    /// The message's position among those of its source. A position is used once.
    pub part: i64,
    /// The key that every attempt sends, so that the messenger can detect a repetition: 64 hexadecimal digits.
    pub send_key: String,
    /// The message, as JSON.
    pub payload_json: String,
    /// The chat's message that asks the question; `None` if the message contains no such question.
    pub ask: Option<MessageId>,
    /// The gate of a chain that asks the question; `None` if the message contains no such question.
    pub gate: Option<i64>,
    /// The outbox row whose message this one replaces; `None` for a new message.
    pub edit_of: Option<i64>,
    /// The answers to choose from that are shown below it.
    pub presses: Vec<NewPress>,
}

/// A recorded message.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct Outgoing {
    /// The id; later messages have larger ones.
    pub id: i64,
    /// The account that sends it.
    pub account_id: i64,
    /// The conversation to which it is sent.
    pub conversation: String,
    /// True if the conversation is a group.
    pub is_group: bool,
    /// The messenger's data for a reply, as JSON.
    pub reply_json: String,
    /// The user it is for; `None` for a person who is not linked.
    #[sqlx(rename = "user_id")]
    pub user: Option<UserId>,
    /// The source of the message, such as the event that it answers.
    pub source: String,
    /// The key that every attempt sends, so that the messenger can detect a repetition.
    pub send_key: String,
    /// The message, as JSON.
    pub payload_json: String,
    /// The message's state.
    pub state: OutState,
    /// The number of attempts.
    pub tries: i64,
    /// True if it may have arrived twice.
    pub is_unsure: bool,
    /// The outbox row whose message this one replaces; `None` for a new message.
    pub edit_of: Option<i64>,
    /// The messenger's id of the message that this one replaces.
    pub edited_id: Option<String>,
    /// The messenger's id of this message, once it was sent.
    pub platform_id: Option<String>,
    /// When the message was recorded, in Unix milliseconds.
    pub created_at_ms: i64,
}

/// The counts of an account's messages, by state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromRow)]
pub struct OutboxCounts {
    /// Messages that are waiting to be sent.
    pub waiting: i64,
    /// Messages that failed in the last 8 days. Drafts do not count, since their answers are sent in any case.
    pub failed: i64,
    /// Messages that may have arrived twice, in the last 8 days.
    pub unsure: i64,
}

macro_rules! outgoing {
    () => {
        "SELECT o.id, o.account_id, o.conversation, o.is_group, o.reply_json, o.user_id, o.source, o.send_key, o.payload_json, o.state, o.tries,
            o.is_unsure, o.edit_of, o.platform_id, o.created_at_ms, e.platform_id AS edited_id
         FROM channel_outbox o LEFT JOIN channel_outbox e ON e.id = o.edit_of"
    };
}
pub(super) use outgoing;

impl NewOutgoing {
    pub(super) async fn insert(
        &self,
        transaction: &mut Transaction,
        account: i64,
        now_ms: i64,
    ) -> Result<()> {
        let id: Option<i64> = query_scalar(
            "INSERT INTO channel_outbox (account_id, conversation, is_group, reply_json, user_id, source, part, send_key, payload_json,
                ask_message_id, gate_id, edit_of, state, created_at_ms)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, 'ready', $13)
             ON CONFLICT (account_id, source, part) DO NOTHING RETURNING id",
        )
        .bind(account)
        .bind(&self.conversation)
        .bind(self.is_group)
        .bind(&self.reply_json)
        .bind(self.user)
        .bind(&self.source)
        .bind(self.part)
        .bind(&self.send_key)
        .bind(&self.payload_json)
        .bind(self.ask)
        .bind(self.gate)
        .bind(self.edit_of)
        .bind(now_ms)
        .fetch_optional(&mut *transaction)
        .await?;
        if let Some(id) = id {
            for press in &self.presses {
                press.insert(transaction, id).await?;
            }
        } else if let Some(press) = self.presses.first() {
            // The question is asked again, so its answers can be chosen for longer.
            query(
                "UPDATE channel_presses SET expires_at_ms = $1 WHERE used_at_ms IS NULL AND outbox_id =
                    (SELECT o.id FROM channel_outbox o WHERE o.account_id = $2 AND o.source = $3 AND o.part = $4)",
            )
            .bind(press.expires_at_ms)
            .bind(account)
            .bind(&self.source)
            .bind(self.part)
            .execute(&mut *transaction)
            .await?;
        }
        Ok(())
    }
}

impl Store {
    /// Adds messages to send, in one transaction; skips those whose position is already used, except that open answers below them get the new time of
    /// expiry. This node must be the home of `user`: the account's owner, or the person for whom all messages are.
    ///
    /// # Errors
    /// [`crate::Error::Fenced`], [`crate::Error::Database`].
    pub async fn add_outgoing(&self, account: i64, user: UserId, outgoing: &[NewOutgoing]) -> Result<()> {
        let mut transaction = self.database.write(Scope::User(user)).await?;
        for one in outgoing {
            one.insert(&mut transaction, account, self.now_ms()).await?;
        }
        Ok(transaction.commit().await?)
    }

    /// The conversations that have messages to send, of all enabled accounts, at most `limit`. The accounts take turns, and within an account the
    /// conversation that has waited longest is first.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn outbox_lanes(&self, limit: i64) -> Result<Vec<ChannelLane>> {
        Ok(query_as(
            "SELECT account_id, conversation, '' AS person FROM (
                SELECT account_id, conversation, MIN(id) AS first_id,
                    ROW_NUMBER() OVER (PARTITION BY account_id ORDER BY MIN(id)) AS place
                FROM channel_outbox WHERE state IN ('ready', 'sending')
                    AND account_id IN (SELECT a.id FROM channel_accounts a WHERE a.is_enabled)
                GROUP BY account_id, conversation) AS lanes
             ORDER BY place, first_id LIMIT $1",
        )
        .bind(limit)
        .fetch_all(self.database.reader())
        .await?)
    }

    /// The oldest message of a conversation that is waiting to be sent.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn next_outgoing(&self, lane: &ChannelLane) -> Result<Option<Outgoing>> {
        Ok(query_as(concat!(
            outgoing!(),
            " WHERE o.account_id = $1 AND o.conversation = $2 AND o.state IN ('ready', 'sending') ORDER BY o.id LIMIT 1"
        ))
        .bind(lane.account_id)
        .bind(&lane.conversation)
        .fetch_optional(self.database.reader())
        .await?)
    }

    /// The message with this id.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn outgoing(&self, id: i64) -> Result<Option<Outgoing>> {
        Ok(query_as(concat!(outgoing!(), " WHERE o.id = $1"))
            .bind(id)
            .fetch_optional(self.database.reader())
            .await?)
    }

    /// Records an attempt before it is made; returns false if the message is no longer waiting to be sent.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn begin_send(&self, id: i64, is_unsure: bool) -> Result<bool> {
        let begun = query(
            "UPDATE channel_outbox SET state = 'sending', tries = tries + 1, is_unsure = $1
             WHERE id = $2 AND state IN ('ready', 'sending')",
        )
        .bind(is_unsure)
        .bind(id)
        .execute(self.database.writer(Scope::Alone))
        .await?;
        Ok(begun.rows_affected() > 0)
    }

    /// Marks a message as waiting again because the messenger refused the attempt for now. The attempt does not count. The next attempt uses
    /// `reply_json`.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn unsend(&self, id: i64, reply_json: &str) -> Result<()> {
        query(
            "UPDATE channel_outbox SET state = 'ready', tries = tries - 1, reply_json = $1 WHERE id = $2 AND state = 'sending'",
        )
        .bind(reply_json)
        .bind(id)
        .execute(self.database.writer(Scope::Alone))
        .await?;
        Ok(())
    }

    /// Records that the messenger accepted a message, and the id that the messenger gave to it.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn mark_sent(&self, id: i64, platform_id: &str) -> Result<()> {
        query(
            "UPDATE channel_outbox SET state = 'sent', platform_id = $1, ended_at_ms = $2, reply_json = 'null',
                payload_json = CASE WHEN ask_message_id IS NULL THEN '' ELSE payload_json END WHERE id = $3",
        )
        .bind(platform_id)
        .bind(self.now_ms())
        .bind(id)
        .execute(self.database.writer(Scope::Alone))
        .await?;
        Ok(())
    }

    /// Records that a message will not be sent, and why. Its answers can no longer be chosen.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn mark_failed(&self, id: i64, error: &str) -> Result<()> {
        let now_ms = self.now_ms();
        let mut transaction = self.database.write(Scope::Alone).await?;
        query("UPDATE channel_outbox SET state = 'failed', error = $1, payload_json = '', reply_json = 'null', ended_at_ms = $2 WHERE id = $3")
            .bind(beginning(error, CHANNEL_ERROR_MAX_BYTES))
            .bind(now_ms)
            .bind(id)
            .execute(&mut transaction)
            .await?;
        query("UPDATE channel_presses SET used_at_ms = $1 WHERE outbox_id = $2 AND used_at_ms IS NULL")
            .bind(now_ms)
            .bind(id)
            .execute(&mut transaction)
            .await?;
        Ok(transaction.commit().await?)
    }

    /// The number of messages for a user that an account has yet to send.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn outbox_waiting(&self, account: i64, user: UserId) -> Result<i64> {
        Ok(query_scalar(
            "SELECT COUNT(*) FROM channel_outbox WHERE account_id = $1 AND user_id = $2 AND state IN ('ready', 'sending')",
        )
        .bind(account)
        .bind(user)
        .fetch_one(self.database.reader())
        .await?)
    }

    /// The counts of an account's messages.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn outbox_counts(&self, account: i64) -> Result<OutboxCounts> {
        Ok(query_as(
            "SELECT COALESCE(SUM(CASE WHEN state IN ('ready', 'sending') THEN 1 ELSE 0 END), 0) AS waiting,
                    COALESCE(SUM(CASE WHEN state = 'failed' AND source NOT LIKE 'draft/%' THEN 1 ELSE 0 END), 0) AS failed,
                    COALESCE(SUM(CASE WHEN is_unsure THEN 1 ELSE 0 END), 0) AS unsure
             FROM channel_outbox WHERE account_id = $1",
        )
        .bind(account)
        .fetch_one(self.database.reader())
        .await?)
    }
}
