//! The sandbox handle over a real WebSocket to a real runner process, beside a local spawn.

use std::io::Write;
use std::pin::Pin;
use std::process::{Child, Command, Stdio};
use std::task::{Context, Poll};
use std::time::Instant;

use futures_util::{Sink, Stream, StreamExt as _};
use sandbox::{
    Admission, Choice, ExecEvent, ExecRequest, LinkMessage, LocalConfig, RouterConfig, Sandbox,
    SandboxRouter, User, Wish,
};
use tempfile::TempDir;
use tests::{binaries, process};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::{Error, Message};

use crate::samples::{Row, Samples, WARM_UPS};

const SAMPLES: usize = 1_000;

/// Samples of one kind in a row before the other kind takes its turn, so that a drifting machine touches both alike.
const TURN: usize = 50;

pub(crate) fn rows() -> Vec<Row> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let (floor, handle) = runtime.block_on(async { tokio::spawn(measure()).await.unwrap() });
    vec![
        floor.row("local spawn of `true`, two pipes to EOF"),
        handle.row_against("handle exec `true`, remote runner", &floor, "local spawn", "≤ 1.4 ×"),
    ]
}

fn spawn_true() {
    assert!(Command::new("/bin/true").stdin(Stdio::null()).output().unwrap().status.success());
}

async fn measure() -> (Samples, Samples) {
    let (directory, state) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let local = LocalConfig {
        policy: sandbox::LocalPolicy::Off,
        runner: None,
        workspaces: directory.path().join("local"),
    };
    let router = SandboxRouter::new(RouterConfig { docker: None, local });
    let mut online = router.subscribe();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let mut runner = start_runner(&url, &directory, &state);
    let (socket, _) = listener.accept().await.unwrap();
    socket.set_nodelay(true).unwrap();
    let link = Link(tokio_tungstenite::accept_async(socket).await.unwrap());
    let serving = router.clone();
    let served = tokio::spawn(async move {
        let admit = async |_registration| {
            Ok(Admission { user_key: "u1".into(), runner: "bench".into(), epoch: 1, token: None })
        };
        let _ = serving.serve_remote(link, admit).await;
    });
    let user = User { key: "u1".into(), name: "bench".into(), is_admin: false };
    let wish = Wish { choice: Choice::Auto, registered: vec!["bench".into()] };
    // The first event is that the runner is online.
    online.recv().await.unwrap();
    let sandbox = router.for_user(&user, &wish).await.unwrap();
    let (mut floor, mut handle) = (Vec::new(), Vec::new());
    while handle.len() < SAMPLES {
        for sample in 0..TURN + WARM_UPS {
            let start = Instant::now();
            spawn_true();
            if sample >= WARM_UPS {
                floor.push(start.elapsed());
            }
        }
        for sample in 0..TURN + WARM_UPS {
            let start = Instant::now();
            exec_true(&sandbox).await;
            if sample >= WARM_UPS {
                handle.push(start.elapsed());
            }
        }
    }
    process::terminate(&mut runner);
    served.await.unwrap();
    (Samples::new(floor), Samples::new(handle))
}

async fn exec_true(sandbox: &Sandbox) {
    let mut exec = sandbox.exec(ExecRequest::argv(["/bin/true"])).await.unwrap();
    while let Some(event) = exec.next().await {
        match event {
            ExecEvent::Finished(outcome) => assert_eq!(outcome.code, Some(0)),
            ExecEvent::Failed(error) => panic!("{error}"),
            _ => {}
        }
    }
}

fn start_runner(url: &str, workspace: &TempDir, state: &TempDir) -> Child {
    let mut runner = Command::new(binaries::runner())
        .args(["--server", url, "--token-file", "-", "--workspace"])
        .arg(workspace.path())
        .arg("--state-dir")
        .arg(state.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    writeln!(runner.stdin.take().unwrap(), "sbr_bench").unwrap();
    runner
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
