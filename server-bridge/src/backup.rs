//! `sandbridge backup`: a copy of the database, whether a server has it open or not; the encryption key only where it is asked for.
//!
//! To restore it, stop the server, put the copy in the place of `HOME/sandbridge.db` (without `-wal` and `-shm` beside it), and
//! the key in the place of `HOME/sandbridge.key`.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use serde_json::{Value, json};
use store::Store;

use crate::config::{database, home_dir, key_file};

/// Where the backup goes, and what is in it.
#[derive(Debug, clap::Args)]
pub struct BackupOptions {
    /// The file to write; it must not exist
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Also copy the server's own encryption key, to FILE.key: who has both reads the keys of users' models
    #[arg(long)]
    with_key: bool,
}

/// Writes the backup; returns what is in it, for programs and in words.
///
/// # Errors
/// A line that says what to change.
pub fn main(options: &BackupOptions, home: Option<&Path>) -> anyhow::Result<(Value, String)> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")?
        .block_on(run(options, &home_dir(home)?))
}

async fn run(options: &BackupOptions, home: &Path) -> anyhow::Result<(Value, String)> {
    let (from, key) = (database(home), key_file(home));
    if !from.is_file() {
        bail!("there is no database at {}; pass --home DIR", from.display());
    }
    let key_copy = options.with_key.then(|| {
        let mut name = options.file.clone().into_os_string();
        name.push(".key");
        PathBuf::from(name)
    });
    if options.with_key && !key.is_file() {
        bail!(
            "there is no {}: the server was given its encryption key, so keep that one yourself and leave out --with-key",
            key.display()
        );
    }
    let file = &options.file;
    make(file)?;
    let copied = copy(&from, file).await.and_then(|()| match &key_copy {
        Some(copy) => copy_key(&key, copy),
        None => Ok(()),
    });
    if let Err(error) = copied {
        // It was made here, so nothing of anybody else's is removed.
        let _ = fs::remove_file(file);
        return Err(error);
    }
    let words = match &key_copy {
        Some(copy) => format!(
            "backed up to {}, with the encryption key in {}: who has both reads the keys of users' models",
            file.display(),
            copy.display()
        ),
        None => format!(
            "backed up to {}, without the encryption key: the keys of users' models open only with the one of this server",
            file.display()
        ),
    };
    Ok((json!({"file": file, "key": key_copy}), words))
}

async fn copy(from: &Path, file: &Path) -> anyhow::Result<()> {
    let store = Store::open(from).await?;
    let copied = store.back_up(file).await;
    store.close().await;
    copied.with_context(|| format!("cannot write {}", file.display()))
}

fn copy_key(key: &Path, copy: &Path) -> anyhow::Result<()> {
    let bytes = fs::read(key).with_context(|| format!("cannot read {}", key.display()))?;
    let mut file = make(copy)?;
    let written: io::Result<()> = file.write_all(&bytes).and_then(|()| file.sync_all());
    written.with_context(|| format!("cannot write {}", copy.display()))
}

/// An empty file for its owner alone, where there was none.
fn make(path: &Path) -> anyhow::Result<File> {
    let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    made.with_context(|| format!("cannot make {}; name a file that is not there yet", path.display()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    async fn home() -> tempfile::TempDir {
        let home = tempfile::tempdir().unwrap();
        crate::admin::add_user(home.path(), "alice", true, "correct horse").await.unwrap();
        home
    }

    async fn back_up(home: &Path, file: &Path, with_key: bool) -> Result<String, String> {
        let options = BackupOptions { file: file.to_owned(), with_key };
        run(&options, home).await.map(|(_, words)| words).map_err(|error| format!("{error:#}"))
    }

    #[tokio::test]
    async fn a_backup_holds_the_key_only_where_it_is_asked_for_and_says_so() {
        let home = home().await;
        fs::write(key_file(home.path()), "the key").unwrap();
        let folder = tempfile::tempdir().unwrap();
        let (without, with) = (folder.path().join("one"), folder.path().join("two"));
        let words = back_up(home.path(), &without, false).await.unwrap();
        assert!(words.contains("without the encryption key"), "{words}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        let words = back_up(home.path(), &with, true).await.unwrap();
        assert!(words.contains("with the encryption key in"), "{words}");
        assert_eq!(fs::read_to_string(folder.path().join("two.key")).unwrap(), "the key");
        for file in ["one", "two", "two.key"] {
            assert_eq!(fs::metadata(folder.path().join(file)).unwrap().mode() & 0o777, 0o600, "{file}");
        }
        let restored = Store::open(&without).await.unwrap();
        assert_eq!(restored.users().await.unwrap().len(), 1);
        restored.close().await;
    }

    #[tokio::test]
    async fn a_backup_replaces_nothing_and_leaves_no_half_of_one() {
        let home = home().await;
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("backup");
        let error = back_up(home.path(), &file, true).await.unwrap_err();
        assert!(error.contains("leave out --with-key") && !file.exists(), "{error}");
        fs::write(&file, "mine").unwrap();
        let error = back_up(home.path(), &file, false).await.unwrap_err();
        assert!(error.contains("not there yet"), "{error}");
        assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
        fs::write(key_file(home.path()), "the key").unwrap();
        fs::write(folder.path().join("other.key"), "mine").unwrap();
        back_up(home.path(), &folder.path().join("other"), true).await.unwrap_err();
        assert!(!folder.path().join("other").exists());
        let error = back_up(folder.path(), &folder.path().join("none"), false).await.unwrap_err();
        assert!(error.contains("--home"), "{error}");
    }
}
