//! Copies a conversation, so that it can be continued in two ways.
//!
//! ```text
//! plan (one consistent read) ─▶ hidden copy ─▶ turns, items, messages, offloads: batch by batch ─▶ the rest, and made visible
//!                                   └── a failure at any point: the copy is removed; if the server ends: at its next start
//! ```
//! The content is fixed at the beginning; later messages are not part of the copy. `belongings` lists, table by table, the data that a copy
//! contains.

mod belongings;
mod plan;

use std::collections::HashMap;

use self::belongings::{AT_THE_END, EARLIER_TODOS, copying};
use self::plan::Plan;
use crate::batches::{Row, batches};
use crate::error::{Error, Result};
use crate::limits::TITLE_MAX_CHARS;
use crate::message_index;
use crate::sql::{Scope, Transaction, query, query_scalar};
use crate::{Chat, ChatId, MessageId, Store, TurnId, UserId};

/// The suffix of a copy's title.
const MARK: &str = " (fork)";

/// The progress of an unfinished copy.
struct Copies {
    user: UserId,
    /// The conversation that its user will see.
    fork: ChatId,
    /// The conversation that was created for each plan.
    chats: Vec<ChatId>,
    turns: HashMap<i64, i64>,
}

impl Store {
    /// Copies a user's conversation, all of it or up to and including the turn `up_to`: its messages and turns with the layers over them for the
    /// model, the task list, the named sub-agents, the agent's directory, the binding, the model and the approval mode. Turns that have not ended or
    /// were undone, commands that still run, and permanent permissions are left out. So are the earlier states of files, because the copy did not
    /// change any files.
    ///
    /// The copy is hidden until it is complete. Other writes are not blocked in between.
    ///
    /// # Errors
    /// [`Error::NotFound`] for a conversation that does not exist or belongs to another user.
    pub async fn fork_chat(&self, user: UserId, chat: &ChatId, up_to: Option<TurnId>) -> Result<Chat> {
        let title = self.chat(user, chat).await?.title;
        let plans = self.plan_fork(chat, up_to.unwrap_or(TurnId(i64::MAX))).await?;
        let fork = ChatId::random();
        let mut copies = Copies { user, fork: fork.clone(), chats: Vec::new(), turns: HashMap::new() };
        let made = self.copy_all(&plans, &mut copies, &copy_title(&title)).await;
        match made {
            Ok(()) => self.chat(user, &fork).await,
            Err(error) => {
                remove_copy(self, &fork).await?;
                match self.chat(user, chat).await {
                    // The original was deleted meanwhile, and with it the rows to copy.
                    Err(gone @ Error::NotFound { .. }) => Err(gone),
                    Ok(_) | Err(_) => Err(error),
                }
            }
        }
    }

    /// Removes the copies of a user, or of all users, that an earlier server did not finish. Called when the server starts, or claims the user's
    /// home.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn remove_unfinished_forks(&self, user: Option<UserId>) -> Result<u64> {
        let removed = query("DELETE FROM chats WHERE is_copying AND (user_id = $1 OR $1 IS NULL)")
            .bind(user)
            .execute(self.database.writer(user.map_or(Scope::System, Scope::User)))
            .await?;
        Ok(removed.rows_affected())
    }

    async fn copy_all(&self, plans: &[Plan], copies: &mut Copies, title: &str) -> Result<()> {
        for plan in plans {
            let chat = self.begin_copy(plan, copies, title).await?;
            copies.chats.push(chat.clone());
            self.copy_turns(plan, copies, &chat).await?;
            for batch in batches(&plan.items) {
                let mut transaction = self.database.write(Scope::Chat(&chat)).await?;
                for row in batch {
                    copy_row(&mut transaction, &copies.fork, &chat, ("turn_items", "item"), row.id).await?;
                }
                transaction.commit().await?;
            }
            self.copy_messages(plan, copies, &chat).await?;
            self.copy_offloads(plan, copies, &chat).await?;
        }
        self.finish_copy(plans, copies).await
    }

    async fn begin_copy(&self, plan: &Plan, copies: &Copies, title: &str) -> Result<ChatId> {
        // The first plan is that of the user's own conversation.
        let chat = if copies.chats.is_empty() { copies.fork.clone() } else { ChatId::random() };
        let made = query(copying("chats", ""))
            .bind(&copies.fork)
            .bind(&chat)
            .bind(&plan.chat)
            .bind(if plan.parent.is_none() { title } else { &plan.title })
            .bind(self.now_ms())
            .bind(plan.parent.map(|parent| &copies.chats[parent]))
            .bind(plan.last)
            .execute(self.database.writer(Scope::Chat(&plan.chat)))
            .await?;
        if made.rows_affected() == 1 { Ok(chat) } else { Err(Error::not_found("chat", &plan.chat)) }
    }

    async fn copy_turns(&self, plan: &Plan, copies: &mut Copies, chat: &ChatId) -> Result<()> {
        for batch in batches(&plan.turns) {
            let mut transaction = self.database.write(Scope::Chat(chat)).await?;
            for row in batch {
                let copy = copy_row(&mut transaction, &copies.fork, chat, ("turns", "turn"), row.id).await?;
                copies.turns.insert(row.id, copy);
            }
            transaction.commit().await?;
        }
        Ok(())
    }

    async fn copy_messages(&self, plan: &Plan, copies: &Copies, chat: &ChatId) -> Result<()> {
        for batch in batches(&plan.messages) {
            let mut transaction = self.database.write(Scope::Chat(chat)).await?;
            for row in batch {
                let copy =
                    copy_row(&mut transaction, &copies.fork, chat, ("messages", "message"), row.id).await?;
                for (of, column) in [
                    (&plan.shows, "UPDATE turns SET message_id = $1 WHERE id = $2"),
                    (&plan.said, "UPDATE turns SET said_id = $1 WHERE id = $2"),
                ] {
                    let turn = of.get(&row.id).and_then(|turn| copies.turns.get(turn));
                    let Some(turn) = turn else { continue };
                    query(column).bind(copy).bind(turn).execute(&mut transaction).await?;
                }
                let text: String = query_scalar("SELECT text FROM messages WHERE id = $1")
                    .bind(copy)
                    .fetch_one(&mut transaction)
                    .await?;
                let words =
                    message_index::additions(transaction.is_postgres(), MessageId(copy), copies.user, &text);
                transaction.execute_all(words).await?;
            }
            transaction.commit().await?;
        }
        Ok(())
    }

    async fn copy_offloads(&self, plan: &Plan, copies: &Copies, chat: &ChatId) -> Result<()> {
        for batch in batches(&plan.offloads) {
            let mut transaction = self.database.write(Scope::Chat(chat)).await?;
            for Row { id, .. } in batch {
                query(copying("offloads", ""))
                    .bind(&copies.fork)
                    .bind(chat)
                    .bind(&plan.chat)
                    .bind(id)
                    .execute(&mut transaction)
                    .await?;
            }
            transaction.commit().await?;
        }
        Ok(())
    }

    /// Copies the small tables, replaces the old ids in the large ones, and makes the copy visible.
    async fn finish_copy(&self, plans: &[Plan], copies: &Copies) -> Result<()> {
        let mut transaction = self.database.write(Scope::Chat(&copies.fork)).await?;
        for (plan, chat) in plans.iter().zip(&copies.chats) {
            let small = AT_THE_END.iter().map(|table| copying(table, ""));
            for copy in small.chain([sqlx::AssertSqlSafe(EARLIER_TODOS.to_owned())]) {
                query(copy)
                    .bind(&copies.fork)
                    .bind(chat)
                    .bind(&plan.chat)
                    .bind(plan.last)
                    .execute(&mut transaction)
                    .await?;
            }
            if let Some(parent) = plan.parent {
                // The message cards of the sub-agent's calls link to it.
                query(
                    "UPDATE messages SET document_json = REPLACE(document_json, $1, $2)
                     WHERE chat_id = $3 AND document_json LIKE '%' || $1 || '%'",
                )
                .bind(&plan.chat)
                .bind(chat)
                .bind(&copies.chats[parent])
                .execute(&mut transaction)
                .await?;
            }
            // A sub-agent in the background works only for the original.
            query(
                "UPDATE messages SET document_json = REPLACE(document_json, '\"status\":\"running\"', '\"status\":\"cancelled\"')
                 WHERE chat_id = $1 AND document_json LIKE '{\"kind\":\"tool\"%'",
            )
            .bind(chat)
            .execute(&mut transaction)
            .await?;
            query("UPDATE offloaded_reads SET reader_id = $1 WHERE chat_id = $2 AND reader_id = $3")
                .bind(chat)
                .bind(&copies.fork)
                .bind(&plan.chat)
                .execute(&mut transaction)
                .await?;
            query("UPDATE chats SET is_copying = FALSE WHERE id = $1")
                .bind(chat)
                .execute(&mut transaction)
                .await?;
        }
        query("DELETE FROM copied_rows WHERE copy_id = $1")
            .bind(&copies.fork)
            .execute(&mut transaction)
            .await?;
        transaction.commit().await?;
        Ok(())
    }
}

/// Copies one row, and records its new id.
async fn copy_row(
    transaction: &mut Transaction,
    fork: &ChatId,
    chat: &ChatId,
    (table, kind): (&'static str, &'static str),
    id: i64,
) -> Result<i64> {
    let copy: Option<i64> = query_scalar(copying(table, "RETURNING id"))
        .bind(fork)
        .bind(chat)
        .bind(id)
        .fetch_optional(&mut *transaction)
        .await?;
    let copy = copy.ok_or_else(|| Error::not_found(kind, id))?;
    query("INSERT INTO copied_rows (copy_id, kind, old_id, new_id) VALUES ($1, $2, $3, $4)")
        .bind(fork)
        .bind(kind)
        .bind(id)
        .bind(copy)
        .execute(&mut *transaction)
        .await?;
    Ok(copy)
}

async fn remove_copy(store: &Store, fork: &ChatId) -> Result<()> {
    query("DELETE FROM chats WHERE id = $1")
        .bind(fork)
        .execute(store.database.writer(Scope::Chat(fork)))
        .await?;
    Ok(())
}

fn copy_title(title: &str) -> String {
    let title = title.strip_suffix(MARK).unwrap_or(title);
    title.chars().take(TITLE_MAX_CHARS - MARK.len()).chain(MARK.chars()).collect()
}

#[cfg(test)]
mod tests;
