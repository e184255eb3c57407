//! Sub-agents of a chat, and what their user wants of every agent and lets it keep.

use agent::approval::Mode;
use api::words::Approval;
use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use chats::{Memory, Preferences, SubAgent};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::routes;

use crate::state::AppState;
use crate::web::auth::Caller;
use crate::web::chats::chat_id;
use crate::web::error::ApiError;
use crate::web::extract;
use crate::web::routes::Routes;
use crate::web::scope::Access;

/// The routes of sub-agents, and what agents know of their user.
pub(in crate::web) fn routes() -> Routes {
    Routes::new()
        .add(Access::Look, routes!(list))
        .add(Access::Full, routes!(preferences))
        .add(Access::Full, routes!(set_preferences))
        .add(Access::Full, routes!(memories))
        .add(Access::Full, routes!(forget))
}

/// A sub-agent. Times are Unix milliseconds.
#[derive(Serialize, ToSchema)]
pub struct SubAgentView {
    /// Its own chat: its messages are read like any chat's, and it is cancelled like any.
    chat_id: String,
    /// The message that shows its last call.
    #[schema(required)]
    message_id: Option<i64>,
    /// Who it was told to be.
    #[schema(required)]
    role: Option<String>,
    /// The name it is called by again.
    #[schema(required)]
    instance: Option<String>,
    /// The beginning of what it was asked first.
    title: String,
    /// Of its last call.
    #[schema(required)]
    status: Option<api::words::TurnStatus>,
    created_at: i64,
    /// When it was called last, or answered.
    used_at: i64,
}

/// What a user wants of every agent of theirs.
#[derive(Deserialize, Serialize, ToSchema)]
pub struct PreferencesView {
    /// What every agent is told, in all chats; at most 32 KiB.
    #[serde(default)]
    instructions: Option<String>,
    /// The language to answer in; without one, the language that the user writes in.
    #[serde(default)]
    language: Option<String>,
    /// The approval mode that new chats begin with; `ask` without one.
    #[serde(default)]
    approval: Option<Approval>,
}

/// Something that is kept of a user.
#[derive(Serialize, ToSchema)]
pub struct MemoryView {
    name: String,
    text: String,
    /// Unix milliseconds.
    updated_at: i64,
}

/// The sub-agents that a chat's agent called, the oldest first; those that they called are asked for with their chats.
#[utoipa::path(get, path = "/api/v1/chats/{id}/agents", tag = "chats",
    params(("id" = String, Path)), responses((status = 200, body = [SubAgentView]), (status = 404)))]
pub async fn list(
    State(state): State<AppState>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Json<Vec<SubAgentView>>, ApiError> {
    let found = state.chats.sub_agents(caller.user.id, &chat_id(&id)?).await?;
    Ok(Json(found.into_iter().map(SubAgentView::from).collect()))
}

/// What the caller wants of every agent of theirs.
#[utoipa::path(get, path = "/api/v1/settings/agent", tag = "settings", responses((status = 200, body = PreferencesView)))]
pub async fn preferences(
    State(state): State<AppState>,
    caller: Caller,
) -> Result<Json<PreferencesView>, ApiError> {
    Ok(Json(state.chats.preferences(caller.user.id).await?.into()))
}

/// Say what is wanted of every agent: all of it, from the next message on; null takes it back.
#[utoipa::path(put, path = "/api/v1/settings/agent", tag = "settings", request_body = PreferencesView,
    responses((status = 200, body = PreferencesView)))]
pub async fn set_preferences(
    State(state): State<AppState>,
    caller: Caller,
    extract::Json(wanted): extract::Json<PreferencesView>,
) -> Result<Json<PreferencesView>, ApiError> {
    let PreferencesView { instructions, language, approval } = wanted;
    let mode = |word: Approval| {
        word.as_str().parse::<Mode>().map_err(|error| ApiError::invalid(format!("approval {error}")))
    };
    let approval = approval.map(mode).transpose()?;
    let wanted = Preferences { instructions, language, approval };
    Ok(Json(state.chats.set_preferences(&caller.user, &wanted).await?.into()))
}

/// What agents keep of the caller from chat to chat, by name.
#[utoipa::path(get, path = "/api/v1/memories", tag = "settings", responses((status = 200, body = [MemoryView])))]
pub async fn memories(
    State(state): State<AppState>,
    caller: Caller,
) -> Result<Json<Vec<MemoryView>>, ApiError> {
    let kept = state.chats.memories(caller.user.id).await?;
    Ok(Json(kept.into_iter().map(MemoryView::from).collect()))
}

/// Forget something; chats that were told of it already keep it.
#[utoipa::path(delete, path = "/api/v1/memories/{name}", tag = "settings",
    params(("name" = String, Path)), responses((status = 204), (status = 404)))]
pub async fn forget(
    State(state): State<AppState>,
    caller: Caller,
    Path(name): Path<String>,
) -> Result<StatusCode, ApiError> {
    state.chats.forget(&caller.user, &name).await?;
    Ok(StatusCode::NO_CONTENT)
}

impl From<SubAgent> for SubAgentView {
    fn from(agent: SubAgent) -> Self {
        Self {
            chat_id: agent.chat.to_string(),
            message_id: agent.message.map(|message| message.0),
            role: agent.role,
            instance: agent.instance,
            title: agent.title,
            status: agent.status.map(|status| status.as_str().into()),
            created_at: agent.created_at_ms,
            used_at: agent.used_at_ms,
        }
    }
}

impl From<Preferences> for PreferencesView {
    fn from(Preferences { instructions, language, approval }: Preferences) -> Self {
        Self { instructions, language, approval: approval.map(|mode| mode.as_str().into()) }
    }
}

impl From<Memory> for MemoryView {
    fn from(memory: Memory) -> Self {
        Self { name: memory.name, text: memory.text, updated_at: memory.updated_at_ms }
    }
}
