//! The owners of sessions. `rmcp` opens sessions for anyone who may initialize one, and never checks who uses them later.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use accounts::{KeyId, UserId};
use rmcp::transport::streamable_http_server::session::SessionManager;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;

use crate::limits::{MCP_CALLS_PER_USER, MCP_SESSION_IDLE, MCP_SESSIONS_PER_USER};
use crate::web::auth::Caller;
use crate::web::error::ApiError;

/// The part of `rmcp` that keeps the sessions themselves.
pub(super) type Manager = LocalSessionManager;

/// Creates a manager whose sessions end after a day without use.
pub(super) fn manager() -> Arc<Manager> {
    let mut manager = Manager::default();
    manager.session_config.keep_alive = Some(MCP_SESSION_IDLE);
    Arc::new(manager)
}

/// The callers that opened the sessions, and each user's calls in progress.
pub(super) struct Sessions {
    manager: Arc<Manager>,
    owners: Mutex<HashMap<String, Owner>>,
    calls: Mutex<HashMap<UserId, usize>>,
}

struct Owner {
    user: UserId,
    key: Option<KeyId>,
    used: Instant,
}

/// A call in progress, until this is dropped.
pub(super) struct Call<'a> {
    sessions: &'a Sessions,
    user: UserId,
}

impl Sessions {
    pub(super) fn new(manager: Arc<Manager>) -> Self {
        Self { manager, owners: Mutex::default(), calls: Mutex::default() }
    }

    /// True if the caller opened this session, with the same key.
    pub(super) fn is_own(&self, id: &str, caller: &Caller) -> bool {
        let mut owners = self.owners();
        let own = owners.get_mut(id).filter(|owner| {
            owner.user == caller.user.id && owner.key == caller.key.as_ref().map(|key| key.id)
        });
        own.map(|owner| owner.used = Instant::now()).is_some()
    }

    /// Records an opened session. One user's sessions beyond the limit end, the least recently used first.
    pub(super) async fn opened(&self, id: &str, caller: &Caller) {
        let user = caller.user.id;
        let owner = Owner { user, key: caller.key.as_ref().map(|key| key.id), used: Instant::now() };
        let mut own: Vec<(Instant, String)> = {
            let mut owners = self.owners();
            owners.insert(id.to_owned(), owner);
            let own = owners.iter().filter(|(_, owner)| owner.user == user);
            own.map(|(id, owner)| (owner.used, id.clone())).collect()
        };
        own.sort_unstable();
        let mut live = Vec::with_capacity(own.len());
        for (_, id) in own {
            match self.manager.has_session(&id.as_str().into()).await {
                Ok(true) => live.push(id),
                Ok(false) | Err(_) => self.forget(&id),
            }
        }
        for id in live.iter().take(live.len().saturating_sub(MCP_SESSIONS_PER_USER)) {
            self.forget(id);
            if let Err(error) = self.manager.close_session(&id.as_str().into()).await {
                tracing::debug!(%error, "a session of an MCP client had ended");
            }
        }
    }

    /// Removes a session that has ended.
    pub(super) fn forget(&self, id: &str) {
        self.owners().remove(id);
    }

    /// Counts one more call of a user's programs.
    ///
    /// # Errors
    /// `busy` if the limit is reached.
    pub(super) fn call(&self, user: UserId) -> Result<Call<'_>, ApiError> {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let count = calls.entry(user).or_default();
        if *count >= MCP_CALLS_PER_USER {
            let message =
                format!("{MCP_CALLS_PER_USER} calls are in progress already; wait until one of them ends");
            return Err(ApiError::new("busy", message));
        }
        *count += 1;
        Ok(Call { sessions: self, user })
    }

    fn owners(&self) -> MutexGuard<'_, HashMap<String, Owner>> {
        // Each change is a single step, so the data stays consistent if another thread panics.
        self.owners.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        let mut calls = self.sessions.calls.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = calls.get_mut(&self.user) {
            *count -= 1;
            if *count == 0 {
                calls.remove(&self.user);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller(user: i64) -> Caller {
        let user =
            accounts::User { id: UserId(user), name: format!("u{user}"), admin: false, created_at_ms: 0 };
        Caller { user, token: String::new(), key: None, browser: None }
    }

    #[tokio::test]
    async fn a_session_is_its_openers_and_the_oldest_one_gives_way() {
        let sessions = Sessions::new(manager());
        let (alice, bob) = (caller(1), caller(2));
        let mut ids = Vec::new();
        for _ in 0..=MCP_SESSIONS_PER_USER {
            let (id, _transport) = sessions.manager.create_session().await.unwrap();
            sessions.opened(&id, &alice).await;
            ids.push((id, _transport));
        }
        assert!(!sessions.is_own(&ids[0].0, &alice), "it gave way");
        assert!(!sessions.manager.has_session(&ids[0].0).await.unwrap());
        assert!(sessions.is_own(&ids[1].0, &alice) && !sessions.is_own(&ids[1].0, &bob));
        assert!(!sessions.is_own("unknown", &alice));
        sessions.forget(&ids[1].0);
        assert!(!sessions.is_own(&ids[1].0, &alice));
    }

    #[test]
    fn one_users_calls_are_limited_and_a_finished_one_makes_room() {
        let sessions = Sessions::new(manager());
        let mut calls: Vec<_> = (0..MCP_CALLS_PER_USER).map(|_| sessions.call(UserId(1)).unwrap()).collect();
        assert_eq!(sessions.call(UserId(1)).err().unwrap().kind, "busy");
        assert!(sessions.call(UserId(2)).is_ok(), "another user has their own limit");
        calls.pop();
        assert!(sessions.call(UserId(1)).is_ok());
        drop(calls);
        assert!(sessions.calls.lock().unwrap().is_empty());
    }
}
