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

/// An account to be made.
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

/// What of an account is changed; what is left out stays.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AccountChange {
    /// Whether it administers the server.
    pub admin: Option<bool>,
    /// Another's, not one's own. Ends their sessions and removes their API keys.
    pub password: Option<String>,
}

/// One's own password.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PasswordChange {
    /// The one that holds.
    pub current: String,
    /// The one that shall: at least 8 characters.
    pub new: String,
}
