//! The server's side: starts the confined process, sends it the document, and receives its pages.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{Stream, StreamExt};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdout, Command};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};

use crate::failure::Failure;
use crate::limits::{AT_ONCE, FRAME_BYTES, WALL_CLOCK};
use crate::page::{Frame, Kind, Page};

/// The name of the server program's hidden command that reads a document.
pub const COMMAND: &str = "extract";
/// The program of the running server, even after an update replaced its file.
const OWN_PROGRAM: &str = "/proc/self/exe";
/// The signals that end a process at the limit on processor time.
const CPU_SIGNALS: [i32; 2] = [libc::SIGXCPU, libc::SIGKILL];

/// Starts readers of documents, one at a time. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Extractor {
    program: PathBuf,
    places: Arc<Semaphore>,
}

impl Default for Extractor {
    fn default() -> Self {
        Self::of(PathBuf::from(OWN_PROGRAM))
    }
}

/// The counts of a document that was read to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    /// The number of the document's pages, including those without text.
    pub pages: u32,
    /// The number of pages whose text was cut off at the limit.
    pub cut_pages: u32,
    /// The number of pages that could not be read.
    pub broken_pages: u32,
}

/// The next part of a document.
#[derive(Debug)]
pub enum Next {
    /// A page with text.
    Page(Page),
    /// The document was read to its end.
    Done(Done),
}

impl Extractor {
    /// Uses another program than the running one; it must have the command [`COMMAND`].
    pub fn of(program: PathBuf) -> Self {
        Self { program, places: Arc::new(Semaphore::new(AT_ONCE)) }
    }

    /// Starts to read a document; waits while another document is read.
    ///
    /// # Errors
    /// [`Failure`]: the document is of a kind that cannot be read, or the reader cannot be started.
    pub async fn open(
        &self,
        name: &str,
        document: impl Stream<Item = std::io::Result<Bytes>> + Send + Unpin + 'static,
    ) -> Result<Reading, Failure> {
        let place = Arc::clone(&self.places).acquire_owned().await;
        let place = place.map_err(|_| Failure::Reader("the server is stopping".to_owned()))?;
        let refused =
            |error: std::io::Error| Failure::Reader(format!("the reader cannot be started: {error}"));
        let mut child = Command::new(&self.program)
            .arg(COMMAND)
            .arg(OsString::from(format!("--name={name}")))
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(refused)?;
        let (Some(mut stdin), Some(stdout), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(Failure::Reader("the reader has no pipes".to_owned()));
        };
        let mut document = document;
        // This task ends with the child, whose end breaks the pipe.
        tokio::spawn(async move {
            while let Some(Ok(piece)) = document.next().await {
                if stdin.write_all(&piece).await.is_err() {
                    return;
                }
            }
        });
        let said = tokio::spawn(async move {
            let mut said = String::new();
            let _ = stderr.take(SAID_BYTES).read_to_string(&mut said).await;
            said
        });
        let mut reading = Reading {
            child,
            said: Some(said),
            frames: BufReader::new(stdout),
            left: WALL_CLOCK,
            kind: Kind::Text,
            _place: place,
        };
        match reading.frame().await? {
            Frame::Begun(kind) => reading.kind = kind,
            Frame::Failed(failure) => return Err(failure),
            Frame::Page(_) | Frame::Done { .. } => {
                return Err(Failure::broken("the reader's output is invalid"));
            }
        }
        Ok(reading)
    }
}

/// How much of a reader's standard error is read, in bytes.
const SAID_BYTES: u64 = 4096;

/// A document that is being read. Dropping it ends the reader.
#[derive(Debug)]
pub struct Reading {
    child: Child,
    said: Option<tokio::task::JoinHandle<String>>,
    frames: BufReader<ChildStdout>,
    /// The time for which the server still waits for the reader. The server's own work between pages does not count.
    left: Duration,
    kind: Kind,
    _place: OwnedSemaphorePermit,
}

impl Reading {
    /// The document's kind.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The next page, or the end.
    ///
    /// # Errors
    /// [`Failure`]: the reason why the document cannot be read to its end.
    pub async fn next(&mut self) -> Result<Next, Failure> {
        match self.frame().await? {
            Frame::Page(page) => Ok(Next::Page(page)),
            Frame::Done { pages, cut_pages, broken_pages } => {
                Ok(Next::Done(Done { pages, cut_pages, broken_pages }))
            }
            Frame::Failed(failure) => Err(failure),
            Frame::Begun(_) => Err(Failure::broken("the reader's output is invalid")),
        }
    }

    async fn frame(&mut self) -> Result<Frame, Failure> {
        let begun = Instant::now();
        let frame = self.frame_until(begun + self.left).await;
        self.left = self.left.saturating_sub(begun.elapsed());
        frame
    }

    async fn frame_until(&mut self, deadline: Instant) -> Result<Frame, Failure> {
        let mut line = Vec::new();
        let mut bounded = (&mut self.frames).take(FRAME_BYTES as u64);
        let read = timeout_at(deadline, bounded.read_until(b'\n', &mut line)).await;
        match read {
            Err(_) => Err(Failure::TooLong),
            Ok(Err(error)) => Err(Failure::Reader(error.to_string())),
            Ok(Ok(_)) if line.ends_with(b"\n") => {
                serde_json::from_slice(&line).map_err(|_| Failure::broken("the reader's output is invalid"))
            }
            Ok(Ok(count)) if count >= FRAME_BYTES => Err(Failure::broken("the reader's output is invalid")),
            Ok(Ok(_)) => Err(self.end(deadline).await),
        }
    }

    /// The reason why the reader ended before the end of the document.
    async fn end(&mut self, deadline: Instant) -> Failure {
        let status = match timeout_at(deadline, self.child.wait()).await {
            Err(_) => return Failure::TooLong,
            Ok(Err(error)) => return Failure::Reader(error.to_string()),
            Ok(Ok(status)) => status,
        };
        let said = match self.said.take() {
            Some(said) => said.await.unwrap_or_default(),
            None => String::new(),
        };
        let signal = std::os::unix::process::ExitStatusExt::signal(&status);
        match signal {
            Some(signal) if CPU_SIGNALS.contains(&signal) => Failure::TooLong,
            _ if said.contains("memory allocation of") => Failure::Memory,
            Some(signal) => Failure::broken(format!("signal {signal} ended the reader")),
            None => Failure::Reader(format!("the reader ended early ({status})")),
        }
    }
}
