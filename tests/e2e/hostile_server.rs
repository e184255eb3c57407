//! `sandbridge cp -r` from a malicious server or runner: the archives of the attack corpus, on the user's own machine.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;
use tests::binaries;

use testkit::arena::Arena;
use testkit::corpus::members::archive;
use testkit::corpus::{Attempt, Case, Expected, cases};
use testkit::judge::{Refusal, judge};
use testkit::tar::{Tar, pax};

/// The minimum number of archives that are tried.
const ARCHIVES_MIN: usize = 50;

/// Serves one archive to any client that asks for a tree; returns its URL.
fn serve(archive: Vec<u8>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    // The thread ends with the process; it handles one connection at a time, which is enough for a test.
    std::thread::spawn(move || listener.incoming().flatten().for_each(|socket| answer(socket, &archive)));
    url
}

fn answer(mut socket: TcpStream, archive: &[u8]) {
    let mut lines = BufReader::new(socket.try_clone().unwrap()).lines().map_while(Result::ok);
    let asks_for_tree = lines.next().is_some_and(|line| line.contains("/files/tree?"));
    lines.take_while(|line| !line.is_empty()).for_each(drop);
    let body: &[u8] = if asks_for_tree { archive } else { br#"{"kind":"directory","size":0,"mode":493}"# };
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
    // A client that has read enough closes the connection.
    let _ = socket.write_all(head.as_bytes()).and_then(|()| socket.write_all(body));
}

/// Copies the archive from the server into a directory; returns the standard error, as an error if the copy failed.
fn copy(archive: Vec<u8>, to: &Path, delete: bool) -> Result<String, String> {
    let url = serve(archive);
    let home = TempDir::with_prefix("sandbridge-client-").unwrap();
    let login = serde_json::json!({"server": url, "logins": {&url: {"token": "token", "user": "alice"}}});
    std::fs::write(home.path().join("client.json"), login.to_string()).unwrap();
    let mut command = Command::new(binaries::sandbridge());
    command.args(["cp", "-r"]).args(delete.then_some("--delete")).arg(":tree").arg(to);
    command.env("SANDBRIDGE_HOME", home.path()).env_remove("SANDBRIDGE_SERVER");
    let output = tests::server::run(command, b"");
    if output.code == 0 { Ok(output.stderr) } else { Err(output.stderr) }
}

fn play(case: &Case) -> Option<Result<(), String>> {
    let (members, delete) = match case.attempt {
        // A copy into an existing directory would be placed under the source's name.
        Attempt::Unpack(members) if case.plants.is_empty() => (members, false),
        Attempt::Mirror(members) => (members, true),
        _ => return None,
    };
    // The user chooses the target, and trusts the links in it.
    if case.expected == Expected::Escapes {
        return None;
    }
    let arena = Arena::new(case.plants);
    let before = arena.snapshot();
    let to = arena.root().join(arena.expand(case.path));
    let copied = copy(archive(members, &arena), &to, delete);
    // The command line does not report the kind of the refusal.
    let kind = if case.expected == Expected::Inside { Expected::Other } else { case.expected };
    let answer = copied.map_err(|message| Refusal { kind, message });
    Some(judge(case, &arena, &before, &arena.snapshot(), &answer))
}

#[test]
fn no_archive_of_the_corpus_escapes_on_the_users_machine() {
    let played: Vec<_> = cases().filter_map(play).collect();
    assert!(played.len() >= ARCHIVES_MIN, "only {} archives", played.len());
    let failures: Vec<_> = played.into_iter().filter_map(Result::err).collect();
    assert!(failures.is_empty(), "{} went wrong:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn texts_in_an_archive_cannot_control_the_terminal() {
    let directory = TempDir::new().unwrap();
    let remark = pax(&[("comment", "done\u{1b}]0;evil\u{7}\u{1b}[2J")]);
    let remarked = Tar::new().entry(b'g', "records", "", remark.len() as u64, &remark).file("f", b"x").end();
    let named = Tar::new().file("\u{1b}[2J/..", b"x").end();
    for archive in [remarked, named] {
        let said = copy(archive, &directory.path().join("to"), true).unwrap_err();
        assert!(said.contains("[2J") && !said.contains('\u{1b}'), "{said:?}");
    }
}
