//! The server itself: its state, its limits, its first account.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::words::{Reach, Storage};

/// What is known without a login.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct StatusView {
    /// The server's version.
    pub version: String,
    /// Whether there is no account yet, and the secret that `serve` printed makes the first one.
    #[serde(default)]
    #[schema(required)]
    pub setup_due: bool,
}

/// What the server is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AboutView {
    /// Its version.
    pub version: String,
    /// Unix milliseconds.
    #[serde(default)]
    #[schema(required)]
    pub started_at: i64,
    /// Seconds since then.
    #[serde(default)]
    #[schema(required)]
    pub uptime_s: i64,
    /// The database that stores its data.
    #[serde(default)]
    #[schema(required)]
    pub storage: Storage,
    /// Whether a model answers the caller.
    #[serde(default)]
    #[schema(required)]
    pub model_configured: bool,
    /// Whether users may have containers.
    #[serde(default)]
    #[schema(required)]
    pub docker: bool,
    /// Whether any user may run commands on the server itself.
    #[serde(default)]
    #[schema(required)]
    pub local: bool,
    /// Whether TLS is built in.
    #[serde(default)]
    #[schema(required)]
    pub tls: bool,
    /// Whether machines other than the server's own can reach it.
    #[serde(default)]
    #[schema(required)]
    pub reach: Reach,
    /// Whether the keys of users' models are sealed.
    #[serde(default)]
    #[schema(required)]
    pub sealed: bool,
    /// How many accounts there are; for administrators.
    #[schema(required)]
    pub users: Option<usize>,
    /// The limits for clients.
    pub limits: LimitsView,
}

/// What a client has to stay within.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct LimitsView {
    /// Of a message's text.
    pub message_bytes: usize,
    /// Of one attachment.
    #[serde(default)]
    #[schema(required)]
    pub attachment_bytes: u64,
    /// Of a message.
    #[serde(default)]
    #[schema(required)]
    pub attachments: usize,
    /// Of a chat's title.
    #[serde(default)]
    #[schema(required)]
    pub title_chars: usize,
    /// The least number of characters of a password.
    #[serde(default)]
    #[schema(required)]
    pub password_chars: usize,
    /// How long events are kept for a client that reconnects.
    #[serde(default)]
    #[schema(required)]
    pub event_kept_s: u64,
    /// The longest that a terminal waits for its client.
    #[serde(default)]
    #[schema(required)]
    pub terminal_linger_s: u64,
}

/// The first account.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct FirstAccount {
    /// The secret that `sandbridge serve` printed.
    pub secret: String,
    /// Its name.
    pub name: String,
    /// At least 8 characters.
    pub password: String,
}
