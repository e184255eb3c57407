//! Errors of the engine's ports.

/// The result of asking a port.
pub type PortResult<T> = Result<T, PortError>;

/// The reason why a port could not do what it was asked to. The engine ends the turn; the message is logged, not shown.
#[derive(Debug, thiserror::Error)]
pub enum PortError {
    /// The chat or the requested object no longer exists.
    #[error("{0}")]
    Gone(String),
    /// The database cannot be reached; the same request may succeed a little later.
    #[error("{0}")]
    Away(String),
    /// The server around the engine failed.
    #[error("{0}")]
    Failed(String),
}
