//! Passwords: argon2id, off the runtime's threads, a few at a time.

use std::sync::Arc;

use argon2::Argon2;
use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{Error as HashError, PasswordHasher as _, PasswordVerifier as _};
use tokio::sync::Semaphore;
use tokio::task;

use crate::error::{Error, Result};
use crate::limits::{PASSWORD_HASHES_AT_ONCE, PASSWORD_MAX_BYTES, PASSWORD_MIN_CHARS};

/// Hashes and verifies; bounds how many do so at once. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Passwords {
    permits: Arc<Semaphore>,
}

impl Passwords {
    pub(crate) fn new() -> Self {
        Self { permits: Arc::new(Semaphore::new(PASSWORD_HASHES_AT_ONCE)) }
    }

    /// The argon2id PHC string of a new password.
    pub(crate) async fn hash(&self, password: &str) -> Result<String> {
        check_rules(password)?;
        let password = password.to_owned();
        self.work(move || Argon2::default().hash_password(password.as_bytes()).map(|hash| hash.to_string()))
            .await
    }

    /// Whether `password` is the one behind `stored`. Without a stored hash the same work is done for nothing, so an
    /// unknown user takes as long as a wrong password.
    pub(crate) async fn verify(&self, password: &str, stored: Option<String>) -> Result<bool> {
        if password.len() > PASSWORD_MAX_BYTES {
            return Ok(false);
        }
        let password = password.to_owned();
        self.work(move || {
            let Some(stored) = stored else {
                return Argon2::default().hash_password(password.as_bytes()).map(|_| false);
            };
            let stored = PasswordHash::new(&stored)?;
            match Argon2::default().verify_password(password.as_bytes(), &stored) {
                Ok(()) => Ok(true),
                Err(HashError::PasswordInvalid) => Ok(false),
                Err(error) => Err(error),
            }
        })
        .await
    }

    /// Runs one hashing job. The permit goes with the job: a caller that gives up does not free the memory it uses.
    async fn work<T: Send + 'static>(
        &self,
        job: impl FnOnce() -> Result<T, HashError> + Send + 'static,
    ) -> Result<T> {
        let permit = Arc::clone(&self.permits)
            .acquire_owned()
            .await
            .expect("this semaphore is private and never closed");
        task::spawn_blocking(move || {
            let _permit = permit;
            job()
        })
        .await
        .map_err(|error| Error::PasswordHash(error.to_string()))?
        .map_err(|error| Error::PasswordHash(error.to_string()))
    }
}

fn check_rules(password: &str) -> Result<()> {
    let invalid = |rule| Err(Error::Invalid { what: "password", rule });
    if password.chars().count() < PASSWORD_MIN_CHARS {
        return invalid(format!("is too short; use at least {PASSWORD_MIN_CHARS} characters"));
    }
    if password.len() > PASSWORD_MAX_BYTES {
        return invalid(format!("is too long; use at most {PASSWORD_MAX_BYTES} bytes"));
    }
    Ok(())
}
