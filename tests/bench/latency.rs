//! One whole command, from starting the client to its exit.

use std::process::Command;

use crate::peers::{Peers, silent};
use crate::samples::{Row, Samples};

const SAMPLES: usize = 500;

pub(crate) fn rows(peers: &Peers) -> Vec<Row> {
    peers.choose("laptop");
    let ours = Samples::of(SAMPLES, || peers.cli(&["exec", "--", "true"]));
    let ssh = Samples::of(SAMPLES, || silent(peers.sshd.ssh().args(["127.0.0.1", "true"])));
    peers.choose("__docker__");
    let ours_docker = Samples::of(SAMPLES, || peers.cli(&["exec", "--", "true"]));
    let docker =
        Samples::of(SAMPLES, || silent(Command::new("docker").args(["exec", &peers.container, "true"])));
    peers.choose("laptop");
    vec![
        ssh.row("`ssh` with ControlMaster, `true`"),
        ours.row_against("`sandbridge exec`, remote runner", &ssh, "ssh ControlMaster", "≤ 1.0 ×"),
        docker.row("`docker exec`, `true`"),
        ours_docker.row_against("`sandbridge exec`, Docker", &docker, "docker exec", "≤ 0.2 ×"),
    ]
}
