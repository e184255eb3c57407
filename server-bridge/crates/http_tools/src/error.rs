//! The reason why a document, a call or a response cannot be used.

/// A problem as text, for the person who wrote a document or the model that made a call. It contains no secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Problem(String);

/// Shorthand for this crate's results.
pub type Result<T> = std::result::Result<T, Problem>;

impl Problem {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// This problem, with its subject put before it.
    pub(crate) fn of(self, what: &str) -> Self {
        Self(format!("{what} cannot be used: {}", self.0))
    }
}
