//! A model that is ready to be asked, and those that stand in for it.

use llm::price::Price;
use llm::slots::Kind;
use llm::{Message, Model};

use crate::PortError;

/// A model that answers.
#[derive(Clone, Debug)]
pub struct ModelSetup {
    /// How it is asked.
    pub model: Model,
    /// Its name, as its provider knows it.
    pub name: String,
    /// Whose it is: `server`, or what its user calls the subscription.
    pub subscription: String,
    /// The same for the slots.
    pub kind: Kind,
    /// How many tokens its window holds, conversation and answer together.
    pub window_tokens: u32,
    /// How many tokens it may answer with at once.
    pub reply_tokens: u32,
    /// How much it may think, in tokens.
    pub thinking_tokens: Option<u32>,
    /// What its tokens cost.
    pub price: Price,
}

impl ModelSetup {
    /// What it is called among all models of its user.
    pub fn origin(&self) -> String {
        format!("{}/{}", self.subscription, self.name)
    }
}

/// What a chat asks: a model, and those that stand in for it one after the other.
#[derive(Clone, Debug)]
pub struct ModelChain {
    /// The model that is asked.
    pub setup: ModelSetup,
    /// The models that stand in for it, in this order.
    pub others: Vec<ModelSetup>,
}

/// Why no model can be asked.
#[derive(Debug, thiserror::Error)]
pub enum NoModel {
    /// It cannot be known.
    #[error(transparent)]
    Port(#[from] PortError),
    /// There is none, in words for the user.
    #[error("{0}")]
    Told(String),
}

/// Takes out what other models than `origin` thought: only the provider it came from can read it, and others refuse it.
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
