//! Logging in and out, the current user, and short-lived substitutes for a login.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The credentials of a login.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Login {
    /// The user's name.
    pub user: String,
    /// The user's password.
    pub password: String,
}

/// A new session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct LoggedIn {
    /// The token for the Authorization header. A page's token is not valid without the cookie that came with it.
    pub token: String,
    /// The user who logged in.
    pub user: UserView,
}

/// A user as others see them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct UserView {
    /// The user's name.
    pub name: String,
    /// Whether the user administers the server.
    #[serde(default)]
    #[schema(required)]
    pub admin: bool,
}

/// The caller, and the place where their commands run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Me {
    /// The caller's name.
    pub name: String,
    /// Whether the caller administers the server.
    #[serde(default)]
    #[schema(required)]
    pub admin: bool,
    /// The active place: a runner's name, `__docker__` or `none`; null lets the server choose.
    #[schema(required)]
    pub active_runner: Option<String>,
    /// Whether to show the first steps: true for a user without chats, runners and models who did not skip them.
    #[serde(default)]
    #[schema(required)]
    pub welcome_due: bool,
    /// The server's version.
    #[serde(default)]
    #[schema(required)]
    pub version: String,
}

/// A confirmation by the caller's password.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Confirmation {
    /// The caller's password.
    pub password: String,
}

/// A request for a ticket.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct NewTicket {
    /// The address to fetch, starting with `/api/v1` and including its query: a file, an archive or an export.
    pub path: String,
}

/// A ticket, which replaces the login for one address.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TicketView {
    /// The ticket, to be appended to the address as `ticket=…`.
    pub ticket: String,
}

/// A code with which a page logs in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SignInView {
    /// The code, which becomes part of the page's address, as `/#sign-in=…`.
    pub code: String,
    /// How long it is valid, in seconds.
    #[serde(default)]
    #[schema(required)]
    pub expires_in_s: u64,
}

/// A sign-in code that a page presents.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ShownCode {
    /// The code, from the page's address.
    pub code: String,
}
