//! Resident memory of the runner, including its guardian.

use std::fs::File;
use std::io::Read;
use std::process::Stdio;

use tests::{Machine, process};

use crate::peers::Peers;
use crate::samples::Row;

const BYTES: u64 = 1 << 30;

pub(crate) fn rows(peers: &Peers) -> Vec<Row> {
    let machine = &peers.machine;
    let file = File::create(machine.workspace().join("sparse")).unwrap();
    file.set_len(BYTES).unwrap();
    let idle = idle_kib(peers);
    let out = peak_while(machine, || {
        let mut child = peers
            .person
            .command(&["exec", "--", "cat", "sparse"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut pipe = child.stdout.take().unwrap();
        let mut buffer = vec![0; 1 << 20];
        while pipe.read(&mut buffer).unwrap() > 0 {}
        assert!(child.wait().unwrap().success());
    });
    let back = peers.sshd.directory().join("sparse");
    let read = peak_while(machine, || peers.cli(&["cp", ":sparse", back.to_str().unwrap()]));
    let write = peak_while(machine, || peers.cli(&["cp", back.to_str().unwrap(), ":sparse2"]));
    vec![
        row("runner and guardian, idle", idle, "≤ 12 MiB"),
        row("the same while 1 GiB of output passes, peak", out, "≤ 24 MiB"),
        row("the same while 1 GiB is read, peak", read, "≤ 24 MiB"),
        row("the same while 1 GiB is written, peak", write, "≤ 24 MiB"),
    ]
}

/// A runner that was just started and has run one command.
fn idle_kib(peers: &Peers) -> u64 {
    let fresh = Machine::start(peers.server(), &peers.person, "fresh");
    peers.cli(&["exec", "--on", "fresh", "--", "true"]);
    resident_kib(&fresh)
}

fn resident_kib(machine: &Machine) -> u64 {
    process::resident_kib(machine.guardian_pid()) + process::resident_kib(machine.runner_pid())
}

fn peak_while(machine: &Machine, action: impl FnOnce()) -> u64 {
    std::thread::scope(|scope| {
        let (done, finished) = std::sync::mpsc::channel::<()>();
        let watcher = scope.spawn(move || {
            let mut peak = 0;
            loop {
                peak = peak.max(resident_kib(machine));
                match finished.recv_timeout(std::time::Duration::from_millis(5)) {
                    Err(std::sync::mpsc::RecvTimeoutError::Timeout) => {}
                    _ => return peak,
                }
            }
        });
        action();
        drop(done);
        watcher.join().unwrap()
    })
}

pub(crate) fn row(what: &str, kib: u64, target: &str) -> Row {
    let value = format!("{:.1} MiB", kib as f64 / 1024.0);
    let empty = String::new;
    Row {
        what: what.to_owned(),
        min: empty(),
        p50: value,
        p99: empty(),
        against: empty(),
        ratio: empty(),
        target: target.to_owned(),
    }
}
