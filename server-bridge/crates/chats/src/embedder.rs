//! The embedder of the whole server: the one built in, an administrator's subscription, or none.

use std::str::FromStr;

use llm::embed::{Embedder, Protocol};
use llm::retry::Patience;
use store::{User, UserId};

use crate::house::{ChatService, House};
use crate::models::check_model_name;
use crate::{Error, Result};

/// The setting's words that are no subscription.
const NONE: &str = "none";
const BUILT_IN: &str = "built-in";

/// Before a subscription whose provider is asked as Ollama is, and not as OpenAI.
const OLLAMA: &str = "ollama:";

/// Between a stored subscription and the user who has it.
const OF_USER: &str = " of user ";

/// The text that an embedder is tried with.
const TRIAL: &str = "ready";

/// What the setting says.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub(crate) enum Chosen {
    /// Search goes by words alone.
    None,
    /// The one in this program.
    #[default]
    BuiltIn,
    /// A model of a subscription.
    Remote(Remote),
}

/// A model of an administrator's subscription, or of the server's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Remote {
    protocol: Protocol,
    subscription: String,
    model: String,
    /// Who chose it, and whose subscription it is.
    user: UserId,
}

impl Chosen {
    /// Reads what an administrator wrote: `none`, `built-in`, `SUBSCRIPTION/MODEL` or `ollama:SUBSCRIPTION/MODEL`.
    fn parse(text: &str, by: UserId) -> Result<Self> {
        match text {
            NONE => return Ok(Self::None),
            BUILT_IN => return Ok(Self::BuiltIn),
            _ => {}
        }
        let (protocol, rest) = match text.strip_prefix(OLLAMA) {
            Some(rest) => (Protocol::Ollama, rest),
            None => (Protocol::OpenAi, text),
        };
        let (subscription, model) = rest.split_once('/').filter(|(subscription, _)| !subscription.is_empty()).ok_or_else(|| {
            Error::refused(
                "invalid",
                format!("{text:?} is no embedder; use none, built-in, SUBSCRIPTION/MODEL or ollama:SUBSCRIPTION/MODEL"),
            )
        })?;
        check_model_name(model)?;
        Ok(Self::Remote(Remote {
            protocol,
            subscription: subscription.to_owned(),
            model: model.to_owned(),
            user: by,
        }))
    }

    /// As an administrator writes it.
    pub(crate) fn shown(&self) -> String {
        match self {
            Self::None => NONE.to_owned(),
            Self::BuiltIn => BUILT_IN.to_owned(),
            Self::Remote(Remote { protocol, subscription, model, .. }) => {
                let prefix = if *protocol == Protocol::Ollama { OLLAMA } else { "" };
                format!("{prefix}{subscription}/{model}")
            }
        }
    }
}

/// The stored form: as it is shown, and the user.
impl std::fmt::Display for Chosen {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.shown())?;
        match self {
            Self::Remote(Remote { user, .. }) => write!(formatter, "{OF_USER}{}", user.0),
            Self::None | Self::BuiltIn => Ok(()),
        }
    }
}

impl FromStr for Chosen {
    type Err = ();

    fn from_str(stored: &str) -> Result<Self, ()> {
        let (text, user) = match stored.rsplit_once(OF_USER) {
            Some((text, user)) => (text, UserId(user.parse().map_err(|_| ())?)),
            None if matches!(stored, NONE | BUILT_IN) => (stored, UserId(0)),
            None => return Err(()),
        };
        Self::parse(text, user).map_err(|_| ())
    }
}

impl ChatService {
    /// The embedder that is set, for the whole server; `None` if search goes by words alone. The built-in one may lack its file, and a
    /// provider may not answer: only its use shows that.
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
                "the administrator who chose the embedder is none any more; choose one again",
            )
        })?;
        self.models.embedder(&self.services, &user, subscription, *protocol, model).await
    }

    /// Why the embedder cannot be used now, and what that means; `None` if it can, as far as this machine knows.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_stored_and_shown() {
        for text in [
            "none",
            "built-in",
            "mine/text-embedding-3-small",
            "ollama:local/nomic-embed-text:v1.5",
            "a/BAAI/bge-m3",
        ] {
            let chosen = Chosen::parse(text, UserId(7)).unwrap();
            assert_eq!(chosen.shown(), text);
            assert_eq!(chosen.to_string().parse(), Ok(chosen));
        }
        let of_user = Chosen::parse("a/m of user 3", UserId(7)).unwrap();
        assert_eq!(of_user.to_string(), "a/m of user 3 of user 7");
        assert_eq!(of_user.to_string().parse(), Ok(of_user));
    }

    #[test]
    fn what_is_no_embedder_is_refused() {
        for text in ["", "mine", "/m", "ollama:", "ollama:x", "mine/", "mine/a\nb"] {
            assert!(Chosen::parse(text, UserId(7)).is_err(), "{text}");
        }
        for stored in ["mine/m", "mine/m of user x", "mine/m of user "] {
            assert_eq!(stored.parse::<Chosen>(), Err(()), "{stored}");
        }
    }
}
