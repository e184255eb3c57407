//! The server's messages about a running command, and the lines for programs.

pub(crate) use api::exec::STDIN;
use api::exec::{ExecExit, STDERR, STDOUT, ServerFrame};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use tokio_websockets::Message;

use super::writer::Channel;
use crate::failure::{self, Failure};
use crate::http;
use crate::line::Line;

/// The form of the output.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// As the command wrote it.
    Raw,
    /// One JSON document per line.
    Json,
}

/// A message of the server.
pub(crate) enum Incoming {
    /// The command runs; contains the offset at which its input continues, in bytes.
    Started(u64),
    /// The command continues in the background under this id.
    Detached { exec_id: String, runner: Option<String> },
    /// Output of the command: in the form to write, and its length in bytes.
    Output(Channel, Bytes, usize),
    /// This many bytes of output are no longer kept.
    Gap(u64),
    /// The server accepted the command's input up to this offset, in bytes from its start.
    InputTaken(u64),
    /// True if the runner cannot be reached, false if it is connected again.
    Away(bool),
    /// The command ended.
    Exit(ExecExit),
    /// The command could not be run, or its outcome is unknown.
    Failed(Failure),
}

/// Parses a message; `None` if there is nothing to do.
pub(crate) fn incoming(message: Message, format: Format) -> Option<Incoming> {
    let nonsense = || Some(Incoming::Failed(http::nonsense()));
    if message.is_text() {
        return match serde_json::from_slice(message.as_payload()) {
            Ok(ServerFrame::Exit(exit)) => Some(Incoming::Exit(exit)),
            Ok(ServerFrame::Error { kind, message }) => Some(Incoming::Failed(Failure::other(kind, message))),
            Ok(ServerFrame::Started { stdin_offset, .. }) => Some(Incoming::Started(stdin_offset)),
            Ok(ServerFrame::Detached { exec_id, runner }) => {
                Some(Incoming::Detached { exec_id, runner: Some(runner).filter(|runner| !runner.is_empty()) })
            }
            Ok(ServerFrame::Gap { bytes }) => Some(Incoming::Gap(bytes)),
            Ok(ServerFrame::Input { offset }) => Some(Incoming::InputTaken(offset)),
            Ok(ServerFrame::Interrupted) => Some(Incoming::Away(true)),
            Ok(ServerFrame::Resumed) => Some(Incoming::Away(false)),
            // The input of the terminal now comes from another client that shows it.
            Ok(ServerFrame::Watching) => None,
            Ok(ServerFrame::Unknown) => None,
            Err(_) => nonsense(),
        };
    }
    if !message.is_binary() {
        return None;
    }
    let bytes = Bytes::from(message.into_payload());
    let channel = match bytes.first() {
        Some(&STDOUT) => Channel::Stdout,
        Some(&STDERR) => Channel::Stderr,
        Some(_) | None => return nonsense(),
    };
    let bytes = bytes.slice(1..);
    let length = bytes.len();
    Some(match format {
        Format::Raw => Incoming::Output(channel, bytes, length),
        Format::Json => Incoming::Output(Channel::Stdout, output_line(channel, &bytes), length),
    })
}

/// The exit code of this program for a command's end.
pub(crate) fn exit_code(exit: &ExecExit) -> u8 {
    failure::exit_code(exit.code, exit.signal, exit.timed_out, exit.cancelled)
}

/// True if the sandbox seems to have denied something to a command that failed.
pub(crate) fn is_denied(exit: &ExecExit) -> bool {
    exit.sandbox_denied && exit_code(exit) != 0
}

/// The last line for a program.
pub(crate) fn exit_line(exit: &ExecExit) -> Bytes {
    line(&Line::exit(exit))
}

fn output_line(channel: Channel, bytes: &[u8]) -> Bytes {
    let data_base64 = STANDARD.encode(bytes);
    line(&match channel {
        Channel::Stdout => Line::Stdout { data_base64 },
        Channel::Stderr => Line::Stderr { data_base64 },
    })
}

fn line(line: &Line<'_>) -> Bytes {
    format!("{line}\n").into()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn output(bytes: &'static [u8], format: Format) -> (Channel, Bytes) {
        match incoming(Message::binary(bytes), format) {
            Some(Incoming::Output(channel, bytes, _)) => (channel, bytes),
            _ => panic!("no output"),
        }
    }

    #[test]
    fn output_is_written_as_it_is_or_as_lines() {
        assert_eq!(output(b"\x01a\xff", Format::Raw), (Channel::Stdout, Bytes::from_static(b"a\xff")));
        assert_eq!(output(b"\x02e", Format::Raw), (Channel::Stderr, Bytes::from_static(b"e")));
        let (channel, bytes) = output(b"\x02e\xff", Format::Json);
        assert_eq!(channel, Channel::Stdout);
        let value: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(value, json!({"type": "stderr", "data_base64": "Zf8="}));
        assert!(bytes.ends_with(b"\n"));
    }

    #[test]
    fn the_exit_line_holds_what_is_promised() {
        let told = r#"{"type":"exit","code":3,"signal":null,"timed_out":false,"cancelled":false,"sandbox_denied":true,
                       "truncated":false,"duration_ms":12,"runner":"laptop"}"#;
        let Some(Incoming::Exit(exit)) = incoming(Message::text(told), Format::Json) else {
            panic!("no exit")
        };
        assert_eq!(exit_code(&exit), 3);
        let value: serde_json::Value = serde_json::from_slice(&exit_line(&exit)).unwrap();
        let expected = json!({"type": "exit", "code": 3, "signal": null, "timed_out": false, "sandbox_denied": true,
                              "truncated": false, "duration_ms": 12, "runner": "laptop"});
        assert_eq!(value, expected);
    }

    #[test]
    fn a_newer_servers_words_are_passed_over_and_nonsense_is_told() {
        let started = incoming(Message::text(r#"{"type":"started","exec_id":"0"}"#), Format::Raw);
        assert!(matches!(started, Some(Incoming::Started(0))));
        assert!(incoming(Message::text(r#"{"type":"weather"}"#), Format::Raw).is_none());
        for bad in [Message::text("{"), Message::binary(vec![]), Message::binary(vec![9u8])] {
            let Some(Incoming::Failed(failure)) = incoming(bad, Format::Raw) else { panic!("no failure") };
            assert_eq!(failure.into_not_run().code, 125);
        }
    }
}
