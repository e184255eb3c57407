//! Addresses from which users logged in to their accounts: other people's wrong guesses do not lock the owner out at these addresses.

use std::net::IpAddr;

use crate::error::Result;
use crate::limits::{LOGIN_ADDRESS_LIFETIME_MS, LOGIN_ADDRESSES_PER_USER};
use crate::sql::{Scope, query, query_scalar};
use crate::{Store, UserId};

impl Store {
    /// True if somebody logged in to the account from this address within the last 90 days; false for an unknown account.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn is_login_address(&self, user_name: &str, address: IpAddr) -> Result<bool> {
        let found: Option<i64> = query_scalar(
            "SELECT a.used_at_ms FROM login_addresses a JOIN users u ON u.id = a.user_id
             WHERE u.name = $1 AND a.address = $2 AND a.used_at_ms > $3",
        )
        .bind(user_name)
        .bind(address.to_string())
        .bind(self.now_ms() - LOGIN_ADDRESS_LIFETIME_MS)
        .fetch_optional(self.database.reader())
        .await?;
        Ok(found.is_some())
    }

    /// Records a login to the account from this address; keeps the 16 addresses that were used last.
    ///
    /// # Errors
    /// [`crate::Error::Database`], also if the user was removed concurrently.
    pub async fn remember_login_address(&self, user: UserId, address: IpAddr) -> Result<()> {
        let mut transaction = self.database.write(Scope::Login(user)).await?;
        query(
            "INSERT INTO login_addresses (user_id, address, used_at_ms) VALUES ($1, $2, $3)
             ON CONFLICT (user_id, address) DO UPDATE SET used_at_ms = excluded.used_at_ms",
        )
        .bind(user)
        .bind(address.to_string())
        .bind(self.now_ms())
        .execute(&mut transaction)
        .await?;
        query(
            "DELETE FROM login_addresses WHERE user_id = $1 AND address NOT IN
             (SELECT address FROM login_addresses WHERE user_id = $1 ORDER BY used_at_ms DESC, address LIMIT $2)",
        )
        .bind(user)
        .bind(LOGIN_ADDRESSES_PER_USER)
        .execute(&mut transaction)
        .await?;
        transaction.commit().await?;
        Ok(())
    }
}
