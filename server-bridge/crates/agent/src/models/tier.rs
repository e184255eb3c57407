//! The capability and cost of a model.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The capability and cost of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tier {
    /// The ablest.
    Vanguard,
    /// For everyday work.
    Balance,
    /// Fast and cheap: for summaries, searches, titles.
    Swift,
}

impl Tier {
    /// All, the most capable first.
    pub const ALL: [Self; 3] = [Self::Vanguard, Self::Balance, Self::Swift];

    /// The tier's word in settings and documents.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Vanguard => "vanguard",
            Self::Balance => "balance",
            Self::Swift => "swift",
        }
    }

    /// The order in which tiers substitute for this one if a subscription has no model of it: the nearest first, the cheaper
    /// one of two.
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
