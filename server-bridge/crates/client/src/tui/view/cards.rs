//! One message as lines: a text, or a card.

use api::document::{AgentDocument, ExecDocument, SubAgentDocument, ToolData, UsageDocument};
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::super::markdown;
use super::super::places;
use super::super::text::{one_line, visible, wrap};
use super::super::transcript::Entry;
use super::super::wire::Role;
use super::theme::Theme;
use crate::limits::UNFOLDED_LINES;
use crate::output::duration;

/// How many lines of output a folded card shows: while it runs, of a user's own command, and of a tool.
const RUNNING_LINES: usize = 8;
const COMMAND_LINES: usize = 16;
const TOOL_LINES: usize = 3;

/// A message, followed by an empty line.
pub(super) fn lines(entry: &Entry, width: usize, theme: &Theme, now_ms: u64) -> Vec<Line<'static>> {
    let mut card = Card { entry, width, theme, now_ms, lines: Vec::new() };
    let message = &entry.message;
    match (message.role, &message.exec, &message.agent) {
        (Role::User, _, _) => card.said(&entry.said, "› ", theme.strong),
        (Role::Notice, _, _) => card.said(&entry.said, "· ", theme.dim),
        (_, Some(exec), _) => card.exec(exec),
        (_, None, Some(AgentDocument::Tool { tool, hint, status, place, sub_agent, asked_by, data, .. })) => {
            card.tool(tool, hint, status.as_str(), place.as_deref());
            if let Some(by) = asked_by {
                card.fact(&theme.say(&format!("asked by the sub-agent {by}")), theme.dim);
            }
            if let Some(sub_agent) = sub_agent {
                card.sub_agent(sub_agent);
            }
            let is_sent = matches!(data, Some(ToolData::Card { card }) if card.is_sent);
            // A card that was sent to the user is shown in full.
            card.output(if is_sent { UNFOLDED_LINES } else { TOOL_LINES });
        }
        (_, None, Some(AgentDocument::Reply { status, error, usage, .. })) => {
            card.reply(status.as_str(), error.as_deref(), *usage);
        }
        (Role::Exec | Role::Assistant, None, None) => card.markdown(),
    }
    let mut lines = card.lines;
    if message.undone {
        lines = lines.into_iter().map(|line| line.patch_style(theme.struck.patch(theme.dim))).collect();
    }
    if !lines.is_empty() {
        lines.push(Line::default());
    }
    lines
}

struct Card<'a> {
    entry: &'a Entry,
    width: usize,
    theme: &'a Theme,
    now_ms: u64,
    lines: Vec<Line<'static>>,
}

impl Card<'_> {
    /// Adds plain text.
    fn said(&mut self, text: &str, mark: &str, style: Style) {
        let rest = [Span::raw(" ".repeat(Span::raw(mark).width()))];
        for (at, line) in text.trim_end().split('\n').enumerate() {
            let first = [Span::styled(mark.to_owned(), self.theme.accent)];
            let first = if at == 0 { &first } else { &rest };
            self.lines.extend(wrap(&[Span::styled(line.to_owned(), style)], self.width, first, &rest));
        }
    }

    fn markdown(&mut self) {
        self.lines.extend(markdown::lines(&self.entry.said, self.width, self.theme));
    }

    /// Adds a line within a card.
    fn fact(&mut self, text: &str, style: Style) {
        let gutter = [Span::styled("  │ ", self.theme.dim)];
        for line in visible(text).split('\n') {
            self.lines.extend(wrap(&[Span::styled(line.to_owned(), style)], self.width, &gutter, &gutter));
        }
    }

    fn head(&mut self, mark: (&'static str, Style), name: &str, hint: &str, facts: &[String]) {
        let mut spans = vec![Span::styled(mark.0, mark.1), Span::styled(name.to_owned(), self.theme.strong)];
        if !hint.is_empty() {
            spans.push(Span::raw(format!(" {hint}")));
        }
        let facts: Vec<String> = facts.iter().map(|fact| self.theme.say(fact)).collect();
        spans.push(Span::styled(format!("  {}", facts.join(" · ")), self.theme.dim));
        self.lines.extend(wrap(&spans, self.width, &[], &[Span::raw("  ")]));
    }

    fn exec(&mut self, exec: &ExecDocument) {
        let (mark, words) = match exec.status.as_str() {
            "running" => (self.running(), "running".to_owned()),
            "exited" => {
                let code = exec.exit_code.unwrap_or_default();
                let mark = if code == 0 { ("✓ ", self.theme.good) } else { ("✗ ", self.theme.bad) };
                (mark, format!("exit {code}"))
            }
            "signaled" => (("✗ ", self.theme.bad), format!("signal {}", exec.signal.unwrap_or_default())),
            "timed_out" => (("✗ ", self.theme.bad), "timed out".to_owned()),
            "failed" => (("✗ ", self.theme.bad), "could not run".to_owned()),
            other => (("✗ ", self.theme.warning), one_line(other)),
        };
        let mut facts = vec![words];
        if exec.sandbox_denied {
            facts.push("denied by the sandbox".to_owned());
        }
        match exec.duration_ms {
            Some(duration_ms) => facts.push(duration(duration_ms)),
            None => facts.extend(self.elapsed()),
        }
        facts.extend(exec.runner.as_deref().map(|name| format!("on {}", places::shown(&one_line(name)))));
        let command = one_line(&exec.command);
        self.head(mark, "$", &command, &facts);
        self.output(COMMAND_LINES);
        if let Some(path) = &exec.output_path {
            self.fact(&self.theme.say(&format!("whole output in {}", one_line(path))), self.theme.dim);
        }
        if let Some(error) = &exec.error {
            self.fact(error, self.theme.warning);
        }
    }

    fn tool(&mut self, tool: &str, hint: &str, status: &str, place: Option<&str>) {
        let mark = match status {
            "running" => self.running(),
            "asking" => ("? ", self.theme.warning),
            "done" => ("✓ ", self.theme.good),
            "failed" => ("✗ ", self.theme.bad),
            _ => ("✗ ", self.theme.warning),
        };
        let mut facts = vec![one_line(status)];
        facts.extend(self.elapsed());
        facts.extend(place.map(|name| format!("on {}", places::shown(&one_line(name)))));
        self.head(mark, &one_line(tool), &one_line(hint), &facts);
    }

    fn sub_agent(&mut self, agent: &SubAgentDocument) {
        if !agent.doing.is_empty() {
            self.fact(
                &self.theme.say(&format!("↳ step {} · {}", agent.steps, one_line(&agent.doing))),
                self.theme.dim,
            );
        }
    }

    /// A moving mark that shows running work.
    fn running(&self) -> (&'static str, Style) {
        let marks = ["◐ ", "◓ ", "◑ ", "◒ "];
        (marks[(self.now_ms / 250 % 4) as usize], self.theme.accent)
    }

    /// How long it took, as far as it was observed here.
    fn elapsed(&self) -> Option<String> {
        let began_ms = self.entry.began_ms?;
        let until_ms = self.entry.ended_ms.unwrap_or(self.now_ms);
        Some(duration(until_ms.saturating_sub(began_ms)))
    }

    /// Adds the output: its end while it runs, its beginning afterwards; unfolded, everything that is kept.
    fn output(&mut self, folded_lines: usize) {
        let text = self.entry.printed.text().trim_end();
        if text.is_empty() {
            return;
        }
        let is_unfolded = self.entry.is_unfolded == Some(true);
        let is_open = self.entry.is_open();
        let limit = match (is_unfolded, is_open) {
            (true, _) => UNFOLDED_LINES,
            (false, true) => RUNNING_LINES,
            (false, false) => folded_lines,
        };
        let gutter = [Span::styled("  │ ", self.theme.dim)];
        let shown: Vec<&str> = if is_open {
            text.rsplitn(limit + 1, '\n').collect()
        } else {
            text.splitn(limit + 1, '\n').collect()
        };
        // If there are more lines than the limit, the last piece contains all the others.
        let (shown, rest) = match shown.split_at_checked(limit) {
            Some((shown, [rest])) => (shown, rest.lines().count()),
            _ => (&shown[..], 0),
        };
        let more = |at: &str| {
            let how = if is_unfolded { "" } else { " · Tab, Enter unfolds" };
            Line::styled(self.theme.say(&format!("  │ … {rest} {at}{how}")), self.theme.dim)
        };
        if is_open && (rest > 0 || self.entry.printed.is_cut()) {
            self.lines.push(more("earlier"));
        }
        let mut push = |line: &str| {
            self.lines.extend(wrap(&[Span::raw(line.to_owned())], self.width, &gutter, &gutter));
        };
        if is_open {
            shown.iter().rev().for_each(|line| push(line));
        } else {
            shown.iter().for_each(|line| push(line));
        }
        if !is_open && rest > 0 {
            self.lines.push(more("more"));
        }
    }

    fn reply(&mut self, status: &str, error: Option<&str>, usage: Option<UsageDocument>) {
        let entry = self.entry;
        if !entry.reasoning.is_empty() {
            if entry.is_unfolded == Some(true) {
                self.said(&entry.reasoning, "✻ ", self.theme.dim.patch(self.theme.emphasis));
            } else {
                let words =
                    if entry.is_open() && entry.said.is_empty() { "thinking…" } else { "thought about it" };
                self.lines.push(Line::styled(self.theme.say(&format!("✻ {words}")), self.theme.dim));
            }
        }
        self.markdown();
        if self.lines.is_empty() {
            match status {
                "queued" => {
                    self.lines.push(Line::styled(self.theme.say("… waiting for its turn"), self.theme.dim))
                }
                "running" => {
                    let (mark, style) = self.running();
                    self.lines.push(Line::styled(mark, style));
                }
                _ => {}
            }
        }
        if let Some(error) = error {
            self.fact(&self.theme.say(error), self.theme.bad);
        } else if matches!(status, "cancelled" | "interrupted") {
            self.fact(&self.theme.say(status), self.theme.warning);
        }
        if let Some(usage) = usage {
            self.lines
                .push(Line::styled(self.theme.say(&format!("  {}", usage_words(&usage))), self.theme.dim));
        }
    }
}

/// Tokens read and written, and what they cost: `1.2k in · 340 out · $0.0123`.
pub(super) fn usage_words(usage: &UsageDocument) -> String {
    let tokens = |count: u64| match count {
        0..1000 => count.to_string(),
        1000..1_000_000 => format!("{}.{}k", count / 1000, count % 1000 / 100),
        _ => format!("{}.{}M", count / 1_000_000, count % 1_000_000 / 100_000),
    };
    let cost = match usage.cost_micros {
        0 => String::new(),
        micros => format!(" · ${}.{:04}", micros / 1_000_000, micros % 1_000_000 / 100),
    };
    format!("{} in · {} out{cost}", tokens(usage.input_tokens), tokens(usage.output_tokens))
}
