//! Logins that have begun: each belongs to one session of one user, and can be completed once, within 10 minutes.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rustls::crypto::ring;
use sha2::{Digest, Sha256};
use store::UserId;
use tokio::time::Instant;

use super::app::App;
use crate::limits::{SERVICE_LOGIN_PATIENCE, SERVICE_LOGINS_PENDING};

/// The prefix of each `state`, by which the page distinguishes logins to services from logins to MCP servers.
const STATE_MARK: &str = "channel.";
/// The number of random bytes in a state and in a verifier.
const SECRET_BYTES: usize = 32;

/// The logins that have begun, by their `state` parameter.
#[derive(Default)]
pub(super) struct Pending(Mutex<HashMap<String, Login>>);

/// A login that has begun.
#[derive(Clone)]
pub(super) struct Login {
    pub(super) user: UserId,
    /// The hash of the session's token.
    session: [u8; 32],
    pub(super) app: App,
    pub(super) redirect_uri: String,
    /// The code verifier of PKCE, without which the code cannot be exchanged for a token.
    pub(super) verifier: String,
    since: Instant,
}

impl Login {
    /// Begins a login.
    ///
    /// Fails with the reason as text.
    pub(super) fn new(user: UserId, session: &str, app: App, redirect_uri: &str) -> Result<Self, String> {
        Ok(Self {
            user,
            session: Sha256::digest(session).into(),
            app,
            redirect_uri: redirect_uri.to_owned(),
            verifier: secret()?,
            since: Instant::now(),
        })
    }

    /// The code challenge of PKCE, by the method `S256`.
    pub(super) fn challenge(&self) -> String {
        URL_SAFE_NO_PAD.encode(Sha256::digest(&self.verifier))
    }

    fn is_late(&self) -> bool {
        self.since.elapsed() >= SERVICE_LOGIN_PATIENCE
    }
}

impl Pending {
    /// Adds a login; returns its state.
    ///
    /// Fails with the reason as text.
    pub(super) fn add(&self, login: Login) -> Result<String, String> {
        let state = format!("{STATE_MARK}{}", secret()?);
        let mut all = self.lock();
        all.retain(|_, login| !login.is_late());
        if all.len() >= SERVICE_LOGINS_PENDING {
            return Err("too many logins have begun on this server; try again in 10 minutes".to_owned());
        }
        all.insert(state.clone(), login);
        Ok(state)
    }

    /// Removes and returns the login with this state, if it belongs to this user and session.
    pub(super) fn take(&self, state: &str, user: UserId, session: &str) -> Option<Login> {
        let mut all = self.lock();
        let session: [u8; 32] = Sha256::digest(session).into();
        let is_own = all
            .get(state)
            .is_some_and(|login| login.user == user && login.session == session && !login.is_late());
        is_own.then(|| all.remove(state)).flatten()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, Login>> {
        // Each change is a single step, so the data stays consistent if another thread panics.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn secret() -> Result<String, String> {
    let mut bytes = [0; SECRET_BYTES];
    let random = ring::default_provider().secure_random;
    random.fill(&mut bytes).map_err(|_| "no random numbers are available".to_owned())?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use store::ChannelAccount;

    use super::*;

    fn login(session: &str) -> Login {
        let account = ChannelAccount {
            id: 1,
            user: UserId(1),
            owner: String::new(),
            name: String::new(),
            kind: "feishu".to_owned(),
            document_json: String::new(),
            is_enabled: true,
            is_shared: false,
            revision: 1,
            created_at_ms: 0,
        };
        let app = App { account, domain: String::new(), client_id: String::new() };
        Login::new(UserId(1), session, app, "http://127.0.0.1:1/").unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn a_login_is_of_one_session_and_ends_once_and_within_ten_minutes() {
        let pending = Pending::default();
        let state = pending.add(login("one")).unwrap();
        assert!(pending.take("another", UserId(1), "one").is_none());
        assert!(pending.take(&state, UserId(2), "one").is_none());
        assert!(pending.take(&state, UserId(1), "two").is_none());
        assert!(pending.take(&state, UserId(1), "one").is_some(), "wrong tries leave it");
        assert!(pending.take(&state, UserId(1), "one").is_none(), "once");
        let state = pending.add(login("one")).unwrap();
        tokio::time::advance(SERVICE_LOGIN_PATIENCE - Duration::from_secs(1)).await;
        let other = pending.add(login("one")).unwrap();
        tokio::time::advance(Duration::from_secs(1)).await;
        assert!(pending.take(&state, UserId(1), "one").is_none(), "too late");
        assert!(pending.take(&other, UserId(1), "one").is_some());
    }

    #[test]
    fn as_many_logins_wait_as_fit_and_a_challenge_is_the_hash_of_the_verifier() {
        let pending = Pending::default();
        for _ in 0..SERVICE_LOGINS_PENDING {
            pending.add(login("one")).unwrap();
        }
        assert!(pending.add(login("one")).unwrap_err().contains("too many"));
        // The example of RFC 7636, appendix B.
        let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk".to_owned();
        let login = Login { verifier, ..login("one") };
        assert_eq!(login.challenge(), "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
    }
}
