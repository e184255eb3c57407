//! Accounts, for administrators; and a user's own password.

use store::{Name, User, UserId};

use crate::{Accounts, Error, Result};

/// An account to create.
#[derive(Clone, Copy)]
pub struct NewUser<'a> {
    /// The account's name.
    pub name: &'a str,
    /// The account's password: at least [`crate::limits::PASSWORD_MIN_CHARS`] characters.
    pub password: &'a str,
    /// True if the account's user administers the server.
    pub admin: bool,
}

/// Changes to an account; `None` leaves a value unchanged.
#[derive(Clone, Copy, Default)]
pub struct Change<'a> {
    /// Whether the account's user administers the server.
    pub admin: Option<bool>,
    /// The new password. Setting one ends the account's sessions and removes its keys.
    pub password: Option<&'a str>,
}

impl Accounts {
    /// All accounts, by name.
    ///
    /// # Errors
    /// [`Error::NotAdmin`]; [`Error::Internal`].
    pub async fn users(&self, by: &User) -> Result<Vec<User>> {
        check_admin(by)?;
        Ok(self.store.users().await?)
    }

    /// The account with this id, if it still exists.
    ///
    /// # Errors
    /// [`Error::Internal`].
    pub async fn user(&self, id: UserId) -> Result<Option<User>> {
        Ok(self.store.user_by_id(id).await?)
    }

    /// Creates an account.
    ///
    /// # Errors
    /// [`Error::NotAdmin`]; [`Error::Taken`]; [`Error::Invalid`] for a name or a password that violates the rules.
    pub async fn add_user(&self, by: &User, new: NewUser<'_>) -> Result<User> {
        check_admin(by)?;
        let name = Name::parse(new.name)?;
        let added = self.store.add_user(&name, new.password, new.admin).await;
        self.note_of_admin(by, "user.add", name.as_str(), added.is_ok()).await;
        Ok(added?)
    }

    /// Changes an account's role, its password, or both at once. There is always at least one administrator.
    ///
    /// # Errors
    /// [`Error::NotAdmin`]; [`Error::Yourself`], [`Error::OwnPassword`] and [`Error::LastAdmin`]; [`Error::NotFound`];
    /// [`Error::Invalid`] for a password that violates the rules.
    pub async fn change_user(&self, by: &User, name: &str, change: Change<'_>) -> Result<User> {
        check_admin(by)?;
        if name == by.name && change.admin == Some(false) {
            return Err(Error::Yourself { what: "take the administrator role from" });
        }
        if name == by.name && change.password.is_some() {
            return Err(Error::OwnPassword);
        }
        let changed = self.store.change_user(name, change.admin, change.password).await;
        let is_done = matches!(changed, Ok(Some(_)));
        if let Some(admin) = change.admin {
            let action = if admin { "user.admin" } else { "user.no_admin" };
            self.note_of_admin(by, action, name, is_done).await;
        }
        if change.password.is_some() {
            self.note_of_admin(by, "user.password", name, is_done).await;
        }
        changed?.ok_or(Error::LastAdmin)
    }

    /// Removes an account with all its data. Returns the account, so that its connections can be closed.
    ///
    /// # Errors
    /// [`Error::NotAdmin`]; [`Error::Yourself`] and [`Error::LastAdmin`]; [`Error::NotFound`].
    pub async fn remove_user(&self, by: &User, name: &str) -> Result<Option<User>> {
        check_admin(by)?;
        if name == by.name {
            return Err(Error::Yourself { what: "remove" });
        }
        let user = self.store.user_by_name(name).await?;
        let removed = self.store.remove_user_but_last_admin(name).await;
        self.note_of_admin(by, "user.remove", name, matches!(removed, Ok(true))).await;
        if removed? { Ok(user) } else { Err(Error::LastAdmin) }
    }

    /// Changes a user's password, given the current one. Ends all sessions and removes all keys.
    ///
    /// # Errors
    /// [`Error::WrongPassword`]; [`Error::Invalid`] for a new password that violates the rules.
    pub async fn change_own_password(&self, user: &User, current: &str, new: &str) -> Result<()> {
        let name = user.name.as_str();
        if self.store.verify_password(name, current).await?.is_none() {
            self.note(Some(name), "user.password", name, "forbidden").await;
            return Err(Error::WrongPassword("that is not your current password"));
        }
        self.store.set_password(name, new).await?;
        self.note(Some(name), "user.password", name, "ok").await;
        Ok(())
    }

    pub(crate) async fn note_of_admin(&self, by: &User, action: &str, target: &str, is_done: bool) {
        self.note(Some(&by.name), action, target, if is_done { "ok" } else { "refused" }).await;
    }
}

/// Returns [`Error::NotAdmin`] unless the user administers the server.
pub(crate) fn check_admin(by: &User) -> Result<()> {
    if by.admin { Ok(()) } else { Err(Error::NotAdmin) }
}
