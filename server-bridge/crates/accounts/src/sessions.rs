//! Logging in and out, and checking tokens and keys.

use std::net::IpAddr;

use store::{API_KEY_PREFIX, ApiKey, Secret, User};

use crate::limits::{LOCKED_LOGIN_NOTED_MS, LOGIN_NAME_BYTES};
use crate::{Accounts, Error, Result};

/// A session that has just begun; its secrets can be read only now.
#[derive(Clone, Debug)]
pub struct Begun {
    /// The token for the Authorization header.
    pub token: Secret,
    /// A page's second secret, which no script can read.
    pub cookie: Option<Secret>,
    /// How long the session lasts, in seconds.
    pub lasts_s: i64,
}

/// The holder of a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedIn {
    /// The user of the session or key.
    pub user: User,
    /// The program's key, if the token is one.
    pub key: Option<ApiKey>,
    /// For a page's session: when its user last gave their password, in Unix milliseconds.
    pub page_confirmed_at_ms: Option<i64>,
}

impl Accounts {
    /// True if this account was logged in to from this address before.
    ///
    /// # Errors
    /// [`Error::Internal`].
    pub async fn is_known_address(&self, name: &str, address: IpAddr) -> Result<bool> {
        Ok(self.store.is_login_address(name, address).await?)
    }

    /// Checks a login and records its address. [`Accounts::begin_session`] begins the session.
    ///
    /// # Errors
    /// [`Error::WrongLogin`]; [`Error::Internal`].
    pub async fn log_in(&self, name: &str, password: &str, address: IpAddr) -> Result<User> {
        let Some(user) = self.store.verify_password(name, password).await? else {
            let shown = &name[..name.floor_char_boundary(LOGIN_NAME_BYTES)];
            self.note(Some(shown), "login", &address.to_string(), "unauthorized").await;
            return Err(Error::WrongLogin);
        };
        self.store.remember_login_address(user.id, address).await?;
        self.note(Some(&user.name), "login", &address.to_string(), "ok").await;
        Ok(user)
    }

    /// Records that a user's logins are refused after too many wrong passwords; at most once an hour, and only for accounts that exist.
    ///
    /// # Errors
    /// [`Error::Internal`].
    pub(crate) async fn note_locked_login(&self, name: &str, address: IpAddr) -> Result<()> {
        let Some(user) = self.store.user_by_name(name).await? else { return Ok(()) };
        if !self.store.is_login_locked(user.id, self.now_ms() - LOCKED_LOGIN_NOTED_MS).await? {
            self.note(Some(&user.name), "login.locked", &address.to_string(), "rate_limited").await;
        }
        Ok(())
    }

    /// Begins a session of an authenticated user; a page's session has a cookie as well.
    ///
    /// # Errors
    /// [`Error::Internal`], also if the user was removed in the meantime.
    pub async fn begin_session(&self, user: &User, is_page: bool) -> Result<Begun> {
        let session = if is_page {
            self.store.create_browser_session(user.id).await?
        } else {
            self.store.create_session(user.id).await?
        };
        let lasts_s = (session.expires_at_ms - self.now_ms()) / 1000;
        Ok(Begun { token: session.token, cookie: session.cookie, lasts_s })
    }

    /// The user of this session or key; `None` if it is unknown or has ended, or if it is a page's session and `cookies` does not
    /// contain its cookie.
    ///
    /// # Errors
    /// [`Error::Internal`].
    pub async fn signed_in(&self, token: &str, cookies: &[&str]) -> Result<Option<SignedIn>> {
        if token.starts_with(API_KEY_PREFIX) {
            let found = self.store.key_user(token).await?;
            return Ok(found.map(|(user, key)| SignedIn {
                user,
                key: Some(key),
                page_confirmed_at_ms: None,
            }));
        }
        Ok(self.store.session(token, cookies).await?.map(|session| SignedIn {
            user: session.user,
            key: None,
            page_confirmed_at_ms: session.is_browser.then_some(session.confirmed_at_ms),
        }))
    }

    /// True if a session or a key that was presented before is still valid.
    ///
    /// # Errors
    /// [`Error::Internal`].
    pub async fn still_opens(&self, token: &str) -> Result<bool> {
        Ok(if token.starts_with(API_KEY_PREFIX) {
            self.store.key_user(token).await?.is_some()
        } else {
            self.store.session_user(token).await?.is_some()
        })
    }

    /// Checks a password, and records that the user of a session has confirmed it.
    ///
    /// # Errors
    /// [`Error::WrongPassword`]; [`Error::Internal`].
    pub async fn confirm(&self, user: &User, token: &str, password: &str) -> Result<()> {
        let name = user.name.as_str();
        if self.store.verify_password(name, password).await?.is_none() {
            self.note(Some(name), "session.confirm", name, "forbidden").await;
            return Err(Error::WrongPassword("that is not your password"));
        }
        self.store.confirm_session(token).await?;
        self.note(Some(name), "session.confirm", name, "ok").await;
        Ok(())
    }

    /// Ends a session; its token stops being valid.
    ///
    /// # Errors
    /// [`Error::Internal`].
    pub async fn log_out(&self, token: &str) -> Result<()> {
        Ok(self.store.delete_session(token).await?)
    }
}
