//! Opens the embedder that the server's setting names.

use std::sync::Arc;

use llm::embed::{Embedder, Embedders, Guarded};
use llm::retry::Patience;
use store::User;
use tokio_util::sync::CancellationToken;

use crate::embedder::{Chosen, Remote};
use crate::house::{ChatService, House};
use crate::{Error, Result};

/// A text for trying an embedder.
const TRIAL: &str = "ready";

impl ChatService {
    /// Access to the embedder of the whole server, for code that makes vectors and compares them. The built-in embedder may lack its
    /// file, and a provider may not answer: this becomes known only when it is used.
    pub fn embedders(&self) -> Embedders {
        let house = Arc::downgrade(&self.0);
        Arc::new(move |earlier| {
            let house = house.clone();
            Box::pin(async move {
                let house = house.upgrade().ok_or_else(|| Error::Stopping.message())?;
                house.guarded_embedder(earlier.as_deref()).await.map_err(|error| error.message())
            })
        })
    }

    /// Embeds memories until `shutdown` is cancelled.
    pub async fn embed_memories(&self, shutdown: CancellationToken) {
        self.0.meaning.run(shutdown).await;
    }
}

impl House {
    /// The embedder that is set, or the one that `earlier` names; `None` if search uses words only.
    async fn guarded_embedder(&self, earlier: Option<&str>) -> Result<Option<Guarded>> {
        let chosen = match earlier {
            None => self.settings.values().embedder.unwrap_or_default(),
            Some(setting) => setting
                .parse()
                .map_err(|()| Error::refused("invalid", "this is not a valid setting for the embedder"))?,
        };
        let setting = chosen.to_string();
        let rest = self.models.embedder_rest(&setting);
        Ok(self.embedder(&chosen).await?.map(|embedder| Guarded::new(embedder, setting, rest)))
    }

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

    /// The reason why the embedder cannot be used, and the effect on searches. `None` if no problem is known; no provider is asked.
    pub(crate) async fn embedder_problem(&self, chosen: &Chosen) -> Option<String> {
        let why = match self.embedder(chosen).await {
            Ok(Some(Embedder::BuiltIn(built_in))) if let Some(absent) = built_in.absent() => {
                absent.to_string()
            }
            Ok(None) => return None,
            Ok(Some(_)) => self.models.embedder_rest(&chosen.to_string()).failure()?.to_string(),
            Err(error) => error.to_string(),
        };
        Some(format!("{why}; until this is fixed, search uses words only"))
    }

    /// Parses an administrator's choice of an embedder, and tries it once. Earlier vectors of a model with the same name but another
    /// dimension are removed, because they cannot be compared with the new ones; they are made again if the earlier embedder is chosen
    /// again.
    pub(crate) async fn chosen_embedder(&self, by: &User, text: &str) -> Result<Chosen> {
        let chosen = Chosen::parse(text.trim(), by.id)?;
        if let Some(embedder) = self.embedder(&chosen).await? {
            let name = embedder.model().to_owned();
            let once = Patience { attempts: 1, ..Patience::default() };
            let tried = embedder.with_patience(once).query(TRIAL).await;
            let vector = tried.map_err(|error| Error::refused("invalid", error.to_string()))?;
            let models = self.store.embedding_models().await?.into_iter();
            let is_other = |dimensions: i64| usize::try_from(dimensions) != Ok(vector.dimensions());
            for model in models.filter(|model| model.name == name && is_other(model.dimensions)) {
                self.store.remove_embedding_model(model.id).await?;
            }
            self.models.forget_embedder_rest(&chosen.to_string());
        }
        Ok(chosen)
    }
}
