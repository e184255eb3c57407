//! A user's active place, and their first steps.

use store::{User, UserId};

use crate::limits::NAME_MAX_CHARS;
use crate::{AccountEvent, Accounts, Error, Result};

/// The word in the trail for leaving the choice of place to the server.
const AUTO: &str = "auto";

impl Accounts {
    /// A user's active place: a runner's name or a place with its own name; `None` lets the server choose.
    ///
    /// # Errors
    /// [`Error::Internal`].
    pub async fn active_runner(&self, user: UserId) -> Result<Option<String>> {
        Ok(self.store.active_runner(user).await?)
    }

    /// Chooses a user's active place from the next command on: one of their runners, or one of `places`, which any user
    /// may choose. The router checks whether a command would run there now.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub async fn choose_runner(&self, user: &User, choice: Option<&str>, places: &[&str]) -> Result<()> {
        if let Some(name) = choice.filter(|name| !places.contains(name)) {
            let runners = self.store.runners(user.id).await?;
            if !runners.iter().any(|runner| runner.name == name) {
                let name = &name[..name.floor_char_boundary(NAME_MAX_CHARS)];
                return Err(Error::NotFound(format!(
                    "you have no runner {name:?}; see `sandbridge runner list`, or add it with `sandbridge runner add`"
                )));
            }
        }
        self.store.set_active_runner(user.id, choice).await?;
        self.note(Some(&user.name), "settings.active_runner", choice.unwrap_or(AUTO), "ok").await;
        self.tell(AccountEvent::ActiveRunner { user: user.id, choice: choice.map(str::to_owned) });
        Ok(())
    }

    /// True if the first steps are to be shown: to a user without chats, runners and models who has not postponed them.
    ///
    /// # Errors
    /// [`Error::Internal`].
    pub async fn is_welcome_due(&self, user: UserId) -> Result<bool> {
        Ok(self.store.is_welcome_due(user).await?)
    }

    /// Ends a user's first steps, which are not shown again.
    ///
    /// # Errors
    /// [`Error::Internal`].
    pub async fn end_welcome(&self, user: UserId) -> Result<()> {
        Ok(self.store.end_welcome(user).await?)
    }
}
