//! Transfers of 64 MiB through the handle: reads compared with a bare WebSocket, writes compared with `dd`.

use std::fs;
use std::process::Command;

use sandbox::{Range, Sandbox, WriteOptions};

use crate::peers::silent;
use crate::raw::RawStream;
use crate::remote::Remote;
use crate::samples::{Row, Samples};

/// The number of bytes that one sample moves.
pub(crate) const BYTES: usize = 64 * 1024 * 1024;

const SAMPLES: usize = 30;

/// The number of consecutive samples of one kind.
const TURN: usize = 3;

/// The size of the pieces in which a caller reads and writes.
const WRITE_BYTES: usize = 1024 * 1024;

pub(crate) fn rows(remote: &Remote) -> Vec<Row> {
    let content = content();
    fs::write(remote.workspace().join("large"), &content).unwrap();
    let mut raw = RawStream::start(remote);
    let read = || {
        let sandbox = remote.sandbox();
        assert_eq!(remote.run(async move { read(&sandbox, b"large").await }), BYTES as u64);
    };
    let (floor, read) = Samples::in_turn(SAMPLES, TURN, || raw.receive(remote, BYTES), read);
    drop(raw);
    let (source, target) = (remote.workspace().join("large"), remote.workspace().join("dd"));
    let dd = || {
        let arguments = [format!("if={}", source.display()), format!("of={}", target.display())];
        silent(Command::new("dd").args(arguments).args(["bs=1M", "conv=fsync"]));
    };
    let content = std::sync::Arc::new(content);
    let write = || {
        let (sandbox, content) = (remote.sandbox(), content.clone());
        remote.run(async move { write(&sandbox, &content).await });
    };
    let (dd, write) = Samples::in_turn(SAMPLES, TURN, dd, write);
    assert!(fs::read(remote.workspace().join("written")).unwrap() == *content);
    let bytes = BYTES as u64;
    vec![
        floor.throughput("bare WebSocket, 64 MiB in frames of 64 KiB", bytes),
        read.throughput_against("handle, 64 MiB read", bytes, &floor, "bare WebSocket", "≥ 0.5 ×"),
        dd.throughput("`dd conv=fsync` of 64 MiB", bytes),
        write.throughput_against("handle, 64 MiB written (fsync)", bytes, &dd, "dd", "≥ 0.7 ×"),
    ]
}

/// Creates the same bytes each time, without runs of equal bytes. They are not random: a compressor would find repetitions.
pub(crate) fn content() -> Vec<u8> {
    (0..BYTES as u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect()
}

/// Reads a file to its end; returns its length.
pub(crate) async fn read(sandbox: &Sandbox, path: &[u8]) -> u64 {
    let mut reader = sandbox.read_file(path, Range::default()).await.unwrap();
    let mut bytes = 0;
    while let Some(piece) = reader.next().await {
        bytes += piece.unwrap().len() as u64;
    }
    bytes
}

async fn write(sandbox: &Sandbox, content: &[u8]) {
    let mut writer = sandbox.write_file(b"written", WriteOptions::default()).await.unwrap();
    for piece in content.chunks(WRITE_BYTES) {
        writer.write(piece).await.unwrap();
    }
    assert_eq!(writer.finish().await.unwrap(), content.len() as u64);
}
