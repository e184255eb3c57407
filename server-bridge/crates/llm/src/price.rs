//! The cost of tokens. No prices are built in: they come with the model's settings.

use serde::{Deserialize, Serialize};

use crate::reply::Usage;

/// A model's prices in US dollars for a million tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Price {
    /// Input tokens.
    pub input: f64,
    /// Tokens read from a cache; the same as `input` if absent.
    pub cache_read: Option<f64>,
    /// Tokens written to a cache; the same as `input` if absent.
    pub cache_write: Option<f64>,
    /// Output tokens.
    pub output: f64,
}

impl Price {
    /// The cost of a call, in millionths of a US dollar.
    pub fn cost_micros(&self, usage: Usage) -> u64 {
        let cached = usage.cache_read_tokens.saturating_add(usage.cache_write_tokens);
        let parts = [
            (usage.input_tokens.saturating_sub(cached), self.input),
            (usage.cache_read_tokens, self.cache_read.unwrap_or(self.input)),
            (usage.cache_write_tokens, self.cache_write.unwrap_or(self.input)),
            (usage.output_tokens, self.output),
        ];
        // Dollars for a million tokens are millionths of a dollar for one.
        parts.iter().map(|(tokens, price)| *tokens as f64 * price.max(0.0)).sum::<f64>().round() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cached_tokens_have_a_price_of_their_own() {
        let usage = Usage {
            input_tokens: 1_000_000,
            cache_read_tokens: 600_000,
            cache_write_tokens: 100_000,
            output_tokens: 200_000,
        };
        let plain = Price { input: 3.0, output: 15.0, ..Price::default() };
        assert_eq!(plain.cost_micros(usage), 6_000_000);
        let cached = Price { cache_read: Some(0.3), cache_write: Some(3.75), ..plain };
        assert_eq!(cached.cost_micros(usage), 900_000 + 180_000 + 375_000 + 3_000_000);
        assert_eq!(Price::default().cost_micros(usage), 0);
    }
}
