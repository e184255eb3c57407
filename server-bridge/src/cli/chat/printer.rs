//! What is shown of a chat: words for a person, lines of JSON for a program.

use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};

use serde_json::{Value, json};

use crate::cli::output;

/// Shows what happens.
pub(super) struct Printer {
    as_json: bool,
    /// The last character shown of each running command's output; none while nothing was shown.
    shown: BTreeMap<i64, Option<char>>,
}

impl Printer {
    pub(super) fn new(as_json: bool) -> Self {
        Self { as_json, shown: BTreeMap::new() }
    }

    /// The server said something.
    pub(super) fn notice(&self, text: &str) {
        self.said("notice", text);
    }

    /// Nothing came of what was said; people have read why.
    pub(super) fn refused(&self, kind: &str, text: &str) {
        if self.as_json {
            output::json_line(&json!({"type": "error", "kind": kind, "message": text}));
        }
    }

    /// The agent said something.
    pub(super) fn text(&self, text: &str) {
        self.said("text", text);
    }

    /// A command was begun.
    pub(super) fn exec_started(&mut self, id: i64, exec: &Value) {
        self.shown.insert(id, None);
        if self.as_json {
            let (command, runner) = (&exec["command"], &exec["runner"]);
            output::json_line(
                &json!({"type": "tool_start", "id": id, "tool": "shell", "command": command, "runner": runner}),
            );
        }
    }

    /// A running command wrote something.
    pub(super) fn output(&mut self, id: i64, channel: &str, text: &str) {
        if let Some(last) = text.chars().next_back() {
            self.shown.insert(id, Some(last));
        }
        if self.as_json {
            output::json_line(&json!({"type": "tool_output", "id": id, "channel": channel, "text": text}));
        } else if channel == "stderr" {
            let _ = std::io::stderr().write_all(text.as_bytes());
        } else {
            let _ = std::io::stdout().write_all(text.as_bytes()).and_then(|()| std::io::stdout().flush());
        }
    }

    /// A running command's runner is away, or is back; a program waits for the end anyway.
    pub(super) fn exec_waits(&self, exec: &Value) {
        if let (false, Some(why)) = (self.as_json, exec["error"].as_str()) {
            output::warn(why);
        }
    }

    /// A command ended; `message` is how it stands now.
    pub(super) fn exec_ended(&mut self, id: i64, message: &Value) {
        let (exec, text) = (&message["exec"], message["text"].as_str().unwrap_or_default());
        let mut shown = self.shown.remove(&id).flatten();
        if self.as_json {
            output::json_line(&end_line(id, exec, text));
            if matches!(exec["status"].as_str(), Some("failed" | "lost")) {
                let kind = if exec["status"] == "lost" { "lost" } else { "failed" };
                output::json_line(&json!({"type": "error", "kind": kind, "message": exec["error"]}));
            }
            return;
        }
        if shown.is_none() && !text.is_empty() {
            let _ = std::io::stdout().write_all(text.as_bytes()).and_then(|()| std::io::stdout().flush());
            shown = text.chars().next_back();
        }
        if shown.is_some_and(|last| last != '\n') && std::io::stdout().is_terminal() {
            println!();
        }
        dim(&status_line(exec));
        if let Some(error) = exec["error"].as_str() {
            output::warn(error);
        }
    }

    /// Some output came too fast to be shown.
    pub(super) fn lagged(&self) {
        if !self.as_json {
            dim("some output came too fast to be shown live");
        }
    }

    /// Everything that came of a message was shown.
    pub(super) fn done(&self, chat: &str, code: u8) {
        if self.as_json {
            output::json_line(&json!({"type": "done", "chat_id": chat, "exit_code": code}));
        }
    }

    fn said(&self, kind: &str, text: &str) {
        if self.as_json {
            output::json_line(&json!({"type": kind, "text": text}));
        } else {
            output::line(text);
        }
    }
}

fn end_line(id: i64, exec: &Value, text: &str) -> Value {
    let mut line = json!({"type": "tool_end", "id": id, "text": text});
    for key in [
        "status",
        "exit_code",
        "signal",
        "duration_ms",
        "runner",
        "sandbox_denied",
        "truncated",
        "stdout_bytes",
        "stderr_bytes",
        "output_path",
        "error",
    ] {
        line[key] = exec[key].clone();
    }
    line
}

/// How a command ended, how long it took, and where: `exit 0 · 1.2 s · on laptop`.
fn status_line(exec: &Value) -> String {
    let mut parts = vec![match exec["status"].as_str() {
        Some("exited") => format!("exit {}", exec["exit_code"]),
        Some("signaled") => format!("signal {}", exec["signal"]),
        Some("timed_out") => "timed out".to_owned(),
        Some("failed") => "could not run".to_owned(),
        Some(other) => other.to_owned(),
        None => "ended".to_owned(),
    }];
    if exec["sandbox_denied"] == true {
        parts.push("denied by the sandbox".to_owned());
    }
    if let Some(duration_ms) = exec["duration_ms"].as_u64() {
        parts.push(duration(duration_ms));
    }
    if let Some(runner) = exec["runner"].as_str() {
        parts.push(format!("on {runner}"));
    }
    if let Some(path) = exec["output_path"].as_str() {
        parts.push(format!("whole output in {path}"));
    }
    parts.join(" · ")
}

fn duration(duration_ms: u64) -> String {
    match duration_ms {
        0..1000 => format!("{duration_ms} ms"),
        1000..60_000 => format!("{}.{} s", duration_ms / 1000, duration_ms % 1000 / 100),
        _ => format!("{} min {} s", duration_ms / 60_000, duration_ms % 60_000 / 1000),
    }
}

fn dim(text: &str) {
    let mut stderr = std::io::stderr();
    let _ = if stderr.is_terminal() {
        writeln!(stderr, "\x1b[2m{text}\x1b[0m")
    } else {
        writeln!(stderr, "{text}")
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_line_says_how_long_and_where() {
        let exec = json!({"status": "exited", "exit_code": 0, "duration_ms": 1234, "runner": "laptop"});
        assert_eq!(status_line(&exec), "exit 0 · 1.2 s · on laptop");
        let exec = json!({"status": "failed", "duration_ms": 0, "runner": null, "error": "x"});
        assert_eq!(status_line(&exec), "could not run · 0 ms");
        let exec = json!({"status": "signaled", "signal": 9, "duration_ms": 61_000, "sandbox_denied": true});
        assert_eq!(status_line(&exec), "signal 9 · denied by the sandbox · 1 min 1 s");
    }

    #[test]
    fn a_programs_last_line_of_a_command_holds_its_end() {
        let exec =
            json!({"status": "exited", "exit_code": 3, "duration_ms": 5, "runner": "laptop", "command": "x"});
        let line = end_line(7, &exec, "out");
        assert_eq!(
            (&line["type"], &line["id"], &line["exit_code"]),
            (&json!("tool_end"), &json!(7), &json!(3))
        );
        assert_eq!(line["text"], "out");
    }
}
