//! The server, the runner, the container and the sshd that are measured side by side.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;
use tests::docker::{IMAGE, docker, ready};
use tests::{Machine, Person, Server, eventually, process};

/// The processes that run while whole commands are measured.
pub(crate) struct Peers {
    pub(crate) machine: Machine,
    pub(crate) person: Person,
    pub(crate) sshd: Sshd,
    pub(crate) container: String,
    // Declared last, so that it is dropped last: the others talk to the server while they are stopping.
    server: Server,
}

impl Peers {
    pub(crate) fn start() -> Self {
        ready();
        let server = Server::start_with(&["--docker", "on", "--docker-image", IMAGE]);
        let person = server.person("bench");
        let machine = Machine::start(&server, &person, "laptop");
        let container =
            docker(&["run", "-d", "--rm", IMAGE, "/bin/sleep", "3600"]).unwrap().trim().to_owned();
        let peers = Self { machine, person, sshd: Sshd::start(), container, server };
        // Other runners may be added later, so the choice is explicit.
        peers.choose("laptop");
        peers
    }

    /// The server that all of them connect to.
    pub(crate) fn server(&self) -> &Server {
        &self.server
    }

    /// Chooses the runner for the CLI's commands.
    pub(crate) fn choose(&self, place: &str) {
        assert_eq!(self.person.run(&["use", place]).code, 0);
        let first = self.person.run(&["exec", "--", "true"]);
        assert_eq!(first.code, 0, "{}", first.stderr);
    }

    /// Runs one whole CLI command, which must succeed.
    pub(crate) fn cli(&self, arguments: &[&str]) {
        silent(&mut self.person.command(arguments));
    }
}

impl Drop for Peers {
    fn drop(&mut self) {
        docker(&["rm", "-f", &self.container]);
        let filter = format!("label=sandbridge.home={}", self.server.home().display());
        for id in docker(&["ps", "-aq", "--filter", &filter]).unwrap_or_default().split_whitespace() {
            docker(&["rm", "-f", "-v", id]);
        }
    }
}

/// Runs a command and discards its output; it must succeed.
pub(crate) fn silent(command: &mut Command) {
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
    assert!(status.success(), "{command:?}: {status}");
}

/// An sshd on loopback with its own key, and a client that keeps one connection (ControlMaster).
pub(crate) struct Sshd {
    process: Child,
    directory: TempDir,
    port: u16,
}

impl Sshd {
    fn start() -> Self {
        let directory = TempDir::new().unwrap();
        let path = |name: &str| directory.path().join(name);
        for key in ["host", "client"] {
            silent(Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(path(key)));
        }
        // The home is empty, because the time that the start-up files of the user's shell take must not count as ssh's.
        let key = fs::read_to_string(path("client.pub")).unwrap();
        let home = directory.path().display();
        fs::write(path("authorized"), format!("environment=\"HOME={home}\" {key}")).unwrap();
        fs::set_permissions(path("authorized"), fs::Permissions::from_mode(0o600)).unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let config = format!(
            "ListenAddress 127.0.0.1:{port}\nHostKey {}\nAuthorizedKeysFile {}\nPidFile none\nStrictModes no\n\
             PermitRootLogin yes\nPermitUserEnvironment yes\nUsePAM no\nSubsystem sftp internal-sftp\n",
            path("host").display(),
            path("authorized").display()
        );
        fs::write(path("sshd_config"), config).unwrap();
        fs::create_dir_all("/run/sshd").unwrap();
        let process = Command::new("/usr/sbin/sshd")
            .arg("-D")
            .arg("-f")
            .arg(path("sshd_config"))
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let sshd = Self { process, directory, port };
        eventually("sshd answers", Duration::from_secs(10), || {
            sshd.ssh()
                .args(["127.0.0.1", "true"])
                .stderr(Stdio::null())
                .status()
                .unwrap()
                .success()
                .then_some(())
        });
        sshd
    }

    /// `ssh` with its options; the caller adds the host and the command.
    pub(crate) fn ssh(&self) -> Command {
        self.client("ssh", "-p")
    }

    /// `scp` with its options; the caller adds the source and the target.
    pub(crate) fn scp(&self) -> Command {
        self.client("scp", "-P")
    }

    fn client(&self, program: &str, port: &str) -> Command {
        let path = |name: &str| self.directory.path().join(name).display().to_string();
        let mut command = Command::new(program);
        command.args([port, &self.port.to_string(), "-i", &path("client"), "-F", "none", "-q"]);
        for option in [
            "ControlMaster=auto".to_owned(),
            format!("ControlPath={}", path("control")),
            "ControlPersist=60".to_owned(),
            "StrictHostKeyChecking=no".to_owned(),
            "UserKnownHostsFile=/dev/null".to_owned(),
        ] {
            command.args(["-o", &option]);
        }
        command
    }

    /// A scratch directory.
    pub(crate) fn directory(&self) -> &Path {
        self.directory.path()
    }
}

impl Drop for Sshd {
    fn drop(&mut self) {
        let _ = self.ssh().args(["-O", "exit", "127.0.0.1"]).stderr(Stdio::null()).status();
        process::terminate(&mut self.process);
    }
}
