//! What a client is shown of a chat beside its messages.

use sandbox::Sandbox;
use store::{Chat, ChatId, User};

use crate::{ChatService, Error, Result};
use agent::context::Conversation;
use execs::{chat_route_request, sandbox_user};

/// How full a chat's model's window is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextUse {
    /// The model, as `SUBSCRIPTION/MODEL`.
    pub model: String,
    /// About how many tokens the next call begins with.
    pub used_tokens: usize,
    /// How many the window holds.
    pub window_tokens: usize,
}

/// A chat and how it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Detail {
    /// The chat.
    pub chat: Chat,
    /// How much its model may do without asking, in the mode's word.
    pub approval: String,
    /// The model that was chosen for it, or else for all; `None` where the first subscription answers.
    pub model: Option<String>,
    /// Whether any model answers its user.
    pub has_model: bool,
    /// Where its agent is, relative to the workspace.
    pub cwd: String,
    /// Whether an answer or a command is under way.
    pub is_busy: bool,
    /// How full the window of its model is; `None` where no model answers.
    pub context: Option<ContextUse>,
    /// For a sub-agent's: the chat whose agent called it.
    pub parent: Option<ChatId>,
}

impl ChatService {
    /// A chat with all that stands beside its messages.
    ///
    /// # Errors
    /// [`Error::Store`] for one that is gone or another user's.
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

    /// How full the window of a chat's model is; `None` where no model answers there.
    ///
    /// # Errors
    /// [`Error::Store`] for a chat that is gone or another user's.
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

    /// Whether anything is under way in a chat: an answer, or a command.
    pub fn is_busy(&self, user: &User, chat: &ChatId) -> bool {
        self.0.running.is_running(user.id, chat) || self.0.is_answering(user.id, chat)
    }

    /// Whether any model answers this user.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub async fn has_model(&self, user: &User) -> Result<bool> {
        self.0.models.has_any(&self.0, user).await
    }

    /// The sandbox that a chat's work goes to.
    ///
    /// # Errors
    /// [`Error::Store`] for a chat that is gone or another user's; [`Error::Refused`] with what the routing rules say.
    pub async fn sandbox(&self, user: &User, chat: &ChatId) -> Result<Sandbox> {
        let route_request = chat_route_request(&self.0.store, user.id, Some(chat)).await?;
        let found = self.0.router.for_user(&sandbox_user(user), &route_request).await;
        found.map_err(|error| Error::Refused { kind: error.kind(), text: error.to_string() })
    }
}
