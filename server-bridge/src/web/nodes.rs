//! The nodes that share the server's database, for administrators.

use accounts::{Node, NodeState};
use api::node::{NodePut, NodeView};
use api::words;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::web::auth::Caller;
use crate::web::error::ApiError;
use crate::web::extract;
use crate::web::json::Json;
use crate::web::routes::{Routes, route};
use crate::web::scope::Access;
use crate::web::state::AppState;

/// The routes of nodes.
pub(in crate::web) fn routes() -> Routes {
    Routes::new()
        .add(Access::Full, route!(list))
        .add(Access::Session, route!(put))
        .add(Access::Session, route!(forget))
}

/// The nodes that share the database, by URL; none for a server that works alone. For administrators.
#[utoipa::path(get, path = "/api/v1/nodes", tag = "settings", responses((status = 200, body = [NodeView]), (status = 403)))]
pub async fn list(State(state): State<AppState>, caller: Caller) -> Result<Json<Vec<NodeView>>, ApiError> {
    Ok(Json(state.accounts.nodes(&caller.user).await?.into_iter().map(node_view).collect()))
}

/// Drain a node, so that it hands its users over to the other nodes and keeps running, or cancel its drain. The node learns of the change
/// within seconds. For administrators.
#[utoipa::path(put, path = "/api/v1/nodes", tag = "settings", params(NodeQuery), request_body = NodePut,
    responses((status = 204), (status = 400), (status = 403), (status = 404)))]
pub async fn put(
    State(state): State<AppState>,
    caller: Caller,
    extract::Query(NodeQuery { url }): extract::Query<NodeQuery>,
    extract::Json(NodePut { draining }): extract::Json<NodePut>,
) -> Result<StatusCode, ApiError> {
    state.accounts.drain_node(&caller.user, &url, draining).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Identifies the node of a request.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct NodeQuery {
    /// The node's URL.
    url: String,
}

/// Remove a dead node from the list. For administrators.
#[utoipa::path(delete, path = "/api/v1/nodes", tag = "settings", params(NodeQuery),
    responses((status = 204), (status = 400), (status = 403), (status = 404)))]
pub async fn forget(
    State(state): State<AppState>,
    caller: Caller,
    extract::Query(NodeQuery { url }): extract::Query<NodeQuery>,
) -> Result<StatusCode, ApiError> {
    state.accounts.forget_node(&caller.user, &url).await?;
    Ok(StatusCode::NO_CONTENT)
}

fn node_view(node: Node) -> NodeView {
    NodeView {
        state: match (node.state, node.is_live) {
            (NodeState::Gone, _) => words::NodeState::Gone,
            (_, false) => words::NodeState::Late,
            (NodeState::Draining, true) => words::NodeState::Draining,
            (NodeState::Up, true) => words::NodeState::Up,
        },
        url: node.url,
        version: node.version,
        homes: node.homes,
        started_at: node.started_at_ms,
        lease_until: node.lease_until_ms,
    }
}
