//! The marketplaces that users added: lists of plugins, each in the version that was last read.

use sqlx::FromRow;

use crate::error::{Error, Result, check_length};
use crate::limits::{MARKETPLACE_MAX_BYTES, MARKETPLACES_PER_USER, PLUGIN_SOURCE_MAX_BYTES};
use crate::sql::{Scope, query, query_as, query_scalar};
use crate::{Store, UserId};

/// A marketplace that a user added.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct MarketplaceRow {
    /// The marketplace's name, unique among its user's marketplaces.
    pub name: String,
    /// The marketplace's location, as its user wrote it.
    pub source: String,
    /// The marketplace's document when it was last read.
    pub document: String,
    /// The hashes of the plugins that are contained in the marketplace, by name, as JSON.
    pub hashes_json: String,
    /// When it was last read, in Unix milliseconds; set when it is stored.
    pub updated_at_ms: i64,
}

impl Store {
    /// The marketplaces of a user, by name.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn marketplaces(&self, user: UserId) -> Result<Vec<MarketplaceRow>> {
        Ok(query_as(
            "SELECT name, source, document, hashes_json, updated_at_ms FROM marketplaces WHERE user_id = $1 ORDER BY name",
        )
        .bind(user)
        .fetch_all(self.database.reader())
        .await?)
    }

    /// Stores a marketplace, in place of the one with this name.
    ///
    /// # Errors
    /// [`Error::Invalid`] beyond 20 marketplaces, or for a document beyond 4 MiB.
    pub async fn put_marketplace(&self, user: UserId, market: &MarketplaceRow) -> Result<()> {
        let MarketplaceRow { name, source, document, hashes_json, updated_at_ms: _ } = market;
        check_length("source", source, PLUGIN_SOURCE_MAX_BYTES)?;
        check_length("marketplace", document, MARKETPLACE_MAX_BYTES)?;
        let mut transaction = self.database.write(Scope::User(user)).await?;
        let others: i64 = query_scalar("SELECT COUNT(*) FROM marketplaces WHERE user_id = $1 AND name <> $2")
            .bind(user)
            .bind(name.as_str())
            .fetch_one(&mut transaction)
            .await?;
        if others >= MARKETPLACES_PER_USER {
            let rule = format!("exceeds the limit: you already have {others}; remove one first");
            return Err(Error::Invalid { what: "marketplace", rule });
        }
        query(
            "INSERT INTO marketplaces (user_id, name, source, document, hashes_json, updated_at_ms)
             VALUES ($1, $2, $3, $4, $5, $6)
             ON CONFLICT (user_id, name) DO UPDATE SET source = excluded.source, document = excluded.document,
                 hashes_json = excluded.hashes_json, updated_at_ms = excluded.updated_at_ms",
        )
        .bind(user)
        .bind(name.as_str())
        .bind(source.as_str())
        .bind(document.as_str())
        .bind(hashes_json.as_str())
        .bind(self.now_ms())
        .execute(&mut transaction)
        .await?;
        transaction.commit().await?;
        Ok(())
    }

    /// Removes a marketplace; the plugins that came from it stay. Returns true if it existed.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn remove_marketplace(&self, user: UserId, name: &str) -> Result<bool> {
        let gone = query("DELETE FROM marketplaces WHERE user_id = $1 AND name = $2")
            .bind(user)
            .bind(name)
            .execute(self.database.writer(Scope::User(user)))
            .await?;
        Ok(gone.rows_affected() == 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Name, testing};

    fn market(name: &str, document: &str) -> MarketplaceRow {
        MarketplaceRow {
            name: name.to_owned(),
            source: "github:o/r".to_owned(),
            document: document.to_owned(),
            hashes_json: "{}".to_owned(),
            updated_at_ms: 0,
        }
    }

    #[tokio::test]
    async fn a_marketplace_is_its_users_and_is_replaced_by_name() {
        let store = testing::empty().await;
        let user = async |name| {
            store.add_user(&Name::parse(name).unwrap(), "correct horse", false).await.unwrap().id
        };
        let (ada, eve) = (user("ada").await, user("eve").await);
        store.put_marketplace(ada, &market("tools", "1")).await.unwrap();
        store.put_marketplace(ada, &market("tools", "2")).await.unwrap();
        let known = store.marketplaces(ada).await.unwrap();
        assert_eq!((known.len(), known[0].document.as_str()), (1, "2"));
        assert!(store.marketplaces(eve).await.unwrap().is_empty());
        assert!(!store.remove_marketplace(eve, "tools").await.unwrap());
        assert!(store.remove_marketplace(ada, "tools").await.unwrap());
        for at in 0..MARKETPLACES_PER_USER {
            store.put_marketplace(ada, &market(&format!("m{at}"), "")).await.unwrap();
        }
        assert!(store.put_marketplace(ada, &market("more", "")).await.unwrap_err().is_callers());
        store.put_marketplace(ada, &market("m0", "new")).await.unwrap();
        let long = market("m0", &"x".repeat(MARKETPLACE_MAX_BYTES + 1));
        assert!(store.put_marketplace(ada, &long).await.unwrap_err().is_callers());
    }
}
