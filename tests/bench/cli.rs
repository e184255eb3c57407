//! Measures one whole command, from starting the client to its exit.

use std::process::Command;

use crate::peers::{Peers, silent};
use crate::samples::{Row, Samples};

const SAMPLES: usize = 500;

/// The number of consecutive samples of one kind.
const TURN: usize = 25;

pub(crate) fn rows(peers: &Peers) -> Vec<Row> {
    let ours = || peers.cli(&["exec", "--", "true"]);
    peers.choose("laptop");
    let ssh = || silent(peers.sshd.ssh().args(["127.0.0.1", "true"]));
    let (ssh, remote) = Samples::in_turn(SAMPLES, TURN, ssh, ours);
    peers.choose("__docker__");
    let docker = || silent(Command::new("docker").args(["exec", &peers.container, "true"]));
    let (docker, contained) = Samples::in_turn(SAMPLES, TURN, docker, ours);
    peers.choose("laptop");
    vec![
        ssh.row("`ssh` with ControlMaster, `true`"),
        remote.row_against("`sandbridge exec`, remote runner", &ssh, "ssh ControlMaster", "≤ 1.0 ×"),
        docker.row("`docker exec`, `true`"),
        contained.row_against("`sandbridge exec`, Docker", &docker, "docker exec", "≤ 0.2 ×"),
    ]
}
