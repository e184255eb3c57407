//! The first account. While there is no user, the server prints a secret when it starts. A person who presents it can create
//! the first administrator, once: anyone who can read the server's output could also create one with `sandbridge user add`. Each
//! node prints its own secret, and every node accepts all of these secrets.

use std::net::IpAddr;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use store::{Name, NewOneTime, OneTimeKind, User};

use crate::limits::{FIRST_SECRET_BYTES, FIRST_SECRET_LIFETIME};
use crate::{Accounts, Error, Result};

impl Accounts {
    /// Creates the secret for the first account, to be shown once; `None` if there is an account. It replaces the previous secret of the
    /// same `server`, which is the node's URL, or empty for a single server.
    ///
    /// # Errors
    /// [`Error::Internal`].
    pub async fn begin_first(&self, server: &str) -> Result<Option<String>> {
        if self.store.has_users().await? {
            return Ok(None);
        }
        let secret = URL_SAFE_NO_PAD.encode(rand::random::<[u8; FIRST_SECRET_BYTES]>());
        let kind = OneTimeKind::FirstAccount;
        self.store.forget_one_time(kind, Some(server)).await?;
        let new = NewOneTime {
            kind,
            secret: &secret,
            owner: server,
            document: "",
            lifetime: FIRST_SECRET_LIFETIME,
            // Each server has one secret, so there is no limit.
            most: i64::MAX,
            most_of_owner: i64::MAX,
        };
        self.store.put_one_time(&new).await?;
        Ok(Some(secret))
    }

    /// True if the first account has yet to be created.
    ///
    /// # Errors
    /// [`Error::Internal`].
    pub async fn is_first_due(&self) -> Result<bool> {
        Ok(!self.store.has_users().await? && self.store.has_one_time(OneTimeKind::FirstAccount).await?)
    }

    /// True if this is a secret for the first account. The caller has to limit the rate of wrong secrets.
    ///
    /// # Errors
    /// [`Error::Internal`].
    pub async fn is_first_secret(&self, secret: &str) -> Result<bool> {
        Ok(self.store.find_one_time(OneTimeKind::FirstAccount, secret).await?.is_some())
    }

    /// Creates the first account, an administrator's, for the holder of the secret, and records their address.
    ///
    /// # Errors
    /// [`Error::SetUpAlready`]; [`Error::WrongSecret`]; [`Error::Invalid`] for a name or a password that violates the rules.
    pub async fn make_first(
        &self,
        secret: &str,
        name: &str,
        password: &str,
        address: IpAddr,
    ) -> Result<User> {
        if self.store.has_users().await? {
            return Err(Error::SetUpAlready);
        }
        // The secret is used up only when the account is created, so that it remains valid after a refused name.
        if !self.is_first_secret(secret).await? {
            self.note(None, "setup", &address.to_string(), "forbidden").await;
            return Err(Error::WrongSecret);
        }
        let name = Name::parse(name)?;
        let user = self.store.add_first_user(&name, password).await?.ok_or(Error::SetUpAlready)?;
        self.store.forget_one_time(OneTimeKind::FirstAccount, None).await?;
        self.store.remember_login_address(user.id, address).await?;
        self.note(Some(&user.name), "setup", &user.name, "ok").await;
        Ok(user)
    }
}
