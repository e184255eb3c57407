//! A turn: one message of a user, and everything a model does in response.

/// The status of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "sqlx", derive(sqlx::Type), sqlx(type_name = "text", rename_all = "snake_case"))]
pub enum TurnStatus {
    /// The turn is waiting for an earlier turn of its chat to end.
    Queued,
    /// The turn is in progress.
    Running,
    /// The model finished its response.
    Done,
    /// The turn ended with an error.
    Failed,
    /// The user stopped the turn.
    Cancelled,
    /// The server stopped during the turn.
    Interrupted,
}

impl TurnStatus {
    /// True if the turn has not ended.
    #[must_use]
    pub fn is_open(self) -> bool {
        matches!(self, Self::Queued | Self::Running)
    }

    /// The status's name in the database and on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Interrupted => "interrupted",
        }
    }
}

/// The tokens and the cost of one or more turns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "sqlx", derive(sqlx::FromRow))]
pub struct TurnUsage {
    /// The number of input tokens, cached or not.
    pub input_tokens: i64,
    /// The number of input tokens that were read from a cache.
    pub cache_read_tokens: i64,
    /// The number of input tokens that were written to a cache.
    pub cache_write_tokens: i64,
    /// The number of output tokens.
    pub output_tokens: i64,
    /// The cost in millionths of a US dollar; 0 if no price is known.
    pub cost_micros: i64,
}

/// The usage of one call of a model, with the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spent<'a> {
    /// The subscription's name; `server` for the server's own.
    pub subscription: &'a str,
    /// The provider's name for the model.
    pub model: &'a str,
    /// The tokens and the cost.
    pub usage: TurnUsage,
}
