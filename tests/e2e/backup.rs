//! `sandbridge backup` and `restore`, while a server is in use and on a full disk.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use tempfile::TempDir;
use tests::http::Client;
use tests::server::{Output, run};
use tests::{Server, binaries, eventually};

const PATIENCE: Duration = Duration::from_secs(60);
/// The number of backups under load, unless `SANDBRIDGE_ROUNDS` sets it.
const ROUNDS: u32 = 2;
/// The number of threads that write at the same time.
const WRITERS: usize = 3;
/// The pause of each writer after an answer: the data must stay small enough to be searched.
const BETWEEN_WRITES: Duration = Duration::from_millis(10);
/// The minimum number of acknowledged writes between two backups.
const WRITTEN: usize = 30;

pub(crate) fn sandbridge(home: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(binaries::sandbridge());
    command.args(arguments).env("SANDBRIDGE_HOME", home);
    run(command, b"")
}

#[test]
fn a_backup_under_load_contains_everything_acknowledged_before_it() {
    let server = Server::start();
    let _alice = server.person("alice");
    let (acknowledged, is_over) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicBool::new(false)));
    let writers: Vec<_> = (0..WRITERS)
        .map(|_| {
            let client = Client::login(&server, "alice");
            let (acknowledged, is_over) = (acknowledged.clone(), is_over.clone());
            thread::spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    let answer = client.send("POST", "/chats", b"{}");
                    assert_eq!(answer.status, 201);
                    acknowledged.lock().unwrap().push(answer.json()["id"].as_str().unwrap().to_owned());
                    thread::sleep(BETWEEN_WRITES);
                }
            })
        })
        .collect();
    let folder = TempDir::with_prefix("sandbridge-backup-").unwrap();
    let file = folder.path().join("backup");
    let rounds = std::env::var("SANDBRIDGE_ROUNDS").map_or(ROUNDS, |rounds| rounds.parse().unwrap());
    let mut before = 0;
    for round in 0..rounds {
        eventually("more is written", PATIENCE, || {
            (acknowledged.lock().unwrap().len() >= before + WRITTEN).then_some(())
        });
        // The writes of earlier rounds were already checked.
        let known = acknowledged.lock().unwrap()[before..].to_vec();
        before += known.len();
        let made = sandbridge(server.home(), &["backup", file.to_str().unwrap(), "--with-key"]);
        assert_eq!(made.code, 0, "{}", made.stderr);
        let home = TempDir::with_prefix("sandbridge-restored-").unwrap();
        let restored = sandbridge(home.path(), &["restore", file.to_str().unwrap(), "--json"]);
        assert_eq!(restored.code, 0, "{}", restored.stderr);
        let other = Server::start_in(home, &["--docker", "off"]);
        let alice = Client::login(&other, "alice");
        let missing: Vec<_> =
            known.iter().filter(|chat| alice.call("GET", &format!("/chats/{chat}")).status != 200).collect();
        assert!(missing.is_empty(), "round {round}: {} of {} are missing", missing.len(), known.len());
        // A restore over a running server is refused.
        let refused = sandbridge(other.home(), &["restore", file.to_str().unwrap()]);
        assert!(refused.code == 1 && refused.stderr.contains("another server"), "{}", refused.stderr);
    }
    is_over.store(true, Ordering::Relaxed);
    for writer in writers {
        writer.join().unwrap();
    }
}

#[test]
fn a_backup_onto_a_full_disk_is_refused_and_the_earlier_one_stays() {
    let server = Server::start();
    server.person("alice");
    let folder = TempDir::with_prefix("sandbridge-full-").unwrap();
    let script = r#"
        mount -t tmpfs -o size=2m none "$0" && cd "$0" || exit 99
        "$1" backup copy --with-key || exit 98
        sha256sum copy copy.key > sums; chmod 600 sums
        dd if=/dev/zero of=fill bs=4k 2>/dev/null
        "$1" backup copy --with-key; echo "code $?"
        sha256sum --status -c sums && echo same
        stat -c '%a %n' *
    "#;
    let mut command = Command::new("unshare");
    // This works with or without root, because the user becomes root in a user namespace, where mounting is allowed.
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c", script]);
    command.arg(folder.path()).arg(binaries::sandbridge()).env("SANDBRIDGE_HOME", server.home());
    let said = run(command, b"");
    assert_eq!(said.code, 0, "{} {}", said.stdout, said.stderr);
    assert!(
        said.stdout.contains("code 1") && said.stdout.contains("same"),
        "{} {}",
        said.stdout,
        said.stderr
    );
    assert!(said.stderr.contains("cannot"), "{}", said.stderr);
    let files: Vec<&str> = said.stdout.lines().skip_while(|line| *line != "same").skip(1).collect();
    assert_eq!(files, ["600 copy", "600 copy.key", "644 fill", "600 sums"]);
}
