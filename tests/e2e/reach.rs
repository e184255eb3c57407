//! How a runner finds its server: by name, on machines of all kinds, and through a proxy.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tests::{BareRoot, Person, Server, Who, binaries, eventually, process};

/// How long a runner may take to be online, or to say why it is not.
const PATIENCE: Duration = Duration::from_secs(30);
/// A name that nobody on this machine knows.
const NAME: &str = "bridge.test";

/// A runner that is stopped with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        process::terminate(&mut self.0);
    }
}

fn server() -> (Server, Person, String) {
    let server = Server::start_with(&["--docker", "off", "--allow-host", NAME]);
    let person = server.person("alice");
    let url = server.url().replace("127.0.0.1", NAME);
    (server, person, url)
}

fn wait_online(person: &Person, name: &str) {
    eventually(&format!("{name} is online"), PATIENCE, || person.is_online(name).then_some(()));
}

/// A DNS server that knows one name alone, whose address is the machine's own; its thread ends with the test.
fn dns_server(address: &str, known: &'static [u8]) {
    let socket = UdpSocket::bind((address, 53)).unwrap();
    std::thread::spawn(move || {
        let mut query = [0; 512];
        while let Ok((size, from)) = socket.recv_from(&mut query) {
            // The question is the name, a type and a class; what follows it is left out of the answer.
            let name_end = 12 + query[12..size].iter().position(|byte| *byte == 0).unwrap() + 1;
            let question = &query[12..name_end + 4];
            let is_known = question.starts_with(known);
            let has_address = is_known && question[question.len() - 4..] == [0, 1, 0, 1];
            let mut answer = query[..2].to_vec();
            answer.extend([
                0x81,
                if is_known { 0x80 } else { 0x83 },
                0,
                1,
                0,
                u8::from(has_address),
                0,
                0,
                0,
                0,
            ]);
            answer.extend(question);
            if has_address {
                answer.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 127, 0, 0, 1]);
            }
            let _ = socket.send_to(&answer, from);
        }
    });
}

#[test]
fn a_static_runner_finds_its_server_by_name_whatever_the_machine_asks_for_names() {
    let (_server, person, url) = server();
    dns_server("127.0.0.77", b"\x06bridge\x04test\x00");
    dns_server("127.0.0.78", b"\x05other\x04test\x00");
    for (number, set_up) in [
        "echo 'nameserver 127.0.0.77' >/etc/resolv.conf",
        "echo 'nameserver 127.0.0.77' >/etc/resolv.conf
         echo 'hosts: resolve [!UNAVAIL=return] mdns4_minimal [NOTFOUND=return] files dns' >/etc/nsswitch.conf",
        "echo '127.0.0.1 other bridge.test # ours' >>/etc/hosts; echo 'nameserver 127.0.0.78' >/etc/resolv.conf",
        // As on a machine that has it from mDNS or LDAP.
        "printf '#!/bin/sh\\n[ \"$*\" = \"ahosts -- bridge.test\" ] && echo 127.0.0.1 STREAM bridge.test\\n' >/bin/getent
         chmod 755 /bin/getent; echo 'nameserver 127.0.0.78' >/etc/resolv.conf",
    ]
    .into_iter()
    .enumerate()
    {
        let root = BareRoot::new();
        assert_eq!(root.run(Who::Root, set_up).code, 0);
        std::fs::copy(binaries::runner_static(), root.path("/bin/sandbridge-runner")).unwrap();
        let name = format!("box{number}");
        let token = person.add_runner(&name);
        let lines = format!("echo {token} | exec sandbridge-runner --server {url} --insecure --token-file -\n");
        let mut shell = root.shell(Who::Dev, Who::Dev.project());
        let shell = shell.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let mut running = Running(shell);
        running.0.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
        wait_online(&person, &name);
    }
}

#[test]
fn the_static_runner_needs_no_library_of_the_machine() {
    let program = binaries::runner_static();
    let headers = Command::new("readelf").arg("-d").arg(&program).output().unwrap();
    assert!(headers.status.success() && !String::from_utf8_lossy(&headers.stdout).contains("NEEDED"));
}

/// A proxy that opens tunnels to the server, whatever name it is asked for, for those who send these credentials; what it was
/// asked for.
fn proxy(
    server: &Server,
    answer: &'static str,
    credentials: &'static str,
) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let server = server.url().trim_start_matches("http://").to_owned();
    let asked = Arc::<Mutex<Vec<String>>>::default();
    let heard = Arc::clone(&asked);
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let (mut client, server, heard) = (client.unwrap(), server.clone(), Arc::clone(&heard));
            std::thread::spawn(move || {
                let mut head = Vec::new();
                let mut byte = [0];
                while !head.ends_with(b"\r\n\r\n") && client.read(&mut byte).is_ok_and(|count| count == 1) {
                    head.push(byte[0]);
                }
                let head = String::from_utf8(head).unwrap();
                heard.lock().unwrap().push(head.lines().next().unwrap_or_default().to_owned());
                if !head
                    .lines()
                    .any(|line| line.eq_ignore_ascii_case(&format!("proxy-authorization: {credentials}")))
                {
                    let _ = client.write_all(
                        b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n",
                    );
                    return;
                }
                let _ = client.write_all(format!("HTTP/1.1 {answer}\r\n\r\n").as_bytes());
                if answer.starts_with("200") {
                    tunnel(client, TcpStream::connect(server).unwrap());
                }
            });
        }
    });
    (address, asked)
}

fn tunnel(one: TcpStream, other: TcpStream) {
    let (mut from, mut to) = (one.try_clone().unwrap(), other.try_clone().unwrap());
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut from, &mut to);
        let _ = to.shutdown(std::net::Shutdown::Both);
    });
    let (mut from, mut to) = (other, one);
    let _ = std::io::copy(&mut from, &mut to);
    let _ = to.shutdown(std::net::Shutdown::Both);
}

/// A runner with this variable, in a directory of its own.
fn runner(
    person: &Person,
    name: &str,
    url: &str,
    place: &tempfile::TempDir,
    variable: (&str, &str),
) -> Command {
    let token = place.path().join("token");
    std::fs::write(&token, person.add_runner(name)).unwrap();
    let workspace = place.path().join("workspace");
    std::fs::create_dir(&workspace).unwrap();
    let mut command = Command::new(binaries::runner());
    command
        .args(["--server", url, "--insecure", "--token-file"])
        .arg(token)
        .arg("--workspace")
        .arg(workspace);
    command.arg("--state-dir").arg(place.path().join("state")).env(variable.0, variable.1);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

#[test]
fn a_runner_goes_through_the_proxy_that_the_environment_names() {
    let (server, person, url) = server();
    let (address, asked) = proxy(&server, "200 Connection established", "Basic bWU6czNjcmV0");
    let place = tempfile::TempDir::new().unwrap();
    let proxied = format!("http://me:s3cret@{address}");
    let mut command = runner(&person, "laptop", &url, &place, ("ALL_PROXY", &proxied));
    let _running = Running(command.stderr(Stdio::null()).spawn().unwrap());
    wait_online(&person, "laptop");
    let there = person.run(&["exec", "--on", "laptop", "--", "sh", "-c", "echo here; env"]);
    assert!(there.stdout.starts_with("here") && !there.stdout.contains("s3cret"), "{}", there.stdout);
    let target = url.trim_start_matches("http://");
    assert_eq!(asked.lock().unwrap()[0], format!("CONNECT {target} HTTP/1.1"));
}

#[test]
fn a_proxy_that_does_not_let_it_through_is_named_with_the_way_out() {
    let (server, person, url) = server();
    let (wants, _) = proxy(&server, "200 OK", "Basic bWU6czNjcmV0");
    let (refuses, _) = proxy(&server, "403 Forbidden\r\nContent-Length: 0", "Basic bWU6czNjcmV0");
    for (number, (proxied, words)) in [
        (format!("http://{wants}"), format!("the proxy {wants} wants a user and password")),
        (format!("http://me:s3cret@{refuses}"), format!("the proxy {refuses} refused to connect to {NAME}")),
        ("http://me:s3cret@127.0.0.1:1".to_owned(), "the proxy 127.0.0.1:1 cannot be reached".to_owned()),
        ("socks5://me:s3cret@127.0.0.1:1".to_owned(), "http:// is understood".to_owned()),
    ]
    .into_iter()
    .enumerate()
    {
        let place = tempfile::TempDir::new().unwrap();
        let mut command = runner(&person, &format!("laptop{number}"), &url, &place, ("HTTP_PROXY", &proxied));
        let mut running = Running(command.spawn().unwrap());
        let mut said = String::new();
        let mut stderr = running.0.stderr.take().unwrap();
        let mut part = [0; 4096];
        while !said.contains(&words) {
            let count = stderr.read(&mut part).unwrap();
            assert!(count > 0, "{words}: {said}");
            said.push_str(&String::from_utf8_lossy(&part[..count]));
        }
        assert!(!said.contains("s3cret"), "{said}");
    }
}
