//! Failures of a container: each is reported as a clear state, and work continues afterwards.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use tests::docker::{IMAGE, docker, ready};
use tests::random::count;
use tests::{Person, Server, binaries, eventually};

use crate::docker::{Cleanup, runner_digests, shell};

/// The time within which a pause must be reported, which is sooner than heartbeats would detect a dead link.
const TOLD_WITHIN: Duration = Duration::from_secs(25);

const OPTIONS: [&str; 4] = ["--docker", "on", "--docker-image", IMAGE];

fn start(options: &[&str]) -> (Server, Person, Cleanup) {
    ready();
    let server = Server::start_with(&[&OPTIONS, options].concat());
    let alice = server.person("alice");
    alice.run(&["use", "__docker__"]);
    let cleanup = Cleanup::of(&server);
    (server, alice, cleanup)
}

/// Applies a docker command to the container while a command runs in it; returns the last line that the command's
/// client printed.
fn hit_while_running(alice: &Person, cleanup: &Cleanup, hit: &[&str]) -> serde_json::Value {
    let mut client = alice
        .command(&["exec", "--json", "--", "sh", "-c", "echo begun; sleep 600"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(client.stdout.take().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().contains("stdout"));
    let container = cleanup.containers().remove(0);
    docker(&[hit, &[container.as_str()]].concat()).unwrap();
    let last = lines.map_while(Result::ok).last().unwrap();
    assert_eq!(client.wait().unwrap().code(), Some(125));
    serde_json::from_str(&last).unwrap()
}

#[test]
fn container_killed_or_removed_during_a_command_is_reported_as_lost_and_the_next_command_works() {
    let (_server, alice, cleanup) = start(&[]);
    shell(&alice, "echo kept > file");
    for hit in [&["kill"][..], &["rm", "-f"]] {
        let told = hit_while_running(&alice, &cleanup, hit);
        assert_eq!((&told["type"], &told["kind"]), (&"error".into(), &"lost".into()), "{hit:?}: {told}");
        assert_eq!(shell(&alice, "cat file"), "kept", "after {hit:?}");
    }
}

#[test]
fn paused_container_is_reported_at_once_and_used_again_after_an_unpause() {
    let (mut server, alice, cleanup) = start(&[]);
    shell(&alice, "echo kept > file");
    let container = cleanup.containers().remove(0);
    server.kill();
    docker(&["pause", &container]).unwrap();
    server.restart(&OPTIONS);
    let since = Instant::now();
    let output = alice.run(&["exec", "--", "true"]);
    assert_eq!(output.code, 125);
    assert!(output.stderr.contains("docker unpause"), "{}", output.stderr);
    assert!(since.elapsed() < TOLD_WITHIN, "{:?}", since.elapsed());
    let status = alice.json(&["container", "status", "--json"]);
    assert_eq!(status["state"], "paused");
    docker(&["unpause", &container]).unwrap();
    assert_eq!(shell(&alice, "cat file"), "kept");
    assert_eq!(cleanup.containers(), [container]);
}

/// The link's heartbeats take half a minute to detect a dead link.
#[test]
fn pause_of_a_container_in_use_stops_its_commands_and_loses_none() {
    let (_server, alice, cleanup) = start(&[]);
    shell(&alice, "true");
    let container = cleanup.containers().remove(0);
    let most = count("SANDBRIDGE_PAUSED_COUNT", 50);
    let counting = format!("i=0; while [ $i -lt {most} ]; do i=$((i+1)); echo $i; sleep 0.1; done");
    let mut client =
        alice.command(&["exec", "--", "sh", "-c", &counting]).stdout(Stdio::piped()).spawn().unwrap();
    let mut counted = BufReader::new(client.stdout.take().unwrap());
    let mut first = String::new();
    counted.read_line(&mut first).unwrap();
    docker(&["pause", &container]).unwrap();
    // Requests that were sent before the link was found dead wait for the link, as the counting command does; later requests fail at once.
    let told = eventually("the pause is reported", Duration::from_secs(120), || {
        let mut asking = alice.command(&["exec", "--", "true"]).stderr(Stdio::piped()).spawn().unwrap();
        let asked = Instant::now();
        while asking.try_wait().unwrap().is_none() && asked.elapsed() < Duration::from_secs(2) {
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = asking.kill();
        let output = asking.wait_with_output().unwrap();
        (output.status.code() == Some(125)).then(|| String::from_utf8_lossy(&output.stderr).into_owned())
    });
    assert!(told.contains("docker unpause"), "{told}");
    docker(&["unpause", &container]).unwrap();
    let counted: Vec<String> =
        std::iter::once(first.trim_end().to_owned()).chain(counted.lines().map(Result::unwrap)).collect();
    assert_eq!(counted, (1..=most).map(|number| number.to_string()).collect::<Vec<_>>());
    assert_eq!(client.wait().unwrap().code(), Some(0));
    assert_eq!(shell(&alice, "echo again"), "again");
}

/// A separate file system, unmounted when dropped.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=1m", "none"])
            .arg(directory.path())
            .status()
            .unwrap();
        assert!(mounted.success());
        Self(directory)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0.path()).status();
    }
}

#[test]
fn full_disk_of_a_container_is_reported_and_a_file_that_did_not_fit_leaves_the_old_one() {
    let disk = SmallDisk::new();
    let (_server, alice, _cleanup) = start(&["--docker-workspace-dir", disk.path().to_str().unwrap()]);
    shell(&alice, "echo old > file");
    let large = tempfile::NamedTempFile::new().unwrap();
    large.as_file().set_len(4 << 20).unwrap();
    let copied = alice.run(&["cp", "--json", large.path().to_str().unwrap(), ":file"]);
    let told: serde_json::Value = serde_json::from_str(copied.stdout.lines().last().unwrap()).unwrap();
    assert_eq!(told["kind"], "no_space", "{told}");
    assert_eq!(shell(&alice, "cat file"), "old");
    let filler = alice.run(&["exec", "--", "dd", "if=/dev/zero", "of=filler", "bs=64k"]);
    assert!(filler.code == 1 && filler.stderr.contains("No space left"), "{}", filler.stderr);
    assert_eq!(shell(&alice, "rm filler; echo room > again; cat again"), "room");
}

#[test]
fn container_is_created_again_when_the_runner_program_changed() {
    let folder = tempfile::tempdir().unwrap();
    let runner = folder.path().join("runner");
    std::fs::copy(binaries::runner_static(), &runner).unwrap();
    let options = ["--runner-static", runner.to_str().unwrap()];
    let (mut server, alice, cleanup) = start(&options);
    shell(&alice, "echo kept > file");
    let old = cleanup.containers().remove(0);
    let (mounted, recorded) = runner_digests(&old);
    assert_eq!(mounted, recorded, "the mounted program is the recorded one");

    // Replaces the file as an update would; a running container does not see the new file.
    let next = folder.path().join("next");
    std::fs::copy(&runner, &next).unwrap();
    let mut bytes = std::fs::read(&next).unwrap();
    bytes.push(0);
    std::fs::write(&next, bytes).unwrap();
    std::fs::rename(&next, &runner).unwrap();
    server.restart(&[&OPTIONS[..], &options].concat());
    assert_eq!(shell(&alice, "cat file"), "kept");
    let new = cleanup.containers().remove(0);
    assert_ne!(old, new);
    let (mounted_now, recorded) = runner_digests(&new);
    assert_eq!(mounted_now, recorded);
    assert_ne!(mounted_now, mounted);
}
