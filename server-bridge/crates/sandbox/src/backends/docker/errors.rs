//! The engine's errors, each with advice on what to do.

use bollard::errors::Error;

use crate::error::RouteError;

/// The error that reports that Docker cannot be used, and why.
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

/// The error for a container that is paused and therefore cannot answer.
pub(super) fn paused(name: &str) -> RouteError {
    unavailable(format!("the container is paused; run docker unpause {name}"))
}

/// The error for an operation that the engine refused, or did not answer at all.
pub(super) fn failed(what: &str, error: &Error) -> RouteError {
    match error {
        Error::DockerResponseServerError { message, .. } | Error::DockerStreamError { error: message } => {
            if message.contains("no space left on device") {
                unavailable(format!("{what}: the engine's disk is full; make room there (docker system df)"))
            } else {
                unavailable(format!("{what}: the engine reports: {message}"))
            }
        }
        error => silent(error),
    }
}

/// The engine's own text for an error.
pub(super) fn said(error: &Error) -> String {
    match error {
        Error::DockerResponseServerError { message, .. } | Error::DockerStreamError { error: message } => {
            message.clone()
        }
        error => error.to_string(),
    }
}

/// The error for an engine that does not answer.
pub(super) fn silent(error: &Error) -> RouteError {
    unavailable(format!("its engine does not answer ({error}); start it, or see `docker info`"))
}
