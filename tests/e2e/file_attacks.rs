//! Runs the whole attack corpus over each kind of link, through the HTTP API.
//!
//! `pathguard` is tested with the same corpus; its tests also show that each attack does harm where nothing guards against it. Here the traps are set
//! on the disk, where a command or another user of the machine could have set them; then the file API is made to use them. The HTTP API has no
//! searches with a path: the runner's own tests cover those.

use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::json;
use tests::http::{self, Client, encode};
use tests::{Machine, Person, Server, docker};

use testkit::arena::{Arena, OUTSIDE_MARK, SECRET_SIZE_BYTES, quick_directory};
use testkit::corpus::members::archive;
use testkit::corpus::oracles::{ASKED, ORACLES};
use testkit::corpus::{Attempt, Case, Expected, cases};
use testkit::judge::{Answer, Refusal, judge};

/// The timeout for each attempt.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(10);

/// The minimum number of cases that each link can run: all but searches, and hard links where the workspace is a separate
/// file system.
const ANSWERED_MIN: usize = 250;

/// The number of bytes of a file that are read: enough to recognize it.
const READ_SIZE_BYTES: u64 = 4096;

/// The SHA-256 of a planted file's content.
const INSIDE_SHA256: &str = "106b086224a4d945eae25f7be3805a931a873270326dd868b0e41f71ee9fff72";

/// A user id that is not used for anything else.
const ORDINARY: u32 = 54_322;

/// A sandbox to attack.
struct Target<'a> {
    person: &'a Person,
    client: Client,
    arena: Arena,
}

impl Target<'_> {
    /// Runs all cases, and panics with the list of failures.
    fn attack(&self) {
        let played: Vec<_> = cases().map(|case| self.play(case)).collect();
        let mut failures: Vec<_> = played.iter().filter_map(|played| played.clone().err()).collect();
        let answered = played.iter().filter(|played| **played == Ok(true)).count();
        assert!(answered >= ANSWERED_MIN, "only {answered} cases could be run");
        for oracle in ORACLES {
            let told = ASKED.iter().filter(|attempt| {
                let there = self.ask_about(oracle.plants, **attempt, oracle.there);
                there != self.ask_about(oracle.plants, **attempt, oracle.gone)
            });
            failures.extend(
                told.map(|attempt| format!("{} tells what exists outside: {attempt:?}", oracle.name)),
            );
        }
        assert!(failures.is_empty(), "{} went wrong:\n{}", failures.len(), failures.join("\n"));
    }

    /// Runs the case; returns `false` if this link cannot run it. The error describes the failure.
    fn play(&self, case: &Case) -> Result<bool, String> {
        if matches!(case.attempt, Attempt::Find | Attempt::Search) {
            return Ok(false);
        }
        self.arena.clear();
        if !self.arena.plant_all(case.plants) {
            return Ok(false); // hard links cannot be created here, so they offer no way out
        }
        let before = self.arena.snapshot();
        let start = Instant::now();
        let Some(answer) = self.ask(case.attempt, &self.arena.expand(case.path)) else { return Ok(false) };
        if start.elapsed() > ATTEMPT_TIMEOUT {
            return Err(format!("{}: took {:?}", case.name, start.elapsed()));
        }
        // The server refuses some paths that `pathguard` could handle: those that people would misread.
        let refused = case.path.iter().any(u8::is_ascii_control);
        let case = if refused { &Case { expected: Expected::Invalid, ..*case } } else { case };
        judge(case, &self.arena, &before, &self.arena.snapshot(), &answer).map(|()| true)
    }

    /// Returns the API's response about a path, without the path itself.
    fn ask_about(&self, plants: &[testkit::arena::Plant], attempt: Attempt, path: &[u8]) -> Option<Answer> {
        self.arena.clear();
        self.arena.plant_all(plants);
        let path = self.arena.expand(path);
        let words = |text: String| {
            let text = text.replace(&*path.to_string_lossy(), "PATH");
            // After a move, the link is read under its new name.
            text.replace("nobody", "secret").replace("gone!", "there")
        };
        let answer = self.ask(attempt, &path)?;
        Some(answer.map_err(|refusal| Refusal { message: words(refusal.message), ..refusal }))
    }

    /// Makes the attempt, if the HTTP API offers it.
    fn ask(&self, attempt: Attempt, path: &Path) -> Option<Answer> {
        let at = match path.to_str() {
            Some(path) => format!("path={}", encode(path)),
            None => format!("path_base64={}", URL_SAFE_NO_PAD.encode(path.as_os_str().as_bytes())),
        };
        let client = &self.client;
        let nothing = |answer: http::Answer| answered(answer, |_| String::new());
        let text = |answer: http::Answer| answered(answer, |body| String::from_utf8_lossy(body).into_owned());
        let rename = |from: &Path, to: &Path| {
            let body = json!({"from": from.to_str()?, "to": to.to_str()?}).to_string();
            Some(nothing(client.send("POST", "/files/rename", body.as_bytes())))
        };
        let put = |query: &str| nothing(client.send("PUT", &format!("/files?{at}{query}"), b"payload"));
        let put_tree = |members, query: &str| {
            let archive = archive(members, &self.arena);
            nothing(client.send("PUT", &format!("/files/tree?{at}{query}"), &archive))
        };
        Some(match attempt {
            Attempt::Read => text(client.head(&format!("/files?{at}"), READ_SIZE_BYTES)),
            Attempt::Write | Attempt::Replace => put(""),
            Attempt::WriteWithParents => put("&parents=true"),
            Attempt::WriteIfMatch => put(&format!("&if_match={INSIDE_SHA256}")),
            Attempt::Stat => answered(client.call("GET", &format!("/files/stat?{at}")), |body| {
                let size = format!("\"size\":{SECRET_SIZE_BYTES},");
                String::from_utf8_lossy(body).replace(&size, OUTSIDE_MARK)
            }),
            Attempt::List => text(client.call("GET", &format!("/files/list?{at}"))),
            Attempt::WorkingDirectory => self.work_in(path.to_str()?),
            Attempt::MakeDirectories => nothing(client.call("POST", &format!("/files/mkdir?{at}"))),
            Attempt::Remove => nothing(client.call("DELETE", &format!("/files?{at}"))),
            Attempt::RemoveAll => nothing(client.call("DELETE", &format!("/files?{at}&recursive=true"))),
            Attempt::RenameFrom => rename(path, Path::new("stolen"))?.map(|_| {
                let stolen = client.head("/files?path=stolen", READ_SIZE_BYTES);
                String::from_utf8_lossy(&stolen.body).into_owned()
            }),
            Attempt::RenameTo => rename(Path::new("mine"), path)?,
            Attempt::Pack => text(client.call("GET", &format!("/files/tree?{at}"))),
            Attempt::Unpack(members) => put_tree(members, ""),
            Attempt::Mirror(members) => put_tree(members, "&delete_extra=true"),
            Attempt::Download => {
                let path = path.to_str()?;
                let body =
                    json!({"url": "http://127.0.0.1:9/", "path": path, "parents": true, "max_bytes": 9});
                nothing(client.send("POST", "/files/download", body.to_string().as_bytes()))
            }
            Attempt::Find | Attempt::Search => return None,
        })
    }

    fn work_in(&self, path: &str) -> Answer {
        let output = self.person.run(&["exec", "--cwd", path, "--", "ls"]);
        if output.code == 0 {
            return Ok(output.stdout);
        }
        let message = output.stderr;
        let kinds = [
            ("escapes the workspace", Expected::Escapes),
            ("not a directory", Expected::NotDirectory),
            ("no such file", Expected::Missing),
        ];
        let kind = kinds.iter().find(|(text, _)| message.contains(text));
        Err(Refusal { kind: kind.map_or(Expected::Other, |(_, kind)| *kind), message })
    }
}

/// Converts a response to the corpus's terms.
fn answered(answer: http::Answer, seen: impl Fn(&[u8]) -> String) -> Answer {
    if answer.status < 400 {
        return Ok(seen(&answer.body));
    }
    let message = String::from_utf8_lossy(&answer.body).into_owned();
    let kind = match answer.kind().as_str() {
        "escapes_workspace" => Expected::Escapes,
        "special_file" => Expected::Special,
        "name_too_long" => Expected::TooLong,
        "too_many_symlinks" => Expected::TooManyLinks,
        "too_large" => Expected::TooLarge,
        "invalid_path" => Expected::Invalid,
        "not_found" => Expected::Missing,
        "is_a_directory" => Expected::IsDirectory,
        "not_a_directory" => Expected::NotDirectory,
        "invalid_body" => Expected::Archive,
        _ => Expected::Other,
    };
    Err(Refusal { kind, message })
}

/// A runner whose workspace belongs to this user.
fn attack_a_runner_of(owner: Option<u32>) {
    let base = quick_directory();
    let workspace = base.path().canonicalize().unwrap().join("work");
    std::fs::create_dir(&workspace).unwrap();
    for directory in [base.path(), &workspace] {
        chown(directory, owner, owner).unwrap();
    }
    let server = Server::start();
    let alice = server.person("alice");
    let _machine =
        Machine::start_in_with(&server, &alice, "laptop", &workspace, &["--download-allow", "127.0.0.1"]);
    let arena = Arena::around(&workspace, workspace.parent().unwrap(), owner);
    Target { person: &alice, client: Client::login(&server, "alice"), arena }.attack();
}

#[test]
fn no_attack_on_files_escapes_through_a_runner() {
    attack_a_runner_of(None);
}

#[test]
fn no_attack_on_files_escapes_through_a_runner_of_an_ordinary_user() {
    if rustix::process::geteuid().is_root() {
        attack_a_runner_of(Some(ORDINARY));
    }
}

/// The local sandbox of a server that runs as this user.
fn attack_the_local_sandbox_of(owner: Option<u32>) {
    let home = quick_directory();
    chown(home.path(), owner, owner).unwrap();
    let server = Server::start_in(home, &["--docker", "off", "--local", "admins"]);
    let root = server.person("root");
    root.run(&["use", "none"]);
    let workspace = PathBuf::from(root.run(&["exec", "--", "pwd"]).stdout.trim_end());
    let arena = Arena::around(&workspace, workspace.parent().unwrap(), owner);
    Target { person: &root, client: Client::login(&server, "root"), arena }.attack();
}

#[test]
fn no_attack_on_files_escapes_from_the_local_sandbox() {
    attack_the_local_sandbox_of(None);
}

#[test]
fn no_attack_on_files_escapes_from_the_local_sandbox_of_an_ordinary_user() {
    if rustix::process::geteuid().is_root() {
        attack_the_local_sandbox_of(Some(ORDINARY));
    }
}

#[test]
fn no_attack_on_files_escapes_from_the_container_workspace() {
    docker::ready();
    let server = Server::start_with(&["--docker", "on", "--docker-image", docker::IMAGE]);
    let root = server.person("root");
    let cleanup = super::docker::Cleanup::of(&server);
    root.run(&["use", "__docker__"]);
    let started = root.run(&["exec", "--", "true"]);
    assert_eq!(started.code, 0, "{}", started.stderr);
    let container = cleanup.containers().remove(0);
    let pid = docker::docker(&["inspect", "-f", "{{.State.Pid}}", &container]).unwrap();
    let workspace = PathBuf::from(format!("/proc/{}/root/workspace", pid.trim()));
    let arena = Arena::around(&workspace, Path::new("/"), None);
    Target { person: &root, client: Client::login(&server, "root"), arena }.attack();
}
