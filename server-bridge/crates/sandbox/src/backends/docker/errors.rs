//! The engine's errors, in words that say what to do.

use bollard::errors::Error;

use crate::error::RouteError;

/// Docker cannot be used, for this reason.
pub(super) fn unavailable(why: impl Into<String>) -> RouteError {
    RouteError::DockerUnavailable { why: why.into() }
}

/// The status of the engine's answer, if it gave one.
pub(super) fn status(error: &Error) -> Option<u16> {
    match error {
        Error::DockerResponseServerError { status_code, .. } => Some(*status_code),
        _ => None,
    }
}

/// The container is paused, and so is any request to it.
pub(super) fn paused(name: &str) -> RouteError {
    unavailable(format!("the container is paused: docker unpause {name}"))
}

/// The engine could not do it, or does not answer at all.
pub(super) fn failed(what: &str, error: &Error) -> RouteError {
    match error {
        Error::DockerResponseServerError { message, .. } | Error::DockerStreamError { error: message } => {
            if message.contains("no space left on device") {
                unavailable(format!("{what}: the engine's disk is full; make room there (docker system df)"))
            } else {
                unavailable(format!("{what}: the engine says: {message}"))
            }
        }
        error => silent(error),
    }
}

/// The engine's own words for an error.
pub(super) fn said(error: &Error) -> String {
    match error {
        Error::DockerResponseServerError { message, .. } | Error::DockerStreamError { error: message } => {
            message.clone()
        }
        error => error.to_string(),
    }
}

/// The engine does not answer.
pub(super) fn silent(error: &Error) -> RouteError {
    unavailable(format!("its engine does not answer ({error}); start it, or see `docker info`"))
}
