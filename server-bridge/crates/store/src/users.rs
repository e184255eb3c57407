//! Accounts. The first account is an administrator's.

use crate::error::{Error, Result};
use crate::sql::{Scope, Transaction, query, query_as, query_scalar};
use crate::{Name, Store, User, UserId, groups};

impl Store {
    /// Adds a user. The first user of a store is an administrator, regardless of `admin`.
    ///
    /// # Errors
    /// [`Error::Taken`]; [`Error::Invalid`] for a password that is too short or too long.
    pub async fn add_user(&self, name: &Name, password: &str, admin: bool) -> Result<User> {
        let password_hash = self.passwords.hash(password).await?;
        let mut transaction = self.database.write(Scope::System).await?;
        let users: i64 = query_scalar("SELECT COUNT(*) FROM users").fetch_one(&mut transaction).await?;
        let user = query_as(
            "INSERT INTO users (name, password_hash, admin, created_at_ms) VALUES ($1, $2, $3, $4)
             RETURNING id, name, admin, created_at_ms",
        )
        .bind(name.as_str())
        .bind(password_hash)
        .bind(admin || users == 0)
        .bind(self.now_ms())
        .fetch_one(&mut transaction)
        .await
        .map_err(|error| Error::or_taken(error, "user", name))?;
        transaction.commit().await?;
        Ok(user)
    }

    /// True if there is at least one user.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn has_users(&self) -> Result<bool> {
        Ok(query_scalar("SELECT EXISTS (SELECT 1 FROM users)").fetch_one(self.database.reader()).await?)
    }

    /// Adds the first user, an administrator; `None` if a user exists already. Of two calls that race, one succeeds.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a password that is too short or too long.
    pub async fn add_first_user(&self, name: &Name, password: &str) -> Result<Option<User>> {
        let password_hash = self.passwords.hash(password).await?;
        Ok(query_as(
            "INSERT INTO users (name, password_hash, admin, created_at_ms)
             SELECT $1, $2, TRUE, $3 WHERE NOT EXISTS (SELECT 1 FROM users)
             RETURNING id, name, admin, created_at_ms",
        )
        .bind(name.as_str())
        .bind(password_hash)
        .bind(self.now_ms())
        .fetch_optional(self.database.writer(Scope::System))
        .await?)
    }

    /// Makes a user an administrator or an ordinary user, and sets another password as [`Store::set_password`] does; both or neither. `None` leaves
    /// a value unchanged. Returns `None` if no administrator would be left.
    ///
    /// # Errors
    /// [`Error::NotFound`]; [`Error::Invalid`] for a password that is too short or too long.
    pub async fn change_user(
        &self,
        name: &str,
        admin: Option<bool>,
        password: Option<&str>,
    ) -> Result<Option<User>> {
        let password_hash = match password {
            Some(password) => Some(self.passwords.hash(password).await?),
            None => None,
        };
        let mut transaction = self.database.write(Scope::System).await?;
        let user: Option<User> = query_as(
            "UPDATE users SET admin = COALESCE($1, admin), password_hash = COALESCE($2, password_hash) WHERE name = $3
             RETURNING id, name, admin, created_at_ms",
        )
        .bind(admin)
        .bind(&password_hash)
        .bind(name)
        .fetch_optional(&mut transaction)
        .await?;
        let user = user.ok_or_else(|| Error::not_found("user", name))?;
        if !has_admin(&mut transaction).await? {
            return Ok(None);
        }
        if password_hash.is_some() {
            end_logins(&mut transaction, user.id).await?;
        }
        transaction.commit().await?;
        Ok(Some(user))
    }

    /// Like [`Store::remove_user`], but does nothing if no administrator would be left; returns true if the user was removed.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub async fn remove_user_but_last_admin(&self, name: &str) -> Result<bool> {
        let mut transaction = self.database.write(Scope::System).await?;
        self.remove_in(&mut transaction, name).await?;
        if !has_admin(&mut transaction).await? {
            return Ok(false);
        }
        transaction.commit().await?;
        Ok(true)
    }

    /// Every user, by name.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn users(&self) -> Result<Vec<User>> {
        Ok(query_as("SELECT id, name, admin, created_at_ms FROM users ORDER BY name")
            .fetch_all(self.database.reader())
            .await?)
    }

    /// Sets another password for a user, ends all the user's sessions, and removes the keys of the user's programs, because anyone who knew the old
    /// password may have created some.
    ///
    /// # Errors
    /// [`Error::NotFound`]; [`Error::Invalid`] for a password that is too short or too long.
    pub async fn set_password(&self, name: &str, password: &str) -> Result<()> {
        let password_hash = self.passwords.hash(password).await?;
        let mut transaction = self.database.write(Scope::System).await?;
        let user: Option<UserId> =
            query_scalar("UPDATE users SET password_hash = $1 WHERE name = $2 RETURNING id")
                .bind(password_hash)
                .bind(name)
                .fetch_optional(&mut transaction)
                .await?;
        let user = user.ok_or_else(|| Error::not_found("user", name))?;
        end_logins(&mut transaction, user).await?;
        Ok(transaction.commit().await?)
    }

    /// Removes a user with all their data, except the audit trail. A group that no one else owns gets another owner.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub async fn remove_user(&self, name: &str) -> Result<()> {
        let mut transaction = self.database.write(Scope::System).await?;
        self.remove_in(&mut transaction, name).await?;
        Ok(transaction.commit().await?)
    }

    async fn remove_in(&self, transaction: &mut Transaction, name: &str) -> Result<()> {
        let user: Option<UserId> = query_scalar("SELECT id FROM users WHERE name = $1")
            .bind(name)
            .fetch_optional(&mut *transaction)
            .await?;
        let user = user.ok_or_else(|| Error::not_found("user", name))?;
        groups::pass_on(transaction, user, self.now_ms()).await?;
        query("DELETE FROM users WHERE id = $1").bind(user).execute(&mut *transaction).await?;
        Ok(())
    }

    /// The user with this name, if the password is correct. Takes as long for an unknown name as for a wrong password.
    ///
    /// # Errors
    /// [`Error::Database`], [`Error::PasswordHash`].
    pub async fn verify_password(&self, name: &str, password: &str) -> Result<Option<User>> {
        let known: Option<(UserId, String)> = query_as("SELECT id, password_hash FROM users WHERE name = $1")
            .bind(name)
            .fetch_optional(self.database.reader())
            .await?;
        let (user, stored) = known.unzip();
        let verified = self.passwords.verify(password, stored).await?;
        match user {
            Some(user) if verified => self.user_by_id(user).await,
            _ => Ok(None),
        }
    }

    /// The user with this id.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn user_by_id(&self, id: UserId) -> Result<Option<User>> {
        Ok(query_as("SELECT id, name, admin, created_at_ms FROM users WHERE id = $1")
            .bind(id)
            .fetch_optional(self.database.reader())
            .await?)
    }

    /// The user with this name.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn user_by_name(&self, name: &str) -> Result<Option<User>> {
        Ok(query_as("SELECT id, name, admin, created_at_ms FROM users WHERE name = $1")
            .bind(name)
            .fetch_optional(self.database.reader())
            .await?)
    }
}

/// Ends every login of this user, so that only the password logs in.
async fn end_logins(transaction: &mut Transaction, user: UserId) -> Result<()> {
    query("DELETE FROM sessions WHERE user_id = $1").bind(user).execute(&mut *transaction).await?;
    query("DELETE FROM api_keys WHERE user_id = $1").bind(user).execute(&mut *transaction).await?;
    Ok(())
}

async fn has_admin(transaction: &mut Transaction) -> Result<bool> {
    let found = query_scalar("SELECT EXISTS (SELECT 1 FROM users WHERE admin)");
    Ok(found.fetch_one(&mut *transaction).await?)
}
