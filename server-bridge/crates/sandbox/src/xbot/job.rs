//! Serves one request of a handle: makes the necessary calls, then sends the events that the handle waits for.

use std::sync::Arc;

use bytes::Bytes;
use proto::limits::MAX_DATA_BYTES;
use proto::{Channel, DataBuf, ErrorKind, Message, Request, StreamId};
use serde::Serialize;
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::calls::{Answer, Calls};
use super::path::Workspace;
use super::{exec, files};
use crate::budget::{MessageAccount, MessageBudget};
use crate::driver::{StreamEvent, StreamState, end_state};
use crate::error::SandboxError;
use crate::limits::{XBOT_CONTENT_BYTES, XBOT_REQUEST_TIMEOUT};

/// A piece of what the handle writes to a stream.
#[derive(Debug)]
pub(super) enum Input {
    Data(DataBuf),
    End,
}

/// One request of a handle.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) id: StreamId,
    pub(super) request: Request,
    pub(super) stream: Arc<StreamState>,
    pub(super) input: mpsc::UnboundedReceiver<Input>,
    /// Cancelled once nothing waits for the job any more.
    pub(super) cancel: CancellationToken,
    /// Cancelled once the link has ended.
    pub(super) over: CancellationToken,
    pub(super) place: Arc<str>,
    pub(super) workspace: Arc<Workspace>,
    pub(super) calls: Calls,
    pub(super) budget: MessageBudget,
    pub(super) _permit: OwnedSemaphorePermit,
}

impl Job {
    /// Carries out the request and informs the handle of the result; returns the job's id.
    pub(super) async fn run(mut self) -> StreamId {
        let (cancel, over) = (self.cancel.clone(), self.over.clone());
        let ended = tokio::select! {
            // An answer that arrived before the link ended counts.
            biased;
            ended = self.serve() => ended,
            () = cancel.cancelled() => Err(self.given_up()),
            () = over.cancelled() => Err(self.cut_off()),
        };
        end_state(
            &self.stream,
            match ended {
                Ok(message) => StreamEvent::Answer(message),
                Err(error) => StreamEvent::Failed(error),
            },
        );
        self.id
    }

    async fn serve(&mut self) -> Result<Message, SandboxError> {
        match self.request.clone() {
            Request::Exec(request) => Box::pin(exec::run(self, request)).await,
            Request::ReadFile(request) => files::read(self, &request).await,
            Request::WriteFile(request) => Box::pin(files::write(self, request)).await,
            Request::Stat(request) => files::stat(self, &request).await,
            Request::ReadDir(request) => files::read_dir(self, &request).await,
            Request::MkdirAll(request) => files::mkdir_all(self, &request).await,
            Request::Remove(request) => files::remove(self, "remove", &request.path).await,
            Request::RemoveAll(request) => files::remove(self, "remove_all", &request.path).await,
            Request::Rename(request) => files::rename(self, &request).await,
            // The dialect is frozen: it has no form for other requests, present or future.
            other => Err(self.unsupported(&words(other.type_number()))),
        }
    }

    /// Sends a request that is not a command's and waits for its answer.
    pub(super) async fn ask<B: Serialize>(&self, kind: &str, body: &B) -> Result<Answer, SandboxError> {
        self.ask_with(kind, body, None).await
    }

    /// Sends a request that is not a command's, with a share of the budget, and waits for its answer.
    pub(super) async fn ask_with<B: Serialize>(
        &self,
        kind: &str,
        body: &B,
        account: Option<MessageAccount>,
    ) -> Result<Answer, SandboxError> {
        let asked = timeout(XBOT_REQUEST_TIMEOUT, self.calls.ask(kind, body, account));
        asked.await.unwrap_or_else(|_| {
            let only_looks = matches!(kind, "stat" | "read_file" | "read_dir");
            let kind = if only_looks { ErrorKind::Io } else { ErrorKind::Ambiguous };
            let seconds = XBOT_REQUEST_TIMEOUT.as_secs();
            let message = format!("runner {} did not answer within {seconds} s", self.place);
            Err(SandboxError::Remote { kind, message })
        })
    }

    /// Takes the whole input of the stream; `take` gets each piece and the account that it is charged to.
    pub(super) async fn take_input(
        &mut self,
        mut take: impl FnMut(&[u8]),
    ) -> Result<MessageAccount, SandboxError> {
        let (account, mut total_bytes) = (self.budget.account(), 0);
        while let Some(Input::Data(piece)) = self.input.recv().await {
            total_bytes += piece.len() as u64;
            if total_bytes > XBOT_CONTENT_BYTES {
                return Err(self.too_large(total_bytes));
            }
            // The size as base64, or as JSON without escapes.
            if !account.take((piece.len() as u64).div_ceil(3) * 4) {
                let message =
                    format!("too much data is on its way to runner {}; try again in a moment", self.place);
                return Err(SandboxError::Remote { kind: ErrorKind::Busy, message });
            }
            take(piece.as_slice());
            self.stream.room.add_permits(piece.len());
        }
        Ok(account)
    }

    /// Hands bytes to the handle in pieces.
    pub(super) fn deliver(&self, channel: Channel, mut bytes: Bytes) {
        while !bytes.is_empty() {
            let piece = bytes.split_to(bytes.len().min(MAX_DATA_BYTES));
            self.stream.push(StreamEvent::Data(channel, piece));
        }
    }

    pub(super) fn tell(&self, message: impl Into<Message>) {
        self.stream.push(StreamEvent::Message(message.into()));
    }

    pub(super) fn unsupported(&self, what: &str) -> SandboxError {
        let message = format!(
            "runner {} speaks xbot's dialect, which cannot do that ({what}); connect the machine with \
             sandbridge-runner instead",
            self.place
        );
        SandboxError::Remote { kind: ErrorKind::Unsupported, message }
    }

    pub(super) fn too_large(&self, bytes: u64) -> SandboxError {
        let message = format!(
            "{bytes} bytes are too many for runner {}: xbot's dialect carries content in one message, which can have \
             {XBOT_CONTENT_BYTES} bytes at most",
            self.place
        );
        SandboxError::Remote { kind: ErrorKind::TooLarge, message }
    }

    fn given_up(&self) -> SandboxError {
        let is_running = self.calls.has_asked() && matches!(self.request, Request::Exec(_));
        let message = if is_running {
            format!(
                "the server no longer waits for the command; runner {} cannot end a running command, so it may continue there until its time limit",
                self.place
            )
        } else {
            "the request was cancelled".to_owned()
        };
        SandboxError::Remote { kind: ErrorKind::Cancelled, message }
    }

    fn cut_off(&self) -> SandboxError {
        let runner = self.place.to_string();
        if self.calls.has_asked() { SandboxError::Lost { runner } } else { SandboxError::Offline { runner } }
    }
}

/// A request's name as separate words, such as `mkdir all`.
fn words(number: u16) -> String {
    let name = Request::TABLE.iter().find(|(other, ..)| *other == number).map_or("", |(_, name, _)| name);
    let mut words = String::new();
    for character in name.chars() {
        if character.is_uppercase() && !words.is_empty() {
            words.push(' ');
        }
        words.push(character.to_ascii_lowercase());
    }
    words
}

/// Bytes that keep a share of the budget until their last piece is dropped.
pub(super) fn accounted(bytes: Vec<u8>, account: Arc<MessageAccount>) -> Bytes {
    struct Owner(Vec<u8>, #[expect(dead_code, reason = "held for its drop")] Arc<MessageAccount>);
    impl AsRef<[u8]> for Owner {
        fn as_ref(&self) -> &[u8] {
            &self.0
        }
    }
    Bytes::from_owner(Owner(bytes, account))
}
