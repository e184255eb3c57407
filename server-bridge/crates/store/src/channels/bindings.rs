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
use crate::homes::at_home;
use crate::limits::CHANNEL_ID_MAX_BYTES;
use crate::sql::{Scope, query, query_as, query_scalar};

/// A messenger's conversation that is bound to a group.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct ChannelBinding {
    /// The account on the messenger.
    pub account_id: i64,
    /// The conversation's id on the messenger.
    pub conversation: String,
    /// The id of the group.
    #[sqlx(rename = "group_id")]
    pub group: i64,
    /// 16 random hexadecimal digits. The send ids of messages from the conversation begin with them.
    pub mark: String,
    /// The last entry of the log for which a message was put into the outbox.
    pub shown_entry: i64,
    /// The last gate for which a message was put into the outbox.
    pub shown_gate: i64,
    /// When it was bound to the group, in Unix milliseconds.
    pub created_at_ms: i64,
}

/// An entry of the log in the form in which a binding shows it.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct EntryToShow {
    /// The entry's id.
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

/// The new part of a group's log that a binding shows now.
#[derive(Clone, Copy, Debug, Default)]
pub struct ShownLog<'a> {
    /// The last entry of the log that the binding has shown once the messages are recorded.
    pub entry: i64,
    /// The last gate that the binding has shown once the messages are recorded.
    pub gate: i64,
    /// The messages that show the new part.
    pub outgoing: &'a [NewOutgoing],
    /// The outbox rows of the questions whose end these messages report.
    pub told: &'a [i64],
}

/// A gate's question that was shown and no longer waits for an answer.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct EndedQuestion {
    /// The outbox row of its message; of its last message if there are several.
    pub outbox_id: i64,
    /// The position of that message among those of the question.
    pub part: i64,
    /// True if the message has buttons.
    pub has_buttons: bool,
    /// The id of the gate.
    pub gate: i64,
    /// The name of its chain.
    pub chain: String,
    /// The text of the question.
    pub question: String,
    /// The answer; `None` if the run ended without one.
    pub reply: Option<String>,
    /// The name of the person who answered.
    pub answered_by: Option<String>,
}

macro_rules! bindings {
    () => {
        "SELECT b.account_id, b.conversation, b.group_id, b.mark, b.shown_entry, b.shown_gate, b.created_at_ms
         FROM channel_bindings b"
    };
}

impl Store {
    /// Binds a conversation to a group, and ends any other binding of the conversation. Entries of the log are shown only if they are newer than the
    /// binding; gates are shown even if they are already open.
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

    /// The bindings of a group, including those of disabled accounts; the oldest first.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn bindings_of_group(&self, group: i64) -> Result<Vec<ChannelBinding>> {
        Ok(query_as(concat!(
            bindings!(),
            " WHERE b.group_id = $1 ORDER BY b.created_at_ms, b.account_id, b.conversation"
        ))
        .bind(group)
        .fetch_all(self.database.latest())
        .await?)
    }

    /// The bindings of enabled accounts whose home is here that have not shown all of their group's log, and for whose conversations fewer than `waiting_max`
    /// messages wait to be sent; at most `limit`.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn bindings_behind(&self, waiting_max: i64, limit: i64) -> Result<Vec<ChannelBinding>> {
        Ok(query_as(concat!(
            bindings!(),
            " WHERE b.account_id IN (SELECT a.id FROM channel_accounts a WHERE a.is_enabled AND ",
            at_home!("a.user_id", "$3"),
            ")
                AND (EXISTS (SELECT 1 FROM group_entries e WHERE e.group_id = b.group_id AND e.id > b.shown_entry)
                    OR EXISTS (SELECT 1 FROM group_gates t JOIN group_runs r ON r.id = t.run_id
                        WHERE r.group_id = b.group_id AND r.ended_at_ms IS NULL AND t.reply IS NULL AND t.id > b.shown_gate)
                    OR EXISTS (SELECT 1 FROM channel_outbox q JOIN group_gates t ON t.id = q.gate_id JOIN group_runs r ON r.id = t.run_id
                        WHERE q.account_id = b.account_id AND q.conversation = b.conversation AND q.gate_id IS NOT NULL
                            AND r.group_id = b.group_id AND (t.reply IS NOT NULL OR r.ended_at_ms IS NOT NULL)))
                AND (SELECT COUNT(*) FROM channel_outbox o WHERE o.account_id = b.account_id
                    AND o.conversation = b.conversation AND o.state IN ('ready', 'sending')) < $1
             ORDER BY b.account_id, b.conversation LIMIT $2"
        ))
        .bind(waiting_max)
        .bind(limit)
        .bind(self.database.node_id())
        .fetch_all(self.database.reader())
        .await?)
    }

    /// The entries that a binding has not shown, the oldest first, at most `limit`, each with the first `most` characters of its text.
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

    /// The gate questions that a binding has shown, that no longer wait for an answer, and whose end was not reported.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn ended_questions(&self, binding: &ChannelBinding) -> Result<Vec<EndedQuestion>> {
        Ok(query_as(
            "SELECT q.id AS outbox_id, q.part,
                EXISTS (SELECT 1 FROM channel_presses p WHERE p.outbox_id = q.id AND p.used_at_ms IS NULL) AS has_buttons,
                t.id AS gate, r.chain, t.question, t.reply, t.answered_by
             FROM channel_outbox q JOIN group_gates t ON t.id = q.gate_id JOIN group_runs r ON r.id = t.run_id
             WHERE q.account_id = $1 AND q.conversation = $2 AND q.gate_id IS NOT NULL AND r.group_id = $3
                AND (t.reply IS NOT NULL OR r.ended_at_ms IS NOT NULL) ORDER BY q.id",
        )
        .bind(binding.account_id)
        .bind(&binding.conversation)
        .bind(binding.group)
        .fetch_all(self.database.latest())
        .await?)
    }

    /// Records what a binding shows now together with the messages that show it, in one transaction. The questions whose end is reported accept no
    /// more answers. Returns false if the binding has ended, or if a concurrent call showed more.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn show_log(
        &self,
        account: &ChannelAccount,
        binding: &ChannelBinding,
        shown: ShownLog<'_>,
    ) -> Result<bool> {
        let mut transaction = self.database.write(Scope::User(account.user)).await?;
        let conversation: Option<String> = query_scalar(
            "UPDATE channel_bindings SET shown_entry = $1, shown_gate = $2
             WHERE account_id = $3 AND mark = $4 AND shown_entry = $5 AND shown_gate = $6 RETURNING conversation",
        )
        .bind(shown.entry)
        .bind(shown.gate)
        .bind(account.id)
        .bind(&binding.mark)
        .bind(binding.shown_entry)
        .bind(binding.shown_gate)
        .fetch_optional(&mut transaction)
        .await?;
        // The conversation may have moved to another id.
        let Some(conversation) = conversation else { return Ok(false) };
        for one in shown.outgoing {
            let one = NewOutgoing { conversation: conversation.clone(), ..one.clone() };
            one.insert(&mut transaction, account.id, self.now_ms()).await?;
        }
        for row in shown.told {
            query("UPDATE channel_outbox SET gate_id = NULL WHERE id = $1")
                .bind(row)
                .execute(&mut transaction)
                .await?;
            query("UPDATE channel_presses SET used_at_ms = $1 WHERE outbox_id = $2 AND used_at_ms IS NULL")
                .bind(self.now_ms())
                .bind(row)
                .execute(&mut transaction)
                .await?;
        }
        transaction.commit().await?;
        Ok(true)
    }

    /// Ends a binding and adds messages that report this. Returns true if it existed.
    ///
    /// The binding belongs to the group, so any of the group's owners can end it, on any node, just as they can delete the group.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn unbind_conversation(
        &self,
        binding: &ChannelBinding,
        outgoing: &[NewOutgoing],
    ) -> Result<bool> {
        let mut transaction = self.database.write(Scope::Group(binding.group)).await?;
        let conversation: Option<String> = query_scalar(
            "DELETE FROM channel_bindings WHERE account_id = $1 AND mark = $2 RETURNING conversation",
        )
        .bind(binding.account_id)
        .bind(&binding.mark)
        .fetch_optional(&mut transaction)
        .await?;
        // The messenger may have given the conversation another id by now.
        let Some(conversation) = conversation else { return Ok(false) };
        for one in outgoing {
            let one = NewOutgoing { conversation: conversation.clone(), ..one.clone() };
            one.insert(&mut transaction, binding.account_id, self.now_ms()).await?;
        }
        transaction.commit().await?;
        Ok(true)
    }
}
