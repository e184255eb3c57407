//! Why a port could not do what it was asked.

/// The result of asking a port.
pub type PortResult<T> = Result<T, PortError>;

/// Why a port could not do what it was asked. The engine ends the turn for it; what it says is logged, not shown.
#[derive(Debug, thiserror::Error)]
pub enum PortError {
    /// The chat, or what was asked of it, is gone.
    #[error("{0}")]
    Gone(String),
    /// The house's database is away, so that the same may work a little later.
    #[error("{0}")]
    Away(String),
    /// The house around the engine fails.
    #[error("{0}")]
    Failed(String),
}
