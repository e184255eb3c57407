//! Rules with their effects, and the layers that they belong to.

use crate::rule::{Effect, Origin, Rule};

/// A rule with its effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadedRule {
    /// The caller's name for the rule: the id of its row, or its place in its document (`deny[3]`).
    pub id: String,
    /// The effect on calls that the rule matches.
    pub effect: Effect,
    /// The parsed rule.
    pub rule: Rule,
    /// The reason that its author gives.
    pub justification: Option<String>,
}

/// The rules of one origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layer {
    /// Who set the rules.
    pub origin: Origin,
    /// The rules, in their order.
    pub rules: Vec<LoadedRule>,
}
