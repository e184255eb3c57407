//! Groups: people and agents in one log, and chains.

use api::chain::{
    ChainPut, ChainRunView, ChainStart, ChainTemplate, ChainText, ChainTextAsk, ChainView, GateAnswer,
};
use api::group::{
    GroupAgentPut, GroupCall, GroupEntries, GroupGrantPut, GroupLead, GroupPersonPut, GroupPost, GroupPosted,
    GroupPut, GroupView,
};
use api::words::EntryAuthor;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::web::auth::Caller;
use crate::web::error::ApiError;
use crate::web::extract;
use crate::web::json::Json;
use crate::web::language::Wanted;
use crate::web::routes::{Routes, route};
use crate::web::scope::Access;
use crate::web::state::AppState;

/// The routes of groups. A key may read, post and run chains; only people may change a group's members and agents, and answer gates.
pub(in crate::web) fn routes() -> Routes {
    Routes::new()
        .add(Access::Full, route!(list))
        .add(Access::Session, route!(create))
        .add(Access::Full, route!(show))
        .add(Access::Session, route!(rename))
        .add(Access::Session, route!(delete))
        .add(Access::Session, route!(put_person))
        .add(Access::Session, route!(remove_person))
        .add(Access::Session, route!(put_agent))
        .add(Access::Session, route!(remove_agent))
        .add(Access::Session, route!(put_grant))
        .add(Access::Session, route!(remove_grant))
        .add(Access::Session, route!(set_lead))
        .add(Access::Full, route!(entries))
        .add(Access::Full, route!(post))
        .add(Access::Full, route!(calls))
        .add(Access::Full, route!(cancel_call))
        .add(Access::Full, route!(chain_templates))
        .add(Access::Full, route!(chains))
        .add(Access::Session, route!(chain_text))
        .add(Access::Session, route!(put_chain))
        .add(Access::Session, route!(remove_chain))
        .add(Access::Full, route!(begin_run))
        .add(Access::Full, route!(runs))
        .add(Access::Full, route!(run))
        .add(Access::Full, route!(stop_run))
        .add(Access::Session, route!(answer_gate))
}

/// The part of a list to return.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct PartQuery {
    /// Only items that are newer than the one with this id.
    after: Option<i64>,
    /// Only items that are older than the one with this id.
    before: Option<i64>,
}

/// The groups that the caller is in; the most recently changed one first.
#[utoipa::path(get, path = "/api/v1/groups", tag = "groups", responses((status = 200, body = Vec<GroupView>)))]
pub async fn list(State(state): State<AppState>, caller: Caller) -> Result<Json<Vec<GroupView>>, ApiError> {
    Ok(Json(state.groups.list(&caller.user).await?))
}

/// Make a group that the caller owns. Needs a session.
#[utoipa::path(post, path = "/api/v1/groups", tag = "groups", request_body = GroupPut, responses((status = 201, body = GroupView), (status = 400), (status = 403)))]
pub async fn create(
    State(state): State<AppState>,
    caller: Caller,
    extract::Json(put): extract::Json<GroupPut>,
) -> Result<(StatusCode, Json<GroupView>), ApiError> {
    Ok((StatusCode::CREATED, Json(state.groups.create(&caller.user, &put.title).await?)))
}

/// A group: its people, agents and grants.
#[utoipa::path(get, path = "/api/v1/groups/{group}", tag = "groups", params(("group" = i64, Path)), responses((status = 200, body = GroupView), (status = 404)))]
pub async fn show(
    State(state): State<AppState>,
    caller: Caller,
    Path(group): Path<i64>,
) -> Result<Json<GroupView>, ApiError> {
    Ok(Json(state.groups.show(&caller.user, group).await?))
}

/// Give a group a title. Needs a session, and the access of an editor.
#[utoipa::path(put, path = "/api/v1/groups/{group}", tag = "groups", params(("group" = i64, Path)), request_body = GroupPut, responses((status = 200, body = GroupView), (status = 400), (status = 403), (status = 404)))]
pub async fn rename(
    State(state): State<AppState>,
    caller: Caller,
    Path(group): Path<i64>,
    extract::Json(put): extract::Json<GroupPut>,
) -> Result<Json<GroupView>, ApiError> {
    Ok(Json(state.groups.rename(&caller.user, group, &put.title).await?))
}

/// Delete a group with its log and chains, and stop its agents; their chats stay with their owners. Needs a session, and the access of an owner.
#[utoipa::path(delete, path = "/api/v1/groups/{group}", tag = "groups", params(("group" = i64, Path)), responses((status = 204), (status = 403), (status = 404)))]
pub async fn delete(
    State(state): State<AppState>,
    caller: Caller,
    Path(group): Path<i64>,
) -> Result<StatusCode, ApiError> {
    state.groups.delete(&caller.user, group).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Add a person to a group, or change what they may do. Needs a session.
#[utoipa::path(put, path = "/api/v1/groups/{group}/people/{name}", tag = "groups", params(("group" = i64, Path), ("name" = String, Path)), request_body = GroupPersonPut, responses((status = 200, body = GroupView), (status = 400), (status = 403), (status = 404)))]
pub async fn put_person(
    State(state): State<AppState>,
    caller: Caller,
    Path((group, name)): Path<(i64, String)>,
    extract::Json(put): extract::Json<GroupPersonPut>,
) -> Result<Json<GroupView>, ApiError> {
    Ok(Json(state.groups.put_person(&caller.user, group, &name, put).await?))
}

/// Remove a person from a group, with their agents and grants; the work that they asked for is stopped. Needs a session.
#[utoipa::path(delete, path = "/api/v1/groups/{group}/people/{name}", tag = "groups", params(("group" = i64, Path), ("name" = String, Path)), responses((status = 204), (status = 400), (status = 403), (status = 404)))]
pub async fn remove_person(
    State(state): State<AppState>,
    caller: Caller,
    Path((group, name)): Path<(i64, String)>,
) -> Result<StatusCode, ApiError> {
    state.groups.remove_person(&caller.user, group, &name).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Add an agent that works on a machine of the caller's, or change the caller's agent with this handle. Needs a session.
#[utoipa::path(put, path = "/api/v1/groups/{group}/agents/{handle}", tag = "groups", params(("group" = i64, Path), ("handle" = String, Path)), request_body = GroupAgentPut, responses((status = 200, body = GroupView), (status = 400), (status = 403), (status = 404), (status = 409)))]
pub async fn put_agent(
    State(state): State<AppState>,
    caller: Caller,
    Path((group, handle)): Path<(i64, String)>,
    extract::Json(put): extract::Json<GroupAgentPut>,
) -> Result<Json<GroupView>, ApiError> {
    Ok(Json(state.groups.put_agent(&caller.user, group, &handle, put).await?))
}

/// Remove an agent from a group; its work is stopped, and its chat stays with its owner. Needs a session.
#[utoipa::path(delete, path = "/api/v1/groups/{group}/agents/{handle}", tag = "groups", params(("group" = i64, Path), ("handle" = String, Path)), responses((status = 204), (status = 403), (status = 404)))]
pub async fn remove_agent(
    State(state): State<AppState>,
    caller: Caller,
    Path((group, handle)): Path<(i64, String)>,
) -> Result<StatusCode, ApiError> {
    state.groups.remove_agent(&caller.user, group, &handle).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Let a person of the group ask one of the caller's agents. Needs a session.
#[utoipa::path(put, path = "/api/v1/groups/{group}/agents/{handle}/grants/{name}", tag = "groups", params(("group" = i64, Path), ("handle" = String, Path), ("name" = String, Path)), request_body = GroupGrantPut, responses((status = 200, body = GroupView), (status = 400), (status = 403), (status = 404)))]
pub async fn put_grant(
    State(state): State<AppState>,
    caller: Caller,
    Path((group, handle, name)): Path<(i64, String, String)>,
    extract::Json(put): extract::Json<GroupGrantPut>,
) -> Result<Json<GroupView>, ApiError> {
    Ok(Json(state.groups.put_grant(&caller.user, group, &handle, &name, put).await?))
}

/// Take a grant back; the work that the person asked the agent for is stopped. Needs a session.
#[utoipa::path(delete, path = "/api/v1/groups/{group}/agents/{handle}/grants/{name}", tag = "groups", params(("group" = i64, Path), ("handle" = String, Path), ("name" = String, Path)), responses((status = 204), (status = 403), (status = 404)))]
pub async fn remove_grant(
    State(state): State<AppState>,
    caller: Caller,
    Path((group, handle, name)): Path<(i64, String, String)>,
) -> Result<StatusCode, ApiError> {
    state.groups.remove_grant(&caller.user, group, &handle, &name).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Choose the agent that answers messages that mention no agent. Needs a session, and the access of an editor.
#[utoipa::path(put, path = "/api/v1/groups/{group}/lead", tag = "groups", params(("group" = i64, Path)), request_body = GroupLead, responses((status = 200, body = GroupView), (status = 403), (status = 404)))]
pub async fn set_lead(
    State(state): State<AppState>,
    caller: Caller,
    Path(group): Path<i64>,
    extract::Json(lead): extract::Json<GroupLead>,
) -> Result<Json<GroupView>, ApiError> {
    Ok(Json(state.groups.set_lead(&caller.user, group, lead).await?))
}

/// Entries of a group's log, the oldest first, 100 at most: those after `after`, else the newest ones, older than `before`.
#[utoipa::path(get, path = "/api/v1/groups/{group}/entries", tag = "groups", params(("group" = i64, Path), PartQuery), responses((status = 200, body = GroupEntries), (status = 404)))]
pub async fn entries(
    State(state): State<AppState>,
    caller: Caller,
    Path(group): Path<i64>,
    Query(query): Query<PartQuery>,
    Wanted(language): Wanted,
) -> Result<Json<GroupEntries>, ApiError> {
    let mut found = state.groups.entries(&caller.user, group, query.after, query.before).await?;
    let of_server = found.entries.iter_mut().filter(|entry| entry.kind == EntryAuthor::Server);
    // In other entries, this field contains the words of a person or an agent, which are not translated.
    of_server.for_each(|entry| entry.text = language.translated(&entry.text).into_owned());
    Ok(Json(found))
}

/// Post a message to a group. `@handle` asks an agent; if a message mentions no agent, the lead is asked. Agents work on the machines of their owners, and only for people who may ask them.
#[utoipa::path(post, path = "/api/v1/groups/{group}/entries", tag = "groups", params(("group" = i64, Path)), request_body = GroupPost, responses((status = 202, body = GroupPosted), (status = 400), (status = 403), (status = 404)))]
pub async fn post(
    State(state): State<AppState>,
    caller: Caller,
    Path(group): Path<i64>,
    extract::Json(post): extract::Json<GroupPost>,
) -> Result<(StatusCode, Json<GroupPosted>), ApiError> {
    let posted = state.groups.post(&caller.user, group, post).await?;
    Ok((StatusCode::ACCEPTED, Json(posted)))
}

/// The calls of a group's agents that have not ended, and the newest 50 that have; the newest first.
#[utoipa::path(get, path = "/api/v1/groups/{group}/calls", tag = "groups", params(("group" = i64, Path)), responses((status = 200, body = Vec<GroupCall>), (status = 404)))]
pub async fn calls(
    State(state): State<AppState>,
    caller: Caller,
    Path(group): Path<i64>,
) -> Result<Json<Vec<GroupCall>>, ApiError> {
    Ok(Json(state.groups.calls(&caller.user, group).await?))
}

/// Stop a call. The person who asked, the agent's owner and editors may do this.
#[utoipa::path(post, path = "/api/v1/groups/{group}/calls/{call}/cancel", tag = "groups", params(("group" = i64, Path), ("call" = i64, Path)), responses((status = 204), (status = 403), (status = 404)))]
pub async fn cancel_call(
    State(state): State<AppState>,
    caller: Caller,
    Path((group, call)): Path<(i64, i64)>,
) -> Result<StatusCode, ApiError> {
    state.groups.cancel(&caller.user, group, call).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Templates of chains, in the language that the request asks for. The agents in them are examples.
#[utoipa::path(get, path = "/api/v1/chain-templates", tag = "groups", responses((status = 200, body = Vec<ChainTemplate>)))]
pub async fn chain_templates(
    State(state): State<AppState>,
    _caller: Caller,
    wanted: Wanted,
) -> Json<Vec<ChainTemplate>> {
    Json(state.groups.chain_templates(wanted.0))
}

/// The chains of a group, by name.
#[utoipa::path(get, path = "/api/v1/groups/{group}/chains", tag = "groups", params(("group" = i64, Path)), responses((status = 200, body = Vec<ChainView>), (status = 404)))]
pub async fn chains(
    State(state): State<AppState>,
    caller: Caller,
    Path(group): Path<i64>,
) -> Result<Json<Vec<ChainView>>, ApiError> {
    Ok(Json(state.groups.chains(&caller.user, group).await?))
}

/// A chain that is being written, in both forms, with the agents of its steps; only its size is checked, and nothing is stored. Needs a session,
/// and the access of an editor.
#[utoipa::path(post, path = "/api/v1/groups/{group}/chain-text", tag = "groups", params(("group" = i64, Path)), request_body = ChainTextAsk, responses((status = 200, body = ChainText), (status = 400), (status = 403), (status = 404)))]
pub async fn chain_text(
    State(state): State<AppState>,
    caller: Caller,
    Path(group): Path<i64>,
    extract::Json(ask): extract::Json<ChainTextAsk>,
) -> Result<Json<ChainText>, ApiError> {
    Ok(Json(state.groups.chain_text(&caller.user, group, ask).await?))
}

/// Add a chain, or change the one with this name; runs that have begun keep the old steps. A new one needs a free name; a change names the `updated_at` that it
/// is made from, or `replace`. With `dry_run` it is only checked. Needs a session, and the access of an editor.
#[utoipa::path(put, path = "/api/v1/groups/{group}/chains/{name}", tag = "groups", params(("group" = i64, Path), ("name" = String, Path)), request_body = ChainPut, responses((status = 200, body = ChainView), (status = 400), (status = 403), (status = 404), (status = 409)))]
pub async fn put_chain(
    State(state): State<AppState>,
    caller: Caller,
    Path((group, name)): Path<(i64, String)>,
    extract::Json(put): extract::Json<ChainPut>,
) -> Result<Json<ChainView>, ApiError> {
    Ok(Json(state.groups.put_chain(&caller.user, group, &name, put).await?))
}

/// Remove a chain; its runs go on. Needs a session, and the access of an editor.
#[utoipa::path(delete, path = "/api/v1/groups/{group}/chains/{name}", tag = "groups", params(("group" = i64, Path), ("name" = String, Path)), responses((status = 204), (status = 403), (status = 404)))]
pub async fn remove_chain(
    State(state): State<AppState>,
    caller: Caller,
    Path((group, name)): Path<(i64, String)>,
) -> Result<StatusCode, ApiError> {
    state.groups.remove_chain(&caller.user, group, &name).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Begin a run of a chain. The caller has to be allowed to ask each of its agents.
#[utoipa::path(post, path = "/api/v1/groups/{group}/chains/{name}/runs", tag = "groups", params(("group" = i64, Path), ("name" = String, Path)), request_body = ChainStart, responses((status = 202, body = ChainRunView), (status = 400), (status = 403), (status = 404)))]
pub async fn begin_run(
    State(state): State<AppState>,
    caller: Caller,
    Path((group, name)): Path<(i64, String)>,
    extract::Json(start): extract::Json<ChainStart>,
) -> Result<(StatusCode, Json<ChainRunView>), ApiError> {
    let run = state.groups.begin_run(&caller.user, group, &name, start).await?;
    Ok((StatusCode::ACCEPTED, Json(run)))
}

/// The runs of a group's chains without the output of steps, the newest first, older than `before`; 20 at most.
#[utoipa::path(get, path = "/api/v1/groups/{group}/runs", tag = "groups", params(("group" = i64, Path), PartQuery), responses((status = 200, body = Vec<ChainRunView>), (status = 404)))]
pub async fn runs(
    State(state): State<AppState>,
    caller: Caller,
    Path(group): Path<i64>,
    Query(query): Query<PartQuery>,
) -> Result<Json<Vec<ChainRunView>>, ApiError> {
    Ok(Json(state.groups.runs(&caller.user, group, query.before).await?))
}

/// A run of a chain, with its steps and its open gate.
#[utoipa::path(get, path = "/api/v1/groups/{group}/runs/{run}", tag = "groups", params(("group" = i64, Path), ("run" = i64, Path)), responses((status = 200, body = ChainRunView), (status = 404)))]
pub async fn run(
    State(state): State<AppState>,
    caller: Caller,
    Path((group, run)): Path<(i64, i64)>,
) -> Result<Json<ChainRunView>, ApiError> {
    Ok(Json(state.groups.run(&caller.user, group, run).await?))
}

/// Stop a run of a chain.
#[utoipa::path(post, path = "/api/v1/groups/{group}/runs/{run}/stop", tag = "groups", params(("group" = i64, Path), ("run" = i64, Path)), responses((status = 200, body = ChainRunView), (status = 403), (status = 404)))]
pub async fn stop_run(
    State(state): State<AppState>,
    caller: Caller,
    Path((group, run)): Path<(i64, i64)>,
) -> Result<Json<ChainRunView>, ApiError> {
    Ok(Json(state.groups.stop_run(&caller.user, group, run).await?))
}

/// Answer a gate; the first answer counts. Needs a session, since a person decides.
#[utoipa::path(post, path = "/api/v1/groups/{group}/gates/{gate}", tag = "groups", params(("group" = i64, Path), ("gate" = i64, Path)), request_body = GateAnswer, responses((status = 200, body = ChainRunView), (status = 400), (status = 403), (status = 404), (status = 409)))]
pub async fn answer_gate(
    State(state): State<AppState>,
    caller: Caller,
    Path((group, gate)): Path<(i64, i64)>,
    extract::Json(answer): extract::Json<GateAnswer>,
) -> Result<Json<ChainRunView>, ApiError> {
    Ok(Json(state.groups.answer_gate(&caller.user, group, gate, answer).await?))
}
