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
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, Sqlite};
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
    if is_empty(&mut transaction).await? {
        sqlx::raw_sql(AssertSqlSafe(format!("{SCHEMA}{}", steps_taken()))).execute(&mut *transaction).await?;
    }
    // The same as `run`, but without the generics that keep its future from moving between threads.
    MIGRATOR.run_direct(None, &mut *transaction, false).await.map_err(migration_error)?;
    Ok(transaction.commit().await?)
}

/// True if nothing was ever created in the database.
async fn is_empty(connection: &mut SqliteConnection) -> Result<bool> {
    let entries: i64 = sqlx::query_scalar("SELECT COUNT(*) FROM sqlite_schema").fetch_one(connection).await?;
    Ok(entries == 0)
}

/// The statement that records every step as done, in the way that the migrator does, but without a duration.
fn steps_taken() -> String {
    let rows: Vec<_> = MIGRATOR
        .iter()
        .map(|step| {
            let checksum: String = step.checksum.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("({}, '{}', TRUE, x'{checksum}', -1)", step.version, step.description)
        })
        .collect();
    format!(
        "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) VALUES {};",
        rows.join(", ")
    )
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
    use super::*;

    const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/schema.sql");

    async fn in_memory() -> SqliteConnection {
        SqliteConnection::connect_with(&common(SqliteConnectOptions::new().in_memory(true))).await.unwrap()
    }

    /// Names and statements of everything that a statement created, tables first. Tables that FTS5 creates by itself are left out.
    async fn created(connection: &mut SqliteConnection) -> Vec<(String, String)> {
        sqlx::query_as(
            "SELECT name, sql FROM sqlite_schema
             WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite|_%' ESCAPE '|'
               AND name NOT IN (SELECT name FROM pragma_table_list WHERE type = 'shadow')
             ORDER BY type <> 'table', rowid",
        )
        .fetch_all(connection)
        .await
        .unwrap()
    }

    /// Everything in a database, including shadow tables, in a fixed order.
    async fn whole(connection: &mut SqliteConnection) -> Vec<(String, String, String, Option<String>)> {
        sqlx::query_as("SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name")
            .fetch_all(connection)
            .await
            .unwrap()
    }

    #[tokio::test]
    async fn a_new_database_has_the_schema_that_the_steps_lead_to() {
        let mut stepped = in_memory().await;
        MIGRATOR.run_direct(None, &mut stepped, false).await.unwrap();
        let script: String =
            created(&mut stepped).await.iter().map(|(_, statement)| format!("{statement};\n\n")).collect();
        if std::env::var_os("SANDBRIDGE_BLESS").is_some() {
            fs::write(FILE, &script).unwrap();
        }
        assert_eq!(
            script,
            fs::read_to_string(FILE).unwrap(),
            "{FILE} is out of date; SANDBRIDGE_BLESS=1 rewrites it"
        );
        for (name, _) in created(&mut stepped).await {
            let of_table =
                format!("SELECT COUNT(*) FROM pragma_table_list WHERE name = '{name}' AND type = 'table'");
            let is_table: i64 =
                sqlx::query_scalar(AssertSqlSafe(of_table)).fetch_one(&mut stepped).await.unwrap();
            if is_table == 0 || name == "_sqlx_migrations" {
                continue;
            }
            let rows = format!("SELECT COUNT(*) FROM \"{name}\"");
            let rows: i64 = sqlx::query_scalar(AssertSqlSafe(rows)).fetch_one(&mut stepped).await.unwrap();
            assert_eq!(rows, 0, "a step adds rows to {name} in an empty database, but the script does not");
        }

        let mut new = in_memory().await;
        sqlx::raw_sql(AssertSqlSafe(format!("{script}{}", steps_taken()))).execute(&mut new).await.unwrap();
        assert_eq!(whole(&mut new).await, whole(&mut stepped).await);
        let taken =
            "SELECT version, description, success, hex(checksum) FROM _sqlx_migrations ORDER BY version";
        let steps: Vec<(i64, String, bool, String)> =
            sqlx::query_as(taken).fetch_all(&mut stepped).await.unwrap();
        assert_eq!(
            sqlx::query_as::<_, (i64, String, bool, String)>(taken).fetch_all(&mut new).await.unwrap(),
            steps
        );
        // The migrator finds nothing left to do, and accepts every checksum.
        MIGRATOR.run_direct(None, &mut new, false).await.unwrap();
        assert_eq!(whole(&mut new).await, whole(&mut stepped).await);
    }
}
