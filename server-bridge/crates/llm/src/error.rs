//! The errors, distinguished by what a user can do about them.

use std::time::Duration;

/// The reason why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The provider refused the key.
    #[error("the model's provider refused the key ({0}); check the key")]
    Key(String),
    /// The provider has no such model, or not for this key.
    #[error("the provider has no such model ({0}); check its name, or choose another model")]
    UnknownModel(String),
    /// The conversation does not fit into the model's window.
    #[error("the conversation is too long for the model ({0})")]
    InputTooLong(String),
    /// Too many calls, or no credit left for now.
    #[error("the provider's rate limit is reached ({message})")]
    RateLimited {
        /// The provider's text.
        message: String,
        /// The pause that it requests.
        retry_after: Option<Duration>,
    },
    /// The account has no credit left.
    #[error("the provider reports that the account has no credit left ({0})")]
    Quota(String),
    /// The provider has no capacity at the moment.
    #[error("the provider is overloaded ({0})")]
    Overloaded(String),
    /// The provider itself has another problem.
    #[error("the provider failed ({0})")]
    Provider(String),
    /// The provider could not be reached, or the connection broke.
    #[error("the provider cannot be reached ({0})")]
    Network(String),
    /// The provider was silent for 120 s, or its answer did not end within 600 s, unless other [`crate::Deadlines`] are set.
    #[error("the provider took too long ({0})")]
    Timeout(String),
    /// The answer broke off.
    #[error("the answer broke off before its end")]
    Interrupted,
    /// The answer has neither text nor tool calls.
    #[error("the model's answer was empty")]
    Empty,
    /// The provider rejects the request.
    #[error("the provider refused the request ({0})")]
    Refused(String),
    /// The address is invalid or out of reach; contains the reason.
    #[error("{0}")]
    Address(String),
    /// The answer is not in the dialect.
    #[error("the provider's answer cannot be parsed: {0}; is it the right kind of provider?")]
    Nonsense(&'static str),
    /// The runner that relays has no model, or is not connected.
    #[error("{0}")]
    Relay(String),
}

impl Error {
    /// The error's name, one word for programs and for the record.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Key(_) => "key",
            Self::UnknownModel(_) => "unknown_model",
            Self::InputTooLong(_) => "input_too_long",
            Self::RateLimited { .. } => "rate_limited",
            Self::Quota(_) => "quota",
            Self::Overloaded(_) => "overloaded",
            Self::Provider(_) => "provider",
            Self::Network(_) => "network",
            Self::Timeout(_) => "timeout",
            Self::Interrupted => "interrupted",
            Self::Empty => "empty",
            Self::Refused(_) => "refused",
            Self::Address(_) => "address",
            Self::Nonsense(_) => "nonsense",
            Self::Relay(_) => "relay",
        }
    }

    /// True if another provider may be used instead of this one, because this one is unavailable, at least for the moment. A mistake in the user's
    /// settings is reported instead, and a conversation that does not fit is shortened first.
    pub fn is_anothers_turn(&self) -> bool {
        self.is_passing() || matches!(self, Self::Quota(_) | Self::Relay(_))
    }

    /// True if the same request may succeed a little later.
    pub fn is_passing(&self) -> bool {
        match self {
            Self::RateLimited { .. } | Self::Overloaded(_) | Self::Provider(_) | Self::Network(_) => true,
            Self::Timeout(_) | Self::Interrupted | Self::Empty => true,
            Self::Key(_) | Self::UnknownModel(_) | Self::InputTooLong(_) | Self::Quota(_) => false,
            Self::Refused(_) | Self::Address(_) | Self::Nonsense(_) | Self::Relay(_) => false,
        }
    }
}
