//! `sandbridge backup`: copies the database, whether a server has it open or not, and the encryption key only on request.
//!
//! The copy is written to a file next to its target, checked, and only then moved there: an earlier backup of that name stays
//! until the new one is complete. [`restore`] puts a backup back.

mod files;
pub mod restore;

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use home::Settings;
use serde_json::{Value, json};
use store::{Location, Store};

use crate::config::{DatabaseArgs, database, database_of};
use crate::serve::own_key;
use files::{check_target, with_suffix};

/// The beginning of a database file.
const MAGIC: &[u8] = b"SQLite format 3\0";

/// Copy the database of the server on this machine, which may keep running
#[derive(Debug, clap::Parser)]
pub struct BackupOptions {
    /// The file to write; an earlier backup there is replaced once the new one is complete
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Also copy the server's own encryption key, to FILE.key: anyone who has both can read the keys of users' models
    #[arg(long)]
    with_key: bool,
}

/// Writes the backup; returns its contents, for programs and as text.
///
/// # Errors
/// One line that says what to correct; an earlier backup is unchanged then.
pub fn main(options: &BackupOptions, home: Option<&Path>) -> anyhow::Result<(Value, String)> {
    let home = home::find(home)?;
    refuse_postgres(&home, "pg_dump copies it; after that, copy the bucket of --blobs if there is one")?;
    block_on(run(options, &home))
}

/// Refuses to use the database file if the server of this home has a PostgreSQL database, because its data is there.
fn refuse_postgres(home: &Path, instead: &str) -> anyhow::Result<()> {
    if let Location::Postgres(url) = database_of(home, DatabaseArgs::default(), &Settings::load(home)?)? {
        bail!(
            "the server of {} stores everything in the PostgreSQL database {url}: {instead}; keep a copy of {} too",
            home.display(),
            home::key_file(home).display()
        );
    }
    Ok(())
}

fn block_on<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")?
        .block_on(work)
}

async fn run(options: &BackupOptions, home: &Path) -> anyhow::Result<(Value, String)> {
    let (from, key) = (database(home), home::key_file(home));
    if !from.is_file() {
        bail!("there is no database at {}; pass --home DIR", from.display());
    }
    let key_copy = options.with_key.then(|| with_suffix(&options.file, ".key"));
    if options.with_key && !key.is_file() {
        bail!(
            "there is no {}: the server was given its encryption key, so keep that one yourself and leave out --with-key",
            key.display()
        );
    }
    let file = &options.file;
    if is_same(&from, file) {
        bail!("{} is the database itself; name another file", file.display());
    }
    check_target(file, MAGIC)?;
    let copied_key = match &key_copy {
        Some(copy) => {
            check_target(copy, own_key::PREFIX.as_bytes())?;
            Some(files::copy(&key, copy)?)
        }
        None => None,
    };
    let copied = files::create(file)?;
    copy(&from, copied.path()).await.with_context(|| format!("cannot write {}", file.display()))?;
    files::commit(copied_key.into_iter().chain([copied]))?;
    let words = match &key_copy {
        Some(copy) => format!(
            "backed up to {}, with the encryption key in {}: anyone who has both can read the keys of users' models",
            file.display(),
            copy.display()
        ),
        None => format!(
            "backed up to {}, without the encryption key: the keys of users' models can be decrypted only with this server's key",
            file.display()
        ),
    };
    Ok((json!({"file": file, "key": key_copy}), words))
}

/// Copies the database and verifies the copy.
async fn copy(from: &Path, file: &Path) -> anyhow::Result<()> {
    let store = Store::open(from).await?;
    let copied = store.back_up(file).await;
    store.close().await;
    copied?;
    Ok(store::check_backup(file).await?)
}

/// True if both paths lead to the same file.
fn is_same(one: &Path, other: &Path) -> bool {
    let identity = |path: &Path| fs::metadata(path).ok().map(|metadata| (metadata.dev(), metadata.ino()));
    identity(one).is_some_and(|one| identity(other) == Some(one))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use store::Store;

    use super::*;

    /// 32 random bytes for a test.
    const KEY: &str = "sandbridge-key-1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";

    async fn add_user(home: &Path, name: &str, admin: bool, password: &str) -> anyhow::Result<store::User> {
        crate::admin::add_user(&Location::File(database(home)), name, admin, password).await
    }

    async fn home() -> tempfile::TempDir {
        let home = tempfile::tempdir().unwrap();
        add_user(home.path(), "alice", true, "correct horse").await.unwrap();
        home
    }

    async fn back_up(home: &Path, file: &Path, with_key: bool) -> Result<String, String> {
        let options = BackupOptions { file: file.to_owned(), with_key };
        run(&options, home).await.map(|(_, words)| words).map_err(|error| format!("{error:#}"))
    }

    #[tokio::test]
    async fn a_backup_holds_the_key_only_where_it_is_asked_for_and_says_so() {
        let home = home().await;
        fs::write(home::key_file(home.path()), KEY).unwrap();
        fs::set_permissions(home::key_file(home.path()), fs::Permissions::from_mode(0o600)).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let (without, with) = (folder.path().join("one"), folder.path().join("two"));
        let words = back_up(home.path(), &without, false).await.unwrap();
        assert!(words.contains("without the encryption key"), "{words}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        let words = back_up(home.path(), &with, true).await.unwrap();
        assert!(words.contains("with the encryption key in"), "{words}");
        assert_eq!(fs::read_to_string(folder.path().join("two.key")).unwrap(), KEY);
        for file in ["one", "two", "two.key"] {
            assert_eq!(fs::metadata(folder.path().join(file)).unwrap().mode() & 0o777, 0o600, "{file}");
        }
        let restored = Store::open(&without).await.unwrap();
        assert_eq!(restored.users().await.unwrap().len(), 1);
        restored.close().await;
    }

    #[tokio::test]
    async fn a_backup_replaces_an_earlier_one_and_nothing_else_and_leaves_no_half_of_one() {
        let home = home().await;
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("backup");
        let error = back_up(home.path(), &file, true).await.unwrap_err();
        assert!(error.contains("leave out --with-key") && !file.exists(), "{error}");
        fs::write(&file, "mine").unwrap();
        let error = back_up(home.path(), &file, false).await.unwrap_err();
        assert!(error.contains("not an earlier backup"), "{error}");
        assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
        fs::write(home::key_file(home.path()), KEY).unwrap();
        fs::write(folder.path().join("other.key"), "mine").unwrap();
        back_up(home.path(), &folder.path().join("other"), true).await.unwrap_err();
        assert!(!folder.path().join("other").exists());
        let error = back_up(folder.path(), &folder.path().join("none"), false).await.unwrap_err();
        assert!(error.contains("--home"), "{error}");
        let error = back_up(home.path(), &database(home.path()), false).await.unwrap_err();
        assert!(error.contains("the database itself"), "{error}");
        let error = back_up(home.path(), folder.path(), false).await.unwrap_err();
        assert!(error.contains("not a regular file"), "{error}");
        let again = folder.path().join("again");
        back_up(home.path(), &again, false).await.unwrap();
        add_user(home.path(), "bob", false, "correct horse").await.unwrap();
        back_up(home.path(), &again, false).await.unwrap();
        let store = Store::open(&again).await.unwrap();
        assert_eq!(store.users().await.unwrap().len(), 2);
        store.close().await;
        let left: Vec<_> =
            fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left.len(), 3, "{left:?}");
    }

    #[tokio::test]
    async fn a_restored_home_is_as_it_was_and_what_it_took_the_place_of_is_kept() {
        let home = home().await;
        fs::write(home::key_file(home.path()), KEY).unwrap();
        fs::set_permissions(home::key_file(home.path()), fs::Permissions::from_mode(0o600)).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("backup");
        back_up(home.path(), &file, true).await.unwrap();
        let elsewhere = folder.path().join("elsewhere");
        let (told, words) = restore::run(&file, &elsewhere).await.unwrap();
        assert!(told["kept"].is_null() && told["key"] == true, "{words}");
        assert_eq!(fs::read_to_string(home::key_file(&elsewhere)).unwrap(), KEY);
        assert_eq!(fs::metadata(database(&elsewhere)).unwrap().mode() & 0o777, 0o600);
        add_user(&elsewhere, "bob", false, "correct horse").await.unwrap();
        let (told, words) = restore::run(&file, &elsewhere).await.unwrap();
        let users = async |file: &Path| {
            let store = Store::open(file).await.unwrap();
            let users = store.users().await.unwrap().len();
            store.close().await;
            users
        };
        assert_eq!(users(&database(&elsewhere)).await, 1, "{words}");
        assert_eq!(users(Path::new(told["kept"].as_str().unwrap())).await, 2, "{words}");
    }

    #[tokio::test]
    async fn what_is_no_backup_is_refused_and_changes_nothing() {
        let home = home().await;
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("backup");
        back_up(home.path(), &file, false).await.unwrap();
        let whole = fs::read(&file).unwrap();
        let before = fs::read(database(home.path())).unwrap();
        let mut torn = whole.clone();
        torn[4096..20_000].fill(0xa5);
        let cut = whole[..whole.len() / 2].to_vec();
        for (bytes, what) in
            [(b"no database".to_vec(), "text"), (Vec::new(), "nothing"), (torn, "torn"), (cut, "cut off")]
        {
            fs::write(&file, bytes).unwrap();
            let error = restore::run(&file, home.path()).await.unwrap_err();
            assert!(format!("{error:#}").contains("name"), "{what}: {error:#}");
        }
        let error = restore::run(&folder.path().join("missing"), home.path()).await.unwrap_err();
        assert!(format!("{error:#}").contains("not a file"), "{error:#}");
        // The key of the backup is invalid.
        fs::write(&file, &whole).unwrap();
        fs::write(folder.path().join("backup.key"), "half").unwrap();
        restore::run(&file, home.path()).await.unwrap_err();
        fs::remove_file(folder.path().join("backup.key")).unwrap();
        // A server uses it.
        let lock = crate::serve::lock::ServerLock::take(home.path()).unwrap();
        let error = restore::run(&file, home.path()).await.unwrap_err();
        assert!(format!("{error:#}").contains("another server"), "{error:#}");
        drop(lock);
        assert_eq!(fs::read(database(home.path())).unwrap(), before);
        let left: Vec<_> =
            fs::read_dir(home.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left.len(), 2, "the database and the lock: {left:?}");
    }
}
