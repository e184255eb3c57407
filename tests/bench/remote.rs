//! A router in this process and a runner in another, over a WebSocket.

use std::io::Write;
use std::path::Path;
use std::pin::Pin;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::{Sink, Stream, StreamExt as _};
use sandbox::{
    Admission, Choice, LinkMessage, LocalConfig, LocalPolicy, RouteRequest, RouterConfig, Sandbox,
    SandboxRouter, User,
};
use tempfile::TempDir;
use tests::{binaries, process};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Error, Message};

/// The size of the server's socket buffers, in bytes.
const READ_BUFFER_BYTES: usize = 16 * 1024;
const WRITE_BUFFER_BYTES: usize = 32 * 1024;

/// A remote runner and the handle to it.
pub(crate) struct Remote {
    sandbox: Sandbox,
    runtime: Arc<Runtime>,
    served: Option<JoinHandle<()>>,
    runner: Child,
    directory: TempDir,
    _state: TempDir,
}

impl Remote {
    pub(crate) fn start() -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        Self::start_on(Arc::new(runtime), "workspace")
    }

    /// Starts another runner with this profile, whose handle is served by the same threads.
    pub(crate) fn beside(&self, profile: &'static str) -> Self {
        Self::start_on(Arc::clone(&self.runtime), profile)
    }

    fn start_on(runtime: Arc<Runtime>, profile: &'static str) -> Self {
        let (directory, state) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        std::fs::create_dir(directory.path().join("workspace")).unwrap();
        let connected = connect(directory.path().to_owned(), state.path().to_owned(), profile);
        let (sandbox, served, runner) = runtime.block_on(async { tokio::spawn(connected).await.unwrap() });
        Self { sandbox, runtime, served: Some(served), runner, directory, _state: state }
    }

    /// The handle to the runner.
    pub(crate) fn sandbox(&self) -> Sandbox {
        self.sandbox.clone()
    }

    /// The runner's workspace on disk.
    pub(crate) fn workspace(&self) -> std::path::PathBuf {
        self.directory.path().join("workspace")
    }

    /// Runs a task on the runtime's workers, as in a server: a blocking call would be woken by a system call.
    pub(crate) fn run<T: Send + 'static>(&self, task: impl Future<Output = T> + Send + 'static) -> T {
        self.runtime.block_on(async { tokio::spawn(task).await.unwrap() })
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        process::terminate(&mut self.runner);
        if let Some(served) = self.served.take() {
            self.runtime.block_on(served).unwrap();
        }
    }
}

async fn connect(
    directory: std::path::PathBuf,
    state: std::path::PathBuf,
    profile: &'static str,
) -> (Sandbox, JoinHandle<()>, Child) {
    let workspaces = directory.join("local");
    let local = LocalConfig { policy: LocalPolicy::Off, runner: None, workspaces, ..LocalConfig::default() };
    let router = SandboxRouter::new(RouterConfig { docker: None, local, ..RouterConfig::default() });
    let mut online = router.subscribe();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let runner = start_runner(&url, &directory.join("workspace"), &state, profile);
    let link = Link(accept(&listener).await);
    let serving = router.clone();
    let served = tokio::spawn(async move {
        let admit = async |_registration| {
            Ok(Admission {
                user_key: "u1".into(),
                runner: "bench".into(),
                epoch: 1,
                token: None,
                version: None,
            })
        };
        let _ = serving.serve_remote(link, admit).await;
    });
    let user = User { key: "u1".into(), name: "bench".into(), is_admin: false };
    let route_request = RouteRequest { choice: Choice::Auto, registered: vec!["bench".into()] };
    // Waits for the first event, which reports that the runner is online.
    online.recv().await.unwrap();
    let sandbox = router.for_user(&user, &route_request).await.unwrap();
    (sandbox, served, runner)
}

fn start_runner(url: &str, workspace: &Path, state: &Path, profile: &str) -> Child {
    let mut runner = Command::new(binaries::runner())
        .args(["--server", url, "--token-file", "-", "--profile", profile, "--workspace"])
        .arg(workspace)
        .arg("--state-dir")
        .arg(state)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    writeln!(runner.stdin.take().unwrap(), "sbr_bench").unwrap();
    runner
}

/// Accepts a WebSocket, with the server's buffer sizes.
pub(crate) async fn accept(listener: &TcpListener) -> WebSocketStream<TcpStream> {
    let (socket, _) = listener.accept().await.unwrap();
    socket.set_nodelay(true).unwrap();
    let mut config = WebSocketConfig::default();
    config.read_buffer_size = READ_BUFFER_BYTES;
    config.write_buffer_size = WRITE_BUFFER_BYTES;
    tokio_tungstenite::accept_async_with_config(socket, Some(config)).await.unwrap()
}

/// A WebSocket as a link.
struct Link(WebSocketStream<TcpStream>);

fn lost(error: Error) -> std::io::Error {
    std::io::Error::other(error)
}

impl Stream for Link {
    type Item = std::io::Result<LinkMessage>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            let message = match std::task::ready!(self.0.poll_next_unpin(context)) {
                Some(Ok(Message::Binary(bytes))) => LinkMessage::Binary(bytes),
                Some(Ok(Message::Text(text))) => LinkMessage::Text(text.to_string()),
                Some(Ok(Message::Close(_))) | None => return Poll::Ready(None),
                Some(Ok(_)) => continue,
                Some(Err(error)) => return Poll::Ready(Some(Err(lost(error)))),
            };
            return Poll::Ready(Some(Ok(message)));
        }
    }
}

impl Sink<LinkMessage> for Link {
    type Error = std::io::Error;

    fn poll_ready(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.0).poll_ready(context).map_err(lost)
    }

    fn start_send(mut self: Pin<&mut Self>, message: LinkMessage) -> std::io::Result<()> {
        let message = match message {
            LinkMessage::Text(text) => Message::text(text),
            LinkMessage::Binary(bytes) => Message::Binary(bytes),
            LinkMessage::Ping => Message::Ping(Default::default()),
            LinkMessage::Pong => Message::Pong(Default::default()),
        };
        Pin::new(&mut self.0).start_send(message).map_err(lost)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context).map_err(lost)
    }

    fn poll_close(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.0).poll_close(context).map_err(lost)
    }
}
