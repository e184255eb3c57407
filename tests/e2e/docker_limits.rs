//! A container's limits, as its own commands see them, and the time for which the container keeps running.

use std::time::{Duration, Instant};

use tests::docker::{IMAGE, docker, ready};
use tests::{Person, Server, binaries, eventually};

use crate::docker::{Cleanup, shell};

fn start(options: &[&str]) -> (Server, Person, Cleanup) {
    ready();
    let server = Server::start_with(&[&["--docker", "on", "--docker-image", IMAGE], options].concat());
    let alice = server.person("alice");
    alice.run(&["use", "__docker__"]);
    let cleanup = Cleanup::of(&server);
    (server, alice, cleanup)
}

/// Returns the content of the first of these files that a command in the container can read.
fn cgroup(person: &Person, files: &[&str]) -> String {
    shell(person, &format!("for f in {}; do [ -r $f ] && cat $f && break; done", files.join(" ")))
}

#[test]
fn limits_capabilities_network_and_root_are_as_configured_when_measured_from_inside() {
    let limits = ["--docker-memory", "64m", "--docker-pids", "40", "--docker-cpus", "0.5"];
    let options = [&limits[..], &["--docker-network", "none", "--docker-read-only", "on"]].concat();
    let (_server, alice, cleanup) = start(&options);
    shell(&alice, "true");
    let container = cleanup.containers().remove(0);
    limits_hold(&alice);
    capabilities_are_the_listed_ones(&alice);
    network_reaches_nothing(&alice, &container);
    root_is_read_only(&alice, &container);
}

fn limits_hold(alice: &Person) {
    let memory = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"];
    assert_eq!(cgroup(alice, &memory), (64 << 20).to_string());
    let pids = ["/sys/fs/cgroup/pids.max", "/sys/fs/cgroup/pids/pids.max"];
    assert_eq!(cgroup(alice, &pids), "40");
    let cpu = ["/sys/fs/cgroup/cpu.max", "/sys/fs/cgroup/cpu/cpu.cfs_quota_us"];
    assert_eq!(cgroup(alice, &cpu).split(' ').next().unwrap(), "50000");
    let bomb = alice.run(&["exec", "--", "dd", "if=/dev/zero", "of=/dev/null", "bs=128M", "count=1"]);
    assert_ne!(bomb.code, 0, "more memory than there is: {}", bomb.stderr);
    let forks = "i=0; while [ $i -lt 60 ]; do sleep 1 & i=$((i+1)); done";
    let bomb = alice.run(&["exec", "--", "sh", "-c", forks]);
    // The shell reports the refused fork, unless it keeps trying and the runner ends it first.
    let is_told =
        ["fork", "reached the limit of 40 processes"].iter().any(|words| bomb.stderr.contains(words));
    assert!(is_told, "more processes than the limit: {}", bomb.stderr);
    let still = || alice.run(&["exec", "--", "sh", "-c", "true; ls > /dev/null; echo still here"]).stdout;
    eventually("there is space again", Duration::from_secs(60), || (still() == "still here\n").then_some(()));
}

fn capabilities_are_the_listed_ones(alice: &Person) {
    // The capabilities CHOWN 0, DAC_OVERRIDE 1, FOWNER 3, FSETID 4, KILL 5, SETGID 6 and SETUID 7 are allowed.
    let allowed = 0b1111_1011_u64;
    let digits = |text: &str| u64::from_str_radix(text, 16).unwrap();
    let sets = shell(alice, "grep ^Cap /proc/self/status | cut -f2");
    let sets: Vec<u64> = sets.lines().map(digits).collect();
    assert!(sets.len() == 5 && sets.iter().all(|held| held & !allowed == 0), "{sets:x?}");
    let runner = shell(alice, "grep CapBnd /proc/1/status | cut -f2");
    assert_eq!(digits(&runner), allowed, "what the engine gave");
    assert_eq!(shell(alice, "grep NoNewPrivs /proc/self/status | cut -f2"), "1");
    for forbidden in ["mount -t tmpfs none /tmp", "mknod /tmp/sda b 8 0", "chroot / true", "hostname x"] {
        let output = alice.run(&["exec", "--", "sh", "-c", forbidden]);
        assert_ne!(output.code, 0, "{forbidden}");
    }
}

fn network_reaches_nothing(alice: &Person, container: &str) {
    assert_eq!(docker(&["exec", container, "ls", "/sys/class/net"]).unwrap().trim(), "lo");
    let gateway =
        docker(&["network", "inspect", "bridge", "-f", "{{(index .IPAM.Config 0).Gateway}}"]).unwrap();
    let reach = alice.run(&["exec", "--", "ping", "-c", "1", "-W", "1", gateway.trim()]);
    assert_ne!(reach.code, 0, "{}", reach.stdout);
}

fn root_is_read_only(alice: &Person, container: &str) {
    for path in ["/x", "/etc/x", "/bin/x", "/usr/local/bin/x", "/var/x"] {
        let outside_confinement = docker(&["exec", container, "sh", "-c", &format!("echo x > {path}")]);
        assert_eq!(outside_confinement, None, "{path}");
    }
    let writable = "echo kept > /workspace/x; echo x > /tmp/x; echo x > ~/x; cat /workspace/x";
    assert_eq!(shell(alice, writable), "kept");
    docker(&["stop", container]);
    let again = eventually("the container is started again", Duration::from_secs(60), || {
        let output = alice.run(&["exec", "--", "sh", "-c", "cat x; ls /tmp"]);
        (output.code == 0).then_some(output.stdout)
    });
    assert_eq!(again, "kept\n", "the workspace is kept, /tmp is not");
}

#[test]
fn docker_networks_of_the_machine_and_missing_ones_are_refused() {
    let (_server, alice, _cleanup) = start(&["--docker-network", "sandbridge-no-such-network"]);
    let output = alice.run(&["exec", "--", "true"]);
    assert_eq!(output.code, 125);
    assert!(output.stderr.contains("docker network create sandbridge-no-such-network"), "{}", output.stderr);
    let home = tempfile::tempdir().unwrap();
    let refused = std::process::Command::new(binaries::sandbridge())
        .args(["serve", "--listen", "127.0.0.1:0", "--docker-network", "host", "--home"])
        .arg(home.path())
        .output()
        .unwrap();
    let refused = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(refused.contains("the machine's own network"), "{refused}");
}

#[test]
fn idle_container_is_stopped_and_started_again_by_the_next_command() {
    let (_server, alice, cleanup) = start(&["--docker-idle-stop", "1s"]);
    shell(&alice, "echo kept > file");
    let container = cleanup.containers();
    let runs = || docker(&["inspect", "-f", "{{.State.Running}}", &container[0]]).unwrap().trim() == "true";
    // The command has no attached client, but it still runs.
    assert_eq!(alice.run(&["exec", "--detach", "--", "sh", "-c", "sleep 3; echo done > end"]).code, 0);
    let since = Instant::now();
    eventually("an idle container stops", Duration::from_secs(60), || (!runs()).then_some(()));
    assert!(since.elapsed() >= Duration::from_secs(3), "not under a running command: {:?}", since.elapsed());
    assert_eq!(shell(&alice, "cat file end"), "kept\ndone");
    assert_eq!(cleanup.containers(), container, "the same container again");
}

#[test]
fn workspace_can_be_a_separate_directory_for_each_user() {
    use std::os::unix::fs::PermissionsExt;
    let base = tempfile::tempdir().unwrap();
    let directory = base.path().join("work");
    let (server, alice, _cleanup) = start(&["--docker-workspace-dir", directory.to_str().unwrap()]);
    let bob = server.person("bob");
    bob.run(&["use", "__docker__"]);
    shell(&alice, "echo alice > mine");
    shell(&bob, "echo bob > mine");
    let mut found: Vec<(String, u32)> = std::fs::read_dir(&directory)
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            let mode = path.metadata().unwrap().permissions().mode() & 0o777;
            (std::fs::read_to_string(path.join("mine")).unwrap(), mode)
        })
        .collect();
    found.sort();
    assert_eq!(found, [("alice\n".to_owned(), 0o700), ("bob\n".to_owned(), 0o700)]);
    let refused = alice.run(&["container", "reset", "--workspace"]);
    assert!(refused.code == 1 && refused.stderr.contains("directory on the server"), "{}", refused.stderr);
}
