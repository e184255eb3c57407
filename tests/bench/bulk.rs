//! 64 MiB in and out.

use std::fs;

use crate::peers::{Peers, silent};
use crate::samples::{Row, Samples};

const SAMPLES: usize = 30;
const BYTES: usize = 64 * 1024 * 1024;

pub(crate) fn rows(peers: &Peers) -> Vec<Row> {
    let content: Vec<u8> = (0..BYTES as u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let remote = peers.machine.workspace().join("large");
    fs::write(&remote, &content).unwrap();
    let local = peers.sshd.directory().join("large");
    fs::write(&local, &content).unwrap();
    let back = peers.sshd.directory().join("back");
    let back_text = back.to_str().unwrap();

    let read = Samples::of(SAMPLES, || peers.cli(&["cp", ":large", back_text]));
    assert!(fs::read(&back).unwrap() == content);
    let from = format!("127.0.0.1:{}", remote.display());
    let scp_read = Samples::of(SAMPLES, || silent(peers.sshd.scp().args([&from, back_text])));
    let write = Samples::of(SAMPLES, || peers.cli(&["cp", local.to_str().unwrap(), ":written"]));
    assert!(fs::read(peers.machine.workspace().join("written")).unwrap() == content);
    let to = format!("127.0.0.1:{}", peers.machine.workspace().join("scp").display());
    let scp_write = Samples::of(SAMPLES, || silent(peers.sshd.scp().args([local.to_str().unwrap(), &to])));
    let cat = Samples::of(SAMPLES, || peers.cli(&["exec", "--", "cat", "large"]));
    let ssh_cat = Samples::of(SAMPLES, || {
        silent(peers.sshd.ssh().args(["127.0.0.1", "cat", remote.to_str().unwrap()]))
    });
    let bytes = BYTES as u64;
    vec![
        scp_read.throughput("`scp` 64 MiB from", bytes),
        read.throughput_against("`sandbridge cp` 64 MiB from", bytes, &scp_read, "scp", "≥ 1.5 ×"),
        scp_write.throughput("`scp` 64 MiB to (no fsync)", bytes),
        write.throughput_against("`sandbridge cp` 64 MiB to (fsync)", bytes, &scp_write, "scp", ""),
        ssh_cat.throughput("`ssh` ControlMaster, `cat` of 64 MiB", bytes),
        cat.throughput_against("`sandbridge exec`, `cat` of 64 MiB", bytes, &ssh_cat, "ssh", ""),
    ]
}
