//! How much a model can do, and costs.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// How much a model can do, and costs.
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
    /// All, the ablest first.
    pub const ALL: [Self; 3] = [Self::Vanguard, Self::Balance, Self::Swift];

    /// The word that stands for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Vanguard => "vanguard",
            Self::Balance => "balance",
            Self::Swift => "swift",
        }
    }

    /// Where a subscription has no model of a tier, the one of the nearest tier answers, the cheaper one first.
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
