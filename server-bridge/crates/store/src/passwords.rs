//! Password hashing with argon2id: outside of the runtime's threads, and only a few at a time.

use std::sync::Arc;

use argon2::password_hash::phc::{Output, PasswordHash};
use argon2::password_hash::{Error as HashError, PasswordHasher as _};
use argon2::{Algorithm, Argon2, Block, Params, Version};
use tokio::sync::Semaphore;
use tokio::task;

use crate::error::{Error, Result};
use crate::limits::{
    PASSWORD_HASHES_AT_ONCE, PASSWORD_MAX_BYTES, PASSWORD_MEMORY_MIN_BYTES, PASSWORD_MIN_CHARS,
};

/// The salt for the hash that is computed when the account does not exist.
const NOBODYS_SALT: &[u8] = b"nobody's account";

/// Hashes and verifies passwords, and limits the number that are hashed at once. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Passwords {
    permits: Arc<Semaphore>,
}

impl Passwords {
    pub(crate) fn new() -> Self {
        Self { permits: Arc::new(Semaphore::new(PASSWORD_HASHES_AT_ONCE)) }
    }

    /// Hashes a new password; returns an argon2id PHC string.
    pub(crate) async fn hash(&self, password: &str) -> Result<String> {
        check_rules(password)?;
        let password = password.to_owned();
        self.work(move || Argon2::default().hash_password(password.as_bytes()).map(|hash| hash.to_string()))
            .await
    }

    /// True if `password` matches the hash `stored`. Without a stored hash, the same work is done and its result ignored, so that an unknown user
    /// takes as long as a wrong password.
    pub(crate) async fn verify(&self, password: &str, stored: Option<String>) -> Result<bool> {
        if password.len() > PASSWORD_MAX_BYTES {
            return Ok(false);
        }
        let password = password.to_owned();
        self.work(move || {
            let stored = stored.as_deref().map(PasswordHash::new).transpose()?;
            matches(password.as_bytes(), stored.as_ref())
        })
        .await
    }

    /// Runs one hashing job. The permit moves into the job: a caller that gives up does not release the permit before the job's memory is free.
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

/// True if the password has this hash; without a hash, the same work is done before returning false.
fn matches(password: &[u8], stored: Option<&PasswordHash>) -> Result<bool, HashError> {
    let Some(stored) = stored else {
        let params = Params::default();
        let length = Params::DEFAULT_OUTPUT_LEN;
        return derive(password, NOBODYS_SALT, Algorithm::default(), Version::default(), params, length)
            .map(|_| false);
    };
    let (Some(salt), Some(expected)) = (&stored.salt, &stored.hash) else {
        return Err(HashError::PasswordInvalid);
    };
    let algorithm = Algorithm::try_from(stored.algorithm.as_str())?;
    let version = stored.version.map(Version::try_from).transpose()?.unwrap_or_default();
    let params = Params::try_from(stored)?;
    // Hashes are compared in constant time.
    Ok(derive(password, salt, algorithm, version, params, expected.as_bytes().len())? == *expected)
}

/// Hashes in memory that is returned to the system at once, so that a flood of logins leaves no memory allocated.
fn derive(
    password: &[u8],
    salt: &[u8],
    algorithm: Algorithm,
    version: Version,
    params: Params,
    length: usize,
) -> Result<Output, HashError> {
    let blocks = params.block_count();
    // Only used pages take memory; the rest is address space.
    let mut memory = Vec::with_capacity(blocks.max(PASSWORD_MEMORY_MIN_BYTES / Block::SIZE));
    memory.resize(blocks, Block::default());
    let mut out = vec![0; length];
    Argon2::new(algorithm, version, params).hash_password_into_with_memory(
        password,
        salt,
        &mut out,
        &mut memory,
    )?;
    Ok(Output::new(&out)?)
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
