//! The subscriptions that a user can name, and how a choice resolves among them.

use super::subscription::SERVER;
use super::{Choice, Subscription, TierModel, Which};
use crate::{Error, Result};

/// A user's subscriptions and the server's.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Known {
    /// The server's subscription first, if there is one; then the user's, the oldest first.
    all: Vec<(String, Subscription)>,
}

/// A model of a subscription.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Picked {
    pub(crate) subscription: String,
    pub(crate) model: TierModel,
}

impl Known {
    pub(super) fn new(server: Option<Subscription>, own: Vec<(String, Subscription)>) -> Self {
        let server = server.map(|server| (SERVER.to_owned(), server));
        Self { all: server.into_iter().chain(own).collect() }
    }

    /// The names and contents of the subscriptions, the server's first.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Subscription)> {
        self.all.iter().map(|(name, subscription)| (name.as_str(), subscription))
    }

    /// True if there are no subscriptions.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The subscription with this name.
    ///
    /// # Errors
    /// [`Error::UnknownModel`].
    pub(crate) fn subscription(&self, name: &str) -> Result<&Subscription> {
        let found = self.all.iter().find(|(known, _)| known == name);
        let unknown = || Error::UnknownModel { name: name.chars().take(64).collect() };
        found.map(|(_, subscription)| subscription).ok_or_else(unknown)
    }

    /// Resolves a choice. Without a subscription, it names a model of `current`, or of the first subscription.
    ///
    /// # Errors
    /// [`Error::UnknownModel`], [`Error::NoModel`].
    pub(crate) fn pick(&self, choice: Option<&Choice>, current: Option<&str>) -> Result<Picked> {
        let picked = self.pick_any(choice, current)?;
        // The server's key belongs to its operator, so models that the operator did not list are not used.
        if picked.subscription == SERVER && !self.subscription(SERVER)?.lists(&picked.model.name) {
            return Err(Error::UnknownModel { name: picked.model.name.chars().take(64).collect() });
        }
        Ok(picked)
    }

    /// Resolves a choice for the subscription's owner, who may name any model of the provider.
    fn pick_any(&self, choice: Option<&Choice>, current: Option<&str>) -> Result<Picked> {
        let named = choice.and_then(|choice| choice.subscription.as_deref()).or(current);
        let (name, subscription) = match named {
            Some(name) => (name, self.subscription(name)?),
            None => self.iter().next().ok_or(Error::NoModel)?,
        };
        let model = match choice.and_then(|choice| choice.which.as_ref()) {
            Some(Which::Named(model)) => Some(subscription.named(model)),
            Some(Which::Tier(tier)) => subscription.of_tier(*tier).map(|(_, model)| model.clone()),
            None => subscription.of_tier(subscription.tier()).map(|(_, model)| model.clone()),
        };
        Ok(Picked { subscription: name.to_owned(), model: model.ok_or(Error::NoModel)? })
    }

    /// The stand-in for a model, if there is one.
    pub(super) fn fallback(&self, of: &Picked) -> Option<Picked> {
        let fallback = self.subscription(&of.subscription).ok()?.fallback.as_ref()?;
        let choice = Choice::parse(fallback).ok()?;
        let picked = match of.subscription == SERVER {
            true => self.pick_any(Some(&choice), Some(&of.subscription)),
            false => self.pick(Some(&choice), Some(&of.subscription)),
        };
        picked.inspect_err(|error| tracing::warn!(%error, "the fallback of a model cannot be used")).ok()
    }

    /// A choice in full, `NAME/TIER` or `NAME/MODEL`, so that later choices do not change its meaning.
    ///
    /// # Errors
    /// As [`Known::pick`].
    pub(crate) fn in_full(&self, choice: &Choice, current: Option<&str>) -> Result<String> {
        let picked = self.pick(Some(choice), current)?;
        let name = &picked.subscription;
        Ok(match &choice.which {
            Some(which) => format!("{name}/{which}"),
            None => name.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known() -> Known {
        let of = |json: &str| Subscription::from_json(json).unwrap();
        let server = of(
            r#"{"provider":"openai","models":{"vanguard":{"name":"big"},"swift":{"name":"small"}},"default_tier":"vanguard","fallback":"swift"}"#,
        );
        let mine =
            of(r#"{"provider":"anthropic","models":{"balance":{"name":"m"}},"fallback":"server/small"}"#);
        let greedy =
            of(r#"{"provider":"anthropic","models":{"balance":{"name":"m"}},"fallback":"server/dear"}"#);
        let own = [("mine", mine), ("greedy", greedy)].map(|(name, own)| (name.to_owned(), own));
        Known::new(Some(server), own.into())
    }

    fn pick(text: &str, current: Option<&str>) -> String {
        let picked = known().pick(Some(&Choice::parse(text).unwrap()), current).unwrap();
        format!("{}/{}", picked.subscription, picked.model.name)
    }

    #[test]
    fn a_choice_means_a_model_of_the_subscription_it_names_or_of_the_one_in_use() {
        for (text, current, expected) in [
            ("server", None, "server/big"),
            ("swift", None, "server/small"),
            ("balance", Some("mine"), "mine/m"),
            ("mine", None, "mine/m"),
            ("mine/swift", None, "mine/m"),
            ("mine/anything:1", None, "mine/anything:1"),
            ("server/swift", Some("mine"), "server/small"),
        ] {
            assert_eq!(pick(text, current), expected, "{text}");
        }
        let full = |text: &str, current| known().in_full(&Choice::parse(text).unwrap(), current).unwrap();
        assert_eq!(
            (full("swift", None), full("swift", Some("mine"))),
            ("server/swift".into(), "mine/swift".into())
        );
        assert_eq!((full("mine", None), full("mine/x/y", None)), ("mine".into(), "mine/x/y".into()));
    }

    #[test]
    fn without_a_choice_the_servers_model_answers_or_else_the_users_own() {
        assert_eq!(known().pick(None, None).unwrap().model.name, "big");
        let own = Known::new(None, known().all[1..].to_vec());
        assert_eq!(own.pick(None, None).unwrap().subscription, "mine");
        assert!(matches!(Known::default().pick(None, None), Err(Error::NoModel)));
        let unknown = known().pick(Some(&Choice::parse("theirs").unwrap()), None);
        assert!(matches!(unknown, Err(Error::UnknownModel { .. })));
    }

    #[test]
    fn a_fallback_is_of_the_same_subscription_unless_it_names_another() {
        let known = known();
        let of = |name: &str| {
            let picked = known.pick(Some(&Choice::parse(name).unwrap()), None).unwrap();
            known.fallback(&picked).map(|picked| format!("{}/{}", picked.subscription, picked.model.name))
        };
        assert_eq!(of("server").as_deref(), Some("server/small"));
        assert_eq!(of("mine").as_deref(), Some("server/small"));
        assert_eq!(of("greedy"), None, "the operator's key is for what the operator listed");
        assert!(known.pick(Some(&Choice::parse("server/dear").unwrap()), None).is_err());
    }
}
