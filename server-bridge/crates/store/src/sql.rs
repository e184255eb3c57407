//! One interface for SQLite and PostgreSQL: a statement, its arguments, and where it runs.
//!
//! A statement has the same text for both, with `$1`, `$2`, …. Its arguments keep their types until the target is known; then the statement runs
//! natively there: prepared, typed, and with rows read by that database's decoder. Nothing is translated.
//!
//! | target | SQLite | PostgreSQL |
//! |---|---|---|
//! | `&Pool` | any of its connections | any of its connections |
//! | `Writer` | the one writing connection | a transaction of one statement that holds the scope's lock |
//! | `&mut Transaction`, `&mut Connection` | the same connection | the same connection |

mod bind;
mod scope;
mod several;

use std::marker::PhantomData;

use sqlx::pool::PoolConnection;
use sqlx::postgres::PgArguments;
use sqlx::sqlite::SqliteArguments;
use sqlx::{FromRow, PgConnection, Postgres, Sqlite, SqliteConnection, SqlitePool};
use sqlx::{SqlSafeStr, SqlStr};

use crate::away::{Connections, answer};
use crate::patience;

pub(crate) use self::bind::{Bind, NUL_SHOWN, Value, bind_as_word, without_nul};
pub use self::scope::REFUSED_FENCES;
pub(crate) use self::scope::{Locked, Scope, begin_to_the_end};

/// A result with the driver's error, before the error is converted to an error of the store.
type Result<T> = std::result::Result<T, sqlx::Error>;

/// A type that is read from a row of either database.
pub(crate) trait Row:
    for<'r> FromRow<'r, sqlx::sqlite::SqliteRow>
    + for<'r> FromRow<'r, sqlx::postgres::PgRow>
    + Send
    + Unpin
    + 'static
{
}

impl<T> Row for T where
    T: for<'r> FromRow<'r, sqlx::sqlite::SqliteRow>
        + for<'r> FromRow<'r, sqlx::postgres::PgRow>
        + Send
        + Unpin
        + 'static
{
}

/// The connections to either database.
#[derive(Clone, Debug)]
pub(crate) enum Pool {
    Sqlite(SqlitePool),
    Postgres(Connections),
}

/// One connection for several statements.
#[derive(Debug)]
pub(crate) enum Connection {
    Sqlite(PoolConnection<Sqlite>),
    Postgres(PoolConnection<Postgres>),
}

/// Several statements as one change; dropping it without a commit undoes them.
#[derive(Debug)]
pub(crate) enum Transaction {
    Sqlite(sqlx::Transaction<'static, Sqlite>),
    Postgres(sqlx::Transaction<'static, Postgres>),
}

impl Transaction {
    pub(crate) fn is_postgres(&self) -> bool {
        matches!(self, Self::Postgres(_))
    }

    pub(crate) async fn commit(self) -> Result<()> {
        match self {
            Self::Sqlite(transaction) => transaction.commit().await,
            Self::Postgres(transaction) => answer(transaction.commit()).await,
        }
    }
}

/// Takes a connection to PostgreSQL from the pool. A patient task gets a connection that just responded.
pub(crate) async fn acquire(connections: &Connections) -> Result<PoolConnection<Postgres>> {
    loop {
        let mut acquired = Box::pin(answer(async { connections.pool().acquire().await })).await;
        if let Ok(connection) = &mut acquired
            && patience::is_patient()
            && let Err(dead) = answer(sqlx::Connection::ping(&mut **connection)).await
        {
            acquired = Err(dead);
        }
        if patience::is_over(acquired.as_ref().err()).await {
            return acquired;
        }
    }
}

/// The writer for single statements that change something.
pub(crate) enum Writer<'e> {
    /// Directly, without a lock.
    Free(&'e Pool),
    /// As a transaction that holds the lock of its scope.
    Locked(Locked<'e>),
}

/// The target of a statement.
pub(crate) enum Target<'e> {
    SqlitePool(&'e SqlitePool),
    Sqlite(&'e mut SqliteConnection),
    PostgresPool(&'e Connections),
    Postgres(&'e mut PgConnection),
    PostgresLocked(Locked<'e>),
}

/// Anything that a statement may run on.
pub(crate) trait On<'e>: Send {
    fn target(self) -> Target<'e>;
}

impl<'e> On<'e> for &'e Pool {
    fn target(self) -> Target<'e> {
        match self {
            Pool::Sqlite(pool) => Target::SqlitePool(pool),
            Pool::Postgres(connections) => Target::PostgresPool(connections),
        }
    }
}

impl<'e> On<'e> for Writer<'e> {
    fn target(self) -> Target<'e> {
        match self {
            // The transaction's connection is known to work once the change has begun.
            Writer::Free(Pool::Postgres(connections)) if patience::is_patient() => {
                Target::PostgresLocked(Locked { connections, scope: Scope::Alone, node: None })
            }
            Writer::Free(pool) => pool.target(),
            Writer::Locked(locked) => Target::PostgresLocked(locked),
        }
    }
}

impl<'e> On<'e> for &'e mut Connection {
    fn target(self) -> Target<'e> {
        match self {
            Connection::Sqlite(connection) => Target::Sqlite(connection),
            Connection::Postgres(connection) => Target::Postgres(connection),
        }
    }
}

impl<'e> On<'e> for &'e mut Transaction {
    fn target(self) -> Target<'e> {
        match self {
            Transaction::Sqlite(transaction) => Target::Sqlite(transaction),
            Transaction::Postgres(transaction) => Target::Postgres(transaction),
        }
    }
}

/// A statement and its arguments; `T` is the type of its rows.
#[must_use = "a statement does nothing before it is executed or fetched"]
pub(crate) struct Query<'q, T> {
    sql: SqlStr,
    values: Vec<Value<'q>>,
    row: PhantomData<fn() -> T>,
}

/// A statement whose rows have one column.
#[must_use = "a statement does nothing before it is fetched"]
pub(crate) struct QueryScalar<'q, T>(Query<'q, (T,)>);

/// The effect of a statement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Changed {
    rows: u64,
}

impl Changed {
    pub(crate) fn rows_affected(self) -> u64 {
        self.rows
    }
}

/// A statement that returns no rows.
pub(crate) fn query<'q>(sql: impl SqlSafeStr) -> Query<'q, ()> {
    query_as(sql)
}

/// A statement whose rows are read as `T`.
pub(crate) fn query_as<'q, T>(sql: impl SqlSafeStr) -> Query<'q, T> {
    Query { sql: sql.into_sql_str(), values: Vec::new(), row: PhantomData }
}

/// A statement whose rows have one column, read as `T`.
pub(crate) fn query_scalar<'q, T>(sql: impl SqlSafeStr) -> QueryScalar<'q, T> {
    QueryScalar(query_as(sql))
}

/// Runs `$call` of the native statement that `$native` makes from the text and the arguments. The futures for PostgreSQL are large, so they are
/// boxed, which keeps those of the store's callers small.
macro_rules! run {
    ($self:ident, $on:ident, $native:path, $call:ident) => {
        match $on.target() {
            Target::SqlitePool(pool) => {
                let (sql, arguments) = $self.sqlite()?;
                $native(sql, arguments).$call(pool).await.map(Into::into)
            }
            Target::Sqlite(connection) => {
                let (sql, arguments) = $self.sqlite()?;
                $native(sql, arguments).$call(connection).await.map(Into::into)
            }
            Target::PostgresPool(connections) => {
                let (sql, arguments) = $self.postgres()?;
                Box::pin(async move {
                    let mut connection = acquire(connections).await?;
                    answer($native(sql, arguments).$call(&mut *connection)).await.map(Into::into)
                })
                .await
            }
            Target::Postgres(connection) => {
                let (sql, arguments) = $self.postgres()?;
                Box::pin(answer($native(sql, arguments).$call(connection))).await.map(Into::into)
            }
            Target::PostgresLocked(locked) => {
                let (sql, arguments) = $self.postgres()?;
                Box::pin(async move {
                    let mut transaction = locked.begin().await?;
                    let done = answer($native(sql, arguments).$call(&mut *transaction)).await?;
                    answer(transaction.commit()).await?;
                    Ok(done.into())
                })
                .await
            }
        }
    };
}

impl<'q, T> Query<'q, T> {
    /// Adds the next argument, `$1` first. A NUL in a text becomes U+2400 (see [`bind`]).
    pub(crate) fn bind(mut self, value: impl Bind<'q>) -> Self {
        self.values.push(value.value());
        self
    }

    fn sqlite(self) -> Result<(SqlStr, SqliteArguments)> {
        let arguments = bind::arguments(self.values)?;
        Ok((self.sql, arguments))
    }

    fn postgres(self) -> Result<(SqlStr, PgArguments)> {
        let arguments = bind::arguments(self.values)?;
        Ok((self.sql, arguments))
    }
}

impl Query<'_, ()> {
    /// Runs the statement for its effect.
    pub(crate) async fn execute<'e>(self, on: impl On<'e>) -> Result<Changed> {
        run!(self, on, sqlx::query_with, execute)
    }
}

impl<T: Row> Query<'_, T> {
    pub(crate) async fn fetch_all<'e>(self, on: impl On<'e>) -> Result<Vec<T>> {
        run!(self, on, sqlx::query_as_with::<_, T, _>, fetch_all)
    }

    pub(crate) async fn fetch_optional<'e>(self, on: impl On<'e>) -> Result<Option<T>> {
        run!(self, on, sqlx::query_as_with::<_, T, _>, fetch_optional)
    }

    /// The first row; [`sqlx::Error::RowNotFound`] if there is none.
    pub(crate) async fn fetch_one<'e>(self, on: impl On<'e>) -> Result<T> {
        self.fetch_optional(on).await?.ok_or(sqlx::Error::RowNotFound)
    }
}

impl<'q, T> QueryScalar<'q, T>
where
    (T,): Row,
{
    /// Like [`Query::bind`].
    pub(crate) fn bind(self, value: impl Bind<'q>) -> Self {
        Self(self.0.bind(value))
    }

    pub(crate) async fn fetch_all<'e>(self, on: impl On<'e>) -> Result<Vec<T>> {
        Ok(self.0.fetch_all(on).await?.into_iter().map(|(value,)| value).collect())
    }

    pub(crate) async fn fetch_optional<'e>(self, on: impl On<'e>) -> Result<Option<T>> {
        Ok(self.0.fetch_optional(on).await?.map(|(value,)| value))
    }

    /// Like [`Query::fetch_one`].
    pub(crate) async fn fetch_one<'e>(self, on: impl On<'e>) -> Result<T> {
        Ok(self.0.fetch_one(on).await?.0)
    }
}

impl From<sqlx::sqlite::SqliteQueryResult> for Changed {
    fn from(result: sqlx::sqlite::SqliteQueryResult) -> Self {
        Self { rows: result.rows_affected() }
    }
}

impl From<sqlx::postgres::PgQueryResult> for Changed {
    fn from(result: sqlx::postgres::PgQueryResult) -> Self {
        Self { rows: result.rows_affected() }
    }
}
