//! Rules with their effects, and the layers that they come in.

use crate::rule::{Effect, Origin, Rule};

/// A rule with its effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadedRule {
    /// The caller's name for it: the id of its row, or its place in its document (`deny[3]`).
    pub id: String,
    /// Its effect.
    pub effect: Effect,
    /// The rule.
    pub rule: Rule,
    /// The reason that its author gives.
    pub justification: Option<String>,
}

/// The rules of one origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layer {
    /// The party that set them.
    pub origin: Origin,
    /// The rules, in their order.
    pub rules: Vec<LoadedRule>,
}
