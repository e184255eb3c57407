//! Searches passages by their words, among those that the user may search.

use sqlx::{AssertSqlSafe, FromRow};

use super::visible;
use crate::error::{Error, Result};
use crate::limits::{SEARCH_TIMEOUT, rows};
use crate::sql::query_as;
use crate::{ChunkId, CollectionId, Store, UserId};

/// The words of a query, in the forms that crate `search` makes for the two databases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WordsQuery {
    /// The argument of FTS5's `MATCH`, for SQLite.
    pub fts5: String,
    /// The text of one tsquery for each word, for PostgreSQL.
    pub tsqueries: Vec<String>,
}

/// The collections to search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// All collections that the user may search.
    All,
    /// The collections of the list that the user may search.
    Collections(Vec<CollectionId>),
}

/// A passage and its score; higher is better.
#[derive(Clone, Copy, Debug, PartialEq, FromRow)]
pub struct Ranked {
    /// The passage's id.
    pub id: ChunkId,
    /// The passage's score in this ranking.
    pub score: f64,
}

/// The conditions on passages `k`: they belong to the current version of a document, in a collection in scope that the user `$1` may search.
pub(super) const IN_SCOPE: &str = concat!(
    "JOIN documents d ON d.id = k.document_id AND d.version = k.version
     JOIN collections c ON c.id = d.collection_id AND ($2 = '' OR $2 LIKE '%,' || CAST(c.id AS TEXT) || ',%') AND ",
    visible!()
);

/// The beginning of the search in SQLite. A word has the weight 1, a stem or a whole identifier 0.5.
const FTS5: &str = "SELECT k.id, -bm25(search_chunks, 1.0, 0.5) AS score FROM search_chunks JOIN chunks k ON k.id = search_chunks.rowid /* sqlite_ */";

/// The end of the search in PostgreSQL; see [`on_postgres`].
const TSVECTOR: &str = "ORDER BY score DESC, k.id LIMIT $4";

impl Scope {
    /// The collections' ids between commas; empty for all collections.
    pub(super) fn listed(&self) -> String {
        match self {
            Self::All => String::new(),
            Self::Collections(ids) => {
                let ids: Vec<_> = ids.iter().map(|id| id.0.to_string()).collect();
                format!(",{},", ids.join(","))
            }
        }
    }
}

impl Store {
    /// The passages with any of a query's words, the best first. Those that the user may not search take no part in the ranking.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a search that takes longer than 3 s.
    pub async fn search_passages(
        &self,
        user: UserId,
        scope: &Scope,
        words: &WordsQuery,
        limit: u32,
    ) -> Result<Vec<Ranked>> {
        let (sql, argument) = if self.database.is_postgres() {
            (on_postgres(), words.tsqueries.join("\n"))
        } else {
            let sql = format!(
                "{FTS5} {IN_SCOPE} WHERE search_chunks MATCH $3 ORDER BY bm25(search_chunks, 1.0, 0.5), k.id LIMIT $4"
            );
            (sql, words.fts5.clone())
        };
        let mut connection = self.database.search(SEARCH_TIMEOUT).await?;
        let found =
            query_as(AssertSqlSafe(sql)).bind(user).bind(scope.listed()).bind(argument).bind(rows(limit));
        found.fetch_all(&mut connection).await.map_err(Error::or_slow)
    }
}

/// The search in PostgreSQL: BM25 with k1 = 1.2 and b = 0.75 as in FTS5, but each word of a passage counts once.
fn on_postgres() -> String {
    format!(
        "WITH visible AS (SELECT k.id, k.words, k.others, LENGTH(k.words) AS size FROM chunks k {IN_SCOPE}),
         asked AS (SELECT word::tsquery AS word, at FROM unnest(string_to_array($3, E'\\n')) WITH ORDINALITY AS a (word, at)),
         hits AS (SELECT k.id, k.size, a.at FROM asked a JOIN visible k ON chunk_vector(k.words, k.others) @@ a.word),
         counts AS (SELECT at, COUNT(*) AS n FROM hits GROUP BY at),
         totals AS (SELECT COUNT(*) AS n, GREATEST(AVG(size), 1) AS size FROM visible)
         SELECT k.id, SUM(LN(1 + (t.n - n.n + 0.5) / (n.n + 0.5)) * 2.2 / (1 + 1.2 * (0.25 + 0.75 * k.size / t.size)))::float8 AS score
         FROM hits k JOIN counts n ON n.at = k.at CROSS JOIN totals t GROUP BY k.id {TSVECTOR}"
    )
}
