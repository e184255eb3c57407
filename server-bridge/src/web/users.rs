//! Accounts, for administrators; and a user's own password.

use accounts::{Change, NewUser, User};
use api::account::{AccountChange, AccountView, NewAccount, PasswordChange};
use api::session::LoggedIn;
use axum::Extension;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::IntoResponse;
use execs::sandbox_user;
use sandbox::Disconnect;

use crate::web::accept::Connection;
use crate::web::auth::Caller;
use crate::web::error::ApiError;
use crate::web::extract;
use crate::web::json::Json;
use crate::web::logins::begin_attempt;
use crate::web::rate::address_key;
use crate::web::routes::{Routes, route};
use crate::web::scope::Access;
use crate::web::session::begin_session;
use crate::web::state::AppState;

/// The routes of accounts.
pub(in crate::web) fn routes() -> Routes {
    Routes::new()
        .add(Access::Full, route!(list))
        .add(Access::Session, route!(add))
        .add(Access::Session, route!(change))
        .add(Access::Session, route!(remove))
        .add(Access::Session, route!(change_password))
}

/// All accounts, by name. For administrators.
#[utoipa::path(get, path = "/api/v1/users", tag = "users", responses((status = 200, body = [AccountView]), (status = 403)))]
pub async fn list(State(state): State<AppState>, caller: Caller) -> Result<Json<Vec<AccountView>>, ApiError> {
    Ok(Json(state.accounts.users(&caller.user).await?.into_iter().map(account_view).collect()))
}

/// Make an account. For administrators.
#[utoipa::path(post, path = "/api/v1/users", tag = "users", request_body = NewAccount,
    responses((status = 201, body = AccountView), (status = 400), (status = 403), (status = 409)))]
pub async fn add(
    State(state): State<AppState>,
    caller: Caller,
    extract::Json(new): extract::Json<NewAccount>,
) -> Result<(StatusCode, Json<AccountView>), ApiError> {
    caller.check_admin()?;
    caller.check_confirmed(&state)?;
    let new = NewUser { name: &new.name, password: &new.password, admin: new.admin };
    let added = state.accounts.add_user(&caller.user, new).await?;
    Ok((StatusCode::CREATED, Json(account_view(added))))
}

/// Change an account's role, its password, or both at once. For administrators; one administrator always remains. The
/// caller's own password is changed with `POST /api/v1/password`.
#[utoipa::path(put, path = "/api/v1/users/{name}", tag = "users", request_body = AccountChange,
    params(("name" = String, Path)),
    responses((status = 200, body = AccountView), (status = 400), (status = 403), (status = 404), (status = 409)))]
pub async fn change(
    State(state): State<AppState>,
    caller: Caller,
    Path(name): Path<String>,
    extract::Json(AccountChange { admin, password }): extract::Json<AccountChange>,
) -> Result<Json<AccountView>, ApiError> {
    caller.check_admin()?;
    caller.check_confirmed(&state)?;
    let change = Change { admin, password: password.as_deref() };
    Ok(Json(account_view(state.accounts.change_user(&caller.user, &name, change).await?)))
}

/// Remove an account with all its data, and end its connections. For administrators.
#[utoipa::path(delete, path = "/api/v1/users/{name}", tag = "users", params(("name" = String, Path)),
    responses((status = 204), (status = 403), (status = 404), (status = 409)))]
pub async fn remove(
    State(state): State<AppState>,
    caller: Caller,
    Path(name): Path<String>,
) -> Result<StatusCode, ApiError> {
    let user = state.accounts.remove_user(&caller.user, &name).await?;
    if let Some(key) = user.map(|user| sandbox_user(&user).key) {
        for runner in state.router.runners(&key) {
            state.router.disconnect(&key, &runner.name, Disconnect::Revoked);
        }
        state.router.end_own_runners(&key).await;
    }
    Ok(StatusCode::NO_CONTENT)
}

/// Change the caller's own password. This ends all sessions and removes all API keys; the response begins a new session for this
/// page.
#[utoipa::path(post, path = "/api/v1/password", tag = "session", request_body = PasswordChange,
    responses((status = 200, body = LoggedIn), (status = 400), (status = 403), (status = 429)))]
pub async fn change_password(
    State(state): State<AppState>,
    Extension(connection): Extension<Connection>,
    caller: Caller,
    extract::Json(PasswordChange { current, new }): extract::Json<PasswordChange>,
) -> Result<impl IntoResponse, ApiError> {
    let name = &caller.user.name;
    // Attempts with a session are limited like those without one.
    let address = address_key(connection.client);
    let attempt = begin_attempt(&state, (address, name, true), "failed attempts").await?;
    let changed = state.accounts.change_own_password(&caller.user, &current, &new).await;
    if !matches!(changed, Err(accounts::Error::WrongPassword(_))) {
        attempt.succeeded().await;
    }
    changed?;
    let (cookie, session) = begin_session(&state, caller.user, caller.browser.is_some()).await?;
    Ok((cookie, Json(session)))
}

fn account_view(user: User) -> AccountView {
    AccountView { name: user.name, admin: user.admin, created_at: user.created_at_ms }
}
