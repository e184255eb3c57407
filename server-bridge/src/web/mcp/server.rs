//! What an MCP client is told, and may call.

use std::sync::Arc;

use accounts::KeyScope;
use axum::http::request::Parts;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ErrorData, Implementation, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};

use super::tools::{self, Desk, Progress};
use crate::state::AppState;
use crate::web::auth::Caller;
use crate::web::error::ApiError;

/// What a model reads before it begins.
const INSTRUCTIONS: &str = "Sandbridge runs commands and works on files on machines that its user chose, their runners. Every tool \
takes an optional `runner`; without it the user's active one is used, and never another. list_runners says which there are. Paths \
are relative to the runner's workspace, or absolute beneath it. Commands that take longer than a few minutes, servers and \
watchers belong in task_start.";

/// The tools, for whoever asks: each request brings its caller along.
#[derive(Clone, Copy)]
pub(super) struct Tools;

impl ServerHandler for Tools {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("sandbridge", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        tools::find(name).map(|entry| entry.describe())
    }

    async fn list_tools(
        &self,
        _page: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let (_, caller) = asker(&context)?;
        let may = |entry: &&tools::Entry| entry.only_reads() || caller.scope() != KeyScope::Read;
        Ok(ListToolsResult::with_all_items(
            tools::all().iter().filter(may).map(tools::Entry::describe).collect(),
        ))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let (state, caller) = asker(&context)?;
        let unknown = || ErrorData::invalid_params(format!("there is no tool {:?}", request.name), None);
        let entry = tools::find(&request.name).ok_or_else(unknown)?;
        let arguments = request.arguments.unwrap_or_default();
        let progress =
            context.meta.get_progress_token().map(|token| Progress { peer: context.peer.clone(), token });
        let tasks = state.tasks.clone();
        let desk = Desk { state, caller, cancelled: context.ct.clone(), progress };
        // To its end, even if the session ends meanwhile: what was done must be on record.
        let called = tasks.spawn(async move {
            if !entry.only_reads() && desk.caller.scope() == KeyScope::Read {
                let message =
                    format!("this key is for reading only; {} needs one with the scope exec", entry.name());
                return Err(ApiError::new("forbidden", message));
            }
            let _counted = desk.state.mcp.sessions.call(desk.caller.user.id)?;
            entry.run(arguments, &desk).await
        });
        match called.await {
            Ok(outcome) => Ok(tools::result(outcome).into()),
            Err(error) => {
                let error = ApiError::internal(&error);
                Err(ErrorData::internal_error(error.message, None))
            }
        }
    }
}

/// Who asks, as the endpoint found out.
fn asker(context: &RequestContext<RoleServer>) -> Result<(AppState, Caller), ErrorData> {
    let parts = context.extensions.get::<Parts>();
    let known = parts
        .and_then(|parts| Some((parts.extensions.get::<AppState>()?, parts.extensions.get::<Caller>()?)));
    let nobody = || ErrorData::internal_error("the request lost its caller", None);
    known.map(|(state, caller)| (state.clone(), caller.clone())).ok_or_else(nobody)
}

/// A schema as the protocol carries it.
pub(super) fn object(schema: serde_json::Value) -> Arc<serde_json::Map<String, serde_json::Value>> {
    match schema {
        serde_json::Value::Object(fields) => Arc::new(fields),
        _ => Arc::default(),
    }
}
