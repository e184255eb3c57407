//! The audit trail: who did what, where, and how it ended. Entries are only ever added.

use sqlx::FromRow;

use crate::error::Result;
use crate::limits::{AUDIT_TEXT_MAX_BYTES, beginning, rows};
use crate::sql::{On, Scope, query_as, query_scalar};
use crate::{AuditId, Store};

/// An audited action. Each text is cut beyond 4 KiB; none may contain a secret.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditEntry {
    /// The user's name; `None` if the server could not identify the user. It is a name and not an id, since the trail outlives the account.
    pub user: Option<String>,
    /// The action, such as `exec`, `file.write`, `settings.active_runner` or `login`.
    pub action: String,
    /// The place: a runner's name, `__docker__`, `none`, or `None` if there is no place.
    pub location: Option<String>,
    /// The target, such as a command, a path or a key.
    pub target: String,
    /// The outcome: `ok`, or the kind of error.
    pub outcome: String,
}

/// A recorded entry.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct AuditRecord {
    /// The row's id; later entries have larger ones.
    pub id: AuditId,
    /// The time, in Unix milliseconds.
    pub at_ms: i64,
    /// See [`AuditEntry::user`].
    #[sqlx(rename = "user_name")]
    pub user: Option<String>,
    /// See [`AuditEntry::action`].
    pub action: String,
    /// See [`AuditEntry::location`].
    pub location: Option<String>,
    /// See [`AuditEntry::target`].
    pub target: String,
    /// See [`AuditEntry::outcome`].
    pub outcome: String,
}

/// The search criteria for audit entries.
#[derive(Clone, Copy, Debug, Default)]
pub struct AuditSearch<'a> {
    /// Only entries of this user.
    pub user: Option<&'a str>,
    /// Only entries whose action begins with this text.
    pub action: &'a str,
    /// Only entries from this time on, in Unix milliseconds. An earlier entry may be about another account that had the same name.
    pub from_ms: i64,
    /// Only entries older than this one.
    pub before: Option<AuditId>,
    /// The maximum number of entries to return; at most 1,000.
    pub limit: u32,
}

const SEARCH_OF_ALL: &str = "SELECT id, at_ms, user_name, action, location, target, outcome FROM audit
     WHERE id < $1 AND substr(action, 1, $2) = $3 AND at_ms >= $4 ORDER BY id DESC LIMIT $5";
/// Like [`SEARCH_OF_ALL`], but for one user, written so that the index `audit_user` is used.
const SEARCH_OF_USER: &str = "SELECT id, at_ms, user_name, action, location, target, outcome FROM audit
     WHERE user_name = $6 AND id < $1 AND substr(action, 1, $2) = $3 AND at_ms >= $4 ORDER BY id DESC LIMIT $5";

impl Store {
    /// Adds an entry.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn append_audit(&self, entry: &AuditEntry) -> Result<AuditId> {
        append_entry(self.database.writer(Scope::Alone), self.now_ms(), entry).await
    }

    /// The last `limit` (at most 1,000) entries before the entry `before`, or the last ones of all if it is `None`; the newest first.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn audit(&self, limit: u32, before: Option<AuditId>) -> Result<Vec<AuditRecord>> {
        Ok(query_as(
            "SELECT id, at_ms, user_name, action, location, target, outcome FROM audit WHERE id < $1
             ORDER BY id DESC LIMIT $2",
        )
        .bind(before.unwrap_or(AuditId(i64::MAX)))
        .bind(rows(limit))
        .fetch_all(self.database.reader())
        .await?)
    }

    /// Like [`Store::audit`], but only the entries that match `search`: those of one user, or those whose action begins with a text.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn search_audit(&self, search: &AuditSearch<'_>) -> Result<Vec<AuditRecord>> {
        let query = query_as(if search.user.is_some() { SEARCH_OF_USER } else { SEARCH_OF_ALL })
            .bind(search.before.unwrap_or(AuditId(i64::MAX)))
            .bind(i32::try_from(search.action.chars().count()).unwrap_or(i32::MAX))
            .bind(search.action)
            .bind(search.from_ms)
            .bind(rows(search.limit));
        let query = if let Some(user) = search.user { query.bind(user) } else { query };
        Ok(query.fetch_all(self.database.reader()).await?)
    }
}

/// Adds an entry, alone or as a part of a transaction.
pub(crate) async fn append_entry(executor: impl On<'_>, now_ms: i64, entry: &AuditEntry) -> Result<AuditId> {
    let cut = |text| beginning(text, AUDIT_TEXT_MAX_BYTES);
    Ok(query_scalar(
        "INSERT INTO audit (at_ms, user_name, action, location, target, outcome) VALUES ($1, $2, $3, $4, $5, $6)
         RETURNING id",
    )
    .bind(now_ms)
    .bind(entry.user.as_deref().map(cut))
    .bind(cut(&entry.action))
    .bind(entry.location.as_deref().map(cut))
    .bind(cut(&entry.target))
    .bind(cut(&entry.outcome))
    .fetch_one(executor)
    .await?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_one_user_did_is_found_by_its_index() {
        let store = Store::open_in_memory().await.unwrap();
        let plan: Vec<(i64, i64, i64, String)> =
            query_as(sqlx::AssertSqlSafe(format!("EXPLAIN QUERY PLAN {SEARCH_OF_USER}")))
                .fetch_all(store.database.reader())
                .await
                .unwrap();
        let plan: Vec<String> = plan.into_iter().map(|(_, _, _, step)| step).collect();
        assert!(plan[0].contains("audit_user") && plan.len() == 1, "neither a scan nor a sort: {plan:?}");
    }
}
