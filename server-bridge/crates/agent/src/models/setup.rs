//! A model that is ready to be asked, and its stand-ins.

use llm::price::Price;
use llm::slots::Kind;
use llm::{Message, Model, Usage};
use records::{Spent, TurnUsage};

use crate::PortError;

/// A model that can be asked.
#[derive(Clone, Debug)]
pub struct ModelSetup {
    /// The client for requests to the model.
    pub model: Model,
    /// The provider's name for the model.
    pub name: String,
    /// The model's owner: `server`, or the user's name for the subscription.
    pub subscription: String,
    /// The owner's kind, which determines the slots that are used.
    pub kind: Kind,
    /// The size of the window in tokens, for conversation and answer together.
    pub window_tokens: u32,
    /// The maximum number of tokens of one answer.
    pub reply_tokens: u32,
    /// The number of tokens that the model may use for reasoning.
    pub thinking_tokens: Option<u32>,
    /// The price of the model's tokens.
    pub price: Price,
}

impl ModelSetup {
    /// A name that is unique among all models of its user.
    pub fn origin(&self) -> String {
        format!("{}/{}", self.subscription, self.name)
    }

    /// The cost of a request to the model, for the store.
    pub fn spent(&self, usage: Usage) -> Spent<'_> {
        let usage = TurnUsage {
            input_tokens: usage.input_tokens.cast_signed(),
            cache_read_tokens: usage.cache_read_tokens.cast_signed(),
            cache_write_tokens: usage.cache_write_tokens.cast_signed(),
            output_tokens: usage.output_tokens.cast_signed(),
            cost_micros: self.price.cost_micros(usage).cast_signed(),
        };
        Spent { subscription: &self.subscription, model: &self.name, usage }
    }
}

/// A chat's model, and its stand-ins in order.
#[derive(Clone, Debug)]
pub struct ModelChain {
    /// The model that is asked first.
    pub setup: ModelSetup,
    /// The stand-ins, in order.
    pub others: Vec<ModelSetup>,
}

/// The reason why no model can be asked.
#[derive(Debug, thiserror::Error)]
pub enum NoModel {
    /// The model could not be looked up.
    #[error(transparent)]
    Port(#[from] PortError),
    /// No model is available; contains a text for the user.
    #[error("{0}")]
    Unavailable(String),
}

/// Removes the reasoning of models other than `origin`: only the provider that produced it can read it, and others refuse it.
pub fn forget_foreign_thoughts(messages: &mut [Message], origin: &str) {
    for message in messages {
        if let Message::Assistant(said) = message {
            said.reasoning.retain(|thought| thought.origin.is_empty() || thought.origin == origin);
        }
    }
}

#[cfg(test)]
mod tests {
    use llm::{Assistant, Reasoning};

    use super::*;

    #[test]
    fn a_model_is_told_its_own_thoughts_and_those_of_nobody_known() {
        let thought = |origin: &str| Reasoning { origin: origin.to_owned(), ..Reasoning::default() };
        let reasoning = ["", "server/a", "mine/a"].map(thought).to_vec();
        let mut messages = [Message::Assistant(Assistant { reasoning, ..Assistant::default() })];
        forget_foreign_thoughts(&mut messages, "mine/a");
        let reasoning = ["", "mine/a"].map(thought).to_vec();
        assert_eq!(messages, [Message::Assistant(Assistant { reasoning, ..Assistant::default() })]);
    }
}
