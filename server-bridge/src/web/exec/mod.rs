//! The exec WebSocket: one command, its output as it comes, and how it ended.
//!
//! ```text
//!  client                         server
//!    | request (text)               |
//!    | ---------------------------> |  put on record, sent to the sandbox
//!    |   started, output, exit      |
//!    | <--------------------------- |  sending is the back-pressure: a client that does not read makes the
//!    |   stdin, signal, cancel      |  command wait
//!    | ---------------------------> |
//! ```
//! A command is attached to its client: 10 s without it cancel it.

mod pump;
mod request;

use std::time::Instant;

use axum::extract::State;
use axum::extract::ws::{Message, Utf8Bytes, WebSocket};
use axum::response::Response;
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use sandbox::{Exec, ExecOutcome, Sandbox, SandboxError};
use serde_json::{Value, json};
use store::{ExecStart, ExecStatus};
use tokio::time::timeout;

use crate::limits::{EXEC_CLIENT_GRACE, EXEC_MESSAGE_BYTES, EXEC_REQUEST_TIMEOUT, SOCKET_CLOSE_TIMEOUT};
use crate::state::AppState;
use crate::web::auth::Caller;
use crate::web::error::ApiError;
use crate::web::exec::pump::{End, commands, output};
use crate::web::exec::request::{Asked, ExecAsk};
use crate::web::extract::Upgrade;
use crate::web::metrics::exec_ended;

pub use request::ExecAsk as ExecRequestView;

type Sender = SplitSink<WebSocket, Message>;
type Receiver = SplitStream<WebSocket>;

/// Run one command: a WebSocket.
///
/// The client's first frame is text: what to run (`ExecAsk`). Behind it, its binary frames are standard input behind a
/// byte 0 (that byte alone ends it), its text frames `{"type":"cancel"}` or `{"type":"signal","signal":15}`.
///
/// The server's first frame is `{"type":"started","exec_id","runner"}`. Its binary frames are output behind a byte 1
/// (standard output) or 2 (standard error). Its last text frame is `{"type":"exit","code","signal","timed_out",
/// "cancelled","sandbox_denied","truncated","duration_ms","runner"}` or `{"type":"error","kind","message"}`.
#[utoipa::path(get, path = "/api/v1/exec", tag = "exec", responses((status = 101), (status = 401)))]
pub async fn connect(State(state): State<AppState>, caller: Caller, upgrade: Upgrade) -> Response {
    let tracked = state.tasks.token();
    upgrade.with_max_message_bytes(EXEC_MESSAGE_BYTES).on_upgrade(move |socket| async move {
        let _tracked = tracked;
        let (mut sender, mut receiver) = socket.split();
        if let Err(error) = converse(&state, &caller, &mut sender, &mut receiver).await {
            let frame = json!({"type": "error", "kind": error.kind, "message": error.message});
            // An error here says that the client is gone.
            let _ = sender.send(text(&frame)).await;
            close(&mut sender, &mut receiver).await;
        }
    })
}

/// From the request to the record of its end. An error is one that the client has not been told yet.
async fn converse(
    state: &AppState,
    caller: &Caller,
    sender: &mut Sender,
    receiver: &mut Receiver,
) -> Result<(), ApiError> {
    let asked = first_frame(receiver).await?;
    let sandbox = state.sandbox(&caller.user, asked.on.as_deref()).await?;
    begin(state, caller, &sandbox, &asked).await?;
    let started = Instant::now();
    let running = Running { state, caller, place: sandbox.place().to_owned(), asked: &asked, started };
    match sandbox.exec(asked.request.clone()).await {
        Ok(exec) => {
            running.attend(exec, sender, receiver).await;
            Ok(())
        }
        Err(error) => {
            running.record(&Ended::Failed(error.clone())).await;
            Err(error.into())
        }
    }
}

async fn first_frame(receiver: &mut Receiver) -> Result<Asked, ApiError> {
    let frame = timeout(EXEC_REQUEST_TIMEOUT, receiver.next()).await;
    match frame {
        Ok(Some(Ok(Message::Text(text)))) => ExecAsk::parse(&text)?.check(),
        Ok(_) => Err(ApiError::invalid("the first frame must be text: the command to run, as JSON")),
        Err(_) => Err(ApiError::invalid("no command came; send it as the first frame")),
    }
}

/// Puts the exec on record before it is sent, so that an id runs once.
async fn begin(state: &AppState, caller: &Caller, sandbox: &Sandbox, asked: &Asked) -> Result<(), ApiError> {
    let start = store::ExecRequest {
        exec_id: asked.store_id(),
        user: caller.user.id,
        chat: None,
        message: None,
        request_hash: asked.hash.clone(),
        runner: Some(sandbox.place().to_owned()),
        command: asked.shown.clone(),
    };
    match state.store.start_exec(&start).await? {
        ExecStart::New => Ok(()),
        ExecStart::Existing(exec) => Err(ApiError::new(
            "conflict",
            format!("exec {} was started before and is {}; use a new id", exec.exec_id, exec.status.as_str()),
        )),
    }
}

/// A command that was sent.
struct Running<'a> {
    state: &'a AppState,
    caller: &'a Caller,
    place: String,
    asked: &'a Asked,
    started: Instant,
}

/// How it ended.
enum Ended {
    Finished(ExecOutcome),
    Failed(SandboxError),
}

impl Running<'_> {
    /// Serves the client until the command ends, or the command until its client's grace is over.
    async fn attend(&self, mut exec: Exec, sender: &mut Sender, receiver: &mut Receiver) {
        let control = exec.control();
        let hello = json!({"type": "started", "exec_id": self.asked.request.exec_id.to_string(), "runner": self.place});
        let end = tokio::select! {
            end = output(&mut exec, &hello, sender) => end,
            () = commands(receiver, &control, self.asked.request.stdin) => End::ClientGone,
            () = self.state.shutdown.cancelled() => End::Stopping,
        };
        match end {
            End::Event(ended) => {
                let last = self.last_frame(&ended);
                if sender.send(text(&last)).await.is_ok() {
                    tokio::join!(close(sender, receiver), self.record(&ended));
                } else {
                    self.record(&ended).await;
                }
            }
            End::Unheard(ended) => self.record(&ended).await,
            End::ClientGone => self.record(&orphaned(exec).await).await,
            End::Stopping => {
                control.cancel();
                let error = ApiError::new("unavailable", "the server is stopping; the command was cancelled");
                let frame = json!({"type": "error", "kind": error.kind, "message": error.message});
                let _ = timeout(SOCKET_CLOSE_TIMEOUT, sender.send(text(&frame))).await;
                self.record(&orphaned(exec).await).await;
            }
        }
    }

    fn last_frame(&self, ended: &Ended) -> Value {
        match ended {
            Ended::Finished(outcome) => json!({
                "type": "exit",
                "code": outcome.code,
                "signal": outcome.signal,
                "timed_out": outcome.timed_out,
                "cancelled": outcome.cancelled,
                "sandbox_denied": outcome.sandbox_denied,
                "truncated": outcome.truncated,
                "duration_ms": outcome.duration.as_millis() as u64,
                "runner": self.place,
            }),
            Ended::Failed(error) => {
                json!({"type": "error", "kind": error.kind(), "message": error.to_string()})
            }
        }
    }

    /// Behind the last frame: the client waits for none of this.
    async fn record(&self, ended: &Ended) {
        let outcome = stored_outcome(ended);
        exec_ended(outcome.status.as_str(), self.started.elapsed());
        let exec_id = self.asked.store_id();
        if let Err(error) = self.state.store.finish_exec(self.caller.user.id, &exec_id, &outcome).await {
            tracing::error!(%error, %exec_id, "cannot record how an exec ended");
        }
        let word = match (outcome.exit_code, outcome.signal, ended) {
            (Some(code), ..) => format!("{} {code}", outcome.status.as_str()),
            (None, Some(signal), _) => format!("{} {signal}", outcome.status.as_str()),
            (None, None, Ended::Failed(error)) => error.kind().to_owned(),
            (None, None, Ended::Finished(_)) => outcome.status.as_str().to_owned(),
        };
        let user = &self.caller.user.name;
        self.state.audit(Some(user), "exec", Some(&self.place), &self.asked.shown, &word).await;
    }
}

/// Lets a command without a client run on for a while, then cancels it. Returns how it ended.
async fn orphaned(mut exec: Exec) -> Ended {
    let control = exec.control();
    match timeout(EXEC_CLIENT_GRACE, pump::drain(&mut exec)).await {
        Ok(ended) => ended,
        Err(_) => {
            control.cancel();
            pump::drain(&mut exec).await
        }
    }
}

fn stored_outcome(ended: &Ended) -> store::ExecOutcome {
    let mut stored = store::ExecOutcome {
        status: ExecStatus::Failed,
        exit_code: None,
        signal: None,
        sandbox_denied: false,
        truncated: false,
        stdout_bytes: 0,
        stderr_bytes: 0,
        output_path: None,
        error: None,
    };
    match ended {
        Ended::Finished(outcome) => {
            stored.status = match outcome {
                ExecOutcome { timed_out: true, .. } => ExecStatus::TimedOut,
                ExecOutcome { cancelled: true, .. } => ExecStatus::Cancelled,
                ExecOutcome { signal: Some(_), .. } => ExecStatus::Signaled,
                ExecOutcome { .. } => ExecStatus::Exited,
            };
            stored.exit_code = outcome.code;
            stored.signal = outcome.signal;
            stored.sandbox_denied = outcome.sandbox_denied;
            stored.truncated = outcome.truncated;
            stored.stdout_bytes = outcome.stdout_bytes;
            stored.stderr_bytes = outcome.stderr_bytes;
        }
        Ended::Failed(error) => {
            if matches!(error, SandboxError::Lost { .. }) || error.kind() == "lost" {
                stored.status = ExecStatus::Lost;
            }
            stored.error = Some(error.to_string());
        }
    }
    stored
}

/// Says goodbye and waits for the client's: closing a socket with unread input would take the last frame back.
async fn close(sender: &mut Sender, receiver: &mut Receiver) {
    let goodbye = async {
        sender.send(Message::Close(None)).await?;
        while let Some(Ok(_)) = receiver.next().await {}
        Ok::<_, axum::Error>(())
    };
    // Whoever does not answer in time has no need of the last frame.
    let _ = timeout(SOCKET_CLOSE_TIMEOUT, goodbye).await;
}

fn text(value: &Value) -> Message {
    Message::Text(Utf8Bytes::from(value.to_string()))
}
