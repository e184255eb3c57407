//! The common code for definitions that users make for themselves, each with a name and sealed secrets: MCP servers and HTTP tools.

use sqlx::FromRow;

use crate::error::{Error, Result, check_length};
use crate::sql::{Scope, query, query_as, query_scalar};
use crate::{Store, UserId};

/// The statements and limits for one kind of definition.
pub(crate) struct OwnTable {
    /// The kind's name in errors.
    pub(crate) what: &'static str,
    /// The statement that reads `name`, `document_json` and `secrets_sealed` of a user's definitions, by name.
    pub(crate) list: &'static str,
    /// The statement that counts a user's definitions with other names.
    pub(crate) others: &'static str,
    /// The statement that adds or replaces a definition.
    pub(crate) put: &'static str,
    /// The statement that removes a definition.
    pub(crate) remove: &'static str,
    /// The function for the place to which a definition's secrets are bound when they are sealed.
    pub(crate) place: fn(UserId, &str) -> String,
    /// The maximum number of definitions of one user.
    pub(crate) most: i64,
    /// The longest name, in bytes.
    pub(crate) name_max_bytes: usize,
    /// The maximum size of a definition, and of its secrets, in bytes each.
    pub(crate) max_bytes: usize,
}

/// A definition, with its secrets decrypted.
pub(crate) struct Own {
    pub(crate) name: String,
    pub(crate) document_json: String,
    /// The secrets, as JSON; `None` if there are none, or if the key that sealed them was lost.
    pub(crate) secrets_json: Option<String>,
}

#[derive(FromRow)]
struct Row {
    name: String,
    document_json: String,
    secrets_sealed: Option<String>,
}

impl Store {
    /// A user's definitions, by name.
    pub(crate) async fn own(&self, table: &OwnTable, user: UserId) -> Result<Vec<Own>> {
        let rows: Vec<Row> = query_as(table.list).bind(user).fetch_all(self.database.reader()).await?;
        let open = |row: Row| {
            let place = (table.place)(user, &row.name);
            // Secrets that cannot be decrypted count as lost, and do not affect other definitions.
            let open = |sealed: String| self.sealer()?.open(&place, &sealed);
            let secrets_json = row.secrets_sealed.and_then(|sealed| open(sealed).ok());
            Own { name: row.name, document_json: row.document_json, secrets_json }
        };
        Ok(rows.into_iter().map(open).collect())
    }

    /// Adds a definition, or replaces the one with this name.
    pub(crate) async fn put_own(
        &self,
        table: &OwnTable,
        user: UserId,
        name: &str,
        document_json: &str,
        secrets_json: Option<&str>,
    ) -> Result<()> {
        check_length("name", name, table.name_max_bytes)?;
        check_length(table.what, document_json, table.max_bytes)?;
        check_length(table.what, secrets_json.unwrap_or_default(), table.max_bytes)?;
        let place = (table.place)(user, name);
        let sealed = secrets_json.map(|secrets| self.sealer()?.seal(&place, secrets)).transpose()?;
        let mut transaction = self.database.write(Scope::User(user)).await?;
        let others: i64 =
            query_scalar(table.others).bind(user).bind(name).fetch_one(&mut transaction).await?;
        if others >= table.most {
            let rule = format!("exceeds the limit: you already have {others}; remove one first");
            return Err(Error::Invalid { what: table.what, rule });
        }
        query(table.put)
            .bind(user)
            .bind(name)
            .bind(document_json)
            .bind(sealed)
            .bind(self.now_ms())
            .execute(&mut transaction)
            .await?;
        transaction.commit().await?;
        Ok(())
    }

    /// Removes a definition; returns true if it existed.
    pub(crate) async fn remove_own(&self, table: &OwnTable, user: UserId, name: &str) -> Result<bool> {
        let gone = query(table.remove)
            .bind(user)
            .bind(name)
            .execute(self.database.writer(Scope::User(user)))
            .await?;
        Ok(gone.rows_affected() == 1)
    }
}
