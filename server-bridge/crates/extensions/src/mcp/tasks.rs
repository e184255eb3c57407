//! Calls in several rounds, and tasks: a server may need input before it answers, or answer with a task that is polled until
//! it ends. A server of the older era may refuse a call until its user has opened pages.

use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CancelTaskParams, ElicitRequestParams,
    ElicitationAction, ErrorCode, ErrorData, GetTaskParams, InputRequest, InputRequests, InputResponses,
    Task, TaskPayload, UpdateTaskParams,
};
use rmcp::service::{Peer, ServiceError};
use serde::Deserialize;
use serde_json::Value;
use tokio::time::{sleep, timeout};

use super::connection::Connection;
use crate::limits::{MCP_ROUNDS, MCP_SEND_PATIENCE, MCP_TASK_POLL, MCP_TASK_POLL_LIMITS};

/// The error of a call that is refused until its user has opened pages (revision 2025-11-25).
const PAGES_WANTED: ErrorCode = ErrorCode(-32042);

/// The reason if a server asks for something other than pages with that error.
const NOT_PAGES: &str = "the server asked its user for something other than pages to open with this error, which the protocol does not permit \
    (-32042: each of its elicitations must have the mode \"url\"); nothing was asked, and calling the tool again will not help";

/// The data of [`PAGES_WANTED`]. The protocol permits no forms in it.
#[derive(Deserialize)]
struct PagesWanted {
    elicitations: Vec<ElicitRequestParams>,
}

/// A running task; its server is asked to end it if this is dropped.
struct Going<'a> {
    peer: &'a Peer<RoleClient>,
    id: &'a str,
    is_over: bool,
}

impl Drop for Going<'_> {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        let (peer, id) = (self.peer.clone(), self.id.to_owned());
        tokio::spawn(async move {
            // If this fails, the task ends with the connection.
            let _ = timeout(MCP_SEND_PATIENCE, peer.cancel_task(CancelTaskParams::new(id))).await;
        });
    }
}

/// The pause before the task is polled again.
fn pause(task: &Task) -> Duration {
    let (least, most) = MCP_TASK_POLL_LIMITS;
    task.poll_interval_ms.map_or(MCP_TASK_POLL, Duration::from_millis).clamp(least, most)
}

impl Connection {
    /// Calls a tool, with all rounds of input, and waits for the end of its task if there is one.
    pub(super) async fn called(
        &self,
        mut params: CallToolRequestParams,
    ) -> Result<CallToolResult, ServiceError> {
        for _ in 0..MCP_ROUNDS {
            let needed = match self.service.call_tool_once(params.clone()).await {
                Ok(CallToolResponse::Complete(result)) => return Ok(result),
                Ok(CallToolResponse::Task(created)) => return self.ended(created.task).await,
                Ok(CallToolResponse::InputRequired(needed)) => needed,
                Ok(_) => return Err(ServiceError::UnexpectedResponse),
                Err(ServiceError::McpError(error)) if error.code == PAGES_WANTED => {
                    self.pages_opened(error).await?;
                    continue;
                }
                Err(error) => return Err(error),
            };
            let requests = needed.input_requests.unwrap_or_default();
            if requests.is_empty() {
                if needed.request_state.is_none() {
                    return Err(ServiceError::UnexpectedResponse);
                }
                sleep(MCP_TASK_POLL).await;
            }
            let responses = self.inputs(requests).await?;
            params.input_responses = (!responses.is_empty()).then_some(responses);
            params.request_state = needed.request_state;
        }
        Err(ServiceError::InputRequiredRoundsExceeded { max_rounds: MCP_ROUNDS })
    }

    /// The result of a task after it ended.
    async fn ended(&self, task: Task) -> Result<CallToolResult, ServiceError> {
        let id = task.task_id.clone();
        let mut going = Going { peer: self.service.peer(), id: &id, is_over: false };
        let (mut task, mut told) = (task, None);
        loop {
            if task.status_message != told {
                told.clone_from(&task.status_message);
                self.service.service().tell(format!("{}\n", told.as_deref().unwrap_or_default()));
            }
            sleep(pause(&task)).await;
            let now = self.service.get_task(GetTaskParams::new(id.clone())).await?.task;
            task = now.task;
            match now.payload {
                TaskPayload::Working => {}
                TaskPayload::InputRequired { input_requests } => {
                    let responses = self.inputs(input_requests).await?;
                    self.service.update_task(UpdateTaskParams::new(id.clone(), responses)).await?;
                }
                TaskPayload::Completed { result } => {
                    going.is_over = true;
                    let result = serde_json::from_value(Value::Object(result));
                    return result.map_err(|_| ServiceError::UnexpectedResponse);
                }
                TaskPayload::Failed { error } => {
                    going.is_over = true;
                    let unread = |_| ErrorData::internal_error("its task failed", None);
                    let error = serde_json::from_value(Value::Object(error)).unwrap_or_else(unread);
                    return Err(ServiceError::McpError(error));
                }
                TaskPayload::Cancelled => {
                    going.is_over = true;
                    return Err(ServiceError::McpError(ErrorData::internal_error(
                        "it cancelled its task",
                        None,
                    )));
                }
                _ => return Err(ServiceError::UnexpectedResponse),
            }
        }
    }

    /// Asks the user to open the pages that a server wants opened before it is called again, one after the other.
    ///
    /// Fails if the user does not open one, with the server's reason for it, and if the server asks for anything else: then nothing is asked.
    async fn pages_opened(&self, error: ErrorData) -> Result<(), ServiceError> {
        let wanted = error.data.clone().and_then(|data| serde_json::from_value::<PagesWanted>(data).ok());
        let Some(wanted) = wanted.filter(|wanted| (1..=MCP_ROUNDS).contains(&wanted.elicitations.len()))
        else {
            return Err(ServiceError::McpError(error));
        };
        let is_page =
            |asked: &ElicitRequestParams| matches!(asked, ElicitRequestParams::UrlElicitationParams { .. });
        if !wanted.elicitations.iter().all(is_page) {
            return Err(ServiceError::McpError(ErrorData::new(PAGES_WANTED, NOT_PAGES, None)));
        }
        for page in wanted.elicitations {
            let elicited = self.service.service().elicited(page).await.map_err(ServiceError::McpError)?;
            if elicited.action != ElicitationAction::Accept {
                let reason = error.message.trim_end_matches('.');
                let why = format!("{reason}; the user did not open the page that it asked for");
                return Err(ServiceError::McpError(ErrorData::new(PAGES_WANTED, why, None)));
            }
        }
        Ok(())
    }

    /// The answers to a server's requests for input, one after the other: a user reads one question at a time.
    async fn inputs(&self, requests: InputRequests) -> Result<InputResponses, ServiceError> {
        let client = self.service.service();
        let mut responses = InputResponses::new();
        for (key, request) in requests {
            let response = match request {
                InputRequest::Elicitation(request) => {
                    let elicited = client.elicited(request.params).await.map_err(ServiceError::McpError)?;
                    serde_json::to_value(elicited)
                }
                InputRequest::CreateMessage(request) => {
                    let sampled = client.sampled(request.params).await.map_err(ServiceError::McpError)?;
                    serde_json::to_value(sampled)
                }
                InputRequest::ListRoots(_) => serde_json::to_value(client.roots()),
                _ => return Err(ServiceError::UnexpectedResponse),
            };
            responses.insert(key, response.map_err(|_| ServiceError::UnexpectedResponse)?);
        }
        Ok(responses)
    }
}
