//! Runs the essential part of the corpus on the other backends: the server's own sandbox, and a container.

use std::fs;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;
use tests::{Person, Server, docker, process};

use super::corpus::{ATTACKS, Attack};
use super::runs::{NOTHING_HERE, batch, read_codes, threads};
use super::world::compile_probe;
use crate::docker::Cleanup;

/// The minimum number of attacks that must get through without a guard, so that the check is meaningful.
const PROVEN: usize = 30;

fn script_of(attack: &Attack) -> String {
    if attack.is_essential { attack.script.to_owned() } else { String::new() }
}

/// A script of all essential attacks; `out` is a directory outside of the workspace with a file `secret`.
fn script(probe: &str, out: &str, runner: &str, threads: &str) -> String {
    let variables =
        format!("P={probe}\nOUT={out}\nSTATE={out}\nRP={runner}\nT=\"{threads}\"\nKEY=essential\n");
    batch(&variables, script_of)
}

/// Checks that no attack got through.
fn check(person: &Person, script: &str) {
    let played = person.run(&["exec", "--timeout", "60", "--", "sh", script]);
    let codes = read_codes(&played.stdout);
    assert_eq!(codes.len(), essential(), "{codes:?} {}", played.stderr);
    for (index, code) in codes {
        assert_ne!(code, 0, "\"{}\" got through", ATTACKS[index].name);
    }
    assert_eq!(person.run(&["exec", "--", "echo", "alive"]).stdout, "alive\n");
}

fn essential() -> usize {
    ATTACKS.iter().filter(|attack| attack.is_essential).count()
}

#[test]
fn no_essential_attack_escapes_from_the_local_sandbox() {
    let server = Server::start_with(&["--docker", "off", "--local", "admins"]);
    let root = server.person("root");
    root.run(&["use", "none"]);
    let workspace = root.run(&["exec", "--", "pwd"]).stdout.trim_end().to_owned();
    let workspace = Path::new(&workspace);
    let out = TempDir::new_in("/var/tmp").unwrap();
    for file in ["secret", "removed"] {
        fs::write(out.path().join(file), "treasure").unwrap();
    }
    let probe = workspace.join("probe");
    compile_probe(&probe);
    let guardian = process::children(server.pid())[0];
    let (probe, outside) = (probe.to_str().unwrap(), out.path().to_str().unwrap());
    // The corpus's own runs show that the same scripts get through unguarded, on the same machine.
    fs::write(workspace.join("script"), script(probe, outside, "", &threads(guardian))).unwrap();
    check(&root, "./script");
    let mut left: Vec<_> =
        fs::read_dir(out.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["removed", "secret"]);
}

#[test]
fn no_essential_attack_escapes_from_a_containers_runner() {
    if !rustix::process::geteuid().is_root() {
        return eprintln!("only root can enter a container as the unguarded twin");
    }
    docker::ready();
    let server = Server::start_with(&["--docker", "on", "--docker-image", docker::IMAGE]);
    let root = server.person("root");
    let cleanup = Cleanup::of(&server);
    root.run(&["use", "__docker__"]);
    let first = root.run(&["exec", "--", "true"]);
    assert_eq!(first.code, 0, "{}", first.stderr);
    let container = cleanup.containers().remove(0);
    let init = docker::docker(&["inspect", "-f", "{{.State.Pid}}", &container]).unwrap();
    // Runs a process with all capabilities and no filter, alongside the runner.
    let unguarded = |script: &str| {
        let mut command = Command::new("nsenter");
        command.args(["--target", init.trim(), "--mount", "--pid", "--ipc", "--wdns=/workspace", "sh", "-c"]);
        let output = command.arg(script).env("SECRET", "treasure").output().unwrap();
        assert!(output.status.success(), "{script}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let files = TempDir::new().unwrap();
    compile_probe(&files.path().join("probe"));
    let threads =
        unguarded("mkdir /out; echo treasure | tee /out/secret /out/removed >/dev/null; ls /proc/1/task");
    let threads = threads.split_whitespace().collect::<Vec<_>>().join(" ");
    fs::write(files.path().join("script"), script("/workspace/probe", "/out", "1", &threads)).unwrap();
    for file in ["probe", "script"] {
        let from = files.path().join(file);
        docker::docker(&["cp", from.to_str().unwrap(), &format!("{container}:/workspace/{file}")]).unwrap();
    }
    check(&root, "./script");
    assert_eq!(unguarded("ls /out; cat /out/*"), "removed\nsecret\ntreasure\ntreasure\n");
    let codes = read_codes(&unguarded("rm -rf at; exec 9</out/secret; sh ./script"));
    let proven = codes.values().filter(|code| **code == 0).count();
    for (index, code) in codes.iter().filter(|(_, code)| **code != 0) {
        let why = if *code == NOTHING_HERE { "nothing of the kind" } else { "not even unguarded" };
        eprintln!("not provable in a container ({why}): {}", ATTACKS[*index].name);
    }
    eprintln!("{proven} of {} get through in a container that is not guarded", essential());
    assert!(proven >= PROVEN, "{proven} of {}: {codes:?}", essential());
}
