//! Turns: each is one message of a user, and everything that a model does in response.
//!
//! ```text
//!   queue ─► queued ─begin─► running ─finish─► done | failed | cancelled | interrupted (the server stopped)
//! ```

use crate::error::{Error, Result, check_length};
use crate::limits::{EXEC_ERROR_MAX_BYTES, TURN_ITEM_MAX_BYTES, beginning};
use crate::memory_items::traces::without_forgotten;
use crate::messages::{Author, NewMessage, append_to, update_in};
use crate::sql::{On, Query, Scope, Transaction, query, query_as, query_scalar};
use crate::{ChatId, ItemId, Message, MessageId, MessageRole, Store, TurnId, TurnStatus, TurnUsage, UserId};

/// The turns `t` of the conversation `$1` up to and including the turn `$2`. Undone turns are left out here.
macro_rules! live_turns {
    () => {
        "t.chat_id = $1 AND t.id <= $2 AND t.undone_at_ms IS NULL"
    };
}
pub(crate) use live_turns;

impl Store {
    /// Queues a turn of a user's conversation, with its first item: the turn answers the message `said`, and its answer is
    /// shown by `message`.
    ///
    /// # Errors
    /// [`Error::NotFound`] for a conversation that does not exist or belongs to another user; [`Error::Invalid`] for an item beyond 32 MiB.
    pub async fn queue_turn(
        &self,
        user: UserId,
        chat: &ChatId,
        said: Option<MessageId>,
        message: MessageId,
        item_json: &str,
    ) -> Result<TurnId> {
        self.chat(user, chat).await?;
        check_length("item", item_json, TURN_ITEM_MAX_BYTES)?;
        let mut transaction = self.database.write(Scope::User(user)).await?;
        let now_ms = self.now_ms();
        let turn = queue_in(&mut transaction, chat, said, (message, item_json), None, now_ms).await?;
        transaction.commit().await?;
        Ok(turn)
    }

    /// Adds the message that shows an answer and queues its turn, which begins with these items, in one transaction, so that no message waits for a
    /// turn that does not exist.
    ///
    /// # Errors
    /// As for [`Store::queue_turn`] and [`Store::append_message`].
    pub async fn queue_shown_turn(
        &self,
        user: UserId,
        chat: &ChatId,
        said: MessageId,
        document_json: &str,
        (item_json, more): (&str, Option<&str>),
    ) -> Result<(Message, TurnId)> {
        for item in std::iter::once(item_json).chain(more) {
            check_length("item", item, TURN_ITEM_MAX_BYTES)?;
        }
        let now_ms = self.now_ms();
        let mut transaction = self.database.write(Scope::User(user)).await?;
        let (role, document_json) = (MessageRole::Assistant, Some(document_json));
        let new = NewMessage { user, chat, turn: None, role, author: Author::Owner, text: "", document_json };
        let message = append_to(&mut transaction, now_ms, new).await?;
        let turn =
            queue_in(&mut transaction, chat, Some(said), (message.id, item_json), None, now_ms).await?;
        if let Some(item) = more {
            append(turn, item, &mut transaction).await?;
        }
        transaction.commit().await?;
        Ok((message, turn))
    }

    /// The message that shows the answer to a message of a user.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn answer_to(&self, user: UserId, said: MessageId) -> Result<Option<MessageId>> {
        let shown: Option<Option<MessageId>> = query_scalar(
            "SELECT t.message_id FROM turns t JOIN chats c ON c.id = t.chat_id WHERE t.said_id = $1 AND c.user_id = $2",
        )
        .bind(said)
        .bind(user)
        .fetch_optional(self.database.reader())
        .await?;
        Ok(shown.flatten())
    }

    /// Marks a queued turn as begun, with this model; returns true if it was still queued.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn begin_turn(&self, turn: TurnId, model: &str) -> Result<bool> {
        let mut transaction = self.database.write(Scope::Turn(turn)).await?;
        let begun = query(
            "UPDATE turns SET status = 'running', model = $1, is_journaled = TRUE,
                cwd = (SELECT c.cwd FROM chats c WHERE c.id = turns.chat_id)
             WHERE id = $2 AND status = 'queued'",
        )
        .bind(model)
        .bind(turn)
        .execute(&mut transaction)
        .await?;
        if begun.rows_affected() == 0 {
            return Ok(false);
        }
        // The previous turn may have added items after this turn's messages were queued. A conversation is in the order of its items' ids, so this
        // turn's items get new ids.
        let last: Option<ItemId> = query_scalar("SELECT MAX(id) FROM turn_items WHERE turn_id = $1")
            .bind(turn)
            .fetch_one(&mut transaction)
            .await?;
        query(
            "INSERT INTO turn_items (turn_id, item_json)
             SELECT turn_id, item_json FROM turn_items WHERE turn_id = $1 ORDER BY id",
        )
        .bind(turn)
        .execute(&mut transaction)
        .await?;
        query("DELETE FROM turn_items WHERE turn_id = $1 AND id <= $2")
            .bind(turn)
            .bind(last)
            .execute(&mut transaction)
            .await?;
        transaction.commit().await?;
        Ok(true)
    }

    /// Adds an item to a turn.
    ///
    /// # Errors
    /// [`Error::Invalid`] for an item beyond 32 MiB; [`Error::NotFound`] for a turn whose conversation was deleted.
    pub async fn append_turn_item(&self, turn: TurnId, item_json: &str) -> Result<ItemId> {
        check_length("item", item_json, TURN_ITEM_MAX_BYTES)?;
        append(turn, item_json, self.database.writer(Scope::Turn(turn))).await
    }

    /// Records that a call of a turn is about to take effect; a repetition is recorded once. For a command, also counts it for the turn with which
    /// it would be undone.
    ///
    /// # Errors
    /// [`Error::Invalid`] for an id beyond 4 KiB; [`Error::Database`].
    pub async fn begin_call(&self, turn: TurnId, call_id: &str, counts_for: Option<TurnId>) -> Result<()> {
        check_length("call id", call_id, EXEC_ERROR_MAX_BYTES)?;
        let mut transaction = self.database.write(Scope::Turn(turn)).await?;
        query("INSERT INTO begun_calls (turn_id, call_id) VALUES ($1, $2) ON CONFLICT DO NOTHING")
            .bind(turn)
            .bind(call_id)
            .execute(&mut transaction)
            .await?;
        if let Some(turn) = counts_for {
            query("UPDATE turns SET commands = commands + 1 WHERE id = $1")
                .bind(turn)
                .execute(&mut transaction)
                .await?;
        }
        transaction.commit().await?;
        Ok(())
    }

    /// Replaces an item. If the item has a note before a message, removes the memories from it that were forgotten since the note was made.
    ///
    /// # Errors
    /// [`Error::Invalid`] for an item beyond 32 MiB; [`Error::NotFound`] for an item whose conversation was deleted.
    pub async fn amend_item(&self, item: ItemId, item_json: &str) -> Result<()> {
        check_length("item", item_json, TURN_ITEM_MAX_BYTES)?;
        let mut transaction = self.database.write(Scope::Item(item)).await?;
        let remembered = without_forgotten(&mut transaction, item, item_json).await?;
        let amended = query("UPDATE turn_items SET item_json = $1 WHERE id = $2")
            .bind(remembered.as_deref().unwrap_or(item_json))
            .bind(item)
            .execute(&mut transaction)
            .await?;
        if amended.rows_affected() == 0 {
            return Err(Error::not_found("item", item.0));
        }
        transaction.commit().await?;
        Ok(())
    }

    /// The items of a user's conversation up to and including a turn, in order, without those of undone turns.
    ///
    /// # Errors
    /// [`Error::NotFound`] for a conversation that does not exist or belongs to another user.
    pub async fn turn_items(&self, user: UserId, chat: &ChatId, up_to: TurnId) -> Result<Vec<String>> {
        self.chat(user, chat).await?;
        Ok(query_scalar(concat!(
            "SELECT i.item_json FROM turn_items i JOIN turns t ON t.id = i.turn_id WHERE ",
            live_turns!(),
            " ORDER BY t.id, i.id"
        ))
        .bind(chat)
        .bind(up_to)
        .fetch_all(self.database.reader())
        .await?)
    }

    /// Records how a turn ended, unless its end is already recorded. Returns true if this call recorded it.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn finish_turn(&self, turn: TurnId, status: TurnStatus, error: Option<&str>) -> Result<bool> {
        let mut transaction = self.database.write(Scope::Turn(turn)).await?;
        let is_finished = finish_in(&mut transaction, turn, status, error, self.now_ms()).await?;
        transaction.commit().await?;
        Ok(is_finished)
    }

    /// Like [`Store::finish_turn`], but also updates the message that shows the turn, in the same transaction, so that no answer seems to be in
    /// progress when its turn has ended. Returns the updated message.
    ///
    /// # Errors
    /// [`Error::NotFound`] for a message that does not exist or belongs to another user; the end of the turn is recorded all the same.
    /// [`Error::Invalid`] as for [`Store::append_message`].
    pub async fn finish_shown_turn(
        &self,
        user: UserId,
        (turn, message): (TurnId, MessageId),
        (status, error): (TurnStatus, Option<&str>),
        text: &str,
        document_json: &str,
    ) -> Result<Message> {
        let mut transaction = self.database.write(Scope::User(user)).await?;
        finish_in(&mut transaction, turn, status, error, self.now_ms()).await?;
        let shown = update_in(&mut transaction, user, message, text, Some(document_json)).await?;
        transaction.commit().await?;
        shown.ok_or_else(|| Error::not_found("message", message))
    }

    /// The newest turn of a user's conversation; `None` if it has none.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn newest_turn(&self, user: UserId, chat: &ChatId) -> Result<Option<TurnId>> {
        Ok(query_scalar(
            "SELECT t.id FROM turns t JOIN chats c ON c.id = t.chat_id WHERE t.chat_id = $1 AND c.user_id = $2
             ORDER BY t.id DESC LIMIT 1",
        )
        .bind(chat)
        .bind(user)
        .fetch_optional(self.database.reader())
        .await?)
    }

    /// The current directory of the agent in a user's conversation; empty for the workspace.
    ///
    /// # Errors
    /// [`Error::NotFound`] for a conversation that does not exist or belongs to another user.
    pub async fn chat_cwd(&self, user: UserId, chat: &ChatId) -> Result<String> {
        query_scalar("SELECT cwd FROM chats WHERE id = $1 AND user_id = $2")
            .bind(chat)
            .bind(user)
            .fetch_optional(self.database.reader())
            .await?
            .ok_or_else(|| Error::not_found("chat", chat))
    }

    /// Changes the current directory of the agent in a user's conversation.
    ///
    /// # Errors
    /// [`Error::NotFound`] as for [`Store::chat_cwd`]; [`Error::Invalid`] for a path beyond 4 KiB.
    pub async fn set_chat_cwd(&self, user: UserId, chat: &ChatId, cwd: &str) -> Result<()> {
        check_length("path", cwd, EXEC_ERROR_MAX_BYTES)?;
        let moved = query("UPDATE chats SET cwd = $1 WHERE id = $2 AND user_id = $3")
            .bind(cwd)
            .bind(chat)
            .bind(user)
            .execute(self.database.writer(Scope::User(user)))
            .await?;
        if moved.rows_affected() == 1 { Ok(()) } else { Err(Error::not_found("chat", chat)) }
    }
}

/// Records a turn's end as part of a transaction; returns true if it had not ended before.
async fn finish_in(
    transaction: &mut Transaction,
    turn: TurnId,
    status: TurnStatus,
    error: Option<&str>,
    now_ms: i64,
) -> Result<bool> {
    let finished = query(
        "UPDATE turns SET status = $1, error = $2, finished_at_ms = $3
         WHERE id = $4 AND status IN ('queued', 'running')",
    )
    .bind(status)
    .bind(error.map(|error| beginning(error, EXEC_ERROR_MAX_BYTES)))
    .bind(now_ms)
    .bind(turn)
    .execute(&mut *transaction)
    .await?;
    Ok(finished.rows_affected() == 1)
}

/// Queues a turn, as a part of a transaction. `beneath` is given for a sub-agent's turn: the top turn, and the message that shows the call.
pub(crate) async fn queue_in(
    transaction: &mut Transaction,
    chat: &ChatId,
    said: Option<MessageId>,
    (message, item_json): (MessageId, &str),
    beneath: Option<(TurnId, MessageId)>,
    now_ms: i64,
) -> Result<TurnId> {
    let turn: TurnId = query_scalar(
        "INSERT INTO turns (chat_id, message_id, said_id, status, created_at_ms, root_turn_id, card_id)
         VALUES ($1, $2, $3, 'queued', $4, $5, $6) RETURNING id",
    )
    .bind(chat)
    .bind(message)
    .bind(said)
    .bind(now_ms)
    .bind(beneath.map(|(root, _)| root))
    .bind(beneath.map(|(_, card)| card))
    .fetch_one(&mut *transaction)
    .await?;
    query("UPDATE messages SET turn_id = $1 WHERE id IN ($2, $3) AND chat_id = $4")
        .bind(turn)
        .bind(message)
        .bind(said)
        .bind(chat)
        .execute(&mut *transaction)
        .await?;
    query("INSERT INTO turn_items (turn_id, item_json) VALUES ($1, $2)")
        .bind(turn)
        .bind(item_json)
        .execute(&mut *transaction)
        .await?;
    Ok(turn)
}

/// Adds an item with one statement, alone or as part of a transaction.
pub(crate) async fn append(turn: TurnId, item_json: &str, executor: impl On<'_>) -> Result<ItemId> {
    let added = addition(turn, item_json).fetch_optional(executor).await?;
    added.map(|(item,)| item).ok_or_else(|| Error::not_found("turn", turn))
}

/// The statement that adds an item to a turn and returns its id; no row for a turn that does not exist.
pub(crate) fn addition(turn: TurnId, item_json: &str) -> Query<'_, (ItemId,)> {
    query_as(
        "INSERT INTO turn_items (turn_id, item_json) SELECT t.id, $2 FROM turns t WHERE t.id = $1 RETURNING id",
    )
    .bind(turn)
    .bind(item_json)
}

/// The statement that adds to a turn's usage, which also counts as progress since a restart.
pub(crate) fn count<'q>(turn: TurnId, usage: TurnUsage) -> Query<'q, ()> {
    query(
        "UPDATE turns SET input_tokens = input_tokens + $1, cache_read_tokens = cache_read_tokens + $2,
            cache_write_tokens = cache_write_tokens + $3, output_tokens = output_tokens + $4,
            cost_micros = cost_micros + $5, resumes = 0 WHERE id = $6",
    )
    .bind(usage.input_tokens)
    .bind(usage.cache_read_tokens)
    .bind(usage.cache_write_tokens)
    .bind(usage.output_tokens)
    .bind(usage.cost_micros)
    .bind(turn)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use crate::{MessageRole, Name};

    async fn world() -> (Store, UserId, ChatId, MessageId) {
        let store = testing::empty().await;
        let user = store.add_user(&Name::parse("ada").unwrap(), "correct horse", false).await.unwrap().id;
        let chat = store.create_chat(user).await.unwrap().id;
        let message = store.append_message(user, &chat, MessageRole::Assistant, "", None).await.unwrap().id;
        (store, user, chat, message)
    }

    #[tokio::test]
    async fn a_turn_is_begun_and_finished_once_and_its_items_keep_their_order() {
        let (store, user, chat, message) = world().await;
        let first = store.queue_turn(user, &chat, None, message, "1").await.unwrap();
        let second = store.queue_turn(user, &chat, None, message, "4").await.unwrap();
        assert!(store.begin_turn(first, "m").await.unwrap());
        assert!(!store.begin_turn(first, "m").await.unwrap());
        store.append_turn_item(first, "2").await.unwrap();
        store.append_turn_item(first, "3").await.unwrap();
        assert_eq!(store.turn_items(user, &chat, first).await.unwrap(), ["1", "2", "3"]);
        assert_eq!(store.turn_items(user, &chat, second).await.unwrap(), ["1", "2", "3", "4"]);
        let open: Vec<_> =
            store.open_turns(None).await.unwrap().into_iter().map(|turn| (turn.id, turn.status)).collect();
        assert_eq!(open, [(first, TurnStatus::Running), (second, TurnStatus::Queued)]);
        assert!(store.finish_turn(first, TurnStatus::Done, None).await.unwrap());
        assert!(!store.finish_turn(first, TurnStatus::Failed, Some("late")).await.unwrap());
    }

    #[tokio::test]
    async fn what_was_queued_meanwhile_stands_behind_all_of_the_turn_before() {
        let (store, user, chat, message) = world().await;
        let first = store.queue_turn(user, &chat, None, message, "1").await.unwrap();
        store.begin_turn(first, "m").await.unwrap();
        let second = store.queue_turn(user, &chat, None, message, "4").await.unwrap();
        for item in ["2", "3"] {
            store.append_turn_item(first, item).await.unwrap();
        }
        assert!(store.begin_turn(second, "m").await.unwrap());
        assert!(!store.begin_turn(second, "m").await.unwrap(), "it has begun");
        let items = store.stored_context(user, &chat, second).await.unwrap().items;
        assert_eq!(
            items.iter().map(|item| item.item_json.as_str()).collect::<Vec<_>>(),
            ["1", "2", "3", "4"]
        );
        assert!(
            items.is_sorted_by_key(|item| item.id),
            "a summary of the first turn leaves the second one's message"
        );
    }

    #[tokio::test]
    async fn what_belongs_to_another_is_not_there() {
        let (store, user, chat, message) = world().await;
        let turn = store.queue_turn(user, &chat, None, message, "1").await.unwrap();
        store.put_offload(user, &chat, "ol_1", "long", None).await.unwrap();
        let eve = store.add_user(&Name::parse("eve").unwrap(), "correct horse", false).await.unwrap().id;
        assert!(matches!(
            store.queue_turn(eve, &chat, None, message, "x").await,
            Err(Error::NotFound { .. })
        ));
        assert!(matches!(store.turn_items(eve, &chat, turn).await, Err(Error::NotFound { .. })));
        assert!(matches!(store.offload(eve, &chat, "ol_1").await, Err(Error::NotFound { .. })));
        assert!(matches!(store.set_chat_cwd(eve, &chat, "x").await, Err(Error::NotFound { .. })));
        assert_eq!(store.offload(user, &chat, "ol_1").await.unwrap().unwrap().text, "long");
        assert_eq!(store.offload(user, &chat, "ol_2").await.unwrap(), None);
        store.set_chat_cwd(user, &chat, "src").await.unwrap();
        assert_eq!(store.chat_cwd(user, &chat).await.unwrap(), "src");
        store.delete_chat(user, &chat).await.unwrap();
        let late = store.append_turn_item(turn, "2").await;
        assert!(matches!(late, Err(Error::NotFound { .. })), "{late:?}");
    }
}
