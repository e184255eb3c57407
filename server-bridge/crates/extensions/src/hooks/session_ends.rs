//! `SessionEnd`: hooks at the end of a chat's session, outside of a turn and in the background.

use std::sync::Arc;

use agent::hooks::SessionEnd;
use hooks::{Event, Happening};
use store::{ChatId, User};
use tokio::time::timeout;

use super::Inner;
use super::run::Owner;
use super::turns::{TurnHooks, session};
use crate::limits::HOOK_SESSION_END_PATIENCE;

/// The reason, in the terms that published hooks expect.
fn reason(end: SessionEnd) -> &'static str {
    match end {
        SessionEnd::NewChat => "clear",
        SessionEnd::Deleted => "other",
    }
}

impl Inner {
    /// Starts the hooks for the end of a session. A chat without a turn since the server started has no session.
    pub(super) async fn session_ends(self: &Arc<Self>, user: &User, chat: &ChatId, end: SessionEnd) {
        if !self.turns.end_session(chat) {
            return;
        }
        // The chat may be deleted as soon as this returns.
        let hooks = match timeout(HOOK_SESSION_END_PATIENCE, self.hooks_of_end(user, chat)).await {
            Ok(Ok(Some(hooks))) => hooks,
            Ok(Ok(None)) => return,
            Ok(Err(error)) => {
                tracing::error!(%error, "the hooks of a session that ended could not be loaded");
                return;
            }
            Err(_) => {
                tracing::warn!(%chat, "the hooks of a session that ended were not loaded in time");
                return;
            }
        };
        let (inner, user, chat) = (Arc::clone(self), user.clone(), chat.clone());
        let happening = Happening::SessionEnd { reason: reason(end).to_owned() };
        self.tasks.spawn(async move {
            let owner = Owner { user, chat: Some(chat.clone()), at: None };
            let hooks = Arc::new(hooks);
            inner.round_of(&owner, &chat, &hooks, &happening).await;
        });
    }

    /// The hooks that run at the end of a chat's session, if there are any.
    async fn hooks_of_end(&self, user: &User, chat: &ChatId) -> store::Result<Option<TurnHooks>> {
        let store = &self.store;
        let route = execs::chat_route_request(store, user.id, Some(chat)).await?;
        // This does not wait for a runner that is only expected to connect.
        let sandbox = self.router.for_user_at_once(&execs::sandbox_user(user), &route).await.ok();
        let documents = self.documents(user.id, sandbox.as_ref(), &[]).await?;
        let loaded = self.load(user.id, &documents, &sandbox).await?;
        if loaded.hooks.is_free(Event::SessionEnd) {
            return Ok(None);
        }
        let (mode, cwd) = (store.approval(user.id, chat).await?, store.chat_cwd(user.id, chat).await?);
        let root = sandbox.as_ref().map(|sandbox| sandbox.facts().workspace.clone()).unwrap_or_default();
        let session = session(chat.to_string(), &root, &cwd, &mode);
        let redactor = self.redactor(user.id, &loaded.hooks).await?;
        Ok(Some(TurnHooks::without_turn(loaded, session, route, documents.plugins, redactor)))
    }
}
