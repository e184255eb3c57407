//! A confined command swaps a directory for a link to the outside while the file API, which is not confined, goes through
//! that directory. The files outside are watched: none of them may be read, changed or created.
//!
//! Static traps are in [`file_attacks`](super::file_attacks).

use std::time::{Duration, Instant};

use rustix::process::Signal;
use tests::http::{Answer, Client, encode};
use tests::{Machine, Person, Server, docker, process};

/// The minimum number of requests in a race, and the time that a race may take beyond its planned duration.
const ROUNDS: usize = 50;
const PATIENCE: Duration = Duration::from_secs(60);

/// A request to the file API.
#[derive(Debug, Clone, Copy)]
enum Ask {
    Read,
    Write,
    List,
    Mkdir,
    RemoveAll,
}

use Ask::{List, Mkdir, Read, RemoveAll, Write};

/// A sandbox to attack, and the files outside of it.
struct Target<'a> {
    person: &'a Person,
    client: Client,
    /// Reads the files outside: a listing with contents.
    outside: Box<dyn Fn() -> String + 'a>,
    out: String,
}

impl Target<'_> {
    fn fill(&self, text: &str) -> String {
        text.replace("$OUT", &self.out)
    }

    fn plant(&self, script: &str) {
        let script = format!("rm -rf ./* ./.[a-z]*; {}", self.fill(script));
        let planted = self.person.run(&["exec", "--", "sh", "-c", &script]);
        assert!(planted.code < 125, "{script}: {}", planted.stderr);
    }

    fn ask(&self, ask: Ask, path: &str) -> Answer {
        let path = self.fill(path);
        let query = encode(&path);
        match ask {
            Read => self.client.call("GET", &format!("/files?path={query}")),
            Write => self.client.send("PUT", &format!("/files?path={query}"), b"planted"),
            List => self.client.call("GET", &format!("/files/list?path={query}")),
            Mkdir => self.client.call("POST", &format!("/files/mkdir?path={query}")),
            RemoveAll => self.client.call("DELETE", &format!("/files?path={query}&recursive=true")),
        }
    }

    /// Swaps a directory and a link to the outside while the file API uses that name.
    fn race(&self, duration: Duration) {
        let before = (self.outside)();
        self.plant("mkdir d; echo inside > d/secret");
        // Every round starts with fresh files, since earlier changes by the file API could prevent the swap.
        let script = self.fill(
            "while :; do rm -rf d e l; mkdir e; echo inside > e/secret; mv e d; mv d e; ln -s $OUT l; mv l d; done 2>/dev/null",
        );
        let mut racer = self
            .person
            .command(&["exec", "--", "sh", "-c", &script])
            .stdin(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let (begun, mut rounds) = (Instant::now(), 0);
        // A slow machine gets more time for the same number of rounds.
        while begun.elapsed() < duration || rounds <= ROUNDS {
            assert!(begun.elapsed() < duration + PATIENCE, "only {rounds} rounds");
            for (ask, path) in
                [(Read, "d/secret"), (Write, "d/new"), (Mkdir, "d/x/y"), (RemoveAll, "d/tree"), (List, "d")]
            {
                let answer = self.ask(ask, path);
                let body = String::from_utf8_lossy(&answer.body).into_owned();
                assert!(!body.contains("treasure") && !body.contains("secret2"), "{ask:?}: {body}");
                rounds += 1;
            }
        }
        process::signal(racer.id() as i32, Signal::INT);
        racer.wait().unwrap();
        assert_eq!((self.outside)(), before, "the race changed files outside");
    }
}

fn race_for() -> Duration {
    let text = std::env::var("SANDBRIDGE_RACE_MS").unwrap_or_default();
    Duration::from_millis(text.parse().unwrap_or(5_000))
}

/// Creates files outside of a host directory; returns their path, and a function that lists them.
fn outside_of(workspace: &std::path::Path) -> (String, impl Fn() -> String + use<>) {
    let name = workspace.file_name().unwrap().to_str().unwrap();
    let out = workspace.with_file_name(format!("{name}-out"));
    std::fs::create_dir_all(out.join("tree/deep")).unwrap();
    std::fs::write(out.join("secret"), "treasure").unwrap();
    std::fs::write(out.join("secret2"), "treasure").unwrap();
    let evil = workspace.with_file_name(format!("{name}-evil"));
    std::fs::create_dir_all(&evil).unwrap();
    std::fs::write(evil.join("secret"), "treasure").unwrap();
    let listing = format!(
        "cd {} && find . -type f -exec cat {{}} + ; find . | sort; ls {}",
        out.display(),
        evil.display()
    );
    let look = move || {
        let output = std::process::Command::new("sh").args(["-c", &listing]).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    (out.to_str().unwrap().to_owned(), look)
}

#[test]
fn no_race_escapes_through_a_runner() {
    let server = Server::start();
    let alice = server.person("alice");
    let machine = Machine::start(&server, &alice, "laptop");
    let (out, look) = outside_of(machine.workspace());
    let target =
        Target { person: &alice, client: Client::login(&server, "alice"), outside: Box::new(look), out };
    target.race(race_for());
}

#[test]
fn no_race_escapes_from_the_local_sandbox() {
    let server = Server::start_with(&["--docker", "off", "--local", "admins"]);
    let root = server.person("root");
    root.run(&["use", "none"]);
    let workspace = root.run(&["exec", "--", "pwd"]).stdout.trim_end().to_owned();
    assert!(workspace.starts_with('/'), "{workspace}");
    let (out, look) = outside_of(workspace.as_ref());
    let target =
        Target { person: &root, client: Client::login(&server, "root"), outside: Box::new(look), out };
    target.race(race_for());
}

#[test]
fn no_race_escapes_from_the_container_workspace() {
    docker::ready();
    let server = Server::start_with(&["--docker", "on", "--docker-image", docker::IMAGE]);
    let root = server.person("root");
    let cleanup = super::docker::Cleanup::of(&server);
    root.run(&["use", "__docker__"]);
    assert_eq!(root.run(&["exec", "--", "true"]).code, 0);
    let container = cleanup.containers().remove(0);
    let inside = |script: &str| docker::docker(&["exec", &container, "sh", "-c", script]).unwrap_or_default();
    inside(
        "mkdir -p /out/tree/deep /workspace-evil; echo treasure | tee /out/secret /out/secret2 /workspace-evil/secret",
    );
    let target = Target {
        person: &root,
        client: Client::login(&server, "root"),
        outside: Box::new(move || inside("cd /out; cat secret*; find . | sort; ls /workspace-evil")),
        out: "/out".into(),
    };
    target.race(race_for());
}
