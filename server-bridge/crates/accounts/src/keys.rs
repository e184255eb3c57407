//! API keys for programs.

use store::{ApiKey, KeyScope, Name, Secret, User};

use crate::{Accounts, Result};

/// A key to create.
#[derive(Clone, Copy, Debug)]
pub struct NewKey<'a> {
    /// The key's name, unique among its user's keys.
    pub name: &'a str,
    /// The key's permissions.
    pub scope: KeyScope,
    /// The key's lifetime, in milliseconds; unlimited if `None`.
    pub ttl_ms: Option<i64>,
}

impl Accounts {
    /// A user's keys, without their secrets.
    ///
    /// # Errors
    /// [`crate::Error::Internal`].
    pub async fn keys(&self, user: &User) -> Result<Vec<ApiKey>> {
        Ok(self.store.keys(user.id).await?)
    }

    /// Creates a key. Its secret can be read only now.
    ///
    /// # Errors
    /// [`crate::Error::Taken`]; [`crate::Error::Invalid`] for a name or a time that violates the rules, and for too many keys.
    pub async fn add_key(&self, user: &User, new: NewKey<'_>) -> Result<(ApiKey, Secret)> {
        let name = Name::parse(new.name)?;
        let made = self.store.add_key(user.id, &name, new.scope, new.ttl_ms).await?;
        let target = format!("{name} ({})", new.scope.as_str());
        self.note(Some(&user.name), "key.add", &target, "ok").await;
        Ok(made)
    }

    /// Removes a key; it stops being valid at once.
    ///
    /// # Errors
    /// [`crate::Error::NotFound`].
    pub async fn remove_key(&self, user: &User, name: &str) -> Result<()> {
        self.store.remove_key(user.id, name).await?;
        self.note(Some(&user.name), "key.remove", name, "ok").await;
        Ok(())
    }
}
