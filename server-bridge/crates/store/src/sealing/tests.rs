use std::path::Path;

use super::*;
use crate::sql::{Scope, query, query_scalar};
use crate::subscriptions::place;
use crate::{KeyChange, Name};

fn file(byte: u8) -> EncryptionKey {
    EncryptionKey::File([byte; 32])
}

fn text(text: &str) -> EncryptionKey {
    EncryptionKey::Passphrase(text.to_owned())
}

async fn open(path: &Path) -> Store {
    Store::open(path).await.unwrap()
}

async fn unlocked(path: &Path, key: &EncryptionKey) -> Store {
    open(path).await.unlock(key, None, LostKeys::Refuse).await.unwrap().0
}

/// Creates a database with one user and these models, whose keys are stored as given.
async fn database(path: &Path, models: &[(&str, &str)]) -> UserId {
    let store = open(path).await;
    let user = store.add_user(&Name::parse("ada").unwrap(), "correct horse", false).await.unwrap().id;
    for (name, key) in models {
        store.add_subscription(user, &Name::parse(name).unwrap(), "{}", None).await.unwrap();
        put(&store, name, key).await;
    }
    store.close().await;
    user
}

async fn put(store: &Store, name: &str, key: &str) {
    let set = query("UPDATE subscriptions SET key_sealed = $1 WHERE name = $2");
    set.bind(key).bind(name).execute(store.database.writer(Scope::System)).await.unwrap();
}

async fn lies(store: &Store, name: &str) -> Option<String> {
    let found = query_scalar("SELECT key_sealed FROM subscriptions WHERE name = $1");
    found.bind(name).fetch_one(store.database.latest()).await.unwrap()
}

/// Seals a secret with a text, as versions up to 0.1.0 did.
fn sealed_by_text(by: &str, place: &str, secret: &str) -> String {
    let sealed = text(by).cipher_of_text().unwrap().seal(place, secret).unwrap();
    sealed.replace("aes-256-gcm-2:", "aes-256-gcm:")
}

/// True if the file, or its log, contains these bytes anywhere.
fn is_in_the_file(path: &Path, secret: &str) -> bool {
    let log = format!("{}-wal", path.display());
    [path, Path::new(&log)].iter().any(|file| {
        let bytes = std::fs::read(file).unwrap_or_default();
        bytes.windows(secret.len()).any(|window| window == secret.as_bytes())
    })
}

#[tokio::test]
async fn keys_that_lay_plain_are_sealed_and_leave_no_trace_in_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    let user = database(&path, &[("mine", "plain:sk-first-secret")]).await;
    // This key was replaced earlier, but its bytes are still in the file.
    let store = open(&path).await;
    put(&store, "mine", &format!("plain:sk-{}", "x".repeat(3000))).await;
    put(&store, "mine", "plain:sk-second-secret").await;
    store.close().await;
    assert!(is_in_the_file(&path, "sk-second-secret"));
    let (store, done) = open(&path).await.unlock(&file(1), None, LostKeys::Refuse).await.unwrap();
    assert_eq!(done, Unlocked { sealed: 1, forgotten: 0 });
    assert_eq!(store.subscription_key(user, "mine").await.unwrap().as_deref(), Some("sk-second-secret"));
    for secret in ["sk-first-secret", "sk-second-secret", "sk-xxxx", "plain:"] {
        assert!(!is_in_the_file(&path, secret), "{secret}");
    }
    store.change_subscription(user, "mine", "{}", KeyChange::Set("sk-third-secret")).await.unwrap();
    assert!(!is_in_the_file(&path, "sk-third-secret"));
    store.close().await;
    let (store, done) = open(&path).await.unlock(&file(1), None, LostKeys::Refuse).await.unwrap();
    assert_eq!(done, Unlocked::default(), "the second start finds all sealed");
    assert_eq!(store.subscription_key(user, "mine").await.unwrap().as_deref(), Some("sk-third-secret"));
}

#[tokio::test]
async fn scrubbing_that_was_interrupted_is_done_at_the_next_start() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    database(&path, &[("mine", "plain:sk-secret")]).await;
    let store = open(&path).await;
    // The state after a start that was killed after its commit.
    begin(&mut store.database.write(Scope::System).await.unwrap(), &file(1), 0).await.unwrap();
    let mut change = store.database.write(Scope::System).await.unwrap();
    let sealer = begin(&mut change, &file(1), 0).await.unwrap();
    seal_all(&mut change, &file(1), &sealer, false, None, LostKeys::Refuse).await.unwrap();
    query("UPDATE sealing SET is_scrubbed = FALSE").execute(&mut change).await.unwrap();
    change.commit().await.unwrap();
    store.close().await;
    let store = unlocked(&path, &file(1)).await;
    assert!(!is_in_the_file(&path, "sk-secret"));
    let is_scrubbed: bool =
        query_scalar("SELECT is_scrubbed FROM sealing").fetch_one(store.database.latest()).await.unwrap();
    assert!(is_scrubbed);
}

#[tokio::test]
async fn what_earlier_versions_sealed_with_a_text_is_sealed_anew() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    let user = database(&path, &[("mine", "plain:")]).await;
    let store = open(&path).await;
    let old = sealed_by_text("a long random text", &place(user, "mine"), "sk-old");
    put(&store, "mine", &old).await;
    assert_eq!(store.sealed_with().await.unwrap(), SealedWith::Passphrase);
    // A wrong text or a key file cannot open the secret, and does not damage it.
    for wrong in [text("another long text"), file(1)] {
        let error = store.clone().unlock(&wrong, None, LostKeys::Refuse).await.unwrap_err();
        assert!(matches!(error, Error::EncryptionKey { keys: 1 }), "{error}");
        assert_eq!(lies(&store, "mine").await.as_deref(), Some(old.as_str()));
    }
    let (store, done) = store.unlock(&text("a long random text\n"), None, LostKeys::Refuse).await.unwrap();
    assert_eq!(done.sealed, 1);
    assert!(lies(&store, "mine").await.unwrap().starts_with("aes-256-gcm-2:"));
    assert_eq!(store.subscription_key(user, "mine").await.unwrap().as_deref(), Some("sk-old"));
    assert_eq!(store.sealed_with().await.unwrap(), SealedWith::Passphrase);
}

#[tokio::test]
async fn a_wrong_key_is_refused_at_the_start_and_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    let user = database(&path, &[("mine", "plain:sk-one"), ("other", "plain:sk-two")]).await;
    unlocked(&path, &text("the right passphrase")).await.close().await;
    for wrong in [text("the wrong passphrase"), text(""), file(0), file(9)] {
        let error = open(&path).await.unlock(&wrong, Some(&file(3)), LostKeys::Refuse).await.unwrap_err();
        assert!(matches!(error, Error::EncryptionKey { keys: 2 }) && !error.is_callers(), "{error}");
        assert!(error.to_string().contains("--forget-sealed-keys"), "{error}");
    }
    let store = unlocked(&path, &text("the right passphrase")).await;
    assert_eq!(store.subscription_key(user, "other").await.unwrap().as_deref(), Some("sk-two"));
}

#[tokio::test]
async fn a_change_of_the_key_is_whole_or_does_not_happen() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    let user = database(&path, &[("mine", "plain:sk-one"), ("other", "plain:")]).await;
    let store = open(&path).await;
    put(&store, "other", &sealed_by_text("a text that is gone", &place(user, "other"), "sk-two")).await;
    // The first row could be sealed, but the second cannot be opened: so the first stays as it was, and no key is recorded.
    let error = store.clone().unlock(&file(1), None, LostKeys::Refuse).await.unwrap_err();
    assert!(matches!(error, Error::EncryptionKey { keys: 1 }), "{error}");
    assert_eq!(lies(&store, "mine").await.as_deref(), Some("plain:sk-one"));
    let known: i64 =
        query_scalar("SELECT COUNT(*) FROM sealing").fetch_one(store.database.latest()).await.unwrap();
    assert_eq!(known, 0);
    let (store, done) = store.unlock(&file(1), None, LostKeys::Forget).await.unwrap();
    assert_eq!(done, Unlocked { sealed: 1, forgotten: 1 });
    assert_eq!(store.subscription_key(user, "mine").await.unwrap().as_deref(), Some("sk-one"));
    assert_eq!(store.subscription_key(user, "other").await.unwrap(), None);
}

#[tokio::test]
async fn a_passphrase_takes_over_what_the_key_file_sealed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    let user = database(&path, &[("mine", "plain:sk-one")]).await;
    let store = unlocked(&path, &file(1)).await;
    assert_eq!(store.sealed_with().await.unwrap(), SealedWith::File);
    let passphrase = text("from now on this one");
    assert!(store.clone().unlock(&passphrase, Some(&file(2)), LostKeys::Refuse).await.is_err());
    let (store, done) = store.unlock(&passphrase, Some(&file(1)), LostKeys::Refuse).await.unwrap();
    assert_eq!(done.sealed, 1);
    assert_eq!(store.subscription_key(user, "mine").await.unwrap().as_deref(), Some("sk-one"));
    assert!(store.clone().unlock(&file(1), None, LostKeys::Refuse).await.is_err());
    let again = store.unlock(&passphrase, None, LostKeys::Refuse).await.unwrap();
    assert_eq!(again.1, Unlocked::default());
}

#[tokio::test]
async fn where_nothing_is_sealed_any_key_begins() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    let user = database(&path, &[]).await;
    unlocked(&path, &file(1)).await.close().await;
    let store = unlocked(&path, &file(2)).await;
    assert_eq!(store.sealed_with().await.unwrap(), SealedWith::Nothing);
    let name = Name::parse("mine").unwrap();
    store.add_subscription(user, &name, "{}", Some("sk-one")).await.unwrap();
    store.close().await;
    assert!(open(&path).await.unlock(&file(1), None, LostKeys::Refuse).await.is_err());
}

#[tokio::test]
async fn a_key_that_was_moved_to_another_model_or_changed_does_not_open() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    let user = database(&path, &[("mine", "plain:sk-one"), ("other", "plain:sk-two")]).await;
    let store = unlocked(&path, &file(1)).await;
    let sealed = lies(&store, "mine").await.unwrap();
    put(&store, "other", &sealed).await;
    assert!(matches!(store.subscription_key(user, "other").await, Err(Error::Sealed)));
    assert_eq!(store.subscription_key(user, "mine").await.unwrap().as_deref(), Some("sk-one"));
    for broken in [&sealed[..sealed.len() - 4], "aes-256-gcm-2:", "plain:sk-planted", ""] {
        put(&store, "other", broken).await;
        assert!(matches!(store.subscription_key(user, "other").await, Err(Error::Sealed)), "{broken}");
    }
    let eve = store.add_user(&Name::parse("eve").unwrap(), "correct horse", false).await.unwrap().id;
    store.add_subscription(eve, &Name::parse("hers").unwrap(), "{}", None).await.unwrap();
    put(&store, "hers", &sealed).await;
    assert!(matches!(store.subscription_key(eve, "hers").await, Err(Error::Sealed)));
}

#[tokio::test]
async fn a_store_that_is_locked_takes_and_gives_no_key() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    let user = database(&path, &[("mine", "plain:sk-one")]).await;
    let store = open(&path).await;
    let name = Name::parse("other").unwrap();
    let added = store.add_subscription(user, &name, "{}", Some("sk-two")).await;
    assert!(matches!(added, Err(Error::Locked)), "{added:?}");
    assert!(matches!(store.subscription_key(user, "mine").await, Err(Error::Locked)));
    store.add_subscription(user, &name, "{}", None).await.unwrap();
    assert_eq!(store.subscription_key(user, "other").await.unwrap(), None);
}
