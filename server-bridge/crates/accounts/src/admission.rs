//! Admission of a machine that registers: its token decides.

use store::{Enrolment, Runner, RunnerAuth, RunnerId, Secret, User, UserId};

use crate::trail::Act;
use crate::{Accounts, Result};

/// The data that a machine presents when it registers.
#[derive(Clone, Copy)]
pub struct Showing<'a> {
    /// Its token.
    pub token: &'a str,
    /// Users that it names itself, if any: each has to be the token's own.
    pub claimed_users: &'a [&'a str],
    /// The id of its process.
    pub boot_id: &'a str,
    /// Its host name, for the trail.
    pub hostname: &'a str,
    /// True if it keeps the token that it is given in place of a one-time token.
    pub takes_token: bool,
    /// Its facts, as JSON.
    pub facts_json: &'a str,
}

/// An admitted machine.
#[derive(Clone, Debug)]
pub struct Admitted {
    /// Its owner.
    pub user: User,
    /// The row.
    pub runner: RunnerId,
    /// Its name.
    pub name: String,
    /// The number of this registration.
    pub epoch: u64,
    /// Its permanent token, if it presented a one-time token.
    pub token: Option<Secret>,
}

/// Why a machine is not admitted. The texts are for readers of its log.
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
    /// The machine names another user than the token's.
    #[error("name the token's own user in the address (/ws/USER) and as the user id")]
    OtherUser,
    /// It is a one-time token, and the machine would lose the permanent one.
    #[error(
        "this runner does not support one-use tokens; update it, or give it a token with `sandbridge runner rotate {0}`"
    )]
    TakesNoToken(String),
    /// It is a one-time token that was used.
    #[error(
        "this enrolment token was already used; if that was not you, run `sandbridge runner revoke {0}`; for another token, run \
         `sandbridge runner rotate {0}`"
    )]
    Used(String),
    /// It is a one-time token that was not presented in time.
    #[error("this enrolment token has expired; make another token with `sandbridge runner rotate {0}`")]
    EnrolmentExpired(String),
    /// The machine's facts break a rule.
    #[error("{0}")]
    Malformed(String),
    /// The store does not answer. It may be tried again.
    #[error("{0}")]
    Unavailable(store::Error),
}

impl From<store::Error> for TokenRefused {
    fn from(error: store::Error) -> Self {
        Self::Unavailable(error)
    }
}

impl Accounts {
    /// The runner of this token; a one-time token is exchanged for the runner's own. The result of the whole registration is
    /// recorded by the caller, which has the rest of it.
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

    /// The user whose runner a token is for; `None` for an unknown one. Whether it is admitted is decided by [`Accounts::admit_runner`].
    ///
    /// # Errors
    /// [`crate::Error::Internal`].
    pub async fn runner_token_user(&self, token: &str) -> crate::Result<Option<UserId>> {
        Ok(self.store.runner_token_user(token).await?)
    }

    /// Exchanges a one-time token for the runner's own.
    async fn enrol(&self, user: &User, runner: &Runner, shown: Showing<'_>) -> Result<Secret, TokenRefused> {
        let name = &runner.name;
        // Checked before the token is used up for a runner that would lose the permanent one.
        if !shown.takes_token {
            return Err(TokenRefused::TakesNoToken(name.clone()));
        }
        let (refused, outcome) = match self.store.enrol(shown.token, shown.boot_id).await? {
            Enrolment::Enrolled(token) => return Ok(token),
            Enrolment::Used => (TokenRefused::Used(name.clone()), "used"),
            Enrolment::Expired => (TokenRefused::EnrolmentExpired(name.clone()), "expired"),
        };
        // Important for its owner: another person may have it.
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
