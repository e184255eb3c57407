//! OAuth grants: tokens that the providers of MCP servers gave to users.

use crate::error::{Result, check_length};
use crate::limits::OAUTH_GRANT_MAX_BYTES;
use crate::sql::{Scope, query, query_as, query_scalar};
use crate::{Store, UserId};

/// The place to which a grant is bound when it is sealed.
pub(crate) fn place(user: UserId, server: &str) -> String {
    format!("oauth-grant/{user}/{server}")
}

impl Store {
    /// A user's grant for a server with this definition, as JSON; `None` if there is none, or if the key that sealed it was lost.
    ///
    /// # Errors
    /// [`Error::Database`](crate::Error::Database); [`Error::Locked`](crate::Error::Locked); [`Error::Sealed`](crate::Error::Sealed).
    pub async fn oauth_grant(&self, user: UserId, server: &str, hash: &str) -> Result<Option<String>> {
        let sealed: Option<Option<String>> = query_scalar(
            "SELECT grant_sealed FROM oauth_grants WHERE user_id = $1 AND server = $2 AND hash = $3",
        )
        .bind(user)
        .bind(server)
        .bind(hash)
        .fetch_optional(self.database.latest())
        .await?;
        let place = place(user, server);
        sealed.flatten().map(|sealed| self.sealer()?.open(&place, &sealed)).transpose()
    }

    /// The servers that a user has grants for, each with the hash of its definition.
    ///
    /// # Errors
    /// [`Error::Database`](crate::Error::Database).
    pub async fn oauth_grants(&self, user: UserId) -> Result<Vec<(String, String)>> {
        Ok(query_as(
            "SELECT server, hash FROM oauth_grants WHERE user_id = $1 AND grant_sealed IS NOT NULL ORDER BY server",
        )
        .bind(user)
        .fetch_all(self.database.reader())
        .await?)
    }

    /// Replaces a user's grant for a server.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) beyond 64 KiB; [`Error::Locked`](crate::Error::Locked).
    pub async fn put_oauth_grant(&self, user: UserId, server: &str, hash: &str, grant: &str) -> Result<()> {
        check_length("login", grant, OAUTH_GRANT_MAX_BYTES)?;
        let sealed = self.sealer()?.seal(&place(user, server), grant)?;
        query(
            "INSERT INTO oauth_grants (user_id, server, hash, grant_sealed, updated_at_ms) VALUES ($1, $2, $3, $4, $5)
             ON CONFLICT (user_id, server) DO UPDATE SET hash = excluded.hash, grant_sealed = excluded.grant_sealed,
                 updated_at_ms = excluded.updated_at_ms",
        )
        .bind(user)
        .bind(server)
        .bind(hash)
        .bind(sealed)
        .bind(self.now_ms())
        .execute(self.database.writer(Scope::User(user)))
        .await?;
        Ok(())
    }

    /// Removes a user's grant for a server; returns true if there was one.
    ///
    /// # Errors
    /// [`Error::Database`](crate::Error::Database).
    pub async fn remove_oauth_grant(&self, user: UserId, server: &str) -> Result<bool> {
        let gone = query("DELETE FROM oauth_grants WHERE user_id = $1 AND server = $2")
            .bind(user)
            .bind(server)
            .execute(self.database.writer(Scope::User(user)))
            .await?;
        Ok(gone.rows_affected() == 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Name;
    use crate::testing;

    #[tokio::test]
    async fn a_grant_is_of_one_user_and_one_definition_and_lies_sealed() {
        let store = testing::empty().await;
        let (ada, eve) = (Name::parse("ada").unwrap(), Name::parse("eve").unwrap());
        let ada = store.add_user(&ada, "correct horse", false).await.unwrap().id;
        let eve = store.add_user(&eve, "correct horse", false).await.unwrap().id;
        store.put_oauth_grant(ada, "far", "ab", "{\"token\":\"s3cret\"}").await.unwrap();
        let of = |user, hash| store.oauth_grant(user, "far", hash);
        assert_eq!(of(ada, "ab").await.unwrap().as_deref(), Some("{\"token\":\"s3cret\"}"));
        assert_eq!((of(ada, "cd").await.unwrap(), of(eve, "ab").await.unwrap()), (None, None));
        let stored: String = query_scalar("SELECT grant_sealed FROM oauth_grants")
            .fetch_one(store.database.reader())
            .await
            .unwrap();
        assert!(!stored.contains("s3cret"));
        store.put_oauth_grant(ada, "far", "cd", "{}").await.unwrap();
        assert_eq!(of(ada, "ab").await.unwrap(), None, "the definition changed");
        assert_eq!(store.oauth_grants(ada).await.unwrap(), [("far".to_owned(), "cd".to_owned())]);
        assert!(!store.remove_oauth_grant(eve, "far").await.unwrap());
        assert!(store.remove_oauth_grant(ada, "far").await.unwrap());
        assert!(store.oauth_grants(ada).await.unwrap().is_empty());
    }
}
