//! Behaviour specific to PostgreSQL: the same schema as in SQLite, one winner of each race, an outage of the server.

mod blobs;
mod copy;
mod fences;
mod given_up;
mod one_time;
mod races;
mod statements;
mod texts;

use std::collections::BTreeSet;

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions};
use store::{Error, MessageRole, Store};
use testkit::postgres::Postgres;

use crate::support::{add_user, postgres_url};

/// The tables with their columns, and the number of the last schema step.
async fn schema_of_sqlite() -> (BTreeSet<String>, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    Store::open(&path).await.unwrap().close().await;
    let mut connection = SqliteConnectOptions::new().filename(&path).connect().await.unwrap();
    let columns = "SELECT m.name || '.' || c.name FROM sqlite_schema m JOIN pragma_table_info(m.name) c
        WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite%' AND m.name NOT LIKE '_sqlx%'
        UNION SELECT 'index ' || name FROM sqlite_schema WHERE type = 'index' AND name NOT LIKE 'sqlite%'";
    let columns: Vec<String> =
        sqlx::query_scalar(AssertSqlSafe(columns)).fetch_all(&mut connection).await.unwrap();
    let last: i64 = sqlx::query_scalar("SELECT MAX(version) FROM _sqlx_migrations")
        .fetch_one(&mut connection)
        .await
        .unwrap();
    (columns.into_iter().collect(), last.to_string())
}

#[tokio::test]
async fn both_databases_have_the_same_tables_columns_and_indexes() {
    let url = postgres_url();
    let database = url.rsplit('/').find(|part| part.contains("?host=")).map(|part| part.split('?').next());
    let database = database.flatten().unwrap();
    let server = Postgres::shared();
    let columns = server.ask(
        database,
        "SELECT table_name || '.' || column_name FROM information_schema.columns
         WHERE table_schema = 'public' AND table_name NOT LIKE '\\_sqlx%'
         UNION SELECT 'index ' || indexname FROM pg_indexes
         WHERE schemaname = 'public' AND indexname NOT LIKE '%\\_key' AND indexname NOT LIKE '%\\_pkey'",
    );
    // The indexes of texts differ between the databases.
    let is_shared = |name: &String| !name.trim_start_matches("index ").starts_with("search_");
    let columns: BTreeSet<String> = columns.lines().map(str::to_owned).filter(is_shared).collect();
    let last = server.ask(database, "SELECT MAX(version) FROM _sqlx_migrations");
    let (mut of_sqlite, last_of_sqlite) = schema_of_sqlite().await;
    of_sqlite.retain(is_shared);
    assert_eq!(columns, of_sqlite);
    assert_eq!(last.trim(), last_of_sqlite, "each step is in both folders, under the same number");
}

#[tokio::test]
async fn a_server_that_is_away_at_the_start_is_said_in_one_line_and_one_that_goes_away_later_comes_back() {
    let server = Postgres::own();
    let url = server.empty();
    let store = Store::connect(&url).await.unwrap();
    let ann = add_user(&store, "ann").await.id;
    let chat = store.create_chat(ann).await.unwrap().id;
    server.stop();
    for _ in 0..2 {
        let failed = store.append_message(ann, &chat, MessageRole::User, "lost", None).await.unwrap_err();
        assert!(failed.is_away() && !failed.is_callers(), "{failed}");
    }
    let error = Store::connect(&url).await.unwrap_err();
    assert!(matches!(error, Error::Unreachable { .. }) && error.is_away(), "{error}");
    let text = error.to_string();
    assert!(text.contains("cannot connect to the database") && !text.contains('\n'), "{text}");
    server.start();
    store.append_message(ann, &chat, MessageRole::User, "kept", None).await.unwrap();
    let texts: Vec<String> = store
        .messages(ann, &chat, None, 9)
        .await
        .unwrap()
        .0
        .into_iter()
        .map(|message| message.text)
        .collect();
    assert_eq!(texts, ["kept"]);
}

#[tokio::test]
async fn what_is_no_address_and_what_is_no_database_is_said() {
    for url in ["postgres//nowhere", "mysql://localhost/x"] {
        let error = Store::connect(url).await.unwrap_err();
        assert!(matches!(error, Error::DatabaseUrl { .. }), "{url}: {error}");
    }
    let missing = Store::connect(&Postgres::shared().url("nowhere")).await.unwrap_err();
    assert!(missing.to_string().contains("nowhere"), "{missing}");
}
