//! Events from messengers: each is written as a row before it is acknowledged to the messenger.
//!
//! ```text
//!   new ──▶ begun (the message to post is recorded) ──▶ done (kept to detect repetitions)
//!    └───────────────────────────────────────────────────▲
//! ```

use sqlx::FromRow;

use super::accounts::ChannelAccount;
use super::answers::NewAnswer;
use super::outbox::NewOutgoing;
use crate::chats::create_in;
use crate::error::{Error, Result, check_length};
use crate::limits::{
    CHANNEL_EVENT_MAX_BYTES, CHANNEL_EVENTS_WAITING, CHANNEL_ID_MAX_BYTES, CHANNEL_LANE_WAITING,
};
use crate::sql::{Scope, query, query_as, query_scalar};
use crate::{ChatId, Store, UserId};

/// The state of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, sqlx::Type)]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum InboxState {
    /// The event was recorded, and its processing has not begun.
    New,
    /// The message to post for the event is recorded.
    Begun,
    /// The event was fully processed.
    Done,
}

/// An event to record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewEvent {
    /// The messenger's id of the event, unique within an account.
    pub platform_id: String,
    /// The conversation in which it happened.
    pub conversation: String,
    /// The messenger's id of its sender.
    pub person: String,
    /// The event, as JSON.
    pub event_json: String,
}

/// The result of recording events.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TakenEvents {
    /// The number of new events that were recorded.
    pub added: u64,
    /// The lanes whose events were dropped, each once, because 200 events of the lane are already waiting.
    pub full: Vec<ChannelLane>,
}

/// The events of one person in one conversation with one account. They are processed in order.
#[derive(Clone, Debug, PartialEq, Eq, Hash, FromRow)]
pub struct ChannelLane {
    /// The account on the messenger.
    pub account_id: i64,
    /// The conversation's id on the messenger.
    pub conversation: String,
    /// The messenger's id of the person; empty for outgoing messages.
    pub person: String,
}

/// A recorded event.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct ChannelEvent {
    /// The id; later events have larger ones.
    pub id: i64,
    /// The messenger's id of the event.
    pub platform_id: String,
    /// The event's state.
    pub state: InboxState,
    /// The event, as JSON.
    pub event_json: String,
    /// The user for whom a message is posted, once that is decided.
    #[sqlx(rename = "user_id")]
    pub user: Option<UserId>,
    /// The chat to which the message is posted, once that is decided; `None` again if that chat was deleted.
    #[sqlx(rename = "chat_id")]
    pub chat: Option<ChatId>,
    /// The message to post, as JSON, once that is decided.
    pub post_json: Option<String>,
}

impl Store {
    /// Records an account's events and the position from which its messenger continues, in one transaction. Skips events that are already recorded,
    /// and those of a person who has 200 events waiting in the conversation.
    ///
    /// # Errors
    /// [`Error::Invalid`] for ids beyond 256 bytes or an event beyond 2 MiB, and if 10,000 events are already waiting.
    pub async fn take_events(
        &self,
        account: &ChannelAccount,
        events: &[NewEvent],
        cursor: Option<&str>,
    ) -> Result<TakenEvents> {
        for event in events {
            for id in [&event.platform_id, &event.conversation, &event.person] {
                check_length("id", id, CHANNEL_ID_MAX_BYTES)?;
            }
            check_length("event", &event.event_json, CHANNEL_EVENT_MAX_BYTES)?;
        }
        let now_ms = self.now_ms();
        let mut transaction = self.database.write(Scope::User(account.user)).await?;
        let waiting: i64 =
            query_scalar("SELECT COUNT(*) FROM channel_inbox WHERE account_id = $1 AND state <> 'done'")
                .bind(account.id)
                .fetch_one(&mut transaction)
                .await?;
        if waiting >= CHANNEL_EVENTS_WAITING && !events.is_empty() {
            let rule = format!("exceeds the limit: {waiting} are already waiting; it will be accepted later");
            return Err(Error::Invalid { what: "event", rule });
        }
        let mut taken = TakenEvents::default();
        for event in events {
            let is_full: bool = query_scalar(
                "SELECT (SELECT COUNT(*) FROM channel_inbox WHERE account_id = $1 AND conversation = $2 AND person = $3
                    AND state <> 'done') >= $4
                 AND NOT EXISTS (SELECT 1 FROM channel_inbox WHERE account_id = $1 AND platform_id = $5)",
            )
            .bind(account.id)
            .bind(&event.conversation)
            .bind(&event.person)
            .bind(CHANNEL_LANE_WAITING)
            .bind(&event.platform_id)
            .fetch_one(&mut transaction)
            .await?;
            if is_full {
                let (conversation, person) = (event.conversation.clone(), event.person.clone());
                let lane = ChannelLane { account_id: account.id, conversation, person };
                if !taken.full.contains(&lane) {
                    taken.full.push(lane);
                }
                continue;
            }
            let inserted = query(
                "INSERT INTO channel_inbox (account_id, platform_id, conversation, person, state, event_json, received_at_ms)
                 VALUES ($1, $2, $3, $4, 'new', $5, $6) ON CONFLICT (account_id, platform_id) DO NOTHING",
            )
            .bind(account.id)
            .bind(&event.platform_id)
            .bind(&event.conversation)
            .bind(&event.person)
            .bind(&event.event_json)
            .bind(now_ms)
            .execute(&mut transaction)
            .await?;
            taken.added += inserted.rows_affected();
        }
        if let Some(cursor) = cursor {
            query(
                "INSERT INTO channel_cursors (account_id, cursor_text, updated_at_ms) VALUES ($1, $2, $3)
                 ON CONFLICT (account_id) DO UPDATE SET cursor_text = excluded.cursor_text, updated_at_ms = excluded.updated_at_ms",
            )
            .bind(account.id)
            .bind(cursor)
            .bind(now_ms)
            .execute(&mut transaction)
            .await?;
        }
        transaction.commit().await?;
        Ok(taken)
    }

    /// The lanes with unprocessed events, of all enabled accounts; at most `limit`. The accounts take turns, and within an account the lane that
    /// has waited longest is first.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn inbox_lanes(&self, limit: i64) -> Result<Vec<ChannelLane>> {
        Ok(query_as(
            "SELECT account_id, conversation, person FROM (
                SELECT account_id, conversation, person, MIN(id) AS first_id,
                    ROW_NUMBER() OVER (PARTITION BY account_id ORDER BY MIN(id)) AS place
                FROM channel_inbox WHERE state <> 'done'
                    AND account_id IN (SELECT a.id FROM channel_accounts a WHERE a.is_enabled)
                GROUP BY account_id, conversation, person) AS lanes
             ORDER BY place, first_id LIMIT $1",
        )
        .bind(limit)
        .fetch_all(self.database.reader())
        .await?)
    }

    /// The lane's oldest unprocessed event after the event `after`.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn next_event(&self, lane: &ChannelLane, after: i64) -> Result<Option<ChannelEvent>> {
        Ok(query_as(
            "SELECT id, platform_id, state, event_json, user_id, chat_id, post_json FROM channel_inbox
             WHERE account_id = $1 AND conversation = $2 AND person = $3 AND state <> 'done' AND id > $4 ORDER BY id LIMIT 1",
        )
        .bind(lane.account_id)
        .bind(&lane.conversation)
        .bind(&lane.person)
        .bind(after)
        .fetch_optional(self.database.reader())
        .await?)
    }

    /// Records the message to post for an event, and its chat, before it is posted.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn begin_event(&self, event: i64, user: UserId, chat: &ChatId, post_json: &str) -> Result<()> {
        query(
            "UPDATE channel_inbox SET state = 'begun', user_id = $1, chat_id = $2, post_json = $3 WHERE id = $4 AND state = 'new'",
        )
        .bind(user)
        .bind(chat)
        .bind(post_json)
        .bind(event)
        .execute(self.database.writer(Scope::User(user)))
        .await?;
        Ok(())
    }

    /// Marks an event as processed, and adds the answer to wait for and the messages to send, in one transaction; does nothing if that was done
    /// before.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn finish_event(
        &self,
        account: &ChannelAccount,
        event: i64,
        answers: &[NewAnswer],
        outgoing: &[NewOutgoing],
    ) -> Result<()> {
        let now_ms = self.now_ms();
        let mut transaction = self.database.write(Scope::User(account.user)).await?;
        let done = query(
            "UPDATE channel_inbox SET state = 'done', event_json = '', post_json = NULL WHERE id = $1 AND state <> 'done'",
        )
        .bind(event)
        .execute(&mut transaction)
        .await?;
        if done.rows_affected() == 0 {
            return Ok(());
        }
        for answer in answers {
            answer.insert(&mut transaction, account.id, event, now_ms).await?;
        }
        for one in outgoing {
            one.insert(&mut transaction, account.id, now_ms).await?;
        }
        Ok(transaction.commit().await?)
    }

    /// The chat that a user talks to from a conversation; creates one if none is recorded.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn channel_chat(&self, account: i64, conversation: &str, user: UserId) -> Result<ChatId> {
        let mut transaction = self.database.write(Scope::User(user)).await?;
        let known: Option<ChatId> = query_scalar(
            "SELECT chat_id FROM channel_chats WHERE account_id = $1 AND conversation = $2 AND user_id = $3",
        )
        .bind(account)
        .bind(conversation)
        .bind(user)
        .fetch_optional(&mut transaction)
        .await?;
        if let Some(known) = known {
            return Ok(known);
        }
        let made = create_in(&mut transaction, user, self.now_ms()).await?.id;
        query(
            "INSERT INTO channel_chats (account_id, conversation, user_id, chat_id) VALUES ($1, $2, $3, $4)",
        )
        .bind(account)
        .bind(conversation)
        .bind(user)
        .bind(&made)
        .execute(&mut transaction)
        .await?;
        transaction.commit().await?;
        Ok(made)
    }

    /// Switches the chat that a user talks to from a conversation.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn set_channel_chat(
        &self,
        account: i64,
        conversation: &str,
        user: UserId,
        chat: &ChatId,
    ) -> Result<()> {
        query(
            "INSERT INTO channel_chats (account_id, conversation, user_id, chat_id)
             SELECT $1, $2, $3, c.id FROM chats c WHERE c.id = $4 AND c.user_id = $3
             ON CONFLICT (account_id, conversation, user_id) DO UPDATE SET chat_id = excluded.chat_id",
        )
        .bind(account)
        .bind(conversation)
        .bind(user)
        .bind(chat)
        .execute(self.database.writer(Scope::User(user)))
        .await?;
        Ok(())
    }

    /// True if the chat's user talks to it from a messenger.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn is_channel_chat(&self, chat: &ChatId) -> Result<bool> {
        let sql = "SELECT EXISTS (SELECT 1 FROM channel_chats WHERE chat_id = $1)";
        Ok(query_scalar(sql).bind(chat).fetch_one(self.database.reader()).await?)
    }
}
