//! Keys for programs.

use accounts::{ApiKey, KeyScope};
use api::key::{KeyView, MadeKey, NewKey};
use api::words::Scope;
use axum::extract::{Path, State};
use axum::http::StatusCode;

use crate::web::auth::Caller;
use crate::web::error::ApiError;
use crate::web::extract;
use crate::web::json::Json;
use crate::web::routes::{Routes, route};
use crate::web::scope::Access;
use crate::web::state::AppState;

/// The routes of programs' keys.
pub(in crate::web) fn routes() -> Routes {
    Routes::new()
        .add(Access::Full, route!(list))
        .add(Access::Session, route!(add))
        .add(Access::Session, route!(remove))
}

/// The caller's keys.
#[utoipa::path(get, path = "/api/v1/keys", tag = "keys", responses((status = 200, body = [KeyView]), (status = 403)))]
pub async fn list(State(state): State<AppState>, caller: Caller) -> Result<Json<Vec<KeyView>>, ApiError> {
    let now_ms = state.accounts.now_ms();
    let keys = state.accounts.keys(&caller.user).await?;
    Ok(Json(keys.into_iter().map(|key| key_view(key, now_ms)).collect()))
}

/// Make a key for a program. The response contains its secret, which is shown only once. Needs a session: a key cannot make
/// another key.
#[utoipa::path(post, path = "/api/v1/keys", tag = "keys", request_body = NewKey,
    responses((status = 201, body = MadeKey), (status = 400), (status = 403), (status = 409)))]
pub async fn add(
    State(state): State<AppState>,
    caller: Caller,
    extract::Json(new): extract::Json<NewKey>,
) -> Result<(StatusCode, Json<MadeKey>), ApiError> {
    caller.check_confirmed(&state)?;
    let ttl_ms = new.ttl_seconds.map(|seconds| i64::from(seconds) * 1_000);
    let scope = key_scope(new.scope.as_ref())?;
    let new = accounts::NewKey { name: &new.name, scope, ttl_ms };
    let (key, secret) = state.accounts.add_key(&caller.user, new).await?;
    let view = key_view(key, state.accounts.now_ms());
    Ok((StatusCode::CREATED, Json(MadeKey { key: secret.into_exposed(), view })))
}

/// Remove a key: it is no longer valid, and its open connections are closed soon after.
#[utoipa::path(delete, path = "/api/v1/keys/{name}", tag = "keys", params(("name" = String, Path)),
    responses((status = 204), (status = 403), (status = 404)))]
pub async fn remove(
    State(state): State<AppState>,
    caller: Caller,
    Path(name): Path<String>,
) -> Result<StatusCode, ApiError> {
    state.accounts.remove_key(&caller.user, &name).await?;
    Ok(StatusCode::NO_CONTENT)
}

fn key_view(key: ApiKey, now_ms: i64) -> KeyView {
    KeyView {
        name: key.name,
        scope: key.scope.as_str().into(),
        created_at: key.created_at_ms,
        last_used: key.last_used_ms,
        expires_at: key.expires_at_ms,
        expired: key.expires_at_ms.is_some_and(|expires_at_ms| expires_at_ms <= now_ms),
    }
}

/// The scope of a new key: `exec` by default.
fn key_scope(scope: Option<&Scope>) -> Result<KeyScope, ApiError> {
    match scope {
        Some(Scope::Full) => Ok(KeyScope::Full),
        None | Some(Scope::Exec) => Ok(KeyScope::Exec),
        Some(Scope::Read) => Ok(KeyScope::Read),
        Some(Scope::Unknown(word)) => {
            Err(ApiError::invalid(format!("there is no scope {word:?}; use full, exec or read")))
        }
    }
}
