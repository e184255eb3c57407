//! Codes that sign a page in without a password: a logged-in program requests one, and a page exchanges it for a session. A code
//! is valid once, for a short time, and only while the session that requested it lasts.

use std::net::IpAddr;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use store::{NewOneTime, OneTimeKind, User};

use crate::limits::{SIGN_IN_BYTES, SIGN_IN_LIFETIME, SIGN_INS};
use crate::{Accounts, Error, Result};

impl Accounts {
    /// Issues a code that signs a page in as the user of this session, once, within [`SIGN_IN_LIFETIME`].
    ///
    /// # Errors
    /// [`Error::TooManyCodes`]; [`Error::Internal`].
    pub async fn issue_sign_in(&self, user: &User, token: &str) -> Result<String> {
        let code = URL_SAFE_NO_PAD.encode(rand::random::<[u8; SIGN_IN_BYTES]>());
        let new = NewOneTime {
            kind: OneTimeKind::SignIn,
            secret: &code,
            owner: token,
            document: token,
            lifetime: SIGN_IN_LIFETIME,
            most: SIGN_INS,
            most_of_owner: SIGN_INS,
        };
        if !self.store.put_one_time(&new).await? {
            return Err(Error::TooManyCodes);
        }
        self.note(Some(&user.name), "sign_in.issue", &user.name, "ok").await;
        Ok(code)
    }

    /// True if this code would sign a page in. The caller has to limit the rate of wrong codes.
    ///
    /// # Errors
    /// [`Error::Internal`].
    pub async fn is_sign_in(&self, code: &str) -> Result<bool> {
        Ok(self.store.find_one_time(OneTimeKind::SignIn, code).await?.is_some())
    }

    /// Redeems this code, presented from this address: returns the user whom it signs in, and uses the code up.
    ///
    /// # Errors
    /// [`Error::WrongCode`]; [`Error::Internal`].
    pub async fn redeem_sign_in(&self, code: &str, address: IpAddr) -> Result<User> {
        let user = match self.store.take_one_time(OneTimeKind::SignIn, code).await? {
            Some(token) => self.store.session_user(&token).await?,
            None => None,
        };
        let name = user.as_ref().map(|user| user.name.as_str());
        let outcome = if name.is_some() { "ok" } else { "unauthorized" };
        self.note(name, "sign_in", &address.to_string(), outcome).await;
        user.ok_or(Error::WrongCode)
    }
}
