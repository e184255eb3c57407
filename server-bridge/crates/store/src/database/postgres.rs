//! A database on a PostgreSQL server.

use std::str::FromStr;
use std::time::Duration;

use sqlx::migrate::Migrator;
use sqlx::pool::PoolConnection;
use sqlx::postgres::{PgConnectOptions, PgConnection, PgPoolOptions};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, Executor, Postgres, SqlSafeStr, Transaction};

use super::Database;
use super::newest_step;
use super::sqlite::migration_error;
use crate::away::{self, Connections};
use crate::error::{Error, Result};
use crate::limits::{
    POSTGRES_ACQUIRE_TIMEOUT_MS, POSTGRES_IDLE_CHECK, POSTGRES_OLDEST, READ_CONNECTIONS, SCHEMA_OLDEST,
    SEARCH_CONNECTIONS, WRITE_CONNECTIONS,
};
use crate::patience;
use crate::sql::{Pool, begin_to_the_end};

/// The steps from an empty database to this version's schema. The first one combines SQLite's steps up to its number; each later one has a
/// counterpart with the same number there.
pub(super) static MIGRATOR: Migrator = sqlx::migrate!("./migrations-postgres");

/// The lock under which the schema is brought up to date: `sandbrid` in ASCII.
const MIGRATING: i64 = i64::from_be_bytes(*b"sandbrid");

/// The allowed parameters after the `?` of an address.
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

/// See [`Database::connect`].
pub(super) async fn connect(url: &str, stand_still: Option<Duration>) -> Result<Database> {
    let options = options(url)?;
    // A pool keeps retrying an unreachable server, so this connects once first, to report the error at once.
    let place = place(&options);
    let unreachable = |source| Error::Unreachable { place: place.clone(), source };
    let mut first = options.connect().await.map_err(unreachable)?;
    look(&mut first).await?;
    migrate(&mut first).await?;
    // The server has already applied everything, so an error while closing loses nothing.
    let _ = first.close().await;
    let reading = options.clone().options([("default_transaction_read_only", "on")]);
    // 0 means no limit.
    let most_idle = stand_still.unwrap_or_default().as_millis().to_string();
    let writing = options.options([("idle_in_transaction_session_timeout", most_idle)]);
    Ok(Database {
        writer: connections(WRITE_CONNECTIONS, writing),
        searcher: Some(connections(SEARCH_CONNECTIONS, reading.clone())),
        reader: connections(READ_CONNECTIONS, reading),
        node: None,
    })
}

/// The connection options for the server at this address.
pub(crate) fn options(url: &str) -> Result<PgConnectOptions> {
    let wrong = |why: String| Err(Error::DatabaseUrl { why });
    if !is_address(url) {
        return wrong("its address does not start with postgres://".to_owned());
    }
    // The driver would log the value of a parameter that it does not know, and that may be a misspelt password.
    let parameters = url.split_once('?').map_or("", |(_, parameters)| parameters).split('&');
    let names = parameters.map(|parameter| parameter.split('=').next().unwrap_or_default());
    for name in names.filter(|name| !name.is_empty()) {
        if !PARAMETERS.contains(&name) && !name.starts_with("options") {
            return wrong(format!("its address has the unknown parameter {name:?}"));
        }
    }
    let options = PgConnectOptions::from_str(url).map_err(|error| match error {
        // Other error texts may show parts of the address.
        sqlx::Error::Configuration(_) => {
            Error::DatabaseUrl { why: "its address cannot be parsed".to_owned() }
        }
        error => Error::DatabaseUrl { why: error.to_string() },
    })?;
    Ok(options.application_name("sandbridge").disable_statement_logging())
}

/// True if the text begins like a PostgreSQL address.
pub(crate) fn is_address(text: &str) -> bool {
    ["postgres://", "postgresql://"].iter().any(|scheme| text.starts_with(scheme))
}

/// A transaction whose statements all read the same consistent state.
pub(super) async fn snapshot(connections: &Connections) -> Result<Transaction<'static, Postgres>> {
    let begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
    loop {
        let begun = begin_to_the_end(connections, begin.into_sql_str()).await;
        if patience::is_over(begun.as_ref().err()).await {
            return Ok(begun?);
        }
    }
}

/// Makes the server end statements that run longer than this on this connection.
pub(super) async fn end_after(connection: &mut PoolConnection<Postgres>, timeout: Duration) -> Result<()> {
    // 0 would mean no limit.
    let set = format!("SET statement_timeout = {}", timeout.as_millis().max(1));
    away::answer(connection.execute(AssertSqlSafe(set))).await?;
    Ok(())
}

/// The server's location without the password, for logs and errors.
pub(crate) fn place(options: &PgConnectOptions) -> String {
    let database = options.get_database().unwrap_or_else(|| options.get_username());
    match options.get_socket() {
        Some(socket) => format!("{database} at {}", socket.display()),
        None => format!("{database} at {}:{}", options.get_host(), options.get_port()),
    }
}

/// Refuses a server that is too old or accepts no changes, and a database with an encoding other than UTF-8.
async fn look(connection: &mut PgConnection) -> Result<()> {
    let unfit = |why: String| Err(Error::DatabaseUrl { why });
    let found = "SELECT current_setting('server_version_num')::int, current_setting('server_encoding'), pg_is_in_recovery()";
    let (version, encoding, is_replica): (i32, String, bool) =
        sqlx::query_as(found).fetch_one(connection).await?;
    if version < POSTGRES_OLDEST * 10_000 {
        let found = version / 10_000;
        return unfit(format!("the server is PostgreSQL {found}, but {POSTGRES_OLDEST} or newer is needed"));
    }
    if encoding != "UTF8" {
        return unfit(format!("the database has the encoding {encoding}; create one with ENCODING 'UTF8'"));
    }
    if is_replica {
        return unfit("the server is a replica, which accepts no changes; connect to the primary".to_owned());
    }
    Ok(())
}

/// Runs the missing steps in one transaction: of two processes that start at once, the second waits and finds the work done.
async fn migrate(connection: &mut PgConnection) -> Result<()> {
    let begin = format!("BEGIN; SELECT pg_advisory_xact_lock({MIGRATING})");
    let mut transaction = connection.begin_with(AssertSqlSafe(begin)).await?;
    check_nodes(&mut transaction).await?;
    MIGRATOR.run_direct(None, &mut *transaction, false).await.map_err(migration_error)?;
    Ok(transaction.commit().await?)
}

/// Fails if a live node's program is too old for this schema, or too new for this program.
async fn check_nodes(transaction: &mut PgConnection) -> Result<()> {
    let has_nodes: bool =
        sqlx::query_scalar("SELECT EXISTS (SELECT 1 FROM pg_catalog.pg_tables WHERE schemaname = current_schema() AND tablename = 'nodes')").fetch_one(&mut *transaction).await?;
    if !has_nodes {
        return Ok(());
    }
    let unfit: Option<(String, String)> = sqlx::query_as(
        "SELECT url, version FROM nodes WHERE state <> 'gone' AND (schema_newest < $1 OR schema_oldest > $2)
         AND lease_until_ms > CAST(EXTRACT(EPOCH FROM pg_catalog.clock_timestamp()) * 1000 AS BIGINT) LIMIT 1",
    )
    .bind(SCHEMA_OLDEST)
    .bind(newest_step())
    .fetch_optional(transaction)
    .await?;
    match unfit {
        Some((url, version)) => Err(Error::NodeVersion { url, version }),
        None => Ok(()),
    }
}

/// Connections that are made when they are needed, at most this many at once.
fn connections(most: u32, options: PgConnectOptions) -> Pool {
    let pool = PgPoolOptions::new()
        .max_connections(most)
        .acquire_timeout(Duration::from_millis(POSTGRES_ACQUIRE_TIMEOUT_MS))
        .test_before_acquire(false)
        // The server may have been restarted during a pause: a dead connection is then replaced without an error.
        .before_acquire(|connection, about| {
            Box::pin(async move {
                if about.idle_for >= POSTGRES_IDLE_CHECK || away::is_suspect(about.age) {
                    connection.ping().await?;
                }
                Ok(true)
            })
        });
    Pool::Postgres(Connections::new(pool.connect_lazy_with(options)))
}
