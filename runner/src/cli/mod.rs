//! The command line: its options, and their effect on this machine.
//!
//! | module | holds |
//! |---|---|
//! | `place` | the workspace and the state directory |
//! | [`bounds`] | the networks and resources of commands |
//! | `sandbox` | how tightly commands are confined: flags and variables, then the policy file |
//! | `policy_file` | that file: its keys, and the check of its writers |

pub mod bounds;
mod place;
mod policy_file;
mod sandbox;

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::builder::Resettable;
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};

pub use place::WhereOptions;
pub use sandbox::SandboxOptions;

use crate::bounds::Bounds;
use crate::connect::{Patience, Source, Token};
use crate::docker::{Container, DockerOptions};
use crate::error::Error;
use crate::executor::ExecutorConfig;
use crate::guardian::is_hidden;
use crate::limits::{RECONNECT_PAUSE_LIMIT_MS, RECONNECT_PAUSE_MAX_S};
use crate::link::websocket::Endpoint;
use crate::llm::LlmOptions;
use crate::secret::{read_secret, read_secret_from_stdin};
use crate::update::UpdateOptions;

/// Runs commands and file operations on this machine for a Sandbridge server, confined to one workspace.
#[derive(Debug, Parser)]
#[command(name = "sandbridge-runner", version, args_conflicts_with_subcommands = true)]
pub struct Cli {
    /// The subcommand, if one is given.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// The options for running.
    #[command(flatten)]
    pub options: Options,
}

impl Cli {
    /// Parses the command line; on wrong usage prints an error and ends the process with code 2.
    pub fn from_command_line() -> Self {
        // The guardian put hidden options such as the token's at this position: they are taken from there, before any
        // subcommand.
        let words = std::env::args_os().filter(|argument| !is_hidden(argument));
        let matches = without_empty_variables(Self::command()).get_matches_from(words);
        Self::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())
    }
}

/// An empty environment variable counts as unset, as it does for the server.
fn without_empty_variables(command: clap::Command) -> clap::Command {
    let is_empty = |name: &std::ffi::OsStr| std::env::var_os(name).is_some_and(|value| value.is_empty());
    command
        .mut_args(|argument| match argument.get_env() {
            Some(name) if is_empty(name) => argument.env(Resettable::Reset),
            Some(_) | None => argument,
        })
        .mut_subcommands(without_empty_variables)
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Show what commands may do on this machine, try it, and advise on every layer of confinement that is not enforced
    Doctor {
        /// Print one JSON value
        #[arg(long)]
        json: bool,
        /// The sandbox in question.
        #[command(flatten)]
        options: Box<SandboxOptions>,
    },
    /// Show whether commands may read, change or run something, and which rule decides
    Explain {
        /// The file or directory, which need not exist
        path: PathBuf,
        /// Print one JSON value
        #[arg(long)]
        json: bool,
        /// The sandbox in question.
        #[command(flatten)]
        options: Box<SandboxOptions>,
    },
    /// Run as a service from now on, and after every boot (systemd)
    InstallService {
        /// Only print the unit
        #[arg(long)]
        print: bool,
        /// The options for running.
        #[command(flatten)]
        options: Box<Options>,
    },
    /// Let this user's runners replace themselves with the version that their server hands out, once no command is running
    Update {
        /// Where the runner keeps its own files [default: /var/lib/sandbridge for root, else ~/.local/state/sandbridge]
        #[arg(long, value_name = "DIR", env = "SANDBRIDGE_STATE_DIR")]
        state_dir: Option<PathBuf>,
    },
    /// Undo install-service
    UninstallService {
        /// Where the runner keeps its own files [default: /var/lib/sandbridge for root, else ~/.local/state/sandbridge]
        #[arg(long, value_name = "DIR", env = "SANDBRIDGE_STATE_DIR")]
        state_dir: Option<PathBuf>,
    },
}

/// The options for running.
#[derive(Clone, Args)]
pub struct Options {
    /// The server, such as wss://sandbridge.example.com
    #[arg(long, value_name = "URL", env = "SANDBRIDGE_SERVER")]
    pub server: Option<String>,
    /// File that holds the token; '-' reads standard input
    #[arg(long, value_name = "FILE", env = "SANDBRIDGE_TOKEN_FILE")]
    pub token_file: Option<PathBuf>,
    /// The token itself; taken out of the command line before anything runs
    #[arg(long, value_name = "TOKEN")]
    pub token: Option<String>,
    /// The name that this runner reports; the server identifies the runner by its token, not by this name
    #[arg(long, env = "SANDBRIDGE_RUNNER_NAME")]
    pub name: Option<String>,
    /// The place of work, and how tightly commands are confined.
    #[command(flatten)]
    pub sandbox: SandboxOptions,
    /// Allow ws:// to other machines: the token travels unencrypted
    #[arg(long, env = "SANDBRIDGE_INSECURE", value_parser = clap::builder::BoolishValueParser::new())]
    pub insecure: bool,
    /// Certificates to trust in addition to the system's, in PEM
    #[arg(long, value_name = "FILE", env = "SANDBRIDGE_CA_CERT")]
    pub ca_cert: Option<PathBuf>,
    /// The longest pause between attempts to connect, in seconds (fractions are fine) [default: 60]
    #[arg(long, value_name = "S", env = "SANDBRIDGE_RECONNECT_MAX", value_parser = pause)]
    pub reconnect_max: Option<Duration>,
    /// Exit if the server refuses the token at the first attempt, instead of waiting for another one in the token file
    #[arg(long)]
    pub exit_if_refused: bool,
    /// How the program is replaced by a newer one.
    #[command(flatten)]
    pub update: UpdateOptions,
    /// Speak over the standard streams with the server that started this runner
    #[arg(long)]
    pub stdio: bool,
    /// With --stdio: exit at the end of the input, even as a container's first process
    #[arg(long, requires = "stdio", hide = true)]
    pub ends_with_input: bool,
    /// Exit together with the process that has this id, which started this runner
    #[arg(long, value_name = "PID", hide = true)]
    pub ends_with_parent: Option<i32>,
    /// Commands in a container.
    #[command(flatten)]
    pub container: DockerOptions,
    /// An LLM endpoint to relay to.
    #[command(flatten)]
    pub llm: LlmOptions,
}

impl std::fmt::Debug for Options {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Options").field("server", &self.server).finish_non_exhaustive()
    }
}

impl Options {
    /// The directories, with their defaults, and the LLM endpoint.
    ///
    /// # Errors
    /// The same as for [`SandboxOptions::executor_config`] and [`LlmOptions::config`].
    pub fn executor_config(&self) -> Result<ExecutorConfig, Error> {
        let mut config = self.sandbox.executor_config(self.token_file.as_deref(), self.stdio)?;
        config.llm = self.llm.config(|| config.seen_by_commands())?;
        Ok(config)
    }

    /// The container for the commands, if one is configured.
    ///
    /// # Errors
    /// Something is missing or wrong; the text explains what to write instead.
    pub fn container(&self) -> Result<Option<Container>, Error> {
        if self.container.docker.is_none() {
            return Ok(None);
        }
        // The file for the token that replaces a one-time token also stays out of the container.
        let config = self.executor_config()?;
        if config.llm.is_some() {
            let text =
                "--docker and --llm-url cannot be combined: the key would have to go into the container";
            return Err(Error::Usage(text.to_owned()));
        }
        let usual = ExecutorConfig::new(config.workspace.clone(), config.state_dir.clone(), config.profile);
        let ExecutorConfig { bounds, run_as, left_out, allowances, .. } = &config;
        // The runner in the container sends HTTP requests, from the container's network.
        let http_allow = bounds.http_allow.clone();
        let bounds = Bounds { http_allow: Vec::new(), ..bounds.clone() };
        if (&bounds, run_as, left_out, allowances)
            != (&usual.bounds, &usual.run_as, &usual.left_out, &usual.allowances)
        {
            let text = "with --docker, the container limits commands: use --docker-network, --docker-memory, --docker-pids and \
                        --docker-cpus, and leave out --network, --allow-…, --memory, --pids, --cpus, --open-files, --file-size, \
                        --run-as-… and --without, also in the policy file (--http-allow works: it is about the container's network)";
            return Err(Error::Usage(text.to_owned()));
        }
        self.container.container(&config.workspace, config.state_dir, config.profile, &http_allow)
    }

    /// Checks the source of requests; `token` was taken out of the command line.
    ///
    /// # Errors
    /// Something is missing or wrong; the text explains what to write instead.
    pub fn source(&self, token: Option<String>) -> Result<Source, Error> {
        if self.stdio {
            return Ok(Source::Stdio { ends_with_input: self.ends_with_input });
        }
        let Some(server) = &self.server else {
            let text = "--server URL is missing; `sandbridge runner add NAME` prints the whole command";
            return Err(Error::Usage(text.to_owned()));
        };
        let endpoint = Endpoint::new(server, self.insecure, self.ca_cert.as_ref())?;
        let token = match (&self.token_file, token) {
            // An earlier program of this process has already read the token from standard input.
            (Some(file), Some(token)) if file == Path::new("-") => Token::Given(token),
            (Some(_), Some(_)) => {
                return Err(Error::Usage("give either --token or --token-file, not both".to_owned()));
            }
            (None, Some(token)) => Token::Given(token),
            (Some(file), None) if file == Path::new("-") => Token::Given(read_secret_from_stdin()?),
            (Some(file), None) => {
                read_secret(file)?;
                Token::File(file.clone())
            }
            (None, None) => {
                let text = "--token-file FILE is missing (- reads standard input); `sandbridge runner add NAME` makes a token";
                return Err(Error::Usage(text.to_owned()));
            }
        };
        let longest_pause = self.reconnect_max.unwrap_or(Duration::from_millis(RECONNECT_PAUSE_LIMIT_MS));
        let patience = Patience { longest_pause, exits_if_refused: self.exit_if_refused };
        Ok(Source::Server { endpoint, token, patience })
    }
}

/// Parses a pause in seconds.
fn pause(text: &str) -> Result<Duration, String> {
    match text.parse::<f64>() {
        Ok(seconds) if seconds > 0.0 && seconds <= RECONNECT_PAUSE_MAX_S => {
            Ok(Duration::from_secs_f64(seconds))
        }
        Ok(_) | Err(_) => Err(format!(
            "give a number of seconds greater than 0 and at most {RECONNECT_PAUSE_MAX_S} (a day), like 10"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(words: &[&str]) -> Options {
        Cli::try_parse_from(std::iter::once(&"sandbridge-runner").chain(words)).unwrap().options
    }

    #[test]
    fn the_declaration_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn what_is_missing_is_named() {
        let error = options(&[]).source(None).unwrap_err().to_string();
        assert!(error.contains("--server"), "{error}");
        let error = options(&["--server", "ws://localhost:1"]).source(None).unwrap_err().to_string();
        assert!(error.contains("--token-file"), "{error}");
    }

    #[test]
    fn the_longest_pause_is_a_number_of_seconds() {
        let parsed = |text| options(&["--reconnect-max", text]).reconnect_max;
        assert_eq!(parsed("0.5"), Some(Duration::from_millis(500)));
        for bad in ["", "0", "-1", "inf", "NaN", "1s", "86401"] {
            assert!(pause(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_token_from_the_command_line_needs_no_file() {
        let source = options(&["--server", "ws://localhost:1"]).source(Some("t".to_owned())).unwrap();
        assert!(matches!(source, Source::Server { token: Token::Given(_), .. }));
    }

    #[test]
    fn what_a_container_does_not_obey_is_refused_beside_it() {
        let (workspace, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let [place, state] = [&workspace, &state].map(|directory| directory.path().to_str().unwrap());
        let common = ["--docker", "debian", "--workspace", place, "--state-dir", state];
        for more in [
            ["--network", "none"],
            ["--memory", "1G"],
            ["--allow-read", "/usr/share"],
            ["--without", "seccomp"],
        ] {
            let text = options(&[&common[..], &more].concat()).container().unwrap_err().to_string();
            assert!(text.contains("--docker-network"), "{more:?}: {text}");
        }
        let static_runner = ["--runner-static", "/proc/self/exe"];
        let http = ["--http-allow", "shop.internal"];
        let both = [&common[..], &static_runner, &http].concat();
        assert!(options(&both).container().unwrap().is_some(), "the runner in the container obeys it");
    }

    #[test]
    fn an_llm_key_without_an_endpoint_or_within_the_workspace_is_refused() {
        let words = ["sandbridge-runner", "--llm-key-file", "k"];
        assert!(Cli::try_parse_from(words).unwrap_err().to_string().contains("--llm-url"));
        let workspace = tempfile::tempdir().unwrap();
        let (place, key) = (workspace.path().to_str().unwrap(), workspace.path().join("key"));
        std::fs::write(&key, "sk-secret").unwrap();
        let options = options(&[
            "--workspace",
            place,
            "--state-dir",
            "/nonexistent/state",
            "--llm-url",
            "https://a.example",
            "--llm-key-file",
            key.to_str().unwrap(),
        ]);
        let text = options.executor_config().unwrap_err().to_string();
        assert!(text.contains("--llm-key-file") && !text.contains("sk-secret"), "{text}");
    }
}
