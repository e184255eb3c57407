//! Memories that newer ones make untrue. A new memory supersedes them at once; a proposal only records them, and supersedes them when its user
//! accepts it. A superseded memory is kept, and applies until then.

use std::collections::BTreeSet;

use sqlx::FromRow;

use super::{MemoryChange, MemoryHolder, MemoryItem, MemoryKind, change_in, delete, invalid, item_in, room};
use crate::error::{Error, Result};
use crate::limits::MEMORY_REPLACED_MAX;
use crate::sql::{Transaction, query, query_as, query_scalar};
use crate::{Store, UserId};

/// A memory that a proposal would replace.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct MemoryReplacement {
    /// The id of the proposal.
    pub item_id: i64,
    /// The id of the memory that it would replace.
    pub replaces_id: i64,
    /// The text of that memory.
    pub text: String,
    /// The id of the memory that has already superseded the one to be replaced; `None` if none has.
    pub superseded_by: Option<i64>,
}

impl Store {
    /// The memories that a user's proposals, including those of their agents in groups, would replace, by the proposals' ids.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn memory_replacements(&self, user: UserId) -> Result<Vec<MemoryReplacement>> {
        Ok(query_as(
            "SELECT r.item_id, r.replaces_id, i.text, i.superseded_by FROM memory_replacements r
             JOIN memory_items i ON i.id = r.replaces_id WHERE i.user_id = $1 ORDER BY r.item_id, r.replaces_id",
        )
        .bind(user)
        .fetch_all(self.database.reader())
        .await?)
    }

    /// Records that items are superseded by the item `by` from now on; if `by` is a proposal, that they will be once it is accepted. Ignores `by`
    /// itself among the ids. Records either all of them, or none.
    ///
    /// # Errors
    /// [`Error::NotFound`] if a memory was deleted or belongs to another holder; [`Error::Invalid`] for a proposal, for a core block, for an item
    /// that is already superseded, and beyond 20 items.
    pub async fn supersede_memories(
        &self,
        holder: impl Into<MemoryHolder>,
        ids: &[i64],
        by: i64,
    ) -> Result<()> {
        let holder = holder.into();
        let mut transaction = self.write_memories(holder).await?;
        let item = item_in(&mut transaction, holder, by).await?;
        let now_ms = self.now_ms();
        replace_in(&mut transaction, holder, ids, &item, now_ms).await?;
        room::check(&mut transaction, holder, now_ms).await?;
        transaction.commit().await?;
        Ok(())
    }

    /// Accepts a proposal: it becomes an item, or its text replaces that of the item `replaces_id`. The items that it makes untrue are superseded,
    /// except those that another item superseded meanwhile. Returns the item.
    ///
    /// # Errors
    /// [`Error::NotFound`] if the proposal was deleted, belongs to another holder, or was already accepted; [`Error::Invalid`] beyond 1,000 items;
    /// [`Error::Taken`] for a core block that exists.
    pub async fn accept_memory(&self, holder: impl Into<MemoryHolder>, id: i64) -> Result<MemoryItem> {
        let holder = holder.into();
        let now_ms = self.now_ms();
        let mut transaction = self.write_memories(holder).await?;
        let proposal = item_in(&mut transaction, holder, id).await?;
        if !proposal.is_proposed {
            return Err(Error::not_found("proposal", id));
        }
        let replaced: Vec<i64> = query_scalar(
            "SELECT replaces_id FROM memory_replacements WHERE item_id = $1 ORDER BY replaces_id",
        )
        .bind(id)
        .fetch_all(&mut transaction)
        .await?;
        let changed = match proposal.replaces_id {
            Some(replaces) => Some(item_in(&mut transaction, holder, replaces).await?),
            None => None,
        };
        // A text for an item that no longer applies would never be used, so the proposal becomes a new item.
        let kept = match changed.filter(|item| item.superseded_by.is_none()) {
            Some(item) => {
                let change = MemoryChange {
                    name: Some(&proposal.name).filter(|name| !name.is_empty()).map(String::as_str),
                    text: Some(&proposal.text),
                    valid_to_ms: None,
                    by: proposal.source,
                };
                let changed = change_in(&mut transaction, holder, item.id, &change, now_ms).await?;
                delete(&mut transaction, holder, id).await?;
                changed
            }
            None => keep_in(&mut transaction, holder, &proposal, now_ms).await?,
        };
        for old in replaced {
            supersede_in(&mut transaction, old, kept.id, now_ms).await?;
        }
        query("DELETE FROM memory_replacements WHERE item_id = $1")
            .bind(id)
            .execute(&mut transaction)
            .await?;
        room::check(&mut transaction, holder, now_ms).await?;
        transaction.commit().await?;
        Ok(kept)
    }
}

/// Turns a proposal into an item.
async fn keep_in(
    transaction: &mut Transaction,
    holder: MemoryHolder,
    proposal: &MemoryItem,
    now_ms: i64,
) -> Result<MemoryItem> {
    query_as(concat!(
        "UPDATE memory_items SET is_proposed = FALSE, replaces_id = NULL, updated_at_ms = $4 WHERE ",
        is_held!(),
        " AND id = $3 RETURNING ",
        item_columns!()
    ))
    .bind(holder.user)
    .bind(holder.agent_id())
    .bind(proposal.id)
    .bind(now_ms)
    .fetch_optional(transaction)
    .await
    .map_err(|error| Error::or_taken(error, "memory", &proposal.name))?
    .ok_or_else(|| Error::not_found("proposal", proposal.id))
}

/// Supersedes items by `by`, or, if `by` is a proposal, records that the proposal will supersede them.
pub(super) async fn replace_in(
    transaction: &mut Transaction,
    holder: MemoryHolder,
    ids: &[i64],
    by: &MemoryItem,
    now_ms: i64,
) -> Result<()> {
    if ids.len() > MEMORY_REPLACED_MAX {
        return Err(invalid(format!("can replace at most {MEMORY_REPLACED_MAX} memories")));
    }
    for id in ids.iter().copied().filter(|id| *id != by.id).collect::<BTreeSet<_>>() {
        let old = item_in(&mut *transaction, holder, id).await?;
        if old.is_proposed {
            return Err(invalid(format!("{id} is a proposal; only the user can accept or reject it")));
        }
        if old.kind == MemoryKind::Core {
            return Err(invalid(format!("{id} is a core block: change its text instead")));
        }
        if let Some(other) = old.superseded_by {
            return Err(superseded(id, other));
        }
        if by.is_proposed {
            query("INSERT INTO memory_replacements (item_id, replaces_id) VALUES ($1, $2) ON CONFLICT DO NOTHING")
                .bind(by.id)
                .bind(id)
                .execute(&mut *transaction)
                .await?;
        } else if !supersede_in(transaction, id, by.id, now_ms).await? {
            // If two writers race, the later one gets here.
            let other = item_in(&mut *transaction, holder, id).await?.superseded_by;
            return Err(superseded(id, other.unwrap_or(id)));
        }
    }
    Ok(())
}

fn superseded(id: i64, by: i64) -> Error {
    invalid(format!("{id} was already replaced by memory {by}; replace memory {by} if it is no longer true"))
}

/// Supersedes an item; returns false if another item already superseded it. An item that ended earlier keeps its end.
async fn supersede_in(transaction: &mut Transaction, id: i64, by: i64, now_ms: i64) -> Result<bool> {
    let done = query(
        "UPDATE memory_items SET superseded_by = $2, updated_at_ms = $1,
            valid_to_ms = CASE WHEN valid_to_ms < $1 THEN valid_to_ms ELSE $1 END
         WHERE id = $3 AND id <> $2 AND superseded_by IS NULL",
    )
    .bind(now_ms)
    .bind(by)
    .bind(id)
    .execute(transaction)
    .await?;
    Ok(done.rows_affected() > 0)
}
