//! A user's own container as a whole: its state, and commit, export, import and reset.

use api::container::{CommittedView, ContainerView};
use api::words::ContainerLimit;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use sandbox::{ContainerError, ContainerStatus, DOCKER, UserContainer};
use serde::Deserialize;
use utoipa::IntoParams;

use execs::sandbox_user;

use crate::web::auth::Caller;
use crate::web::error::ApiError;
use crate::web::extract;
use crate::web::json::Json;
use crate::web::routes::{Routes, route};
use crate::web::scope::Access;
use crate::web::state::AppState;

/// The routes of a user's container.
pub(in crate::web) fn routes() -> Routes {
    Routes::new()
        .add(Access::Look, route!(show))
        .add(Access::Full, route!(stop))
        .add(Access::Full, route!(commit))
        .add(Access::Full, route!(export))
        .add(Access::Full, route!(import))
        .add(Access::Full, route!(reset))
}

/// What happens to the workspace.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct WorkspaceQuery {
    /// Whether the workspace is replaced or removed too.
    #[serde(default)]
    workspace: bool,
}

/// The state of the container; starts nothing.
#[utoipa::path(get, path = "/api/v1/container", tag = "container",
    responses((status = 200, body = ContainerView), (status = 403), (status = 503)))]
pub async fn show(State(state): State<AppState>, caller: Caller) -> Result<Json<ContainerView>, ApiError> {
    Ok(Json(container_view(own(&state, &caller)?.status().await?)))
}

/// Stop the container and everything that runs in it; the next use starts it again.
#[utoipa::path(post, path = "/api/v1/container/stop", tag = "container", responses((status = 204), (status = 503)))]
pub async fn stop(State(state): State<AppState>, caller: Caller) -> Result<StatusCode, ApiError> {
    change(&state, &caller, "container.stop", async |container| container.stop().await).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Save the container's content, except the workspace, as the image of the caller's next containers.
#[utoipa::path(post, path = "/api/v1/container/commit", tag = "container",
    responses((status = 200, body = CommittedView), (status = 404), (status = 413), (status = 503)))]
pub async fn commit(State(state): State<AppState>, caller: Caller) -> Result<Json<CommittedView>, ApiError> {
    let image =
        change(&state, &caller, "container.commit", async |container| container.commit().await).await?;
    Ok(Json(CommittedView { image }))
}

/// Download all files in the container, including its workspace, as a tar archive. If the connection breaks off, the download
/// failed.
#[utoipa::path(get, path = "/api/v1/container/export", tag = "container",
    responses((status = 200, content_type = "application/x-tar", body = [u8]), (status = 404), (status = 503)))]
pub async fn export(State(state): State<AppState>, caller: Caller) -> Result<Response, ApiError> {
    let archive =
        change(&state, &caller, "container.export", async |container| container.export().await).await?;
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("application/x-tar")),
        (header::CONTENT_DISPOSITION, HeaderValue::from_static("attachment; filename=container.tar")),
    ];
    Ok((headers, Body::from_stream(archive)).into_response())
}

/// Upload a tar archive as the image of the caller's next containers, and end the current one. The workspace stays,
/// unless `workspace=true`: then it is replaced with the archive's `workspace/`.
#[utoipa::path(put, path = "/api/v1/container/import", tag = "container", params(WorkspaceQuery),
    request_body(content = [u8], content_type = "application/x-tar"),
    responses((status = 204), (status = 400), (status = 409), (status = 413), (status = 503)))]
pub async fn import(
    State(state): State<AppState>,
    caller: Caller,
    extract::Query(query): extract::Query<WorkspaceQuery>,
    body: Body,
) -> Result<StatusCode, ApiError> {
    let archive = body.into_data_stream();
    change(&state, &caller, "container.import", async |container| {
        container.import(archive, query.workspace).await
    })
    .await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Stop and remove the container and the caller's image: the next use creates a container from the server's image. The workspace
/// stays, unless `workspace=true`.
#[utoipa::path(delete, path = "/api/v1/container", tag = "container", params(WorkspaceQuery),
    responses((status = 204), (status = 409), (status = 503)))]
pub async fn reset(
    State(state): State<AppState>,
    caller: Caller,
    extract::Query(query): extract::Query<WorkspaceQuery>,
) -> Result<StatusCode, ApiError> {
    change(&state, &caller, "container.reset", async |container| container.reset(query.workspace).await)
        .await?;
    Ok(StatusCode::NO_CONTENT)
}

fn own(state: &AppState, caller: &Caller) -> Result<UserContainer, ApiError> {
    Ok(state.router.container(&sandbox_user(&caller.user))?)
}

/// Changes the caller's container; the result is audited.
async fn change<T>(
    state: &AppState,
    caller: &Caller,
    action: &str,
    work: impl AsyncFnOnce(UserContainer) -> Result<T, ContainerError>,
) -> Result<T, ApiError> {
    let done = match own(state, caller) {
        Ok(container) => work(container).await.map_err(ApiError::from),
        Err(error) => Err(error),
    };
    let outcome = done.as_ref().map_or_else(|error| error.kind, |_| "ok");
    state.audit(Some(&caller.user.name), action, Some(DOCKER), "", outcome).await;
    done
}

impl From<ContainerError> for ApiError {
    fn from(error: ContainerError) -> Self {
        Self::new(error.kind(), error.to_string())
    }
}

fn container_view(status: ContainerStatus) -> ContainerView {
    ContainerView {
        name: status.name,
        state: status.state.into(),
        image: status.image,
        own_image: status.is_own_image,
        memory: status.memory_bytes,
        pids: status.pids,
        cpus: status.cpus,
        unlimited: status.unlimited.into_iter().map(ContainerLimit::from).collect(),
        network: status.network,
        read_only: status.read_only,
        user_namespace: status.user_namespace.into(),
        workspace: status.workspace.into(),
        idle_stop: status.idle_stop_s,
    }
}
