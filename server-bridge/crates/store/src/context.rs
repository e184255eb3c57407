//! The layers over a conversation for its model: summaries, masks, edits and token counts.
//!
//! The items of a conversation never change; replacements are stored as layers over them. So code that hides turns (an undo, a rewind) does not
//! have to change the layers: it deletes the turns, or leaves them out in `live_turns!`, and then these conditions decide:
//!
//! | layer | applies only while |
//! |---|---|
//! | a compaction | the last item it covers exists; otherwise the newest earlier compaction whose last item exists, or none |
//! | a mask | its item exists |
//! | an edit | its item and the turn that made it exist |
//! | a failed attempt to compress | the item that was the last at that time exists |
//! | a count of tokens | the answer that it was counted for exists |
//!
//! One loss is permanent: [`Store::add_compaction`] deletes the masked results and offloads that its summary does not name.

use sqlx::FromRow;

use crate::error::{Error, Result, check_length};
use crate::limits::{MASKS_KEPT, MASKS_KEPT_CHARS, TURN_ITEM_MAX_BYTES};
use crate::memory_items::traces::as_items_show;
use crate::sql::{Scope, Transaction, query, query_as, query_scalar};
use crate::turns::live_turns;
use crate::{
    ChatId, Compaction, ContextEdit, ItemId, Mask, NewCompaction, PromptCount, Spent, Store, StoredContext,
    TurnId, TurnUsage, UserId,
};

/// A result that is masked in the context of its model.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct MaskedItem {
    /// The result, with the model's last edit applied.
    pub item_json: String,
    /// True if it can no longer be recalled.
    pub is_forgotten: bool,
}

impl Store {
    /// A user's conversation up to and including a turn, in the form in which its model sees it.
    ///
    /// # Errors
    /// [`Error::NotFound`] for a conversation that does not exist or belongs to another user.
    pub async fn stored_context(&self, user: UserId, chat: &ChatId, up_to: TurnId) -> Result<StoredContext> {
        self.chat(user, chat).await?;
        let compaction: Option<Compaction> = query_as(concat!(
            "SELECT c.up_to_item, c.last_item, c.summary FROM compactions c
             JOIN turn_items i ON i.id = c.up_to_item JOIN turns t ON t.id = i.turn_id
             WHERE c.chat_id = $1 AND ",
            live_turns!(),
            " ORDER BY c.id DESC LIMIT 1"
        ))
        .bind(chat)
        .bind(up_to)
        .fetch_optional(self.database.reader())
        .await?;
        let cut = compaction.as_ref().map_or(ItemId(0), |compaction| compaction.up_to_item);
        let items = query_as(concat!(
            "SELECT i.id, i.turn_id, i.item_json, t.is_journaled FROM turn_items i JOIN turns t ON t.id = i.turn_id WHERE ",
            live_turns!(),
            " AND i.id > $3 ORDER BY t.id, i.id"
        ))
        .bind(chat)
        .bind(up_to)
        .bind(cut)
        .fetch_all(self.database.reader())
        .await?;
        let tried: Option<ItemId> = query_scalar(concat!(
            "SELECT MAX(c.last_item) FROM compactions c JOIN turn_items i ON i.id = c.last_item
             JOIN turns t ON t.id = i.turn_id WHERE c.chat_id = $1 AND ",
            live_turns!(),
        ))
        .bind(chat)
        .bind(up_to)
        .fetch_one(self.database.reader())
        .await?;
        let (masks, edits) = (self.masks(chat, cut).await?, self.edits(chat, up_to, cut).await?);
        let (compaction_tried_at, count) =
            (tried.unwrap_or(ItemId(0)), self.prompt_count(chat, up_to).await?);
        let begun = query_as(concat!(
            "SELECT b.turn_id, b.call_id FROM begun_calls b JOIN turns t ON t.id = b.turn_id WHERE ",
            live_turns!(),
            // Every call of a turn that finished has its result.
            " AND t.status <> 'done' ORDER BY b.turn_id, b.call_id"
        ))
        .bind(chat)
        .bind(up_to)
        .fetch_all(self.database.reader())
        .await?;
        Ok(StoredContext { compaction, items, compaction_tried_at, masks, edits, begun, count })
    }

    async fn masks(&self, chat: &ChatId, cut: ItemId) -> Result<Vec<Mask>> {
        Ok(query_as(
            "SELECT id, item_id, placeholder, size_chars FROM masks
             WHERE chat_id = $1 AND item_id > $2 ORDER BY number",
        )
        .bind(chat)
        .bind(cut)
        .fetch_all(self.database.reader())
        .await?)
    }

    async fn edits(&self, chat: &ChatId, up_to: TurnId, cut: ItemId) -> Result<Vec<ContextEdit>> {
        let mut edits: Vec<ContextEdit> = query_as(concat!(
            "SELECT e.item_id, e.item_json FROM context_edits e JOIN turns t ON t.id = e.turn_id WHERE ",
            live_turns!(),
            " AND e.item_id > $3 ORDER BY e.item_id, e.turn_id DESC"
        ))
        .bind(chat)
        .bind(up_to)
        .bind(cut)
        .fetch_all(self.database.reader())
        .await?;
        edits.dedup_by_key(|edit| edit.item);
        Ok(edits)
    }

    async fn prompt_count(&self, chat: &ChatId, up_to: TurnId) -> Result<Option<PromptCount>> {
        Ok(query_as(concat!(
            "SELECT p.tokens, p.estimate, p.system_estimate, p.tools_estimate, p.documents_json FROM prompt_counts p
             JOIN turn_items i ON i.id = p.item_id JOIN turns t ON t.id = i.turn_id WHERE p.chat_id = $1 AND ",
            live_turns!(),
        ))
        .bind(chat)
        .bind(up_to)
        .fetch_optional(self.database.reader())
        .await?)
    }

    /// The last turn of a user's conversation that has begun; `None` if none has.
    ///
    /// # Errors
    /// [`Error::NotFound`] as for [`Store::stored_context`].
    pub async fn last_begun_turn(&self, user: UserId, chat: &ChatId) -> Result<Option<TurnId>> {
        self.chat(user, chat).await?;
        Ok(query_scalar(concat!(
            "SELECT MAX(t.id) FROM turns t WHERE ",
            live_turns!(),
            " AND t.status <> 'queued'"
        ))
        .bind(chat)
        .bind(TurnId(i64::MAX))
        .fetch_one(self.database.reader())
        .await?)
    }

    /// Replaces results with one line each, leaving out memories that were deleted in the meantime. Beyond 200 lines or two million characters, marks
    /// the oldest as no longer available, beginning with those that no summary names.
    ///
    /// # Errors
    /// [`Error::Database`], also for a conversation that was deleted.
    pub async fn add_masks(&self, chat: &ChatId, masks: &[Mask]) -> Result<()> {
        let mut transaction = self.database.write(Scope::Chat(chat)).await?;
        for mask in masks {
            let placeholder = &mask.placeholder;
            let remembered = as_items_show(&mut transaction, chat, placeholder).await?;
            query(
                "INSERT INTO masks (chat_id, item_id, id, placeholder, size_chars) VALUES ($1, $2, $3, $4, $5)
                 ON CONFLICT (item_id) DO NOTHING",
            )
            .bind(chat)
            .bind(mask.item)
            .bind(&mask.id)
            .bind(remembered.as_ref().unwrap_or(placeholder))
            .bind(mask.size_chars)
            .execute(&mut transaction)
            .await?;
        }
        forget_masks(chat, &mut transaction).await?;
        transaction.commit().await?;
        Ok(())
    }

    /// A masked result; `None` if there is none with this id.
    ///
    /// # Errors
    /// [`Error::NotFound`] for a conversation that does not exist or belongs to another user.
    pub async fn masked_item(&self, user: UserId, chat: &ChatId, id: &str) -> Result<Option<MaskedItem>> {
        self.chat(user, chat).await?;
        Ok(query_as(
            // The latest edit whose turn was not undone applies; an item that it removed has an empty text here.
            "SELECT m.is_forgotten, COALESCE(
                 (SELECT COALESCE(e.item_json, '') FROM context_edits e JOIN turns t ON t.id = e.turn_id
                  WHERE e.item_id = i.id AND t.undone_at_ms IS NULL ORDER BY e.turn_id DESC LIMIT 1),
                 i.item_json) AS item_json
             FROM masks m JOIN turn_items i ON i.id = m.item_id WHERE m.chat_id = $1 AND m.id = $2",
        )
        .bind(chat)
        .bind(id)
        .fetch_optional(self.database.reader())
        .await?)
    }

    /// Records the form in which a turn's model wants to see these items of its conversation from now on.
    ///
    /// # Errors
    /// [`Error::Invalid`] for an item beyond 32 MiB; [`Error::Database`] for items or a turn that were
    /// deleted.
    pub async fn edit_context(&self, turn: TurnId, edits: &[ContextEdit]) -> Result<()> {
        let mut transaction = self.database.write(Scope::Turn(turn)).await?;
        for edit in edits {
            check_length("item", edit.item_json.as_deref().unwrap_or_default(), TURN_ITEM_MAX_BYTES)?;
            query(
                "INSERT INTO context_edits (item_id, turn_id, item_json) VALUES ($1, $2, $3)
                 ON CONFLICT (item_id, turn_id) DO UPDATE SET item_json = excluded.item_json",
            )
            .bind(edit.item)
            .bind(turn)
            .bind(&edit.item_json)
            .execute(&mut transaction)
            .await?;
        }
        transaction.commit().await?;
        Ok(())
    }

    /// Stores a compaction, and deletes the earlier masked results that it does not name, in one transaction.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a summary beyond 32 MiB; [`Error::Database`], also for a conversation
    /// that was deleted.
    pub async fn add_compaction(&self, chat: &ChatId, new: &NewCompaction) -> Result<()> {
        let NewCompaction { compaction, tokens_before, tokens_after, named_masks, forgotten_offloads } = new;
        check_length("summary", &compaction.summary, TURN_ITEM_MAX_BYTES)?;
        let mut transaction = self.database.write(Scope::Chat(chat)).await?;
        let summary = &compaction.summary;
        let remembered = as_items_show(&mut transaction, chat, summary).await?;
        query(
            "INSERT INTO compactions (chat_id, up_to_item, last_item, summary, tokens_before, tokens_after, created_at_ms)
             VALUES ($1, $2, $3, $4, $5, $6, $7)",
        )
        .bind(chat)
        .bind(compaction.up_to_item)
        .bind(compaction.last_item)
        .bind(remembered.as_ref().unwrap_or(summary))
        .bind(tokens_before)
        .bind(tokens_after)
        .bind(self.now_ms())
        .execute(&mut transaction)
        .await?;
        query("UPDATE masks SET is_named = FALSE WHERE chat_id = $1 AND item_id <= $2")
            .bind(chat)
            .bind(compaction.up_to_item)
            .execute(&mut transaction)
            .await?;
        for id in named_masks {
            query("UPDATE masks SET is_named = TRUE WHERE chat_id = $1 AND id = $2")
                .bind(chat)
                .bind(id)
                .execute(&mut transaction)
                .await?;
        }
        query("DELETE FROM masks WHERE chat_id = $1 AND item_id <= $2 AND NOT is_named")
            .bind(chat)
            .bind(compaction.up_to_item)
            .execute(&mut transaction)
            .await?;
        for id in forgotten_offloads {
            query("DELETE FROM offloads WHERE chat_id = $1 AND id = $2")
                .bind(chat)
                .bind(id)
                .execute(&mut transaction)
                .await?;
        }
        // The prompt is rebuilt, so the user's memory is read again too.
        query("UPDATE chats SET memory = NULL WHERE id = $1").bind(chat).execute(&mut transaction).await?;
        transaction.commit().await?;
        Ok(())
    }

    /// Records that an attempt to compress a conversation failed, so that it is not repeated at once.
    ///
    /// # Errors
    /// [`Error::Database`], also for a conversation that was deleted.
    pub async fn add_void_compaction(&self, chat: &ChatId, last_item: ItemId) -> Result<()> {
        let mut transaction = self.database.write(Scope::Chat(chat)).await?;
        query("DELETE FROM compactions WHERE chat_id = $1 AND up_to_item IS NULL")
            .bind(chat)
            .execute(&mut transaction)
            .await?;
        query(
            "INSERT INTO compactions (chat_id, last_item, summary, tokens_before, tokens_after, created_at_ms)
             VALUES ($1, $2, '', 0, 0, $3)",
        )
        .bind(chat)
        .bind(last_item)
        .bind(self.now_ms())
        .execute(&mut transaction)
        .await?;
        transaction.commit().await?;
        Ok(())
    }

    /// Adds a cost that belongs to no item, such as that of a summary, to the usage of a turn and of its user.
    ///
    /// # Errors
    /// [`Error::NotFound`] for a turn whose conversation was deleted.
    pub async fn add_turn_usage(&self, turn: TurnId, spent: Spent<'_>) -> Result<()> {
        let mut transaction = self.database.write(Scope::Turn(turn)).await?;
        let found: Option<(TurnId,)> = query_as("SELECT id FROM turns WHERE id = $1")
            .bind(turn)
            .fetch_optional_before(&mut transaction, self.counts(turn, spent))
            .await?;
        found.ok_or_else(|| Error::not_found("turn", turn))?;
        transaction.commit().await?;
        Ok(())
    }

    /// The cost of a turn so far, including requests outside its conversation; zero for a turn that no longer exists.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn turn_usage(&self, turn: TurnId) -> Result<TurnUsage> {
        let found = query_as(
            "SELECT input_tokens, cache_read_tokens, cache_write_tokens, output_tokens, cost_micros FROM turns WHERE id = $1",
        );
        Ok(found.bind(turn).fetch_optional(self.database.reader()).await?.unwrap_or_default())
    }

    /// Adds an answer to a turn, its cost to the usage of the turn and of its user, and the known prompt size to its conversation, in one
    /// transaction.
    ///
    /// # Errors
    /// As [`Store::append_turn_item`].
    pub async fn append_answer(
        &self,
        turn: TurnId,
        item_json: &str,
        spent: Spent<'_>,
        prompt: PromptCount,
    ) -> Result<ItemId> {
        check_length("item", item_json, TURN_ITEM_MAX_BYTES)?;
        let mut transaction = self.database.write(Scope::Turn(turn)).await?;
        let count = query(
            "INSERT INTO prompt_counts
                (chat_id, item_id, tokens, estimate, system_estimate, tools_estimate, documents_json)
             SELECT t.chat_id, (SELECT MAX(i.id) FROM turn_items i WHERE i.turn_id = t.id), $1, $2, $3, $4, $5
                FROM turns t WHERE t.id = $6
             ON CONFLICT (chat_id) DO UPDATE SET item_id = excluded.item_id, tokens = excluded.tokens,
                estimate = excluded.estimate, system_estimate = excluded.system_estimate,
                tools_estimate = excluded.tools_estimate, documents_json = excluded.documents_json",
        )
        .bind(prompt.tokens)
        .bind(prompt.estimate)
        .bind(prompt.system_estimate)
        .bind(prompt.tools_estimate)
        .bind(prompt.documents_json)
        .bind(turn);
        let mut counts = self.counts(turn, spent);
        counts.push(count);
        let item =
            crate::turns::addition(turn, item_json).fetch_optional_before(&mut transaction, counts).await?;
        let (item,) = item.ok_or_else(|| Error::not_found("turn", turn))?;
        transaction.commit().await?;
        Ok(item)
    }
}

/// Marks the masks beyond the limits as no longer available. Masks that a summary names are kept first, and then the newest ones.
async fn forget_masks(chat: &ChatId, transaction: &mut Transaction) -> Result<()> {
    let kept: Vec<(i64, i64)> = query_as(
        "SELECT number, size_chars FROM masks WHERE chat_id = $1 AND NOT is_forgotten
         ORDER BY is_named DESC, number DESC",
    )
    .bind(chat)
    .fetch_all(&mut *transaction)
    .await?;
    let mut chars = 0;
    for (at, (number, size_chars)) in kept.into_iter().enumerate() {
        chars += size_chars;
        if at < MASKS_KEPT && chars <= MASKS_KEPT_CHARS {
            continue;
        }
        query("UPDATE masks SET is_forgotten = TRUE WHERE number = $1")
            .bind(number)
            .execute(&mut *transaction)
            .await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
