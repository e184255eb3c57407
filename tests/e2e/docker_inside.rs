//! The server itself runs in a container, with the engine's socket mounted: paths on the engine's machine differ from
//! its own.

use std::process::{Command, Stdio};
use std::time::Duration;

use tests::docker::{IMAGE, docker, ready};
use tests::server::{Output, PASSWORD, run};
use tests::{binaries, eventually};

/// A server in a container; both are removed when this is dropped.
struct Contained {
    container: String,
    data: tempfile::TempDir,
}

impl Contained {
    /// `/data` is a directory of this machine; `/opt/bin` contains the programs.
    fn start(options: &[&str]) -> Self {
        ready();
        let data = tempfile::tempdir().unwrap();
        let programs = data.path().join("bin");
        std::fs::create_dir_all(&programs).unwrap();
        std::fs::create_dir_all(data.path().join("data")).unwrap();
        std::fs::copy(binaries::sandbridge(), programs.join("sandbridge")).unwrap();
        std::fs::copy(binaries::runner_static(), programs.join("sandbridge-runner-static")).unwrap();
        let at = |name: &str, inside: &str| format!("{}:{inside}", data.path().join(name).display());
        let (bin, home) = (at("bin", "/opt/bin"), at("data", "/data"));
        let mut arguments = vec!["run", "-d", "-v", &bin, "-v", &home];
        // The server is linked against this machine's libraries.
        let libraries = ["/usr/lib:/lib:ro", "/usr/lib64:/lib64:ro"];
        let socket = "/var/run/docker.sock:/var/run/docker.sock";
        arguments.extend(["-v", libraries[0], "-v", libraries[1], "-v", socket, IMAGE]);
        arguments.extend(["/opt/bin/sandbridge", "serve", "--home", "/data", "--listen", "127.0.0.1:8080"]);
        arguments.extend(["--docker", "on", "--docker-image", IMAGE]);
        arguments.extend(options);
        let container = docker(&arguments).unwrap().trim().to_owned();
        let contained = Self { container, data };
        eventually("the server in the container answers", Duration::from_secs(60), || {
            docker(&["exec", &contained.container, "wget", "-q", "-O-", "http://127.0.0.1:8080/healthz"])
        });
        contained
    }

    /// Runs the CLI in the server's container.
    fn cli(&self, arguments: &[&str], stdin: &str) -> Output {
        let mut command = Command::new("docker");
        command.args(["exec", "-i", "-e", "SANDBRIDGE_HOME=/data", &self.container, "/opt/bin/sandbridge"]);
        command.args(arguments).stderr(Stdio::piped());
        run(command, stdin.as_bytes())
    }

    fn exec(&self, script: &str) -> Output {
        self.cli(&["exec", "--on", "__docker__", "--", "sh", "-c", script], "")
    }
}

impl Drop for Contained {
    fn drop(&mut self) {
        docker(&["stop", &self.container]);
        docker(&["rm", "-f", "-v", &self.container]);
        let mine = format!("label=sandbridge.home={}", self.data.path().join("data").display());
        for container in docker(&["ps", "-aq", "--filter", &mine]).unwrap_or_default().split_whitespace() {
            docker(&["rm", "-f", "-v", container]);
        }
        for network in
            docker(&["network", "ls", "-q", "--filter", &mine]).unwrap_or_default().split_whitespace()
        {
            docker(&["network", "rm", network]);
        }
    }
}

#[test]
fn server_in_a_container_derives_the_engines_paths_from_its_mounts() {
    let server = Contained::start(&["--docker-workspace-dir", "/data/work"]);
    for (arguments, stdin) in [
        (&["user", "add", "alice", "--password-stdin"][..], PASSWORD),
        (&["login", "--user", "alice", "--password-stdin"], PASSWORD),
    ] {
        let output = server.cli(arguments, stdin);
        assert_eq!(output.code, 0, "{}", output.stderr);
    }
    let output = server.exec("echo made inside > file; cat file");
    assert_eq!((output.code, output.stdout.as_str()), (0, "made inside\n"), "{}", output.stderr);
    let file = server.data.path().join("data/work/u1/file");
    assert_eq!(std::fs::read_to_string(file).unwrap(), "made inside\n", "on this machine");
}
