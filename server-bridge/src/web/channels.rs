//! Accounts on messengers, the links with them, and the addresses that messengers deliver to.

use std::time::Instant;

use api::channel::{
    ChannelBindingView, ChannelCode, ChannelList, ChannelNotices, ChannelPut, ChannelTested, ChannelView,
};
use axum::body::{Body, to_bytes};
use axum::extract::{Extension, Path, State};
use axum::http::{HeaderMap, StatusCode};
use serde_json::Value;
use tokio::time::timeout;

use crate::limits::{CHANNEL_DELIVERY_MAX_BYTES, DELIVERY_TIMEOUT};
use crate::web::accept::Connection;
use crate::web::auth::Caller;
use crate::web::error::ApiError;
use crate::web::extract;
use crate::web::json::Json;
use crate::web::rate::{DeliveryTarget, address_key};
use crate::web::routes::{Routes, route};
use crate::web::scope::Access;
use crate::web::state::AppState;

/// The routes of channels. A key may read them, but neither change an account nor link a person, since both would outlive the key.
pub(in crate::web) fn routes() -> Routes {
    Routes::new()
        .add(Access::Full, route!(list))
        .add(Access::Session, route!(put))
        .add(Access::Session, route!(remove))
        .add(Access::Session, route!(test))
        .add(Access::Session, route!(link))
        .add(Access::Session, route!(unlink))
        .add(Access::Session, route!(notices))
        .add(Access::Full, route!(bindings))
        .add(Access::Session, route!(unbind))
        .add(Access::Anybody, route!(deliver))
}

/// The messengers, the accounts that the caller may link to, and the links.
#[utoipa::path(get, path = "/api/v1/channels", tag = "channels", responses((status = 200, body = ChannelList)))]
pub async fn list(State(state): State<AppState>, caller: Caller) -> Result<Json<ChannelList>, ApiError> {
    Ok(Json(state.channels.list(&caller.user).await?))
}

/// Make an account of the caller's own, or change the one with this name, and connect it. Secrets cannot be read again. Needs a session.
#[utoipa::path(put, path = "/api/v1/channels/{name}", tag = "channels", params(("name" = String, Path)),
    request_body = ChannelPut, responses((status = 200, body = ChannelView), (status = 400), (status = 403)))]
pub async fn put(
    State(state): State<AppState>,
    caller: Caller,
    Path(name): Path<String>,
    extract::Json(put): extract::Json<ChannelPut>,
) -> Result<Json<ChannelView>, ApiError> {
    Ok(Json(state.channels.put(&caller.user, &name, put).await?))
}

/// Remove an account of the caller's own, with its links; the chats stay. Needs a session.
#[utoipa::path(delete, path = "/api/v1/channels/{name}", tag = "channels", params(("name" = String, Path)),
    responses((status = 204), (status = 403), (status = 404)))]
pub async fn remove(
    State(state): State<AppState>,
    caller: Caller,
    Path(name): Path<String>,
) -> Result<StatusCode, ApiError> {
    state.channels.remove(&caller.user, &name).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Ask the messenger for the name of an account, as a test. Needs a session.
#[utoipa::path(post, path = "/api/v1/channels/{name}/test", tag = "channels", params(("name" = String, Path)),
    responses((status = 200, body = ChannelTested), (status = 403), (status = 404)))]
pub async fn test(
    State(state): State<AppState>,
    caller: Caller,
    Path(name): Path<String>,
) -> Result<Json<ChannelTested>, ApiError> {
    Ok(Json(state.channels.test(&caller.user, &name).await?))
}

/// Get a code: the person who sends it to the account is linked to the caller. It is valid once, for 10 minutes; an earlier code becomes
/// invalid. Needs a session.
#[utoipa::path(post, path = "/api/v1/channels/{name}/link", tag = "channels", params(("name" = String, Path)),
    responses((status = 200, body = ChannelCode), (status = 403), (status = 404)))]
pub async fn link(
    State(state): State<AppState>,
    caller: Caller,
    Path(name): Path<String>,
) -> Result<Json<ChannelCode>, ApiError> {
    Ok(Json(state.channels.code(&caller.user, &name).await?))
}

/// Remove a link of the caller's, or one with an account of the caller's. Needs a session.
#[utoipa::path(delete, path = "/api/v1/channel-links/{id}", tag = "channels", params(("id" = i64, Path)),
    responses((status = 204), (status = 403), (status = 404)))]
pub async fn unlink(
    State(state): State<AppState>,
    caller: Caller,
    Path(id): Path<i64>,
) -> Result<StatusCode, ApiError> {
    state.channels.unlink(&caller.user, id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Send the server's notices to one of the caller's links, and to no other one, or stop sending them. For administrators. Needs a session.
#[utoipa::path(put, path = "/api/v1/channel-links/{id}/notices", tag = "channels", params(("id" = i64, Path)),
    request_body = ChannelNotices, responses((status = 204), (status = 403), (status = 404)))]
pub async fn notices(
    State(state): State<AppState>,
    caller: Caller,
    Path(id): Path<i64>,
    extract::Json(put): extract::Json<ChannelNotices>,
) -> Result<StatusCode, ApiError> {
    state.channels.set_notices(&caller.user, id, put.enabled).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The conversations on messengers that are bound to a group: everybody in such a conversation can read the group's log.
#[utoipa::path(get, path = "/api/v1/groups/{group}/conversations", tag = "channels", params(("group" = i64, Path)),
    responses((status = 200, body = Vec<ChannelBindingView>), (status = 404)))]
pub async fn bindings(
    State(state): State<AppState>,
    caller: Caller,
    Path(group): Path<i64>,
) -> Result<Json<Vec<ChannelBindingView>>, ApiError> {
    Ok(Json(state.channels.bindings(&caller.user, group).await?))
}

/// Unbind a conversation from a group. The owners of the group and the person who bound it may do this. Needs a session.
#[utoipa::path(delete, path = "/api/v1/groups/{group}/conversations/{id}", tag = "channels", params(("group" = i64, Path), ("id" = String, Path)),
    responses((status = 204), (status = 403), (status = 404)))]
pub async fn unbind(
    State(state): State<AppState>,
    caller: Caller,
    Path((group, id)): Path<(i64, String)>,
) -> Result<StatusCode, ApiError> {
    state.channels.unbind(&caller.user, group, &id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Deliver events to an account, for messengers that deliver by HTTP and authenticate themselves. The events are recorded before the response
/// is sent. At most 4 MiB.
#[utoipa::path(post, path = "/api/v1/channel-deliveries/{id}", tag = "channels", params(("id" = i64, Path)),
    request_body(content = [u8], content_type = "application/json"),
    responses((status = 200, body = Value), (status = 400), (status = 401), (status = 404), (status = 413), (status = 429), (status = 503)))]
pub async fn deliver(
    State(state): State<AppState>,
    Path(id): Path<i64>,
    Extension(connection): Extension<Connection>,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<Value>, ApiError> {
    let client = address_key(connection.client);
    let limited = |seconds| ApiError::rate_limited("refused deliveries", seconds);
    // Refused deliveries to all channels count together, so a sender that tries many ids soon learns nothing about them. They do not hold up an
    // authentic delivery: a messenger sends from the same addresses for all its customers.
    let refused = |error: ApiError| {
        let counted = state.refused_deliveries.take(&(client, DeliveryTarget::Channels), Instant::now());
        counted.map_or_else(limited, |()| error)
    };
    if !state.channels.takes_deliveries(id) {
        return Err(refused(ApiError::new("not_found", "there is no channel at this address")));
    }
    // Each delivery counts as refused until it is accepted, so that the channel's own limit applies before any work is done.
    let target = (client, DeliveryTarget::Channel(id));
    state.refused_deliveries.take(&target, Instant::now()).map_err(limited)?;
    let body = timeout(DELIVERY_TIMEOUT, to_bytes(body, CHANNEL_DELIVERY_MAX_BYTES)).await;
    let body = match body {
        Ok(Ok(body)) => body,
        Ok(Err(_)) => return Err(refused(ApiError::new("too_large", "a delivery can have at most 4 MiB"))),
        Err(_) => return Err(refused(ApiError::invalid("the delivery did not arrive in time"))),
    };
    let text = |(name, value): (&axum::http::HeaderName, &axum::http::HeaderValue)| {
        Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned()))
    };
    let headers: Vec<(String, String)> = headers.iter().filter_map(text).collect();
    match state.channels.deliver(id, &headers, &body).await {
        Ok(answer) => {
            state.refused_deliveries.refund(&target);
            Ok(Json(answer))
        }
        // A delivery that can only be accepted later may have been authentic.
        Err(error) if error.kind() == "unavailable" => {
            state.refused_deliveries.refund(&target);
            Err(error.into())
        }
        Err(error) => Err(refused(error.into())),
    }
}
