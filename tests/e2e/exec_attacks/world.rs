//! A machine to attack, with secrets in a home directory, services with sockets, other users and a terminal, and the attackers.
//!
//! Everything is bound over the machine's own directories in a mount namespace that contains only the runner (or its unguarded counterpart).

use std::fs;
use std::os::fd::OwnedFd;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::pty::OpenptFlags;
use tempfile::TempDir;
use tests::{Person, Server, binaries, process};

/// User ids that no machine uses: those of the ordinary user, and of another user.
const USER: u32 = 61_234;
const OTHER: u32 = 61_235;

/// The attackers' processes have smaller ids than this in their PID namespace; the attacked processes outside have larger ones.
const SMALL_PID: u32 = 2_000;

/// The parts of `/etc` that programs need.
const ETC: &[&str] =
    &["alternatives", "group", "hosts", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "nsswitch.conf"];

const HOME_SECRETS: &[&str] = &[
    ".ssh/id_ed25519",
    ".ssh/authorized_keys",
    ".aws/credentials",
    ".gnupg/private-keys-v1.d/key",
    ".config/gh/hosts.yml",
    ".netrc",
    ".git-credentials",
    ".docker/config.json",
    ".kube/config",
    ".cargo/credentials.toml",
    ".mozilla/firefox/profile/logins.json",
    ".config/google-chrome/Default/Cookies",
    ".bash_history",
];

const SOCKETS: &[&str] = &[
    "run/docker.sock",
    "run/dbus/system_bus_socket",
    "run/user/bus",
    "run/systemd/private",
    "run/user/wayland-0",
    "tmp/.X11-unix/X7",
    "tmp/ssh-agent/agent.1",
];

/// Mounts the fixture over the machine's own directories, leaks a descriptor as careless programs do, and becomes the
/// user.
const ENTER: &str = "set -e
for place in run etc opt tmp home; do mount --bind $FIXTURE/$place /$place; done
mount --bind $FIXTURE/sbin /usr/local/sbin
[ $ID != 0 ] || mount --bind $FIXTURE/home/attacker /root
exec 9<$OUT/secret
[ $ID = 0 ] || exec setpriv --reuid $ID --regid $ID --clear-groups \"$@\"
exec \"$@\"";

/// The machine, its server, and whether its runners run as root or as an ordinary user.
pub(super) struct World {
    pub(super) person: Person,
    pub(super) server: Server,
    pub(super) is_root: bool,
    directory: TempDir,
    key: String,
    listeners: Vec<UnixListener>,
}

impl World {
    pub(super) fn new(is_root: bool) -> Self {
        let directory = tempfile::Builder::new().prefix("sandbridge-world-").tempdir_in("/var/tmp").unwrap();
        fs::set_permissions(&directory, fs::Permissions::from_mode(0o755)).unwrap();
        let key = format!("attack-{}-{}", if is_root { "root" } else { "user" }, std::process::id());
        let server = Server::start();
        let person = server.person("alice");
        let abstract_name = SocketAddr::from_abstract_name(format!("sandbridge-{key}")).unwrap();
        let listeners = vec![UnixListener::bind_addr(&abstract_name).unwrap()];
        let mut world = Self { person, server, is_root, directory, key, listeners };
        world.furnish();
        world.plant("plant");
        world
    }

    fn furnish(&mut self) {
        let (root, id) = (self.directory.path(), self.user().to_string());
        compile_probe(&root.join("probe"));
        for directory in
            ["run", "etc/ssh", "opt/tools", "tmp", "sbin", "home/attacker", "home/other", "home/open"]
        {
            fs::create_dir_all(root.join(directory)).unwrap();
        }
        for entry in ETC.iter().map(|entry| Path::new("/etc").join(entry)).filter(|entry| entry.exists()) {
            run("cp", &["-a", entry.to_str().unwrap(), root.join("etc").to_str().unwrap()]);
        }
        let passwd = format!(
            "root:x:0:0::/root:/bin/sh\nattacker:x:{USER}:{USER}::/home/attacker:/bin/sh\nother:x:{OTHER}:{OTHER}::/home/other:/bin/sh\n"
        );
        fs::write(root.join("etc/passwd"), passwd).unwrap();
        for secret in HOME_SECRETS {
            secret_file(&root.join("home/attacker").join(secret), 0o600);
        }
        run("chown", &["-R", &id, root.join("home/attacker").to_str().unwrap()]);
        for secret in ["etc/shadow", "etc/sudoers", "etc/ssh/ssh_host_ed25519_key", "home/other/secret"] {
            secret_file(&root.join(secret), 0o600);
        }
        secret_file(&root.join("home/open/secret"), 0o644);
        fs::set_permissions(root.join("home/other"), fs::Permissions::from_mode(0o700)).unwrap();
        run("chown", &["-R", &OTHER.to_string(), root.join("home/other").to_str().unwrap()]);
        secret_file(&root.join("tmp/secret"), 0o644);
        let shared = Path::new("/dev/shm").join(&self.key);
        secret_file(&shared, 0o644);
        let elevated = root.join("opt/tools/elevated");
        fs::copy(root.join("probe"), &elevated).unwrap();
        chown(&elevated, Some(OTHER), Some(OTHER)).unwrap();
        fs::set_permissions(&elevated, fs::Permissions::from_mode(0o4755)).unwrap();
        for socket in SOCKETS {
            self.listeners.push(listen(&root.join(socket)));
        }
        // An attack that fails because the account lacks rights proves nothing about the sandbox, so these directories are opened.
        for open in ["etc", "opt", "sbin", "tmp"] {
            chown(root.join(open), Some(self.user()), None).unwrap();
        }
    }

    /// Creates or removes shared objects of the machine: memory, a queue and a key.
    fn plant(&self, verb: &str) {
        let (id, probe) = (self.user().to_string(), self.directory.path().join("probe"));
        for (kind, name) in
            [("memory", self.number()), ("queue", format!("/{}", self.key)), ("key", self.key.clone())]
        {
            let mut command = Command::new("setpriv");
            command.args(["--reuid", &id, "--regid", &id, "--clear-groups"]).arg(&probe);
            let status = command.arg(format!("{verb}-{kind}")).arg(name).status().unwrap();
            assert!(status.success() || verb == "remove", "{verb}-{kind}: {status}");
        }
    }

    fn number(&self) -> String {
        (std::process::id() * 2 + u32::from(self.is_root)).to_string()
    }

    pub(super) fn user(&self) -> u32 {
        if self.is_root { 0 } else { USER }
    }

    /// Returns the path of the home directory that contains the secrets.
    fn home(&self) -> &'static str {
        if self.is_root { "/root" } else { "/home/attacker" }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.plant("remove");
        let _ = fs::remove_file(Path::new("/dev/shm").join(&self.key));
    }
}

/// One attacker's part of the world: a workspace, a directory outside of it, a terminal, and neighbouring processes.
pub(super) struct Site<'a> {
    pub(super) world: &'a World,
    directory: PathBuf,
    terminal: (OwnedFd, String),
    victim: Child,
    other: Child,
    /// The neighbouring process that exists to be killed.
    pub(super) doomed: Child,
    _listener: UnixListener,
}

impl<'a> Site<'a> {
    pub(super) fn new(world: &'a World, name: &str) -> Self {
        let directory = world.directory.path().join("sites").join(name);
        for place in ["work", "state", "out", "bin"] {
            fs::create_dir_all(directory.join(place)).unwrap();
        }
        let out = directory.join("out");
        for file in ["secret", "changed", "emptied", "removed", "renamed", "mode", "times"] {
            secret_file(&out.join(file), 0o600);
        }
        secret_file(&directory.join("state/secret"), 0o600);
        fs::write(directory.join("token"), "sbr_").unwrap();
        chown(directory.join("token"), Some(world.user()), None).unwrap();
        fs::copy(world.directory.path().join("probe"), directory.join("work/probe")).unwrap();
        let listener = listen(&out.join("socket"));
        link_or_copy(&binaries::runner(), &directory.join("bin/sandbridge-runner"));
        for place in ["work", "state", "out"] {
            run("chown", &["-R", &world.user().to_string(), directory.join(place).to_str().unwrap()]);
        }
        // The runner's program here is a hard link to the file that other runners use.
        chown(directory.join("bin"), Some(world.user()), None).unwrap();
        let terminal = open_terminal(world.user());
        let neighbour = |id: u32| neighbour(id, &out);
        let (victim, doomed, other) = (neighbour(world.user()), neighbour(world.user()), neighbour(OTHER));
        Self { world, directory, terminal, victim, other, doomed, _listener: listener }
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// Starts a program on the prepared machine, as the attacked user, with secrets in its environment and a terminal as its
    /// input; returns the process and its output.
    pub(super) fn start(&self, words: &[&str]) -> (Child, fs::File) {
        let (world, out) = (self.world, self.path("out"));
        let terminal = fs::OpenOptions::new().read(true).write(true).open(&self.terminal.1).unwrap();
        let mut command = Command::new("unshare");
        command.args(["--mount", "--propagation", "private", "sh", "-c", ENTER, "sh"]).args(words);
        command.env_clear().env("PATH", "/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin");
        command.env("HOME", world.home()).env("SECRET", "treasure").env("ID", world.user().to_string());
        command.env("FIXTURE", world.directory.path()).env("OUT", out);
        let (reader, writer) = rustix::pipe::pipe().unwrap();
        // The pipe belongs to the user, as if the user's own shell had created it.
        rustix::fs::fchown(&writer, Some(rustix::fs::Uid::from_raw(world.user())), None).unwrap();
        command.stdin(Stdio::from(terminal)).stdout(Stdio::from(writer)).current_dir(self.path("work"));
        (command.spawn().unwrap(), reader.into())
    }

    /// The variables used by attacks.
    pub(super) fn variables(&self, guardian: u32, threads: &str) -> String {
        let path = |name: &str| self.path(name).display().to_string();
        let world = self.world;
        let pairs = [
            ("H", world.home().to_owned()),
            ("P", path("work/probe")),
            ("OUT", path("out")),
            ("STATE", path("state")),
            ("TOKEN", path("token")),
            ("BIN", path("bin/sandbridge-runner")),
            ("TOOLS", "/opt/tools".to_owned()),
            ("TTY", self.terminal.1.clone()),
            ("KEY", world.key.clone()),
            ("NUMBER", world.number()),
            ("V", self.victim.id().to_string()),
            ("U", self.other.id().to_string()),
            ("K", self.doomed.id().to_string()),
            ("G", guardian.to_string()),
            ("T", format!("\"{threads}\"")),
            ("S", world.server.pid().to_string()),
        ];
        pairs.iter().map(|(name, value)| format!("{name}={value}\n")).collect()
    }

    /// Returns the state of the directory outside: names, contents, modes and times.
    pub(super) fn outside(&self) -> String {
        let script = "find . -printf '%p %m %T@ %U\\n' | sort; cat $(find . -type f | sort)";
        let output = Command::new("sh").args(["-c", script]).current_dir(self.path("out")).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    pub(super) fn is_victim_alive(&self) -> bool {
        process::is_alive(self.victim.id() as i32)
    }
}

impl Drop for Site<'_> {
    fn drop(&mut self) {
        for neighbour in [&mut self.victim, &mut self.other, &mut self.doomed] {
            let _ = neighbour.kill();
            let _ = neighbour.wait();
        }
    }
}

/// Starts a process with a secret in its environment, whose working directory is a target.
fn neighbour(id: u32, directory: &Path) -> Child {
    loop {
        let mut command = Command::new("setpriv");
        let id = id.to_string();
        command.args(["--reuid", &id, "--regid", &id, "--clear-groups", "sleep", "600"]);
        command.env("SECRET", "treasure").current_dir(directory).stdin(Stdio::null());
        let mut child = command.spawn().unwrap();
        if child.id() > SMALL_PID {
            return child;
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

fn open_terminal(user: u32) -> (OwnedFd, String) {
    let master = rustix::pty::openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    rustix::pty::grantpt(&master).unwrap();
    rustix::pty::unlockpt(&master).unwrap();
    let path = rustix::pty::ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
    chown(&path, Some(user), None).unwrap();
    (master, path)
}

fn secret_file(path: &Path, mode: u32) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, "real treasure\n").unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// Creates a socket file that accepts connections as long as the listener exists.
fn listen(path: &Path) -> UnixListener {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let listener = UnixListener::bind(path).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o777)).unwrap();
    listener
}

/// Compiles the attacks that need direct system calls.
pub(super) fn compile_probe(target: &Path) {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/e2e/exec_attacks/probe.c");
    run("cc", &["-static", "-O1", "-pthread", "-o", target.to_str().unwrap(), source]);
}

fn link_or_copy(from: &Path, to: &Path) {
    if fs::hard_link(from, to).is_err() {
        fs::copy(from, to).unwrap();
    }
}

fn run(program: &str, words: &[&str]) {
    let output = Command::new(program).args(words).output().unwrap();
    assert!(output.status.success(), "{program} {words:?}: {}", String::from_utf8_lossy(&output.stderr));
}
