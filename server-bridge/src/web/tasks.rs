//! Background commands: of agents, of MCP clients, of `exec --detach`.

use api::exec::ExecView;
use api::task::TaskOutput;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::limits::{EXEC_LIST_MAX_ROWS, EXEC_LIST_ROWS, REPORT_BYTES, REPORT_MAX_BYTES};
use crate::web::auth::Caller;
use crate::web::chats::chat_id;
use crate::web::error::ApiError;
use crate::web::exec::attach::{end, view};
use crate::web::extract;
use crate::web::json::Json;
use crate::web::routes::{Routes, route};
use crate::web::scope::Access;
use crate::web::state::AppState;

/// The routes of background tasks.
pub(in crate::web) fn routes() -> Routes {
    Routes::new()
        .add(Access::LookToWork, route!(list))
        .add(Access::LookToWork, route!(show))
        .add(Access::Work, route!(kill))
}

/// The filter for tasks.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct TaskQuery {
    /// Only tasks of this conversation.
    chat: Option<String>,
    /// Only tasks that are running.
    #[serde(default)]
    running: bool,
    /// The maximum number of tasks to list, 1,000 at most; 100 if absent.
    limit: Option<u32>,
}

/// The part of a task's output to return.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct OutputQuery {
    /// Bytes of its beginning, 256 KiB at most; 4,096 if absent.
    head: Option<u32>,
    /// Bytes of its end, 256 KiB at most; 4,096 if absent.
    tail: Option<u32>,
}

/// The caller's tasks, the last started first, without terminals.
#[utoipa::path(get, path = "/api/v1/tasks", tag = "tasks", params(TaskQuery),
    responses((status = 200, body = [ExecView]), (status = 404)))]
pub async fn list(
    State(state): State<AppState>,
    caller: Caller,
    extract::Query(query): extract::Query<TaskQuery>,
) -> Result<Json<Vec<ExecView>>, ApiError> {
    let chat = query.chat.as_deref().map(chat_id).transpose()?;
    let limit = query.limit.unwrap_or(EXEC_LIST_ROWS).min(EXEC_LIST_MAX_ROWS);
    let tasks = state.ledger.tasks(caller.user.id, chat.as_ref(), query.running, limit).await?;
    Ok(Json(tasks.into_iter().map(view).collect()))
}

/// The beginning and the end of a task's output so far.
#[utoipa::path(get, path = "/api/v1/tasks/{id}", tag = "tasks", params(("id" = String, Path), OutputQuery),
    responses((status = 200, body = TaskOutput), (status = 404), (status = 503)))]
pub async fn show(
    State(state): State<AppState>,
    caller: Caller,
    Path(id): Path<String>,
    extract::Query(query): extract::Query<OutputQuery>,
) -> Result<Json<TaskOutput>, ApiError> {
    let task = state.ledger.task(caller.user.id, &id).await?;
    let bytes = |wanted: Option<u32>| wanted.unwrap_or(REPORT_BYTES).min(REPORT_MAX_BYTES);
    let report = state.ledger.report(&caller.user, &task, bytes(query.head), bytes(query.tail)).await?;
    let shown_bytes = (report.head.len() + report.tail.len()) as u64;
    Ok(Json(TaskOutput {
        running: report.exited.is_none() && !report.complete,
        output_bytes: report.output_bytes,
        head: String::from_utf8_lossy(&report.head).into_owned(),
        tail: String::from_utf8_lossy(&report.tail).into_owned(),
        left_out_bytes: report.output_bytes.saturating_sub(shown_bytes),
        task: view(task),
    }))
}

/// End a task with everything it started: all of its processes get TERM, and KILL after a grace period.
#[utoipa::path(delete, path = "/api/v1/tasks/{id}", tag = "tasks", params(("id" = String, Path)),
    responses((status = 204), (status = 404), (status = 503)))]
pub async fn kill(
    State(state): State<AppState>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<StatusCode, ApiError> {
    let task = state.ledger.task(caller.user.id, &id).await?;
    end(&state, &caller, &task).await?;
    Ok(StatusCode::NO_CONTENT)
}
