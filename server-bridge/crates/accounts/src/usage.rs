//! Tokens and cost of a user's models.

use store::{ChatId, UsageRow, UserId};

use crate::{Accounts, Result};

/// The usage of models, by day and model, the newest day first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Usage {
    /// The current day by the store's clock, in whole days since 1970, UTC.
    pub today: i64,
    /// One row for each model and day.
    pub rows: Vec<UsageRow>,
}

impl Accounts {
    /// The usage of a user's models in the last `days` days, including today: in one chat (even a removed one), or in all.
    ///
    /// # Errors
    /// [`crate::Error::Internal`].
    pub async fn usage(&self, user: UserId, chat: Option<&ChatId>, days: u16) -> Result<Usage> {
        let today = self.store.today();
        let rows = self.store.usage(user, chat, today - i64::from(days) + 1).await?;
        Ok(Usage { today, rows })
    }
}
