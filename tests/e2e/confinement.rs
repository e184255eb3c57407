//! The permissions of a confined command on a development machine.

use std::fs;

use tempfile::TempDir;
use tests::{Machine, Person, Server, process};

fn setup() -> (Server, Person, Machine) {
    let server = Server::start();
    let person = server.person("alice");
    let machine = Machine::start(&server, &person, "laptop");
    (server, person, machine)
}

fn shell(person: &Person, script: &str) -> tests::Output {
    person.run(&["exec", "--", "sh", "-c", script])
}

#[test]
fn files_outside_the_workspace_are_out_of_reach() {
    let (_server, alice, machine) = setup();
    let outside = TempDir::with_prefix("sandbridge-outside-").unwrap();
    let secret = outside.path().join("secret");
    fs::write(&secret, "treasure").unwrap();
    for path in [secret.to_str().unwrap(), "/etc/shadow", "/root/.ssh/id_ed25519", "/root/.bash_history"] {
        let output = shell(&alice, &format!("cat {path}"));
        assert_ne!(output.code, 0, "{path} was read: {}", output.stdout);
        assert_eq!(output.stdout, "");
    }
    for path in [outside.path().join("new").to_str().unwrap(), "/etc/new", "/usr/new", "/opt/new", "/var/new"]
    {
        let output = shell(&alice, &format!("echo x > {path}"));
        assert_ne!(output.code, 0, "{path} was written");
        assert!(!fs::exists(path).unwrap(), "{path} exists");
    }
    assert_eq!(fs::read(&secret).unwrap(), b"treasure");
    assert_eq!(shell(&alice, "echo ok > inside && cat inside").stdout, "ok\n");
    assert_eq!(fs::read_to_string(machine.workspace().join("inside")).unwrap(), "ok\n");
}

#[test]
fn the_token_cannot_be_read_anywhere() {
    let server = Server::start();
    let alice = server.person("alice");
    let token = alice.add_runner("laptop");
    let machine = Machine::start_with_token(&server, "laptop", &token, &[]);
    machine.wait_online(&alice, "laptop");
    for pid in [machine.guardian_pid(), machine.runner_pid()] {
        for file in ["cmdline", "environ"] {
            let content = fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
            assert!(!String::from_utf8_lossy(&content).contains(&token), "the token is in {file} of {pid}");
        }
    }
    // The token is split, so that the search does not match its own command line.
    let (head, tail) = token.split_at(10);
    let script = format!(
        "t={head}; t=\"${{t}}{tail}\"; cat /proc/*/environ /proc/*/cmdline 2>/dev/null | tr '\\0' '\\n' | grep -v '^t=' | grep -cF \"$t\"; \
         grep -rlsF --exclude-dir=toolchains \"$t\" \"$HOME\" /tmp /run /dev/shm . ; env | grep -F \"$t\"; true"
    );
    let found = shell(&alice, &script);
    let own_command_line = found.stdout.lines().next().unwrap_or("0").parse::<u32>().unwrap();
    assert!(own_command_line <= 1 && found.stdout.lines().count() == 1, "{found:?}");
    let memory =
        shell(&alice, "for p in /proc/[0-9]*; do head -c 1 $p/mem 2>/dev/null && echo $p; done; true");
    assert!(!memory.stdout.contains("/proc/1\n"), "{}", memory.stdout);
}

#[test]
fn a_token_on_the_command_line_is_removed_from_it() {
    let server = Server::start();
    let alice = server.person("alice");
    let token = alice.add_runner("laptop");
    let (workspace, state) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let mut runner = std::process::Command::new(tests::binaries::runner())
        .args(["--server", server.url(), "--token", &token, "--workspace"])
        .arg(workspace.path())
        .arg("--state-dir")
        .arg(state.path())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    tests::eventually("online", std::time::Duration::from_secs(60), || {
        alice.is_online("laptop").then_some(())
    });
    let everyone = process::with_marker(&token);
    process::terminate(&mut runner);
    assert!(everyone.is_empty(), "the token is in the command line of {everyone:?}");
}

#[test]
fn the_runner_cannot_be_killed_and_its_confinement_cannot_be_undone() {
    let (_server, alice, machine) = setup();
    let pids = format!("1 {} {}", machine.guardian_pid(), machine.runner_pid());
    shell(&alice, &format!("for p in {pids} $PPID; do kill -9 $p 2>/dev/null; done; true"));
    assert!(process::is_alive(machine.guardian_pid()) && process::is_alive(machine.runner_pid()));
    for script in [
        "mount -t tmpfs none .",
        "unshare -m true",
        "unshare -U true",
        "mknod device b 8 0",
        "chroot / true",
        "mkdir -p x && mount --bind / x",
    ] {
        assert_ne!(shell(&alice, script).code, 0, "{script} succeeded");
    }
    assert_eq!(shell(&alice, "echo still here").stdout, "still here\n");
}

#[test]
fn sockets_of_the_machine_are_hidden() {
    let (_server, alice, _machine) = setup();
    for path in
        ["/run/docker.sock", "/var/run/docker.sock", "/run/dbus/system_bus_socket", "/run/systemd/private"]
    {
        assert_ne!(shell(&alice, &format!("test -e {path}")).code, 0, "{path} can be reached");
    }
    let output = shell(&alice, "env | grep -E 'SSH_AUTH_SOCK|DBUS|DOCKER_HOST'; ls -A /tmp /run /dev/shm");
    assert!(!output.stdout.contains("sock"), "{}", output.stdout);
}

#[test]
fn home_is_private_persistent_and_usable_for_tools() {
    let (_server, alice, _machine) = setup();
    assert_eq!(
        shell(&alice, "echo kept > ~/file; cat ~/file; ls -A ~ | head -3").stdout.lines().next(),
        Some("kept")
    );
    assert_eq!(shell(&alice, "cat ~/file").stdout, "kept\n");
    let home =
        fs::read_dir("/root").map(|entries| entries.flatten().any(|entry| entry.file_name() == "file"));
    assert!(!home.unwrap_or(false), "the real home was written");
    let git = shell(
        &alice,
        "git init -q repo && cd repo && git config user.email a@b && git config user.name n && \
        echo x > f && git add f && git commit -qm first && git log --oneline | wc -l",
    );
    assert_eq!((git.code, git.stdout.trim()), (0, "1"), "{}", git.stderr);
    assert_eq!(shell(&alice, "echo x > /dev/null && echo y > /tmp/y && cat /tmp/y").stdout, "y\n");
}

#[test]
fn a_denial_is_distinguished_from_a_failure() {
    let (_server, alice, _machine) = setup();
    let denied = |script: &str| {
        let output = alice.run(&["exec", "--json", "--", "sh", "-c", script]);
        let exit: serde_json::Value = serde_json::from_str(output.stdout.lines().last().unwrap()).unwrap();
        exit["sandbox_denied"].as_bool().unwrap()
    };
    assert!(denied("echo x > /etc/new"));
    assert!(!denied("exit 1"));
    assert!(!denied("cat missing"));
    assert!(!denied("true"));
}

#[test]
fn no_descriptor_leaks_into_a_command() {
    let (_server, alice, _machine) = setup();
    let output = shell(&alice, "ls /proc/self/fd");
    let open: Vec<_> = output.stdout.split_whitespace().collect();
    assert_eq!(open, ["0", "1", "2", "3"], "3 is the directory that ls reads");
}

#[test]
fn read_only_profile_cannot_write_the_workspace() {
    let server = Server::start();
    let alice = server.person("alice");
    let machine = Machine::start_with(&server, &alice, "laptop", &["--profile", "read-only"]);
    fs::write(machine.workspace().join("file"), "text").unwrap();
    assert_eq!(shell(&alice, "cat file").stdout, "text");
    assert_ne!(shell(&alice, "echo x > file").code, 0);
    assert_ne!(alice.run(&["cp", "/etc/hostname", ":file"]).code, 0, "nor can the file API");
    assert_eq!(fs::read_to_string(machine.workspace().join("file")).unwrap(), "text");
}

#[test]
fn the_layers_in_force_are_reported() {
    let (_server, alice, _machine) = setup();
    let list = alice.json(&["runner", "list", "--json"]);
    let runner = &list.as_array().unwrap()[0];
    assert_eq!((runner["profile"].as_str(), runner["name"].as_str()), (Some("workspace"), Some("laptop")));
    let layers = runner["layers"].as_array().unwrap();
    for name in ["landlock", "seccomp", "capabilities", "mount-namespace"] {
        assert!(layers.iter().any(|layer| layer["name"] == name), "{name} in {layers:?}");
    }
    assert!(runner["kill_tier"].is_string() && runner["last_seen"].is_number(), "{runner}");
    let doctor = std::process::Command::new(tests::binaries::runner()).arg("doctor").output().unwrap();
    let text = String::from_utf8_lossy(&doctor.stdout).into_owned();
    assert!(text.contains("landlock") && text.contains("seccomp"), "{text}");
}
