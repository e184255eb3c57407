//! Copying a whole database to another one, there and back.

use std::path::Path;

use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{AssertSqlSafe, ConnectOptions, Row, ValueRef};
use store::{
    AgentDraft, Error, ExecId, ExecKind, ExecRequest, KeyScope, Location, MemoryHolder, MessageRole, Name,
    RunnerName, Store, copy,
};

use crate::support::{MEMORY, add_user, postgres_url};

/// The number of messages to copy; larger in a soak test.
fn messages() -> i64 {
    std::env::var("SANDBRIDGE_COPY_MESSAGES").map_or(5_000, |count| count.parse().unwrap())
}

async fn raw(path: &Path) -> SqliteConnection {
    SqliteConnectOptions::new().filename(path).connect().await.unwrap()
}

async fn run(connection: &mut SqliteConnection, statement: &str) {
    sqlx::query(AssertSqlSafe(statement.to_owned())).execute(connection).await.unwrap();
}

fn file(path: &Path) -> Location {
    Location::File(path.to_owned())
}

fn postgres(url: &str) -> Location {
    Location::parse(url).unwrap()
}

/// Fills a file with data of many kinds, two texts that need repair, and ids of deleted rows.
async fn filled(path: &Path) {
    let store = Store::open(path).await.unwrap();
    let (ann, bob) = (add_user(&store, "ann").await.id, add_user(&store, "bob").await.id);
    let chat = store.create_chat(ann).await.unwrap().id;
    let message = store.append_message(ann, &chat, MessageRole::User, "ä ☃ first", Some("{}")).await.unwrap();
    let turn = store.queue_turn(ann, &chat, Some(message.id), message.id, "{\"said\":1}").await.unwrap();
    store.put_offload(ann, &chat, "1", &"long ".repeat(100_000), None).await.unwrap();
    store.add_runner(ann, &RunnerName::parse("laptop").unwrap()).await.unwrap();
    let (_, _key) = store.add_key(bob, &Name::parse("key").unwrap(), KeyScope::Read, None).await.unwrap();
    store.add_memory(bob, &MEMORY).await.unwrap();
    let group = store.create_group(bob, "Work").await.unwrap();
    let draft = AgentDraft {
        handle: "coder",
        runner: "none",
        approval: "ask",
        model: None,
        persona: "",
        tools_json: None,
        folder: None,
    };
    let agent = store.put_group_agent(group, bob, draft).await.unwrap();
    store.add_memory(MemoryHolder::agent(bob, agent), &MEMORY).await.unwrap();
    store.add_subscription(bob, &Name::parse("model").unwrap(), "{}", None).await.unwrap();
    let request = ExecRequest {
        exec_id: ExecId::from_bytes([3; 16]),
        kind: ExecKind::Client,
        user: ann,
        chat: Some(chat.clone()),
        message: None,
        request_hash: "hash".into(),
        runner: None,
        command: "true".into(),
        audited: None,
        detached: true,
        linger_ms: Some(7),
    };
    store.start_exec(&request).await.unwrap();
    store.append_turn_item(turn, "{\"answer\":2}").await.unwrap();
    add_user(&store, "gone").await;
    store.remove_user("gone").await.unwrap();
    store.close().await;
    let mut connection = raw(path).await;
    run(
        &mut connection,
        &format!(
            "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {})
             INSERT INTO messages (chat_id, role, text, document_json, created_at_ms)
             SELECT '{chat}', 'assistant', 'message ' || i || ' ' || hex(randomblob(i % 100)), '{{}}', i FROM n",
            messages()
        ),
    )
    .await;
    // Texts that earlier versions may have stored.
    run(&mut connection, "UPDATE messages SET text = 'a' || char(0) || 'b' WHERE text LIKE 'message 1 %'")
        .await;
    run(&mut connection, "UPDATE messages SET text = CAST(X'61ff62' AS TEXT) WHERE text LIKE 'message 2 %'")
        .await;
    // A conversation whose row is before that of its parent.
    run(&mut connection, &format!("INSERT INTO chats SELECT '{}', user_id, title, runner, created_at_ms, updated_at_ms, cwd, approval, model, id, memory, is_copying FROM chats LIMIT 1", "0".repeat(32))).await;
}

/// The whole content of a file: each value with its type, in order, and the last ids assigned.
async fn contents(path: &Path) -> Vec<String> {
    let mut connection = raw(path).await;
    let tables: Vec<String> = sqlx::query_scalar(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE '_sqlx%' AND name <> 'sqlite_sequence'
           AND name NOT LIKE 'search\\_%' ESCAPE '\\' ORDER BY name",
    )
    .fetch_all(&mut connection)
    .await
    .unwrap();
    let mut contents = Vec::new();
    for table in tables.iter().map(String::as_str).chain(["sqlite_sequence"]) {
        let columns: Vec<String> = sqlx::query_scalar("SELECT name FROM pragma_table_info($1)")
            .bind(table)
            .fetch_all(&mut connection)
            .await
            .unwrap();
        let quoted =
            columns.iter().map(|column| format!("quote({column})")).collect::<Vec<_>>().join(" || ',' || ");
        let rows = format!("SELECT '{table}: ' || {quoted} FROM {table} ORDER BY 1");
        for row in sqlx::query(AssertSqlSafe(rows)).fetch_all(&mut connection).await.unwrap() {
            assert!(!row.try_get_raw(0).unwrap().is_null(), "{table}");
            contents.push(String::from_utf8_lossy(&row.get_unchecked::<Vec<u8>, _>(0)).into_owned());
        }
    }
    contents
}

#[tokio::test]
async fn a_copy_there_and_back_is_equal_and_its_source_says_where_it_went() {
    let folder = tempfile::tempdir().unwrap();
    let (before, back) = (folder.path().join("before.db"), folder.path().join("back.db"));
    filled(&before).await;
    // The target's tables exist, but are empty.
    let url = postgres_url();
    let there = copy(&file(&before), &postgres(&url), None).await.unwrap();
    assert_eq!(there.replaced, 2);
    let counted = |name: &str| there.tables.iter().find(|(table, _)| table == name).unwrap().1;
    assert_eq!((counted("users"), counted("chats")), (2, 2));
    assert_eq!(counted("messages"), messages().unsigned_abs() + 1);
    for place in [file(&before), postgres(&url)] {
        match Store::at(&place).await {
            Ok(store) => {
                assert_eq!(place, postgres(&url), "the source refers to its copy");
                let ann = store.users().await.unwrap()[0].id;
                assert_eq!(store.chats(ann, 9).await.unwrap()[0].title, "ä ☃ first");
                store.close().await;
            }
            Err(error) => {
                assert!(matches!(&error, Error::Moved { to } if *to == postgres(&url).to_string()), "{error}")
            }
        }
    }
    let again = copy(&postgres(&url), &file(&back), None).await.unwrap();
    assert_eq!((again.tables, again.replaced), (there.tables, 0));
    assert!(matches!(Store::at(&postgres(&url)).await.unwrap_err(), Error::Moved { .. }));
    let mut expected = contents(&before).await;
    expected.retain(|row| !row.starts_with("server_settings: 'store.moved_to'"));
    let mut found = contents(&back).await;
    for row in expected.iter_mut().chain(&mut found) {
        // The two texts that were replaced differ, as intended.
        if ["messages: 2,", "messages: 3,"].iter().any(|start| row.starts_with(start)) {
            row.truncate("messages: 2,".len());
        }
    }
    expected.sort();
    found.sort();
    assert_eq!(expected.len(), found.len());
    for (expected, found) in expected.iter().zip(&found) {
        assert_eq!(expected, found);
    }
    let store = Store::at(&file(&back)).await.unwrap();
    assert_eq!(add_user(&store, "new").await.id.0, 4, "no id is assigned twice");
}

#[tokio::test]
async fn an_id_that_was_given_before_a_copy_is_not_given_after_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    filled(&path).await;
    let url = postgres_url();
    copy(&file(&path), &postgres(&url), None).await.unwrap();
    let store = Store::connect(&url).await.unwrap();
    assert_eq!(add_user(&store, "new").await.id.0, 4, "3 was the id of the deleted user");
}

#[tokio::test]
async fn what_is_not_fit_for_a_copy_is_refused_and_nothing_is_copied() {
    let folder = tempfile::tempdir().unwrap();
    let (path, other) = (folder.path().join("store.db"), folder.path().join("other.db"));
    filled(&path).await;
    filled(&other).await;
    let (full, empty) = (postgres_url(), postgres_url());
    let store = Store::connect(&full).await.unwrap();
    add_user(&store, "ann").await;
    store.close().await;
    let missing = folder.path().join("missing.db");
    for (from, to, words) in [
        (file(&path), postgres(&full), "is not empty"),
        (postgres(&full), file(&other), "is not empty"),
        (file(&path), file(&other), "sandbridge backup"),
        (postgres(&full), postgres(&empty), "pg_dump"),
        (file(&missing), postgres(&empty), "there is no database"),
    ] {
        let error = copy(&from, &to, None).await.unwrap_err();
        assert!(matches!(error, Error::Copy { .. }) && error.to_string().contains(words), "{error}");
        assert!(from == file(&missing) || Store::at(&from).await.is_ok(), "it is not marked");
    }
    assert!(!missing.exists());
    let newer = "UPDATE _sqlx_migrations SET version = 9999 WHERE version = (SELECT MAX(version) FROM _sqlx_migrations)";
    run(&mut raw(&other).await, newer).await;
    let error = copy(&file(&other), &postgres(&empty), None).await.unwrap_err();
    assert!(matches!(error, Error::NewerSchema { .. }), "{error}");
    let error = copy(&postgres(&full), &file(&other), None).await.unwrap_err();
    assert!(matches!(error, Error::NewerSchema { .. }), "{error}");
    let store = Store::at(&postgres(&empty)).await.unwrap();
    assert!(!store.has_users().await.unwrap());
}
