//! Errors for clients, and for the log.

use accounts::limits::{SIGN_IN_LIFETIME, TICKET_LIFETIME};
use api::error::{ErrorBody, ErrorView};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use sandbox::{RouteError, SandboxError};

use crate::web::json::Json;

/// A failed request: a status, a kind for programs, and a text that tells people what to do next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiError {
    /// The HTTP status.
    pub status: StatusCode,
    /// The kind that programs match on.
    pub kind: &'static str,
    /// The text that people read.
    pub message: String,
    /// For `rate_limited`: the time until the next attempt, in seconds.
    pub retry_after_s: Option<u64>,
}

impl ApiError {
    /// An error of this kind, which determines the status.
    pub fn new(kind: &'static str, message: impl Into<String>) -> Self {
        Self { status: status_of(kind), kind, message: message.into(), retry_after_s: None }
    }

    /// The request itself is invalid.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new("invalid", message)
    }

    /// The client is not logged in.
    pub fn unauthorized() -> Self {
        Self::new("unauthorized", "you are not logged in, or your session has ended; log in again")
    }

    /// Too many attempts of this kind.
    pub fn rate_limited(what: &str, retry_after_s: u64) -> Self {
        let message = format!("too many {what}; try again in {retry_after_s} s");
        Self { retry_after_s: Some(retry_after_s), ..Self::new("rate_limited", message) }
    }

    /// A fault of the server: `error` goes to the log, not to the client.
    pub fn internal(error: &dyn std::fmt::Display) -> Self {
        tracing::error!(%error, "a request failed");
        Self::new("internal", "the server could not do this; its log says why")
    }

    /// The error of a service as a response, with this kind and message; the text of an internal error is logged, not shown.
    fn of(kind: &'static str, message: impl FnOnce() -> String, error: &dyn std::fmt::Display) -> Self {
        if kind == "internal" { Self::internal(error) } else { Self::new(kind, message()) }
    }

    /// The error as the JSON object of a response.
    pub fn body(&self) -> ErrorBody {
        ErrorBody { error: ErrorView { kind: self.kind.to_owned(), message: self.message.clone() } }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = (self.status, Json(self.body())).into_response();
        if let Some(seconds) = self.retry_after_s {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

impl From<accounts::Error> for ApiError {
    fn from(error: accounts::Error) -> Self {
        use accounts::Error;
        let kind = match &error {
            Error::NotAdmin | Error::WrongPassword(_) | Error::WrongSecret => "forbidden",
            Error::WrongLogin | Error::WrongCode => "unauthorized",
            Error::Yourself { .. } | Error::OwnPassword | Error::LastAdmin => "conflict",
            Error::SetUpAlready | Error::Taken(_) => "conflict",
            Error::Invalid(_) => "invalid",
            Error::NotFound(_) => "not_found",
            Error::TooManyCodes => {
                let retry_after_s = SIGN_IN_LIFETIME.as_secs();
                return Self::rate_limited("codes that were requested but not used", retry_after_s);
            }
            Error::TooManyTickets => {
                let retry_after_s = TICKET_LIFETIME.as_secs();
                return Self::rate_limited("downloads that were requested but not started", retry_after_s);
            }
            Error::TooManyAttempts { retry_after_s } => {
                return Self::rate_limited("failed attempts", *retry_after_s);
            }
            Error::Away(_) => "unavailable",
            Error::Internal(_) => return Self::internal(&error),
        };
        Self::new(kind, error.to_string())
    }
}

impl From<execs::Error> for ApiError {
    fn from(error: execs::Error) -> Self {
        Self::of(error.kind(), || error.message(), &error)
    }
}

impl From<chats::Error> for ApiError {
    fn from(error: chats::Error) -> Self {
        Self::of(error.kind(), || error.message(), &error)
    }
}

impl From<extensions::Error> for ApiError {
    fn from(error: extensions::Error) -> Self {
        Self::of(error.kind(), || error.message(), &error)
    }
}

impl From<knowledge::Error> for ApiError {
    fn from(error: knowledge::Error) -> Self {
        Self::of(error.kind(), || error.message(), &error)
    }
}

impl From<automation::Error> for ApiError {
    fn from(error: automation::Error) -> Self {
        Self::of(error.kind(), || error.message(), &error)
    }
}

impl From<channels::Error> for ApiError {
    fn from(error: channels::Error) -> Self {
        Self::of(error.kind(), || error.message(), &error)
    }
}

impl From<groups::Error> for ApiError {
    fn from(error: groups::Error) -> Self {
        Self::of(error.kind(), || error.message(), &error)
    }
}

impl From<RouteError> for ApiError {
    fn from(error: RouteError) -> Self {
        Self::new(error.kind(), error.to_string())
    }
}

impl From<SandboxError> for ApiError {
    fn from(error: SandboxError) -> Self {
        Self::new(error.kind(), error.to_string())
    }
}

/// The status of a kind; the status of unlisted kinds means that a request was understood but could not be carried out.
fn status_of(kind: &str) -> StatusCode {
    match kind {
        "invalid" | "invalid_path" | "escapes_workspace" | "name_too_long" | "invalid_cwd" => {
            StatusCode::BAD_REQUEST
        }
        "unauthorized" => StatusCode::UNAUTHORIZED,
        "denied" | "forbidden" | "approval_required" | "login_required" | "password_required"
        | "permission_denied" | "sandbox_denied" | "read_only" | "hard_linked" => StatusCode::FORBIDDEN,
        "not_found" => StatusCode::NOT_FOUND,
        "precondition_failed" => StatusCode::PRECONDITION_FAILED,
        "method_not_allowed" => StatusCode::METHOD_NOT_ALLOWED,
        "conflict" | "no_route" | "already_exists" | "directory_not_empty" => StatusCode::CONFLICT,
        "range_not_satisfiable" => StatusCode::RANGE_NOT_SATISFIABLE,
        "too_large" => StatusCode::PAYLOAD_TOO_LARGE,
        "misdirected" => StatusCode::MISDIRECTED_REQUEST,
        "rate_limited" | "busy" => StatusCode::TOO_MANY_REQUESTS,
        "internal" => StatusCode::INTERNAL_SERVER_ERROR,
        "lost" | "protocol" | "ambiguous" | "mcp_failed" => StatusCode::BAD_GATEWAY,
        "offline" | "unavailable" | "shutting_down" => StatusCode::SERVICE_UNAVAILABLE,
        "no_space" => StatusCode::INSUFFICIENT_STORAGE,
        _ => StatusCode::UNPROCESSABLE_ENTITY,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_database_said_is_not_shown() {
        let error = ApiError::from(chats::Error::from(agent::PortError::Failed("salt of alice".to_owned())));
        assert_eq!((error.status, error.kind), (StatusCode::INTERNAL_SERVER_ERROR, "internal"));
        assert!(!error.message.contains("alice"));
    }

    #[test]
    fn a_rate_limit_says_when_to_try_again() {
        let response = ApiError::rate_limited("attempts", 7).into_response();
        assert_eq!(response.status(), StatusCode::TOO_MANY_REQUESTS);
        assert_eq!(response.headers()[header::RETRY_AFTER], "7");
    }
}
