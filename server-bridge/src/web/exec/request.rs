//! A client's request, and its validation.

use std::time::Duration;

use accounts::User;
use api::exec::{ExecAsk, TIMEOUT_MAX_S};
use execs::attendance::Connection;
use execs::{Begun, ExecKind};
use sandbox::{AckMode, Approval, ExecId, ExecRequest, Pty};

use super::subject::Subject;
use crate::limits::{RUN_AS_MAX_BYTES, TERMINAL_LINGER, TERMINAL_LINGER_MAX};
use crate::web::error::ApiError;
use crate::web::state::AppState;

/// The default command in a terminal: the user's shell there, as a login starts it.
const INTERACTIVE_SHELL: &str = r#"exec "$SHELL" -i"#;

/// A valid request.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) request: ExecRequest,
    pub(super) on: Option<String>,
    pub(super) detach: bool,
    pub(super) offset: u64,
    pub(super) acks: bool,
    /// The connection of its client that sent the request.
    pub(super) connection: Option<Connection>,
    /// For a terminal: how long it continues without a client.
    pub(super) linger: Option<Duration>,
    /// The command, for the audit trail.
    pub(super) shown: String,
    /// A hash that distinguishes a repeated request from a different one with the same id.
    pub(super) hash: String,
}

/// Parses a request.
///
/// # Errors
/// `invalid` if it is not a request, or has an unknown field.
pub(super) fn parse(text: &str) -> Result<ExecAsk, ApiError> {
    serde_json::from_str(text)
        .map_err(|error| ApiError::invalid(format!("the request to run a command is invalid: {error}")))
}

impl Asked {
    /// Validates a request; `person` is the caller, if their approval counts.
    ///
    /// # Errors
    /// `invalid` for invalid values.
    pub(super) fn check(ask: ExecAsk, person: Option<&str>) -> Result<Self, ApiError> {
        let exec_id = match ask.exec_id.as_deref() {
            Some(text) => {
                text.parse().map_err(|_| ApiError::invalid("exec_id must be 32 hexadecimal digits"))?
            }
            None => ExecId(rand::random()),
        };
        let hash = hash(&ask);
        let line = match (&ask.argv, ask.shell) {
            (None, None) if ask.pty.is_some() => Some(INTERACTIVE_SHELL.to_owned()),
            (_, line) => line,
        };
        let neither = || ApiError::invalid("give either `argv`, with a program, or `shell`");
        let (command, shown) = execs::command_of(ask.argv, line).ok_or_else(neither)?;
        if let Some(name) = ask.env.keys().find(|name| name.is_empty() || name.contains(['=', '\0'])) {
            return Err(ApiError::invalid(format!("{name:?} is not a name of an environment variable")));
        }
        let linger = checked_linger(ask.linger_s, ask.pty.is_some())?;
        let mut request = ExecRequest::new(command);
        request.exec_id = exec_id;
        request.cwd = ask.cwd.map(String::into_bytes);
        request.env =
            ask.env.into_iter().map(|(name, value)| (name.into_bytes(), value.into_bytes())).collect();
        request.stdin = ask.stdin || ask.pty.is_some();
        // The output of such a command is kept for clients that attach later.
        request.retain = ask.detach || ask.pty.is_some();
        request.pty = ask.pty.map(|pty| Pty { rows: pty.rows, columns: pty.columns, term: pty.term });
        request.merge_stderr = ask.merge_stderr;
        request.timeout = ask.timeout_s.map(checked_timeout).transpose()?;
        request.acks = AckMode::Manual;
        if let Some(user) = ask.run_as {
            if user.is_empty() || user.len() > RUN_AS_MAX_BYTES || user.contains(char::is_control) {
                return Err(ApiError::invalid("run_as is not a user's name"));
            }
            let approval = person.filter(|_| ask.approved).map(Approval::given_by);
            request = request.run_as(user, approval);
        }
        let ExecAsk { on, detach, offset, acks, client, connection, .. } = ask;
        let connection = super::connection(client, connection)?;
        Ok(Self { request, on, detach, offset, acks, connection, linger, shown, hash })
    }

    /// True if the command continues without its client: if that was requested, or in a terminal, because people reconnect to it.
    pub(super) fn goes_on(&self) -> bool {
        self.detach || self.request.pty.is_some()
    }

    /// Finds the sandbox for the request and puts the exec on record, or finds the exec that the same request began before.
    ///
    /// # Errors
    /// As for [`execs::Ledger::request`].
    pub(super) async fn begin(
        &self,
        state: &AppState,
        user: &User,
        kind: ExecKind,
    ) -> Result<Begun, execs::Error> {
        let request = execs::Request {
            exec_id: &self.recorded_id(),
            kind,
            hash: &self.hash,
            on: self.on.as_deref(),
            shown: &self.shown,
            run_as: self.request.named_user(),
            goes_on: self.goes_on(),
            linger: self.linger,
        };
        state.ledger.request(user, &request, &state.stopped(user.id)).await
    }

    pub(super) fn subject(&self, kind: ExecKind) -> Subject {
        Subject {
            id: self.recorded_id(),
            kind,
            shown: self.shown.clone(),
            stdin: self.request.stdin,
            detached: self.goes_on(),
            kept: false,
            lingers: self.linger.is_some(),
            acks: self.acks,
            offset: 0,
            later: None,
        }
    }

    pub(super) fn recorded_id(&self) -> execs::ExecId {
        execs::ExecId::from_bytes(self.request.exec_id.0)
    }
}

/// A hash over everything that determines what runs, but neither the id nor the way in which the output is read.
fn hash(ask: &ExecAsk) -> String {
    let fields = (
        &ask.argv,
        &ask.shell,
        &ask.on,
        &ask.cwd,
        &ask.env,
        ask.timeout_s,
        ask.stdin,
        ask.merge_stderr,
        ask.detach,
        &ask.pty,
        &ask.run_as,
    );
    let canonical =
        serde_json::to_vec(&fields).expect("texts, numbers and maps of texts are always valid JSON");
    execs::document_hash(&canonical)
}

fn checked_timeout(seconds: f64) -> Result<Duration, ApiError> {
    if seconds > 0.0 && seconds <= TIMEOUT_MAX_S {
        Ok(Duration::from_secs_f64(seconds))
    } else {
        Err(ApiError::invalid(format!("timeout_s must be more than 0 and at most {TIMEOUT_MAX_S} seconds")))
    }
}

fn checked_linger(seconds: Option<u32>, is_terminal: bool) -> Result<Option<Duration>, ApiError> {
    let wanted = seconds.map(|seconds| Duration::from_secs(seconds.into()));
    match wanted {
        Some(_) if !is_terminal => {
            Err(ApiError::invalid("linger_s is for a pty only: use detach for a command without one"))
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
    use sandbox::Command;

    use super::*;

    fn check(text: &str) -> Result<Asked, ApiError> {
        Asked::check(parse(text)?, Some("alice"))
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
        assert_eq!(asked.recorded_id().to_string(), "000102030405060708090a0b0c0d0e0f");
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
