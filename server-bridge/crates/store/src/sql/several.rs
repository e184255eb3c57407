//! Several statements of a transaction at once.
//!
//! Each statement on SQLite is a trip to its connection's thread and back, and on a machine with few processors the two wake-ups of a trip take longer
//! than most statements. So statements that do not depend on each other's results are sent together.

use futures_util::TryStreamExt as _;
use sqlx::sqlite::SqliteArguments;
use sqlx::{AssertSqlSafe, Either, Executor as _, SqlSafeStr as _, Sqlite, SqliteConnection};

use super::{Query, Result, Row, Transaction, bind};

impl Transaction {
    /// Runs these statements, which return no rows, one after the other. If one fails, the later ones do not run.
    pub(crate) async fn execute_all(&mut self, statements: Vec<Query<'_, ()>>) -> Result<()> {
        let mut statements = statements.into_iter();
        let Some(first) = statements.next() else { return Ok(()) };
        first.fetch_optional_before(self, statements.collect()).await.map(drop)
    }
}

impl<'q, T: Row> Query<'q, T> {
    /// The first row of this statement; afterwards, the others run, which return no rows. If one fails, the later ones do not run. They also run if
    /// there is no row, so they must then change nothing, or the caller must give up the transaction.
    pub(crate) async fn fetch_optional_before(
        self,
        transaction: &mut Transaction,
        others: Vec<Query<'q, ()>>,
    ) -> Result<Option<T>> {
        match transaction {
            Transaction::Sqlite(connection) => self.joined(others).first_row(&mut *connection).await,
            Transaction::Postgres(_) => {
                let first = self.fetch_optional(&mut *transaction).await?;
                for other in others {
                    other.execute(&mut *transaction).await?;
                }
                Ok(first)
            }
        }
    }

    /// This statement and the others as one text. SQLite prepares and runs its parts one by one (sqlx-sqlite 0.9, `VirtualStatement`).
    fn joined(mut self, others: Vec<Query<'q, ()>>) -> Self {
        if others.is_empty() {
            return self;
        }
        let mut text = self.sql.as_str().to_owned();
        for other in others {
            text.push_str(";\n");
            renumber(&mut text, other.sql.as_str(), self.values.len());
            self.values.extend(other.values);
        }
        self.sql = AssertSqlSafe(text).into_sql_str();
        self
    }

    async fn first_row(self, connection: &mut SqliteConnection) -> Result<Option<T>> {
        let arguments: SqliteArguments = bind::arguments(self.values)?;
        let mut results = connection.fetch_many(sqlx::query_with::<Sqlite, _>(self.sql, arguments));
        let mut first = None;
        while let Some(result) = results.try_next().await? {
            if let (Either::Right(row), None) = (result, &first) {
                first = Some(T::from_row(&row)?);
            }
        }
        Ok(first)
    }
}

/// Appends a statement whose arguments come after `before` others.
fn renumber(text: &mut String, statement: &str, before: usize) {
    let mut parts = statement.split('$');
    text.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let digits = part.bytes().take_while(u8::is_ascii_digit).count();
        text.push('$');
        match part[..digits].parse::<usize>() {
            Ok(number) => text.push_str(&(number + before).to_string()),
            Err(_) => text.push_str(&part[..digits]),
        }
        text.push_str(&part[digits..]);
    }
}

#[cfg(test)]
mod tests {
    use super::super::{query, query_as, query_scalar};
    use super::*;
    use crate::sql::Scope;
    use crate::testing;

    #[test]
    fn arguments_are_numbered_from_the_first_statement_on() {
        let mut text = "a $1;".to_owned();
        renumber(&mut text, "b $1, $12 and '$.x' $2", 3);
        assert_eq!(text, "a $1;b $4, $15 and '$.x' $5");
    }

    #[tokio::test]
    async fn statements_run_in_order_with_their_own_arguments() {
        let store = testing::empty().await;
        let put = |name: &'static str, value: &'static str| {
            query("INSERT INTO server_settings (name, value) VALUES ($1, $2)").bind(name).bind(value)
        };
        let value = async |name: &'static str| -> Option<String> {
            let found = query_scalar("SELECT value FROM server_settings WHERE name = $1").bind(name);
            found.fetch_optional(store.database.reader()).await.unwrap()
        };
        let mut transaction = store.database.write(Scope::System).await.unwrap();
        let first =
            query_as("INSERT INTO server_settings (name, value) VALUES ($1, $2) RETURNING name, value")
                .bind("a")
                .bind("1")
                .fetch_optional_before(&mut transaction, vec![put("b", "2"), put("c", "3")]);
        assert_eq!(first.await.unwrap(), Some(("a".to_owned(), "1".to_owned())));
        let double =
            query("UPDATE server_settings SET value = value || $1 WHERE name = $2").bind("x").bind("b");
        transaction.execute_all(vec![double, put("d", "4")]).await.unwrap();
        transaction.commit().await.unwrap();
        for (name, expected) in [("a", "1"), ("b", "2x"), ("c", "3"), ("d", "4")] {
            assert_eq!(value(name).await.as_deref(), Some(expected), "{name}");
        }
        // The second fails, so nothing of the transaction stays, and the connection works.
        let mut transaction = store.database.write(Scope::System).await.unwrap();
        transaction.execute_all(vec![put("e", "5"), put("a", "6"), put("f", "7")]).await.unwrap_err();
        drop(transaction);
        for (name, expected) in [("e", None), ("a", Some("1")), ("f", None)] {
            assert_eq!(value(name).await.as_deref(), expected, "{name}");
        }
    }
}
