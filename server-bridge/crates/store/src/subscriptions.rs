//! Users' own models, and the model of a chat.

use sqlx::FromRow;

use crate::error::{Error, Result, check_length};
use crate::limits::{PROVIDER_KEY_MAX_BYTES, SETTING_VALUE_MAX_BYTES, SUBSCRIPTIONS_PER_USER};
use crate::sql::{Scope, query, query_as, query_scalar};
use crate::{ChatId, Name, Store, UserId};

/// The key of the setting for a user's chosen model, which answers in chats that have no model set.
pub const CHOSEN_MODEL: &str = "model";

/// A user's own model, without its secret key.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct Subscription {
    /// The name, unique among its user's subscriptions.
    pub name: String,
    /// The content, as JSON, written and read by the agent.
    pub document_json: String,
    /// When it was created, in Unix milliseconds.
    pub created_at_ms: i64,
    /// When it last changed, in Unix milliseconds.
    pub updated_at_ms: i64,
}

/// A change of a subscription's key.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum KeyChange<'a> {
    /// The key stays.
    Keep,
    /// The key is deleted.
    Remove,
    /// The key is replaced by this one.
    Set(&'a str),
}

impl std::fmt::Debug for KeyChange<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Keep => "Keep",
            Self::Remove => "Remove",
            Self::Set(_) => "Set(…)",
        })
    }
}

impl Store {
    /// Adds a subscription.
    ///
    /// # Errors
    /// [`Error::Taken`]; [`Error::Invalid`] beyond 32 subscriptions, 64 KiB of document or 4 KiB of key.
    pub async fn add_subscription(
        &self,
        user: UserId,
        name: &Name,
        document_json: &str,
        key: Option<&str>,
    ) -> Result<Subscription> {
        let key = self.sealed(user, name.as_str(), document_json, key)?;
        let mut transaction = self.database.write(Scope::User(user)).await?;
        let held: i64 = query_scalar("SELECT COUNT(*) FROM subscriptions WHERE user_id = $1")
            .bind(user)
            .fetch_one(&mut transaction)
            .await?;
        if held >= SUBSCRIPTIONS_PER_USER {
            return Err(Error::Invalid {
                what: "subscription",
                rule: format!("exceeds the limit: you already have {held}; remove one first"),
            });
        }
        let added = query_as(
            "INSERT INTO subscriptions (user_id, name, document_json, key_sealed, created_at_ms, updated_at_ms)
             VALUES ($1, $2, $3, $4, $5, $5) RETURNING name, document_json, created_at_ms, updated_at_ms",
        )
        .bind(user)
        .bind(name.as_str())
        .bind(document_json)
        .bind(key)
        .bind(self.now_ms())
        .fetch_one(&mut transaction)
        .await
        .map_err(|error| Error::or_taken(error, "subscription", name))?;
        transaction.commit().await?;
        Ok(added)
    }

    /// Changes the document or the key of a subscription.
    ///
    /// # Errors
    /// [`Error::NotFound`], also for another user's; [`Error::Invalid`] as for [`Store::add_subscription`].
    pub async fn change_subscription(
        &self,
        user: UserId,
        name: &str,
        document_json: &str,
        key: KeyChange<'_>,
    ) -> Result<Subscription> {
        let (keeps, key) = match key {
            KeyChange::Keep => (true, None),
            KeyChange::Remove => (false, None),
            KeyChange::Set(key) => (false, Some(key)),
        };
        let key = self.sealed(user, name, document_json, key)?;
        query_as(
            "UPDATE subscriptions SET document_json = $1, updated_at_ms = $2,
                key_sealed = CASE WHEN $3 THEN key_sealed ELSE $4 END
             WHERE user_id = $5 AND name = $6 RETURNING name, document_json, created_at_ms, updated_at_ms",
        )
        .bind(document_json)
        .bind(self.now_ms())
        .bind(keeps)
        .bind(key)
        .bind(user)
        .bind(name)
        .fetch_optional(self.database.writer(Scope::User(user)))
        .await?
        .ok_or_else(|| Error::not_found("subscription", name))
    }

    /// Removes a subscription and its key. If it was the user's chosen model, no model is chosen afterwards.
    ///
    /// # Errors
    /// [`Error::NotFound`], also for another user's.
    pub async fn remove_subscription(&self, user: UserId, name: &str) -> Result<()> {
        let mut transaction = self.database.write(Scope::User(user)).await?;
        let removed = query("DELETE FROM subscriptions WHERE user_id = $1 AND name = $2")
            .bind(user)
            .bind(name)
            .execute(&mut transaction)
            .await?;
        if removed.rows_affected() == 0 {
            return Err(Error::not_found("subscription", name));
        }
        // A choice names a subscription, or one of its models after a slash.
        query(
            "DELETE FROM settings WHERE user_id = $1 AND name = $2
                AND (value = $3 OR SUBSTR(value, 1, LENGTH($3) + 1) = $3 || '/')",
        )
        .bind(user)
        .bind(CHOSEN_MODEL)
        .bind(name)
        .execute(&mut transaction)
        .await?;
        transaction.commit().await?;
        Ok(())
    }

    /// A user's subscriptions, the oldest first.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn subscriptions(&self, user: UserId) -> Result<Vec<Subscription>> {
        Ok(query_as(
            "SELECT name, document_json, created_at_ms, updated_at_ms FROM subscriptions
             WHERE user_id = $1 ORDER BY id",
        )
        .bind(user)
        .fetch_all(self.database.reader())
        .await?)
    }

    /// The key of a subscription, which only its provider may see; `None` if it has none.
    ///
    /// # Errors
    /// [`Error::NotFound`], also for another user's; [`Error::Sealed`] if it was changed or moved.
    pub async fn subscription_key(&self, user: UserId, name: &str) -> Result<Option<String>> {
        let stored: Option<Option<String>> =
            query_scalar("SELECT key_sealed FROM subscriptions WHERE user_id = $1 AND name = $2")
                .bind(user)
                .bind(name)
                .fetch_optional(self.database.reader())
                .await?;
        let stored = stored.ok_or_else(|| Error::not_found("subscription", name))?;
        stored.map(|stored| self.sealer()?.open(&place(user, name), &stored)).transpose()
    }

    /// The keys of all of a user's subscriptions, which only their providers may see; those that cannot be opened are left out.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn subscription_keys(&self, user: UserId) -> Result<Vec<String>> {
        let stored: Vec<(String, String)> = query_as(
            "SELECT name, key_sealed FROM subscriptions WHERE user_id = $1 AND key_sealed IS NOT NULL ORDER BY id",
        )
        .bind(user)
        .fetch_all(self.database.reader())
        .await?;
        let open =
            |(name, sealed): (String, String)| self.sealer().ok()?.open(&place(user, &name), &sealed).ok();
        Ok(stored.into_iter().filter_map(open).collect())
    }

    /// The model that was chosen for a user's conversation.
    ///
    /// # Errors
    /// [`Error::NotFound`] for a conversation that does not exist or belongs to another user.
    pub async fn chat_model(&self, user: UserId, chat: &ChatId) -> Result<Option<String>> {
        query_scalar("SELECT model FROM chats WHERE id = $1 AND user_id = $2")
            .bind(chat)
            .bind(user)
            .fetch_optional(self.database.reader())
            .await?
            .ok_or_else(|| Error::not_found("chat", chat))
    }

    /// Chooses the model of a user's conversation, or, with `None`, lets it follow its user's choice again. The agent checks whether the model
    /// exists.
    ///
    /// # Errors
    /// [`Error::NotFound`] as for [`Store::chat_model`].
    pub async fn set_chat_model(&self, user: UserId, chat: &ChatId, model: Option<&str>) -> Result<()> {
        check_length("model's name", model.unwrap_or_default(), SETTING_VALUE_MAX_BYTES)?;
        let set = query("UPDATE chats SET model = $1 WHERE id = $2 AND user_id = $3")
            .bind(model)
            .bind(chat)
            .bind(user)
            .execute(self.database.writer(Scope::User(user)))
            .await?;
        if set.rows_affected() == 1 { Ok(()) } else { Err(Error::not_found("chat", chat)) }
    }

    fn sealed(
        &self,
        user: UserId,
        name: &str,
        document_json: &str,
        key: Option<&str>,
    ) -> Result<Option<String>> {
        check_length("subscription", document_json, SETTING_VALUE_MAX_BYTES)?;
        check_length("key", key.unwrap_or_default(), PROVIDER_KEY_MAX_BYTES)?;
        key.map(|key| self.sealer()?.seal(&place(user, name), key)).transpose()
    }
}

/// The place to which a key is bound when it is sealed: a key that was sealed for one model of one user cannot be opened for another one.
pub(crate) fn place(user: UserId, name: &str) -> String {
    format!("subscription/{user}/{name}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    async fn user(store: &Store, name: &str) -> UserId {
        store.add_user(&Name::parse(name).unwrap(), "correct horse", false).await.unwrap().id
    }

    #[tokio::test]
    async fn a_subscription_is_its_users_own_and_its_key_lies_sealed() {
        let store = testing::empty().await;
        let (ada, eve) = (user(&store, "ada").await, user(&store, "eve").await);
        let name = Name::parse("mine").unwrap();
        store.add_subscription(ada, &name, "{}", Some("sk-secret")).await.unwrap();
        let again = store.add_subscription(ada, &name, "{}", None).await;
        assert!(matches!(again, Err(Error::Taken { .. })), "{again:?}");
        assert_eq!(store.subscription_key(ada, "mine").await.unwrap().as_deref(), Some("sk-secret"));
        assert_eq!(store.subscription_keys(ada).await.unwrap(), ["sk-secret"]);
        assert_eq!(store.subscription_keys(eve).await.unwrap(), [] as [&str; 0]);
        let stored: String = query_scalar("SELECT key_sealed FROM subscriptions")
            .fetch_one(store.database.reader())
            .await
            .unwrap();
        assert!(!stored.contains("secret"), "{stored}");
        assert!(store.subscriptions(eve).await.unwrap().is_empty());
        assert!(matches!(store.subscription_key(eve, "mine").await, Err(Error::NotFound { .. })));
        let change = store.change_subscription(eve, "mine", "{}", KeyChange::Remove).await;
        assert!(matches!(change, Err(Error::NotFound { .. })));
        assert!(matches!(store.remove_subscription(eve, "mine").await, Err(Error::NotFound { .. })));
        store.change_subscription(ada, "mine", "{1}", KeyChange::Keep).await.unwrap();
        assert_eq!(store.subscription_key(ada, "mine").await.unwrap().as_deref(), Some("sk-secret"));
        store.change_subscription(ada, "mine", "{}", KeyChange::Set("sk-new")).await.unwrap();
        assert_eq!(store.subscription_key(ada, "mine").await.unwrap().as_deref(), Some("sk-new"));
        store.change_subscription(ada, "mine", "{}", KeyChange::Remove).await.unwrap();
        assert_eq!(store.subscription_key(ada, "mine").await.unwrap(), None);
        assert_eq!(store.subscription_keys(ada).await.unwrap(), [] as [&str; 0]);
        store.remove_subscription(ada, "mine").await.unwrap();
        assert!(store.subscriptions(ada).await.unwrap().is_empty());
    }

    #[tokio::test]
    async fn a_removed_subscription_is_not_the_chosen_model_any_more() {
        let store = testing::empty().await;
        let ada = user(&store, "ada").await;
        for (choice, left) in [
            ("mine", None),
            ("mine/swift", None),
            ("mine2", Some("mine2")),
            ("mine2/mine", Some("mine2/mine")),
            ("other/mine/x", Some("other/mine/x")),
        ] {
            store.add_subscription(ada, &Name::parse("mine").unwrap(), "{}", None).await.unwrap();
            store.set_setting(ada, CHOSEN_MODEL, Some(choice)).await.unwrap();
            store.remove_subscription(ada, "mine").await.unwrap();
            assert_eq!(store.setting(ada, CHOSEN_MODEL).await.unwrap().as_deref(), left, "{choice}");
        }
    }

    #[tokio::test]
    async fn a_user_has_32_subscriptions_of_bounded_size() {
        let store = testing::empty().await;
        let ada = user(&store, "ada").await;
        for number in 0..SUBSCRIPTIONS_PER_USER {
            let name = Name::parse(&format!("s{number}")).unwrap();
            store.add_subscription(ada, &name, "{}", None).await.unwrap();
        }
        let more = Name::parse("more").unwrap();
        let refused = store.add_subscription(ada, &more, "{}", None).await;
        assert!(matches!(refused, Err(Error::Invalid { .. })), "{refused:?}");
        let long = "x".repeat(PROVIDER_KEY_MAX_BYTES + 1);
        let refused = store.change_subscription(ada, "s0", "{}", KeyChange::Set(&long)).await;
        assert!(matches!(refused, Err(Error::Invalid { .. })), "{refused:?}");
    }

    #[tokio::test]
    async fn a_chat_keeps_its_model() {
        let store = testing::empty().await;
        let (ada, eve) = (user(&store, "ada").await, user(&store, "eve").await);
        let chat = store.create_chat(ada).await.unwrap().id;
        assert_eq!(store.chat_model(ada, &chat).await.unwrap(), None);
        store.set_chat_model(ada, &chat, Some("mine/swift")).await.unwrap();
        assert_eq!(store.chat_model(ada, &chat).await.unwrap().as_deref(), Some("mine/swift"));
        assert!(matches!(store.chat_model(eve, &chat).await, Err(Error::NotFound { .. })));
        assert!(matches!(store.set_chat_model(eve, &chat, None).await, Err(Error::NotFound { .. })));
    }
}
