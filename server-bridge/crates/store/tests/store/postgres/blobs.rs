//! Long values as objects of a real bucket: values can be read back, damage is reported, and unused objects are deleted.

mod faults;
mod sweep;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use s3::{Bucket, Place};
use s3server::{OWNER, S3Server};
use store::limits::BLOB_MIN_BYTES;
use store::{
    Before, ChatId, Clock, Error, Location, MessageRole, PluginFile, PluginRow, Store, TurnId, UserId, copy,
};
use testkit::postgres::Postgres;

use crate::support::{add_user, postgres_url};

/// A database with a bucket, and a user with a chat.
pub(super) struct World {
    pub(super) server: S3Server,
    pub(super) url: String,
    pub(super) store: Store,
    pub(super) ann: UserId,
    pub(super) chat: ChatId,
}

pub(super) async fn world() -> World {
    let (server, url) = (S3Server::start(&["data"]), postgres_url());
    let store = with_bucket(&server, &url).await;
    let ann = add_user(&store, "ann").await.id;
    let chat = store.create_chat(ann).await.unwrap().id;
    World { server, url, store, ann, chat }
}

/// A separate store of this database, as in another process.
pub(super) async fn with_bucket(server: &S3Server, url: &str) -> Store {
    let store = Store::connect(url).await.unwrap();
    store.with_blobs(&bucket(server, "s3://data/long", OWNER)).await.unwrap()
}

pub(super) fn bucket(server: &S3Server, text: &str, credentials: (&str, &str)) -> Bucket {
    // Another test may have installed it first.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let variables = server.variables(credentials);
    let variable =
        |name: &str| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| value.clone());
    Bucket::new(Place::parse(text, variable).unwrap()).unwrap()
}

/// The keys of all objects with values.
pub(super) fn keys(server: &S3Server) -> Vec<String> {
    server.keys("data").into_iter().filter(|key| !key.ends_with("/marker")).collect()
}

/// The result of a statement, as text.
pub(super) fn ask(url: &str, statement: &str) -> String {
    let database = url.rsplit('/').find(|part| part.contains("?host=")).unwrap();
    Postgres::shared().ask(database.split('?').next().unwrap(), statement).trim().to_owned()
}

/// Non-repeating bytes of this length that begin with this word.
pub(super) fn long(word: &str, length: usize) -> Vec<u8> {
    word.bytes()
        .chain((0..).map(|at: u32| b"abcdefghijklmnopqrstuvw"[at as usize % 23]))
        .take(length)
        .collect()
}

pub(super) fn text(word: &str, length: usize) -> String {
    String::from_utf8(long(word, length)).unwrap()
}

/// A clock that is ahead of the real one by an amount that the test controls.
#[derive(Clone, Default)]
pub(super) struct Ahead(Arc<AtomicI64>);

impl Ahead {
    pub(super) fn advance(&self, milliseconds: i64) {
        self.0.fetch_add(milliseconds, Ordering::SeqCst);
    }

    pub(super) fn clock(&self) -> Clock {
        let ahead = Arc::clone(&self.0);
        Clock::from_fn(move || {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
            i64::try_from(now.as_millis()).unwrap() + ahead.load(Ordering::SeqCst)
        })
    }
}

impl World {
    pub(super) async fn turn(&self) -> TurnId {
        let said =
            self.store.append_message(self.ann, &self.chat, MessageRole::User, "do", None).await.unwrap();
        self.store.queue_turn(self.ann, &self.chat, None, said.id, "{}").await.unwrap()
    }

    pub(super) fn keys(&self) -> Vec<String> {
        keys(&self.server)
    }

    /// A store of the same database with another clock.
    pub(super) fn at(&self, clock: Clock) -> Store {
        self.store.clone().with_clock(clock)
    }
}

pub(super) fn plugin(name: &str) -> PluginRow {
    PluginRow {
        name: name.to_owned(),
        hash: "h1".to_owned(),
        version: String::new(),
        source: String::new(),
        is_enabled: true,
        is_shared: false,
        installed_at_ms: 0,
    }
}

pub(super) fn file(path: &str, content: Vec<u8>) -> PluginFile {
    PluginFile { path: path.to_owned(), is_executable: false, content }
}

#[tokio::test]
async fn long_values_are_objects_and_short_ones_stay_in_their_rows() {
    let world = world().await;
    let World { store, ann, chat, url, .. } = &world;
    let (ann, turn) = (*ann, world.turn().await);
    let short = text("short", BLOB_MIN_BYTES);
    // Values that were written without a bucket stay in their rows.
    let earlier = text("earlier", 2 * BLOB_MIN_BYTES);
    let plain = Store::connect(url).await.unwrap();
    plain.put_offload(ann, chat, "earlier", &earlier, None).await.unwrap();
    store.put_offload(ann, chat, "short", &short, None).await.unwrap();
    assert_eq!(world.keys(), [""; 0]);

    let whole = format!("{}\0ä", text("whole", BLOB_MIN_BYTES));
    store.put_offload(ann, chat, "whole", &whole, None).await.unwrap();
    assert_eq!(world.keys().len(), 1);
    let content = long("content", 16 * 1024 * 1024);
    let before = Before::Content { mode: 0o644, content: &content };
    store.keep_checkpoint(ann, chat, turn, "laptop", "a", before).await.unwrap();
    let files =
        [file("a", long("content", 9)), file("b", content.clone()), file("c", long("c", BLOB_MIN_BYTES + 1))];
    store.put_plugin(ann, &plugin("lint"), &files).await.unwrap();
    let keys = world.keys();
    assert_eq!(keys.len(), 3, "equal values share one object: {keys:?}");
    let id = ask(url, "SELECT value FROM server_settings WHERE name = 'store.blobs_id'");
    for key in &keys {
        let name = key.strip_prefix(&format!("long/{id}/")).unwrap();
        assert_eq!(
            ask(
                url,
                &format!("SELECT COUNT(*) FROM blobs WHERE object = '{name}' AND object LIKE sha256 || '-%'")
            ),
            "1"
        );
    }
    for (rows, named) in [
        ("SELECT COUNT(*) FROM offloads WHERE text IS NULL", "1"),
        ("SELECT COUNT(*) FROM checkpoint_contents WHERE content IS NULL", "1"),
        ("SELECT COUNT(*) FROM plugin_files WHERE content IS NULL", "2"),
        (
            "SELECT SUM(size_bytes) FROM blobs",
            &(16 * 1024 * 1024 + 2 * BLOB_MIN_BYTES + 1 + "\u{2400}ä".len()).to_string(),
        ),
    ] {
        assert_eq!(ask(url, rows), named, "{rows}");
    }

    let fork = store.fork_chat(ann, chat, None).await.unwrap().id;
    for chat in [chat, &fork] {
        for (id, expected) in
            [("short", &short), ("earlier", &earlier), ("whole", &whole.replace('\0', "\u{2400}"))]
        {
            assert!(store.offload(ann, chat, id).await.unwrap().unwrap().text == *expected, "{id}");
        }
    }
    let sha256 = store.checkpoints(ann, chat, turn).await.unwrap()[0].sha256.clone().unwrap();
    assert!(store.checkpoint_content(ann, chat, &sha256).await.unwrap().unwrap() == content);
    assert!(store.plugin_files(ann, "lint", "h1").await.unwrap() == files);
    assert_eq!(world.keys(), keys, "a copy of a chat names the same object");

    // The limit on a user's plugins includes values in the bucket.
    let many: Vec<_> = (0..15).map(|at| file(&at.to_string(), content.clone())).collect();
    let refused = store.put_plugin(ann, &plugin("more"), &many).await.unwrap_err();
    assert!(matches!(&refused, Error::Invalid { what: "plugin", .. }), "{refused}");
    assert!(store.put_plugin(ann, &plugin("more"), &many[..14]).await.is_ok());
}

#[tokio::test]
async fn a_server_without_the_bucket_names_the_flag_and_reads_what_is_in_the_rows() {
    let world = world().await;
    let World { store, ann, chat, url, .. } = &world;
    assert!(!store.lacks_blobs().await.unwrap());
    let plain = Store::connect(url).await.unwrap();
    assert!(!plain.lacks_blobs().await.unwrap(), "nothing is in the bucket yet");
    store.put_offload(*ann, chat, "whole", &text("whole", BLOB_MIN_BYTES + 1), None).await.unwrap();
    store.put_offload(*ann, chat, "short", "short", None).await.unwrap();
    assert!(plain.lacks_blobs().await.unwrap());
    let error = plain.offload(*ann, chat, "whole").await.unwrap_err();
    assert!(matches!(&error, Error::NoBlobs { .. }) && error.to_string().contains("--blobs"), "{error}");
    assert_eq!((error.kind(), error.is_away()), ("internal", false));
    assert!(error.shown().contains("object store"), "{}", error.shown());
    assert_eq!(plain.offload(*ann, chat, "short").await.unwrap().unwrap().text, "short");
    let fork = plain.fork_chat(*ann, chat, None).await.unwrap().id;
    assert_eq!(store.offload(*ann, &fork, "whole").await.unwrap().unwrap().text.len(), BLOB_MIN_BYTES + 1);
}

#[tokio::test]
async fn a_copy_to_a_file_takes_the_objects_along_or_names_the_flag() {
    let world = world().await;
    let World { server, store, ann, chat, url, .. } = &world;
    let (whole, turn) = (text("whole ä", 3 * BLOB_MIN_BYTES), world.turn().await);
    store.put_offload(*ann, chat, "whole", &whole, None).await.unwrap();
    let before = Before::Content { mode: 0o644, content: whole.as_bytes() };
    store.keep_checkpoint(*ann, chat, turn, "laptop", "a", before).await.unwrap();
    let files = [file("a", long("a", BLOB_MIN_BYTES + 1))];
    store.put_plugin(*ann, &plugin("lint"), &files).await.unwrap();
    store.close().await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let (from, to) = (Location::parse(url).unwrap(), Location::File(path.clone()));
    let error = copy(&from, &to, None).await.unwrap_err();
    assert!(matches!(&error, Error::Copy { why } if why.contains("--blobs")), "{error}");
    let elsewhere = bucket(server, "s3://data/elsewhere", OWNER);
    let error = copy(&from, &to, Some(&elsewhere)).await.unwrap_err();
    assert!(matches!(&error, Error::BlobLost { .. }), "{error}");
    let copied = copy(&from, &to, Some(&bucket(server, "s3://data/long", OWNER))).await.unwrap();
    assert!(copied.tables.iter().all(|(table, _)| table != "blobs"));
    let store = Store::open(&path).await.unwrap();
    assert_eq!(store.offload(*ann, chat, "whole").await.unwrap().unwrap().text, whole);
    let sha256 = store.checkpoints(*ann, chat, turn).await.unwrap()[0].sha256.clone().unwrap();
    assert!(store.checkpoint_content(*ann, chat, &sha256).await.unwrap().unwrap() == whole.as_bytes());
    assert!(store.plugin_files(*ann, "lint", "h1").await.unwrap() == files);
    assert!(!store.lacks_blobs().await.unwrap());
    let refused = store.clone().with_blobs(&elsewhere).await.unwrap_err();
    assert!(matches!(refused, Error::Invalid { what: "database", .. }), "{refused}");
    store.close().await;
    // The file can be copied back to a database, whose objects then get a new prefix.
    let again = postgres_url();
    copy(&to, &Location::parse(&again).unwrap(), None).await.unwrap();
    let store = with_bucket(server, &again).await;
    assert_eq!(store.offload(*ann, chat, "whole").await.unwrap().unwrap().text, whole);
    let ids =
        [url, &again].map(|url| ask(url, "SELECT value FROM server_settings WHERE name = 'store.blobs_id'"));
    assert!(ids[0] != ids[1] && ids.iter().all(|id| id.len() == 32), "{ids:?}");
}

/// The time limit for noticing an outage, or its end, on a busy machine.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);
