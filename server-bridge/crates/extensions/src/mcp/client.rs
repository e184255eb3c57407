//! The client's side of a connection: its answers to a server's requests, and its handling of notifications.

#![expect(deprecated, reason = "servers of the revisions up to 2025-11-25 ask for roots and models, and log")]

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rmcp::model::{
    ClientCapabilities, ClientConfig, CreateMessageRequestParams, CreateMessageResult, ElicitRequestParams,
    ElicitResult, ElicitationAction, ElicitationCapability, FormElicitationCapability, Implementation,
    JsonObject, ListRootsResult, LoggingLevel, LoggingMessageNotificationParam, ProgressNotificationParam,
    ProtocolVersion, ResourceUpdatedNotificationParam, Root, SKILLS_EXTENSION_ID, SamplingCapability,
    TASKS_EXTENSION_ID, UrlElicitationCapability,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{ClientHandler, ErrorData, RoleClient};
use serde::Serialize;
use tokio::sync::{Semaphore, oneshot};

use super::connection::{Calls, Event};
use super::sample;
use super::watch::Watched;
use crate::limits::{MCP_ASK_BYTES, MCP_PROGRESS_BYTES};

/// Answers a server's requests.
pub(super) struct Client {
    pub(super) calls: Calls,
    pub(super) is_stale: Arc<AtomicBool>,
    pub(super) watched: Watched,
    /// The address of the workspace, if the server runs in it.
    pub(super) root: Option<String>,
    /// One permit for each question of the server that may wait for an answer.
    pub(super) asking: Semaphore,
}

/// A writer that only counts: it accepts this many bytes, keeps none, and fails when more are written.
struct Room(usize);

impl Write for Room {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::FileTooLarge)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl ClientHandler for Client {
    fn get_info(&self) -> ClientConfig {
        let elicitation = ElicitationCapability::new()
            .with_form(FormElicitationCapability::default())
            .with_url(UrlElicitationCapability::default());
        let mut capabilities = ClientCapabilities::default();
        capabilities.elicitation = Some(elicitation);
        capabilities.sampling = Some(SamplingCapability::default());
        capabilities.extensions = Some(
            [SKILLS_EXTENSION_ID, TASKS_EXTENSION_ID]
                .map(|id| (id.to_owned(), JsonObject::new()))
                .into_iter()
                .collect(),
        );
        capabilities.roots = self.root.is_some().then(Default::default);
        let info = Implementation::new("sandbridge", env!("CARGO_PKG_VERSION")).with_title("Sandbridge");
        ClientConfig::new(capabilities, info).with_protocol_version(ProtocolVersion::V_2025_11_25)
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        self.elicited(request).await
    }

    async fn create_message(
        &self,
        request: CreateMessageRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        self.sampled(request).await
    }

    async fn list_roots(&self, _: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        Ok(self.roots())
    }

    async fn on_progress(&self, progress: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        let of = progress.total.map(|total| format!(" of {total}")).unwrap_or_default();
        let message = progress.message.unwrap_or_default();
        let message = &message[..message.floor_char_boundary(MCP_PROGRESS_BYTES)];
        let gap = if message.is_empty() { "" } else { ": " };
        self.tell(format!("{}{of}{gap}{message}\n", progress.progress));
    }

    async fn on_logging_message(
        &self,
        message: LoggingMessageNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        if matches!(message.level, LoggingLevel::Debug) {
            return;
        }
        let text = message.data.as_str().map_or_else(|| message.data.to_string(), str::to_owned);
        let text = &text[..text.floor_char_boundary(MCP_PROGRESS_BYTES)];
        let level = serde_json::to_value(message.level).unwrap_or_default();
        self.tell(format!("[{}] {text}\n", level.as_str().unwrap_or_default()));
    }

    async fn on_resource_updated(
        &self,
        updated: ResourceUpdatedNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        self.watched.changed(&updated.uri);
    }

    async fn on_prompt_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.is_stale.store(true, Ordering::Relaxed);
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.is_stale.store(true, Ordering::Relaxed);
    }
}

impl Client {
    /// The user's answer to a question of the server.
    ///
    /// Fails with the error for the server.
    pub(super) async fn elicited(&self, request: ElicitRequestParams) -> Result<ElicitResult, ErrorData> {
        let answered = self.asked(request, Event::Asks).await?;
        Ok(answered.unwrap_or_else(|| ElicitResult::new(ElicitationAction::Cancel)))
    }

    /// The model's answer to a request of the server.
    ///
    /// Fails with the error for the server.
    pub(super) async fn sampled(
        &self,
        request: CreateMessageRequestParams,
    ) -> Result<CreateMessageResult, ErrorData> {
        let answered = self.asked(request, Event::Samples).await?;
        answered.unwrap_or_else(|| Err(sample::refused("no user can be asked")))
    }

    /// The directories that the server may work in.
    pub(super) fn roots(&self) -> ListRootsResult {
        let root = self.root.iter().map(|root| Root::new(root.clone()).with_name("workspace"));
        ListRootsResult::new(root.collect())
    }

    /// Lets the most recent call handle a request of the server; `None` if there is no call, or it does not handle it.
    ///
    /// Fails with an error for the server if its request is too large to be kept until the user answers.
    async fn asked<R: Serialize, T>(
        &self,
        request: R,
        event: impl FnOnce(Box<R>, oneshot::Sender<T>) -> Event,
    ) -> Result<Option<T>, ErrorData> {
        if serde_json::to_writer(Room(MCP_ASK_BYTES), &request).is_err() {
            let why = format!("a request can have at most {MCP_ASK_BYTES} bytes");
            return Err(ErrorData::invalid_params(why, None));
        }
        let Ok(_place) = self.asking.try_acquire() else {
            let why = "too many requests are waiting for an answer; ask again once one is answered";
            return Err(sample::refused(why));
        };
        let Some(call) = self.calls.last() else { return Ok(None) };
        let (answer, answered) = oneshot::channel();
        // If the queue is full, the server is flooding it; nothing waits for that.
        if call.try_send(event(Box::new(request), answer)).is_err() {
            return Ok(None);
        }
        Ok(answered.await.ok())
    }

    /// Shows a line in the call in progress.
    pub(super) fn tell(&self, line: String) {
        // The message does not name the call that it is about: if several are in progress, it is shown in none.
        let call = match &self.calls.all()[..] {
            [call] => call.events.clone(),
            _ => return,
        };
        // If the queue is full, the message is dropped.
        let _ = call.try_send(Event::Progress(line));
    }
}
