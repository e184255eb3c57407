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
//! A command is attached to its client: 10 s without it cancel it, and so does the end of the client's session.

mod pump;
mod request;

use std::time::Instant;

use agent::Ending;
use axum::extract::State;
use axum::extract::ws::{Message, Utf8Bytes, WebSocket};
use axum::response::Response;
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use sandbox::{Exec, ExecOutcome, Sandbox, SandboxError};
use serde_json::{Value, json};
use store::ExecStart;
use tokio::time::{sleep, timeout};

use crate::limits::{EXEC_MESSAGE_BYTES, EXEC_REQUEST_TIMEOUT, SOCKET_CLOSE_TIMEOUT};
use crate::state::AppState;
use crate::web::auth::Caller;
use crate::web::error::ApiError;
use crate::web::exec::pump::{End, commands, orphaned, output};
use crate::web::exec::request::{Asked, ExecAsk};
use crate::web::extract::Upgrade;
use crate::web::metrics::exec_ended;

pub use request::ExecAsk as ExecRequestView;

type Sender = SplitSink<WebSocket, Message>;
type Receiver = SplitStream<WebSocket>;

/// Run one command: a WebSocket.
///
/// The client's first frame is text: what to run (`ExecAsk`). Behind it, its binary frames are standard input behind a
/// byte 0 (that byte alone ends it), its text frames `{"type":"cancel"}`, `{"type":"signal","signal":15}` or,
/// for a command with a terminal, `{"type":"resize","rows":24,"columns":80}`.
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
    let asked = tokio::select! {
        asked = first_frame(receiver) => asked?,
        () = state.shutdown.cancelled() => return Err(stopping()),
    };
    // From here on a stopping server waits for the record.
    let _awaited = state.execs.token();
    let sandbox = begin(state, caller, &asked).await?;
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

fn stopping() -> ApiError {
    ApiError::new("unavailable", "the server is stopping; run the command again in a moment")
}

/// The sandbox for a command that is on record by now. The audit trail learns of a refusal here, and of all else at
/// the command's end.
async fn begin(state: &AppState, caller: &Caller, asked: &Asked) -> Result<Sandbox, ApiError> {
    let on = asked.on.as_deref();
    let (place, begun) = match state.sandbox(&caller.user, on).await {
        Ok(sandbox) => {
            let place = sandbox.place().to_owned();
            (Some(place), put_on_record(state, caller, &sandbox, asked).await.map(|()| sandbox))
        }
        Err(error) => (state.wished_place(&caller.user, on).await, Err(error)),
    };
    if let Err(error) = &begun {
        state.audit(Some(&caller.user.name), "exec", place.as_deref(), &asked.shown, error.kind).await;
    }
    begun
}

/// Puts the exec on record before it is sent, so that an id runs once.
async fn put_on_record(
    state: &AppState,
    caller: &Caller,
    sandbox: &Sandbox,
    asked: &Asked,
) -> Result<(), ApiError> {
    // Asked behind the token that is awaited: a command begins before the shutdown, or not at all.
    if state.shutdown.is_cancelled() {
        return Err(stopping());
    }
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
            () = self.caller.session_ended(self.state) => End::LoggedOut,
            () = self.state.shutdown.cancelled() => End::Stopping,
        };
        match end {
            End::Event(ended, rest) => {
                // The record waits for no client, nor the client for the record.
                tokio::join!(self.record(&ended), self.say_last(&ended, rest, sender, receiver));
            }
            End::ClientGone => self.record(&orphaned(exec).await).await,
            End::LoggedOut => {
                let error =
                    ApiError::new("unauthorized", "your session has ended; the command was cancelled");
                self.cut_off(exec, &error, sender, receiver).await;
            }
            End::Stopping => {
                let error = ApiError::new("unavailable", "the server is stopping; the command was cancelled");
                self.cut_off(exec, &error, sender, receiver).await;
            }
        }
    }

    /// Cancels the command and tells its client why.
    async fn cut_off(&self, exec: Exec, error: &ApiError, sender: &mut Sender, receiver: &mut Receiver) {
        exec.control().cancel();
        let frame = json!({"type": "error", "kind": error.kind, "message": error.message});
        let goodbye = async {
            // A client that reads nothing is told nothing.
            if let Ok(Ok(())) = timeout(SOCKET_CLOSE_TIMEOUT, sender.send(text(&frame))).await {
                close(sender, receiver).await;
            }
        };
        let end = async { self.record(&orphaned(exec).await).await };
        tokio::join!(goodbye, end);
    }

    /// Sends the rest of the output and how it ended, however slowly the client reads, until its session ends or the
    /// server stops.
    async fn say_last(
        &self,
        ended: &Ended,
        rest: Option<Message>,
        sender: &mut Sender,
        receiver: &mut Receiver,
    ) {
        let said = async {
            if let Some(rest) = rest {
                // Not flushed: the last frame follows at once and takes it along.
                sender.feed(rest).await?;
            }
            sender.send(text(&self.last_frame(ended))).await
        };
        let stopped = async {
            self.state.shutdown.cancelled().await;
            sleep(SOCKET_CLOSE_TIMEOUT).await;
        };
        let is_said = tokio::select! {
            said = said => said.is_ok(),
            () = self.caller.session_ended(self.state) => false,
            () = stopped => false,
        };
        if is_said {
            close(sender, receiver).await;
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

    async fn record(&self, ended: &Ended) {
        let mut ending = match ended {
            Ended::Finished(outcome) => Ending::of(outcome),
            Ended::Failed(error) => Ending::failed(error),
        };
        if self.state.shutdown.is_cancelled() {
            ending = ending.while_the_server_stops();
        }
        let outcome = &ending.outcome;
        exec_ended(outcome.status.as_str(), self.started.elapsed());
        let exec_id = self.asked.store_id();
        if let Err(error) = self.state.store.finish_exec(self.caller.user.id, &exec_id, outcome).await {
            tracing::error!(%error, %exec_id, "cannot record how an exec ended");
        }
        let user = &self.caller.user.name;
        self.state
            .audit(Some(user), "exec", Some(&self.place), &self.asked.shown, &ending.audit_word())
            .await;
    }
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
