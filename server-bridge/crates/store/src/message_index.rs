//! The full-text index of messages: their words, as crate `search` makes them, changed together with the messages.
//!
//! ```text
//!   a message is added, changed, copied ──► its words, in the same transaction
//!   a message is deleted ──► its words with it (by foreign keys; on SQLite, triggers update FTS5)
//!   messages of older versions ──► a job, user by user, the newest first; until then, a search reads them one by one
//! ```
//! Every entry names its owner, so that a search reads only the words of one user's messages.

use sqlx::AssertSqlSafe;

use crate::batches::{Row, batches};
use crate::error::Result;
use crate::homes::at_home;
use crate::limits::INDEX_BATCH_IDS;
use crate::sql::{Connection, Query, Scope, Transaction, query, query_as, query_scalar, without_nul};
use crate::{MessageId, Store, UserId};

/// A subquery for the ids of a user's messages that contain all words, and its arguments.
pub(crate) struct Hits {
    pub(crate) sql: String,
    pub(crate) arguments: Vec<String>,
}

/// The subquery for the messages that contain all terms; `None` if the query has no terms. Its arguments are numbered from `first`.
pub(crate) fn hits(
    is_postgres: bool,
    user: UserId,
    query: &search::tokens::Query,
    first: usize,
) -> Option<Hits> {
    if query.is_empty() {
        return None;
    }
    if !is_postgres {
        let sql =
            format!("SELECT rowid FROM search_messages_index WHERE search_messages_index MATCH ${first}");
        let terms = query.all_fts5().unwrap_or_default();
        return Some(Hits { sql, arguments: vec![of_owner_fts5(user, &terms)] });
    }
    let arguments: Vec<_> = query.tsqueries().iter().map(|term| of_owner_tsquery(user, term)).collect();
    let parts: Vec<_> = (first..first + arguments.len())
        .map(|at| format!("SELECT message_id FROM search_messages WHERE words @@ CAST(${at} AS tsquery)"))
        .collect();
    Some(Hits { sql: parts.join(" INTERSECT "), arguments })
}

pub(crate) fn of_owner_fts5(user: UserId, query: &str) -> String {
    format!("owner : \"u{user}\" AND ({query})")
}

pub(crate) fn of_owner_tsquery(user: UserId, query: &str) -> String {
    format!("'@u{user}' & ({query})")
}

/// The statements that index a message of this user that has no entry yet. Messages of sub-agents get none, so searches do not find them, and neither do those that
/// the job still has to index.
pub(crate) fn additions<'q>(
    is_postgres: bool,
    id: MessageId,
    user: UserId,
    text: &str,
) -> Vec<Query<'q, ()>> {
    let document = search::tokens::document(&without_nul(text));
    if document.is_empty() {
        return Vec::new();
    }
    if !is_postgres {
        let words = query(
            "INSERT INTO search_messages (message_id, words, others, owner) SELECT m.id, $2, $3, 'u' || c.user_id
             FROM messages m JOIN chats c ON c.id = m.chat_id
             WHERE m.id = $1 AND c.user_id = $4 AND c.parent_id IS NULL
                AND m.id >= COALESCE((SELECT p.below_id FROM search_progress p WHERE p.user_id = c.user_id), 0) /* sqlite_ */",
        );
        return vec![words.bind(id).bind(document.words()).bind(document.others()).bind(user)];
    }
    let part = |(part, words): (i64, String)| {
        query(
            "INSERT INTO search_messages (message_id, part, words)
             SELECT m.id, $2, CAST('''@u' || c.user_id || ''' ' || $3 AS tsvector)
             FROM messages m JOIN chats c ON c.id = m.chat_id
             WHERE m.id = $1 AND c.user_id = $4 AND c.parent_id IS NULL
                AND m.id >= COALESCE((SELECT p.below_id FROM search_progress p WHERE p.user_id = c.user_id), 0)",
        )
        .bind(id)
        .bind(part)
        .bind(words)
        .bind(user)
    };
    (0_i64..).zip(document.tsvectors()).map(part).collect()
}

/// The statements that index the new text of a message, if it is this user's.
pub(crate) fn changes<'q>(is_postgres: bool, id: MessageId, user: UserId, text: &str) -> Vec<Query<'q, ()>> {
    let mut statements = vec![removal(id, user)];
    statements.extend(additions(is_postgres, id, user, text));
    statements
}

/// The statement that removes the entries of a message, if it is this user's.
fn removal<'q>(id: MessageId, user: UserId) -> Query<'q, ()> {
    query(
        "DELETE FROM search_messages WHERE message_id = $1 AND EXISTS (
            SELECT 1 FROM messages m JOIN chats c ON c.id = m.chat_id WHERE m.id = $1 AND c.user_id = $2)",
    )
    .bind(id)
    .bind(user)
}

/// The id below which a user's messages are not indexed yet; 0 if all are indexed.
async fn below(transaction: &mut Transaction, user: UserId) -> Result<i64> {
    let below = query_scalar(BELOW).bind(user).fetch_optional(transaction).await?;
    Ok(below.unwrap_or(0))
}

const BELOW: &str = "SELECT below_id FROM search_progress WHERE user_id = $1";

/// Like `below`, but without a transaction, for a search.
pub(crate) async fn not_indexed_below(connection: &mut Connection, user: UserId) -> Result<i64> {
    let below = query_scalar(BELOW).bind(user).fetch_optional(connection).await?;
    Ok(below.unwrap_or(0))
}

/// Marks all messages of a copied database as not indexed, so that the job indexes them.
pub(crate) async fn begin_anew(copy: &mut Transaction) -> Result<()> {
    query(
        "INSERT INTO search_progress (user_id, below_id)
         SELECT c.user_id, MAX(m.id) + 1 FROM messages m JOIN chats c ON c.id = m.chat_id GROUP BY c.user_id",
    )
    .execute(copy)
    .await?;
    Ok(())
}

impl Store {
    /// Indexes a batch of messages of older versions; returns true if there are more. A job calls this until it returns false.
    ///
    /// # Errors
    /// [`Error::Database`](crate::Error::Database).
    pub async fn index_older_messages(&self) -> Result<bool> {
        let next: Option<UserId> = query_scalar(concat!(
            "SELECT user_id FROM search_progress WHERE ",
            at_home!("search_progress.user_id", "$1"),
            " ORDER BY user_id LIMIT 1"
        ))
        .bind(self.database.node_id())
        .fetch_optional(self.database.latest())
        .await?;
        let Some(user) = next else { return Ok(false) };
        let mut transaction = self.database.write(Scope::User(user)).await?;
        let below_id = below(&mut transaction, user).await?;
        let from_id = (below_id - INDEX_BATCH_IDS).max(0);
        let rows: Vec<(i64, i64)> = query_as(
            "SELECT m.id, CAST(OCTET_LENGTH(m.text) AS BIGINT) FROM messages m JOIN chats c ON c.id = m.chat_id
             WHERE m.id >= $1 AND m.id < $2 AND c.user_id = $3 ORDER BY m.id DESC",
        )
        .bind(from_id)
        .bind(below_id)
        .bind(user)
        .fetch_all(&mut transaction)
        .await?;
        let rows: Vec<_> = rows.into_iter().map(|(id, size_bytes)| Row { id, size_bytes }).collect();
        let batch = batches(&rows).next().unwrap_or_default();
        let done_id = match batch.last() {
            Some(last) if batch.len() < rows.len() => last.id,
            _ => from_id,
        };
        let progress = if done_id == 0 {
            query("DELETE FROM search_progress WHERE user_id = $1").bind(user)
        } else {
            query("UPDATE search_progress SET below_id = $2 WHERE user_id = $1").bind(user).bind(done_id)
        };
        progress.execute(&mut transaction).await?;
        for row in batch {
            let text: String = query_scalar("SELECT text FROM messages WHERE id = $1")
                .bind(row.id)
                .fetch_one(&mut transaction)
                .await?;
            let words = additions(self.database.is_postgres(), MessageId(row.id), user, &text);
            transaction.execute_all(words).await?;
        }
        transaction.commit().await?;
        Ok(true)
    }

    /// True if all of a user's messages are indexed.
    ///
    /// # Errors
    /// [`Error::Database`](crate::Error::Database).
    pub async fn is_message_index_whole(&self, user: UserId) -> Result<bool> {
        let below: Option<i64> =
            query_scalar(BELOW).bind(user).fetch_optional(self.database.reader()).await?;
        Ok(below.is_none())
    }
}

/// Marks an assembled statement as safe: its parts come from this crate, and a user's words are only arguments.
pub(crate) fn made(sql: String) -> AssertSqlSafe<String> {
    AssertSqlSafe(sql)
}
