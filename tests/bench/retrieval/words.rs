//! Search by words: an FTS5 table in SQLite like the one in the store, ranked by `bm25`.

use search::tokens::{document, query};
use sqlx::sqlite::{SqliteConnectOptions, SqlitePool, SqlitePoolOptions};
use tokio::runtime::{Builder, Runtime};

/// A table of passages, by their numbers.
pub(super) struct Words {
    runtime: Runtime,
    pool: SqlitePool,
}

impl Words {
    pub(super) fn new(passages: &[String]) -> Self {
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
        let pool = runtime.block_on(async {
            let options = SqliteConnectOptions::new().in_memory(true);
            let pool =
                SqlitePoolOptions::new().max_connections(1).connect_with(options).await.expect("a database");
            let table = "CREATE VIRTUAL TABLE passages USING fts5(words, others, tokenize = 'ascii')";
            sqlx::query(table).execute(&pool).await.expect("FTS5");
            let mut transaction = pool.begin().await.expect("a transaction");
            for (at, passage) in passages.iter().enumerate() {
                let document = document(passage);
                sqlx::query("INSERT INTO passages (rowid, words, others) VALUES (?, ?, ?)")
                    .bind(at as i64)
                    .bind(document.words())
                    .bind(document.others())
                    .execute(&mut *transaction)
                    .await
                    .expect("a passage");
            }
            transaction.commit().await.expect("the passages");
            pool
        });
        Self { runtime, pool }
    }

    /// The passages with the highest scores for the question's words, the best first.
    pub(super) fn search(&self, question: &str, count: usize) -> Vec<usize> {
        let Some(terms) = query(question).any_fts5() else { return Vec::new() };
        let sql = "SELECT rowid FROM passages WHERE passages MATCH ? ORDER BY bm25(passages), rowid LIMIT ?";
        let found = sqlx::query_scalar::<_, i64>(sql).bind(terms).bind(count as i64);
        let found =
            self.runtime.block_on(found.fetch_all(&self.pool)).expect("a query that FTS5 understands");
        found.into_iter().map(|rowid| rowid as usize).collect()
    }
}
