//! Tiers of models by capability and cost.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A tier of models, by capability and cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tier {
    /// The most capable models.
    Vanguard,
    /// Models for everyday work.
    Balance,
    /// Fast and cheap models: for summaries, searches and titles.
    Swift,
}

impl Tier {
    /// All tiers, the most capable first.
    pub const ALL: [Self; 3] = [Self::Vanguard, Self::Balance, Self::Swift];

    /// The tier's name in settings and documents.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Vanguard => "vanguard",
            Self::Balance => "balance",
            Self::Swift => "swift",
        }
    }

    /// This tier and its substitutes, in the order in which they are tried if a subscription has no model of the tier: the nearest first,
    /// and of two equally near ones the cheaper.
    pub fn nearest(self) -> [Self; 3] {
        match self {
            Self::Vanguard => [Self::Vanguard, Self::Balance, Self::Swift],
            Self::Balance => [Self::Balance, Self::Swift, Self::Vanguard],
            Self::Swift => [Self::Swift, Self::Balance, Self::Vanguard],
        }
    }
}

impl FromStr for Tier {
    type Err = &'static str;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|tier| tier.as_str() == word).ok_or("use vanguard, balance or swift")
    }
}
