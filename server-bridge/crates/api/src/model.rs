//! The models that answer in chats.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

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
    /// A model's name and what its tokens cost: `NAME=IN/OUT[/CACHED[/CACHING]]`, in dollars for a million.
    ///
    /// # Errors
    /// How it is written.
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
        parsed().ok_or("use NAME=IN/OUT, in dollars for a million tokens, such as gpt-x=1.25/10/0.125")
    }
}
