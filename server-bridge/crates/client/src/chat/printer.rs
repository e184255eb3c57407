//! The output of a chat: text for a person, lines of JSON for a program.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{IsTerminal, Write};

use api::card::CardDocument;
use api::chat::MessageView;
use api::document::{ApprovalDocument, ExecDocument, SubAgentDocument, UsageDocument};
use api::words::{Channel, ExecStatus, ToolStatus, TurnStatus};

use super::asking::Asking;
use crate::limits::HINT_CHARS;
use crate::line::Line;
use crate::output;

/// Prints events.
pub(super) struct Printer {
    as_json: bool,
    /// The last character shown of each running command's output; `None` while nothing was shown.
    shown: BTreeMap<i64, Option<char>>,
    /// The part of the model's text that was shown, by message.
    said: BTreeMap<i64, String>,
    /// The tools whose questions were reported to the program.
    asked: BTreeSet<i64>,
    /// The number of steps of each sub-agent that were shown, by the message of its call.
    steps: BTreeMap<i64, u32>,
    /// True if the last thing shown did not end its line.
    is_amid_line: bool,
}

impl Printer {
    pub(super) fn new(as_json: bool) -> Self {
        let (shown, said, asked, steps) = Default::default();
        Self { as_json, shown, said, asked, steps, is_amid_line: false }
    }

    /// Prints a notice of the server.
    pub(super) fn notice(&self, text: &str) {
        self.said(Line::Notice { text }, text);
    }

    /// Reports to a program that the message had no effect; a person has already read the reason.
    pub(super) fn refused(&self, kind: &str, text: &str) {
        if self.as_json {
            print(&Line::Error { kind, message: Some(text) });
        }
    }

    /// Prints a text of the agent.
    pub(super) fn text(&self, text: &str) {
        self.said(Line::Text { id: None, text }, text);
    }

    /// Reports that a command began.
    pub(super) fn exec_started(&mut self, id: i64, exec: &ExecDocument) {
        self.shown.insert(id, None);
        if self.as_json {
            let (command, runner) = (exec.command.as_str(), exec.runner.as_deref());
            print(&Line::ToolStart { id, tool: "shell", command, runner });
        }
    }

    /// Prints what a running command wrote.
    pub(super) fn output(&mut self, id: i64, channel: &Channel, text: &str) {
        match channel {
            Channel::Text => return self.words(id, text),
            Channel::Reasoning if self.as_json => return print(&Line::Reasoning { id, text }),
            // A person sees only the result.
            Channel::Reasoning => return,
            Channel::Stdout | Channel::Stderr | Channel::Unknown(_) => {}
        }
        if let Some(last) = text.chars().next_back() {
            self.shown.insert(id, Some(last));
        }
        if self.as_json {
            print(&Line::ToolOutput { id, channel: channel.as_str(), text, chat_id: None });
        } else if *channel == Channel::Stderr {
            let _ = std::io::stderr().write_all(text.as_bytes());
        } else {
            let _ = std::io::stdout().write_all(text.as_bytes()).and_then(|()| std::io::stdout().flush());
        }
    }

    /// Prints more of the model's text.
    fn words(&mut self, id: i64, text: &str) {
        self.said.entry(id).or_default().push_str(text);
        if self.as_json {
            return print(&Line::Text { id: Some(id), text });
        }
        self.is_amid_line = !text.ends_with('\n');
        let _ = std::io::stdout().write_all(text.as_bytes()).and_then(|()| std::io::stdout().flush());
    }

    /// Prints the part of a model's message that was not shown yet; `text` is all of the message so far.
    pub(super) fn reply(&mut self, id: i64, text: &str) {
        let shown = self.said.get(&id).map_or("", String::as_str);
        match text.strip_prefix(shown) {
            Some("") => {}
            Some(rest) => self.words(id, rest),
            // The server kept only the beginning of what was shown.
            None if !text.is_empty() && shown.starts_with(text) => {}
            None => {
                // The model began again, so what was shown is obsolete. A person learns that from a notice.
                self.end_line();
                self.said.remove(&id);
                if self.as_json {
                    print(&Line::Void { id });
                }
                if !text.is_empty() {
                    self.words(id, text);
                }
            }
        }
    }

    /// Reports that the model is done, or could not continue.
    pub(super) fn reply_ended(
        &mut self,
        status: &TurnStatus,
        error: Option<&str>,
        usage: Option<&UsageDocument>,
    ) {
        self.end_line();
        if let (true, Some(usage)) = (self.as_json, usage) {
            print(&Line::Usage(usage));
        }
        let Some(error) = error else { return };
        if self.as_json {
            print(&Line::Error { kind: status.as_str(), message: Some(error) });
        } else {
            output::warn(error);
        }
    }

    /// Reports that the model called a tool.
    pub(super) fn tool_started(&mut self, id: i64, tool: &str, hint: &str, place: Option<&str>) {
        self.end_line();
        self.shown.insert(id, None);
        if self.as_json {
            print(&Line::ToolStart { id, tool, command: hint, runner: place });
        } else {
            dim(&format!("● {tool} {}", one_line(hint)));
        }
    }

    /// Reports that a tool waits for its user's answer.
    pub(super) fn asked(
        &mut self,
        id: i64,
        asking: &Asking,
        approval: Option<&ApprovalDocument>,
        runner: Option<&str>,
    ) {
        if self.as_json && self.asked.insert(id) {
            let Asking { tool, detail, .. } = asking;
            print(&Line::Approval { id, tool, detail, approval, runner });
        }
    }

    /// Reports an action of a sub-agent that a tool called.
    pub(super) fn agent_does(&mut self, id: i64, agent: &SubAgentDocument) {
        let SubAgentDocument { chat_id, role, instance, steps, doing, .. } = agent;
        // Before its first step there is nothing to show.
        if doing.is_empty() || self.steps.insert(id, *steps).unwrap_or(0) >= *steps {
            return;
        }
        if self.as_json {
            return print(&Line::ToolOutput { id, channel: "agent", text: doing, chat_id: Some(chat_id) });
        }
        let name = [role.as_deref(), instance.as_deref()].into_iter().flatten().collect::<Vec<_>>().join(" ");
        let name = if name.is_empty() { "sub-agent" } else { &name };
        dim(&format!("  ↳ {name}: {}", one_line(doing)));
    }

    /// Reports that there is no person to answer a tool's question.
    pub(super) fn cannot_answer(&self, asking: &Asking) {
        let text = match asking.options() {
            Some(_) => {
                format!("there is no person to answer the model's question: {}", visible(&asking.detail))
            }
            None => {
                "there is no person to allow what the model wants to do; --approval full allows most actions"
                    .to_owned()
            }
        };
        if self.as_json {
            print(&Line::Notice { text: &text });
        } else {
            output::warn(&text);
        }
    }

    /// Prints the result of a tool.
    pub(super) fn tool_ended(
        &mut self,
        id: i64,
        tool: &str,
        status: &ToolStatus,
        text: &str,
        card: Option<&CardDocument>,
    ) {
        let shown = self.shown.remove(&id).flatten();
        if self.as_json {
            return print(&Line::ToolEnd { id, tool, status: status.as_str(), text, card });
        }
        if card.is_some_and(|card| card.is_sent) {
            println!("{}", visible(text));
        }
        if shown.is_some_and(|last| last != '\n') && std::io::stdout().is_terminal() {
            println!();
        }
        if *status != ToolStatus::Done {
            dim(&format!("  {status}: {}", text.lines().next().unwrap_or_default()));
        }
    }

    fn end_line(&mut self) {
        if std::mem::take(&mut self.is_amid_line) && !self.as_json {
            println!();
        }
    }

    /// Reports that a running command's runner cannot be reached, or is connected again. A program needs neither: it waits for the end anyway.
    pub(super) fn exec_waits(&self, exec: &ExecDocument) {
        if let (false, Some(why)) = (self.as_json, exec.error.as_deref()) {
            output::warn(why);
        }
    }

    /// Reports that a command ended; `message` is its current state.
    pub(super) fn exec_ended(&mut self, exec: &ExecDocument, message: &MessageView) {
        let MessageView { id, text, .. } = message;
        let id = *id;
        let mut shown = self.shown.remove(&id).flatten();
        if self.as_json {
            print(&Line::command_end(id, exec, text));
            if matches!(exec.status, ExecStatus::Failed | ExecStatus::Lost) {
                print(&Line::Error { kind: exec.status.as_str(), message: exec.error.as_deref() });
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
        if let Some(error) = &exec.error {
            output::warn(error);
        }
    }

    /// Reports a message that was undone, to be changed and sent again; a person reads it in the notice.
    pub(super) fn input(&self, text: &str) {
        if self.as_json {
            print(&Line::Input { text });
        }
    }

    /// Reports that some output came too fast to be shown.
    pub(super) fn lagged(&self) {
        if !self.as_json {
            dim("some output came too fast to be shown live");
        }
    }

    /// Reports that all effects of a message were shown.
    pub(super) fn done(&self, chat: &str, code: u8) {
        if self.as_json {
            print(&Line::Done { chat_id: chat, exit_code: code });
        }
    }

    fn said(&self, line: Line<'_>, text: &str) {
        if self.as_json {
            print(&line);
        } else {
            output::line(text);
        }
    }
}

fn print(line: &Line<'_>) {
    output::line(&line.to_string());
}

/// How a command ended, how long it took, and where: `exit 0 · 1.2 s · on laptop`.
fn status_line(exec: &ExecDocument) -> String {
    let number =
        |number: Option<i32>| number.map_or_else(|| "unknown".to_owned(), |number| number.to_string());
    let mut parts = vec![match exec.status.as_str() {
        "exited" => format!("exit {}", number(exec.exit_code)),
        "signaled" => format!("signal {}", number(exec.signal)),
        "timed_out" => "timed out".to_owned(),
        "failed" => "could not run".to_owned(),
        "" => "ended".to_owned(),
        other => other.to_owned(),
    }];
    if exec.sandbox_denied {
        parts.push("denied by the sandbox".to_owned());
    }
    if let Some(duration_ms) = exec.duration_ms {
        parts.push(output::duration(duration_ms));
    }
    if let Some(runner) = &exec.runner {
        parts.push(format!("on {runner}"));
    }
    if let Some(path) = &exec.output_path {
        parts.push(format!("whole output in {path}"));
    }
    parts.join(" · ")
}

/// A model's text, made safe for a terminal.
pub(super) fn visible(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && c != '\n' { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

/// The beginning of a text on one line.
fn one_line(hint: &str) -> String {
    visible(hint).lines().next().unwrap_or_default().chars().take(HINT_CHARS).collect()
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
        let exec = |status: &str, duration_ms| ExecDocument {
            status: status.into(),
            duration_ms: Some(duration_ms),
            ..ExecDocument::default()
        };
        let exited =
            ExecDocument { exit_code: Some(0), runner: Some("laptop".into()), ..exec("exited", 1234) };
        assert_eq!(status_line(&exited), "exit 0 · 1.2 s · on laptop");
        assert_eq!(status_line(&exec("failed", 0)), "could not run · 0 ms");
        let denied = ExecDocument { signal: Some(9), sandbox_denied: true, ..exec("signaled", 61_000) };
        assert_eq!(status_line(&denied), "signal 9 · denied by the sandbox · 1 min 1 s");
        assert_eq!(status_line(&ExecDocument::default()), "ended");
    }
}
