//! Latency of small operations while 1 GiB moves each way over the same link.

use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use sandbox::{Command, ExecEvent, ExecRequest, Pty, Sandbox};

use crate::bulk::read;
use crate::remote::Remote;
use crate::samples::{Row, Samples};

const BYTES: u64 = 1 << 30;

/// The size of writes to the command's input.
const WRITE_BYTES: usize = 64 * 1024;

/// The length of a terminal's output for a line, which consists of the echo and the output of `cat`.
const ECHO_BYTES: usize = "\r\n\r\n".len();

const STAT_P99: Duration = Duration::from_millis(5);
const ECHO_P99: Duration = Duration::from_millis(10);

pub(crate) fn rows(remote: &Remote) -> Vec<Row> {
    File::create(remote.workspace().join("sparse")).unwrap().set_len(BYTES).unwrap();
    let sandbox = remote.sandbox();
    let (stat, echo) = remote.run(async move {
        let moving = Arc::new(AtomicUsize::new(2));
        let down = {
            let (sandbox, moving) = (sandbox.clone(), moving.clone());
            tokio::spawn(async move {
                assert_eq!(read(&sandbox, b"sparse").await, BYTES);
                moving.fetch_sub(1, Ordering::Relaxed);
            })
        };
        let up = {
            let (sandbox, moving) = (sandbox.clone(), moving.clone());
            tokio::spawn(async move {
                upload(&sandbox).await;
                moving.fetch_sub(1, Ordering::Relaxed);
            })
        };
        let stats = tokio::spawn(stats(sandbox.clone(), moving.clone()));
        let echoes = tokio::spawn(echoes(sandbox, moving));
        down.await.unwrap();
        up.await.unwrap();
        (stats.await.unwrap(), echoes.await.unwrap())
    });
    vec![
        stat.row_within("handle stat while 1 GiB moves each way", STAT_P99),
        echo.row_within("terminal echo while 1 GiB moves each way", ECHO_P99),
    ]
}

async fn upload(sandbox: &Sandbox) {
    let mut request = ExecRequest::shell("exec cat >/dev/null");
    request.stdin = true;
    let mut exec = sandbox.exec(request).await.unwrap();
    let control = exec.control();
    let piece = vec![7; WRITE_BYTES];
    for _ in 0..BYTES / WRITE_BYTES as u64 {
        control.write_stdin(&piece).await.unwrap();
    }
    control.close_stdin();
    while exec.next().await.is_some() {}
}

async fn stats(sandbox: Sandbox, moving: Arc<AtomicUsize>) -> Samples {
    let mut durations = Vec::new();
    while moving.load(Ordering::Relaxed) > 0 {
        let start = Instant::now();
        assert_eq!(sandbox.stat(b"sparse").await.unwrap().size_bytes, BYTES);
        durations.push(start.elapsed());
    }
    Samples::new(durations)
}

async fn echoes(sandbox: Sandbox, moving: Arc<AtomicUsize>) -> Samples {
    let pty = Pty { rows: 24, columns: 80, term: "dumb".into() };
    let command = Command::Argv(vec![b"cat".to_vec()]);
    let mut request = ExecRequest::new(command);
    request.pty = Some(pty);
    let mut exec = sandbox.exec(request).await.unwrap();
    let control = exec.control();
    let mut durations = Vec::new();
    while moving.load(Ordering::Relaxed) > 0 {
        let start = Instant::now();
        control.write_stdin(b"\n").await.unwrap();
        let mut missing = ECHO_BYTES;
        while missing > 0 {
            match exec.next().await.unwrap() {
                ExecEvent::Stdout(bytes) => missing -= bytes.len(),
                ExecEvent::Started { .. } => {}
                other => panic!("{other:?}"),
            }
        }
        durations.push(start.elapsed());
    }
    Samples::new(durations)
}
