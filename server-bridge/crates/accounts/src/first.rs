//! The first account. While there is no user, the server prints a secret when it starts. The person who presents it makes
//! the first administrator, once: anyone who can read the server's output could also make one with `sandbridge user add`.

use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use store::{Name, User};
use subtle::ConstantTimeEq;

use crate::limits::FIRST_SECRET_BYTES;
use crate::{Accounts, Error, Result};

/// The hash of the secret for the first account; `None` once that is made.
#[derive(Debug, Default)]
pub(crate) struct FirstSecret(Mutex<Option<[u8; 32]>>);

impl FirstSecret {
    fn begin(&self) -> String {
        let secret = URL_SAFE_NO_PAD.encode(rand::random::<[u8; FIRST_SECRET_BYTES]>());
        *self.lock() = Some(Sha256::digest(&secret).into());
        secret
    }

    /// True if this is the secret; compares in constant time.
    fn is_opened_by(&self, secret: &str) -> bool {
        let shown = Sha256::digest(secret);
        self.lock().is_some_and(|known| bool::from(known.as_slice().ct_eq(shown.as_slice())))
    }

    fn is_due(&self) -> bool {
        self.lock().is_some()
    }

    fn end(&self) {
        *self.lock() = None;
    }

    fn lock(&self) -> MutexGuard<'_, Option<[u8; 32]>> {
        // Each change is a single step, so the data stays consistent if another thread panics.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Accounts {
    /// The secret for the first account, to be shown once; `None` if there is an account.
    ///
    /// # Errors
    /// [`Error::Internal`].
    pub async fn begin_first(&self) -> Result<Option<String>> {
        Ok(if self.store.has_users().await? { None } else { Some(self.codes.first.begin()) })
    }

    /// True if the first account has yet to be made.
    ///
    /// # Errors
    /// [`Error::Internal`].
    pub async fn is_first_due(&self) -> Result<bool> {
        Ok(self.codes.first.is_due() && !self.store.has_users().await?)
    }

    /// True if this is the secret of the first account. The caller has to slow down wrong ones.
    pub fn is_first_secret(&self, secret: &str) -> bool {
        self.codes.first.is_opened_by(secret)
    }

    /// Makes the first account, an administrator's, for the holder of the secret, and records their address.
    ///
    /// # Errors
    /// [`Error::SetUpAlready`]; [`Error::WrongSecret`]; [`Error::Invalid`] for a name or a password against the rules.
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
        if !self.is_first_secret(secret) {
            self.note(None, "setup", &address.to_string(), "forbidden").await;
            return Err(Error::WrongSecret);
        }
        let name = Name::parse(name)?;
        let user = self.store.add_first_user(&name, password).await?.ok_or(Error::SetUpAlready)?;
        self.codes.first.end();
        self.store.remember_login_address(user.id, address).await?;
        self.note(Some(&user.name), "setup", &user.name, "ok").await;
        Ok(user)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_opens_until_the_first_account_is_made_and_the_next_one_replaces_it() {
        let known = FirstSecret::default();
        assert!(!known.is_due() && !known.is_opened_by(""));
        let first = known.begin();
        assert!(known.is_due() && known.is_opened_by(&first));
        let second = known.begin();
        assert!(!known.is_opened_by(&first) && known.is_opened_by(&second));
        assert!(!known.is_opened_by(&second[1..]) && !known.is_opened_by(""));
        known.end();
        assert!(!known.is_opened_by(&second));
    }
}
