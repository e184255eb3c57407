//! The database file: its mode, its schema, and several processes at once.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use sqlx::Connection;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use store::{AuditEntry, Error, MessageRole, RunnerName, Store};
use tempfile::TempDir;

use crate::support::{PASSWORD, add_user};

/// The environment variable with the file to which the child process of `another_process_writes_at_the_same_time` writes.
const CHILD_DATABASE: &str = "STORE_TEST_CHILD_DATABASE";
/// The number of entries that the child writes; the parent writes until the child is done.
const CHILD_ENTRIES: i64 = 200;

fn folder() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    (folder, path)
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

async fn raw(path: &Path) -> SqliteConnection {
    SqliteConnection::connect_with(&SqliteConnectOptions::new().filename(path)).await.unwrap()
}

async fn write_entry(store: &Store, who: &str) {
    store.append_audit(&AuditEntry { user: Some(who.to_owned()), ..AuditEntry::default() }).await.unwrap();
}

async fn entries_by(path: &Path, who: &str) -> i64 {
    sqlx::query_scalar("SELECT COUNT(*) FROM audit WHERE user_name = $1")
        .bind(who)
        .fetch_one(&mut raw(path).await)
        .await
        .unwrap()
}

#[tokio::test]
async fn the_file_and_its_companions_are_for_their_owner_only() {
    let (_folder, path) = folder();
    let store = Store::open(&path).await.unwrap();
    add_user(&store, "ann").await;
    for suffix in ["", "-wal", "-shm"] {
        let file = PathBuf::from(format!("{}{suffix}", path.display()));
        assert_eq!(mode(&file), 0o600, "{}", file.display());
    }
}

#[tokio::test]
async fn a_file_open_to_others_is_closed_to_them() {
    let (_folder, path) = folder();
    Store::open(&path).await.unwrap().close().await;
    fs::set_permissions(&path, Permissions::from_mode(0o664)).unwrap();
    let _store = Store::open(&path).await.unwrap();
    assert_eq!(mode(&path), 0o600);
}

#[tokio::test]
async fn what_was_written_is_there_after_opening_again() {
    let (_folder, path) = folder();
    let store = Store::open(&path).await.unwrap();
    let ann = add_user(&store, "ann").await;
    let laptop = store.add_runner(ann.id, &RunnerName::parse("laptop").unwrap()).await.unwrap();
    assert_eq!(store.record_registration(laptop.runner, "{}").await.unwrap(), 1);
    store.close().await;
    let store = Store::open(&path).await.unwrap();
    assert_eq!(store.users().await.unwrap(), [ann]);
    assert_eq!(store.record_registration(laptop.runner, "{}").await.unwrap(), 2);
}

#[tokio::test]
async fn no_secret_is_readable_in_the_file() {
    let (_folder, path) = folder();
    let store = Store::open(&path).await.unwrap();
    let ann = add_user(&store, "ann").await;
    let session = store.create_session(ann.id).await.unwrap().token;
    let runner = store.add_runner(ann.id, &RunnerName::parse("laptop").unwrap()).await.unwrap().token;
    store.close().await;
    let bytes = fs::read(&path).unwrap();
    for secret in [PASSWORD, session.expose(), runner.expose()] {
        assert!(!bytes.windows(secret.len()).any(|window| window == secret.as_bytes()));
    }
}

#[tokio::test]
async fn a_newer_schema_is_refused_with_what_to_do() {
    let (_folder, path) = folder();
    Store::open(&path).await.unwrap().close().await;
    let mut connection = raw(&path).await;
    sqlx::query(
        "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
         VALUES (9999, 'later', TRUE, X'00', 0)",
    )
    .execute(&mut connection)
    .await
    .unwrap();
    connection.close().await.unwrap();
    let error = Store::open(&path).await.unwrap_err();
    assert!(matches!(error, Error::NewerSchema { found: 9999, .. }), "{error}");
    assert!(!error.is_callers());
    assert!(error.to_string().contains("run the newer version"), "{error}");
}

#[tokio::test]
async fn what_is_no_database_is_an_error_and_left_as_it_is() {
    let (folder, path) = folder();
    fs::write(&path, "this is a letter, not a database; ".repeat(100)).unwrap();
    assert!(matches!(Store::open(&path).await, Err(Error::Database(_))));
    assert!(fs::read_to_string(&path).unwrap().starts_with("this is a letter"));
    let missing = folder.path().join("missing/store.db");
    let error = Store::open(&missing).await.unwrap_err();
    assert!(matches!(error, Error::Open { .. }), "{error}");
    assert!(error.to_string().contains("missing/store.db"), "{error}");
    assert!(matches!(Store::open(folder.path()).await, Err(Error::Open { .. })));
}

#[tokio::test]
async fn two_stores_in_memory_are_two_stores() {
    let (first, second) = (Store::open_in_memory().await.unwrap(), Store::open_in_memory().await.unwrap());
    add_user(&first, "ann").await;
    assert!(second.users().await.unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_who_open_a_new_file_at_once_all_succeed() {
    for _ in 0..5 {
        let (_folder, path) = folder();
        let openers: Vec<_> = (0..8)
            .map(|_| {
                let path = path.clone();
                tokio::spawn(async move { Store::open(&path).await })
            })
            .collect();
        for opener in openers {
            opener.await.unwrap().unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_users_added_at_once_through_two_stores_exactly_one_is_first() {
    let (_folder, path) = folder();
    let stores = [Store::open(&path).await.unwrap(), Store::open(&path).await.unwrap()];
    let additions: Vec<_> = (0..6)
        .map(|number| {
            let store = stores[number % 2].clone();
            tokio::spawn(async move { add_user(&store, &format!("user{number}")).await.admin })
        })
        .collect();
    let mut administrators = 0;
    for addition in additions {
        administrators += usize::from(addition.await.unwrap());
    }
    assert_eq!(administrators, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_stores_write_and_read_one_file_at_once() {
    let (_folder, path) = folder();
    let stores = [Store::open(&path).await.unwrap(), Store::open(&path).await.unwrap()];
    let ann = add_user(&stores[0], "ann").await.id;
    let chat = stores[0].create_chat(ann).await.unwrap().id;
    let writers: Vec<_> = (0..8)
        .map(|number| {
            let (store, chat) = (stores[number % 2].clone(), chat.clone());
            tokio::spawn(async move {
                for _ in 0..50 {
                    let written =
                        store.append_message(ann, &chat, MessageRole::User, "text", None).await.unwrap();
                    assert_eq!(store.message(ann, written.id).await.unwrap(), written);
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
    assert_eq!(stores[1].messages(ann, &chat, None, 1000).await.unwrap().0.len(), 400);
}

#[tokio::test]
async fn another_process_writes_at_the_same_time() {
    if let Some(path) = std::env::var_os(CHILD_DATABASE) {
        let store = Store::open(Path::new(&path)).await.unwrap();
        for _ in 0..CHILD_ENTRIES {
            write_entry(&store, "child").await;
        }
        return;
    }
    let (_folder, path) = folder();
    let store = Store::open(&path).await.unwrap();
    let mut child = tokio::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "database::another_process_writes_at_the_same_time"])
        .env(CHILD_DATABASE, &path)
        .stdout(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let child = tokio::spawn(async move { child.wait().await.unwrap() });
    let mut written = 0;
    while !child.is_finished() {
        write_entry(&store, "parent").await;
        written += 1;
    }
    assert!(child.await.unwrap().success());
    assert_eq!(entries_by(&path, "child").await, CHILD_ENTRIES);
    assert_eq!(entries_by(&path, "parent").await, written);
}
