//! A database in an SQLite file.
//!
//! Writes take turns on one connection and begin as writes (`BEGIN IMMEDIATE`), so no other writer, in this process or in another one that has the
//! same file open, can make a write fail half-way: it waits its turn. Reads run in parallel and never wait. Searches read everything, so they have
//! their own connections and a deadline.

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

/// The steps from an empty database to this version's schema. A released step never changes; each change is a new file.
static MIGRATOR: Migrator = sqlx::migrate!("./migrations");

/// The schema after all steps, for a new database: running the steps one by one takes ten times as long. A test compares both; with
/// `SANDBRIDGE_BLESS=1`, it rewrites this file.
const SCHEMA: &str = include_str!("../../schema.sql");

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

/// An empty database in memory, which is deleted with its last handle.
pub(super) async fn open_in_memory() -> Result<Database> {
    let options = common(SqliteConnectOptions::new().in_memory(true));
    // The database lives in its one connection, which therefore must never be replaced.
    let writer = pool(1).min_connections(1).connect_with(options).await?;
    migrate(&writer).await?;
    let writer = Pool::Sqlite(writer);
    Ok(Database { reader: writer.clone(), writer, searcher: None, node: None })
}

/// Makes statements on this connection fail once they have run for this long.
pub(super) async fn end_after(connection: &mut PoolConnection<Sqlite>, timeout: Duration) -> Result<()> {
    let deadline = Instant::now() + timeout;
    // The handler stays until the next search replaces it, so it also ends a statement whose caller has stopped waiting.
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
        // Deleted data does not stay on free pages.
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

/// Opens the first connection. Switching a new file to WAL is the only step that does not wait for other openers, but fails at once as busy; so it
/// is repeated until the busy timeout.
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

/// True if another connection blocks the operation. SQLite's extended codes contain the plain one, 5, in their low byte.
fn is_busy(error: &sqlx::Error) -> bool {
    const SQLITE_BUSY: u32 = 5;
    let code = error.as_database_error().and_then(|database| database.code()?.parse::<u32>().ok());
    code.is_some_and(|code| code & 0xff == SQLITE_BUSY)
}

/// Runs the missing steps in one write transaction: of two processes that open a new database at once, the second waits and finds the work done.
async fn migrate(writer: &SqlitePool) -> Result<()> {
    let mut transaction = writer.begin_with("BEGIN IMMEDIATE").await?;
    let is_new = is_empty(&mut transaction).await?;
    if is_new {
        sqlx::raw_sql(SCHEMA).execute(&mut *transaction).await?;
    }
    // The same as `skip` for a new database, which only records the steps, and as `run` for others, but without the generics that keep
    // their futures from moving between threads.
    MIGRATOR.run_direct(None, &mut *transaction, is_new).await.map_err(migration_error)?;
    Ok(transaction.commit().await?)
}

/// True if nothing was ever created in the database.
async fn is_empty(connection: &mut SqliteConnection) -> Result<bool> {
    let entries: i64 = sqlx::query_scalar("SELECT COUNT(*) FROM sqlite_schema").fetch_one(connection).await?;
    Ok(entries == 0)
}

/// The number of the newest schema step that this program contains.
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
    /// Closing any descriptor of a database file drops every lock that this process has on it, so no thread here may open the file as a database
    /// between its creation and the close.
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

#[cfg(test)]
mod tests {
    use sqlx::AssertSqlSafe;

    use super::*;

    const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/schema.sql");

    async fn in_memory() -> SqlitePool {
        let options = common(SqliteConnectOptions::new().in_memory(true));
        pool(1).min_connections(1).connect_with(options).await.unwrap()
    }

    /// The names of the tables that the steps created, and the statements that create the whole schema, tables first. Tables that FTS5 and the
    /// migrator create by themselves are left out.
    async fn created(database: &SqlitePool) -> (Vec<String>, String) {
        let found: Vec<(String, String, String)> = sqlx::query_as(
            "SELECT COALESCE(t.type, s.type), s.name, s.sql FROM sqlite_schema s LEFT JOIN pragma_table_list t ON t.name = s.name
             WHERE s.sql IS NOT NULL AND s.name NOT LIKE 'sqlite|_%' ESCAPE '|' AND s.name <> '_sqlx_migrations'
               AND t.type IS NOT 'shadow'
             ORDER BY s.type <> 'table', s.rowid",
        )
        .fetch_all(database)
        .await
        .unwrap();
        let script = found.iter().map(|(_, _, statement)| format!("{statement};\n\n")).collect();
        let tables = found.into_iter().filter(|(kind, ..)| kind == "table");
        (tables.map(|(_, name, _)| name).collect(), script)
    }

    /// Everything in a database, including shadow tables, and the recorded steps.
    async fn whole(database: &SqlitePool) -> Vec<(String, String, Option<String>)> {
        sqlx::query_as(
            "SELECT type, name, sql FROM sqlite_schema
             UNION ALL SELECT CAST(version AS TEXT), description, hex(checksum) FROM _sqlx_migrations WHERE success
             ORDER BY 1, 2",
        )
        .fetch_all(database)
        .await
        .unwrap()
    }

    #[tokio::test]
    async fn a_new_database_has_the_schema_that_the_steps_lead_to() {
        let stepped = in_memory().await;
        MIGRATOR.run(&stepped).await.unwrap();
        let (tables, script) = created(&stepped).await;
        if std::env::var_os("SANDBRIDGE_BLESS").is_some() {
            // This program contains the old script until it is built again.
            return fs::write(FILE, &script).unwrap();
        }
        let stored = fs::read_to_string(FILE).unwrap();
        assert_eq!(script, stored, "{FILE} is out of date; SANDBRIDGE_BLESS=1 rewrites it");
        for name in tables {
            let count = AssertSqlSafe(format!("SELECT COUNT(*) FROM \"{name}\""));
            let rows: i64 = sqlx::query_scalar(count).fetch_one(&stepped).await.unwrap();
            assert_eq!(rows, 0, "a step adds rows to {name} in an empty database, but the script does not");
        }
        let new = in_memory().await;
        migrate(&new).await.unwrap();
        assert_eq!(whole(&new).await, whole(&stepped).await);
        // The next start finds nothing left to do, and accepts every checksum.
        migrate(&new).await.unwrap();
        assert_eq!(whole(&new).await, whole(&stepped).await);
    }
}
