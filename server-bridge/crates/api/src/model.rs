//! The models that answer in chats.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::words::{Provider, Tier};

/// The models that the caller can ask.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ModelList {
    /// The caller's choice: `NAME`, `NAME/TIER` or `NAME/MODEL`; null if the first subscription answers.
    #[schema(required)]
    pub chosen: Option<String>,
    /// The server's own first, where there is one; then the caller's, the oldest first.
    #[serde(default)]
    #[schema(required)]
    pub models: Vec<SubscriptionView>,
}

/// A subscription: a provider and its models. Its key is never returned.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SubscriptionView {
    /// Its name.
    pub name: String,
    /// Whether it is the server's own, which all users share.
    #[serde(default)]
    #[schema(required)]
    pub shared: bool,
    /// The dialect that it speaks.
    #[serde(default)]
    #[schema(required)]
    pub provider: Provider,
    /// Where it is; null for the server's own, and for one behind a runner.
    #[schema(required)]
    pub base_url: Option<String>,
    /// The runner that relays to an endpoint of its own.
    #[schema(required)]
    pub runner: Option<String>,
    /// By tier: `vanguard`, `balance`, `swift`.
    #[serde(default)]
    #[schema(required)]
    pub models: BTreeMap<String, ModelDocument>,
    /// The tier that answers unless another one is chosen.
    #[serde(default)]
    #[schema(required)]
    pub default_tier: Tier,
    /// What answers where it is not there.
    #[schema(required)]
    pub fallback: Option<String>,
    /// The last four characters of its key, empty for a short key; null where it has none, or is the server's own.
    #[schema(required)]
    pub api_key_end: Option<String>,
}

/// One model of a subscription.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelDocument {
    /// As its provider knows it.
    pub name: String,
    /// How many tokens its window holds; 200,000 if left out.
    pub window_tokens: Option<u32>,
    /// How many tokens one answer of it may have; 16,384 if left out.
    pub reply_tokens: Option<u32>,
    /// How much it may think, in tokens; as its provider does if left out.
    pub thinking_tokens: Option<u32>,
    /// What its tokens cost; not known if left out.
    pub price: Option<PriceDocument>,
}

/// A subscription to be added, or to take another one's place.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SubscriptionDocument {
    /// Its name, where it is added.
    pub name: Option<String>,
    /// The dialect that it speaks.
    pub provider: Provider,
    /// Where it is; the provider's own address if left out.
    pub base_url: Option<String>,
    /// Instead: the runner that relays to an endpoint of its own, whose key only it holds.
    pub runner: Option<String>,
    /// By tier: `vanguard`, `balance`, `swift`; at least one.
    pub models: BTreeMap<String, ModelDocument>,
    /// The tier that answers unless another one is chosen.
    pub default_tier: Option<Tier>,
    /// What answers where it is not there: `NAME`, `TIER`, `NAME/TIER` or `NAME/MODEL`.
    pub fallback: Option<String>,
    /// The provider's key; left out, one that is changed keeps its own, and an empty text takes it away.
    pub api_key: Option<String>,
}

/// A choice of a model.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ModelChoice {
    /// `NAME`, `TIER`, `NAME/TIER` or `NAME/MODEL`; null removes the choice.
    #[serde(default)]
    pub model: Option<String>,
}

/// What a model that was tried said.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TrialView {
    /// The subscription.
    pub subscription: String,
    /// The model, as its provider knows it.
    #[serde(default)]
    #[schema(required)]
    pub model: String,
    /// What it said.
    #[serde(default)]
    #[schema(required)]
    pub answer: String,
    /// How long that took, in milliseconds.
    #[serde(default)]
    #[schema(required)]
    pub duration_ms: u64,
}

/// Where a provider is, and the key for it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ProviderDocument {
    /// The name of the subscription. Where the caller has one of that name at this address and no key is given, its key is used.
    pub name: Option<String>,
    /// The dialect that it speaks.
    pub provider: Provider,
    /// Where it is; the provider's own address if left out.
    pub base_url: Option<String>,
    /// Instead: the runner that relays to an endpoint of its own, whose key only it holds.
    pub runner: Option<String>,
    /// The provider's key.
    pub api_key: Option<String>,
}

/// The models that a provider says it has.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct OfferedModels {
    /// Their names in the provider's order; null where it keeps no list, so that a name has to be written.
    #[schema(required)]
    pub models: Option<Vec<String>>,
    /// Whether these are all of them; 2,000 are listed at most.
    #[serde(default)]
    #[schema(required)]
    pub complete: bool,
}

/// Prices in US dollars for a million tokens.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PriceDocument {
    /// What it reads.
    pub input: f64,
    /// What it writes.
    pub output: f64,
    /// What it reads from a cache; as much as `input` if left out.
    pub cache_read: Option<f64>,
    /// What it puts into a cache; as much as `input` if left out.
    pub cache_write: Option<f64>,
}

impl PriceDocument {
    /// Parses a model's name and the price of its tokens: `NAME=IN/OUT[/CACHED[/CACHING]]`, in dollars per million.
    ///
    /// # Errors
    /// The expected form.
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
