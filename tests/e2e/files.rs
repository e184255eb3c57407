//! `sandbridge cp` and the file API: copies are byte-identical, whatever the contents and names.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Write;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use tempfile::TempDir;
use testkit::tar::Tar;
use tests::http::{Client, encode};
use tests::{Machine, Person, Server, docker};

fn cp(person: &Person, from: impl Into<OsString>, to: impl Into<OsString>) -> tests::Output {
    tests::server::run(person.command(&["cp".into(), from.into(), to.into()]), b"")
}

/// Copies files in and out again, and compares them.
fn round_trip(person: &Person, directory: &Path, name: OsString, content: &[u8]) {
    let local = directory.join(&name);
    fs::write(&local, content).unwrap();
    let remote = [OsString::from(":made/by/cp/").into_vec(), name.clone().into_vec()].concat();
    let remote = OsString::from_vec(remote);
    let sent = cp(person, &local, &remote);
    assert_eq!(sent.code, 0, "{}", sent.stderr);
    let back = directory.join("back");
    let received = cp(person, &remote, &back);
    assert_eq!(received.code, 0, "{}", received.stderr);
    assert!(fs::read(&back).unwrap() == content, "{name:?} was changed by the copies");
    fs::remove_file(&back).unwrap();
}

fn round_trips(person: &Person) {
    let directory = TempDir::new().unwrap();
    let every_byte: Vec<u8> = (0..=255).collect();
    round_trip(person, directory.path(), "every byte".into(), &every_byte);
    round_trip(person, directory.path(), OsString::from_vec(b"not\xffutf8 \xc3\xa9".to_vec()), b"name");
    round_trip(person, directory.path(), "empty".into(), b"");
    let large: Vec<u8> =
        (0..64 * 1024 * 1024u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    round_trip(person, directory.path(), "large".into(), &large);
}

#[test]
fn files_come_back_identical_from_a_runner() {
    let server = Server::start();
    let alice = server.person("alice");
    let machine = Machine::start(&server, &alice, "laptop");
    round_trips(&alice);
    assert!(machine.workspace().join("made/by/cp/empty").exists());
}

#[test]
fn files_come_back_identical_from_docker_and_local() {
    docker::ready();
    let server =
        Server::start_with(&["--docker", "on", "--docker-image", docker::IMAGE, "--local", "admins"]);
    let root = server.person("root");
    let _cleanup = super::docker::Cleanup::of(&server);
    for place in ["__docker__", "none"] {
        root.run(&["use", place]);
        round_trips(&root);
    }
}

fn cp_recursive(person: &Person, options: &[&str], from: &OsStr, to: &OsStr) -> tests::Output {
    let words = ["cp", "-r"].iter().chain(options).map(OsString::from);
    let words: Vec<OsString> = words.chain([from.to_owned(), to.to_owned()]).collect();
    tests::server::run(person.command(&words), b"")
}

/// Lists every path below a directory, with its mode, and its content or target.
fn listing(top: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut pending = vec![top.to_owned()];
    while let Some(path) = pending.pop() {
        let facts = path.symlink_metadata().unwrap();
        let name = path.strip_prefix(top).unwrap();
        let mode = facts.permissions().mode() & 0o777;
        if facts.is_symlink() {
            found.push(format!("{name:?} -> {:?}", path.read_link().unwrap()));
        } else if facts.is_dir() {
            found.push(format!("{name:?}/ {mode:o}"));
            pending.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else {
            found.push(format!("{name:?} {mode:o} {:?}", fs::read(&path).unwrap()));
        }
    }
    found.sort();
    found
}

/// Copies a directory in and out again, then as a mirror, and compares each copy.
fn tree_round_trip(person: &Person) {
    let directory = TempDir::new().unwrap();
    let local = directory.path().join("tree");
    let deep = OsString::from_vec([&b"not\xffutf8/"[..], &b"n".repeat(200)].concat());
    fs::create_dir_all(local.join(&deep)).unwrap();
    fs::create_dir_all(local.join("empty")).unwrap();
    fs::write(local.join(&deep).join("large"), vec![7; 3 << 20]).unwrap();
    fs::write(local.join("script"), "#!/bin/sh\n").unwrap();
    fs::set_permissions(local.join("script"), fs::Permissions::from_mode(0o750)).unwrap();
    std::os::unix::fs::symlink("../script", local.join("empty/link")).unwrap();
    let ok = |output: tests::Output| assert_eq!(output.code, 0, "{}", output.stderr);
    let remote = |path: &str| OsString::from(path);
    ok(cp_recursive(person, &[], local.as_os_str(), &remote(":copies/tree")));
    let back = directory.path().join("back");
    ok(cp_recursive(person, &[], &remote(":copies/tree"), back.as_os_str()));
    assert_eq!(listing(&local), listing(&back));
    // A copy into an existing directory is placed below the source's own name.
    ok(cp_recursive(person, &[], &remote(":copies/tree"), directory.path().join("back/empty").as_os_str()));
    assert_eq!(listing(&local), listing(&back.join("empty/tree")));
    ok(cp_recursive(person, &["--delete"], &remote(":copies/tree"), back.as_os_str()));
    assert_eq!(listing(&local), listing(&back));
    fs::remove_dir_all(local.join(&deep)).unwrap();
    ok(cp_recursive(person, &["--delete"], local.as_os_str(), &remote(":copies/tree")));
    ok(cp_recursive(person, &["--delete"], &remote(":copies/tree"), back.as_os_str()));
    assert_eq!(listing(&local), listing(&back));
}

#[test]
fn directories_come_back_identical_from_a_runner() {
    let server = Server::start();
    let alice = server.person("alice");
    let _machine = Machine::start(&server, &alice, "laptop");
    tree_round_trip(&alice);
}

#[test]
fn directories_come_back_identical_from_docker_and_local() {
    docker::ready();
    let server =
        Server::start_with(&["--docker", "on", "--docker-image", docker::IMAGE, "--local", "admins"]);
    let root = server.person("root");
    let _cleanup = super::docker::Cleanup::of(&server);
    for place in ["none", "__docker__"] {
        root.run(&["use", place]);
        tree_round_trip(&root);
    }
}

#[test]
fn copying_a_directory_reports_left_out_entries_and_errors() {
    let server = Server::start();
    let alice = server.person("alice");
    let machine = Machine::start(&server, &alice, "laptop");
    let directory = TempDir::new().unwrap();
    let local = directory.path().join("tree");
    fs::create_dir(&local).unwrap();
    fs::write(local.join("file"), "x").unwrap();
    std::os::unix::fs::symlink("/etc/passwd", local.join("out")).unwrap();
    let incomplete = cp_recursive(&alice, &[], local.as_os_str(), OsStr::new(":tree"));
    assert_eq!(incomplete.code, 1, "{incomplete:?}");
    assert!(incomplete.stderr.contains("1 entries were left out, the first is \"out\""), "{incomplete:?}");
    assert_eq!(fs::read_to_string(machine.workspace().join("tree/file")).unwrap(), "x");
    assert!(machine.workspace().join("tree/out").symlink_metadata().is_err());

    std::os::unix::fs::symlink("/etc", machine.workspace().join("tree/etc")).unwrap();
    let back = directory.path().join("back");
    let incomplete = cp_recursive(&alice, &[], OsStr::new(":tree"), back.as_os_str());
    assert!(incomplete.code == 1 && incomplete.stderr.contains("etc"), "{incomplete:?}");
    assert_eq!(fs::read_dir(&back).unwrap().count(), 1);

    let outside = cp_recursive(&alice, &[], local.as_os_str(), OsStr::new(":../tree"));
    assert!(outside.stderr.contains("path escapes the workspace"), "{outside:?}");
    let without = cp(&alice, &local, ":tree");
    assert!(without.stderr.contains("copy it with -r"), "{without:?}");
    let without = cp(&alice, ":tree", directory.path().join("other"));
    assert!(without.stderr.contains("copy it with -r"), "{without:?}");
    assert_eq!(cp_recursive(&alice, &[], OsStr::new(":none"), back.as_os_str()).code, 1);
    let file = cp_recursive(&alice, &[], local.join("file").as_os_str(), OsStr::new(":single"));
    assert_eq!((file.code, machine.workspace().join("single").is_file()), (0, true));
}

#[test]
fn copying_reports_errors_and_leaves_nothing_behind() {
    let server = Server::start();
    let alice = server.person("alice");
    let machine = Machine::start(&server, &alice, "laptop");
    let directory = TempDir::new().unwrap();
    let local = directory.path().join("file");
    fs::write(&local, "content").unwrap();
    fs::set_permissions(&local, fs::Permissions::from_mode(0o750)).unwrap();

    assert_eq!(cp(&alice, &local, ":file").code, 0);
    let mode = fs::metadata(machine.workspace().join("file")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o750, "the mode is kept");
    assert_eq!(cp(&alice, &local, "laptop:copy").code, 0, "a path may name its runner");

    let missing = cp(&alice, ":missing", directory.path().join("made"));
    assert!(missing.code != 0 && missing.stderr.contains("missing"), "{missing:?}");
    assert!(!directory.path().join("made").exists());
    let outside = cp(&alice, &local, ":../outside");
    assert!(outside.stderr.contains("path escapes the workspace"), "{outside:?}");
    assert!(!machine.workspace().join("../outside").exists());
    assert_eq!(cp(&alice, &local, directory.path().join("other")).code, 2, "exactly one path must be remote");
    let names: Vec<_> =
        fs::read_dir(machine.workspace()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(names.iter().all(|name| !name.to_string_lossy().contains("tmp")), "{names:?}");
}

#[test]
fn every_file_operation_works_over_http() {
    let server = Server::start();
    let alice = server.person("alice");
    let machine = Machine::start(&server, &alice, "laptop");
    let client = Client::login(&server, "alice");
    let path = |text: &str| encode(text);

    assert_eq!(client.call("POST", &format!("/files/mkdir?path={}", path("a/b/c"))).status, 204);
    assert_eq!(
        client.send("PUT", &format!("/files?path={}", path("a/b/c/file")), b"hello").json()["size"],
        5
    );
    let stat = client.call("GET", &format!("/files/stat?path={}", path("a/b/c/file"))).json();
    assert_eq!((stat["kind"].as_str(), stat["size"].as_u64()), (Some("file"), Some(5)));
    let list = client.call("GET", &format!("/files/list?path={}", path("a/b"))).json();
    assert_eq!(
        (list["entries"][0]["name"].as_str(), list["entries"][0]["kind"].as_str()),
        (Some("c"), Some("directory"))
    );
    let rename = client.send("POST", "/files/rename", br#"{"from":"a/b/c/file","to":"a/moved"}"#);
    assert_eq!(rename.status, 204, "{rename:?}");
    assert_eq!(client.call("GET", &format!("/files?path={}", path("a/moved"))).body, b"hello");
    let absolute = machine.workspace().join("a/moved");
    assert_eq!(
        client.call("GET", &format!("/files?path={}", path(absolute.to_str().unwrap()))).body,
        b"hello"
    );
    assert_eq!(client.call("DELETE", &format!("/files?path={}", path("a"))).kind(), "directory_not_empty");
    assert_eq!(client.call("DELETE", &format!("/files?path={}&recursive=true", path("a"))).status, 204);
    assert_eq!(client.call("GET", &format!("/files/stat?path={}", path("a"))).kind(), "not_found");
}

/// Answers one request for a file that has `content`.
fn serve_once(content: &'static str) -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/file", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        let _ = std::io::Read::read(&mut socket, &mut [0; 4096]).unwrap();
        let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{content}", content.len());
        socket.write_all(answer.as_bytes()).unwrap();
    });
    url
}

#[test]
fn trees_and_downloads_work_over_http() {
    let server = Server::start();
    let alice = server.person("alice");
    let machine = Machine::start_with(&server, &alice, "laptop", &["--download-allow", "127.0.0.1"]);
    let client = Client::login(&server, "alice");
    fs::create_dir_all(machine.workspace().join("a/empty")).unwrap();
    fs::write(machine.workspace().join("a/file"), "hello").unwrap();
    let archive = client.call("GET", "/files/tree?path=a");
    assert_eq!(archive.status, 200);
    let written = client.send("PUT", "/files/tree?path=b/c", &archive.body).json();
    assert_eq!((written["files"].as_u64(), written["directories"].as_u64()), (Some(1), Some(2)));
    assert_eq!(fs::read_to_string(machine.workspace().join("b/c/file")).unwrap(), "hello");
    fs::write(machine.workspace().join("b/c/extra"), "x").unwrap();
    let mirrored = client.send("PUT", "/files/tree?path=b/c&delete_extra=true", &archive.body).json();
    assert_eq!(mirrored["removed"], 1);
    assert_eq!(listing(&machine.workspace().join("a")), listing(&machine.workspace().join("b/c")));

    let hostile = Tar::new().file("kept", b"x").symlink("l", "/etc").end();
    let refused = client.send("PUT", "/files/tree?path=d", &hostile);
    let text = String::from_utf8_lossy(&refused.body).into_owned();
    assert!(refused.status >= 400 && text.contains("a link points outside the tree"), "{text}");
    assert!(text.contains("files written by then: 1, directories: 0, links: 0"), "{text}");
    let early = client.send("PUT", "/files/tree?path=d", &archive.body[..1000]);
    assert!(early.status >= 400, "{early:?}");
    assert_eq!(client.call("GET", "/files/tree?path=a/file").kind(), "not_a_directory");
    assert_eq!(client.call("GET", "/files/tree?path=none").kind(), "not_found");

    let fetch = |url: &str, max_bytes: u64| {
        let body =
            serde_json::json!({"url": url, "path": "x/fetched", "parents": true, "max_bytes": max_bytes});
        client.send("POST", "/files/download", body.to_string().as_bytes())
    };
    assert_eq!(fetch(&serve_once("too much"), 7).kind(), "too_large");
    assert!(!machine.workspace().join("x/fetched").exists());
    assert_eq!(fetch(&serve_once("content"), 7).json()["size"], 7);
    assert_eq!(fs::read_to_string(machine.workspace().join("x/fetched")).unwrap(), "content");
    assert_eq!(fetch("file:///etc/passwd", 7).kind(), "invalid_body");
}

#[test]
fn many_entries_are_listed() {
    let server = Server::start();
    let alice = server.person("alice");
    let machine = Machine::start(&server, &alice, "laptop");
    for number in 0..10_000 {
        fs::File::create(machine.workspace().join(format!("{number:0>50}"))).unwrap();
    }
    let list = Client::login(&server, "alice").call("GET", "/files/list?path=.").json();
    assert_eq!(list["entries"].as_array().unwrap().len(), 10_000);
}
