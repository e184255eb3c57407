//! A server that is a program: an exec on the user's machine, confined like any other and recorded, whose standard input and
//! output carry one JSON message per line.
//!
//! A separate task reads the output, so that the end is recorded even if no caller waits. The program ends with its connection: its
//! input is closed, and if it still runs after 2 s, it is ended.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use execs::Ending;
use rmcp::RoleClient;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use sandbox::{AckMode, Exec, ExecControl, ExecEvent, ExecOutcome, ExecRequest, Sandbox};
use tokio::sync::{Mutex as AsyncMutex, mpsc};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::limits::{
    MCP_END_PATIENCE, MCP_INPUT_CLOSED_PATIENCE, MCP_LINE_BYTES, MCP_QUEUE, MCP_STDERR_BYTES,
};
use crate::on_record::OnRecord;

/// A message from a server.
type Received = RxJsonRpcMessage<RoleClient>;

/// The messages of a program.
pub(super) struct Pipe {
    input: Arc<AsyncMutex<ExecControl>>,
    output: mpsc::Receiver<Received>,
    /// Cancelled when the connection is over.
    over: CancellationToken,
}

/// The status of a program that runs or ran. Cheap to clone.
#[derive(Clone, Default)]
pub(super) struct ProgramStatus(Arc<Mutex<Known>>);

#[derive(Default)]
struct Known {
    /// The end of its standard error.
    stderr: VecDeque<u8>,
    /// How it ended.
    ended: Option<String>,
}

/// The program's input is closed.
#[derive(Debug, thiserror::Error)]
#[error("the program takes no more input")]
pub(super) struct Closed;

impl ProgramStatus {
    fn known(&self) -> std::sync::MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn complain(&self, bytes: &[u8]) {
        let mut known = self.known();
        known.stderr.extend(&bytes[bytes.len().saturating_sub(MCP_STDERR_BYTES)..]);
        let excess = known.stderr.len().saturating_sub(MCP_STDERR_BYTES);
        known.stderr.drain(..excess);
    }

    /// How it ended, and the last output on its standard error, for people and models; empty if there is nothing to report.
    pub(super) fn words(&self) -> String {
        let mut known = self.known();
        let stderr = String::from_utf8_lossy(known.stderr.make_contiguous()).trim().to_owned();
        let ended = known.ended.clone().unwrap_or_default();
        let stderr = agent::tool::visible::lines(&stderr);
        match (ended.is_empty(), stderr.is_empty()) {
            (true, true) => String::new(),
            (false, true) => ended,
            (true, false) => format!("its standard error ends with:\n{stderr}"),
            (false, false) => format!("{ended}; its standard error ends with:\n{stderr}"),
        }
    }
}

/// Starts a program that is already recorded, and follows it to its end in a task.
///
/// Fails with the reason as text.
pub(super) async fn start(
    recorded: OnRecord,
    sandbox: &Sandbox,
    mut request: ExecRequest,
    over: CancellationToken,
    spawn: impl FnOnce(futures_util::future::BoxFuture<'static, ()>),
) -> Result<(Pipe, ProgramStatus), String> {
    request.stdin = true;
    request.acks = AckMode::Manual;
    let exec = match sandbox.exec(request).await {
        Ok(exec) => exec,
        Err(error) => {
            recorded.end(&Ending::failed(&error), None).await;
            return Err(error.to_string());
        }
    };
    let (sender, output) = mpsc::channel(MCP_QUEUE);
    let status = ProgramStatus::default();
    let input = Arc::new(AsyncMutex::new(exec.control()));
    let reader = Reader { sender, status: status.clone(), line: Vec::new() };
    spawn(Box::pin(follow(recorded, exec, reader, over.clone())));
    Ok((Pipe { input, output, over }, status))
}

async fn follow(recorded: OnRecord, mut exec: Exec, mut reader: Reader, over: CancellationToken) {
    let control = exec.control();
    let mut ended = tokio::select! {
        ended = reader.until_end(&mut exec) => Some(ended),
        () = over.cancelled() => None,
    };
    if ended.is_none() {
        control.close_stdin();
        ended = timeout(MCP_INPUT_CLOSED_PATIENCE, reader.drained(&mut exec)).await.ok();
    }
    if ended.is_none() {
        control.cancel();
        ended = timeout(MCP_END_PATIENCE, reader.drained(&mut exec)).await.ok();
    }
    match ended {
        Some(Ok(outcome)) => {
            reader.status.known().ended = Some(words(&outcome));
            recorded.end(&Ending::of(&outcome), Some(&exec)).await;
        }
        Some(Err(ending)) => {
            let (ending, why) = *ending;
            reader.status.known().ended = Some(format!("the program ended: {why}"));
            recorded.end(&ending, None).await;
        }
        // The program's runner keeps trying to end it.
        None => recorded.end(&Ending::refused("cancelled", "its server was no longer needed"), None).await,
    }
    // The reader is dropped last, so that a caller that sees the end of the output finds the reason.
    drop(reader);
    over.cancel();
}

/// A phrase for how a program ended.
fn words(outcome: &ExecOutcome) -> String {
    match (outcome.code, outcome.signal) {
        (Some(code), _) => format!("the program ended with exit status {code}"),
        (None, Some(signal)) => format!("the program was ended by signal {signal}"),
        (None, None) => "the program ended".to_owned(),
    }
}

/// Reads the output of a program.
struct Reader {
    sender: mpsc::Sender<Received>,
    status: ProgramStatus,
    /// The line that is not complete yet.
    line: Vec<u8>,
}

impl Reader {
    async fn until_end(&mut self, exec: &mut Exec) -> Result<ExecOutcome, Box<Lost>> {
        loop {
            match next(exec).await? {
                Event::Stdout(bytes) => {
                    let count = bytes.len();
                    if !self.take(&bytes).await {
                        let text = format!("a message is longer than {MCP_LINE_BYTES} bytes\n");
                        self.status.complain(text.as_bytes());
                        exec.control().cancel();
                        return self.drained(exec).await;
                    }
                    exec.consumed(count);
                }
                Event::Stderr(bytes) => {
                    exec.consumed(bytes.len());
                    self.status.complain(&bytes);
                }
                // An incomplete message is dropped, and what follows it cannot be trusted.
                Event::Gap => {
                    self.status.complain(b"some of its output was lost\n");
                    exec.control().cancel();
                    return self.drained(exec).await;
                }
                Event::Other => {}
                Event::Finished(outcome) => return Ok(outcome),
            }
        }
    }

    /// Reads to the end and drops messages: nothing waits for them.
    async fn drained(&mut self, exec: &mut Exec) -> Result<ExecOutcome, Box<Lost>> {
        loop {
            match next(exec).await? {
                Event::Stdout(bytes) => exec.consumed(bytes.len()),
                Event::Stderr(bytes) => {
                    exec.consumed(bytes.len());
                    self.status.complain(&bytes);
                }
                Event::Gap | Event::Other => {}
                Event::Finished(outcome) => return Ok(outcome),
            }
        }
    }

    /// Processes more output; returns false if a line is too long.
    async fn take(&mut self, mut bytes: &[u8]) -> bool {
        while let Some(at) = bytes.iter().position(|byte| *byte == b'\n') {
            self.line.extend_from_slice(&bytes[..at]);
            bytes = &bytes[at + 1..];
            let line = std::mem::take(&mut self.line);
            if line.len() > MCP_LINE_BYTES {
                return false;
            }
            self.message(&line).await;
        }
        self.line.extend_from_slice(bytes);
        self.line.len() <= MCP_LINE_BYTES
    }

    async fn message(&self, line: &[u8]) {
        if line.iter().all(u8::is_ascii_whitespace) {
            return;
        }
        match serde_json::from_slice(line) {
            // A failed send means that the connection is over.
            Ok(message) => drop(self.sender.send(message).await),
            // Not a message: some programs print a greeting.
            Err(_) => {
                self.status.complain(b"(standard output) ");
                self.status.complain(&line[..line.len().min(MCP_STDERR_BYTES)]);
                self.status.complain(b"\n");
            }
        }
    }
}

/// An end that the program itself did not report, and the reason as text.
type Lost = (Ending, String);

enum Event {
    Stdout(Vec<u8>),
    Stderr(Vec<u8>),
    /// Some of the standard output is lost.
    Gap,
    Other,
    Finished(ExecOutcome),
}

async fn next(exec: &mut Exec) -> Result<Event, Box<Lost>> {
    Ok(match exec.next().await {
        Some(ExecEvent::Stdout(bytes)) => Event::Stdout(bytes.to_vec()),
        Some(ExecEvent::Stderr(bytes)) => Event::Stderr(bytes.to_vec()),
        Some(ExecEvent::Finished(outcome)) => Event::Finished(outcome),
        Some(ExecEvent::Failed(error)) => return Err(Box::new((Ending::failed(&error), error.to_string()))),
        Some(ExecEvent::Gap { stderr: false, .. }) => Event::Gap,
        Some(
            ExecEvent::Gap { .. }
            | ExecEvent::Started { .. }
            | ExecEvent::Exited(_)
            | ExecEvent::Interrupted
            | ExecEvent::Resumed,
        ) => Event::Other,
        None => {
            let why = "its end was not reported";
            return Err(Box::new((Ending::refused("protocol", why), why.to_owned())));
        }
    })
}

impl Transport<RoleClient> for Pipe {
    type Error = Closed;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Closed>> + Send + 'static {
        let input = Arc::clone(&self.input);
        async move {
            let mut line = serde_json::to_vec(&message).map_err(|_| Closed)?;
            line.push(b'\n');
            // Holding the lock keeps each message in one piece.
            input.lock().await.write_stdin(&line).await.map_err(|_| Closed)
        }
    }

    async fn receive(&mut self) -> Option<Received> {
        self.output.recv().await
    }

    async fn close(&mut self) -> Result<(), Closed> {
        self.over.cancel();
        Ok(())
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        self.over.cancel();
    }
}
