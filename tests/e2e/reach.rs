//! The ways in which a runner finds its server: by name, on machines of all kinds, and through a proxy.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::json;
use tests::http::Client;
use tests::{Authority, BareRoot, Person, Server, Who, binaries, eventually, process};

use crate::install::here;

/// The time within which a runner must be online, or report why it is not.
const PATIENCE: Duration = Duration::from_secs(60);
/// A name that this machine cannot resolve.
const NAME: &str = "bridge.test";
/// The credentials that these proxies require, and their encoded form.
const LOGIN: &str = "me:s3cret";
const CREDENTIALS: &str = "Basic bWU6czNjcmV0";
/// The time within which a runner must report that no DNS server answers, including the time to start.
const NO_ANSWER_SAID_WITHIN: Duration = Duration::from_secs(12);

/// A runner that is stopped at the end of the test.
struct Running(Child);

impl Running {
    fn start(command: &mut Command) -> Self {
        Self(command.spawn().unwrap())
    }

    /// Reads the output until it contains `words`; returns all of it.
    fn says(&mut self, words: &str) -> String {
        let mut stderr = self.0.stderr.take().expect("`says` is called only once");
        let said = Arc::<Mutex<String>>::default();
        let heard = Arc::clone(&said);
        std::thread::spawn(move || {
            let mut part = [0; 4096];
            while let Ok(count @ 1..) = stderr.read(&mut part) {
                heard.lock().unwrap().push_str(&String::from_utf8_lossy(&part[..count]));
            }
        });
        let heard = || said.lock().unwrap().clone();
        let deadline = Instant::now() + PATIENCE;
        while !heard().contains(words) {
            assert!(Instant::now() < deadline, "{words}: {}", heard());
            std::thread::sleep(Duration::from_millis(20));
        }
        heard()
    }
}

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

/// Starts a DNS server that knows a single name, whose address is the machine's own; returns a switch for whether it answers
/// at all. Its thread ends with the test.
fn dns_server(address: &str, known: &'static [u8]) -> Arc<AtomicBool> {
    let socket = UdpSocket::bind((address, 53)).unwrap();
    let answers = Arc::new(AtomicBool::new(true));
    let may_answer = Arc::clone(&answers);
    std::thread::spawn(move || {
        let mut query = [0; 512];
        while let Ok((size, from)) = socket.recv_from(&mut query) {
            if !may_answer.load(Ordering::Relaxed) {
                continue;
            }
            // The question is the name, a type and a class; the rest of the query is left out of the answer.
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
    answers
}

/// A machine with the runner's program, on which lines of shell start it.
fn bare_root(set_up: &str) -> BareRoot {
    let root = BareRoot::new();
    assert_eq!(root.run(Who::Root, set_up).code, 0);
    std::fs::copy(binaries::runner_static(), root.path("/bin/sandbridge-runner")).unwrap();
    root
}

fn start_there(root: &BareRoot, url: &str, token: &str) -> Running {
    let lines = format!(
        "echo {token} | exec sandbridge-runner --server {url} --insecure --download-allow bridge.test --token-file -\n"
    );
    let mut shell = root.shell(Who::Dev, Who::Dev.project());
    let mut running =
        Running::start(shell.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()));
    running.0.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    running
}

#[test]
fn a_static_runner_finds_its_server_by_name_on_any_name_service_setup() {
    let (_server, person, url) = server();
    dns_server("127.0.0.77", b"\x06bridge\x04test\x00");
    dns_server("127.0.0.78", b"\x05other\x04test\x00");
    for (number, set_up) in [
        "echo 'nameserver 127.0.0.77' >/etc/resolv.conf",
        "echo 'nameserver 127.0.0.77' >/etc/resolv.conf
         echo 'hosts: resolve [!UNAVAIL=return] mdns4_minimal [NOTFOUND=return] files dns' >/etc/nsswitch.conf",
        "echo '127.0.0.1 other bridge.test # ours' >>/etc/hosts; echo 'nameserver 127.0.0.78' >/etc/resolv.conf",
        // The name is resolved by `getent` only, as on a machine that uses mDNS or LDAP.
        "printf '#!/bin/sh\\n[ \"$*\" = \"ahosts -- bridge.test\" ] && echo 127.0.0.1 STREAM bridge.test\\n' >/bin/getent
         chmod 755 /bin/getent; echo 'nameserver 127.0.0.78' >/etc/resolv.conf",
    ]
    .into_iter()
    .enumerate()
    {
        let root = bare_root(set_up);
        let name = format!("box{number}");
        let _running = start_there(&root, &url, &person.add_runner(&name));
        wait_online(&person, &name);
    }
}

#[test]
fn a_dns_timeout_is_reported_and_the_lookup_is_repeated() {
    let (_server, person, url) = server();
    let answers = dns_server("127.0.0.79", b"\x06bridge\x04test\x00");
    answers.store(false, Ordering::Relaxed);
    let root = bare_root("echo 'nameserver 127.0.0.79' >/etc/resolv.conf");
    let start = Instant::now();
    let mut running = start_there(&root, &url, &person.add_runner("box"));
    running.says("the name bridge.test cannot be resolved (no DNS server answered in time)");
    assert!(start.elapsed() < NO_ANSWER_SAID_WITHIN, "{:?}", start.elapsed());
    answers.store(true, Ordering::Relaxed);
    wait_online(&person, "box");
}

#[test]
fn the_static_runner_never_resolves_names_with_the_c_library() {
    let (server, person, url) = server();
    let client = Client::login(&server, "alice");
    dns_server("127.0.0.80", b"\x06bridge\x04test\x00");
    let root = bare_root("echo 'nameserver 127.0.0.80' >/etc/resolv.conf");
    let library_asks = || root.run(Who::Dev, "timeout 3 wget -qO- http://bridge.test:1/").code;
    assert_eq!(library_asks(), 1, "the name is known, and nothing listens on that port");
    // The library reads this file before its first lookup, and blocks forever.
    assert_eq!(root.run(Who::Root, "mkfifo /etc/nsswitch.conf").code, 0);
    assert_eq!(library_asks(), 143);
    let _running = start_there(&root, &url, &person.add_runner("box"));
    wait_online(&person, "box");
    let there = person.run(&["exec", "--on", "box", "--", "pwd"]);
    assert_eq!(there.stdout.trim(), Who::Dev.project(), "{}", there.stderr);
    let body = json!({"url": format!("{url}/install"), "path": "file", "max_bytes": 1 << 20}).to_string();
    let answer = client.send("POST", "/files/download", body.as_bytes());
    assert_eq!(answer.status, 200, "{answer:?}");
    let looked = root.run(Who::Dev, "timeout 20 sandbridge-runner doctor");
    assert!(looked.stdout.contains("landlock"), "{looked:?}");
}

#[test]
fn the_static_runner_needs_no_library_of_the_machine() {
    let program = binaries::runner_static();
    let headers = Command::new("readelf").arg("-d").arg(&program).output().unwrap();
    assert!(headers.status.success() && !String::from_utf8_lossy(&headers.stdout).contains("NEEDED"));
}

/// A proxy that opens tunnels to the server, whatever name is requested, and serves a page for plain requests, for clients
/// that send [`CREDENTIALS`]; returns its address and the recorded requests.
fn proxy(server: &Server, answer: &'static str) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let server = server.url().split_once("//").unwrap().1.to_owned();
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
                    .any(|line| line.eq_ignore_ascii_case(&format!("proxy-authorization: {CREDENTIALS}")))
                {
                    let _ = client.write_all(
                        b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n",
                    );
                    return;
                }
                if head.starts_with("GET ") {
                    let _ = client.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\npage");
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

/// A runner with these environment variables, in a separate directory.
fn runner(
    person: &Person,
    name: &str,
    url: &str,
    place: &tempfile::TempDir,
    variables: &[(&str, &str)],
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
    command.arg("--state-dir").arg(place.path().join("state")).envs(variables.iter().copied());
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

#[test]
fn a_runner_uses_the_proxy_from_the_environment() {
    let (server, person, url) = server();
    let (address, asked) = proxy(&server, "200 Connection established");
    let place = tempfile::TempDir::new().unwrap();
    let proxied = format!("http://{LOGIN}@{address}");
    let mut command = runner(&person, "laptop", &url, &place, &[("ALL_PROXY", &proxied)]);
    let _running = Running::start(command.stderr(Stdio::null()));
    wait_online(&person, "laptop");
    let there = person.run(&["exec", "--on", "laptop", "--", "sh", "-c", "echo here; env"]);
    assert!(there.stdout.starts_with("here") && !there.stdout.contains("s3cret"), "{}", there.stdout);
    let target = url.trim_start_matches("http://");
    assert_eq!(asked.lock().unwrap()[0], format!("CONNECT {target} HTTP/1.1"));
}

#[test]
fn a_proxy_that_refuses_the_runner_is_named_with_advice() {
    let (server, person, url) = server();
    let (wants, _) = proxy(&server, "200 OK");
    let (refuses, _) = proxy(&server, "403 Forbidden\r\nContent-Length: 0");
    for (number, (proxied, words)) in [
        (format!("http://{wants}"), format!("the proxy {wants} needs a user and a password")),
        (format!("http://me:s3cret@{refuses}"), format!("the proxy {refuses} refused to connect to {NAME}")),
        ("http://me:s3cret@127.0.0.1:1".to_owned(), "the proxy 127.0.0.1:1 cannot be reached".to_owned()),
        ("socks5://me:s3cret@127.0.0.1:1".to_owned(), "only http:// is supported".to_owned()),
    ]
    .into_iter()
    .enumerate()
    {
        let place = tempfile::TempDir::new().unwrap();
        let name = format!("laptop{number}");
        let mut running =
            Running::start(&mut runner(&person, &name, &url, &place, &[("HTTP_PROXY", &proxied)]));
        let said = running.says(&words);
        assert!(!said.contains("s3cret"), "{said}");
    }
}

/// An activated virtual environment puts a directory of the workspace, to which commands can write, into PATH.
#[test]
fn the_runner_itself_never_runs_a_program_from_the_workspace() {
    let server = Server::start();
    let person = server.person("alice");
    let place = tempfile::TempDir::new().unwrap();
    let path = format!("{}/workspace/bin:{}", place.path().display(), std::env::var("PATH").unwrap());
    let mut command = runner(&person, "laptop", server.url(), &place, &[("PATH", &path)]);
    let bin = place.path().join("workspace/bin");
    std::fs::create_dir(&bin).unwrap();
    let ran = place.path().join("ran");
    for name in ["getent", "git", "docker", "systemctl"] {
        let script = format!("#!/bin/sh\necho $0 >> {}\n", ran.display());
        std::fs::write(bin.join(name), script).unwrap();
        std::fs::set_permissions(bin.join(name), std::os::unix::fs::PermissionsExt::from_mode(0o755))
            .unwrap();
    }
    let _runner = Running::start(&mut command);
    wait_online(&person, "laptop");
    person.run(&["use", "laptop"]);
    let client = tests::http::Client::login(&server, "alice");
    let wanted =
        serde_json::json!({"url": "http://no-such-name.invalid/file", "path": "file", "max_bytes": 1024});
    let answer = client.send("POST", "/files/download", wanted.to_string().as_bytes());
    let told = String::from_utf8_lossy(&answer.body);
    assert!(told.contains("no-such-name"), "the name was looked up: {told}");
    assert!(!ran.exists(), "{}", std::fs::read_to_string(&ran).unwrap());
}

/// A server with TLS, a user on it, and its URL with [`NAME`].
fn encrypted_server(authority: &Authority) -> (Server, Person, String) {
    let server = Server::start_encrypted(authority, &["--docker", "off", "--allow-host", NAME]);
    let person = server.person("alice");
    let url = server.url().replace("127.0.0.1", NAME);
    (server, person, url)
}

#[test]
fn an_encrypted_link_through_a_proxy_accepts_only_the_servers_certificate() {
    let (authority, stranger) = (Authority::new(NAME), Authority::new(NAME));
    let (server, person, url) = encrypted_server(&authority);
    // The proxy adds as many header lines as a company's proxy might add.
    let opened = format!("200 OK{}", "\r\nX-Added: by the proxy".repeat(100));
    let (address, asked) = proxy(&server, opened.leak());
    let proxied = format!("http://{LOGIN}@{address}");
    let place = tempfile::TempDir::new().unwrap();
    let start = |name: &str, trusted: &Path, variables: &[(&str, &str)]| {
        let place = tempfile::TempDir::new_in(&place).unwrap();
        let mut command = runner(&person, name, &url, &place, variables);
        let running = Running::start(command.arg("--ca-cert").arg(trusted));
        (place, running)
    };
    let through = [("HTTPS_PROXY", proxied.as_str()), ("HTTP_PROXY", "http://127.0.0.1:1")];
    let laptop = start("laptop", &authority.certificate(), &through);
    wait_online(&person, "laptop");
    let target = url.trim_start_matches("https://");
    assert_eq!(asked.lock().unwrap().drain(..).next().unwrap(), format!("CONNECT {target} HTTP/1.1"));
    drop(laptop);
    // A proxy that impersonates the server.
    let said = start("fooled", &stranger.certificate(), &through).1.says("pass it with --ca-cert FILE");
    assert!(said.lines().filter(|line| line.contains("is not trusted (")).count() == 1, "{said}");
    assert!(!asked.lock().unwrap().drain(..).as_slice().is_empty());
    let excepted = [through[0], ("NO_PROXY", "example.com,bridge.test")];
    start("direct", &authority.certificate(), &excepted).1.says("the name bridge.test cannot be resolved");
    assert_eq!(*asked.lock().unwrap(), Vec::<String>::new());
    let nobody = format!("http://{address}");
    let mut shut_out = start("nobody", &authority.certificate(), &[("https_proxy", &nobody)]);
    shut_out
        .1
        .says(&format!("the proxy {address} needs a user and a password: HTTPS_PROXY=http://USER:PASSWORD@"));
}

#[test]
fn downloads_and_a_model_use_the_proxy_and_reach_no_more_than_without() {
    let (server, authority) = (Server::start(), Authority::new(NAME));
    let (person, client) = (server.person("alice"), Client::login(&server, "alice"));
    let (elsewhere, _, elsewhere_url) = encrypted_server(&authority);
    let (address, asked) = proxy(&elsewhere, "200 OK");
    let (certificate, proxied) = (authority.certificate(), format!("http://{LOGIN}@{address}"));
    let variables = [
        ("HTTPS_PROXY", proxied.as_str()),
        ("HTTP_PROXY", &proxied),
        ("SSL_CERT_FILE", certificate.to_str().unwrap()),
    ];
    let download = |url: &str| {
        let body = json!({"url": url, "path": "file", "max_bytes": 1 << 20}).to_string();
        client.send("POST", "/files/download", body.as_bytes())
    };
    let asked_for = || asked.lock().unwrap().drain(..).collect::<Vec<_>>();
    let place = tempfile::TempDir::new().unwrap();
    let mut command = runner(&person, "laptop", server.url(), &place, &variables);
    let running = Running::start(command.stderr(Stdio::null()).args([
        "--llm-url",
        &elsewhere_url,
        "--download-allow",
        "127.0.0.1",
    ]));
    wait_online(&person, "laptop");
    let file = place.path().join("workspace/file");
    assert_eq!(download("http://files.test/a?b=c").status, 200);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "page");
    assert_eq!(asked_for(), ["GET http://files.test/a?b=c HTTP/1.1"]);
    let answer = download(&format!("{elsewhere_url}/install"));
    assert_eq!(answer.status, 200, "{answer:?}");
    assert!(std::fs::read_to_string(&file).unwrap().starts_with("#!/bin/sh"));
    let connect = format!("CONNECT {} HTTP/1.1", elsewhere_url.trim_start_matches("https://"));
    assert_eq!(asked_for(), [connect.as_str()]);
    // Requests for the machine itself never go through a proxy, since they would reach the proxy's machine.
    assert_eq!(download(&format!("{}/install", server.url())).status, 200);
    assert_eq!(asked_for(), Vec::<String>::new());
    let models = person.run(&["model", "add", "mine", "--provider", "openai", "--runner", "laptop"]);
    assert!(models.stderr.contains("cannot be parsed"), "that server is not a model: {models:?}");
    assert_eq!(asked_for()[0], connect);
    drop(running);

    // A key is sent over an unencrypted connection only on private networks, which no proxy could guarantee; and a proxy cannot be used to bypass a
    // policy.
    let place = tempfile::TempDir::new().unwrap();
    let mut command = runner(&person, "desk", server.url(), &place, &variables);
    command.stderr(Stdio::null()).args(["--llm-url", "http://llm.test", "--allow-net", "80,443"]);
    let _running = Running::start(&mut command);
    wait_online(&person, "desk");
    assert_eq!(person.run(&["use", "desk"]).code, 0);
    let models = person.run(&["model", "add", "mine", "--provider", "openai", "--runner", "desk"]);
    assert!(models.stderr.contains("the name llm.test cannot be resolved"), "{models:?}");
    for url in ["http://files.test/", &format!("{elsewhere_url}/install"), "https://files.test/"] {
        let answer = download(url);
        assert_eq!(answer.kind(), "sandbox_denied", "{url}: {answer:?}");
    }
    assert_eq!(asked_for(), Vec::<String>::new());
}

#[test]
fn the_install_script_uses_the_proxy_as_the_runner_does() {
    let authority = Authority::new(NAME);
    let (server, _, url) = encrypted_server(&authority);
    let (address, asked) = proxy(&server, "200 OK");
    let certificate = authority.certificate();
    let certificate = certificate.to_str().unwrap();
    let mut curl = Command::new("curl");
    curl.args(["-fsS", "--cacert", certificate, &format!("{}/install", server.url())]);
    let script = tests::server::run(curl, b"").stdout.replace(server.url(), &url);
    let asked_for = || asked.lock().unwrap().drain(..).collect::<Vec<_>>();
    let connect = format!("CONNECT {} HTTP/1.1", url.trim_start_matches("https://"));
    let (open, closed) = (format!("http://{LOGIN}@{address}"), format!("http://{address}"));
    for tool in ["curl", "wget"] {
        let [place, workspace] = [0, 1].map(|_| tempfile::TempDir::new().unwrap());
        let options = ["--ca-cert", certificate, "--workspace", workspace.path().to_str().unwrap()];
        let installed = here(&script, &[tool], place.path(), &options, &[("HTTPS_PROXY", &open)]);
        // The request reached the server, which does not know the token.
        assert_eq!(installed.code, 5, "{}", installed.stderr);
        assert!(!installed.stderr.contains("s3cret"), "{}", installed.stderr);
        let through = asked_for();
        assert!(through.len() == 2 && through.iter().all(|line| *line == connect), "{through:?}");
        let refused = here(&script, &[tool], place.path(), &options, &[("HTTPS_PROXY", &closed)]);
        let words = "the proxy needs a user and a password: HTTPS_PROXY=http://USER:PASSWORD@HOST:PORT";
        assert!(refused.code == 1 && refused.stderr.contains(words), "{}", refused.stderr);
        assert_eq!(refused.stderr.lines().count(), 2, "one clear line: {}", refused.stderr);
        asked_for();
    }
    // Unencrypted requests go to the proxy itself; this proxy serves the same page to every client.
    let script = script.replace(&url, "http://bridge.test");
    for tool in ["curl", "wget", "busybox"] {
        let place = tempfile::TempDir::new().unwrap();
        let changed = here(&script, &[tool], place.path(), &["--insecure"], &[("HTTP_PROXY", &open)]);
        assert!(changed.code == 1 && changed.stderr.contains("cut off or changed"), "{}", changed.stderr);
        assert!(
            asked_for().iter().all(|line| line.starts_with("GET http://bridge.test/download/")),
            "{tool}"
        );
    }
}
