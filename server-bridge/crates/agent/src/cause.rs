//! The causes of a turn's failure, typed.

/// The cause of a turn's failure. Hooks match its word, so a word that a peer uses has the same meaning here; the other words are ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// The provider refused the key.
    Authentication,
    /// The account has no credit left.
    Billing,
    /// The provider's rate limit is reached.
    RateLimit,
    /// The provider has no capacity at the moment.
    Overloaded,
    /// The provider has another problem of its own.
    ServerError,
    /// The provider cannot be reached, or the connection broke.
    Network,
    /// The provider took too long.
    Timeout,
    /// The provider has no such model, or none is set up.
    ModelNotFound,
    /// The conversation does not fit into the model's window, and could not be shortened.
    ContextTooLong,
    /// The answer was cut off at its maximum length.
    MaxOutputTokens,
    /// The provider rejects the request, or the model's settings are wrong.
    InvalidRequest,
    /// The provider's answer was empty or cannot be parsed.
    InvalidAnswer,
    /// The model refused to answer.
    Refusal,
    /// The model used all answers that a turn may have.
    MaxAnswers,
    /// A hook, or the budget of a group, ended the turn.
    Denied,
    /// The machine was lost.
    Machine,
    /// The server could not store the conversation.
    Internal,
    /// Another cause.
    Unknown,
}

impl Cause {
    /// All causes, in the order of the type.
    pub const ALL: [Self; 18] = [
        Self::Authentication,
        Self::Billing,
        Self::RateLimit,
        Self::Overloaded,
        Self::ServerError,
        Self::Network,
        Self::Timeout,
        Self::ModelNotFound,
        Self::ContextTooLong,
        Self::MaxOutputTokens,
        Self::InvalidRequest,
        Self::InvalidAnswer,
        Self::Refusal,
        Self::MaxAnswers,
        Self::Denied,
        Self::Machine,
        Self::Internal,
        Self::Unknown,
    ];

    /// The cause's word for programs.
    pub fn word(self) -> &'static str {
        match self {
            Self::Authentication => "authentication_failed",
            Self::Billing => "billing_error",
            Self::RateLimit => "rate_limit",
            Self::Overloaded => "overloaded",
            Self::ServerError => "server_error",
            Self::Network => "network",
            Self::Timeout => "timeout",
            Self::ModelNotFound => "model_not_found",
            Self::ContextTooLong => "context_too_long",
            Self::MaxOutputTokens => "max_output_tokens",
            Self::InvalidRequest => "invalid_request",
            Self::InvalidAnswer => "invalid_answer",
            Self::Refusal => "refusal",
            Self::MaxAnswers => "max_answers",
            Self::Denied => "denied",
            Self::Machine => "machine",
            Self::Internal => "internal",
            Self::Unknown => "unknown",
        }
    }
}

impl From<&llm::Error> for Cause {
    fn from(error: &llm::Error) -> Self {
        match error {
            llm::Error::Key(_) => Self::Authentication,
            llm::Error::UnknownModel(_) => Self::ModelNotFound,
            llm::Error::InputTooLong(_) => Self::ContextTooLong,
            llm::Error::RateLimited { .. } => Self::RateLimit,
            llm::Error::Quota(_) => Self::Billing,
            llm::Error::Overloaded(_) => Self::Overloaded,
            llm::Error::Provider(_) => Self::ServerError,
            llm::Error::Network(_) | llm::Error::Interrupted | llm::Error::Relay(_) => Self::Network,
            llm::Error::Timeout(_) => Self::Timeout,
            llm::Error::Empty | llm::Error::Nonsense(_) => Self::InvalidAnswer,
            llm::Error::Refused(_) | llm::Error::Address(_) => Self::InvalidRequest,
        }
    }
}

#[cfg(test)]
mod tests {
    use llm::Error;

    use super::*;

    #[test]
    fn each_error_of_a_provider_has_its_cause() {
        let text = String::new;
        let rows = [
            (Error::Key(text()), "authentication_failed"),
            (Error::UnknownModel(text()), "model_not_found"),
            (Error::InputTooLong(text()), "context_too_long"),
            (Error::RateLimited { message: text(), retry_after: None }, "rate_limit"),
            (Error::Quota(text()), "billing_error"),
            (Error::Overloaded(text()), "overloaded"),
            (Error::Provider(text()), "server_error"),
            (Error::Network(text()), "network"),
            (Error::Interrupted, "network"),
            (Error::Relay(text()), "network"),
            (Error::Timeout(text()), "timeout"),
            (Error::Empty, "invalid_answer"),
            (Error::Nonsense(""), "invalid_answer"),
            (Error::Refused(text()), "invalid_request"),
            (Error::Address(text()), "invalid_request"),
        ];
        for (error, word) in rows {
            assert_eq!(Cause::from(&error).word(), word, "{error:?}");
        }
    }

    #[test]
    fn each_cause_has_its_own_word() {
        let words: std::collections::HashSet<_> = Cause::ALL.into_iter().map(Cause::word).collect();
        assert_eq!(words.len(), Cause::ALL.len());
    }
}
