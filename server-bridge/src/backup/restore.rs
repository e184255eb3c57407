//! `sandbridge restore`: replaces the database with a backup, while no server uses it; the old database is kept.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, bail};
use serde_json::{Value, json};
use store::{SealedWith, Store};

use super::files::{self, with_suffix};
use crate::config::database;
use crate::serve::lock::ServerLock;
use crate::serve::own_key;

/// SQLite's files next to a database.
const COMPANIONS: [&str; 2] = ["-wal", "-shm"];

/// Restore the database of the server on this machine from a backup; the server must not be running
#[derive(Debug, clap::Parser)]
pub struct RestoreOptions {
    /// The file that `sandbridge backup` wrote; FILE.key next to it is restored too, if it exists
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

/// Restores the backup; returns what was done, for programs and as text.
///
/// # Errors
/// One line that says what to correct; nothing was changed then.
pub fn main(options: &RestoreOptions, home: Option<&Path>) -> anyhow::Result<(Value, String)> {
    let home = home::find(home)?;
    super::refuse_postgres(&home, "pg_restore puts a copy back")?;
    super::block_on(run(&options.file, &home))
}

pub(super) async fn run(file: &Path, home: &Path) -> anyhow::Result<(Value, String)> {
    if !file.is_file() {
        bail!("{} is not a file; name one that `sandbridge backup` wrote", file.display());
    }
    home::ensure(home)?;
    // No server may start while the database is being replaced.
    let _lock = ServerLock::take(home)?;
    let (database, key) = (database(home), home::key_file(home));
    let copy = files::copy(file, &database)?;
    // The verified copy is the one that will be used.
    let sealed_with =
        open(copy.path()).await.with_context(|| format!("cannot restore {}", file.display()))?;
    let key_copy = with_suffix(file, ".key");
    let key_copy = match own_key::read(&key_copy)? {
        Some(_) => Some(files::copy(&key_copy, &key)?),
        None => None,
    };
    let kept = keep(&database, &key, key_copy.is_some())?;
    let has_key = key_copy.is_some();
    files::commit(key_copy.into_iter().chain([copy]))?;
    let mut words = format!("restored {} to {}", file.display(), home.display());
    if let Some(kept) = &kept {
        words.push_str(&format!("; the database that was there is now {}", kept.display()));
    }
    words.push_str(match (sealed_with, has_key) {
        (SealedWith::Nothing, _) | (SealedWith::File, true) => "",
        (SealedWith::File, false) => {
            "; the keys of models in it can be decrypted only with the sandbridge.key of the server it was made on: put that \
             next to the \
             database, or start once with --forget-sealed-keys"
        }
        (SealedWith::Passphrase, _) => {
            "; the keys of models in it can be decrypted only with the passphrase of the server it was made on \
             (SANDBRIDGE_ENCRYPTION_KEY)"
        }
    });
    let sealed_with = match sealed_with {
        SealedWith::Nothing => "nothing",
        SealedWith::Passphrase => "passphrase",
        SealedWith::File => "file",
    };
    let value = json!({"file": file, "home": home, "kept": kept, "key": has_key, "sealed_with": sealed_with});
    Ok((value, words))
}

/// Verifies a copy and brings it to this version's schema; returns the kind of key that sealed the model keys in it.
async fn open(copy: &Path) -> anyhow::Result<SealedWith> {
    store::check_backup(copy).await?;
    let opened = async {
        let store = Store::open(copy).await?;
        let sealed_with = store.sealed_with().await;
        store.close().await;
        sealed_with
    };
    let opened = opened.await;
    for companion in COMPANIONS {
        // SQLite removes these files when the last process closes a database, but not after a failed opening.
        let _ = fs::remove_file(with_suffix(copy, companion));
    }
    Ok(opened?)
}

/// Moves the existing database aside, and with `and_key` its key; returns the database's new name. SQLite's other files are moved
/// first, so that they are not mistaken for parts of the new database.
fn keep(database: &Path, key: &Path, and_key: bool) -> anyhow::Result<Option<PathBuf>> {
    let date = httpdate::fmt_http_date(SystemTime::now());
    let date: String = date.split_whitespace().skip(1).take(4).collect::<Vec<_>>().join("-").replace(':', "");
    let aside = |path: &Path| with_suffix(path, &format!(".before-{date}"));
    let there = |result: io::Result<()>| match result {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    };
    let kept = aside(database);
    // A hard link replaces no file, and the old name stays until the new database takes it.
    let moved = there(fs::hard_link(database, &kept)).and_then(|is_there| {
        for companion in COMPANIONS {
            there(fs::rename(with_suffix(database, companion), with_suffix(&kept, companion)))?;
        }
        if and_key {
            there(fs::hard_link(key, aside(key)))?;
        }
        Ok(is_there)
    });
    let is_there =
        moved.with_context(|| format!("cannot keep the existing database as {}", kept.display()))?;
    Ok(is_there.then_some(kept))
}
