//! Sockets and FIFOs of services in the trees that commands only read.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{Bench, argv, finish};
use runner::bounds::{Bounds, Network, Reach};
use runner::confine::{Allowances, ConfinePolicy};
use runner::layers::{Profile, layer_name};
use runner::spawn::{SpawnRequest, Spawner};

const CONNECT: &str = "import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])";

/// A workspace, and next to it a tree that commands may read, in which a service listens.
struct Service {
    bench: Bench,
    tree: PathBuf,
    listeners: Vec<UnixListener>,
}

impl Service {
    fn new() -> Self {
        let bench = Bench::new(Profile::Workspace);
        let tree = bench.directory.path().canonicalize().unwrap().join("tree");
        fs::create_dir_all(tree.join("run")).unwrap();
        Self { bench, tree, listeners: Vec::new() }
    }

    fn listens(&mut self, path: &Path) {
        self.listeners.push(UnixListener::bind(path).unwrap());
    }

    fn policy(&self) -> ConfinePolicy {
        let allowances = Allowances::new(std::slice::from_ref(&self.tree), &[], false).unwrap();
        self.bench.policy.clone().allowing(allowances)
    }

    fn spawner(&self) -> Spawner {
        Spawner::start(Profile::Workspace, &self.policy()).unwrap()
    }
}

fn connects(spawner: &Spawner, path: &Path) -> bool {
    let argv = argv(&["python3", "-c", CONNECT, path.to_str().unwrap()]);
    let request = SpawnRequest { argv, ..SpawnRequest::default() };
    finish(spawner.spawn_blocking(request).unwrap()).succeeded()
}

fn own_root(spawner: &Spawner) -> bool {
    let report = spawner.report();
    let own_root = report.holds(layer_name::MOUNT_NAMESPACE);
    assert!(own_root || report.landlock_abi() >= 9 || !report.holds(layer_name::SOCKET_FILES), "{report:?}");
    own_root
}

#[test]
fn a_service_in_a_tree_that_is_only_read_cannot_be_connected_to() {
    let mut service = Service::new();
    let tree = service.tree.clone();
    service.listens(&tree.join("run/plain"));
    symlink("run", tree.join("link")).unwrap();
    service.listens(&tree.join("link/by-link"));
    symlink("run/plain", tree.join("name")).unwrap();
    fs::hard_link(tree.join("run/plain"), tree.join("run/second")).unwrap();
    let spawner = service.spawner();
    if !own_root(&spawner) {
        return;
    }
    for name in ["run/plain", "link/plain", "name", "run/second", "run/by-link", "link/by-link"] {
        let path = tree.join(name);
        assert!(std::os::unix::net::UnixStream::connect(&path).is_ok(), "{name} is there");
        assert!(!connects(&spawner, &path), "{name}");
    }
    assert!(spawner.report().holds(layer_name::SOCKET_FILES), "{:?}", spawner.report());
}

#[test]
fn a_service_with_a_relative_name_is_found_as_well() {
    let service = Service::new();
    let program = "import os, socket, sys; os.chdir(sys.argv[1]); s = socket.socket(socket.AF_UNIX); s.bind('relative'); \
                   s.listen(); print('ready', flush=True); sys.stdin.read()";
    let mut listener = Command::new("python3")
        .args(["-c", program, service.tree.to_str().unwrap()])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut ready = [0; 6];
    std::io::Read::read_exact(listener.stdout.as_mut().unwrap(), &mut ready).unwrap();
    let spawner = service.spawner();
    let path = service.tree.join("relative");
    assert!(std::os::unix::net::UnixStream::connect(&path).is_ok());
    assert!(!own_root(&spawner) || !connects(&spawner, &path));
    drop(listener.stdin.take());
    listener.wait().unwrap();
}

#[test]
fn a_service_among_the_systems_programs_is_out_of_reach_without_a_network_too() {
    let Ok(directory) = tempfile::Builder::new().tempdir_in("/opt") else { return };
    let path = directory.path().join("socket");
    let _listener = UnixListener::bind(&path).unwrap();
    for reach in [Reach::All, Reach::None] {
        let network = Network { reach, ports: Vec::new() };
        let Ok(bench) = Bench::try_bounded(Profile::Workspace, Bounds { network, ..Bounds::default() })
        else {
            continue;
        };
        assert!(!own_root(&bench.spawner) || !connects(&bench.spawner, &path));
    }
}

#[test]
fn a_fifo_of_a_service_gives_commands_nothing() {
    let service = Service::new();
    let path = service.tree.join("run/fifo");
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    let spawner = service.spawner();
    if !own_root(&spawner) {
        return;
    }
    // Both ends, so that neither waits for the other.
    let ours = fs::OpenOptions::new().read(true).write(true).open(&path).unwrap();
    std::io::Write::write_all(&mut &ours, b"for the service\n").unwrap();
    let line = format!("timeout 5 head -n 1 {0}; echo planted > {0}", path.display());
    let output = finish(spawner.spawn_blocking(crate::support::shell(&line)).unwrap());
    assert!(!output.stdout.contains("service") && !output.succeeded(), "{}", output.stdout);
}

#[test]
fn what_commands_serve_themselves_and_what_is_allowed_by_name_stays_usable() {
    let mut service = Service::new();
    let (tree, named) = (service.tree.clone(), service.tree.join("run/named"));
    service.listens(&named);
    let policy = service.bench.policy.clone();
    let allowances = Allowances::new(&[tree], std::slice::from_ref(&named), false).unwrap();
    let spawner = Spawner::start(Profile::Workspace, &policy.allowing(allowances)).unwrap();
    assert!(connects(&spawner, &named));
    let both = "import socket; s = socket.socket(socket.AF_UNIX); s.bind('own'); s.listen(); \
                socket.socket(socket.AF_UNIX).connect('own')";
    let request = SpawnRequest { argv: argv(&["python3", "-c", both]), ..SpawnRequest::default() };
    let output = finish(spawner.spawn_blocking(request).unwrap());
    assert!(output.succeeded(), "{}", output.stderr);
}

#[test]
fn a_service_that_came_later_is_closed_to_the_next_read_only_command() {
    let mut service = Service::new();
    let policy = service.policy();
    let before = Spawner::start(Profile::ReadOnly, &policy).unwrap();
    let path = service.tree.join("run/late");
    service.listens(&path);
    let in_workspace = service.bench.workspace().join("of-the-user");
    service.listens(&in_workspace);
    let after = Spawner::start(Profile::ReadOnly, &policy).unwrap();
    drop(before);
    if own_root(&after) {
        assert!(!connects(&after, &path));
        assert!(!connects(&after, &in_workspace), "a workspace that is only read is one of those trees");
    }
}
