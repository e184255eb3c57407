//! The models that answer in chats.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::words::{Provider, Tier};

/// The models that the caller can use.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ModelList {
    /// The caller's choice: `NAME`, `NAME/TIER` or `NAME/MODEL`; null if the first subscription answers.
    #[schema(required)]
    pub chosen: Option<String>,
    /// The subscriptions: the server's own first, if there is one; then the caller's, the oldest first.
    #[serde(default)]
    #[schema(required)]
    pub models: Vec<SubscriptionView>,
}

/// A subscription: a provider and its models. Its key is never returned.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SubscriptionView {
    /// The name that its owner gave it; `server` for the server's own.
    pub name: String,
    /// Whether it is the server's own, which all users share.
    #[serde(default)]
    #[schema(required)]
    pub shared: bool,
    /// The API that the provider offers.
    #[serde(default)]
    #[schema(required)]
    pub provider: Provider,
    /// The provider's address; null for the server's own subscription, and for one that a runner relays.
    #[schema(required)]
    pub base_url: Option<String>,
    /// The runner that relays requests to its own endpoint.
    #[schema(required)]
    pub runner: Option<String>,
    /// The models by tier: `vanguard`, `balance`, `swift`.
    #[serde(default)]
    #[schema(required)]
    pub models: BTreeMap<String, ModelDocument>,
    /// The tier that answers unless another one is chosen.
    #[serde(default)]
    #[schema(required)]
    pub default_tier: Tier,
    /// The model that answers if this subscription is unavailable.
    #[schema(required)]
    pub fallback: Option<String>,
    /// The last four characters of its key, empty for a short key; null if it has none, or is the server's own.
    #[schema(required)]
    pub api_key_end: Option<String>,
}

/// One model of a subscription.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelDocument {
    /// The model's name at the provider.
    pub name: String,
    /// The size of its context window, in tokens; 200,000 if absent.
    pub window_tokens: Option<u32>,
    /// The maximum number of tokens of one answer; 16,384 if absent.
    pub reply_tokens: Option<u32>,
    /// The budget for reasoning, in tokens; the provider's default if absent.
    pub thinking_tokens: Option<u32>,
    /// The price of its tokens; unknown if absent.
    pub price: Option<PriceDocument>,
}

/// A subscription to add, or to replace another one.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SubscriptionDocument {
    /// The name of a new subscription.
    pub name: Option<String>,
    /// The API that the provider offers.
    pub provider: Provider,
    /// The provider's address; its default address if absent.
    pub base_url: Option<String>,
    /// In place of an address: the runner that relays requests to its own endpoint; the key stays on that runner's machine.
    pub runner: Option<String>,
    /// The models by tier: `vanguard`, `balance`, `swift`; at least one.
    pub models: BTreeMap<String, ModelDocument>,
    /// The tier that answers unless another one is chosen.
    pub default_tier: Option<Tier>,
    /// The model that answers if this subscription is unavailable: `NAME`, `TIER`, `NAME/TIER` or `NAME/MODEL`.
    pub fallback: Option<String>,
    /// The provider's key. If absent, a changed subscription keeps its key; an empty text removes it.
    pub api_key: Option<String>,
}

/// A choice of a model.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ModelChoice {
    /// `NAME`, `TIER`, `NAME/TIER` or `NAME/MODEL`; null removes the choice.
    #[serde(default)]
    pub model: Option<String>,
}

/// The answer of a model that was tested.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TrialView {
    /// The name of the subscription.
    pub subscription: String,
    /// The model, by the provider's name.
    #[serde(default)]
    #[schema(required)]
    pub model: String,
    /// The model's answer.
    #[serde(default)]
    #[schema(required)]
    pub answer: String,
    /// How long the answer took, in milliseconds.
    #[serde(default)]
    #[schema(required)]
    pub duration_ms: u64,
}

/// A provider's address, and the key for it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ProviderDocument {
    /// The name of the subscription. If the caller has one of that name at this address, and no key is given, its key is
    /// used.
    pub name: Option<String>,
    /// The API that the provider offers.
    pub provider: Provider,
    /// The provider's address; its default address if not given.
    pub base_url: Option<String>,
    /// In place of an address: the runner that relays requests to an endpoint, whose key stays on the runner's machine.
    pub runner: Option<String>,
    /// The provider's key.
    pub api_key: Option<String>,
}

/// The models that a provider lists.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct OfferedModels {
    /// The models' names in the provider's order; null if the provider offers no list, so that a name has to be entered.
    #[schema(required)]
    pub models: Option<Vec<String>>,
    /// Whether these are all of them; at most 2,000 are listed.
    #[serde(default)]
    #[schema(required)]
    pub complete: bool,
}

/// Prices in US dollars for a million tokens.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PriceDocument {
    /// The price of input.
    pub input: f64,
    /// The price of output.
    pub output: f64,
    /// The price of input from a cache; the same as `input` if absent.
    pub cache_read: Option<f64>,
    /// The price of input that is stored in a cache; the same as `input` if absent.
    pub cache_write: Option<f64>,
}

impl PriceDocument {
    /// Parses a model's name and the price of its tokens: `NAME=IN/OUT[/CACHED[/CACHING]]`, in dollars per million.
    ///
    /// # Errors
    /// An explanation of the expected form.
    pub fn of_model(text: &str) -> Result<(String, Self), &'static str> {
        let parsed = || {
            let (name, numbers) = text.rsplit_once('=')?;
            let numbers = numbers.split('/').map(|number| number.trim().parse::<f64>().ok());
            let numbers = numbers.collect::<Option<Vec<f64>>>()?;
            let is_fine = numbers.iter().all(|number| number.is_finite() && *number >= 0.0);
            let (input, output, rest) = match &numbers[..] {
                [input, output, rest @ ..] if rest.len() <= 2 && is_fine => (*input, *output, rest),
                _ => return None,
            };
            let (cache_read, cache_write) = (rest.first().copied(), rest.get(1).copied());
            Some((name.trim().to_owned(), Self { input, output, cache_read, cache_write }))
        };
        parsed().ok_or("use NAME=IN/OUT, in dollars per million tokens, such as gpt-x=1.25/10/0.125")
    }
}
