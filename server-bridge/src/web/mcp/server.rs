//! The server's side of a session: its introduction, and the tools of the registry that programs are offered.

use std::sync::Arc;

use accounts::KeyScope;
use agent::tool::Tool;
use axum::http::request::Parts;
use chats::ChatService;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ErrorData, Implementation, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};

use super::call::{Call, Progress};
use super::describe::{describe, only_reads, result};
use crate::web::auth::Caller;
use crate::web::error::ApiError;
use crate::web::state::AppState;

/// The instructions that a client passes to its model.
const INSTRUCTIONS: &str = "Sandbridge runs commands and works on files on its user's machines, the runners. Every tool \
that works on a machine takes an optional `runner`; without it, the user's active runner is used, and never another. list_runners \
lists them. Paths are relative to the runner's workspace, or absolute within it. Commands that take longer than a few \
minutes, servers and watchers belong in task_start.";

/// The handler of all callers' requests: each request carries its caller.
#[derive(Clone)]
pub(super) struct Tools(pub(super) ChatService);

impl Tools {
    fn find(&self, name: &str) -> Option<Arc<dyn Tool>> {
        let tools = self.0.tools().snapshot();
        tools.for_programs().find(|(known, _)| *known == name).map(|(_, tool)| Arc::clone(tool))
    }
}

impl ServerHandler for Tools {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("sandbridge", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }

    fn get_tool(&self, name: &str) -> Option<rmcp::model::Tool> {
        self.find(name).map(|tool| describe(name, tool.as_ref()))
    }

    async fn list_tools(
        &self,
        _page: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let (_, caller) = asker(&context)?;
        let tools = self.0.tools().snapshot();
        let may = |tool: &dyn Tool| only_reads(tool) || caller.scope() != KeyScope::Read;
        let offered = tools.for_programs().filter(|(_, tool)| may(tool.as_ref()));
        Ok(ListToolsResult::with_all_items(
            offered.map(|(name, tool)| describe(name, tool.as_ref())).collect(),
        ))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let (state, caller) = asker(&context)?;
        let unknown = || ErrorData::invalid_params(format!("there is no tool {:?}", request.name), None);
        let tool = self.find(&request.name).ok_or_else(unknown)?;
        let (name, arguments) = (request.name.into_owned(), request.arguments.unwrap_or_default());
        let progress =
            context.meta.get_progress_token().map(|token| Progress { peer: context.peer.clone(), token });
        let tasks = state.tasks.clone();
        let call = Call { state, caller, tool, name, cancelled: context.ct.clone(), progress };
        // Runs to its end in a separate task, even if the session ends in the meantime, because its effects must be on record.
        match tasks.spawn(call.make(arguments)).await {
            Ok(outcome) => Ok(result(outcome).into()),
            Err(error) => {
                let error = ApiError::internal(&error);
                Err(ErrorData::internal_error(error.message, None))
            }
        }
    }
}

/// The caller of a request, as the endpoint determined.
fn asker(context: &RequestContext<RoleServer>) -> Result<(AppState, Caller), ErrorData> {
    let parts = context.extensions.get::<Parts>();
    let known = parts
        .and_then(|parts| Some((parts.extensions.get::<AppState>()?, parts.extensions.get::<Caller>()?)));
    let nobody = || ErrorData::internal_error("the request has no caller; this is a bug in the server", None);
    known.map(|(state, caller)| (state.clone(), caller.clone())).ok_or_else(nobody)
}
