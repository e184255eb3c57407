//! Attaching to an exec that has been started already: for a client that lost its connection, and for further clients.

use accounts::User;
use api::exec::{CancelledExec, ExecExit, ExecView, ReportView, ServerFrame};
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use execs::attendance::Connection;
use execs::follow::sandbox_id;
use execs::{Ending, ExecKind, ExecStatus, time_away};
use futures_util::{SinkExt, StreamExt};
use sandbox::{AckMode, AttachOptions, Exec, ExecEvent, Sandbox, SandboxError};
use serde::Deserialize;
use tokio::time::Instant;
use utoipa::IntoParams;

use super::subject::{Subject, is_of_clients};
use super::{Receiver, Running, Sender, close, error_frame, put_end_on_record, text};
use crate::limits::{EXEC_LIST_MAX_ROWS, EXEC_LIST_ROWS, EXEC_MESSAGE_BYTES, REPORT_BYTES};
use crate::web::auth::Caller;
use crate::web::error::ApiError;
use crate::web::extract::Query;
use crate::web::json::Json;
use crate::web::socket::Upgrade;
use crate::web::state::AppState;

/// The parameters of attaching to an exec.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct AttachQuery {
    /// How many bytes of output the client has, including those that were reported as missing.
    #[serde(default)]
    offset: u64,
    /// Whether the client acknowledges the output that it has, as in the exec socket.
    #[serde(default)]
    acks: bool,
    /// A random text of at most 64 bytes, by which a client that reconnects is distinguished from others.
    client: Option<String>,
    /// How many connections to this exec the same client made before.
    #[serde(default)]
    connection: u64,
}

/// The position and the connection of a client that attaches to an exec.
pub(super) struct Reader {
    pub(super) offset: u64,
    pub(super) acks: bool,
    pub(super) connection: Option<Connection>,
}

/// Converts an exec to the form that clients see.
pub(in crate::web) fn view(exec: execs::Exec) -> ExecView {
    ExecView {
        exec_id: exec.exec_id.to_string(),
        command: exec.command,
        runner: exec.runner,
        status: exec.status.as_str().into(),
        detached: exec.detached,
        in_chat: exec.message.is_some(),
        terminal: exec.linger_ms.is_some(),
        chat_id: exec.chat.map(|chat| chat.to_string()),
        code: exec.exit_code,
        signal: exec.signal,
        sandbox_denied: exec.sandbox_denied,
        truncated: exec.truncated,
        stdout_bytes: exec.stdout_bytes,
        stderr_bytes: exec.stderr_bytes,
        error: exec.error,
        started_at: exec.started_at_ms,
        finished_at: exec.finished_at_ms,
    }
}

/// The filter for execs, and the size of the list.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ListQuery {
    /// Only execs that are running.
    #[serde(default)]
    running: bool,
    /// The maximum number of execs to list; 100 if absent.
    limit: Option<u32>,
}

/// List your execs, the last started first.
#[utoipa::path(get, path = "/api/v1/execs", tag = "exec", params(ListQuery),
               responses((status = 200, body = [ExecView]), (status = 401)))]
pub async fn list(
    State(state): State<AppState>,
    caller: Caller,
    Query(query): Query<ListQuery>,
) -> Result<Json<Vec<ExecView>>, ApiError> {
    let limit = query.limit.unwrap_or(EXEC_LIST_ROWS).min(EXEC_LIST_MAX_ROWS);
    let execs = state.ledger.execs(caller.user.id, query.running, limit).await?;
    Ok(Json(execs.into_iter().map(view).collect()))
}

/// The state of an exec, as JSON; or, as a WebSocket, its output from an offset on and its end, like the exec socket.
#[utoipa::path(get, path = "/api/v1/execs/{id}", tag = "exec", params(("id" = String, Path), AttachQuery),
               responses((status = 200, body = ExecView), (status = 101), (status = 401), (status = 404)))]
pub async fn show(
    State(state): State<AppState>,
    caller: Caller,
    Path(id): Path<String>,
    Query(query): Query<AttachQuery>,
    upgrade: Result<Upgrade, ApiError>,
) -> Result<Response, ApiError> {
    let record = state.ledger.exec(caller.user.id, &id).await?;
    let Ok(upgrade) = upgrade else { return Ok(Json(view(record)).into_response()) };
    let AttachQuery { offset, acks, client, connection } = query;
    let reader = Reader { offset, acks, connection: super::connection(client, connection)? };
    let tracked = state.tasks.token();
    Ok(upgrade.for_bulk(EXEC_MESSAGE_BYTES).on_upgrade(move |socket| async move {
        let _tracked = tracked;
        let (mut sender, mut receiver) = socket.split();
        let gone_on = go_on(&state, &caller, record, reader, &mut sender, &mut receiver);
        if let Err(error) = gone_on.await {
            super::refuse(&state, &caller, &error, &mut sender, &mut receiver).await;
        }
    }))
}

/// End an exec: its whole process tree gets TERM, and KILL after a grace period.
#[utoipa::path(post, path = "/api/v1/execs/{id}/cancel", tag = "exec", params(("id" = String, Path)),
               responses((status = 200, body = CancelledExec), (status = 401), (status = 404)))]
pub async fn cancel(
    State(state): State<AppState>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Json<CancelledExec>, ApiError> {
    let record = state.ledger.exec(caller.user.id, &id).await?;
    check_terminal(&caller, &record)?;
    end(&state, &caller, &record).await?;
    Ok(Json(CancelledExec { exec_id: record.exec_id.to_string() }))
}

/// Ends an exec with all its processes, and waits for that; audited.
pub(in crate::web) async fn end(
    state: &AppState,
    caller: &Caller,
    record: &execs::Exec,
) -> Result<(), ApiError> {
    if let Some(recorded) = state.ledger.kill(&caller.user, record).await? {
        state.chats.tell_ended(caller.user.id, &recorded);
    }
    Ok(())
}

/// The part of an exec's output to report.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ReportQuery {
    /// Bytes of its beginning; 4,096 if absent.
    head: Option<u32>,
    /// Bytes of its end; 4,096 if absent.
    tail: Option<u32>,
}

/// The state of an exec on its machine, with the beginning and the end of its output.
#[utoipa::path(get, path = "/api/v1/execs/{id}/report", tag = "exec", params(("id" = String, Path), ReportQuery),
               responses((status = 200, body = ReportView), (status = 401), (status = 404), (status = 503)))]
pub async fn report(
    State(state): State<AppState>,
    caller: Caller,
    Path(id): Path<String>,
    Query(query): Query<ReportQuery>,
) -> Result<Json<ReportView>, ApiError> {
    let record = state.ledger.exec(caller.user.id, &id).await?;
    check_terminal(&caller, &record)?;
    let (head, tail) = (query.head.unwrap_or(REPORT_BYTES), query.tail.unwrap_or(REPORT_BYTES));
    let report = state.ledger.report(&caller.user, &record, head, tail).await?;
    Ok(Json(ReportView {
        exec_id: record.exec_id.to_string(),
        running: report.exited.is_none() && !report.complete,
        age_ms: report.age_ms,
        output_bytes: report.output_bytes,
        head: String::from_utf8_lossy(&report.head).into_owned(),
        tail: String::from_utf8_lossy(&report.tail).into_owned(),
    }))
}

/// Checks that the caller may see an exec's output and type into it: a terminal belongs to a person, who may have approved more for
/// it than a program with a limited key may request.
///
/// # Errors
/// `forbidden` for such a program.
pub(in crate::web) fn check_terminal(caller: &Caller, record: &execs::Exec) -> Result<(), ApiError> {
    if record.linger_ms.is_none() || caller.may_approve().is_some() {
        return Ok(());
    }
    let message = "a terminal can be used only by its user; log in, or use a key with the scope `full`";
    Err(ApiError::new("forbidden", message))
}

/// Serves a client from `offset` on: from the runner, or from the record if the runner no longer has the exec.
pub(super) async fn go_on(
    state: &AppState,
    caller: &Caller,
    record: execs::Exec,
    Reader { offset, acks, connection }: Reader,
    sender: &mut Sender,
    receiver: &mut Receiver,
) -> Result<(), ApiError> {
    check_terminal(caller, &record)?;
    let _awaited = state.execs.token();
    let attended = state.ledger.attendance().enter(caller.user.id, &record.exec_id, connection);
    let is_running = record.status == ExecStatus::Running;
    let until = is_running.then(|| Instant::now() + time_away(&record));
    let subject = Subject {
        id: record.exec_id.clone(),
        kind: record.kind,
        shown: record.command.clone(),
        // The exec's user may have approved more for it than a program with a limited key may request.
        stdin: caller.may_approve().is_some(),
        detached: record.detached,
        kept: record.detached || !is_of_clients(record.kind),
        lingers: record.linger_ms.is_some(),
        acks,
        offset,
        later: Some(attended.later()),
    };
    let stopped = state.stopped(caller.user.id);
    loop {
        let attached = tokio::select! {
            // Checked first: a connection that has been replaced must not attach to the exec on the runner.
            biased;
            () = attended.replaced() => return Ok(()),
            attached = attach(state, &caller.user, &record, offset, until) => attached,
            () = super::commands::gone(receiver) => return Ok(()),
            // No last frame is sent: the client reconnects, and the server attaches again.
            () = stopped.cancelled() => return Ok(()),
        };
        let error = match attached {
            Ok((sandbox, mut exec)) => {
                let running = Running::new(state, caller, &sandbox, &subject);
                let first = tokio::select! {
                    first = exec.next() => first,
                    () = attended.replaced() => {
                        exec.leave();
                        return Ok(());
                    }
                    // The client of this connection has disconnected.
                    () = super::commands::gone(receiver) => {
                        running.go_without_client(exec).await;
                        return Ok(());
                    }
                    () = stopped.cancelled() => return Ok(()),
                };
                match first {
                    Some(ExecEvent::Failed(error)) => error,
                    first => {
                        running.attend(exec, first, sender, receiver).await;
                        return Ok(());
                    }
                }
            }
            Err(error) => error,
        };
        match error.kind() {
            // A runner that disconnected in between does not end its commands.
            "offline" if is_running => {}
            "no_such_exec" | "expired" | "lost" => break,
            _ if is_running => return Err(error.into()),
            _ => break,
        }
    }
    tell_recorded(state, caller, &record, offset, sender, receiver).await
}

/// Attaches to an exec in the place where it runs; waits for its runner until the given time.
async fn attach(
    state: &AppState,
    user: &User,
    record: &execs::Exec,
    offset: u64,
    until: Option<Instant>,
) -> Result<(Sandbox, Exec), SandboxError> {
    let sandbox = match until {
        Some(until) => state.ledger.followed(user, record).available(until).await?,
        None => state.ledger.sandbox_of(user, record).await.map_err(|_| lost(record))?,
    };
    let options = AttachOptions { output: true, acks: AckMode::Manual };
    let exec = sandbox.attach(sandbox_id(&record.exec_id), offset, options).await?;
    Ok((sandbox, exec))
}

fn lost(record: &execs::Exec) -> SandboxError {
    SandboxError::Lost { runner: record.runner.clone().unwrap_or_default() }
}

/// Sends the client the recorded end of an exec that its runner no longer has.
async fn tell_recorded(
    state: &AppState,
    caller: &Caller,
    record: &execs::Exec,
    offset: u64,
    sender: &mut Sender,
    receiver: &mut Receiver,
) -> Result<(), ApiError> {
    let user = &caller.user;
    let mut record = state.ledger.exec(user.id, record.exec_id.as_str()).await?;
    // The code that follows the exec to its end may still get the result.
    let is_served = record.kind == ExecKind::Chat || state.ledger.is_watched(user.id, &record.exec_id);
    if record.status == ExecStatus::Running && !is_served {
        let _recorded = put_end_on_record(state, user, &record, &Ending::failed(&lost(&record))).await;
        record = state.ledger.exec(user.id, record.exec_id.as_str()).await?;
    }
    let written = record.stdout_bytes.saturating_add(record.stderr_bytes);
    let frame = match record.status {
        ExecStatus::Running => {
            let why = "its runner cannot be reached; the server keeps waiting for it: check again later";
            error_frame(state, caller, ExecStatus::Lost.as_str(), why)
        }
        ExecStatus::Lost | ExecStatus::Failed => {
            let why = record.error.as_deref().unwrap_or("its outcome is not known");
            error_frame(state, caller, record.status.as_str(), why)
        }
        ExecStatus::Exited | ExecStatus::Signaled | ExecStatus::TimedOut | ExecStatus::Cancelled => {
            let ran_ms = record.finished_at_ms.map(|at| at - record.started_at_ms);
            ServerFrame::Exit(ExecExit {
                code: record.exit_code,
                signal: record.signal,
                timed_out: record.status == ExecStatus::TimedOut,
                cancelled: record.status == ExecStatus::Cancelled,
                sandbox_denied: record.sandbox_denied,
                truncated: record.truncated || offset < written,
                // If the clock was set back in between, the duration is 0 and not negative.
                duration_ms: ran_ms.map(|ran_ms| u64::try_from(ran_ms).unwrap_or_default()),
                runner: record.runner,
            })
        }
    };
    if sender.send(text(&frame)).await.is_ok() {
        close(sender, receiver).await;
    }
    Ok(())
}
