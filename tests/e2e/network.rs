//! The network policy of a runner that connects to its server: the connection is the runner's own, and the policy
//! applies to its commands.

use std::net::TcpListener;
use std::time::Duration;

use tests::http::Client;
use tests::proxy::{Fate, Proxy};
use tests::terminal::Terminal;
use tests::{Machine, Server, eventually};

/// The longest time in which a runner must be back after a cut.
const BACK_WITHIN: Duration = Duration::from_secs(60);

/// Tries to connect to a port of the machine, and prints the result.
const REACH: &str = "import socket, sys
try: socket.create_connection(('127.0.0.1', int(sys.argv[1])), 5); print('reached', 0)
except OSError as error: print('refused', error.errno)";

#[test]
fn commands_reach_what_the_policy_allows_and_the_runner_reaches_its_server() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = Server::start();
    let alice = server.person("alice");
    let listed = port.to_string();
    for (name, options, expected) in [
        ("all", &[][..], "reached 0\n"),
        ("listed", &["--allow-net", &listed], "reached 0\n"),
        ("others", &["--allow-net", "53,443"], "refused 13\n"),
        ("loopback", &["--network", "loopback"], "refused 111\n"),
        ("alone", &["--network", "none"], "refused 1\n"),
    ] {
        let proxy = Proxy::before(&server);
        let machine = Machine::start_at(proxy.url(), &alice, name, options);
        std::fs::write(machine.workspace().join("reach.py"), REACH).unwrap();
        let run = || alice.run(&["exec", "--on", name, "--", "python3", "reach.py", &listed]);
        assert_eq!(run().stdout, expected, "{name}");
        assert_eq!(proxy.cut(Fate::Reset), 1, "{name}");
        let again = eventually("the runner is back", BACK_WITHIN, || {
            let output = run();
            (output.code == 0).then_some(output.stdout)
        });
        assert_eq!(again, expected, "{name}, after a cut");
        let mut terminal = Terminal::start(alice.command(&["shell", "--on", name]), 24, 80);
        terminal.types(format!("python3 reach.py {port}; exit\n"));
        terminal.sees(&expected.replace('\n', "\r\n"));
        terminal.ends();
        let list = alice.json(&["runner", "list", "--json"]);
        let runner = list.as_array().unwrap().iter().find(|runner| runner["name"] == name).unwrap();
        let layer =
            runner["layers"].as_array().unwrap().iter().find(|layer| layer["name"] == "network").unwrap();
        assert_eq!(layer["holds"], name != "all", "{layer}");
    }
}

#[test]
fn two_commands_can_connect_on_the_runners_own_loopback() {
    let server = Server::start();
    let alice = server.person("alice");
    let _machine = Machine::start_with(&server, &alice, "laptop", &["--network", "loopback"]);
    let serve = "python3 -m http.server --bind 127.0.0.1 18080 >/dev/null 2>&1";
    let mut serving = alice.command(&["exec", "--", "sh", "-c", serve]);
    let mut serving = serving.stdin(std::process::Stdio::null()).spawn().unwrap();
    let ask = "python3 -c \"import urllib.request; print(urllib.request.urlopen('http://localhost:18080/').status)\"";
    eventually("the test server answers another command", BACK_WITHIN, || {
        (alice.run(&["exec", "--", "sh", "-c", ask]).stdout == "200\n").then_some(())
    });
    serving.kill().unwrap();
    serving.wait().unwrap();
}

#[test]
fn a_download_reaches_no_more_than_commands_do() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/file", listener.local_addr().unwrap());
    let server = Server::start();
    let alice = server.person("alice");
    let client = Client::login(&server, "alice");
    let options = ["--network", "loopback", "--download-allow", "127.0.0.1"];
    let _machine = Machine::start_with(&server, &alice, "laptop", &options);
    let body = serde_json::json!({"url": url, "path": "file", "max_bytes": 9}).to_string();
    let answer = client.send("POST", "/files/download", body.as_bytes());
    assert_eq!(answer.kind(), "sandbox_denied", "{answer:?}");
}

#[test]
fn a_download_reaches_the_machines_own_network_only_at_allowed_hosts() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = Server::start();
    let alice = server.person("alice");
    let client = Client::login(&server, "alice");
    let _machine = Machine::start(&server, &alice, "laptop");
    for host in ["127.0.0.1", "localhost", "[::1]", "169.254.169.254"] {
        let url = format!("http://{host}:{port}/latest/meta-data");
        let body = serde_json::json!({"url": url, "path": "file", "max_bytes": 9}).to_string();
        let answer = client.send("POST", "/files/download", body.as_bytes());
        let told = String::from_utf8_lossy(&answer.body).into_owned();
        assert_eq!(answer.kind(), "sandbox_denied", "{host}: {told}");
        assert!(told.contains(&format!("--download-allow {host}")), "{told}");
    }
    listener.set_nonblocking(true).unwrap();
    assert!(listener.accept().is_err(), "nobody connected");
}
