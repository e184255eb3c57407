//! Logging in and out, the current user, and short-lived substitutes for a login.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A login.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Login {
    /// The user's name.
    pub user: String,
    /// Their password.
    pub password: String,
}

/// A new session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct LoggedIn {
    /// For the Authorization header. A page's token is not valid without the cookie that came with it.
    pub token: String,
    /// The user.
    pub user: UserView,
}

/// A user as others see them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct UserView {
    /// Their name.
    pub name: String,
    /// Whether they administer the server.
    #[serde(default)]
    #[schema(required)]
    pub admin: bool,
}

/// The caller and where their work goes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Me {
    /// The caller's name.
    pub name: String,
    /// Whether they administer the server.
    #[serde(default)]
    #[schema(required)]
    pub admin: bool,
    /// A runner's name, `__docker__` or `none`; null lets the server choose.
    #[schema(required)]
    pub active_runner: Option<String>,
    /// Whether the first steps are to be shown: a user without chats, runners and models who did not skip them.
    #[serde(default)]
    #[schema(required)]
    pub welcome_due: bool,
    /// The server's version.
    #[serde(default)]
    #[schema(required)]
    pub version: String,
}

/// The caller's password.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Confirmation {
    /// The password.
    pub password: String,
}

/// The purpose of a ticket.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct NewTicket {
    /// The address to fetch, from `/api/v1` on with its query: a file, an archive or an export.
    pub path: String,
}

/// A ticket.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TicketView {
    /// Appended to the address, as `ticket=…`.
    pub ticket: String,
}

/// A code that signs a page in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SignInView {
    /// Part of the page's address, as `/#sign-in=…`.
    pub code: String,
    /// How long it works, in seconds.
    #[serde(default)]
    #[schema(required)]
    pub expires_in_s: u64,
}

/// A code that is presented.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ShownCode {
    /// The code.
    pub code: String,
}
