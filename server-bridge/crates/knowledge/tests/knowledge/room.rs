//! A disk without room for the index of a document, and documents that are too large or that the store refuses.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use api::knowledge::CollectionDraft;
use bytes::Bytes;
use futures_util::stream;
use knowledge::{Error, Knowledge};
use sqlx::ConnectOptions;
use sqlx::sqlite::SqliteConnectOptions;
use store::{Name, Store, User};
use tokio_util::sync::CancellationToken;

/// The size of the disk of a test, in MiB.
const DISK_MIB: u32 = 48;
/// The piece of an upload, in bytes.
const MIB: usize = 1024 * 1024;
/// The timeout for indexing a document, and for another attempt at it.
const PATIENCE: Duration = Duration::from_secs(90);

fn knowledge(store: &Store) -> Knowledge {
    Knowledge::new(
        store.clone(),
        extract::Extractor::default(),
        Arc::new(|_, _| Box::pin(async { Err("there are no machines".to_owned()) })),
        Arc::new(|_| Box::pin(async { Ok(None) })),
    )
}

async fn user(store: &Store) -> User {
    store.add_user(&Name::parse("ada").unwrap(), "correct horse", false).await.unwrap()
}

async fn manuals(knowledge: &Knowledge, user: &User) {
    let draft = CollectionDraft { name: "manuals".to_owned(), ..CollectionDraft::default() };
    knowledge.add_collection(user, &draft).await.unwrap();
}

async fn add(knowledge: &Knowledge, user: &User, text: &str) -> Result<(), Error> {
    add_named(knowledge, user, "note.txt", text).await
}

async fn add_named(knowledge: &Knowledge, user: &User, name: &str, text: &str) -> Result<(), Error> {
    let content = stream::iter([Ok::<_, ()>(Bytes::from(text.to_owned()))]);
    knowledge.upload(user, "manuals", name, None, content).await.map(drop)
}

/// The number of passages with a word.
async fn found(knowledge: &Knowledge, user: &User, word: &str) -> usize {
    knowledge.find(user, word, None, 10).await.unwrap().passages.len()
}

async fn until(what: &str, holds: impl AsyncFn() -> bool) {
    let looking = async {
        while !holds().await {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(PATIENCE, looking).await.unwrap_or_else(|_| panic!("{what}"));
}

/// A small file system in a directory; it is gone when this is dropped. Mounting needs root, as all tests of disks do.
struct Disk<'a>(&'a Path);

impl<'a> Disk<'a> {
    fn mount(at: &'a Path) -> Self {
        let size = format!("size={DISK_MIB}m");
        let mount = Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(at).status();
        assert!(mount.unwrap().success());
        Self(at)
    }

    /// Writes a file until nothing more fits.
    fn fill(&self) {
        let mut file = File::create(self.0.join("filler")).unwrap();
        for size in [64 * 1024, 4096, 1] {
            let piece = vec![7; size];
            while file.write_all(&piece).is_ok() {}
        }
    }

    fn make_room(&self) {
        std::fs::remove_file(self.0.join("filler")).unwrap();
    }
}

impl Drop for Disk<'_> {
    fn drop(&mut self) {
        let unmounted = Command::new("umount").arg("--lazy").arg(self.0).status();
        assert!(unmounted.unwrap().success());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_keeps_the_old_index_says_why_and_the_new_one_is_made_when_there_is_room() {
    let folder = tempfile::tempdir().unwrap();
    let disk = Disk::mount(folder.path());
    let store = Store::open(&folder.path().join("store.db")).await.unwrap();
    let (knowledge, ada) = (knowledge(&store), user(&store).await);
    manuals(&knowledge, &ada).await;
    add(&knowledge, &ada, "The version before, with zzbeforezz.\n").await.unwrap();
    let run = || {
        let (knowledge, running) = (knowledge.clone(), CancellationToken::new());
        let token = running.clone();
        (tokio::spawn(async move { knowledge.run(token).await }), running)
    };
    let (worker, running) = run();
    until("the first version is indexed", async || found(&knowledge, &ada, "zzbeforezz").await == 1).await;
    running.cancel();
    worker.await.unwrap();
    // The new content arrives, and its index does not fit.
    let long = "A line of the new version, with zzafterzz in it.\n\n".repeat(60_000);
    add(&knowledge, &ada, &long).await.unwrap();
    disk.fill();
    let (worker, running) = run();
    let shown = async || knowledge.collection(&ada, "manuals").await.unwrap();
    until("the reason is said", async || shown().await.waiting_note.contains("disk is full")).await;
    // It is tried again, and the attempts are not counted against the document.
    let seen = shown().await;
    assert_eq!((seen.waiting, seen.failed), (1, 0));
    assert_eq!(found(&knowledge, &ada, "zzbeforezz").await, 1, "the old index answers");
    assert_eq!(found(&knowledge, &ada, "zzafterzz").await, 0);
    // Another upload is refused, with the same reason.
    let refused = add(&knowledge, &ada, &"more ".repeat(6 * MIB)).await.unwrap_err();
    assert!(refused.message().contains("disk is full") && refused.kind() == "unavailable", "{refused}");
    disk.make_room();
    until("the new version is indexed", async || shown().await.waiting == 0).await;
    let seen = shown().await;
    assert_eq!((seen.documents, seen.failed, seen.waiting_note.as_str()), (1, 0, ""));
    assert_eq!(found(&knowledge, &ada, "zzbeforezz").await, 0);
    assert!(found(&knowledge, &ada, "zzafterzz").await > 0);
    running.cancel();
    worker.await.unwrap();
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_document_that_the_store_refuses_fails_after_three_attempts_and_the_next_one_is_indexed() {
    const REFUSING: &str = "CREATE TRIGGER refusing BEFORE INSERT ON document_pages
         WHEN new.text LIKE '%zzrefusedzz%' BEGIN SELECT RAISE(ABORT, 'refused'); END";
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = Store::open(&path).await.unwrap();
    let (knowledge, ada) = (knowledge(&store), user(&store).await);
    manuals(&knowledge, &ada).await;
    let mut raw = SqliteConnectOptions::new().filename(&path).connect().await.unwrap();
    sqlx::query(REFUSING).execute(&mut raw).await.unwrap();
    drop(raw);
    add_named(&knowledge, &ada, "first.txt", "A text with zzrefusedzz.\n").await.unwrap();
    add_named(&knowledge, &ada, "second.txt", "A text with zznextzz.\n").await.unwrap();
    let running = CancellationToken::new();
    let worker = tokio::spawn({
        let (knowledge, token) = (knowledge.clone(), running.clone());
        async move { knowledge.run(token).await }
    });
    let shown = async || knowledge.collection(&ada, "manuals").await.unwrap();
    until("the next one is indexed", async || {
        assert_eq!(shown().await.waiting_note, "", "one document's error does not concern the others");
        found(&knowledge, &ada, "zznextzz").await == 1
    })
    .await;
    let seen = shown().await;
    assert_eq!((seen.waiting, seen.failed), (0, 1));
    let documents = knowledge.documents(&ada, "manuals", "").await.unwrap();
    assert_eq!(documents[0].note, "the server could not do this; its log says why");
    running.cancel();
    worker.await.unwrap();
    store.close().await;
}

#[tokio::test]
async fn an_upload_of_500_mb_is_refused_before_more_than_the_limit_has_arrived() {
    let store = Store::open_in_memory().await.unwrap();
    let (knowledge, ada) = (knowledge(&store), user(&store).await);
    manuals(&knowledge, &ada).await;
    for (length, most_mib) in [(Some(500 * MIB as u64), 0), (None, 65)] {
        let arrived = AtomicUsize::new(0);
        let pieces = (0..500).map(|_| {
            arrived.fetch_add(1, Ordering::Relaxed);
            Ok::<_, ()>(Bytes::from(vec![b'x'; MIB]))
        });
        let refused = knowledge.upload(&ada, "manuals", "large.txt", length, stream::iter(pieces)).await;
        let refused = refused.unwrap_err();
        assert_eq!(refused.message(), "the document is too large: the limit is 64 MiB; split it");
        assert!(arrived.into_inner() <= most_mib, "{length:?}");
        let shown = knowledge.collection(&ada, "manuals").await.unwrap();
        assert_eq!((shown.documents, shown.waiting), (0, 0));
        assert!(store.index_lanes().await.unwrap().is_empty(), "nothing of it is left");
    }
}
