//! A chat's details for clients, in addition to its messages.

use sandbox::Sandbox;
use store::{Chat, ChatId, User};

use crate::{ChatService, Error, Result};
use agent::context::Conversation;
use execs::{chat_route_request, sandbox_user};

/// How full the window of a chat's model is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextUse {
    /// The model's name, as `SUBSCRIPTION/MODEL`.
    pub model: String,
    /// The approximate size of the next request, in tokens.
    pub used_tokens: usize,
    /// The size of the window, in tokens.
    pub window_tokens: usize,
}

/// A chat and its state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Detail {
    /// The chat itself.
    pub chat: Chat,
    /// The name of the chat's approval mode.
    pub approval: String,
    /// The model chosen for the chat, or else for all chats of the user; `None` if the first subscription answers.
    pub model: Option<String>,
    /// True if any model is available to this user.
    pub has_model: bool,
    /// The agent's directory, relative to the workspace.
    pub cwd: String,
    /// True if an answer or a command is in progress.
    pub is_busy: bool,
    /// How full the window of the chat's model is; `None` if no model is available.
    pub context: Option<ContextUse>,
    /// For a sub-agent's chat, the chat whose agent called it.
    pub parent: Option<ChatId>,
}

impl ChatService {
    /// A chat with its details.
    ///
    /// # Errors
    /// [`Error::Store`] for a chat that was deleted or belongs to another user.
    pub async fn detail(&self, user: &User, id: &ChatId) -> Result<Detail> {
        let store = &self.0.store;
        Ok(Detail {
            chat: store.chat(user.id, id).await?,
            approval: store.approval(user.id, id).await?.to_string(),
            model: self.chosen_model(user, Some(id)).await?,
            has_model: self.has_model(user).await?,
            cwd: store.chat_cwd(user.id, id).await?,
            is_busy: self.is_busy(user, id),
            context: self.context_use(user, id).await?,
            parent: store.sub_agent(user.id, id).await?.map(|agent| agent.parent),
        })
    }

    /// How full the window of a chat's model is; `None` if no model is available there.
    ///
    /// # Errors
    /// [`Error::Store`] for a chat that was deleted or belongs to another user.
    pub async fn context_use(&self, user: &User, chat: &ChatId) -> Result<Option<ContextUse>> {
        let store = &self.0.store;
        store.chat(user.id, chat).await?;
        let setup = match self.0.models.of_chat(&self.0, user, chat, None).await {
            Ok(chain) => chain.setup,
            Err(error @ Error::Store(_)) => return Err(error),
            Err(_) => return Ok(None),
        };
        let used_tokens = match store.last_begun_turn(user.id, chat).await? {
            Some(turn) => {
                let stored = store.stored_context(user.id, chat, turn).await?;
                Conversation::of_stored(setup.window_tokens, stored).tokens()
            }
            None => 0,
        };
        let window_tokens = usize::try_from(setup.window_tokens).unwrap_or(usize::MAX);
        Ok(Some(ContextUse { model: setup.origin(), used_tokens, window_tokens }))
    }

    /// True if anything is in progress in a chat: an answer, or a command.
    pub fn is_busy(&self, user: &User, chat: &ChatId) -> bool {
        self.0.running.is_running(user.id, chat) || self.0.is_answering(user.id, chat)
    }

    /// True if any model is available to this user.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub async fn has_model(&self, user: &User) -> Result<bool> {
        self.0.models.has_any(&self.0, user).await
    }

    /// The sandbox where a chat's work is done.
    ///
    /// # Errors
    /// [`Error::Store`] for a chat that was deleted or belongs to another user; [`Error::Refused`] with the router's reason.
    pub async fn sandbox(&self, user: &User, chat: &ChatId) -> Result<Sandbox> {
        let route_request = chat_route_request(&self.0.store, user.id, Some(chat)).await?;
        let found = self.0.router.for_user(&sandbox_user(user), &route_request).await;
        found.map_err(|error| Error::Refused { kind: error.kind(), text: error.to_string() })
    }
}
