//! What can go wrong, split by what a front end answers.

/// Shorthand for this crate's results.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Every error of accounts. A front end says what it answers to each, so another one is a change of them all. All but [`Error::Internal`] and [`Error::Away`] are the caller's doing; all but [`Error::Internal`] have texts that may be shown as they stand.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Only an administrator may.
    #[error("only an administrator of the server may do that; ask one")]
    NotAdmin,
    /// An administrator named themselves where it takes another one.
    #[error("you cannot {what} yourself; another administrator can")]
    Yourself {
        /// What they wanted to do, as the middle of a sentence.
        what: &'static str,
    },
    /// An administrator gave themselves a password as they do for others.
    #[error("change your own password with your current one: POST /api/v1/password")]
    OwnPassword,
    /// Nobody would be left to administer the server.
    #[error("nobody would be left to administer the server; make another administrator first")]
    LastAdmin,
    /// The name or the password of a login is wrong. Which of the two is not told.
    #[error("the name or the password is wrong")]
    WrongLogin,
    /// Somebody who is logged in gave a wrong password.
    #[error("{0}")]
    WrongPassword(&'static str),
    /// A code that signs a page in is unknown, used, too old, or its session has ended.
    #[error("this address was used already or is too old; ask for another one where this one was printed")]
    WrongCode,
    /// Too many codes were asked for that nobody used.
    #[error("too many codes were requested but not used")]
    TooManyCodes,
    /// The secret of the first account is wrong.
    #[error(
        "that is not the secret that `sandbridge serve` printed when it started; look again, or restart the server for a new one"
    )]
    WrongSecret,
    /// There is an account already, so the first one is not made any more.
    #[error("the first account already exists; log in, or ask an administrator for an account")]
    SetUpAlready,
    /// A value breaks a rule; says which.
    #[error("{0}")]
    Invalid(String),
    /// There is no such thing, or it is another user's.
    #[error("{0}")]
    NotFound(String),
    /// The name is in use.
    #[error("{0}")]
    Taken(String),
    /// The database is away, so that the same may work a little later.
    #[error("{}", .0.shown())]
    Away(store::Error),
    /// The store failed: for the log; a user learns only that the server could not do it.
    #[error("{0}")]
    Internal(store::Error),
}

impl From<store::Error> for Error {
    fn from(error: store::Error) -> Self {
        match &error {
            store::Error::NotFound { .. } => Self::NotFound(error.to_string()),
            store::Error::Taken { .. } | store::Error::Conflict { .. } => Self::Taken(error.to_string()),
            callers if callers.is_callers() => Self::Invalid(error.to_string()),
            away if away.is_away() => Self::Away(error),
            _ => Self::Internal(error),
        }
    }
}
