//! `sandbridge store copy`: copies the database file to a PostgreSQL database, or the other way round, while no server uses
//! either.

use std::path::{Path, PathBuf};

use anyhow::Context;
use serde_json::{Value, json};
use store::{Hold, Location};

use crate::config::bucket_of;
use crate::serve::lock::ServerLock;

/// Move the server's data between its file and a PostgreSQL database
#[derive(Debug, clap::Parser)]
pub(crate) struct StoreOptions {
    #[command(subcommand)]
    command: StoreCommand,
}

/// The operations on the store.
#[derive(Debug, clap::Subcommand)]
enum StoreCommand {
    /// Copy everything into an empty database, while no server runs: the file sandbridge.db of a home directory into PostgreSQL, or
    /// back. Servers refuse the source afterwards; give passwords in ~/.pgpass or PGPASSWORD, because other users can see arguments
    Copy {
        /// The database to copy: a file, or postgres://USER@HOST/DATABASE
        #[arg(long, value_name = "FILE|URL")]
        from: String,
        /// The database to copy it into: an empty one, or a file that is created
        #[arg(long, value_name = "FILE|URL")]
        to: String,
        /// The --blobs of the server whose PostgreSQL database is copied to a file, which then holds all values itself; needs the same
        /// variables in the environment
        #[arg(long, value_name = "s3://BUCKET[/PREFIX]")]
        blobs: Option<String>,
    },
}

/// Copies; returns a summary, for programs and as text.
///
/// # Errors
/// One line that says what to correct; nothing was copied then.
pub(crate) fn main(options: StoreOptions) -> anyhow::Result<(Value, String)> {
    let StoreCommand::Copy { from, to, blobs } = options.command;
    let (from, to) = (Location::parse(&from)?, Location::parse(&to)?);
    if blobs.is_some() && matches!(from, Location::File(_)) {
        anyhow::bail!("a database in a file keeps no values in an object store; leave --blobs out");
    }
    let blobs = blobs.map(|blobs| bucket_of(&blobs)).transpose()?;
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")?
        .block_on(copy(&from, &to, blobs.as_ref()))
}

async fn copy(from: &Location, to: &Location, blobs: Option<&s3::Bucket>) -> anyhow::Result<(Value, String)> {
    let (_source, _target) = (Guard::of(from).await?, Guard::of(to).await?);
    let copied = store::copy(from, to, blobs).await?;
    let (tables, rows, replaced) = (copied.tables.len(), copied.rows(), copied.replaced);
    let mut words =
        format!("copied {rows} rows of {tables} tables from {from} to {to}; both hold the same data");
    if replaced > 0 {
        words.push_str(&format!(
            "; {replaced} texts contained a NUL or were not UTF-8; the copy has \u{2400} or \u{fffd} there instead"
        ));
    }
    words.push_str(match to {
        Location::File(_) => {
            "; start the server without --database, and keep sandbridge.key next to the file"
        }
        Location::Postgres(_) => {
            "; start the server with --database, and keep sandbridge.key in its home directory"
        }
    });
    let tables: serde_json::Map<String, Value> =
        copied.tables.into_iter().map(|(table, rows)| (table, rows.into())).collect();
    let value = json!({
        "from": from.to_string(), "to": to.to_string(), "rows": rows, "replaced": replaced, "tables": tables,
    });
    Ok((value, words))
}

/// Keeps servers away from a database.
enum Guard {
    File { _lock: ServerLock },
    Postgres { _hold: Box<Hold> },
}

impl Guard {
    async fn of(location: &Location) -> anyhow::Result<Self> {
        Ok(match location {
            Location::File(path) => Self::File { _lock: ServerLock::take(&folder(path))? },
            Location::Postgres(url) => Self::Postgres { _hold: Box::new(Hold::take(url).await?) },
        })
    }
}

/// The home directory of a database file.
fn folder(file: &Path) -> PathBuf {
    match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        _ => PathBuf::from("."),
    }
}
