//! Docker mode: commands run in a container on this machine instead of directly.
//!
//! This process keeps the token and the link to the server. The container's first process is the static runner, reached over the standard streams of
//! `docker run`; frames are passed on between the two, and only this machine's own details are added to the registration: the token, the name, and
//! the use of a container.
//!
//! ```text
//! server ◀── WebSocket: token ──▶ this process ◀── standard streams ──▶ docker run ◀──▶ runner in the container
//! ```

mod relay;

use std::fs::{DirBuilder, File};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use clap::Args;
use sha2::{Digest, Sha256};

pub use relay::run;

use crate::bounds::HttpHost;
use crate::error::Error;
use crate::layers::Profile;
use crate::programs;

/// The file name of the static runner next to this program.
const STATIC_RUNNER: &str = "sandbridge-runner-static";

/// The name of Docker's client.
const DOCKER: &str = "docker";

/// The runner's path in the container: recreated at each start, so that no image can put a link in its place.
const RUNNER_PATH: &str = "/dev/sandbridge-runner";

/// The workspace's path in the container.
const WORKSPACE_PATH: &str = "/workspace";

/// The directory of the runner's own files in the container; it ends with the container.
const STATE_PATH: &str = "/run/sandbridge";

/// The capabilities of root in the container: it can own files as package managers must, and change and signal its own
/// users.
const CAPABILITIES: [&str; 7] = ["CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "SETUID", "SETGID", "KILL"];

/// How many bytes of a digest distinguish one workspace's container from another's.
const NAME_BYTES: usize = 8;

/// Options for running commands in a container instead of directly.
#[derive(Debug, Clone, Default, Args)]
pub struct DockerOptions {
    /// Run commands in a container of this image, which must be on this machine, instead of directly
    #[arg(long, value_name = "IMAGE", env = "SANDBRIDGE_DOCKER", conflicts_with = "stdio")]
    pub docker: Option<String>,
    /// Memory of the container, such as 512m or 2g; it gets no swap [default: 2g]
    #[arg(long, value_name = "SIZE", requires = "docker")]
    pub docker_memory: Option<String>,
    /// CPUs of the container, such as 1.5 [default: no limit]
    #[arg(long, value_name = "NUMBER", requires = "docker")]
    pub docker_cpus: Option<String>,
    /// Processes and threads of the container [default: 512]
    #[arg(long, value_name = "NUMBER", requires = "docker")]
    pub docker_pids: Option<u32>,
    /// Network of the container: bridge, none, or one that was made with `docker network create` [default: bridge]
    #[arg(long, value_name = "bridge|none|NAME", requires = "docker")]
    pub docker_network: Option<String>,
    /// Let only /tmp, /run and the workspace be written to in the container
    #[arg(long, requires = "docker")]
    pub docker_read_only: bool,
    /// The static runner that goes into the container [default: sandbridge-runner-static next to this program]
    #[arg(long, value_name = "FILE", env = "SANDBRIDGE_RUNNER_STATIC")]
    pub runner_static: Option<PathBuf>,
}

/// A container that can be started.
#[derive(Debug, Clone)]
pub struct Container {
    /// The path of the program `docker`.
    docker: PathBuf,
    arguments: Vec<String>,
    name: String,
    /// The directory for the token that replaces a one-time token.
    pub(crate) state_dir: PathBuf,
}

impl DockerOptions {
    /// The configured container, if there is one. `workspace` is a directory of this machine, resolved;
    /// `http_allow` are the hosts that the container's runner sends HTTP requests to.
    ///
    /// # Errors
    /// [`Error::Usage`] if something cannot work; the text explains what to do instead.
    pub fn container(
        &self,
        workspace: &Path,
        state_dir: PathBuf,
        profile: Profile,
        http_allow: &[HttpHost],
    ) -> Result<Option<Container>, Error> {
        let Some(image) = &self.docker else { return Ok(None) };
        let network = self.docker_network.as_deref().unwrap_or("bridge");
        if network == "host" || network.contains(':') {
            return Err(usage(
                "--docker-network: a container must not share the network of the machine or of another container",
            ));
        }
        if image.starts_with('-') {
            return Err(usage("--docker: an image's name does not begin with a dash"));
        }
        let runner = self.runner()?;
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&state_dir);
        made.map_err(Error::file(&state_dir))?;
        let digest = Sha256::digest(workspace.as_os_str().as_bytes());
        let digits: String = digest.iter().take(NAME_BYTES).map(|byte| format!("{byte:02x}")).collect();
        let name = format!("sandbridge-runner-{digits}");
        let mut arguments = self.limits(network);
        arguments.extend([format!("--name={name}"), format!("--workdir={WORKSPACE_PATH}")]);
        arguments.push(mount(&runner, RUNNER_PATH, ",readonly")?);
        arguments.push(mount(workspace, WORKSPACE_PATH, "")?);
        arguments.extend(user_arguments());
        arguments.extend([format!("--entrypoint={RUNNER_PATH}"), image.clone()]);
        let own = [
            "--stdio",
            "--ends-with-input",
            "--workspace",
            WORKSPACE_PATH,
            "--state-dir",
            STATE_PATH,
            "--profile",
        ];
        arguments.extend(own.map(str::to_owned));
        arguments.push(profile.to_string());
        arguments.extend(http_allow.iter().flat_map(|host| ["--http-allow".to_owned(), host.to_string()]));
        Ok(Some(Container {
            docker: programs::outside(workspace, DOCKER)
                .unwrap_or_else(|| Path::new("/usr/bin").join(DOCKER)),
            arguments,
            name,
            state_dir,
        }))
    }

    /// The command-line arguments that request the same.
    ///
    /// # Errors
    /// The static runner's path cannot be resolved.
    pub(crate) fn words(&self) -> Result<Vec<String>, Error> {
        let Some(image) = &self.docker else { return Ok(Vec::new()) };
        let mut words = vec!["--docker".to_owned(), image.clone()];
        let pids = self.docker_pids.map(|pids| pids.to_string());
        for (option, value) in [
            ("--docker-memory", &self.docker_memory),
            ("--docker-cpus", &self.docker_cpus),
            ("--docker-pids", &pids),
            ("--docker-network", &self.docker_network),
        ] {
            words.extend(value.iter().flat_map(|value| [option.to_owned(), value.clone()]));
        }
        words.extend(self.docker_read_only.then(|| "--docker-read-only".to_owned()));
        words.extend(["--runner-static".to_owned(), self.runner()?.to_string_lossy().into_owned()]);
        Ok(words)
    }

    fn limits(&self, network: &str) -> Vec<String> {
        let memory = self.docker_memory.as_deref().unwrap_or("2g");
        let mut arguments: Vec<String> = [
            "run",
            "--interactive",
            "--rm",
            "--pull=never",
            "--log-driver=none",
            "--cap-drop=ALL",
            "--security-opt=no-new-privileges:true",
            "--no-healthcheck",
            "--stop-signal=SIGTERM",
            "--tmpfs=/run:rw,nosuid,nodev,mode=1777",
        ]
        .map(str::to_owned)
        .into();
        arguments.extend([format!("--memory={memory}"), format!("--memory-swap={memory}")]);
        arguments.push(format!("--pids-limit={}", self.docker_pids.unwrap_or(512)));
        arguments.extend(self.docker_cpus.iter().map(|cpus| format!("--cpus={cpus}")));
        arguments.push(format!("--network={network}"));
        if self.docker_read_only {
            let scratch = "--tmpfs=/tmp:rw,exec,nosuid,nodev,mode=1777";
            arguments.extend(["--read-only".to_owned(), scratch.to_owned()]);
        }
        arguments
    }

    fn runner(&self) -> Result<PathBuf, Error> {
        let beside = || Some(std::env::current_exe().ok()?.with_file_name(STATIC_RUNNER));
        let file = self.runner_static.clone().or_else(beside).filter(|file| file.is_file()).ok_or_else(|| {
            usage(
                "--docker needs the static runner, which goes into the container: put sandbridge-runner-static next to this \
                 program (scripts/build makes it), or name it with --runner-static FILE",
            )
        })?;
        file.canonicalize().map_err(Error::file(file))
    }
}

impl Container {
    /// Starts it; returns its output and its input. Blocks.
    fn start(&self) -> io::Result<(Child, File, File)> {
        // Left by a runner that was killed with its `docker run`; a missing one is fine.
        let mut remove = Command::new(&self.docker);
        remove.args(["rm", "--force", &self.name]);
        let _ = remove.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
        let mut run = Command::new(&self.docker);
        let mut child = run.args(&self.arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let (Some(input), Some(output)) = (child.stdout.take(), child.stdin.take()) else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        Ok((child, File::from(OwnedFd::from(input)), File::from(OwnedFd::from(output))))
    }
}

/// Files in the workspace belong to this process's user, even if that is not root.
fn user_arguments() -> Vec<String> {
    let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
    let mut arguments = vec![format!("--user={}:{}", user.as_raw(), group.as_raw())];
    if user.is_root() {
        arguments.extend(CAPABILITIES.map(|capability| format!("--cap-add={capability}")));
    }
    arguments
}

fn mount(source: &Path, target: &str, options: &str) -> Result<String, Error> {
    match source.to_str() {
        Some(source) if !source.contains([',', '"']) => {
            Ok(format!("--mount=type=bind,source={source},target={target}{options}"))
        }
        _ => Err(usage(&format!("{}: docker cannot mount a path with a comma or a quote", source.display()))),
    }
}

fn usage(text: &str) -> Error {
    Error::Usage(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(options: DockerOptions, workspace: &str) -> Result<Vec<String>, String> {
        let options = DockerOptions { runner_static: Some("/proc/self/exe".into()), ..options };
        let made = options.container(Path::new(workspace), std::env::temp_dir(), Profile::Workspace, &[]);
        made.map(|made| made.unwrap().arguments).map_err(|error| error.to_string())
    }

    fn image() -> DockerOptions {
        DockerOptions { docker: Some("debian".to_owned()), ..DockerOptions::default() }
    }

    #[test]
    fn containers_are_locked_down_and_the_image_says_nothing_of_what_runs() {
        let made = arguments(image(), "/work").unwrap();
        for needed in [
            "--cap-drop=ALL",
            "--security-opt=no-new-privileges:true",
            "--log-driver=none",
            "--memory=2g",
            "--memory-swap=2g",
            "--pids-limit=512",
            "--network=bridge",
            "--entrypoint=/dev/sandbridge-runner",
            "--mount=type=bind,source=/work,target=/workspace",
        ] {
            assert!(made.iter().any(|argument| argument == needed), "{needed}: {made:?}");
        }
        let image = made.iter().position(|argument| argument == "debian").unwrap();
        assert_eq!(
            made[image + 1],
            "--stdio",
            "docker's options come before the image, the runner's after it"
        );
        assert!(!made.iter().any(|argument| argument.contains("token") || argument.contains("docker.sock")));
    }

    #[test]
    fn hosts_of_http_requests_are_named_to_the_runner_in_the_container() {
        let options = DockerOptions { runner_static: Some("/proc/self/exe".into()), ..image() };
        let hosts = ["shop.internal:8080", "[fd00::5]:443"].map(|host| host.parse().unwrap());
        let made = options.container(Path::new("/work"), std::env::temp_dir(), Profile::Workspace, &hosts);
        let words = made.unwrap().unwrap().arguments;
        let at = words.iter().position(|word| word == "--http-allow").unwrap();
        assert_eq!(words[at + 1], "shop.internal:8080");
        assert_eq!(words[at + 2..], ["--http-allow", "[fd00::5]:443"]);
        assert!(at > words.iter().position(|word| word == "debian").unwrap(), "it is the runner's option");
    }

    #[test]
    fn what_would_open_the_machine_or_another_option_is_refused() {
        for (docker, network, workspace) in [
            ("debian", "host", "/work"),
            ("debian", "container:x", "/work"),
            ("--privileged", "bridge", "/work"),
            ("debian", "bridge", "/work,source=/"),
            ("debian", "bridge", "/wo\"rk"),
        ] {
            let options = DockerOptions {
                docker: Some(docker.to_owned()),
                docker_network: Some(network.to_owned()),
                ..DockerOptions::default()
            };
            assert!(arguments(options, workspace).is_err(), "{docker} {network} {workspace}");
        }
        let missing = DockerOptions { runner_static: Some("/nonexistent".into()), ..image() };
        let error =
            missing.container(Path::new("/w"), "/s".into(), Profile::Workspace, &[]).unwrap_err().to_string();
        assert!(error.contains("--runner-static"), "{error}");
    }
}
