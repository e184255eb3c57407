//! Errors, grouped by how a front end responds to them.

/// Shorthand for this crate's results.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Every error of accounts. Front ends map each one to a response, so a new error requires changes in all front ends. All except
/// [`Error::Internal`] and [`Error::Away`] are the caller's fault; the texts of all except [`Error::Internal`] may be shown to users.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Only an administrator may do this.
    #[error("only an administrator of the server may do that; ask one")]
    NotAdmin,
    /// An administrator named themselves where another one is required.
    #[error("you cannot {what} yourself; another administrator can")]
    Yourself {
        /// The intended action, as the middle of a sentence.
        what: &'static str,
    },
    /// Administrators cannot set their own password in the way they set others'.
    #[error("to change your own password, give your current one too: POST /api/v1/password")]
    OwnPassword,
    /// The change would leave no administrator.
    #[error("nobody would be left to administer the server; make another user an administrator first")]
    LastAdmin,
    /// The name or the password of a login is wrong; the error does not reveal which.
    #[error("the name or the password is wrong")]
    WrongLogin,
    /// A logged-in user gave a wrong password.
    #[error("{0}")]
    WrongPassword(&'static str),
    /// A code that signs a page in is unknown, used or too old, or its session has ended.
    #[error("this sign-in address was already used or has expired; request a new one")]
    WrongCode,
    /// Too many codes were requested and not used.
    #[error("too many codes were requested but not used")]
    TooManyCodes,
    /// Too many tickets were requested and not used.
    #[error("too many downloads were requested but not started")]
    TooManyTickets,
    /// Too many attempts failed.
    #[error("too many failed attempts; try again in {retry_after_s} s")]
    TooManyAttempts {
        /// The time until another attempt is allowed, in seconds.
        retry_after_s: u64,
    },
    /// The secret of the first account is wrong.
    #[error(
        "that is not the secret that `sandbridge serve` printed when it started; look again, or restart the server for a new one"
    )]
    WrongSecret,
    /// There is an account already, so the first one can no longer be created.
    #[error("the first account already exists; log in, or ask an administrator for an account")]
    SetUpAlready,
    /// A value violates a rule; contains the rule.
    #[error("{0}")]
    Invalid(String),
    /// The requested item does not exist, or belongs to another user.
    #[error("{0}")]
    NotFound(String),
    /// The name is in use.
    #[error("{0}")]
    Taken(String),
    /// The database cannot be reached, or another node works for the user; the request may succeed a little later.
    #[error("{}", .0.shown())]
    Away(store::Error),
    /// The store failed. The text is for the log; the user learns only that the request failed.
    #[error("{0}")]
    Internal(store::Error),
}

impl From<store::Error> for Error {
    fn from(error: store::Error) -> Self {
        match &error {
            store::Error::NotFound { .. } => Self::NotFound(error.to_string()),
            store::Error::Taken { .. } | store::Error::Conflict { .. } => Self::Taken(error.to_string()),
            callers if callers.is_callers() => Self::Invalid(error.to_string()),
            passing if passing.is_passing() => Self::Away(error),
            _ => Self::Internal(error),
        }
    }
}
