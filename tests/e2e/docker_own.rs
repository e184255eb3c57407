//! Operations on a user's whole container: commit, export, import and reset.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use tests::docker::{IMAGE, docker, ready};
use tests::{Person, Server};

use crate::docker::{Cleanup, runner_digests, shell};

fn start() -> (Server, Person, Cleanup) {
    ready();
    let server =
        Server::start_with(&["--docker", "on", "--docker-image", IMAGE, "--docker-profile", "full-control"]);
    let alice = server.person("alice");
    alice.run(&["use", "__docker__"]);
    let cleanup = Cleanup::of(&server);
    (server, alice, cleanup)
}

fn ok(person: &Person, arguments: &[&str]) -> String {
    let output = person.run(arguments);
    assert_eq!(output.code, 0, "{arguments:?}: {}", output.stderr);
    output.stdout
}

/// Packs a directory with the system's tar.
fn packed(directory: &Path, archive: &Path) {
    let status =
        Command::new("tar").arg("-C").arg(directory).arg("-cf").arg(archive).arg(".").status().unwrap();
    assert!(status.success());
}

#[test]
fn commit_survives_the_container_and_reset_removes_it() {
    let (_server, alice, cleanup) = start();
    let nothing = alice.run(&["container", "commit"]);
    assert!(nothing.code == 1 && nothing.stderr.contains("no container yet"), "{}", nothing.stderr);
    assert_eq!(alice.json(&["container", "status", "--json"])["state"], "none");
    shell(&alice, "echo tool > /tool; echo mine > file");
    ok(&alice, &["container", "commit"]);
    let status = alice.json(&["container", "status", "--json"]);
    assert_eq!((&status["state"], &status["own_image"]), (&"running".into(), &true.into()), "{status}");
    docker(&["rm", "-f", &cleanup.containers()[0]]).unwrap();
    assert_eq!(shell(&alice, "cat /tool file"), "tool\nmine", "from the user's own image");
    ok(&alice, &["container", "stop"]);
    assert_eq!(alice.json(&["container", "status", "--json"])["state"], "stopped");
    assert_eq!(shell(&alice, "cat /tool"), "tool", "started again");
    ok(&alice, &["container", "reset"]);
    assert!(cleanup.containers().is_empty());
    assert_eq!(shell(&alice, "cat file; ls /tool 2>/dev/null || echo gone"), "mine\ngone");
    ok(&alice, &["container", "reset", "--workspace"]);
    assert_eq!(shell(&alice, "ls"), "");
}

#[test]
fn export_of_one_user_becomes_the_container_of_another() {
    let (server, alice, _cleanup) = start();
    let bob = server.person("bob");
    bob.run(&["use", "__docker__"]);
    shell(&alice, "echo tool > /tool; echo alices > file");
    shell(&bob, "echo bobs > file");
    let folder = tempfile::tempdir().unwrap();
    let archive = folder.path().join("a.tar");
    let archive = archive.to_str().unwrap();
    ok(&alice, &["container", "export", archive]);
    let listed = Command::new("tar").args(["-tf", archive]).output().unwrap();
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    for path in ["tool", "workspace/file", "bin/busybox"] {
        assert!(listed.lines().any(|line| line.trim_start_matches('/') == path), "{path}: {listed}");
    }
    ok(&bob, &["container", "import", archive]);
    assert_eq!(shell(&bob, "cat /tool file"), "tool\nbobs", "the workspace is not replaced");
    ok(&bob, &["container", "import", "--workspace", archive]);
    assert_eq!(shell(&bob, "cat /tool file"), "tool\nalices");
    assert_eq!(shell(&alice, "cat file"), "alices");

    let bad = folder.path().join("bad.tar");
    std::fs::write(&bad, vec![0x5a; 100_000]).unwrap();
    let refused = bob.run(&["container", "import", bad.to_str().unwrap()]);
    assert!(refused.code == 1 && refused.stderr.contains("not a complete tar archive"), "{}", refused.stderr);
    let whole = std::fs::read(archive).unwrap();
    std::fs::write(&bad, &whole[..whole.len() / 2]).unwrap();
    let refused = bob.run(&["container", "import", bad.to_str().unwrap()]);
    assert_ne!(refused.code, 0, "half an archive");
    assert_eq!(shell(&bob, "cat /tool"), "tool", "as before");
    for person in [&alice, &bob] {
        ok(person, &["container", "reset", "--workspace"]);
    }
}

#[test]
fn hostile_image_changes_neither_the_containers_runner_nor_its_rights() {
    let (_server, alice, cleanup) = start();
    shell(&alice, "printf '#!/bin/sh\\nexec sleep 1000\\n' > sandbridge-runner; chmod 755 sandbridge-runner");
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("root");
    for directory in ["bin", "usr/local", "etc", "workspace"] {
        std::fs::create_dir_all(root.join(directory)).unwrap();
    }
    std::fs::copy("/bin/busybox", root.join("bin/busybox")).unwrap();
    for applet in ["sh", "cat", "grep", "cut", "sha256sum", "readlink", "id", "ls"] {
        symlink("busybox", root.join("bin").join(applet)).unwrap();
    }
    // Anything at the runner's mount point resolves to the workspace, which the user can write to.
    symlink("/workspace", root.join("dev")).unwrap();
    symlink("/workspace", root.join("usr/local/bin")).unwrap();
    symlink("/workspace", root.join("proc")).unwrap();
    std::fs::write(root.join("etc/passwd"), "root:x:0:0:root:/root:/bin/sh\n").unwrap();
    let archive = folder.path().join("hostile.tar");
    packed(&root, &archive);
    ok(&alice, &["container", "import", archive.to_str().unwrap()]);
    assert_eq!(shell(&alice, "echo runs"), "runs");
    let container = cleanup.containers().remove(0);
    let (mounted, recorded) = runner_digests(&container);
    assert_eq!(mounted, recorded);
    let first = docker(&["exec", &container, "cat", "/proc/1/cmdline"]).unwrap();
    assert!(first.starts_with("/dev/sandbridge-runner\0"), "{first}");
    assert_eq!(shell(&alice, "grep NoNewPrivs /proc/self/status | cut -f2"), "1");
    let held = shell(&alice, "grep CapBnd /proc/1/status | cut -f2");
    assert_eq!(u64::from_str_radix(&held, 16).unwrap(), 0b1111_1011);
    ok(&alice, &["container", "reset", "--workspace"]);
}

#[test]
fn a_container_cannot_be_used_without_a_session() {
    let server = Server::start();
    let anonymous = tests::http::Client::anonymous(&server);
    for (method, path) in [
        ("GET", "/container"),
        ("GET", "/container/export"),
        ("POST", "/container/commit"),
        ("POST", "/container/stop"),
        ("PUT", "/container/import"),
        ("DELETE", "/container"),
    ] {
        assert_eq!(anonymous.send(method, path, b"").status, 401, "{method} {path}");
    }
    let alice = server.person("alice");
    let refused = alice.run(&["container", "status"]);
    assert!(refused.code == 1 && refused.stderr.contains("Docker is not enabled"), "{}", refused.stderr);
}
