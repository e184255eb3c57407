//! Accounts.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// An account.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AccountView {
    /// Its name.
    pub name: String,
    /// Whether they administer the server.
    #[serde(default)]
    #[schema(required)]
    pub admin: bool,
    /// Unix milliseconds.
    #[serde(default)]
    #[schema(required)]
    pub created_at: i64,
}

/// An account to create.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct NewAccount {
    /// Its name.
    pub name: String,
    /// At least 8 characters.
    pub password: String,
    /// Whether it administers the server.
    #[serde(default)]
    pub admin: bool,
}

/// Changes to an account; absent fields stay as they are.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AccountChange {
    /// Whether it administers the server.
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
