//! Opens the embedder that the server's setting names.

use llm::embed::Embedder;
use llm::retry::Patience;
use store::User;

use crate::embedder::{Chosen, Remote};
use crate::house::{ChatService, House};
use crate::{Error, Result};

/// The text that an embedder is tried with.
const TRIAL: &str = "ready";

impl ChatService {
    /// The server's embedder; `None` if search goes by words alone. Its file may be absent or its provider may not answer, which shows only
    /// when it is used.
    ///
    /// # Errors
    /// [`Error::Refused`], [`Error::UnknownModel`] or [`Error::Model`]: why the chosen subscription cannot be used; [`Error::Store`].
    pub async fn embedder(&self) -> Result<Option<Embedder>> {
        let chosen = self.0.settings.values().embedder.unwrap_or_default();
        self.0.embedder(&chosen).await
    }
}

impl House {
    async fn embedder(&self, chosen: &Chosen) -> Result<Option<Embedder>> {
        match chosen {
            Chosen::None => Ok(None),
            Chosen::BuiltIn => Ok(Some(self.models.built_in_embedder())),
            Chosen::Remote(remote) => self.remote(remote).await.map(Some),
        }
    }

    async fn remote(&self, remote: &Remote) -> Result<Embedder> {
        let Remote { protocol, subscription, model, user } = remote;
        let user = self.store.user_by_id(*user).await?.filter(|user| user.admin).ok_or_else(|| {
            Error::refused(
                "invalid",
                "the user who chose the embedder is no longer an administrator; choose an embedder again",
            )
        })?;
        self.models.embedder(&self.services, &user, subscription, *protocol, model).await
    }

    /// Why the embedder cannot be used, and what that means. `None` if nothing is known to prevent it; a provider is not asked.
    pub(crate) async fn embedder_problem(&self, chosen: &Chosen) -> Option<String> {
        let why = match self.embedder(chosen).await {
            Ok(Some(Embedder::BuiltIn(built_in))) => built_in.absent()?.to_string(),
            Ok(_) => return None,
            Err(error) => error.to_string(),
        };
        Some(format!("{why}; until then, search goes by words alone"))
    }

    /// Reads an embedder that an administrator chose, and tries it once.
    pub(crate) async fn chosen_embedder(&self, by: &User, text: &str) -> Result<Chosen> {
        let chosen = Chosen::parse(text.trim(), by.id)?;
        if let Some(embedder) = self.embedder(&chosen).await? {
            let once = Patience { attempts: 1, ..Patience::default() };
            let tried = embedder.with_patience(once).query(TRIAL).await;
            tried.map_err(|error| Error::refused("invalid", error.to_string()))?;
        }
        Ok(chosen)
    }
}
