//! Admission of machines that register, by their tokens.

use store::{Enrolment, Runner, RunnerAuth, RunnerId, Secret, User, UserId};

use crate::trail::Act;
use crate::{Accounts, Result};

/// The data that a machine presents when it registers.
#[derive(Clone, Copy)]
pub struct Showing<'a> {
    /// The machine's token.
    pub token: &'a str,
    /// The users that the machine names itself, if any: each has to be the token's user.
    pub claimed_users: &'a [&'a str],
    /// The id of the runner's process.
    pub boot_id: &'a str,
    /// The machine's host name, for the trail.
    pub hostname: &'a str,
    /// True if the runner can store the permanent token that it gets in exchange for a one-time token.
    pub takes_token: bool,
    /// The details that the machine reports about itself, as JSON.
    pub facts_json: &'a str,
}

/// An admitted machine.
#[derive(Clone, Debug)]
pub struct Admitted {
    /// The runner's owner.
    pub user: User,
    /// The runner's id.
    pub runner: RunnerId,
    /// The runner's name.
    pub name: String,
    /// How many times the runner has registered, including this time.
    pub epoch: u64,
    /// The runner's permanent token, if it presented a one-time token.
    pub token: Option<Secret>,
}

/// Why a machine is not admitted. The messages are for readers of the machine's log.
#[derive(Debug, thiserror::Error)]
pub enum TokenRefused {
    /// No runner has this token.
    #[error("this server does not know the token; make one with `sandbridge runner add NAME`")]
    Unknown,
    /// The token has expired.
    #[error("the token has expired; make another with `sandbridge runner rotate NAME`")]
    Expired,
    /// The runner was revoked.
    #[error("this runner was revoked; to use it again, run `sandbridge runner add NAME`")]
    Revoked,
    /// The runner was revoked while it registered.
    #[error("this runner was revoked a moment ago")]
    RevokedMeanwhile,
    /// The machine names a user other than the token's.
    #[error("the token belongs to another user; name its user in the address (/ws/USER) and as the user id")]
    OtherUser,
    /// The token is a one-time token, and the machine could not store the permanent one.
    #[error(
        "this runner does not support one-use tokens; update it, or give it a token with `sandbridge runner rotate {0}`"
    )]
    TakesNoToken(String),
    /// The token is a one-time token that was used already.
    #[error(
        "this enrolment token was already used; if that was not you, run `sandbridge runner revoke {0}`; for another token, run \
         `sandbridge runner rotate {0}`"
    )]
    Used(String),
    /// The token is a one-time token that was not presented in time.
    #[error("this enrolment token has expired; make another token with `sandbridge runner rotate {0}`")]
    EnrolmentExpired(String),
    /// The details that the machine reports violate a rule; contains the rule.
    #[error("{0}")]
    Malformed(String),
    /// The store failed; the machine may try again.
    #[error("{0}")]
    Unavailable(store::Error),
}

impl From<store::Error> for TokenRefused {
    fn from(error: store::Error) -> Self {
        Self::Unavailable(error)
    }
}

impl Accounts {
    /// Admits the runner with this token; a one-time token is exchanged for a permanent one. The caller records the result of the
    /// registration in the audit trail, because it does the rest of the registration.
    ///
    /// # Errors
    /// [`TokenRefused`].
    pub async fn admit_runner(&self, shown: Showing<'_>) -> Result<Admitted, TokenRefused> {
        let (user, runner, enrols) = match self.store.authenticate_runner(shown.token).await? {
            RunnerAuth::Accepted { user, runner } => (user, runner, false),
            RunnerAuth::Enrolling { user, runner } => (user, runner, true),
            RunnerAuth::Unknown => return Err(TokenRefused::Unknown),
            RunnerAuth::Expired => return Err(TokenRefused::Expired),
            RunnerAuth::Revoked => return Err(TokenRefused::Revoked),
        };
        if shown.claimed_users.iter().any(|claimed| *claimed != user.name) {
            return Err(TokenRefused::OtherUser);
        }
        let token = if enrols { Some(self.enrol(&user, &runner, shown).await?) } else { None };
        match self.store.record_registration(runner.id, shown.facts_json).await {
            Ok(epoch) => Ok(Admitted { user, runner: runner.id, name: runner.name, epoch, token }),
            Err(store::Error::NotFound { .. }) => Err(TokenRefused::RevokedMeanwhile),
            Err(error) if error.is_callers() => Err(TokenRefused::Malformed(error.to_string())),
            Err(error) => Err(error.into()),
        }
    }

    /// The user whose runner a token is for; `None` for an unknown token. [`Accounts::admit_runner`] decides whether it is admitted.
    ///
    /// # Errors
    /// [`crate::Error::Internal`].
    pub async fn runner_token_user(&self, token: &str) -> crate::Result<Option<UserId>> {
        Ok(self.store.runner_token_user(token).await?)
    }

    /// Exchanges a one-time token for the runner's permanent token.
    async fn enrol(&self, user: &User, runner: &Runner, shown: Showing<'_>) -> Result<Secret, TokenRefused> {
        let name = &runner.name;
        // Checked first, so that the token is not used up by a runner that could not store the permanent one.
        if !shown.takes_token {
            return Err(TokenRefused::TakesNoToken(name.clone()));
        }
        let (refused, outcome) = match self.store.enrol(shown.token, shown.boot_id).await? {
            Enrolment::Enrolled(token) => return Ok(token),
            Enrolment::Used => (TokenRefused::Used(name.clone()), "used"),
            Enrolment::Expired => (TokenRefused::EnrolmentExpired(name.clone()), "expired"),
        };
        // The runner's owner has to see this in the trail, because another person may have the token.
        let act = Act {
            user: Some(&user.name),
            action: "runner.enrol",
            location: Some(name),
            target: shown.hostname,
            outcome,
        };
        self.record(act).await;
        Err(refused)
    }
}
