//! A database on a PostgreSQL server.

use std::str::FromStr;
use std::time::Duration;

use sqlx::migrate::Migrator;
use sqlx::pool::PoolConnection;
use sqlx::postgres::{PgConnectOptions, PgConnection, PgPool, PgPoolOptions};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, Executor, Postgres, Transaction};

use super::Database;
use super::sqlite::migration_error;
use crate::away;
use crate::error::{Error, Result};
use crate::limits::{
    POSTGRES_ACQUIRE_TIMEOUT_MS, POSTGRES_IDLE_CHECK, POSTGRES_OLDEST, READ_CONNECTIONS, SEARCH_CONNECTIONS,
    WRITE_CONNECTIONS,
};
use crate::patience;
use crate::sql::Pool;

/// The steps from an empty database to this version's schema. The first holds all that SQLite's steps up to its number add up to;
/// from there on each has its like, of the same number, among those.
pub(super) static MIGRATOR: Migrator = sqlx::migrate!("./migrations-postgres");

/// The lock under which the schema is brought up to date: `sandbrid` in ASCII.
const MIGRATING: i64 = i64::from_be_bytes(*b"sandbrid");

/// What an address may have behind its `?`.
const PARAMETERS: [&str; 18] = [
    "sslmode",
    "ssl-mode",
    "sslrootcert",
    "ssl-root-cert",
    "ssl-ca",
    "sslcert",
    "ssl-cert",
    "sslkey",
    "ssl-key",
    "statement-cache-capacity",
    "host",
    "hostaddr",
    "port",
    "dbname",
    "user",
    "password",
    "application_name",
    "options",
];

/// Connects to the server and brings the schema up to date.
pub(super) async fn connect(url: &str) -> Result<Database> {
    let options = options(url)?;
    // A pool goes on trying for a server that is away; this says at once what is wrong.
    let place = place(&options);
    let unreachable = |source| Error::Unreachable { place: place.clone(), source };
    let mut first = options.connect().await.map_err(unreachable)?;
    look(&mut first).await?;
    migrate(&mut first).await?;
    // What was read and changed is on the server already.
    let _ = first.close().await;
    let reading = options.clone().options([("default_transaction_read_only", "on")]);
    Ok(Database {
        writer: Pool::Postgres(pool(WRITE_CONNECTIONS).connect_lazy_with(options)),
        searcher: Some(Pool::Postgres(pool(SEARCH_CONNECTIONS).connect_lazy_with(reading.clone()))),
        reader: Pool::Postgres(pool(READ_CONNECTIONS).connect_lazy_with(reading)),
    })
}

/// How the server at this address is connected to.
pub(crate) fn options(url: &str) -> Result<PgConnectOptions> {
    let wrong = |why: String| Err(Error::DatabaseUrl { why });
    if !is_address(url) {
        return wrong("it is not an address of PostgreSQL".to_owned());
    }
    // The driver would write the value of one that it does not know into the log, and that may be a misspelt password.
    let parameters = url.split_once('?').map_or("", |(_, parameters)| parameters).split('&');
    let names = parameters.map(|parameter| parameter.split('=').next().unwrap_or_default());
    for name in names.filter(|name| !name.is_empty()) {
        if !PARAMETERS.contains(&name) && !name.starts_with("options") {
            return wrong(format!("its parameter {name:?} is unknown"));
        }
    }
    let options = PgConnectOptions::from_str(url).map_err(|error| match error {
        // What else it says may show parts of the address.
        sqlx::Error::Configuration(_) => {
            Error::DatabaseUrl { why: "its address cannot be understood".to_owned() }
        }
        error => Error::DatabaseUrl { why: error.to_string() },
    })?;
    Ok(options.application_name("sandbridge").disable_statement_logging())
}

/// True if the text begins as an address of PostgreSQL does.
pub(crate) fn is_address(text: &str) -> bool {
    ["postgres://", "postgresql://"].iter().any(|scheme| text.starts_with(scheme))
}

/// Several statements that all read the same state of everything.
pub(super) async fn snapshot(pool: &PgPool) -> Result<Transaction<'static, Postgres>> {
    let begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
    loop {
        let begun = pool.begin_with(begin).await;
        if patience::is_over(begun.as_ref().err()).await {
            return Ok(begun?);
        }
    }
}

/// Makes the server end what runs longer on this connection.
pub(super) async fn end_after(connection: &mut PoolConnection<Postgres>, timeout: Duration) -> Result<()> {
    // 0 would be no limit.
    let set = format!("SET statement_timeout = {}", timeout.as_millis().max(1));
    connection.execute(AssertSqlSafe(set)).await?;
    Ok(())
}

/// Where the server is, as people are shown it: without the password.
pub(crate) fn place(options: &PgConnectOptions) -> String {
    let database = options.get_database().unwrap_or_else(|| options.get_username());
    match options.get_socket() {
        Some(socket) => format!("{database} at {}", socket.display()),
        None => format!("{database} at {}:{}", options.get_host(), options.get_port()),
    }
}

/// Refuses a server that this program cannot write to, or is too old for it.
async fn look(connection: &mut PgConnection) -> Result<()> {
    let unfit = |why: String| Err(Error::DatabaseUrl { why });
    let found = "SELECT current_setting('server_version_num')::int, current_setting('server_encoding'), pg_is_in_recovery()";
    let (version, encoding, is_replica): (i32, String, bool) =
        sqlx::query_as(found).fetch_one(connection).await?;
    if version < POSTGRES_OLDEST * 10_000 {
        let found = version / 10_000;
        return unfit(format!("the server is PostgreSQL {found}, and {POSTGRES_OLDEST} or newer is needed"));
    }
    if encoding != "UTF8" {
        return unfit(format!("the database has the encoding {encoding}; make one with ENCODING 'UTF8'"));
    }
    if is_replica {
        return unfit("the server is a replica, which takes no changes; name the primary".to_owned());
    }
    Ok(())
}

/// Runs the missing steps in one transaction: of two processes that begin at once, the second waits and finds the work done.
async fn migrate(connection: &mut PgConnection) -> Result<()> {
    let begin = format!("BEGIN; SELECT pg_advisory_xact_lock({MIGRATING})");
    let mut transaction = connection.begin_with(AssertSqlSafe(begin)).await?;
    MIGRATOR.run_direct(None, &mut *transaction, false).await.map_err(migration_error)?;
    Ok(transaction.commit().await?)
}

fn pool(connections: u32) -> PgPoolOptions {
    PgPoolOptions::new()
        .max_connections(connections)
        .acquire_timeout(Duration::from_millis(POSTGRES_ACQUIRE_TIMEOUT_MS))
        .test_before_acquire(false)
        // After a pause the server may have been restarted: a dead connection is replaced, and nobody sees it.
        .before_acquire(|connection, about| {
            Box::pin(async move {
                if about.idle_for >= POSTGRES_IDLE_CHECK || away::is_suspect(about.age) {
                    connection.ping().await?;
                }
                Ok(true)
            })
        })
}
