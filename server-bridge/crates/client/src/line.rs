//! The lines of JSON for programs with `--json`, each with a `type`.
//!
//! Programs rely on the keys of these lines: a key may be added, but none may be renamed or omitted.

use api::card::CardDocument;
use api::document::{ApprovalDocument, ExecDocument, UsageDocument};
use api::exec::ExecExit;
use serde::Serialize;

/// A line of `--json`.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum Line<'a> {
    /// Standard output of an exec.
    Stdout { data_base64: String },
    /// Standard error of an exec.
    Stderr { data_base64: String },
    /// The end of an exec.
    Exit {
        code: Option<i32>,
        signal: Option<i32>,
        timed_out: bool,
        sandbox_denied: bool,
        truncated: bool,
        duration_ms: u64,
        runner: Option<&'a str>,
    },
    /// An exec in the background.
    Detached { exec_id: &'a str, runner: Option<&'a str> },
    /// A failure.
    Error { kind: &'a str, message: Option<&'a str> },
    /// A command or a tool began.
    ToolStart { id: i64, tool: &'a str, command: &'a str, runner: Option<&'a str> },
    /// Output of a command or a tool, or an action of a sub-agent, with its chat.
    ToolOutput {
        id: i64,
        channel: &'a str,
        text: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        chat_id: Option<&'a str>,
    },
    /// A tool ended.
    ToolEnd {
        id: i64,
        tool: &'a str,
        status: &'a str,
        text: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        card: Option<&'a CardDocument>,
    },
    /// A command ended.
    #[serde(rename = "tool_end")]
    CommandEnd(CommandEnd<'a>),
    /// A tool asks its user.
    Approval {
        id: i64,
        tool: &'a str,
        detail: &'a str,
        approval: Option<&'a ApprovalDocument>,
        runner: Option<&'a str>,
    },
    /// A piece of a model's reasoning.
    Reasoning { id: i64, text: &'a str },
    /// A piece of a model's answer, or a text of the agent.
    Text {
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<i64>,
        text: &'a str,
    },
    /// The text of this message is void, because the model began again.
    Void { id: i64 },
    /// Tokens and cost of an answer.
    Usage(&'a UsageDocument),
    /// A notice of the server.
    Notice { text: &'a str },
    /// A page that its user has to open in a browser.
    Open { url: &'a str },
    /// A message that was undone, to be changed and sent again.
    Input { text: &'a str },
    /// All effects of a message were reported.
    Done { chat_id: &'a str, exit_code: u8 },
}

/// The end of a command in a chat.
#[derive(Serialize)]
pub(crate) struct CommandEnd<'a> {
    id: i64,
    text: &'a str,
    status: &'a str,
    exit_code: Option<i32>,
    signal: Option<i32>,
    duration_ms: Option<u64>,
    runner: Option<&'a str>,
    sandbox_denied: bool,
    truncated: bool,
    stdout_bytes: u64,
    stderr_bytes: u64,
    output_path: Option<&'a str>,
    error: Option<&'a str>,
}

impl<'a> Line<'a> {
    /// The line of an exec's end.
    pub(crate) fn exit(exit: &'a ExecExit) -> Self {
        let ExecExit { code, signal, timed_out, sandbox_denied, truncated, .. } = *exit;
        let (duration_ms, runner) = (exit.duration_ms.unwrap_or_default(), exit.runner.as_deref());
        Self::Exit { code, signal, timed_out, sandbox_denied, truncated, duration_ms, runner }
    }

    /// The line of a command's end in a chat.
    pub(crate) fn command_end(id: i64, exec: &'a ExecDocument, text: &'a str) -> Self {
        Self::CommandEnd(CommandEnd {
            id,
            text,
            status: exec.status.as_str(),
            exit_code: exec.exit_code,
            signal: exec.signal,
            duration_ms: exec.duration_ms,
            runner: exec.runner.as_deref(),
            sandbox_denied: exec.sandbox_denied,
            truncated: exec.truncated,
            stdout_bytes: exec.stdout_bytes,
            stderr_bytes: exec.stderr_bytes,
            output_path: exec.output_path.as_deref(),
            error: exec.error.as_deref(),
        })
    }
}

impl std::fmt::Display for Line<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&api::to_line(self))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(line: Line<'_>) -> Value {
        serde_json::from_str(&line.to_string()).unwrap()
    }

    #[test]
    fn the_lines_hold_what_is_promised() {
        let exit =
            ExecExit { code: Some(3), cancelled: true, runner: Some("laptop".into()), ..ExecExit::default() };
        let expected = json!({"type": "exit", "code": 3, "signal": null, "timed_out": false, "sandbox_denied": false,
                              "truncated": false, "duration_ms": 0, "runner": "laptop"});
        assert_eq!(read(Line::exit(&exit)), expected);
        let usage = UsageDocument { input_tokens: 1, cache_read_tokens: 2, output_tokens: 3, cost_micros: 4 };
        let expected = json!({"type": "usage", "input_tokens": 1, "cache_read_tokens": 2, "output_tokens": 3,
                              "cost_micros": 4});
        assert_eq!(read(Line::Usage(&usage)), expected);
        assert_eq!(read(Line::Text { id: None, text: "a" }), json!({"type": "text", "text": "a"}));
        let line = Line::ToolOutput { id: 1, channel: "stdout", text: "a", chat_id: None };
        assert_eq!(read(line), json!({"type": "tool_output", "id": 1, "channel": "stdout", "text": "a"}));
        let asked = Line::Approval { id: 1, tool: "Shell", detail: "d", approval: None, runner: None };
        let expected = json!({"type": "approval", "id": 1, "tool": "Shell", "detail": "d", "approval": null,
                              "runner": null});
        assert_eq!(read(asked), expected);
        let open = Line::Open { url: "https://x.example" };
        assert_eq!(read(open), json!({"type": "open", "url": "https://x.example"}));
        let error = Line::Error { kind: "lost", message: None };
        assert_eq!(read(error), json!({"type": "error", "kind": "lost", "message": null}));
    }

    #[test]
    fn a_commands_last_line_holds_its_end() {
        let exec = ExecDocument {
            command: "x".to_owned(),
            status: "exited".into(),
            exit_code: Some(3),
            duration_ms: Some(5),
            ..ExecDocument::default()
        };
        let expected = json!({"type": "tool_end", "id": 7, "text": "out", "status": "exited", "exit_code": 3,
                              "signal": null, "duration_ms": 5, "runner": null, "sandbox_denied": false,
                              "truncated": false, "stdout_bytes": 0, "stderr_bytes": 0, "output_path": null,
                              "error": null});
        assert_eq!(read(Line::command_end(7, &exec, "out")), expected);
    }
}
