//! The caller's memories, and those of their agents in groups.

use std::slice;

use api::memory::{
    ForgetAbout, Forgotten, MemoryAgent, MemoryDetail, MemoryEdit, MemoryQuery, MemoryRevisionView,
    MemorySettingsView, MemoryView, NewMemory, ReplacedMemory,
};
use axum::extract::{Path, State};
use axum::http::StatusCode;
use chats::MemorySettings;
use memory::{MemoryItem, MemoryKind, MemoryReplacement, MemoryRevision, MemoryScope, Mode, OwnAgent, Write};

use crate::web::auth::Caller;
use crate::web::error::ApiError;
use crate::web::extract;
use crate::web::json::Json;
use crate::web::routes::{Routes, route};
use crate::web::scope::Access;
use crate::web::state::AppState;

/// The routes of memories.
pub(in crate::web) fn routes() -> Routes {
    Routes::new()
        .add(Access::Full, route!(memories))
        .add(Access::Full, route!(keep))
        .add(Access::Full, route!(memory))
        .add(Access::Full, route!(change))
        .add(Access::Full, route!(forget))
        .add(Access::Session, route!(accept))
        .add(Access::Full, route!(forget_about))
        .add(Access::Full, route!(memory_settings))
        .add(Access::Full, route!(set_memory_settings))
}

/// The memories of the caller's agents, and the proposals that wait for an answer; or the memories of one of the caller's agents in a group.
#[utoipa::path(get, path = "/api/v1/memories", tag = "settings", params(MemoryQuery),
    responses((status = 200, body = [MemoryView]), (status = 400), (status = 404)))]
pub async fn memories(
    State(state): State<AppState>,
    caller: Caller,
    extract::Query(query): extract::Query<MemoryQuery>,
) -> Result<Json<Vec<MemoryView>>, ApiError> {
    let user = caller.user.id;
    let found = match query {
        MemoryQuery { proposed: true, q: None, agent: None } => state.chats.proposed_memories(user).await?,
        MemoryQuery { proposed: true, .. } => {
            return Err(ApiError::invalid("proposed cannot be combined with q or agent"));
        }
        MemoryQuery { q, agent, proposed: false } => {
            let holder = state.chats.memory_holder(user, agent.as_deref()).await?;
            state.chats.memories(holder, q.as_deref()).await?
        }
    };
    let beside = Beside::of(&state, &caller, &found).await?;
    Ok(Json(found.into_iter().map(|item| view(item, &beside)).collect()))
}

/// Store a memory. If one with the same content exists, it is returned unchanged; if one has the same name, it gets the new text.
#[utoipa::path(post, path = "/api/v1/memories", tag = "settings", request_body = NewMemory,
    responses((status = 200, body = MemoryView), (status = 400), (status = 404)))]
pub async fn keep(
    State(state): State<AppState>,
    caller: Caller,
    extract::Json(new): extract::Json<NewMemory>,
) -> Result<Json<MemoryView>, ApiError> {
    let kind = match &new.kind {
        None => MemoryKind::Semantic,
        Some(kind) => MemoryKind::parse(kind.as_str())
            .ok_or_else(|| ApiError::invalid("kind must be core, semantic, episodic or procedural"))?,
    };
    let project = new.project.as_deref().map(str::trim).filter(|project| !project.is_empty());
    let holder = state.chats.memory_holder(caller.user.id, new.agent.as_deref()).await?;
    if project.is_some() && holder.agent.is_some() {
        return Err(ApiError::invalid("an agent of a group works on one machine: leave out project"));
    }
    let wanted = Write {
        kind,
        scope: if project.is_some() { MemoryScope::Project } else { MemoryScope::User },
        scope_name: project.unwrap_or_default(),
        name: new.name.as_deref().unwrap_or_default().trim(),
        text: new.text.trim(),
        chat: None,
        message: None,
        supersedes: &new.replaces,
        valid_to_ms: new.valid_to,
    };
    let written = state.chats.keep_memory(&caller.user, holder.agent, &wanted).await?;
    Ok(Json(whole(&state, &caller, written.item().clone()).await?))
}

/// A memory with its earlier texts.
#[utoipa::path(get, path = "/api/v1/memories/{id}", tag = "settings", params(("id" = i64, Path)),
    responses((status = 200, body = MemoryDetail), (status = 404)))]
pub async fn memory(
    State(state): State<AppState>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Json<MemoryDetail>, ApiError> {
    let (item, history) = state.chats.memory(caller.user.id, number(&id)?).await?;
    let memory = whole(&state, &caller, item).await?;
    Ok(Json(MemoryDetail { memory, history: history.into_iter().map(revision_view).collect() }))
}

/// Change a memory; its earlier text becomes part of its history.
#[utoipa::path(put, path = "/api/v1/memories/{id}", tag = "settings", params(("id" = i64, Path)), request_body = MemoryEdit,
    responses((status = 200, body = MemoryView), (status = 400), (status = 404)))]
pub async fn change(
    State(state): State<AppState>,
    caller: Caller,
    Path(id): Path<String>,
    extract::Json(edit): extract::Json<MemoryEdit>,
) -> Result<Json<MemoryView>, ApiError> {
    let valid_to_ms = edit.valid_to.map(|until_ms| Some(until_ms).filter(|until_ms| *until_ms > 0));
    let (name, text) = (edit.name.as_deref().map(str::trim), edit.text.as_deref().map(str::trim));
    let id = number(&id)?;
    let changed = state.chats.change_memory(&caller.user, id, name, text, valid_to_ms).await?;
    Ok(Json(whole(&state, &caller, changed).await?))
}

/// Delete a memory with its history, or reject a proposal.
#[utoipa::path(delete, path = "/api/v1/memories/{id}", tag = "settings", params(("id" = i64, Path)),
    responses((status = 204), (status = 404)))]
pub async fn forget(
    State(state): State<AppState>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<StatusCode, ApiError> {
    state.chats.forget_memory(&caller.user, number(&id)?).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Accept a proposal: it becomes a memory, or the new text of the memory that it changes, and supersedes those that it replaces. Needs a session.
#[utoipa::path(post, path = "/api/v1/memories/{id}/accept", tag = "settings", params(("id" = i64, Path)),
    responses((status = 200, body = MemoryView), (status = 403), (status = 404)))]
pub async fn accept(
    State(state): State<AppState>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Json<MemoryView>, ApiError> {
    let kept = state.chats.accept_memory(&caller.user, number(&id)?).await?;
    Ok(Json(whole(&state, &caller, kept).await?))
}

/// Delete all memories and proposals that contain all of these words.
#[utoipa::path(post, path = "/api/v1/memories/forget", tag = "settings", request_body = ForgetAbout,
    responses((status = 200, body = Forgotten), (status = 400), (status = 404)))]
pub async fn forget_about(
    State(state): State<AppState>,
    caller: Caller,
    extract::Json(wanted): extract::Json<ForgetAbout>,
) -> Result<Json<Forgotten>, ApiError> {
    let holder = state.chats.memory_holder(caller.user.id, wanted.agent.as_deref()).await?;
    let count = state.chats.forget_about(&caller.user, holder.agent, &wanted.about).await?;
    Ok(Json(Forgotten { count }))
}

/// The settings for the memories of the caller's agents.
#[utoipa::path(get, path = "/api/v1/settings/memory", tag = "settings", responses((status = 200, body = MemorySettingsView)))]
pub async fn memory_settings(
    State(state): State<AppState>,
    caller: Caller,
) -> Result<Json<MemorySettingsView>, ApiError> {
    Ok(Json(settings_view(state.chats.memory_settings(caller.user.id).await?)))
}

/// Change the settings for the memories of the caller's agents, from the next message on.
#[utoipa::path(put, path = "/api/v1/settings/memory", tag = "settings", request_body = MemorySettingsView,
    responses((status = 200, body = MemorySettingsView), (status = 400)))]
pub async fn set_memory_settings(
    State(state): State<AppState>,
    caller: Caller,
    extract::Json(wanted): extract::Json<MemorySettingsView>,
) -> Result<Json<MemorySettingsView>, ApiError> {
    let mode = Mode::parse(wanted.mode.as_str())
        .ok_or_else(|| ApiError::invalid("mode must be flat, letta or typed"))?;
    let wanted = MemorySettings { mode, from_chats: wanted.from_chats };
    Ok(Json(settings_view(state.chats.set_memory_settings(&caller.user, wanted).await?)))
}

fn number(id: &str) -> Result<i64, ApiError> {
    id.parse().map_err(|_| ApiError::invalid("a memory's id must be a number"))
}

fn settings_view(settings: MemorySettings) -> MemorySettingsView {
    MemorySettingsView { mode: settings.mode.as_str().into(), from_chats: settings.from_chats }
}

/// The data that views of memories refer to.
struct Beside {
    /// The memories that the user's proposals would replace.
    replaced: Vec<MemoryReplacement>,
    /// The user's agents in groups.
    agents: Vec<OwnAgent>,
}

impl Beside {
    /// Loads only the data that these items need.
    async fn of(state: &AppState, caller: &Caller, items: &[MemoryItem]) -> Result<Self, ApiError> {
        let replaced = match items.iter().any(|item| item.is_proposed) {
            true => state.chats.memory_replacements(caller.user.id).await?,
            false => Vec::new(),
        };
        let agents = match items.iter().any(|item| item.agent_id.is_some()) {
            true => state.chats.memory_agents(caller.user.id).await?,
            false => Vec::new(),
        };
        Ok(Self { replaced, agents })
    }

    /// The agent with this id; its name is empty if the agent was removed in the meantime.
    fn agent(&self, id: i64) -> MemoryAgent {
        let agent = self.agents.iter().find(|agent| agent.id == id);
        MemoryAgent {
            id,
            handle: agent.map(|agent| agent.handle.clone()).unwrap_or_default(),
            group_id: agent.map(|agent| agent.group_id).unwrap_or_default(),
            group: agent.map(|agent| agent.group_title.clone()).unwrap_or_default(),
        }
    }
}

/// The view of one memory, with all data that it refers to.
async fn whole(state: &AppState, caller: &Caller, item: MemoryItem) -> Result<MemoryView, ApiError> {
    let beside = Beside::of(state, caller, slice::from_ref(&item)).await?;
    Ok(view(item, &beside))
}

fn view(item: MemoryItem, beside: &Beside) -> MemoryView {
    let of_it = beside.replaced.iter().filter(|replaced| replaced.item_id == item.id);
    let replaced = |replaced: &MemoryReplacement| ReplacedMemory {
        id: replaced.replaces_id,
        text: replaced.text.clone(),
        superseded_by: replaced.superseded_by,
    };
    MemoryView {
        would_replace: of_it.map(replaced).collect(),
        id: item.id,
        kind: item.kind.as_str().into(),
        scope: item.scope.as_str().into(),
        scope_name: item.scope_name,
        agent: item.agent_id.map(|id| beside.agent(id)),
        name: item.name,
        text: item.text,
        source: item.source.as_str().into(),
        chat_id: item.source_chat.map(|chat| chat.to_string()),
        message_id: item.source_message.map(|message| message.0),
        proposed: item.is_proposed,
        replaces: item.replaces_id,
        valid_from: item.valid_from_ms,
        valid_to: item.valid_to_ms,
        superseded_by: item.superseded_by,
        revision: item.revision,
        created_at: item.created_at_ms,
        updated_at: item.updated_at_ms,
    }
}

fn revision_view(revision: MemoryRevision) -> MemoryRevisionView {
    MemoryRevisionView {
        revision: revision.revision,
        name: revision.name,
        text: revision.text,
        replaced_by: revision.replaced_by.as_str().into(),
        replaced_at: revision.replaced_at_ms,
    }
}
