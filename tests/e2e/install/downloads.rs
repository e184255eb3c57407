//! The downloads of the pasted line: the script, the program, and their verification.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use tests::server::{Output, run};
use tests::{Authority, BareRoot, Server, Who};

#[test]
fn a_script_that_was_cut_off_does_nothing() {
    let server = Server::start();
    let root = BareRoot::new();
    let script = tests::http::text(&format!("{}/install", server.url()));
    let before = root.tree();
    let ends = (1..script.len() - 1).step_by(311).chain(script.len() - 30..script.len() - 1);
    for end in ends.filter(|end| script.is_char_boundary(*end)) {
        let mut shell = root.shell(Who::Dev, Who::Dev.project());
        shell.arg("-s").env("SANDBRIDGE_TOKEN", "sbe_x");
        let output = run(shell, &script.as_bytes()[..end]);
        assert!(!output.stderr.contains("sandbridge: "), "{end}: {}", output.stderr);
        assert!(root.tree() == before, "{end}");
    }
}

/// Starts a server that gives every client the same response; returns the server's address.
fn answering(answer: Vec<u8>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut head = Vec::new();
            let mut part = [0; 4096];
            while !head.windows(4).any(|end| end == b"\r\n\r\n") {
                match stream.read(&mut part).unwrap_or(0) {
                    0 => break,
                    count => head.extend_from_slice(&part[..count]),
                }
            }
            let _ = stream.write_all(&answer);
        }
    });
    format!("http://{address}")
}

fn http(head: &str, body: &[u8]) -> Vec<u8> {
    let mut answer =
        format!("HTTP/1.1 {head}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n", body.len())
            .into_bytes();
    answer.extend_from_slice(body);
    answer
}

#[test]
fn a_download_that_is_not_the_runner_is_not_installed_and_the_old_one_stays() {
    let server = Server::start();
    let root = BareRoot::new();
    let script = tests::http::text(&format!("{}/install", server.url()));
    let runner = std::fs::read(tests::binaries::runner_static()).unwrap();
    let mut altered = runner.clone();
    altered[1_000_000] ^= 1;
    let html = b"<!DOCTYPE html><html><body>Welcome to our network</body></html>";
    let portal = answering(http("200 OK\r\nContent-Type: text/html", html));
    let other = b"#!/bin/sh\necho sandbridge-runner 9.9.9\n";
    let cut = {
        let mut answer = http("200 OK", &runner);
        answer.truncate(3_000_000);
        answer
    };
    let other_hash = root
        .run(
            Who::Dev,
            &format!("printf '{}' | sha256sum", String::from_utf8_lossy(other).replace('\n', "\\n")),
        )
        .stdout;
    let other_hash = other_hash.split(' ').next().unwrap();
    let from = |script: &str, server_url: &str| {
        script.replace(&format!("server={}", server.url()), &format!("server={server_url}"))
    };
    let own_hash = script.lines().find_map(|line| line.strip_prefix("sha256=")).unwrap();
    let installed = root.run(Who::Dev, "mkdir -p ~/.local/bin && echo old >~/.local/bin/sandbridge-runner");
    assert_eq!(installed.code, 0);
    let before = root.tree();
    for (hostile, words) in [
        (from(&script, &answering(http("200 OK", &altered))), "is not the runner that the server announced"),
        (from(&script, &answering(cut)), "othing was installed"),
        (from(&script, &portal), "a captive portal or a proxy"),
        (
            from(&script, &answering(http(&format!("302 Found\r\nLocation: {portal}/login"), b""))),
            "captive portal",
        ),
        (
            from(&script, &answering(http("404 Not Found", br#"{"error":{"kind":"not_found"}}"#))),
            "othing was installed",
        ),
        (from(&script, "http://127.0.0.1:1"), "nothing was installed"),
        (
            from(&script, &answering(http("200 OK", other))).replace(own_hash, other_hash),
            "tell its administrator",
        ),
    ] {
        // The script runs first on a machine with busybox's wget, then on this machine with only curl or only wget.
        let mut there = root.shell(Who::Dev, Who::Dev.project());
        there.arg("-s").env("SANDBRIDGE_TOKEN", "sbe_x");
        check_refusal(&run(there, hostile.as_bytes()), words);
        assert!(root.tree() == before, "{words}");
        for tool in ["curl", "wget"] {
            let place = tempfile::TempDir::new().unwrap();
            check_refusal(&here(&hostile, &[tool], place.path(), &[], &[]), words);
            assert_eq!(place.path().read_dir().unwrap().count(), 0, "{words}");
        }
    }
}

/// Runs the script on this machine, in this directory, with its required programs and `tools`, with these options and
/// variables.
pub(crate) fn here(
    script: &str,
    tools: &[&str],
    directory: &Path,
    options: &[&str],
    variables: &[(&str, &str)],
) -> Output {
    let programs = tempfile::TempDir::new().unwrap();
    let common = "awk cat chmod cut df dirname head id mkdir mktemp mv rm rmdir sed sha256sum sort tr uname";
    for name in common.split(' ').chain(tools.iter().copied()) {
        let program = if name == "busybox" { "wget" } else { name };
        let found =
            std::process::Command::new("sh").args(["-c", &format!("command -v {name}")]).output().unwrap();
        symlink(String::from_utf8(found.stdout).unwrap().trim(), programs.path().join(program)).unwrap();
    }
    run(in_directory(programs.path(), directory, options, variables), script.as_bytes())
}

fn in_directory(programs: &Path, directory: &Path, options: &[&str], variables: &[(&str, &str)]) -> Command {
    let mut shell = Command::new("/bin/sh");
    shell.args(["-s", "--", "--prefix"]).arg(directory.join("p")).arg("--state-dir").arg(directory.join("s"));
    for name in ["CURL_CA_BUNDLE", "SSL_CERT_FILE"] {
        shell.env_remove(name);
    }
    shell.args(options).envs(variables.iter().copied());
    shell.current_dir(directory).env("SANDBRIDGE_TOKEN", "sbe_x").env("PATH", programs);
    shell
}

#[test]
fn an_unsupported_machine_is_reported() {
    let server = Server::start();
    let script = tests::http::text(&format!("{}/install", server.url()));
    let (programs, place) = (tempfile::TempDir::new().unwrap(), tempfile::TempDir::new().unwrap());
    symlink("/bin/busybox", programs.path().join("id")).unwrap();
    let uname = programs.path().join("uname");
    for (system, machine, words) in [
        ("Linux", "riscv64", "this machine is riscv64, and the server hands out the runner for x86_64 only"),
        ("Darwin", "arm64", "this machine runs Darwin"),
        ("Linux", "x86_64", "neither curl nor wget is here"),
    ] {
        std::fs::write(&uname, format!("#!/bin/sh\n[ $1 = -s ] && echo {system} || echo {machine}\n"))
            .unwrap();
        std::fs::set_permissions(&uname, PermissionsExt::from_mode(0o755)).unwrap();
        check_refusal(&run(in_directory(programs.path(), place.path(), &[], &[]), script.as_bytes()), words);
        assert_eq!(place.path().read_dir().unwrap().count(), 0, "{words}");
    }
}

fn check_refusal(output: &Output, words: &str) {
    assert!(output.code == 1 && output.stderr.contains(words), "{words}: {}: {}", output.code, output.stderr);
}

#[test]
fn a_private_certificate_authority_must_be_given_and_another_one_is_refused() {
    let (authority, stranger) = (Authority::new("bridge.test"), Authority::new("bridge.test"));
    let server = Server::start_encrypted(&authority, &["--docker", "off"]);
    let [trusted, wrong] = [authority.certificate(), stranger.certificate()];
    let [trusted, wrong] = [&trusted, &wrong].map(|file| file.to_str().unwrap());
    let mut curl = Command::new("curl");
    let script = run(
        {
            curl.args(["-fsS", "--cacert", trusted, &format!("{}/install", server.url())]);
            curl
        },
        b"",
    );
    let script = script.stdout;
    for tool in ["curl", "wget"] {
        let place = tempfile::TempDir::new().unwrap();
        for options in [&["--ca-cert", wrong][..], &[]] {
            let refused = here(&script, &[tool], place.path(), options, &[]);
            check_refusal(&refused, "the certificate of https://127.0.0.1:");
            // The first line of output names the download.
            assert_eq!(refused.stderr.lines().count(), 2, "one clear line: {}", refused.stderr);
            assert_eq!(place.path().read_dir().unwrap().count(), 0);
        }
        for variable in ["", "CURL_CA_BUNDLE", "SSL_CERT_FILE", "SANDBRIDGE_CA_CERT"] {
            let workspace = tempfile::TempDir::new().unwrap();
            let (option, variable) = match variable {
                "" => (&["--ca-cert", trusted][..], None),
                name => (&[][..], Some((name, trusted))),
            };
            let options = [option, &["--workspace", workspace.path().to_str().unwrap()]].concat();
            // The runner connects to the server as well, which does not know the token.
            let refused = here(&script, &[tool], place.path(), &options, variable.as_slice());
            assert_eq!(refused.code, 5, "{variable:?}: {}", refused.stderr);
        }
    }
    // busybox's wget does not check certificates, and its requests are too old for this server.
    let root = BareRoot::new();
    let before = root.tree();
    let mut there = root.shell(Who::Dev, Who::Dev.project());
    there.arg("-s").env("SANDBRIDGE_TOKEN", "sbe_x");
    let refused = run(there, script.as_bytes());
    check_refusal(&refused, "the download failed (wget: TLS error");
    assert_eq!(refused.stderr.matches("does not check certificates").count(), 1, "{}", refused.stderr);
    assert!(root.tree() == before);
}
