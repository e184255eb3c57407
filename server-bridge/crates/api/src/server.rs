//! The server itself: its state, its limits, its first account.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::words::{Reach, Storage};

/// The server's status, which can be read without a login.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct StatusView {
    /// The server's version.
    pub version: String,
    /// Whether there is no account yet: the first one is created with the secret that `serve` printed.
    #[serde(default)]
    #[schema(required)]
    pub setup_due: bool,
}

/// The server's version, features and limits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AboutView {
    /// The server's version.
    pub version: String,
    /// When the server started, in Unix milliseconds.
    #[serde(default)]
    #[schema(required)]
    pub started_at: i64,
    /// The seconds since the server started.
    #[serde(default)]
    #[schema(required)]
    pub uptime_s: i64,
    /// The database that stores its data.
    #[serde(default)]
    #[schema(required)]
    pub storage: Storage,
    /// Whether a model is available to the caller.
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
    /// Whether the keys of users' models are stored encrypted.
    #[serde(default)]
    #[schema(required)]
    pub sealed: bool,
    /// The number of accounts; only for administrators.
    #[schema(required)]
    pub users: Option<usize>,
    /// The limits for clients.
    pub limits: LimitsView,
}

/// The limits that clients have to respect.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct LimitsView {
    /// The maximum size of a message's text, in bytes.
    pub message_bytes: usize,
    /// The maximum size of an attachment, in bytes.
    #[serde(default)]
    #[schema(required)]
    pub attachment_bytes: u64,
    /// The maximum number of attachments of a message.
    #[serde(default)]
    #[schema(required)]
    pub attachments: usize,
    /// The maximum length of a chat's title, in characters.
    #[serde(default)]
    #[schema(required)]
    pub title_chars: usize,
    /// The minimum length of a password, in characters.
    #[serde(default)]
    #[schema(required)]
    pub password_chars: usize,
    /// How long events are kept for a client that reconnects, in seconds.
    #[serde(default)]
    #[schema(required)]
    pub event_kept_s: u64,
    /// The longest time that a terminal waits for its client, in seconds.
    #[serde(default)]
    #[schema(required)]
    pub terminal_linger_s: u64,
}

/// The first account.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct FirstAccount {
    /// The secret that `sandbridge serve` printed.
    pub secret: String,
    /// The name to log in with.
    pub name: String,
    /// The password: at least 8 characters.
    pub password: String,
}
