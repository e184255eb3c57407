//! The words that name a model: a subscription's name, a tier, or a model's own name.

use std::fmt;
use std::str::FromStr;

use super::Tier;
use super::subscription::{check_model_name, refuse};
use crate::Result;

/// A user's choice: `NAME`, `TIER`, `NAME/TIER` or `NAME/MODEL`, where NAME is a subscription's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The subscription's name; if absent, that of the subscription that already answers.
    pub subscription: Option<String>,
    /// The model of the subscription; if absent, the subscription's default.
    pub which: Option<Which>,
}

/// One of a subscription's models.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Which {
    /// The model of this tier.
    Tier(Tier),
    /// The model with this name at its provider.
    Named(String),
}

impl Choice {
    /// Parses a choice; whether the model exists is checked when it is needed.
    ///
    /// # Errors
    /// [`crate::Error::Refused`] if the text is not a choice.
    pub fn parse(text: &str) -> Result<Self> {
        let (name, model) = match text.split_once('/') {
            Some((name, model)) => (name, Some(model)),
            None => (text, None),
        };
        if let (Ok(tier), None) = (Tier::from_str(name), model) {
            return Ok(Self { subscription: None, which: Some(Which::Tier(tier)) });
        }
        if store::Name::parse(name).is_err() {
            return refuse(
                "use NAME, TIER, NAME/TIER or NAME/MODEL, where NAME is one of your subscriptions or `server`, TIER is \
                 vanguard, balance or swift, and MODEL is the provider's name for a model",
            );
        }
        let which = model.map(|model| match Tier::from_str(model) {
            Ok(tier) => Ok(Which::Tier(tier)),
            Err(_) => check_model_name(model).map(|()| Which::Named(model.to_owned())),
        });
        Ok(Self { subscription: Some(name.to_owned()), which: which.transpose()? })
    }
}

impl fmt::Display for Which {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Tier(tier) => tier.as_str(),
            Self::Named(name) => name,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_names_a_subscription_a_tier_or_a_model() {
        let choice = |subscription: Option<&str>, which| Choice {
            subscription: subscription.map(str::to_owned),
            which,
        };
        for (text, expected) in [
            ("mine", choice(Some("mine"), None)),
            ("swift", choice(None, Some(Which::Tier(Tier::Swift)))),
            ("mine/swift", choice(Some("mine"), Some(Which::Tier(Tier::Swift)))),
            (
                "server/vendor/model:1",
                choice(Some("server"), Some(Which::Named("vendor/model:1".to_owned()))),
            ),
        ] {
            assert_eq!(Choice::parse(text).unwrap(), expected, "{text}");
        }
        for text in ["", "/", "mine/", "Mine", "a b", "mine/a\nb", "/swift", "mine/ x"] {
            assert!(Choice::parse(text).is_err(), "{text:?}");
        }
    }
}
