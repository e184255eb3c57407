//! Codes that sign a page in without a password: a logged-in program requests one, and a page exchanges it for a session. A code
//! is valid once, for a short time, and only while the session that requested it lasts.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use store::User;

use crate::limits::{SIGN_IN_BYTES, SIGN_IN_LIFETIME, SIGN_INS};
use crate::{Accounts, Error, Result};

/// The unused codes, by their hashes.
#[derive(Default)]
pub(crate) struct SignIns(Mutex<HashMap<[u8; 32], SignIn>>);

struct SignIn {
    /// The session that requested it.
    token: String,
    until: Instant,
}

impl SignIns {
    /// A code of this session; `None` while there are too many.
    fn issue(&self, token: &str, now: Instant) -> Option<String> {
        let code = URL_SAFE_NO_PAD.encode(rand::random::<[u8; SIGN_IN_BYTES]>());
        let mut codes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        codes.retain(|_, code| code.until > now);
        if codes.len() >= SIGN_INS {
            return None;
        }
        let made = SignIn { token: token.to_owned(), until: now + SIGN_IN_LIFETIME };
        codes.insert(Sha256::digest(&code).into(), made);
        Some(code)
    }

    fn knows(&self, code: &str, now: Instant) -> bool {
        let hash: [u8; 32] = Sha256::digest(code).into();
        let codes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        codes.get(&hash).is_some_and(|code| code.until > now)
    }

    /// The token of the session that requested this code, which is used up.
    fn redeem(&self, code: &str, now: Instant) -> Option<String> {
        let hash: [u8; 32] = Sha256::digest(code).into();
        let found = self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&hash)?;
        (found.until > now).then_some(found.token)
    }
}

/// Without the tokens of sessions.
impl std::fmt::Debug for SignIns {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("SignIns")
    }
}

impl Accounts {
    /// A code that signs a page in as the user of this session, once, within [`SIGN_IN_LIFETIME`].
    ///
    /// # Errors
    /// [`Error::TooManyCodes`].
    pub async fn issue_sign_in(&self, user: &User, token: &str) -> Result<String> {
        let code = self.codes.sign_ins.issue(token, Instant::now()).ok_or(Error::TooManyCodes)?;
        self.note(Some(&user.name), "sign_in.issue", &user.name, "ok").await;
        Ok(code)
    }

    /// True if this code would sign a page in. The caller has to slow down wrong ones.
    pub fn is_sign_in(&self, code: &str) -> bool {
        self.codes.sign_ins.knows(code, Instant::now())
    }

    /// The user whom this code signs in from this address. It is used up.
    ///
    /// # Errors
    /// [`Error::WrongCode`]; [`Error::Internal`].
    pub async fn redeem_sign_in(&self, code: &str, address: IpAddr) -> Result<User> {
        let user = match self.codes.sign_ins.redeem(code, Instant::now()) {
            Some(token) => self.store.session_user(&token).await?,
            None => None,
        };
        let name = user.as_ref().map(|user| user.name.as_str());
        let outcome = if name.is_some() { "ok" } else { "unauthorized" };
        self.note(name, "sign_in", &address.to_string(), outcome).await;
        user.ok_or(Error::WrongCode)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_works_once_and_soon_and_there_are_not_too_many() {
        let (codes, now) = (SignIns::default(), Instant::now());
        let code = codes.issue("sbs_a", now).unwrap();
        assert!(codes.knows(&code, now) && !codes.knows(&code[1..], now));
        assert_eq!(codes.redeem(&code[1..], now), None);
        assert_eq!(codes.redeem(&code, now).as_deref(), Some("sbs_a"));
        assert_eq!(codes.redeem(&code, now), None, "once");
        let late = codes.issue("sbs_a", now).unwrap();
        assert!(!codes.knows(&late, now + SIGN_IN_LIFETIME));
        assert_eq!(codes.redeem(&late, now + SIGN_IN_LIFETIME), None);
        for _ in 0..SIGN_INS {
            codes.issue("sbs_a", now).unwrap();
        }
        assert_eq!(codes.issue("sbs_a", now), None);
        assert!(codes.issue("sbs_a", now + SIGN_IN_LIFETIME).is_some());
    }
}
