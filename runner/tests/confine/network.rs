//! Commands' access to the network, under each policy, with a listener on the machine.

use std::net::{TcpListener, UdpSocket};

use runner::bounds::{Bounds, Network, Reach};
use runner::confine::TerminalSize;
use runner::layers::{Profile, layer_name};
use runner::spawn::{SpawnError, Spawner};

use crate::guardian::{Guarded, Who};
use crate::support::{Bench, Output, finish, read_line, shell, until, wait};

/// Python that tries to reach `name`: connects, sends, creates sockets; prints `reached` or the error's name.
const REACH: &str = "
import errno, socket, sys
def reach(work):
    try:
        work()
        return 'reached'
    except OSError as error:
        return errno.errorcode.get(error.errno, str(error))
";

fn network(reach: Reach, ports: &[u16]) -> Bounds {
    Bounds { network: Network { reach, ports: ports.to_vec() }, ..Bounds::default() }
}

/// A bench with a limited network; `None` if the machine cannot do that, in which case it was an error.
fn bounded(bounds: Bounds) -> Option<Bench> {
    match Bench::try_bounded(Profile::Workspace, bounds) {
        Ok(bench) => Some(bench),
        Err(error) => {
            assert!(matches!(error, SpawnError::Unavailable(_)), "{error}");
            assert!(
                error.to_string().contains("--network") || error.to_string().contains("Landlock"),
                "{error}"
            );
            assert!(!rustix::process::geteuid().is_root(), "{error}");
            None
        }
    }
}

fn python(bench: &Bench, work: &str) -> String {
    let output = bench.python(&format!("{REACH}{work}"));
    assert!(output.succeeded(), "{}", output.stderr);
    output.stdout.trim().to_owned()
}

/// The result of connecting to a port of `host`.
fn connect(bench: &Bench, host: &str, port: u16) -> String {
    python(bench, &format!("print(reach(lambda: socket.create_connection(('{host}', {port}), 5)))"))
}

fn make_socket(bench: &Bench, arguments: &str) -> String {
    python(bench, &format!("print(reach(lambda: socket.socket({arguments})))"))
}

#[test]
fn a_service_of_the_machine_is_reached_only_where_all_of_the_network_is() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let open = Bench::new(Profile::Workspace);
    assert_eq!(connect(&open, "127.0.0.1", port), "reached");
    let layer = open.spawner.report().layer(layer_name::NETWORK).unwrap();
    assert!(!layer.holds && layer.detail.contains("all"), "{layer:?}");
    for (reach, expected) in [(Reach::None, "EPERM"), (Reach::Loopback, "ECONNREFUSED")] {
        let Some(bench) = bounded(network(reach, &[])) else { continue };
        assert_eq!(connect(&bench, "127.0.0.1", port), expected, "{reach}");
        let layer = bench.spawner.report().layer(layer_name::NETWORK).unwrap();
        assert!(layer.holds && layer.detail.contains(reach.as_str()), "{layer:?}");
        let outside = connect(&bench, "192.0.2.1", 80);
        assert_eq!(outside, if reach == Reach::None { "EPERM" } else { "ENETUNREACH" }, "{reach}");
    }
}

#[test]
fn without_network_there_are_only_sockets_of_the_file_system() {
    let bench = bounded(network(Reach::None, &[])).unwrap();
    for arguments in [
        "socket.AF_INET, socket.SOCK_STREAM",
        "socket.AF_INET6, socket.SOCK_STREAM",
        "socket.AF_INET, socket.SOCK_DGRAM",
        "socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP",
        "socket.AF_NETLINK, socket.SOCK_RAW, 0",
        "socket.AF_PACKET, socket.SOCK_RAW",
        "socket.AF_VSOCK, socket.SOCK_STREAM",
        "socket.AF_ALG, socket.SOCK_SEQPACKET",
    ] {
        assert_eq!(make_socket(&bench, arguments), "EPERM", "{arguments}");
    }
    let local = "a, b = socket.socketpair(); a.send(b'x'); s = socket.socket(socket.AF_UNIX); s.bind('/tmp/s'); s.listen()
c = socket.socket(socket.AF_UNIX); c.connect('/tmp/s'); print(b.recv(1))";
    assert_eq!(python(&bench, local), "b'x'");
}

#[test]
fn two_commands_meet_on_a_loopback_of_their_own() {
    let Some(bench) = bounded(network(Reach::Loopback, &[])) else { return };
    let server = "python3 -c \"import socket; s = socket.create_server(('127.0.0.1', 0)); print(s.getsockname()[1], flush=True)
c, _ = s.accept(); c.send(b'hello')\"";
    let mut serving = bench.start(server);
    let port: u16 = read_line(&serving.stdout).parse().unwrap();
    assert!(TcpListener::bind(("127.0.0.1", port)).is_ok(), "it is the machine's");
    // Under a narrower profile, and on a terminal: the same network.
    let narrower = Spawner::start(Profile::ReadOnly, &bench.policy).unwrap();
    let ask = format!(
        "python3 -c \"import socket; print(socket.create_connection(('127.0.0.1', {port})).recv(9))\""
    );
    let output: Output = finish(narrower.spawn_blocking(shell(&ask)).unwrap());
    assert_eq!(output.stdout, "b'hello'\n", "{}", output.stderr);
    wait(&mut serving.child);
    let mut serving = bench.start(server);
    let port: u16 = read_line(&serving.stdout).parse().unwrap();
    let ask = format!(
        "python3 -c \"import socket; print(socket.create_connection(('127.0.0.1', {port})).recv(9))\""
    );
    let size = TerminalSize { rows: 24, columns: 80 };
    let spawned = bench.spawner.spawn_on_terminal(&bench.policy, shell(&ask), size).unwrap();
    assert_eq!(read_line(&spawned.stdout).trim_end(), "b'hello'");
    wait(&mut serving.child);
}

#[test]
fn a_terminal_has_the_network_of_other_commands() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    for reach in [Reach::None, Reach::Loopback] {
        let Some(bench) = bounded(network(reach, &[])) else { continue };
        let script = format!(
            "python3 -c \"import socket; socket.create_connection(('127.0.0.1', {port}))\" 2>/dev/null && echo yes || echo no"
        );
        let size = TerminalSize { rows: 24, columns: 80 };
        let spawned = bench.spawner.spawn_on_terminal(&bench.policy, shell(&script), size).unwrap();
        assert_eq!(read_line(&spawned.stdout).trim_end(), "no", "{reach}");
    }
}

#[test]
fn only_listed_ports_are_reached_and_nothing_goes_around_them() {
    let (listed, other) =
        (TcpListener::bind("127.0.0.1:0").unwrap(), TcpListener::bind("127.0.0.1:0").unwrap());
    let [listed, other] = [&listed, &other].map(|listener| listener.local_addr().unwrap().port());
    let Some(bench) = bounded(network(Reach::All, &[listed])) else { return };
    assert_eq!(connect(&bench, "127.0.0.1", listed), "reached");
    assert_eq!(connect(&bench, "127.0.0.1", other), "EACCES");
    for arguments in [
        "socket.AF_INET, socket.SOCK_DGRAM",
        "socket.AF_INET6, socket.SOCK_DGRAM",
        "socket.AF_INET, socket.SOCK_RAW, 6",
        "socket.AF_INET, socket.SOCK_STREAM, 262",
        "socket.AF_INET6, socket.SOCK_STREAM, 262",
        "socket.AF_INET, socket.SOCK_STREAM, 132",
        "socket.AF_INET, socket.SOCK_SEQPACKET, 132",
        "43, socket.SOCK_STREAM",
    ] {
        assert_eq!(make_socket(&bench, arguments), "EPERM", "{arguments}");
    }
    // Data sent together with the connection request.
    let fast =
        "s = socket.socket(); print(reach(lambda: s.sendto(b'x', socket.MSG_FASTOPEN, ('127.0.0.1', PORT))),
reach(lambda: s.sendmsg([b'x'], [], socket.MSG_FASTOPEN, ('127.0.0.1', PORT))))";
    assert_eq!(python(&bench, &fast.replace("PORT", &other.to_string())), "EPERM EPERM");
    let delayed = "s = socket.socket(); s.setsockopt(socket.IPPROTO_TCP, 30, 1)
print(reach(lambda: (s.connect(('127.0.0.1', PORT)), s.send(b'x'))))";
    assert_eq!(python(&bench, &delayed.replace("PORT", &other.to_string())), "EACCES");
    assert_eq!(python(&bench, "print(reach(lambda: socket.create_server(('127.0.0.1', 0))))"), "reached");
    let layer = bench.spawner.report().layer(layer_name::NETWORK).unwrap();
    assert!(
        layer.holds && layer.detail.contains("no UDP") && layer.detail.contains(&listed.to_string()),
        "{layer:?}"
    );
}

#[test]
fn name_servers_are_asked_by_udp_where_their_port_is_listed() {
    let datagrams = UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = datagrams.local_addr().unwrap().port();
    let send = format!(
        "print(reach(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', {port}))))"
    );
    let Some(bench) = bounded(network(Reach::All, &[53])) else { return };
    assert_eq!(python(&bench, &send), "reached");
    assert_eq!(make_socket(&bench, "socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP"), "EPERM");
    let layer = bench.spawner.report().layer(layer_name::NETWORK).unwrap();
    assert!(layer.detail.contains("UDP to any port"), "{layer:?}");
}

#[test]
fn what_ordinary_programs_open_is_there_and_old_kernel_code_is_not() {
    let bench = Bench::new(Profile::Workspace);
    for protocol in [0, 4, 9, 15] {
        assert_eq!(
            make_socket(&bench, &format!("socket.AF_NETLINK, socket.SOCK_RAW, {protocol}")),
            "reached"
        );
    }
    for arguments in [
        "socket.AF_NETLINK, socket.SOCK_RAW, 12",
        "socket.AF_NETLINK, socket.SOCK_RAW, 16",
        "socket.AF_INET, 10, 3",
        "socket.AF_PACKET, socket.SOCK_RAW",
        "socket.AF_VSOCK, socket.SOCK_STREAM",
        "socket.AF_ALG, socket.SOCK_SEQPACKET",
        "socket.AF_CAN, socket.SOCK_RAW, 1",
        "44, socket.SOCK_RAW",
    ] {
        assert_eq!(make_socket(&bench, arguments), "EPERM", "{arguments}");
    }
}

#[test]
fn whoever_runs_the_runner_the_policy_holds_or_nothing_starts() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let script = format!(
        "python3 -c \"import socket
try: socket.create_connection(('127.0.0.1', {port}), 5); print('reached')
except OSError as error: print('refused', error.errno)\" > out; mv out told"
    );
    for who in [Who::Us, Who::Nobody, Who::WithoutAdmin] {
        for (reach, expected) in
            [("all", "reached\n"), ("loopback", "refused 111\n"), ("none", "refused 1\n")]
        {
            let bounds = format!(r#"{{"network": {{"reach": "{reach}"}}}}"#);
            let mut guarded = Guarded::bounded(&script, who, &bounds);
            let Some(line) = guarded.try_line() else {
                // Without privileges and without a user namespace, the runner refuses the policy, reports that and ends.
                assert_eq!(
                    (reach, guarded.guardian.wait().unwrap().code()),
                    ("loopback", Some(1)),
                    "{who:?}"
                );
                continue;
            };
            assert_eq!(line[0], "ready");
            let told = guarded.directory.path().join("work/told");
            until("the command has tried", || told.exists());
            assert_eq!(std::fs::read_to_string(told).unwrap(), expected, "{who:?}, {reach}, {line:?}");
        }
    }
}
