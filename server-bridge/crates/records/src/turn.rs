//! A turn: one message of a user, and all that a model does about it.

/// How a turn stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "sqlx", derive(sqlx::Type), sqlx(type_name = "text", rename_all = "snake_case"))]
pub enum TurnStatus {
    /// An earlier one of its chat is not over.
    Queued,
    /// It goes on.
    Running,
    /// The model has said all it had to say.
    Done,
    /// It could not go on.
    Failed,
    /// Its user stopped it.
    Cancelled,
    /// The server stopped amid it.
    Interrupted,
}

impl TurnStatus {
    /// The word that stands for it in the database and on the wire.
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

/// What turns took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "sqlx", derive(sqlx::FromRow))]
pub struct TurnUsage {
    /// Tokens that the model read, from a cache or not.
    pub input_tokens: i64,
    /// So many of those came from a cache.
    pub cache_read_tokens: i64,
    /// So many of those were put into a cache.
    pub cache_write_tokens: i64,
    /// Tokens that it wrote.
    pub output_tokens: i64,
    /// Millionths of a US dollar, where a price is known.
    pub cost_micros: i64,
}

/// What one call took, and of whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spent<'a> {
    /// The subscription's name; `server` for the server's own.
    pub subscription: &'a str,
    /// The model, as its provider calls it.
    pub model: &'a str,
    /// What it took.
    pub usage: TurnUsage,
}
