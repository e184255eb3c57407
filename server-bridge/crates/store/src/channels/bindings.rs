//! Conversations on messengers that are bound to a group of people and agents: the group's log is shown there.
//!
//! The position up to which a binding has shown the log is recorded together with the messages that show it, so each entry is shown
//! once, even after a crash.

use sqlx::FromRow;

use super::accounts::ChannelAccount;
use super::outbox::NewOutgoing;
use crate::Store;
use crate::error::{Result, check_length};
use crate::groups::EntryKind;
use crate::limits::CHANNEL_ID_MAX_BYTES;
use crate::sql::{Scope, query, query_as, query_scalar};

/// A conversation that is bound to a group.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct ChannelBinding {
    /// The account.
    pub account_id: i64,
    /// The conversation.
    pub conversation: String,
    /// The group.
    #[sqlx(rename = "group_id")]
    pub group: i64,
    /// 16 random hexadecimal digits. The send ids of messages from the conversation begin with them.
    pub mark: String,
    /// The last entry of the log that was put into the outbox.
    pub shown_entry: i64,
    /// The last gate that was put into the outbox.
    pub shown_gate: i64,
}

/// An entry of the log, as far as a binding shows it.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct EntryToShow {
    /// The id.
    pub id: i64,
    /// The kind of its author.
    pub kind: EntryKind,
    /// The person's name or the agent's handle; empty for the server.
    pub author: String,
    /// The beginning of its text.
    pub text: String,
    /// True if the text was cut.
    pub is_cut: bool,
    /// True if it was written in the binding's conversation.
    pub is_own: bool,
}

macro_rules! bindings {
    () => {
        "SELECT b.account_id, b.conversation, b.group_id, b.mark, b.shown_entry, b.shown_gate FROM channel_bindings b"
    };
}

impl Store {
    /// Binds a conversation to a group, and ends any other binding of it. The log is shown from its newest entry on; open gates are shown
    /// too.
    ///
    /// # Errors
    /// [`crate::Error::Invalid`] for an id beyond 256 bytes; [`crate::Error::Database`], also if the group was deleted.
    pub async fn bind_conversation(
        &self,
        account: &ChannelAccount,
        conversation: &str,
        group: i64,
        mark: &str,
    ) -> Result<()> {
        check_length("id", conversation, CHANNEL_ID_MAX_BYTES)?;
        let mut transaction = self.database.write(Scope::User(account.user)).await?;
        query("DELETE FROM channel_groups WHERE account_id = $1 AND conversation = $2")
            .bind(account.id)
            .bind(conversation)
            .execute(&mut transaction)
            .await?;
        query(
            "INSERT INTO channel_bindings (account_id, conversation, group_id, mark, shown_entry, shown_gate, created_at_ms)
             VALUES ($1, $2, $3, $4, COALESCE((SELECT MAX(e.id) FROM group_entries e WHERE e.group_id = $3), 0), 0, $5)
             ON CONFLICT (account_id, conversation) DO UPDATE SET group_id = excluded.group_id, mark = excluded.mark,
                shown_entry = excluded.shown_entry, shown_gate = excluded.shown_gate, created_at_ms = excluded.created_at_ms",
        )
        .bind(account.id)
        .bind(conversation)
        .bind(group)
        .bind(mark)
        .bind(self.now_ms())
        .execute(&mut transaction)
        .await?;
        Ok(transaction.commit().await?)
    }

    /// The binding of a conversation; `None` if it belongs to no group.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn channel_binding(&self, account: i64, conversation: &str) -> Result<Option<ChannelBinding>> {
        Ok(query_as(concat!(bindings!(), " WHERE b.account_id = $1 AND b.conversation = $2"))
            .bind(account)
            .bind(conversation)
            .fetch_optional(self.database.latest())
            .await?)
    }

    /// The bindings of enabled accounts that have not shown all of their group's log, and for whose conversations fewer than `waiting_max`
    /// messages wait to be sent; at most `limit`.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn bindings_behind(&self, waiting_max: i64, limit: i64) -> Result<Vec<ChannelBinding>> {
        Ok(query_as(concat!(
            bindings!(),
            " WHERE b.account_id IN (SELECT a.id FROM channel_accounts a WHERE a.is_enabled)
                AND (EXISTS (SELECT 1 FROM group_entries e WHERE e.group_id = b.group_id AND e.id > b.shown_entry)
                    OR EXISTS (SELECT 1 FROM group_gates t JOIN group_runs r ON r.id = t.run_id
                        WHERE r.group_id = b.group_id AND r.ended_at_ms IS NULL AND t.reply IS NULL AND t.id > b.shown_gate))
                AND (SELECT COUNT(*) FROM channel_outbox o WHERE o.account_id = b.account_id
                    AND o.conversation = b.conversation AND o.state IN ('ready', 'sending')) < $1
             ORDER BY b.account_id, b.conversation LIMIT $2"
        ))
        .bind(waiting_max)
        .bind(limit)
        .fetch_all(self.database.reader())
        .await?)
    }

    /// The entries that a binding has not shown, the oldest first, `limit` at most, each with the first `most` characters of its text.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn entries_to_show(
        &self,
        binding: &ChannelBinding,
        limit: i64,
        most: i64,
    ) -> Result<Vec<EntryToShow>> {
        Ok(query_as(
            "SELECT e.id, e.kind, e.author, substr(e.text, 1, CAST($5 AS INTEGER)) AS text,
                LENGTH(e.text) > CAST($5 AS INTEGER) AS is_cut, COALESCE(substr(e.send_id, 1, 16) = $3, FALSE) AS is_own
             FROM group_entries e WHERE e.group_id = $1 AND e.id > $2 ORDER BY e.id LIMIT $4",
        )
        .bind(binding.group)
        .bind(binding.shown_entry)
        .bind(&binding.mark)
        .bind(limit)
        .bind(most)
        .fetch_all(self.database.latest())
        .await?)
    }

    /// Records that a binding has shown the log up to this entry and this gate, and adds the messages that show it, in one transaction.
    /// Returns false if the binding has ended, or has shown more in the meantime.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn show_log(
        &self,
        account: &ChannelAccount,
        binding: &ChannelBinding,
        (entry, gate): (i64, i64),
        outgoing: &[NewOutgoing],
    ) -> Result<bool> {
        let mut transaction = self.database.write(Scope::User(account.user)).await?;
        let conversation: Option<String> = query_scalar(
            "UPDATE channel_bindings SET shown_entry = $1, shown_gate = $2
             WHERE account_id = $3 AND mark = $4 AND shown_entry = $5 AND shown_gate = $6 RETURNING conversation",
        )
        .bind(entry)
        .bind(gate)
        .bind(account.id)
        .bind(&binding.mark)
        .bind(binding.shown_entry)
        .bind(binding.shown_gate)
        .fetch_optional(&mut transaction)
        .await?;
        // The conversation may have moved to another id.
        let Some(conversation) = conversation else { return Ok(false) };
        for one in outgoing {
            let one = NewOutgoing { conversation: conversation.clone(), ..one.clone() };
            one.insert(&mut transaction, account.id, self.now_ms()).await?;
        }
        transaction.commit().await?;
        Ok(true)
    }

    /// Ends a binding, with messages that say so. Returns true if it was there.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn unbind_conversation(
        &self,
        account: &ChannelAccount,
        binding: &ChannelBinding,
        outgoing: &[NewOutgoing],
    ) -> Result<bool> {
        let mut transaction = self.database.write(Scope::User(account.user)).await?;
        let gone = query("DELETE FROM channel_bindings WHERE account_id = $1 AND mark = $2")
            .bind(account.id)
            .bind(&binding.mark)
            .execute(&mut transaction)
            .await?;
        if gone.rows_affected() == 0 {
            return Ok(false);
        }
        for one in outgoing {
            one.insert(&mut transaction, account.id, self.now_ms()).await?;
        }
        transaction.commit().await?;
        Ok(true)
    }
}
