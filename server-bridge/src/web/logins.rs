//! Limits on login attempts, which also apply to the secret of the first account and to sign-in codes.

use std::net::IpAddr;

use accounts::{Attempt, Error};

use crate::web::error::ApiError;
use crate::web::state::AppState;

/// Counts an attempt at an account from an address, grouped by [`crate::web::rate::address_key`]. `what` names such attempts for people.
///
/// # Errors
/// `rate_limited`, with the time until another attempt is allowed.
pub async fn begin_attempt<'a>(
    state: &'a AppState,
    (address, account, is_known): (IpAddr, &str, bool),
    what: &str,
) -> Result<Attempt<'a>, ApiError> {
    counted(state.accounts.begin_attempt(address, account, is_known).await, what)
}

/// Like [`begin_attempt`], for a login; when the limit is reached, that is recorded in the audit trail.
///
/// # Errors
/// As for [`begin_attempt`].
pub async fn begin_login<'a>(
    state: &'a AppState,
    address: IpAddr,
    account: &str,
    is_known: bool,
) -> Result<Attempt<'a>, ApiError> {
    counted(state.accounts.begin_login(address, account, is_known).await, "failed logins")
}

fn counted<'a>(begun: accounts::Result<Attempt<'a>>, what: &str) -> Result<Attempt<'a>, ApiError> {
    match begun {
        Err(Error::TooManyAttempts { retry_after_s }) => Err(ApiError::rate_limited(what, retry_after_s)),
        begun => Ok(begun?),
    }
}
