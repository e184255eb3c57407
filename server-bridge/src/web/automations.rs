//! The caller's automations, and the addresses of triggers.

use api::automation::{
    AutomationPause, AutomationPut, AutomationRun, AutomationSaved, AutomationStart, AutomationView,
    DeliveryTaken,
};
use automation::limits::DELIVERY_MAX_BYTES;
use automation::receive::Received;
use axum::body::{Body, to_bytes};
use axum::extract::{Extension, Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use std::time::Instant;
use tokio::time::timeout;
use utoipa::IntoParams;

use crate::limits::DELIVERY_TIMEOUT;
use crate::web::accept::Connection;
use crate::web::auth::Caller;
use crate::web::error::ApiError;
use crate::web::extract;
use crate::web::json::Json;
use crate::web::rate::{DeliveryTarget, address_key};
use crate::web::routes::{Routes, route};
use crate::web::scope::Access;
use crate::web::state::AppState;

/// The routes of automations. A key may list and run them, but not add one, since the automation would outlive the key.
pub(in crate::web) fn routes() -> Routes {
    Routes::new()
        .add(Access::Full, route!(list))
        .add(Access::Session, route!(put))
        .add(Access::Session, route!(remove))
        .add(Access::Session, route!(pause))
        .add(Access::Session, route!(new_address))
        .add(Access::Full, route!(start))
        .add(Access::Full, route!(runs))
        .add(Access::Anybody, route!(deliver))
}

/// The part of a list of runs.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct RunsQuery {
    /// Only runs older than the one with this id.
    before: Option<i64>,
}

/// The caller's automations, by name.
#[utoipa::path(get, path = "/api/v1/automations", tag = "automations",
    responses((status = 200, body = Vec<AutomationView>)))]
pub async fn list(
    State(state): State<AppState>,
    caller: Caller,
) -> Result<Json<Vec<AutomationView>>, ApiError> {
    Ok(Json(state.automations.list(&caller.user).await?))
}

/// Add an automation, or change the one with this name, which also resumes it. The response for a new trigger contains its address and its
/// secret, which cannot be read again. Needs a session.
#[utoipa::path(put, path = "/api/v1/automations/{name}", tag = "automations", params(("name" = String, Path)),
    request_body = AutomationPut, responses((status = 200, body = AutomationSaved), (status = 400), (status = 403)))]
pub async fn put(
    State(state): State<AppState>,
    caller: Caller,
    Path(name): Path<String>,
    extract::Json(put): extract::Json<AutomationPut>,
) -> Result<Json<AutomationSaved>, ApiError> {
    Ok(Json(state.automations.put(&caller.user, &name, put).await?))
}

/// Remove an automation with the record of its runs; its chats stay. Needs a session.
#[utoipa::path(delete, path = "/api/v1/automations/{name}", tag = "automations", params(("name" = String, Path)),
    responses((status = 204), (status = 403), (status = 404)))]
pub async fn remove(
    State(state): State<AppState>,
    caller: Caller,
    Path(name): Path<String>,
) -> Result<StatusCode, ApiError> {
    state.automations.remove(&caller.user, &name).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Pause an automation, or resume it from now on. Needs a session.
#[utoipa::path(post, path = "/api/v1/automations/{name}/pause", tag = "automations", params(("name" = String, Path)),
    request_body = AutomationPause, responses((status = 200, body = AutomationView), (status = 403), (status = 404)))]
pub async fn pause(
    State(state): State<AppState>,
    caller: Caller,
    Path(name): Path<String>,
    extract::Json(pause): extract::Json<AutomationPause>,
) -> Result<Json<AutomationView>, ApiError> {
    Ok(Json(state.automations.pause(&caller.user, &name, pause.paused).await?))
}

/// Give a trigger a new address and a new secret; the old ones stop working. Needs a session.
#[utoipa::path(post, path = "/api/v1/automations/{name}/address", tag = "automations", params(("name" = String, Path)),
    responses((status = 200, body = AutomationSaved), (status = 400), (status = 403), (status = 404)))]
pub async fn new_address(
    State(state): State<AppState>,
    caller: Caller,
    Path(name): Path<String>,
) -> Result<Json<AutomationSaved>, ApiError> {
    Ok(Json(state.automations.new_address(&caller.user, &name).await?))
}

/// Run an automation now, even if it is paused; a trigger runs with the delivery of an earlier run.
#[utoipa::path(post, path = "/api/v1/automations/{name}/runs", tag = "automations", params(("name" = String, Path)),
    request_body = AutomationStart, responses((status = 202, body = AutomationRun), (status = 400), (status = 404)))]
pub async fn start(
    State(state): State<AppState>,
    caller: Caller,
    Path(name): Path<String>,
    extract::Json(start): extract::Json<AutomationStart>,
) -> Result<(StatusCode, Json<AutomationRun>), ApiError> {
    let run = state.automations.run_now(&caller.user, &name, start.run).await?;
    Ok((StatusCode::ACCEPTED, Json(run)))
}

/// The runs of an automation, the newest first; at most 100.
#[utoipa::path(get, path = "/api/v1/automations/{name}/runs", tag = "automations",
    params(("name" = String, Path), RunsQuery), responses((status = 200, body = Vec<AutomationRun>), (status = 404)))]
pub async fn runs(
    State(state): State<AppState>,
    caller: Caller,
    Path(name): Path<String>,
    extract::Query(query): extract::Query<RunsQuery>,
) -> Result<Json<Vec<AutomationRun>>, ApiError> {
    Ok(Json(state.automations.runs(&caller.user, &name, query.before).await?))
}

/// Deliver an event to a trigger: at most 1 MiB of JSON, signed as the trigger requires. The delivery is recorded before the response is
/// sent. A delivery that arrived before is not run again.
#[utoipa::path(post, path = "/api/v1/deliveries/{token}", tag = "automations", params(("token" = String, Path)),
    request_body(content = [u8], content_type = "application/json"),
    responses((status = 202, body = DeliveryTaken), (status = 400), (status = 401), (status = 404), (status = 413), (status = 429), (status = 503)))]
pub async fn deliver(
    State(state): State<AppState>,
    Path(token): Path<String>,
    Extension(connection): Extension<Connection>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ApiError> {
    let (client, now) = (address_key(connection.client), Instant::now());
    // Each delivery counts as refused until it is accepted, so that the limit applies before any work is done.
    let limited = |seconds| ApiError::rate_limited("refused deliveries", seconds);
    let nowhere = (client, DeliveryTarget::Unknown);
    state.refused_deliveries.take(&nowhere, now).map_err(limited)?;
    let Some(address) = state.automations.address(&token).await? else {
        return Err(ApiError::new("not_found", "there is no trigger at this address"));
    };
    state.refused_deliveries.refund(&nowhere);
    let target = (client, DeliveryTarget::Trigger(address.trigger_id()));
    state.refused_deliveries.take(&target, now).map_err(limited)?;
    // The address is secret, so the sender got it from the user.
    connection.prove();
    let too_large = |_| ApiError::new("too_large", "a delivery can have at most 1 MiB");
    let body = timeout(DELIVERY_TIMEOUT, to_bytes(body, DELIVERY_MAX_BYTES + 1)).await;
    let body =
        body.map_err(|_| ApiError::invalid("the delivery did not arrive in time"))?.map_err(too_large)?;
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let received = state.automations.receive(&address, &header, &body).await;
    // A delivery that can only be accepted later was authenticated, too.
    if received.as_ref().map_or_else(|error| error.kind() == "unavailable", |_| true) {
        state.refused_deliveries.refund(&target);
    }
    Ok(match received? {
        Received::Taken(taken) => (StatusCode::ACCEPTED, Json(taken)).into_response(),
        Received::Challenge(text) => text.into_response(),
    })
}
