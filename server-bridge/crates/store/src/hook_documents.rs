//! A user's own hooks, as one document.

use crate::error::{Result, check_length};
use crate::limits::HOOK_DOCUMENT_MAX_BYTES;
use crate::sql::{Scope, query, query_scalar};
use crate::{Store, UserId};

impl Store {
    /// A user's document of hooks.
    ///
    /// # Errors
    /// [`Error::Database`](crate::Error::Database).
    pub async fn hook_document(&self, user: UserId) -> Result<Option<String>> {
        Ok(query_scalar("SELECT text FROM hook_documents WHERE user_id = $1")
            .bind(user)
            .fetch_optional(self.database.reader())
            .await?)
    }

    /// Replaces a user's document of hooks; `None` removes it.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) for a text beyond 256 KiB.
    pub async fn set_hook_document(&self, user: UserId, text: Option<&str>) -> Result<()> {
        let Some(text) = text else {
            query("DELETE FROM hook_documents WHERE user_id = $1")
                .bind(user)
                .execute(self.database.writer(Scope::User(user)))
                .await?;
            return Ok(());
        };
        check_length("document of hooks", text, HOOK_DOCUMENT_MAX_BYTES)?;
        query(
            "INSERT INTO hook_documents (user_id, text, updated_at_ms) VALUES ($1, $2, $3)
             ON CONFLICT (user_id) DO UPDATE SET text = excluded.text, updated_at_ms = excluded.updated_at_ms",
        )
        .bind(user)
        .bind(text)
        .bind(self.now_ms())
        .execute(self.database.writer(Scope::User(user)))
        .await?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Name;
    use crate::testing;

    #[tokio::test]
    async fn a_document_is_its_users_and_is_replaced_whole() {
        let store = testing::empty().await;
        let (ada, eve) = (Name::parse("ada").unwrap(), Name::parse("eve").unwrap());
        let ada = store.add_user(&ada, "correct horse", false).await.unwrap().id;
        let eve = store.add_user(&eve, "correct horse", false).await.unwrap().id;
        for text in ["{}", "{\"hooks\": {}}"] {
            store.set_hook_document(ada, Some(text)).await.unwrap();
        }
        assert_eq!(store.hook_document(ada).await.unwrap().as_deref(), Some("{\"hooks\": {}}"));
        assert_eq!(store.hook_document(eve).await.unwrap(), None);
        let long = "x".repeat(HOOK_DOCUMENT_MAX_BYTES + 1);
        assert!(store.set_hook_document(ada, Some(&long)).await.is_err());
        store.set_hook_document(ada, None).await.unwrap();
        assert_eq!(store.hook_document(ada).await.unwrap(), None);
    }
}
