//! What a client asks to be run, and whether that makes sense.

use std::collections::BTreeMap;
use std::time::Duration;

use sandbox::{AckMode, Approval, Command, ExecId, ExecRequest, Pty};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use utoipa::ToSchema;

use super::Subject;
use crate::limits::{EXEC_TIMEOUT_MAX_S, RUN_AS_MAX_BYTES, TERMINAL_LINGER, TERMINAL_LINGER_MAX};
use crate::web::error::ApiError;
use crate::web::shell_word::quoted;

/// The first frame: `argv` or `shell`, and how to run it.
#[derive(Debug, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ExecAsk {
    /// A program and its arguments.
    #[serde(default)]
    argv: Option<Vec<String>>,
    /// A line for the sandbox's shell.
    #[serde(default)]
    shell: Option<String>,
    /// A place to use instead of the active one.
    #[serde(default)]
    on: Option<String>,
    /// Working directory; the workspace if absent.
    #[serde(default)]
    cwd: Option<String>,
    /// Variables added to the clean environment.
    #[serde(default)]
    env: BTreeMap<String, String>,
    /// The whole tree is ended after this many seconds; no limit if absent.
    #[serde(default)]
    timeout_s: Option<f64>,
    /// Whether standard input follows as binary frames; it is empty otherwise.
    #[serde(default)]
    stdin: bool,
    /// Whether standard error goes into standard output.
    #[serde(default)]
    merge_stderr: bool,
    /// 32 hex digits chosen by the client; one id runs once. Random if absent.
    #[serde(default)]
    exec_id: Option<String>,
    /// Let it go on without its client, and keep its output for who attaches.
    #[serde(default)]
    detach: bool,
    /// For a repeated request: how many bytes of output the client has, what was told to be missing included.
    #[serde(default)]
    offset: u64,
    /// Whether the client says `{"type":"ack","offset"}` of what it has; else what was sent counts as received.
    #[serde(default)]
    acks: bool,
    /// A terminal in the place of pipes; then `argv` and `shell` may both be absent, for an interactive shell.
    #[serde(default)]
    pty: Option<PtyAsk>,
    /// How long a terminal goes on without anybody who looks at it, in seconds: 1 to 604,800; 86,400 if absent.
    #[serde(default)]
    linger_s: Option<u32>,
    /// The user of the runner's machine to run as; its default one if absent.
    #[serde(default)]
    run_as: Option<String>,
    /// Whether the person who asks was shown `run_as` and agreed; needed for the runner's privileged user.
    #[serde(default)]
    approved: bool,
}

/// A terminal for the command.
#[derive(Debug, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PtyAsk {
    /// Height in character cells.
    rows: u16,
    /// Width in character cells.
    columns: u16,
    /// What the client's terminal is; `xterm-256color` if absent.
    #[serde(default = "usual_terminal")]
    term: String,
}

fn usual_terminal() -> String {
    "xterm-256color".to_owned()
}

/// What runs in a terminal when nothing is named: the user's shell there, as a person gets it.
const INTERACTIVE_SHELL: &str = r#"exec "$SHELL" -i"#;

/// A request that makes sense.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) request: ExecRequest,
    pub(super) on: Option<String>,
    pub(super) detach: bool,
    pub(super) offset: u64,
    pub(super) acks: bool,
    /// For a terminal: how long it goes on without anybody who looks at it.
    pub(super) linger: Option<Duration>,
    /// What is run, for the audit trail.
    pub(super) shown: String,
    /// Tells a repetition of a request from a different one with the same id.
    pub(super) hash: String,
}

impl ExecAsk {
    pub(super) fn parse(text: &str) -> Result<Self, ApiError> {
        serde_json::from_str(text)
            .map_err(|error| ApiError::invalid(format!("the command to run is not understood: {error}")))
    }

    /// `person` is who asks, if their approval counts.
    pub(super) fn check(self, person: Option<&str>) -> Result<Asked, ApiError> {
        let exec_id = match self.exec_id.as_deref() {
            Some(text) => {
                text.parse().map_err(|_| ApiError::invalid("exec_id must be 32 hexadecimal digits"))?
            }
            None => ExecId(rand::random()),
        };
        let hash = self.hash();
        let (command, shown) = match (self.argv, self.shell) {
            (Some(argv), None) if argv.first().is_some_and(|program| !program.is_empty()) => {
                let shown = argv.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
                (Command::Argv(argv.into_iter().map(String::into_bytes).collect()), shown)
            }
            (None, Some(line)) => (Command::Shell(line.clone().into_bytes()), line),
            (None, None) if self.pty.is_some() => {
                (Command::Shell(INTERACTIVE_SHELL.into()), INTERACTIVE_SHELL.to_owned())
            }
            _ => return Err(ApiError::invalid("give either `argv`, with a program, or `shell`")),
        };
        if let Some(name) = self.env.keys().find(|name| name.is_empty() || name.contains(['=', '\0'])) {
            return Err(ApiError::invalid(format!("{name:?} is no name of an environment variable")));
        }
        let linger = checked_linger(self.linger_s, self.pty.is_some())?;
        let mut request = ExecRequest::new(command);
        request.exec_id = exec_id;
        request.cwd = self.cwd.map(String::into_bytes);
        request.env =
            self.env.into_iter().map(|(name, value)| (name.into_bytes(), value.into_bytes())).collect();
        request.stdin = self.stdin || self.pty.is_some();
        // For whoever attaches to it later.
        request.retain = self.detach || self.pty.is_some();
        request.pty = self.pty.map(|pty| Pty { rows: pty.rows, columns: pty.columns, term: pty.term });
        request.merge_stderr = self.merge_stderr;
        request.timeout = self.timeout_s.map(checked_timeout).transpose()?;
        request.acks = AckMode::Manual;
        if let Some(user) = self.run_as {
            if user.is_empty() || user.len() > RUN_AS_MAX_BYTES || user.contains(char::is_control) {
                return Err(ApiError::invalid("run_as is no user's name"));
            }
            let approval = person.filter(|_| self.approved).map(Approval::given_by);
            request = request.run_as(user, approval);
        }
        let Self { on, detach, offset, acks, .. } = self;
        Ok(Asked { request, on, detach, offset, acks, linger, shown, hash })
    }

    /// Over everything that says what runs: not the id, nor how its output is read.
    fn hash(&self) -> String {
        let fields = (
            &self.argv,
            &self.shell,
            &self.on,
            &self.cwd,
            &self.env,
            self.timeout_s,
            self.stdin,
            self.merge_stderr,
            self.detach,
            &self.pty,
            &self.run_as,
        );
        let canonical =
            serde_json::to_vec(&fields).expect("texts, numbers and maps of texts are always valid JSON");
        store::hex(&Sha256::digest(canonical))
    }
}

impl Asked {
    /// Whether it goes on without its client: where that was asked for, and in a terminal, to which people come back.
    pub(super) fn goes_on(&self) -> bool {
        self.detach || self.request.pty.is_some()
    }

    pub(super) fn subject(&self) -> Subject {
        Subject {
            id: self.store_id(),
            shown: self.shown.clone(),
            stdin: self.request.stdin,
            detached: self.goes_on(),
            followed: false,
            kept: false,
            lingers: self.linger.is_some(),
            acks: self.acks,
            offset: 0,
            later: None,
        }
    }

    pub(super) fn store_id(&self) -> store::ExecId {
        store::ExecId::from_bytes(self.request.exec_id.0)
    }
}

fn checked_timeout(seconds: f64) -> Result<Duration, ApiError> {
    if seconds > 0.0 && seconds <= EXEC_TIMEOUT_MAX_S {
        Ok(Duration::from_secs_f64(seconds))
    } else {
        Err(ApiError::invalid(format!(
            "timeout_s must be more than 0 and at most {EXEC_TIMEOUT_MAX_S} seconds"
        )))
    }
}

fn checked_linger(seconds: Option<u32>, is_terminal: bool) -> Result<Option<Duration>, ApiError> {
    let wanted = seconds.map(|seconds| Duration::from_secs(seconds.into()));
    match wanted {
        Some(_) if !is_terminal => {
            Err(ApiError::invalid("linger_s belongs to pty: what else goes on says detach"))
        }
        Some(wanted) if wanted.is_zero() || wanted > TERMINAL_LINGER_MAX => Err(ApiError::invalid(format!(
            "linger_s must be between 1 and {}",
            TERMINAL_LINGER_MAX.as_secs()
        ))),
        Some(wanted) => Ok(Some(wanted)),
        None => Ok(is_terminal.then_some(TERMINAL_LINGER)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> Result<Asked, ApiError> {
        ExecAsk::parse(text)?.check(Some("alice"))
    }

    #[test]
    fn a_whole_request_is_read() {
        let asked = check(
            r#"{"argv":["sh","-c","echo 'a b'"],"on":"laptop","cwd":"src","env":{"K":"V"},"timeout_s":1.5,
                "stdin":true,"merge_stderr":true,"exec_id":"000102030405060708090a0b0c0d0e0f"}"#,
        )
        .unwrap();
        assert_eq!(asked.shown, r"sh -c 'echo '\''a b'\'''");
        assert_eq!(asked.request.timeout, Some(Duration::from_millis(1500)));
        assert_eq!(asked.request.env, [(b"K".to_vec(), b"V".to_vec())]);
        assert_eq!(asked.store_id().to_string(), "000102030405060708090a0b0c0d0e0f");
    }

    #[test]
    fn what_makes_no_sense_is_invalid() {
        for text in [
            "",
            "[]",
            "{}",
            r#"{"argv":[]}"#,
            r#"{"argv":[""]}"#,
            r#"{"argv":["a"],"shell":"b"}"#,
            r#"{"shell":"a","exec_id":"xyz"}"#,
            r#"{"shell":"a","timeout_s":0}"#,
            r#"{"shell":"a","timeout_s":-1}"#,
            r#"{"shell":"a","timeout_s":1e300}"#,
            r#"{"shell":"a","env":{"A=B":"c"}}"#,
            r#"{"shell":"a","unknown":1}"#,
            r#"{"shell":"a","run_as":""}"#,
            r#"{"shell":"a","run_as":"a\u001b[2J"}"#,
            r#"{"shell":"a","approved":"yes"}"#,
            r#"{"shell":"a","linger_s":60}"#,
            r#"{"pty":{"rows":24,"columns":80},"linger_s":0}"#,
            r#"{"pty":{"rows":24,"columns":80},"linger_s":604801}"#,
            r#"{"shell":"a","pty":{}}"#,
            r#"{"shell":"a","pty":{"rows":-1,"columns":80}}"#,
            r#"{"shell":"a","pty":{"rows":24,"columns":65536}}"#,
        ] {
            assert_eq!(check(text).unwrap_err().kind, "invalid", "{text}");
        }
    }

    #[test]
    fn a_terminal_needs_no_command_and_always_has_input() {
        let asked = check(r#"{"pty":{"rows":24,"columns":80}}"#).unwrap();
        let term = "xterm-256color".to_owned();
        assert_eq!(asked.request.pty, Some(Pty { rows: 24, columns: 80, term }));
        assert!(asked.request.stdin && asked.request.retain);
        assert_eq!(asked.linger, Some(TERMINAL_LINGER));
        assert_eq!(asked.request.command, Command::Shell(INTERACTIVE_SHELL.into()));
        let asked = check(r#"{"argv":["vim"],"pty":{"rows":0,"columns":0,"term":"vt100"}}"#).unwrap();
        assert_eq!((asked.shown.as_str(), asked.request.pty.unwrap().term.as_str()), ("vim", "vt100"));
    }

    #[test]
    fn the_hash_is_of_the_request_and_not_of_its_id() {
        let hash = |text: &str| check(text).unwrap().hash;
        let with_id = r#"{"shell":"a","exec_id":"000102030405060708090a0b0c0d0e0f"}"#;
        assert_eq!(hash(r#"{"shell":"a"}"#), hash(with_id));
        assert_ne!(hash(r#"{"shell":"a"}"#), hash(r#"{"shell":"b"}"#));
        let as_dev = r#"{"shell":"a","run_as":"dev"}"#;
        assert_ne!(hash(r#"{"shell":"a"}"#), hash(as_dev));
        assert_eq!(hash(as_dev), hash(r#"{"shell":"a","run_as":"dev","approved":true}"#));
    }
}
