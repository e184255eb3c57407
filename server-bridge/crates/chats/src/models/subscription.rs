//! A subscription: the provider, how it is reached, and its models.

use std::collections::BTreeMap;
use std::str::FromStr;

use llm::http::{Reach, check_address};
use llm::price::Price;
use serde::{Deserialize, Serialize};

use super::{Choice, Tier};
use crate::limits::{MODEL_NAME_CHARS, REPLY_TOKENS, TOKENS_MAX, WINDOW_TOKENS, WINDOW_TOKENS_MIN};
use crate::{Error, Result};

/// The name of the server's own subscription.
pub const SERVER: &str = "server";

/// Names that a user's subscription cannot have, because they have another meaning.
const RESERVED: [&str; 8] = [SERVER, "default", "auto", "none", "vanguard", "balance", "swift", "list"];

/// A provider's protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Provider {
    /// Chat completions, as offered by OpenAI and most others.
    OpenAi,
    /// Messages, as offered by Anthropic.
    Anthropic,
}

/// The provider, how it is reached, and its models. The key is stored separately.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Subscription {
    /// The provider's protocol.
    pub provider: Provider,
    /// The provider's address; if absent, the provider's standard address. Not allowed with `runner`, which knows the address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// The runner that relays to its own endpoint, and is the only one with the key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runner: Option<String>,
    /// The models by tier; at least one.
    pub models: BTreeMap<Tier, TierModel>,
    /// The tier that answers by default; if absent, the most capable one that is not above `balance`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_tier: Option<Tier>,
    /// The stand-in if this provider is unavailable: a [`Choice`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback: Option<String>,
}

/// One model of a subscription.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TierModel {
    /// The provider's name for the model.
    pub name: String,
    /// The size of the model's window in tokens; 200,000 if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window_tokens: Option<u32>,
    /// The maximum number of tokens of one answer; 16,384 if absent, or less if the window is small.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_tokens: Option<u32>,
    /// The number of tokens that the model may use for reasoning; the provider's default if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking_tokens: Option<u32>,
    /// The price of the model's tokens; unknown if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
}

impl Provider {
    /// The provider's name in settings and documents.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
        }
    }

    /// The provider's standard address.
    pub fn address(self) -> &'static str {
        match self {
            Self::OpenAi => "https://api.openai.com",
            Self::Anthropic => "https://api.anthropic.com",
        }
    }
}

impl FromStr for Provider {
    type Err = &'static str;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        match word {
            "openai" => Ok(Self::OpenAi),
            "anthropic" => Ok(Self::Anthropic),
            _ => Err("use openai or anthropic"),
        }
    }
}

impl TierModel {
    /// The size of the model's window in tokens.
    pub fn window_tokens(&self) -> u32 {
        self.window_tokens.unwrap_or(WINDOW_TOKENS)
    }

    /// The maximum number of tokens of one answer: at most half of the window.
    pub fn reply_tokens(&self) -> u32 {
        self.reply_tokens.unwrap_or(REPLY_TOKENS).min(self.window_tokens() / 2)
    }

    fn check(&self) -> Result<()> {
        let Self { name, window_tokens, reply_tokens, thinking_tokens, price } = self;
        check_model_name(name)?;
        let is_fine =
            |tokens: &Option<u32>, least| tokens.is_none_or(|tokens| (least..=TOKENS_MAX).contains(&tokens));
        if !is_fine(window_tokens, WINDOW_TOKENS_MIN) {
            return refuse(format!("a window must have {WINDOW_TOKENS_MIN} to {TOKENS_MAX} tokens"));
        }
        if !is_fine(reply_tokens, 1) || !is_fine(thinking_tokens, 1) {
            return refuse(format!(
                "the token limits for answers and thinking must be between 1 and {TOKENS_MAX}"
            ));
        }
        let prices = price.iter().flat_map(|price| {
            [Some(price.input), Some(price.output), price.cache_read, price.cache_write].into_iter().flatten()
        });
        for price in prices {
            if !price.is_finite() || price < 0.0 {
                return refuse("a price must be a number of dollars per million tokens");
            }
        }
        Ok(())
    }
}

impl Subscription {
    /// Checks that a user with this reach can use the subscription.
    ///
    /// # Errors
    /// [`Error::Refused`], or [`Error::Model`] for its address, with the problem.
    pub fn check(&self, reach: Reach) -> Result<()> {
        if self.models.is_empty() {
            return refuse("name a model for the tier vanguard, balance or swift");
        }
        self.models.values().try_for_each(TierModel::check)?;
        if self.default_tier.is_some_and(|tier| !self.models.contains_key(&tier)) {
            return refuse("the default tier has no model; name one for it, or choose another default tier");
        }
        if let Some(fallback) = &self.fallback {
            Choice::parse(fallback)?;
        }
        self.check_place(reach)
    }

    /// Checks that a user with this reach may use the provider's address.
    ///
    /// # Errors
    /// As for [`Subscription::check`].
    pub(crate) fn check_place(&self, reach: Reach) -> Result<()> {
        match (&self.runner, &self.base_url) {
            (Some(_), Some(_)) => {
                refuse("give a runner or an address, not both: a runner knows its endpoint's address")
            }
            (Some(_), None) => Ok(()),
            (None, _) => Ok(check_address(self.address(), reach)?),
        }
    }

    /// The provider's address.
    pub fn address(&self) -> &str {
        self.base_url.as_deref().unwrap_or(self.provider.address())
    }

    /// The tier that answers by default.
    pub fn tier(&self) -> Tier {
        let named = self.default_tier.unwrap_or(Tier::Balance);
        self.of_tier(named).map_or(named, |(tier, _)| tier)
    }

    /// The subscription's model of a tier, or of the nearest tier.
    pub fn of_tier(&self, tier: Tier) -> Option<(Tier, &TierModel)> {
        tier.nearest().into_iter().find_map(|tier| Some((tier, self.models.get(&tier)?)))
    }

    /// True if the subscription lists a model with this name.
    pub fn lists(&self, name: &str) -> bool {
        self.models.values().any(|model| model.name == name)
    }

    /// A model by its name, with its known settings; an unlisted model gets the limits of a listed one.
    pub fn named(&self, name: &str) -> TierModel {
        let listed = self.models.values().find(|model| model.name == name);
        let like = listed.or_else(|| Some(self.of_tier(self.tier())?.1)).cloned().unwrap_or_default();
        let price = like.price.filter(|_| listed.is_some());
        TierModel { name: name.to_owned(), price, ..like }
    }

    /// Parses the stored form; `None` if a newer server wrote it.
    pub(crate) fn from_json(json: &str) -> Option<Self> {
        serde_json::from_str(json)
            .inspect_err(|error| tracing::error!(%error, "a subscription cannot be read; it is left out"))
            .ok()
    }

    /// The subscription's stored form.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("texts and finite numbers are always JSON")
    }
}

/// Checks a name for a user's subscription.
///
/// # Errors
/// [`Error::Store`] for an invalid name, and [`Error::Refused`] for a reserved one.
pub fn subscription_name(text: &str) -> Result<store::Name> {
    let name = store::Name::parse(text)?;
    if RESERVED.contains(&text) {
        return refuse(format!("the name {text:?} is reserved; choose another"));
    }
    Ok(name)
}

pub(crate) fn check_model_name(name: &str) -> Result<()> {
    let is_fine = !name.is_empty()
        && name.trim() == name
        && name.chars().count() <= MODEL_NAME_CHARS
        && !name.chars().any(char::is_control);
    if is_fine {
        Ok(())
    } else {
        refuse(format!("a model's name must have 1 to {MODEL_NAME_CHARS} characters"))
    }
}

pub(crate) fn refuse<T>(why: impl Into<String>) -> Result<T> {
    Err(Error::Refused { kind: "invalid", text: why.into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(json: &str) -> Subscription {
        Subscription::from_json(json).unwrap()
    }

    #[test]
    fn a_tier_without_a_model_is_the_nearest_ones() {
        let mine =
            of(r#"{"provider":"openai","models":{"vanguard":{"name":"big"},"swift":{"name":"small"}}}"#);
        let name = |tier| mine.of_tier(tier).unwrap().1.name.as_str();
        assert_eq!((name(Tier::Vanguard), name(Tier::Balance), name(Tier::Swift)), ("big", "small", "small"));
        assert_eq!((mine.tier(), mine.address()), (Tier::Swift, "https://api.openai.com"));
        let only = of(r#"{"provider":"anthropic","models":{"vanguard":{"name":"big"}}}"#);
        assert_eq!((only.tier(), only.of_tier(Tier::Swift).unwrap().0), (Tier::Vanguard, Tier::Vanguard));
    }

    #[test]
    fn a_model_that_is_not_listed_has_anothers_limits_and_no_price() {
        let mine = of(
            r#"{"provider":"openai","models":{"balance":{"name":"a","window_tokens":8000,"price":{"input":3,"output":15}}}}"#,
        );
        assert_eq!(mine.named("a").price.unwrap().output, 15.0);
        let other = mine.named("b");
        assert_eq!((other.window_tokens(), other.reply_tokens(), other.price), (8000, 4000, None));
        assert_eq!(TierModel::default().window_tokens(), 200_000);
        assert_eq!(TierModel::default().reply_tokens(), 16_384);
    }

    #[test]
    fn what_cannot_be_used_is_refused() {
        let good = r#"{"provider":"openai","base_url":"http://127.0.0.1:1","models":{"swift":{"name":"m"}}}"#;
        assert!(of(good).check(Reach::Anywhere).is_ok());
        assert!(matches!(of(good).check(Reach::Public), Err(Error::Model(llm::Error::Address(_)))));
        for bad in [
            r#"{"provider":"openai","models":{}}"#,
            r#"{"provider":"openai","models":{"swift":{"name":""}}}"#,
            r#"{"provider":"openai","models":{"swift":{"name":"a\nb"}}}"#,
            r#"{"provider":"openai","models":{"swift":{"name":"m","window_tokens":999}}}"#,
            r#"{"provider":"openai","models":{"swift":{"name":"m","reply_tokens":0}}}"#,
            r#"{"provider":"openai","models":{"swift":{"name":"m","price":{"input":-1}}}}"#,
            r#"{"provider":"openai","models":{"swift":{"name":"m"}},"default_tier":"balance"}"#,
            r#"{"provider":"openai","models":{"swift":{"name":"m"}},"fallback":"/"}"#,
            r#"{"provider":"openai","models":{"swift":{"name":"m"}},"runner":"a","base_url":"https://a"}"#,
            r#"{"provider":"openai","models":{"swift":{"name":"m"}},"base_url":"a"}"#,
        ] {
            assert!(of(bad).check(Reach::Anywhere).is_err(), "{bad}");
        }
        for name in ["server", "swift", "default", "", "A", "a/b"] {
            assert!(subscription_name(name).is_err(), "{name}");
        }
    }
}
