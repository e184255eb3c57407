//! The setting that names the embedder of the whole server: the built-in one, a model of an administrator's subscription, or none.

use std::str::FromStr;

use llm::embed::Protocol;
use store::UserId;

use crate::models::check_model_name;
use crate::{Error, Result};

/// The values of the setting that do not name a subscription.
const NONE: &str = "none";
const BUILT_IN: &str = "built-in";

/// The prefix of a subscription whose provider speaks Ollama's protocol instead of OpenAI's.
const OLLAMA: &str = "ollama:";

/// The text between a stored model and the id of its user.
const OF_USER: &str = " of user ";

/// The chosen embedder.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub(crate) enum Chosen {
    /// No embedder: search uses words only.
    None,
    /// The embedder built into the server.
    #[default]
    BuiltIn,
    /// A model of a subscription.
    Remote(Remote),
}

/// A model of an administrator's or the server's subscription.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Remote {
    pub(crate) protocol: Protocol,
    pub(crate) subscription: String,
    pub(crate) model: String,
    /// The administrator who chose the model; the subscription is theirs or the server's.
    pub(crate) user: UserId,
}

impl Chosen {
    /// Parses an administrator's input: `none`, `built-in`, `SUBSCRIPTION/MODEL` or `ollama:SUBSCRIPTION/MODEL`.
    pub(crate) fn parse(text: &str, by: UserId) -> Result<Self> {
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
                format!("{text:?} is not an embedder; use none, built-in, SUBSCRIPTION/MODEL or ollama:SUBSCRIPTION/MODEL"),
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

    /// The choice in the form in which an administrator writes it.
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

/// The stored form: the shown form, followed for a subscription by the user's id.
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
    fn texts_that_name_no_embedder_are_refused() {
        for text in ["", "mine", "/m", "ollama:", "ollama:x", "mine/", "mine/a\nb"] {
            assert!(Chosen::parse(text, UserId(7)).is_err(), "{text}");
        }
        for stored in ["mine/m", "mine/m of user x", "mine/m of user "] {
            assert_eq!(stored.parse::<Chosen>(), Err(()), "{stored}");
        }
    }
}
