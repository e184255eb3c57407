//! What is shown of a chat: words for a person, lines of JSON for a program.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{IsTerminal, Write};

use serde_json::{Value, json};

use crate::cli::limits::HINT_CHARS;
use crate::cli::output;

/// Shows what happens.
pub(super) struct Printer {
    as_json: bool,
    /// The last character shown of each running command's output; none while nothing was shown.
    shown: BTreeMap<i64, Option<char>>,
    /// What was shown of what a model says.
    said: BTreeMap<i64, String>,
    /// The tools of which a program was told that they ask.
    asked: BTreeSet<i64>,
    /// How many steps of each sub-agent were shown, by the message of its call.
    steps: BTreeMap<i64, u64>,
    /// Whether the last thing shown has not ended its line.
    is_amid_line: bool,
}

impl Printer {
    pub(super) fn new(as_json: bool) -> Self {
        let (shown, said, asked, steps) = Default::default();
        Self { as_json, shown, said, asked, steps, is_amid_line: false }
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
        match channel {
            "text" => return self.words(id, text),
            "reasoning" if self.as_json => {
                return output::json_line(&json!({"type": "reasoning", "id": id, "text": text}));
            }
            // A person sees what comes of it.
            "reasoning" => return,
            _ => {}
        }
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

    /// More of what the model says.
    fn words(&mut self, id: i64, text: &str) {
        self.said.entry(id).or_default().push_str(text);
        if self.as_json {
            return output::json_line(&json!({"type": "text", "id": id, "text": text}));
        }
        self.is_amid_line = !text.ends_with('\n');
        let _ = std::io::stdout().write_all(text.as_bytes()).and_then(|()| std::io::stdout().flush());
    }

    /// A message of the model as it stands now: what was not shown of it yet is, once it is whole.
    pub(super) fn reply(&mut self, id: i64, text: &str) {
        let shown = self.said.get(&id).map_or("", String::as_str);
        match text.strip_prefix(shown) {
            Some("") => {}
            Some(rest) => self.words(id, rest),
            // Only its beginning is kept.
            None if !text.is_empty() && shown.starts_with(text) => {}
            None => {
                // It begins anew: what was shown is void. People are told so by a notice.
                self.end_line();
                self.said.remove(&id);
                if self.as_json {
                    output::json_line(&json!({"type": "void", "id": id}));
                }
                if !text.is_empty() {
                    self.words(id, text);
                }
            }
        }
    }

    /// The model has said and done all it wanted to, or could.
    pub(super) fn reply_ended(&mut self, agent: &Value) {
        self.end_line();
        if self.as_json {
            let mut usage = agent["usage"].clone();
            if usage.is_object() {
                usage["type"] = json!("usage");
                output::json_line(&usage);
            }
        }
        let Some(error) = agent["error"].as_str() else { return };
        if self.as_json {
            output::json_line(&json!({"type": "error", "kind": agent["status"], "message": error}));
        } else {
            output::warn(error);
        }
    }

    /// The model called a tool.
    pub(super) fn tool_started(&mut self, id: i64, agent: &Value) {
        self.end_line();
        self.shown.insert(id, None);
        let (tool, hint, place) = (&agent["tool"], &agent["hint"], &agent["place"]);
        if self.as_json {
            output::json_line(
                &json!({"type": "tool_start", "id": id, "tool": tool, "command": hint, "runner": place}),
            );
        } else {
            dim(&format!("● {} {}", tool.as_str().unwrap_or_default(), one_line(hint)));
        }
    }

    /// A tool waits for a word of its user.
    pub(super) fn asked(&mut self, id: i64, agent: &Value) {
        if self.as_json && self.asked.insert(id) {
            let (tool, detail, runner) = (&agent["tool"], &agent["detail"], &agent["place"]);
            let approval = &agent["approval"];
            output::json_line(
                &json!({"type": "approval", "id": id, "tool": tool, "detail": detail, "approval": approval, "runner": runner}),
            );
        }
    }

    /// A sub-agent, called with a tool, does something.
    pub(super) fn agent_does(&mut self, id: i64, agent: &Value) {
        let (Some(steps), Some(doing)) = (agent["steps"].as_u64(), agent["doing"].as_str()) else { return };
        if self.steps.insert(id, steps).unwrap_or(0) >= steps {
            return;
        }
        if self.as_json {
            let chat = &agent["chat_id"];
            output::json_line(
                &json!({"type": "tool_output", "id": id, "channel": "agent", "text": doing, "chat_id": chat}),
            );
            return;
        }
        let names = [&agent["role"], &agent["instance"]].into_iter().filter_map(Value::as_str);
        let name = names.collect::<Vec<_>>().join(" ");
        let name = if name.is_empty() { "sub-agent" } else { &name };
        dim(&format!("  ↳ {name}: {}", one_line(&json!(doing))));
    }

    /// Says that nobody is there for what a tool waits for.
    pub(super) fn cannot_answer(&self, agent: &Value) {
        let question = agent["detail"].as_str().filter(|_| agent["data"]["kind"] == "question");
        let text = match question {
            Some(question) => {
                format!("the model asks something that nobody here can answer: {}", visible(question))
            }
            None => "the model wants to do something that nobody here can allow; --approval full lets it"
                .to_owned(),
        };
        if self.as_json {
            output::json_line(&json!({"type": "notice", "text": text}));
        } else {
            output::warn(&text);
        }
    }

    /// What it came to.
    pub(super) fn tool_ended(&mut self, id: i64, message: &Value) {
        let agent = &message["agent"];
        let shown = self.shown.remove(&id).flatten();
        if self.as_json {
            let (status, tool) = (&agent["status"], &agent["tool"]);
            output::json_line(
                &json!({"type": "tool_end", "id": id, "tool": tool, "status": status, "text": message["text"]}),
            );
            return;
        }
        if shown.is_some_and(|last| last != '\n') && std::io::stdout().is_terminal() {
            println!();
        }
        if agent["status"] != "done" {
            let text = message["text"].as_str().unwrap_or_default();
            dim(&format!(
                "  {}: {}",
                agent["status"].as_str().unwrap_or_default(),
                text.lines().next().unwrap_or_default()
            ));
        }
    }

    fn end_line(&mut self) {
        if std::mem::take(&mut self.is_amid_line) && !self.as_json {
            println!();
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

    /// What was taken back, to be changed and said again; people read it in the notice.
    pub(super) fn input(&self, text: &str) {
        if self.as_json {
            output::json_line(&json!({"type": "input", "text": text}));
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
        parts.push(output::duration(duration_ms));
    }
    if let Some(runner) = exec["runner"].as_str() {
        parts.push(format!("on {runner}"));
    }
    if let Some(path) = exec["output_path"].as_str() {
        parts.push(format!("whole output in {path}"));
    }
    parts.join(" · ")
}

/// Text of a model's that cannot play tricks with a terminal.
pub(super) fn visible(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && c != '\n' { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

/// The beginning of something on one line.
fn one_line(hint: &Value) -> String {
    visible(hint.as_str().unwrap_or_default())
        .lines()
        .next()
        .unwrap_or_default()
        .chars()
        .take(HINT_CHARS)
        .collect()
}

fn dim(text: &str) {
    let mut stderr = std::io::stderr();
    let _ = if output::has_colour(stderr.is_terminal()) {
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
