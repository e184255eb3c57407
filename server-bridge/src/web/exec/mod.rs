//! The exec WebSocket: one command, its output as it arrives, and its outcome.
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
//! A command is attached to its client: it is cancelled after 10 s without the client, or when the client's session ends. A client
//! that reconnects within that time, or after a restart of the server, sends the same request again with its offset in the output,
//! and continues from there. A detached command needs no client. A terminal waits for a client for a day, or for the requested
//! time. Any number of clients can watch it. It takes input only from the client that attached most recently, and has the size that
//! a client sent last.

pub mod attach;
mod commands;
mod pump;
mod request;
mod subject;
pub mod user;

use std::time::Instant;

use accounts::User;
use api::exec::{ExecExit, ServerFrame};
use api::language::Language;
use axum::extract::State;
use axum::response::Response;
use axum_tws::Message;
use bytes::Bytes;
use execs::attendance::Connection;
use execs::{Begun, Ending, ExecKind, ExecStatus, Ledger, Point, Recorded, fault};
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use sandbox::{Exec, ExecEvent, ExecOutcome, Sandbox, SandboxError};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::limits::{CLIENT_MAX_BYTES, EXEC_MESSAGE_BYTES, EXEC_REQUEST_TIMEOUT, SOCKET_CLOSE_TIMEOUT};
use crate::web::auth::Caller;
use crate::web::error::ApiError;
use crate::web::exec::commands::commands;
use crate::web::exec::pump::{Acks, End, orphaned, output};
use crate::web::exec::request::Asked;
use crate::web::exec::subject::Subject;
use crate::web::routes::{Routes, route};
use crate::web::scope::Access;
use crate::web::socket::{Socket, Upgrade};
use crate::web::state::AppState;

/// The routes of execs.
pub(in crate::web) fn routes() -> Routes {
    Routes::new()
        .add(Access::Work, route!(connect))
        .add(Access::Work, route!(user::show))
        .add(Access::LookToWork, route!(attach::list))
        .add(Access::LookToWork, route!(attach::show))
        .add(Access::Work, route!(attach::cancel))
        .add(Access::LookToWork, route!(attach::report))
}

type Sender = SplitSink<Socket, Message>;
type Receiver = SplitStream<Socket>;

/// Run one command: a WebSocket.
///
/// The client's first frame is text: what to run (`ExecAsk`). After that, its binary frames are standard input after a byte 0
/// (that byte alone ends the input), and its text frames are `{"type":"cancel"}`, `{"type":"signal","signal":15}`, for a
/// command with a terminal `{"type":"resize","rows":24,"columns":80}` or, if `acks` was requested, `{"type":"ack","offset"}`:
/// how many bytes of output it has. Such a client gets `{"type":"input","offset"}`: how much of its input was taken; it must
/// not send more than 1 MiB beyond that, or its acknowledgements wait too. The same request sent again, with `offset`,
/// continues with the command; standard input continues at `stdin_offset`.
///
/// The server's first frame is `{"type":"started","exec_id","runner","offset","stdin_offset"}`, or with `detach`
/// `{"type":"detached","exec_id","runner"}` and nothing more. Its binary frames are output after a byte 1 (standard output)
/// or 2 (standard error); `{"type":"gap","bytes"}` stands for output that is no longer available; `{"type":"watching"}` tells
/// a client with `acks` that another client has attached since, whose input is accepted from now on, until this one sends its
/// request again; `{"type":"interrupted"}` and `{"type":"resumed"}` mean that the runner is disconnected, and back. Its last
/// text frame is `{"type":"exit","code","signal","timed_out",
/// "cancelled","sandbox_denied","truncated","duration_ms","runner"}` or `{"type":"error","kind","message"}`.
#[utoipa::path(get, path = "/api/v1/exec", tag = "exec", responses(
    (status = 101, description = "the socket is open; `ExecAsk`, `ExecClientFrame` and `ExecServerFrame` are its frames"),
    (status = 401)))]
pub async fn connect(State(state): State<AppState>, caller: Caller, upgrade: Upgrade) -> Response {
    let tracked = state.tasks.token();
    upgrade.for_bulk(EXEC_MESSAGE_BYTES).on_upgrade(move |socket| async move {
        let _tracked = tracked;
        let (mut sender, mut receiver) = socket.split();
        if let Err(error) = converse(&state, &caller, &mut sender, &mut receiver).await {
            refuse(&state, &caller, &error, &mut sender, &mut receiver).await;
        }
    })
}

/// Serves a client from its request until the end of the command is on record. Returns an error that was not sent to the client yet.
async fn converse(
    state: &AppState,
    caller: &Caller,
    sender: &mut Sender,
    receiver: &mut Receiver,
) -> Result<(), ApiError> {
    let stopped = state.stopped(caller.user.id);
    let asked = tokio::select! {
        asked = first_frame(receiver, caller) => asked?,
        // No last frame is sent: the command may be running already, and the client sends its request again.
        () = stopped.cancelled() => return Ok(()),
    };
    // From here on, a stopping server waits until the end of the command is on record.
    let _awaited = state.execs.token();
    let kind = if asked.request.pty.is_some() { ExecKind::Terminal } else { ExecKind::Client };
    let mut subject = asked.subject(kind);
    let sandbox = match asked.begin(state, &caller.user, kind).await? {
        Begun::New(sandbox) => sandbox,
        Begun::Known(record) => {
            let Asked { offset, acks, connection, .. } = asked;
            let reader = attach::Reader { offset, acks, connection };
            return attach::go_on(state, caller, *record, reader, sender, receiver).await;
        }
    };
    // The client is entered only now, because it takes over the input, and the request could have been refused until here.
    let attended = state.ledger.attendance().enter(caller.user.id, &subject.id, asked.connection.clone());
    subject.later = Some(attended.later());
    subject.shown = sandbox.shown_as(asked.request.named_user(), &asked.shown);
    let running = Running::new(state, caller, &sandbox, &subject);
    let sent = sandbox.exec(asked.request.clone()).await;
    fault(Point::Sent);
    match sent {
        Ok(exec) if asked.detach => running.detach(exec, sender, receiver).await,
        Ok(exec) => {
            running.attend(exec, None, sender, receiver).await;
            Ok(())
        }
        Err(error) => {
            let _recorded = running.record(&Ended::Failed(error.clone())).await;
            Err(error.into())
        }
    }
}

async fn first_frame(receiver: &mut Receiver, caller: &Caller) -> Result<Asked, ApiError> {
    let frame = timeout(EXEC_REQUEST_TIMEOUT, receiver.next()).await;
    let frame = frame.map_err(|_| ApiError::invalid("no command arrived; send it as the first frame"))?;
    let text = frame.and_then(Result::ok).filter(Message::is_text).map(|text| text.into_payload().into());
    let text = text.and_then(|text: Bytes| String::from_utf8(text.into()).ok());
    let no_text = || ApiError::invalid("the first frame must be text: the command to run, as JSON");
    Asked::check(request::parse(&text.ok_or_else(no_text)?)?, caller.may_approve())
}

/// The connection that a client named; `None` if the client sent no name.
fn connection(client: Option<String>, number: u64) -> Result<Option<Connection>, ApiError> {
    match client {
        Some(client) if client.len() > CLIENT_MAX_BYTES => {
            Err(ApiError::invalid(format!("`client` is longer than {CLIENT_MAX_BYTES} bytes")))
        }
        client => Ok(client.map(|client| Connection { client, number })),
    }
}

/// Records an exec's end with its audit entry and its message, and sends the message to the user's clients; an end that is on
/// record already stays. `None` if recording failed.
async fn put_end_on_record(
    state: &AppState,
    user: &User,
    record: &execs::Exec,
    ending: &Ending,
) -> Option<Recorded> {
    let recorded = state.ledger.settle(user, record, ending).await?;
    state.chats.tell_ended(user.id, &recorded);
    Some(recorded)
}

/// A command that was sent to its sandbox.
struct Running<'a> {
    state: &'a AppState,
    caller: &'a Caller,
    place: String,
    outlives_server: bool,
    subject: &'a Subject,
    started: Instant,
}

/// How a command ended.
enum Ended {
    Finished(ExecOutcome),
    Failed(SandboxError),
}

impl<'a> Running<'a> {
    fn new(state: &'a AppState, caller: &'a Caller, sandbox: &Sandbox, subject: &'a Subject) -> Self {
        let (place, outlives_server) = (sandbox.place().to_owned(), sandbox.outlives_server());
        Self { state, caller, place, outlives_server, subject, started: Instant::now() }
    }

    /// Serves the client until the command ends; if the client disconnects, keeps the command for the grace period.
    async fn attend(
        &self,
        mut exec: Exec,
        first: Option<ExecEvent>,
        sender: &mut Sender,
        receiver: &mut Receiver,
    ) {
        let Subject { id, stdin, acks, offset, later, .. } = self.subject;
        let control = exec.control();
        let input = exec.input_bytes().unwrap_or(0);
        let hello = ServerFrame::Started {
            exec_id: id.to_string(),
            runner: self.place.clone(),
            offset: *offset,
            stdin_offset: input,
        };
        let stopped = self.state.stopped(self.caller.user.id);
        let (told, acks) = Acks::new(*acks, *offset, input, later.clone());
        let end = tokio::select! {
            end = output(&mut exec, &hello, first, sender, acks) => end,
            () = commands(receiver, &control, *stdin, &told) => End::ClientGone,
            () = self.caller.session_ended(self.state) => End::LoggedOut,
            () = stopped.cancelled() => End::Stopping,
        };
        match end {
            // The terminal continues on its runner for as long as it may go on without a client.
            End::Event(Ended::Failed(error @ SandboxError::Lost { .. }), _) if self.subject.lingers => {
                self.be_followed().await;
                self.tell(&error.into(), sender, receiver).await;
            }
            End::Event(ended, rest) => {
                // Recorded and sent at the same time, so that neither waits for the other.
                let (recorded, is_said) =
                    tokio::join!(self.record(&ended), self.say_last(&ended, rest, sender, receiver));
                // The result is not acknowledged if the client may have missed the end, since it reconnects, or if other clients may want the
                // kept output.
                if let Some(recorded) = recorded
                    && !self.subject.kept
                    && (is_said || !self.subject.acks)
                {
                    recorded.acknowledge(&exec);
                }
            }
            End::Detached(error) => self.tell(&error.into(), sender, receiver).await,
            End::ClientGone => self.go_without_client(exec).await,
            End::LoggedOut if self.subject.goes_on() => {
                exec.leave();
                self.be_followed().await;
                let error = ApiError::new("unauthorized", "your session has ended; the command goes on");
                self.tell(&error, sender, receiver).await;
            }
            End::LoggedOut => {
                let error =
                    ApiError::new("unauthorized", "your session has ended; the command was cancelled");
                self.cut_off(exec, &error, sender, receiver).await;
            }
            // No last frame is sent: the client reconnects, and the server attaches again.
            End::Stopping if self.outlives_server || self.subject.goes_on() => exec.leave(),
            End::Stopping => {
                let error = ApiError::new("unavailable", "the server is stopping; the command was cancelled");
                self.cut_off(exec, &error, sender, receiver).await;
            }
        }
    }

    /// Handles a command whose client has disconnected: a detached command goes on, another is cancelled after the grace period.
    async fn go_without_client(&self, mut exec: Exec) {
        if self.subject.goes_on() {
            exec.leave();
            self.be_followed().await;
        } else if let Some(ended) = orphaned(&mut exec, &self.state.stopped(self.caller.user.id)).await {
            let _recorded = self.record(&ended).await;
        } else {
            exec.leave();
        }
    }

    /// Leaves the command in the background once it has started, and sends its id to the client.
    async fn detach(
        &self,
        mut exec: Exec,
        sender: &mut Sender,
        receiver: &mut Receiver,
    ) -> Result<(), ApiError> {
        let first = exec.next().await;
        first.iter().for_each(execs::seen);
        if let Some(ExecEvent::Failed(error)) = first {
            let _recorded = self.record(&Ended::Failed(error.clone())).await;
            return Err(error.into());
        }
        exec.leave();
        self.be_followed().await;
        let frame =
            ServerFrame::Detached { exec_id: self.subject.id.to_string(), runner: self.place.clone() };
        if sender.send(text(&frame)).await.is_ok() {
            close(sender, receiver).await;
        }
        Ok(())
    }

    /// Starts a background task that waits for the command's end, unless there is one already.
    async fn be_followed(&self) {
        fault(Point::Left);
        let (ledger, id) = (self.ledger(), &self.subject.id);
        if ledger.is_watched(self.caller.user.id, id) {
            return;
        }
        if let Err(error) = ledger.follow_id(&self.caller.user, id).await {
            tracing::error!(%error, "cannot follow an exec; the server will do so at its next start");
        }
    }

    fn ledger(&self) -> &Ledger {
        &self.state.ledger
    }

    /// Cancels the command and sends its client the reason.
    async fn cut_off(&self, mut exec: Exec, error: &ApiError, sender: &mut Sender, receiver: &mut Receiver) {
        exec.control().cancel();
        let end = async {
            if let Some(ended) = orphaned(&mut exec, &CancellationToken::new()).await {
                let _recorded = self.record(&ended).await;
            }
        };
        tokio::join!(self.tell(error, sender, receiver), end);
    }

    /// Sends the client the reason why the server closes the socket.
    async fn tell(&self, error: &ApiError, sender: &mut Sender, receiver: &mut Receiver) {
        // A client that does not read gets nothing.
        let _ = timeout(SOCKET_CLOSE_TIMEOUT, refuse(self.state, self.caller, error, sender, receiver)).await;
    }

    /// Sends the rest of the output and the outcome, however slowly the client reads, until its session ends or the server stops.
    /// Returns true if the client received both.
    async fn say_last(
        &self,
        ended: &Ended,
        rest: Option<Message>,
        sender: &mut Sender,
        receiver: &mut Receiver,
    ) -> bool {
        let said = async {
            if let Some(rest) = rest {
                // The rest is not flushed: the last frame follows at once and is sent with it.
                sender.feed(rest).await?;
            }
            sender.send(text(&self.last_frame(ended))).await
        };
        let stopped = async {
            self.state.stopped(self.caller.user.id).cancelled().await;
            sleep(SOCKET_CLOSE_TIMEOUT).await;
        };
        let is_said = tokio::select! {
            said = said => said.is_ok(),
            () = self.caller.session_ended(self.state) => false,
            () = stopped => false,
        };
        is_said && close(sender, receiver).await
    }

    fn last_frame(&self, ended: &Ended) -> ServerFrame {
        match ended {
            Ended::Finished(outcome) => ServerFrame::Exit(ExecExit {
                code: outcome.code,
                signal: outcome.signal,
                timed_out: outcome.timed_out,
                cancelled: outcome.cancelled,
                sandbox_denied: outcome.sandbox_denied,
                truncated: outcome.truncated,
                duration_ms: Some(outcome.duration.as_millis() as u64),
                runner: Some(self.place.clone()),
            }),
            Ended::Failed(error) => error_frame(self.state, self.caller, error.kind(), &error.to_string()),
        }
    }

    /// Records the command's end, unless other code has to do that; `None` if it is not certain that the end is on record.
    async fn record(&self, ended: &Ended) -> Option<Recorded> {
        let (user, id) = (&self.caller.user, &self.subject.id);
        let record = match execs::patiently(self.ledger().known(user.id, id)).await {
            Ok(Some(record)) => record,
            // The exec was deleted with its user.
            Ok(None) => return None,
            Err(error) => {
                tracing::error!(%error, %id, "cannot record how an exec ended; the server will do so at its next start");
                return None;
            }
        };
        // The code that follows the exec may reconnect after this link has given up, and it records a chat's message with its output.
        let is_for_others = match ended {
            Ended::Finished(_) => record.kind == ExecKind::Chat && record.status == ExecStatus::Running,
            Ended::Failed(_) => self.ledger().is_watched(user.id, id),
        };
        if is_for_others {
            return None;
        }
        let mut ending = ended.ending();
        if self.state.stopped(user.id).is_cancelled() {
            ending = ending.while_the_server_stops();
        }
        let recorded = put_end_on_record(self.state, user, &record, &ending).await?;
        if recorded.is_new() {
            execs::count_end(ending.outcome.status.as_str(), self.started.elapsed());
        }
        Some(recorded)
    }
}

impl Ended {
    fn ending(&self) -> Ending {
        match self {
            Self::Finished(outcome) => Ending::of(outcome),
            Self::Failed(error) => Ending::failed(error),
        }
    }
}

/// Sends a client the reason why it is not served, and closes the socket.
async fn refuse(
    state: &AppState,
    caller: &Caller,
    error: &ApiError,
    sender: &mut Sender,
    receiver: &mut Receiver,
) {
    let frame = error_frame(state, caller, error.kind, &error.message);
    // An error here means that the client has disconnected.
    if sender.send(text(&frame)).await.is_ok() {
        close(sender, receiver).await;
    }
}

/// An error in the language of the page; the headers of a socket contain the browser's own language, which may differ.
fn error_frame(state: &AppState, caller: &Caller, kind: &str, message: &str) -> ServerFrame {
    let language = caller.browser.map_or(Language::English, |_| state.chats.language(caller.user.id));
    ServerFrame::Error { kind: kind.to_owned(), message: language.translated(message).into_owned() }
}

/// Sends a close frame and waits for the client's, because closing a socket with unread input would discard the last frame. Returns
/// true if the client's close frame arrived, which means that the client received everything.
async fn close(sender: &mut Sender, receiver: &mut Receiver) -> bool {
    let goodbye = async {
        sender.send(Message::close(None, "")).await?;
        while let Some(Ok(message)) = receiver.next().await {
            if message.is_close() {
                return Ok(true);
            }
        }
        Ok::<_, std::io::Error>(false)
    };
    // A client that does not answer in time does not need the last frame.
    matches!(timeout(SOCKET_CLOSE_TIMEOUT, goodbye).await, Ok(Ok(true)))
}

fn text(frame: &ServerFrame) -> Message {
    let text = serde_json::to_string(frame);
    Message::text(text.expect("a frame that a server makes is texts and numbers, which are always JSON"))
}
