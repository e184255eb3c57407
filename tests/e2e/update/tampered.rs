//! Downloads that differ from what the server sent: each is refused, and the old program is kept.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};

use tests::{Server, process};

use super::{NEW, Runner};

/// A change that an attacker between the runner and its server makes to downloads.
#[derive(Clone, Copy)]
enum Tampering {
    Change,
    CutOff,
    WebPage,
    Redirect,
    OtherVersion,
}

/// Passes everything on between the runner and the server, except that downloads are tampered with; returns the
/// address.
fn between(server: &Server, tampering: Tampering) -> String {
    let target: SocketAddr = server.url().trim_start_matches("http://").parse().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for runner in listener.incoming().map_while(Result::ok) {
            std::thread::spawn(move || pass(runner, target, tampering));
        }
    });
    format!("http://{address}")
}

fn pass(mut runner: TcpStream, target: SocketAddr, tampering: Tampering) {
    let mut head = Vec::new();
    let mut part = [0; 4096];
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        match runner.read(&mut part).unwrap_or(0) {
            0 => return,
            count => head.extend_from_slice(&part[..count]),
        }
    }
    let line = String::from_utf8_lossy(&head).into_owned();
    let path = line.split(' ').nth(1).unwrap_or_default();
    if path.starts_with("/download/") {
        let real = ureq::get(format!("http://{target}{path}")).call().unwrap();
        let body = real.into_body().with_config().limit(1 << 30).read_to_vec().unwrap();
        // The runner may have disconnected.
        let _ = runner.write_all(&answer(body, path.ends_with(".sha256"), tampering));
        let _ = runner.shutdown(Shutdown::Write);
        return;
    }
    let Ok(mut server) = TcpStream::connect(target) else { return };
    server.write_all(&head).unwrap();
    let (mut from_runner, mut to_server) = (runner.try_clone().unwrap(), server.try_clone().unwrap());
    std::thread::spawn(move || {
        // Either end may already have disconnected.
        let _ = std::io::copy(&mut from_runner, &mut to_server);
        let _ = to_server.shutdown(Shutdown::Both);
    });
    let _ = std::io::copy(&mut server, &mut runner);
    let _ = runner.shutdown(Shutdown::Both);
}

fn answer(mut body: Vec<u8>, is_hash: bool, tampering: Tampering) -> Vec<u8> {
    let with = |status: &str, headers: &str, body: &[u8]| {
        let length = body.len();
        let head =
            format!("HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {length}\r\n{headers}\r\n");
        [head.as_bytes(), body].concat()
    };
    let version = |version: &str| format!("x-sandbridge-version: {version}\r\n");
    match tampering {
        Tampering::WebPage => with("200 OK", "Content-Type: text/html\r\n", b"<!doctype html>Sign in"),
        Tampering::Redirect => with("302 Found", "Location: http://portal.example/login\r\n", b""),
        Tampering::OtherVersion => with("200 OK", &version("7.7.7"), &body),
        Tampering::Change | Tampering::CutOff if is_hash => with("200 OK", &version(NEW), &body),
        Tampering::Change => {
            let middle = body.len() / 2;
            body[middle] ^= 1;
            with("200 OK", &version(NEW), &body)
        }
        Tampering::CutOff => {
            let mut whole = with("200 OK", &version(NEW), &body);
            whole.truncate(body.len() / 2);
            whole
        }
    }
}

#[test]
fn a_tampered_download_is_refused_and_the_old_program_kept() {
    let server = Server::start();
    let person = server.person("alice");
    for (name, tampering, words) in [
        ("changed", Tampering::Change, "is not the runner that the server announced"),
        ("cut", Tampering::CutOff, "the download failed"),
        ("page", Tampering::WebPage, "a web page arrived instead of the runner"),
        ("redirect", Tampering::Redirect, "the download is redirected to http://portal.example/login"),
        ("version", Tampering::OtherVersion, "hands out version 7.7.7 but announced 0.1.0"),
    ] {
        let runner = Runner::start(&between(&server, tampering), &person, name, &[]);
        let child = process::children(runner.pid());
        let asked = runner.updated();
        assert_eq!(asked.code, 1, "{name}: {}{}", asked.stdout, runner.log());
        assert!(asked.stderr.contains(words), "{name}: {}", asked.stderr);
        assert_eq!(asked.stderr.lines().count(), 1, "one clear line: {}", asked.stderr);
        assert_eq!(runner.log().matches(words).count(), 1, "{}", runner.log());
        runner.assert_unchanged(&person);
        assert_eq!(process::children(runner.pid()), child, "the old program was not even interrupted");
    }
}
