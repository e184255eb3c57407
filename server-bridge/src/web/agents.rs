//! Sub-agents of a chat, and their user's settings for every agent.

use agent::approval::Mode;
use agent::tool::words_of;
use api::chat::SubAgentView;
use api::settings::{ApprovalRuleView, PreferencesView};
use api::words::Approval;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use chats::{ApprovalRule, Preferences, SubAgent};

use crate::web::auth::Caller;
use crate::web::chats::chat_id;
use crate::web::error::ApiError;
use crate::web::extract;
use crate::web::json::Json;
use crate::web::routes::{Routes, route};
use crate::web::scope::Access;
use crate::web::state::AppState;

/// The routes of sub-agents, and of settings for agents.
pub(in crate::web) fn routes() -> Routes {
    Routes::new()
        .add(Access::Look, route!(list))
        .add(Access::Full, route!(preferences))
        .add(Access::Full, route!(set_preferences))
        .add(Access::Full, route!(approval_rules))
        .add(Access::Full, route!(revoke_approval_rule))
}

/// The sub-agents that a chat's agent called, the oldest first; the sub-agents of a sub-agent are listed with that sub-agent's
/// chat.
#[utoipa::path(get, path = "/api/v1/chats/{id}/agents", tag = "chats",
    params(("id" = String, Path)), responses((status = 200, body = [SubAgentView]), (status = 404)))]
pub async fn list(
    State(state): State<AppState>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Json<Vec<SubAgentView>>, ApiError> {
    let found = state.chats.sub_agents(caller.user.id, &chat_id(&id)?).await?;
    Ok(Json(found.into_iter().map(sub_agent_view).collect()))
}

/// The caller's settings for all of their agents.
#[utoipa::path(get, path = "/api/v1/settings/agent", tag = "settings", responses((status = 200, body = PreferencesView)))]
pub async fn preferences(
    State(state): State<AppState>,
    caller: Caller,
) -> Result<Json<PreferencesView>, ApiError> {
    Ok(Json(preferences_view(state.chats.preferences(caller.user.id).await?)))
}

/// Replace the settings for all agents, from the next message on; null resets one.
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
    Ok(Json(preferences_view(state.chats.set_preferences(&caller.user, &wanted).await?)))
}

/// The tool calls that the caller allowed permanently, in all of their chats; the newest first.
#[utoipa::path(get, path = "/api/v1/approvals", tag = "settings", responses((status = 200, body = [ApprovalRuleView])))]
pub async fn approval_rules(
    State(state): State<AppState>,
    caller: Caller,
) -> Result<Json<Vec<ApprovalRuleView>>, ApiError> {
    let rules = state.chats.approval_rules(caller.user.id).await?;
    Ok(Json(rules.into_iter().map(approval_rule_view).collect()))
}

/// Revoke an approval: the next such call needs approval again.
#[utoipa::path(delete, path = "/api/v1/approvals/{id}", tag = "settings",
    params(("id" = i64, Path)), responses((status = 204), (status = 404)))]
pub async fn revoke_approval_rule(
    State(state): State<AppState>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<StatusCode, ApiError> {
    let id = id.parse().map_err(|_| ApiError::invalid("an approval's id must be a number"))?;
    state.chats.revoke_approval_rule(&caller.user, id).await?;
    Ok(StatusCode::NO_CONTENT)
}

fn sub_agent_view(agent: SubAgent) -> SubAgentView {
    SubAgentView {
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

fn preferences_view(Preferences { instructions, language, approval }: Preferences) -> PreferencesView {
    PreferencesView { instructions, language, approval: approval.map(|mode| mode.as_str().into()) }
}

fn approval_rule_view(rule: ApprovalRule) -> ApprovalRuleView {
    ApprovalRuleView {
        id: rule.id,
        chat_id: rule.chat_id.to_string(),
        chat_title: rule.chat_title,
        tool: rule.tool,
        subject: words_of(&rule.subject),
        scope: rule.scope,
        created_at: rule.created_at_ms,
    }
}
