//! Attempts that are limited like logins: passwords, the secret of the first account, codes.

use std::net::IpAddr;

use accounts::{Attempt, Error};

use crate::web::error::ApiError;
use crate::web::state::AppState;

/// Counts an attempt at an account from an address, as [`crate::web::rate::address_key`] groups them. `what` names such attempts, for people.
///
/// # Errors
/// `rate_limited`, with the time until another one is allowed.
pub async fn begin_attempt<'a>(
    state: &'a AppState,
    (address, account, is_known): (IpAddr, &str, bool),
    what: &str,
) -> Result<Attempt<'a>, ApiError> {
    counted(state.accounts.begin_attempt(address, account, is_known).await, what)
}

/// The same for a login: the audit trail shows if the limit is reached.
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
