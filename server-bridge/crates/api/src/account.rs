//! User accounts.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A user account.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AccountView {
    /// The user's name, by which they log in.
    pub name: String,
    /// Whether the user administers the server.
    #[serde(default)]
    #[schema(required)]
    pub admin: bool,
    /// When the account was created, in Unix milliseconds.
    #[serde(default)]
    #[schema(required)]
    pub created_at: i64,
}

/// An account to create.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct NewAccount {
    /// The name to log in with.
    pub name: String,
    /// The password: at least 8 characters.
    pub password: String,
    /// Whether the user administers the server.
    #[serde(default)]
    pub admin: bool,
}

/// Changes to an account; absent fields stay as they are.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AccountChange {
    /// Whether the user administers the server.
    pub admin: Option<bool>,
    /// Another user's new password, not the caller's own. Ends that user's sessions and removes their API keys.
    pub password: Option<String>,
}

/// A change of the caller's own password.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PasswordChange {
    /// The current password.
    pub current: String,
    /// The new password: at least 8 characters.
    pub new: String,
}
