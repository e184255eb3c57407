//! The limits on a holder's memories: those that apply, and those that have ended.
//!
//! When a fact changes, the new memory supersedes the earlier one, which is kept for questions about the past. Superseded memories do not count
//! towards the limit on applicable memories, and have a separate limit.

use super::{MemoryHolder, invalid};
use crate::error::Result;
use crate::limits::{MEMORY_ENDED_PER_USER, MEMORY_ITEMS_PER_USER};
use crate::sql::{Transaction, query, query_as};

/// Checks, at the end of a transaction, that a holder's applicable memories are within the limit. Deletes the ended memories beyond their limit,
/// beginning with those that ended first.
///
/// # Errors
/// [`crate::Error::Invalid`] beyond 1,000 memories that apply.
pub(super) async fn check(transaction: &mut Transaction, holder: MemoryHolder, now_ms: i64) -> Result<()> {
    let (applying, ended): (i64, i64) = query_as(concat!(
        "SELECT COALESCE(SUM(CASE WHEN superseded_by IS NULL AND (valid_to_ms IS NULL OR valid_to_ms > $3) THEN 1 ELSE 0 END), 0),
            COALESCE(SUM(CASE WHEN superseded_by IS NULL AND (valid_to_ms IS NULL OR valid_to_ms > $3) THEN 0 ELSE 1 END), 0)
         FROM memory_items WHERE ",
        is_held!(),
        " AND NOT is_proposed"
    ))
    .bind(holder.user)
    .bind(holder.agent_id())
    .bind(now_ms)
    .fetch_one(&mut *transaction)
    .await?;
    if applying > MEMORY_ITEMS_PER_USER {
        return Err(invalid(format!(
            "cannot be stored: there are already {MEMORY_ITEMS_PER_USER} memories; forget some first"
        )));
    }
    if ended > MEMORY_ENDED_PER_USER {
        query(concat!(
            "DELETE FROM memory_items WHERE id IN (SELECT id FROM memory_items WHERE ",
            is_held!(),
            " AND NOT is_proposed AND (superseded_by IS NOT NULL OR valid_to_ms <= $3) ORDER BY valid_to_ms, id LIMIT $4)"
        ))
        .bind(holder.user)
        .bind(holder.agent_id())
        .bind(now_ms)
        .bind(ended - MEMORY_ENDED_PER_USER)
        .execute(&mut *transaction)
        .await?;
    }
    Ok(())
}
