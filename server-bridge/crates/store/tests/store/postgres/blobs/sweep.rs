//! The sweep deletes objects that no row names, and never one that a row names.

use std::process::Stdio;

use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, Executor};
use store::limits::{BLOB_AGE_MS, BLOB_LIST_EVERY_MS, BLOB_MIN_BYTES, BLOB_SWEEP_EVERY_MS};
use store::{ChatId, UserId};

use super::super::races::both;
use super::{Ahead, World, ask, text, with_bucket, world};

/// The number of races.
const RACES: usize = 100;
/// Counts the transactions of this database that wait for their lock.
const WAITING: &str = "SELECT COUNT(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";
/// The environment variable with the database, the user and the chat for the child process.
const CHILD: &str = "STORE_TEST_BLOBS_CHILD";

#[tokio::test]
async fn objects_go_when_no_row_has_named_them_for_a_day() {
    let world = world().await;
    let World { ann, chat, .. } = &world;
    let ahead = Ahead::default();
    let store = world.at(ahead.clock());
    let (shared, alone) = (text("shared", BLOB_MIN_BYTES + 1), text("alone", BLOB_MIN_BYTES + 1));
    let other = store.create_chat(*ann).await.unwrap().id;
    for (chat, id, text) in [(chat, "1", &shared), (chat, "2", &alone), (&other, "1", &shared)] {
        store.put_offload(*ann, chat, id, text, None).await.unwrap();
    }
    store.delete_chat(*ann, chat).await.unwrap();
    assert_eq!(
        (store.sweep_blobs().await.unwrap(), world.keys().len()),
        (0, 2),
        "the objects are less than a day old"
    );
    ahead.advance(BLOB_AGE_MS + 60_000);
    assert_eq!((store.sweep_blobs().await.unwrap(), world.keys().len()), (1, 1));
    assert_eq!(store.offload(*ann, &other, "1").await.unwrap().unwrap().text, shared);
    // Each interval has one sweep for all nodes, so none is due now.
    store.delete_chat(*ann, &other).await.unwrap();
    let second = with_bucket(&world.server, &world.url).await.with_clock(ahead.clock());
    assert_eq!(second.sweep_blobs().await.unwrap(), 0);
    ahead.advance(BLOB_SWEEP_EVERY_MS);
    let swept =
        both(&[store.clone(), second], |store| async move { store.sweep_blobs().await.unwrap() }).await;
    assert_eq!((swept[0] + swept[1], world.keys().len()), (1, 0), "{swept:?}");
    assert_eq!(ask(&world.url, "SELECT COUNT(*) FROM blobs"), "0");
}

#[tokio::test]
async fn objects_without_an_entry_go_after_a_day_and_those_of_other_databases_stay() {
    let world = world().await;
    let World { ann, chat, store, .. } = &world;
    let whole = text("whole", BLOB_MIN_BYTES + 1);
    store.put_offload(*ann, chat, "1", &whole, None).await.unwrap();
    let stays = world.keys().remove(0);
    // The state after a sweep during which S3 became unreachable, or in a database that is an older copy.
    let (folder, _) = stays.rsplit_once('/').unwrap();
    world.server.replace("data", &format!("{folder}/0-leftover"), b"leftover");
    world.server.replace("data", "long/stranger", b"another's");
    let ahead = Ahead::default();
    let store = world.at(ahead.clock());
    assert_eq!(
        (store.sweep_blobs().await.unwrap(), world.keys().len()),
        (0, 3),
        "the object is less than a day old"
    );
    ahead.advance(BLOB_LIST_EVERY_MS.max(BLOB_AGE_MS) + 60_000);
    assert_eq!(store.sweep_blobs().await.unwrap(), 1);
    assert_eq!(world.keys(), [stays, "long/stranger".to_owned()]);
    assert_eq!(store.offload(*ann, chat, "1").await.unwrap().unwrap().text, whole);
}

#[tokio::test]
async fn a_sweep_that_loses_the_bucket_is_due_again_and_ends_its_work() {
    let mut world = world().await;
    let ahead = Ahead::default();
    let (store, ann, chat) = (world.at(ahead.clock()), world.ann, world.chat.clone());
    store.put_offload(ann, &chat, "1", &text("whole", BLOB_MIN_BYTES + 1), None).await.unwrap();
    store.delete_chat(ann, &chat).await.unwrap();
    ahead.advance(BLOB_AGE_MS + 60_000);
    world.server.stop();
    assert!(store.sweep_blobs().await.unwrap_err().is_away());
    assert_eq!(ask(&world.url, "SELECT COUNT(*) FROM blobs"), "0", "its entry is deleted before the object");
    world.server.start_again();
    assert_eq!(world.keys().len(), 1);
    assert_eq!((store.sweep_blobs().await.unwrap(), world.keys().len()), (1, 0));
}

/// The sweeper treats each value as a day old, so it races with writers at every moment. A writer may fail then, but a row that was written
/// always has its object.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn writers_and_sweeps_at_once_leave_no_row_without_its_object() {
    let world = world().await;
    let (writers, ahead) =
        ([world.store.clone(), with_bucket(&world.server, &world.url).await], Ahead::default());
    let sweeper = world.at(ahead.clock());
    let end = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let is_over = std::sync::Arc::clone(&end);
    let sweeping = tokio::spawn(async move {
        let mut swept = 0;
        while !is_over.load(std::sync::atomic::Ordering::SeqCst) {
            ahead.advance(BLOB_AGE_MS + 60_000);
            swept += sweeper.sweep_blobs().await.unwrap();
        }
        swept
    });
    let (ann, chat) = (world.ann, world.chat.clone());
    let mut written = 0;
    for race in 0..RACES {
        // Every second race writes the value of the previous race again, while rows that named it are deleted.
        let (value, ids) =
            (text(&(race / 2).to_string(), BLOB_MIN_BYTES + 1), std::sync::atomic::AtomicUsize::new(0));
        let wrote = both(&writers, |store| {
            let id = format!("{race}-{}", ids.fetch_add(1, std::sync::atomic::Ordering::SeqCst));
            let (chat, value) = (chat.clone(), value.clone());
            async move {
                let wrote = store.put_offload(ann, &chat, &id, &value, None).await;
                let is_there = store.offload(ann, &chat, &id).await.unwrap();
                assert_eq!(wrote.is_ok(), is_there.is_some(), "{wrote:?}");
                assert!(is_there.is_none_or(|there| there.text == value), "{id}");
                wrote.is_ok()
            }
        });
        written += wrote.await.iter().filter(|wrote| **wrote).count();
        if race % 3 == 0 {
            ask(&world.url, &format!("DELETE FROM offloads WHERE id LIKE '{race}-%'"));
        }
    }
    end.store(true, std::sync::atomic::Ordering::SeqCst);
    let swept = sweeping.await.unwrap();
    assert!(written > 0 && swept > 0, "{written} written, {swept} swept");
    let kept = ask(&world.url, "SELECT id FROM offloads");
    assert!(!kept.is_empty());
    for id in kept.lines() {
        assert_eq!(
            world.store.offload(ann, &chat, id).await.unwrap().unwrap().text.len(),
            BLOB_MIN_BYTES + 1
        );
    }
}

#[tokio::test]
async fn a_process_that_is_killed_between_an_object_and_its_row_leaves_only_the_object() {
    if let Some(given) = std::env::var_os(CHILD) {
        let given = given.into_string().unwrap();
        let [url, user, chat] = given.split(' ').collect::<Vec<_>>()[..] else { panic!("{given}") };
        let place = s3::Place::parse("s3://data/long", |name| std::env::var(name).ok()).unwrap();
        let _ = rustls::crypto::ring::default_provider().install_default();
        let store = store::Store::connect(url).await.unwrap();
        let store = store.with_blobs(&s3::Bucket::new(place).unwrap()).await.unwrap();
        let (user, chat) = (UserId(user.parse().unwrap()), ChatId::parse(chat).unwrap());
        store.put_offload(user, &chat, "1", &text("whole", BLOB_MIN_BYTES + 1), None).await.unwrap();
        return;
    }
    let world = world().await;
    // The transaction that adds the row waits for its lock.
    let mut other = world.url.parse::<PgConnectOptions>().unwrap().connect().await.unwrap();
    let lock = format!("SELECT pg_advisory_lock({})", world.ann);
    other.execute(AssertSqlSafe(lock)).await.unwrap();
    let mut child = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "postgres::blobs::sweep::a_process_that_is_killed_between_an_object_and_its_row_leaves_only_the_object"])
        .env(CHILD, format!("{} {} {}", world.url, world.ann, world.chat))
        .envs(world.server.variables(s3server::OWNER))
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let is_whole = |key: &String| !key.contains("/check-");
    while !world.keys().iter().any(is_whole) || ask(&world.url, WAITING) == "0" {
        assert!(child.try_wait().unwrap().is_none(), "it ended early");
        tokio::task::yield_now().await;
    }
    child.kill().unwrap();
    child.wait().unwrap();
    other.close().await.unwrap();
    assert_eq!(world.store.offload(world.ann, &world.chat, "1").await.unwrap(), None);
    let ahead = Ahead::default();
    let store = world.at(ahead.clock());
    assert_eq!((store.sweep_blobs().await.unwrap(), world.keys().len()), (0, 1));
    ahead.advance(BLOB_AGE_MS + 60_000);
    assert_eq!((store.sweep_blobs().await.unwrap(), world.keys().len()), (1, 0));
    // The remains of the killed writer do not disturb the next writer.
    store.put_offload(world.ann, &world.chat, "1", &text("whole", BLOB_MIN_BYTES + 1), None).await.unwrap();
}
