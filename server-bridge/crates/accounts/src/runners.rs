//! A user's registered machines and their tokens.

use store::{NewToken, Runner, RunnerId, RunnerName, User, UserId};

use crate::limits::ENROLMENT_TTL_MS;
use crate::{AccountEvent, Accounts, Error, Result};

/// A runner to be registered.
#[derive(Clone, Copy, Debug)]
pub struct NewRunner<'a> {
    /// The runner's name, unique among its user's runners.
    pub name: &'a str,
    /// True if its token is a one-time token: the first machine that presents it gets a permanent token.
    pub enrol: bool,
    /// The lifetime of a one-time token, in milliseconds; [`ENROLMENT_TTL_MS`] if `None`. Other tokens do not expire.
    pub ttl_ms: Option<i64>,
}

impl Accounts {
    /// A user's runners, by name.
    ///
    /// # Errors
    /// [`Error::Internal`].
    pub async fn runners(&self, user: UserId) -> Result<Vec<Runner>> {
        Ok(self.store.runners(user).await?)
    }

    /// A user's runner with this name.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub async fn runner(&self, user: UserId, name: &str) -> Result<Runner> {
        Ok(self.store.runner_by_name(user, name).await?)
    }

    /// Registers a machine under a name. Its token can be read only now.
    ///
    /// # Errors
    /// [`Error::Taken`]; [`Error::Invalid`] for a name or a time that violates the rules.
    pub async fn add_runner(&self, user: &User, new: NewRunner<'_>) -> Result<NewToken> {
        let name = RunnerName::parse(new.name)?;
        let token = match (new.enrol, new.ttl_ms) {
            (true, ttl_ms) => {
                self.store.add_runner_to_enrol(user.id, &name, ttl_ms.unwrap_or(ENROLMENT_TTL_MS)).await?
            }
            (false, None) => self.store.add_runner(user.id, &name).await?,
            (false, Some(_)) => {
                return Err(Error::Invalid(
                    "ttl_seconds is for enrol only: other tokens do not expire".to_owned(),
                ));
            }
        };
        let action = if new.enrol { "runner.add_to_enrol" } else { "runner.add" };
        self.note(Some(&user.name), action, name.as_str(), "ok").await;
        self.tell(AccountEvent::Runner { user: user.id, name: name.to_string() });
        Ok(token)
    }

    /// Issues a new token for a machine; the earlier ones remain valid for a while.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub async fn rotate_token(&self, user: &User, name: &str) -> Result<NewToken> {
        let token = self.store.rotate_token(user.id, name).await?;
        self.note(Some(&user.name), "runner.rotate", name, "ok").await;
        self.tell(AccountEvent::Runner { user: user.id, name: name.to_owned() });
        Ok(token)
    }

    /// Revokes a machine; its tokens stop being valid. The listeners of events are informed, and close its connection.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub async fn revoke_runner(&self, user: &User, name: &str) -> Result<()> {
        self.store.revoke_runner(user.id, name).await?;
        // The event is sent first, because the machine's work must not continue while the trail is written.
        self.tell(AccountEvent::RunnerRevoked { user: user.id, name: name.to_owned() });
        self.note(Some(&user.name), "runner.revoke", name, "ok").await;
        Ok(())
    }

    /// Records that a runner has disconnected and is not expected back: after its next start, the server does not wait for it.
    ///
    /// # Errors
    /// [`Error::Internal`].
    pub async fn note_disconnected(&self, runner: RunnerId) -> Result<()> {
        Ok(self.store.note_disconnected(runner).await?)
    }

    /// Records that a machine is connected; returns true if it may stay connected, and false if it was revoked or its user was
    /// removed.
    ///
    /// # Errors
    /// [`Error::Internal`].
    pub async fn touch_runner(&self, runner: RunnerId) -> Result<bool> {
        Ok(self.store.touch_last_seen(runner).await?)
    }
}
