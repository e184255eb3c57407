//! Measures transfers of 64 MiB in and out through the whole client, compared with ssh and scp.

use std::fs;
use std::process::Command;

use crate::bulk::{BYTES, content};
use crate::peers::{Peers, silent};
use crate::samples::{Row, Samples};

const SAMPLES: usize = 30;

/// The number of consecutive samples of one kind.
const TURN: usize = 3;

pub(crate) fn rows(peers: &Peers) -> Vec<Row> {
    let content = content();
    let workspace = peers.machine.workspace();
    let (remote, local) = (workspace.join("large"), peers.sshd.directory().join("large"));
    fs::write(&remote, &content).unwrap();
    fs::write(&local, &content).unwrap();
    let local = local.to_str().unwrap();
    let back = peers.sshd.directory().join("back");
    let back_text = back.to_str().unwrap();

    let from = format!("127.0.0.1:{}", remote.display());
    let scp_back = format!("{back_text}-scp");
    let (scp_read, read) = Samples::in_turn(
        SAMPLES,
        TURN,
        || silent(peers.sshd.scp().args([&from, &scp_back])),
        || peers.cli(&["cp", ":large", back_text]),
    );
    assert!(fs::read(&back).unwrap() == content);
    let copied = workspace.join("scp");
    let to = format!("127.0.0.1:{}", copied.display());
    let (scp_write, write) = Samples::in_turn(
        SAMPLES,
        TURN,
        || {
            silent(peers.sshd.scp().args([local, &to]));
            silent(Command::new("sync").arg(&copied));
        },
        || peers.cli(&["cp", local, ":written"]),
    );
    assert!(fs::read(workspace.join("written")).unwrap() == content);
    let (ssh_cat, cat) = Samples::in_turn(
        SAMPLES,
        TURN,
        || silent(peers.sshd.ssh().args(["127.0.0.1", "cat", remote.to_str().unwrap()])),
        || peers.cli(&["exec", "--", "cat", "large"]),
    );
    let bytes = BYTES as u64;
    vec![
        scp_read.throughput("`scp` 64 MiB from the machine", bytes),
        read.throughput_against(
            "`sandbridge cp` 64 MiB from the machine",
            bytes,
            &scp_read,
            "scp",
            "≥ 2.5 ×",
        ),
        scp_write.throughput("`scp` 64 MiB to the machine, then `sync FILE`", bytes),
        write.throughput_against(
            "`sandbridge cp` 64 MiB to the machine (fsync)",
            bytes,
            &scp_write,
            "scp, sync",
            "≥ 1.5 ×",
        ),
        ssh_cat.throughput("`ssh` ControlMaster, `cat` of 64 MiB", bytes),
        cat.throughput_against("`sandbridge exec`, `cat` of 64 MiB", bytes, &ssh_cat, "ssh", "≥ 2.0 ×"),
    ]
}
