//! The Docker backend on a real engine.

use tests::docker::{IMAGE, docker, ready};
use tests::{Person, Server};

/// Removes the containers, volumes and networks that a server created. Containers carry the path of the server's home
/// directory in a label, so tests do not affect each other.
pub(crate) struct Cleanup {
    filter: String,
}

impl Cleanup {
    pub(crate) fn of(server: &Server) -> Self {
        Self { filter: format!("label=sandbridge.home={}", server.home().display()) }
    }

    /// Ids of the containers, running or not.
    pub(crate) fn containers(&self) -> Vec<String> {
        let list = docker(&["ps", "-aq", "--no-trunc", "--filter", &self.filter]).unwrap();
        list.split_whitespace().map(str::to_owned).collect()
    }
}

impl Drop for Cleanup {
    fn drop(&mut self) {
        for container in self.containers() {
            docker(&["rm", "-f", "-v", &container]);
        }
        let volumes = docker(&["volume", "ls", "-q", "--filter", &self.filter]).unwrap_or_default();
        for volume in volumes.split_whitespace() {
            docker(&["volume", "rm", "-f", volume]);
        }
        let networks = docker(&["network", "ls", "-q", "--filter", &self.filter]).unwrap_or_default();
        for network in networks.split_whitespace() {
            docker(&["network", "rm", network]);
        }
    }
}

fn start() -> (Server, Person, Cleanup) {
    ready();
    let server = Server::start_with(&["--docker", "on", "--docker-image", IMAGE]);
    let alice = server.person("alice");
    alice.run(&["use", "__docker__"]);
    let cleanup = Cleanup::of(&server);
    (server, alice, cleanup)
}

pub(crate) fn shell(person: &Person, script: &str) -> String {
    let output = person.run(&["exec", "--", "sh", "-c", script]);
    assert_eq!(output.code, 0, "{script}: {}", output.stderr);
    output.stdout.trim_end().to_owned()
}

/// The SHA-256 of a container's runner program, and the recorded one.
pub(crate) fn runner_digests(container: &str) -> (String, String) {
    let mounted = docker(&["exec", container, "sha256sum", "/dev/sandbridge-runner"]).unwrap();
    let label = "{{index .Config.Labels \"sandbridge.runner\"}}";
    let recorded = docker(&["inspect", "-f", label, container]).unwrap();
    (mounted.split(' ').next().unwrap().to_owned(), recorded.trim().to_owned())
}

#[test]
fn container_keeps_its_files_when_it_is_stopped_and_started() {
    let (mut server, alice, cleanup) = start();
    shell(&alice, "echo kept > file");
    let container = cleanup.containers();
    assert_eq!(container.len(), 1);
    server.restart(&["--docker", "on", "--docker-image", IMAGE]);
    let state = docker(&["inspect", "-f", "{{.State.Running}}", &container[0]]).unwrap();
    assert_eq!(state.trim(), "false", "stopped with the server, not removed");
    assert_eq!(shell(&alice, "cat file"), "kept");
    assert_eq!(cleanup.containers(), container, "the same container again");
    docker(&["kill", &container[0]]).unwrap();
    let again =
        tests::eventually("a killed container is started again", std::time::Duration::from_secs(60), || {
            let output = alice.run(&["exec", "--", "cat", "file"]);
            (output.code == 0).then_some(output.stdout)
        });
    assert_eq!(again, "kept\n");
}

#[test]
fn each_user_has_one_container_of_their_own() {
    let (server, alice, cleanup) = start();
    let bob = server.person("bob");
    bob.run(&["use", "__docker__"]);
    std::thread::scope(|scope| {
        for person in [&alice, &alice, &bob, &bob] {
            scope.spawn(move || shell(person, "echo x >> $$"));
        }
    });
    assert_eq!(cleanup.containers().len(), 2);
    shell(&alice, "echo mine > alice");
    assert_eq!(bob.run(&["exec", "--", "cat", "alice"]).code, 1);
}

#[test]
fn container_is_set_up_as_documented() {
    let (_server, alice, cleanup) = start();
    shell(&alice, "true");
    let container = cleanup.containers().remove(0);
    let inspect = |format: &str| docker(&["inspect", "-f", format, &container]).unwrap().trim().to_owned();
    assert_eq!(inspect("{{.HostConfig.LogConfig.Type}}"), "none");
    assert!(inspect("{{.HostConfig.SecurityOpt}}").contains("no-new-privileges"));
    assert_eq!(inspect("{{.HostConfig.Privileged}}"), "false");
    assert!(inspect("{{.HostConfig.CapDrop}}").contains("ALL"));
    assert!(!inspect("{{json .Mounts}}").contains("docker.sock"));
    let mounts: serde_json::Value = serde_json::from_str(&inspect("{{json .Mounts}}")).unwrap();
    let runner = mounts.as_array().unwrap().iter().find(|mount| mount["Type"] == "bind").unwrap();
    assert_eq!(runner["RW"], false, "{runner}");
    let capabilities = shell(&alice, "grep CapBnd /proc/self/status | cut -f2");
    // Only the capabilities CHOWN 0, DAC_OVERRIDE 1, FOWNER 3, FSETID 4, KILL 5, SETGID 6 and SETUID 7 are allowed.
    let allowed = 0b1111_1011u64;
    let held = u64::from_str_radix(capabilities.trim(), 16).unwrap();
    assert_eq!(held & !allowed, 0, "{capabilities}");
    let overwrite = alice.run(&["exec", "--", "sh", "-c", "echo x > /dev/sandbridge-runner"]);
    assert_ne!(overwrite.code, 0, "the runner's binary cannot be overwritten");
}

#[test]
fn tree_is_killed_in_a_container_too() {
    let (_server, alice, _cleanup) = start();
    let output = alice.run(&[
        "exec",
        "--timeout",
        "1",
        "--",
        "sh",
        "-c",
        "echo partial; setsid sleep 600 & sleep 600",
    ]);
    assert_eq!((output.code, output.stdout.as_str()), (124, "partial\n"), "{}", output.stderr);
    let living = "grep -hE '\\(sleep\\) [^ZX]' /proc/[0-9]*/stat || true";
    assert_eq!(shell(&alice, living), "", "no sleep process is left");
    let background = std::time::Instant::now();
    assert_eq!(shell(&alice, "sleep 60 & echo x"), "x");
    assert!(background.elapsed() < std::time::Duration::from_secs(45), "{:?}", background.elapsed());
}

#[test]
fn a_missing_docker_image_is_reported() {
    ready();
    let server = Server::start_with(&["--docker", "on", "--docker-image", "sandbridge-test:missing"]);
    let alice = server.person("alice");
    let _cleanup = Cleanup::of(&server);
    alice.run(&["use", "__docker__"]);
    let output = alice.run(&["exec", "--", "true"]);
    assert_eq!(output.code, 125);
    assert!(output.stderr.contains("sandbridge-test:missing"), "{}", output.stderr);
    let (standing, detail) = doctor(&alice);
    assert!(standing != "works" && detail.contains("sandbridge-test:missing"), "{standing}: {detail}");
}

#[test]
fn the_doctor_runs_a_command_in_a_container_and_leaves_none_running() {
    let (_server, alice, cleanup) = start();
    let (standing, detail) = doctor(&alice);
    assert!(standing == "works" && detail.contains(IMAGE), "{standing}: {detail}");
    assert_eq!(alice.json(&["container", "status", "--json"])["state"], "stopped");
    // A container that was already running keeps running, with its processes.
    assert_eq!(alice.run(&["exec", "--", "true"]).code, 0);
    assert_eq!(doctor(&alice).0, "works");
    assert_eq!(alice.json(&["container", "status", "--json"])["state"], "running");
    drop(cleanup);
}

/// The report of `sandbridge doctor` about Docker.
fn doctor(alice: &Person) -> (String, String) {
    let output = alice.run(&["doctor", "--skip-model", "--json"]);
    let report: serde_json::Value =
        serde_json::from_str(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    let found = report["checks"].as_array().unwrap().iter().find(|check| check["name"] == "docker");
    let text = |name: &str| found.unwrap()[name].as_str().unwrap().to_owned();
    (text("standing"), text("detail"))
}
