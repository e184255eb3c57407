//! Load on real processes: memory does not grow for a client that has stopped reading, small requests overtake bulk data, and many commands leave
//! nothing behind.

use std::io::Read;
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tests::http::Client;
use tests::random::count;
use tests::terminal::Terminal;
use tests::{Machine, Person, Server, eventually, process};
use tungstenite::client::IntoClientRequest;
use tungstenite::{Message, WebSocket};

/// The tolerated growth of memory that must not grow, in KiB.
const FLAT_KIB: u64 = 2 * 1024;

/// The interval of memory checks.
const LOOK: Duration = Duration::from_millis(250);

fn setup() -> (Server, Person, Machine) {
    let server = Server::start();
    let person = server.person("alice");
    let machine = Machine::start(&server, &person, "laptop");
    (server, person, machine)
}

fn quiet(mut command: Command, stdout: Stdio) -> Child {
    command.stdin(Stdio::null()).stdout(stdout).spawn().unwrap()
}

#[test]
fn memory_does_not_grow_for_a_client_that_stopped_reading() {
    let (server, person, machine) = setup();
    let mut caller = quiet(person.command(&["exec", "--", "yes"]), Stdio::piped());
    caller.stdout.as_mut().unwrap().read_exact(&mut [0; 1024]).unwrap();
    let programs = [server.pid(), machine.runner_pid(), caller.id() as i32];
    let resident = || programs.map(process::resident_kib);
    let mut before = resident();
    eventually("all buffers are full", Duration::from_secs(60), || {
        thread::sleep(LOOK);
        let now = resident();
        (std::mem::replace(&mut before, now) == now).then_some(())
    });
    let end = Instant::now() + Duration::from_secs(count("SANDBRIDGE_STALL_S", 8));
    while Instant::now() < end {
        thread::sleep(LOOK);
        for (now, before) in resident().into_iter().zip(before) {
            assert!(now <= before + FLAT_KIB, "{now} KiB, and {before} KiB before");
        }
    }
    caller.kill().unwrap();
    caller.wait().unwrap();
}

#[test]
fn small_requests_overtake_bulk_data_both_ways() {
    let (server, person, machine) = setup();
    let bytes = count("SANDBRIDGE_BULK_MIB", 256) << 20;
    std::fs::write(machine.workspace().join("file"), "content").unwrap();
    let client = Client::login(&server, "alice");
    let mut shell = Terminal::start(person.command(&["shell", "--", "cat"]), 24, 80);
    let down = person.command(&["exec", "--", "head", "-c", &bytes.to_string(), "/dev/zero"]);
    let up = person.command(&["exec", "--stdin", "--", "wc", "-c"]);
    let mut down = quiet(down, Stdio::null());
    let mut source = quiet(shell_command(&format!("head -c {bytes} /dev/zero")), Stdio::piped());
    let mut up = { up }.stdin(source.stdout.take().unwrap()).stdout(Stdio::piped()).spawn().unwrap();
    let mut rounds = 0;
    while down.try_wait().unwrap().is_none() || up.try_wait().unwrap().is_none() {
        let stat = client.call("GET", "/files/stat?path=file&on=laptop");
        assert_eq!((stat.status, stat.json()["size"].as_u64()), (200, Some(7)), "{stat:?}");
        let (typed, other) = (format!("echo-{rounds}."), format!("other-{rounds}."));
        shell.types(format!("{typed}{other}\r"));
        shell.sees(&typed);
        shell.sees(&other);
        rounds += 1;
    }
    assert!(rounds >= 3, "{rounds} rounds passed");
    assert!(down.wait().unwrap().success() && source.wait().unwrap().success());
    let output = up.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), bytes.to_string());
    assert!(output.status.success());
}

fn shell_command(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    command
}

/// Runs a command through the exec socket; returns its last frame.
fn run(server: &Server, client: &Client, number: u64) -> Value {
    let address = server.url().trim_start_matches("http://");
    let mut request = format!("ws://{address}/api/v1/exec").into_client_request().unwrap();
    request.headers_mut().insert("authorization", format!("Bearer {}", client.token()).parse().unwrap());
    let stream = TcpStream::connect(address).unwrap();
    let (mut socket, _): (WebSocket<_>, _) = tungstenite::client(request, stream).unwrap();
    let script = format!("echo {number}; setsid true & exit {}", number % 100);
    socket.send(Message::text(json!({"argv": ["sh", "-c", script]}).to_string())).unwrap();
    loop {
        match socket.read().unwrap() {
            Message::Text(text) => {
                let frame: Value = serde_json::from_str(&text).unwrap();
                if frame["type"] != "started" {
                    // Reads to the server's close frame.
                    while socket.read().is_ok() {}
                    return frame;
                }
            }
            Message::Binary(bytes) => assert_eq!(&bytes[1..], format!("{number}\n").as_bytes()),
            _ => {}
        }
    }
}

#[test]
fn many_commands_in_a_row_leave_nothing_behind() {
    let (server, _person, machine) = setup();
    let client = Client::login(&server, "alice");
    let runner = machine.runner_pid();
    let descriptors = || std::fs::read_dir(format!("/proc/{runner}/fd")).unwrap().count();
    let run_all = |numbers: std::ops::Range<u64>| {
        for number in numbers {
            let last = run(&server, &client, number);
            assert_eq!(
                (&last["type"], last["code"].as_u64()),
                (&json!("exit"), Some(number % 100)),
                "{last}"
            );
        }
    };
    // Runs some commands first, so that everything that is created only once exists.
    run_all(0..100);
    let at_rest = || process::children(runner).is_empty().then(descriptors);
    let before = eventually("no child is left", Duration::from_secs(60), at_rest);
    let resident = process::resident_kib(runner);
    run_all(100..100 + count("SANDBRIDGE_EXECS", 500));
    eventually("no child and no descriptor is left", Duration::from_secs(60), || {
        at_rest().filter(|now| *now <= before)
    });
    eventually("the memory is released", Duration::from_secs(60), || {
        (process::resident_kib(runner) <= resident + FLAT_KIB).then_some(())
    });
}
