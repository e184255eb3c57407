//! A database in a file of SQLite.
//!
//! Writes take turns on one connection and begin as writes (`BEGIN IMMEDIATE`), so neither this process nor another
//! that has the same file open can make one fail half-way: it waits its turn. Reads go side by side and never wait.
//! Searches read everything, so they have connections and a deadline of their own.

use std::fs::{self, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use sqlx::migrate::{MigrateError, Migrator};
use sqlx::pool::PoolConnection;
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqlitePool, SqlitePoolOptions,
    SqliteSynchronous,
};
use sqlx::{ConnectOptions, Connection, Sqlite};
use tokio::time::{Instant, sleep};

use super::Database;
use crate::error::{Error, Result};
use crate::limits::{
    ACQUIRE_TIMEOUT_MS, BUSY_TIMEOUT_MS, OPEN_RETRY_MS, READ_CONNECTIONS, SEARCH_CHECK_STEPS,
    SEARCH_CONNECTIONS,
};
use crate::sql::Pool;

/// The steps from an empty database to this version's schema. A shipped step never changes; a change is a new file.
static MIGRATOR: Migrator = sqlx::migrate!("./migrations");

/// Opens the file, creates it (mode 0600) if it is missing, and brings its schema up to date.
pub(super) async fn open(path: &Path) -> Result<Database> {
    private_file(path).map_err(|source| Error::Open { path: path.to_owned(), source })?;
    let options = common(SqliteConnectOptions::new().filename(path)).journal_mode(SqliteJournalMode::Wal);
    let writer = connect_writer(&options).await?;
    migrate(&writer).await?;
    let options = options.pragma("query_only", "ON");
    let searcher = Some(Pool::Sqlite(pool(SEARCH_CONNECTIONS).connect_lazy_with(options.clone())));
    let reader = Pool::Sqlite(pool(READ_CONNECTIONS).connect_lazy_with(options));
    Ok(Database { writer: Pool::Sqlite(writer), reader, searcher, node: None })
}

/// An empty database of its own in memory, gone with its last handle.
pub(super) async fn open_in_memory() -> Result<Database> {
    let options = common(SqliteConnectOptions::new().in_memory(true));
    // The database lives in its one connection, which therefore must never be replaced.
    let writer = pool(1).min_connections(1).connect_with(options).await?;
    migrate(&writer).await?;
    let writer = Pool::Sqlite(writer);
    Ok(Database { reader: writer.clone(), writer, searcher: None, node: None })
}

/// Ends statements that run past this time on this connection.
pub(super) async fn end_after(connection: &mut PoolConnection<Sqlite>, timeout: Duration) -> Result<()> {
    let deadline = Instant::now() + timeout;
    // It stays until the next search replaces it, so it also ends a statement that nobody waits for any more.
    connection
        .lock_handle()
        .await?
        .set_progress_handler(SEARCH_CHECK_STEPS, move || Instant::now() < deadline);
    Ok(())
}

fn common(options: SqliteConnectOptions) -> SqliteConnectOptions {
    options
        .foreign_keys(true)
        .synchronous(SqliteSynchronous::Normal)
        .busy_timeout(Duration::from_millis(BUSY_TIMEOUT_MS))
        // What was deleted does not stay on free pages.
        .pragma("secure_delete", "ON")
        .disable_statement_logging()
}

fn pool(connections: u32) -> SqlitePoolOptions {
    SqlitePoolOptions::new()
        .max_connections(connections)
        .acquire_timeout(Duration::from_millis(ACQUIRE_TIMEOUT_MS))
        .idle_timeout(None)
        .max_lifetime(None)
        .test_before_acquire(false)
}

/// Opens the first connection. The switch of a new file to WAL is the one step that does not wait for other openers, but
/// fails at once as busy; so it is repeated until the busy timeout.
async fn connect_writer(options: &SqliteConnectOptions) -> Result<SqlitePool> {
    let deadline = Instant::now() + Duration::from_millis(BUSY_TIMEOUT_MS);
    loop {
        let writer = pool(1).after_release(|connection, _| Box::pin(is_usable(connection)));
        match writer.connect_with(options.clone()).await {
            Err(error) if is_busy(&error) && Instant::now() < deadline => {
                sleep(Duration::from_millis(OPEN_RETRY_MS)).await;
            }
            result => return Ok(result?),
        }
    }
}

/// True if a connection may be used again after a transaction. On a full disk SQLite rolls a transaction back by itself; then the driver's own
/// rollback fails, and it begins no other transaction on that connection, which therefore has to be replaced.
async fn is_usable(connection: &mut SqliteConnection) -> sqlx::Result<bool> {
    if connection.is_in_transaction() {
        // Waits for the rollback of a transaction that was given up.
        connection.ping().await?;
    }
    Ok(!connection.is_in_transaction())
}

/// True if another connection is in the way. SQLite's extended codes carry the plain one, 5, in their low byte.
fn is_busy(error: &sqlx::Error) -> bool {
    const SQLITE_BUSY: u32 = 5;
    let code = error.as_database_error().and_then(|database| database.code()?.parse::<u32>().ok());
    code.is_some_and(|code| code & 0xff == SQLITE_BUSY)
}

/// Runs the missing steps in one write transaction: of two processes that open a new database at once, the second
/// waits and finds the work done.
async fn migrate(writer: &SqlitePool) -> Result<()> {
    let mut transaction = writer.begin_with("BEGIN IMMEDIATE").await?;
    // `run`, without the generics that keep its future from changing threads.
    MIGRATOR.run_direct(None, &mut *transaction, false).await.map_err(migration_error)?;
    Ok(transaction.commit().await?)
}

/// The newest step to the schema that this program carries.
pub(crate) fn newest_step() -> i64 {
    MIGRATOR.iter().map(|step| step.version).max().unwrap_or(0)
}

pub(super) fn migration_error(error: MigrateError) -> Error {
    let known = newest_step();
    match error {
        MigrateError::VersionMissing(found) if found > known => Error::NewerSchema { found, known },
        other => Error::Migration(other),
    }
}

/// Creates the file with mode 0600, or removes others' access to an existing one. SQLite gives its `-wal` and `-shm`
/// companions the mode of the database.
fn private_file(path: &Path) -> io::Result<()> {
    /// Closing any descriptor of a database file drops every lock this process holds on it, so nobody here may open
    /// the file as a database between its creation and the close.
    static CREATING: Mutex<()> = Mutex::new(());
    let _guard = CREATING.lock().unwrap_or_else(PoisonError::into_inner);
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            restrict(path)?;
            for suffix in ["-wal", "-shm"] {
                let mut companion = path.as_os_str().to_owned();
                companion.push(suffix);
                match restrict(&PathBuf::from(companion)) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                    _ => {}
                }
            }
            Ok(())
        }
        Err(error) => Err(error),
    }
}

/// Leaves only the owner's access, without opening the file.
fn restrict(path: &Path) -> io::Result<()> {
    let metadata = fs::metadata(path)?;
    if !metadata.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    let mode = metadata.permissions().mode();
    if mode & 0o077 == 0 { Ok(()) } else { fs::set_permissions(path, Permissions::from_mode(mode & 0o700)) }
}
