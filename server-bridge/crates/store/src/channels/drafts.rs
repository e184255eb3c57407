//! Drafts: messages that show the beginning of an answer while it is written, until the answer itself replaces them.

use sqlx::FromRow;

use super::ChannelAnswer;
use super::answers::answers;
use super::outbox::{Outgoing, outgoing};
use crate::error::Result;
use crate::sql::{Scope, query, query_as, query_scalar};
use crate::{Store, UserId};

/// The `source` of the draft for the answer to this event.
pub fn draft_source(event: i64) -> String {
    format!("draft/{event}")
}

/// A draft that may be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromRow)]
pub struct ShownDraft {
    /// The id of its row in the outbox.
    pub id: i64,
    /// True if other messages were sent to the conversation after it.
    pub is_passed: bool,
}

/// A draft that no answer will replace.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct OrphanDraft {
    /// The id of its row in the outbox.
    pub id: i64,
    /// The conversation to which it was sent.
    pub conversation: String,
    /// True if the conversation is a group.
    pub is_group: bool,
    /// The user for whom the answer was written.
    #[sqlx(rename = "user_id")]
    pub user: Option<UserId>,
}

impl Store {
    /// The answers whose turns are running, at most `limit`.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn answers_in_progress(&self, limit: i64) -> Result<Vec<ChannelAnswer>> {
        Ok(query_as(concat!(answers!(), " WHERE t.status = 'running' ORDER BY a.id LIMIT $1"))
            .bind(limit)
            .fetch_all(self.database.reader())
            .await?)
    }

    /// True if the turn of an answer is still running.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn is_in_progress(&self, answer: i64) -> Result<bool> {
        Ok(query_scalar(
            "SELECT EXISTS (SELECT 1 FROM channel_answers a JOIN turns t ON t.message_id = a.message_id
                WHERE a.id = $1 AND t.status = 'running')",
        )
        .bind(answer)
        .fetch_one(self.database.latest())
        .await?)
    }

    /// The draft of an answer, if it has one.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn draft(&self, answer: &ChannelAnswer) -> Result<Option<Outgoing>> {
        Ok(query_as(concat!(outgoing!(), " WHERE o.account_id = $1 AND o.source = $2 AND o.part = 0"))
            .bind(answer.account_id)
            .bind(draft_source(answer.inbox_id))
            .fetch_optional(self.database.reader())
            .await?)
    }

    /// Ends the draft of a complete answer. Drops a draft that was not sent yet; returns one that may be visible, so that the answer can replace
    /// it.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn end_draft(&self, answer: &ChannelAnswer) -> Result<Option<ShownDraft>> {
        let source = draft_source(answer.inbox_id);
        let mut transaction = self.database.write(Scope::User(answer.user)).await?;
        query(
            "UPDATE channel_outbox SET state = 'failed', error = 'the answer came first', payload_json = '', reply_json = 'null',
                ended_at_ms = $1 WHERE account_id = $2 AND source = $3 AND state = 'ready'",
        )
        .bind(self.now_ms())
        .bind(answer.account_id)
        .bind(&source)
        .execute(&mut transaction)
        .await?;
        let shown = query_as(
            "SELECT o.id, EXISTS (SELECT 1 FROM channel_outbox x WHERE x.account_id = o.account_id AND x.conversation = o.conversation
                AND x.id > o.id AND x.edit_of IS NULL AND x.source NOT LIKE 'draft/%') AS is_passed
             FROM channel_outbox o WHERE o.account_id = $1 AND o.source = $2 AND o.state IN ('sending', 'sent')
                AND NOT EXISTS (SELECT 1 FROM channel_outbox f WHERE f.edit_of = o.id)",
        )
        .bind(answer.account_id)
        .bind(&source)
        .fetch_optional(&mut transaction)
        .await?;
        transaction.commit().await?;
        Ok(shown)
    }

    /// The drafts of an account that no answer will replace, because their chats were deleted.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn orphan_drafts(&self, account: i64) -> Result<Vec<OrphanDraft>> {
        Ok(query_as(
            "SELECT o.id, o.conversation, o.is_group, o.user_id FROM channel_outbox o
             WHERE o.account_id = $1 AND o.source >= 'draft/' AND o.source < 'draft0' AND o.state <> 'failed'
                AND NOT EXISTS (SELECT 1 FROM channel_outbox f WHERE f.edit_of = o.id)
                AND NOT EXISTS (SELECT 1 FROM channel_answers a WHERE o.source = 'draft/' || CAST(a.inbox_id AS TEXT))
             ORDER BY o.id",
        )
        .bind(account)
        .fetch_all(self.database.reader())
        .await?)
    }

    /// Turns a message that was to replace another one into a new message, because the other one cannot be edited.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn send_anew(&self, row: i64, is_unsure: bool) -> Result<()> {
        query(
            "UPDATE channel_outbox SET edit_of = NULL, state = 'ready', tries = 0, is_unsure = is_unsure OR $1
             WHERE id = $2 AND state IN ('ready', 'sending')",
        )
        .bind(is_unsure)
        .bind(row)
        .execute(self.database.writer(Scope::Alone))
        .await?;
        Ok(())
    }
}
