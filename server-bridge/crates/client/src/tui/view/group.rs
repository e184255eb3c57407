//! The window of a group: the log, what agents do, the run of a chain with its gate, and the text being written.

use api::words::{EntryAuthor, GateReply, StepState};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::super::group::{Call, Entry, Group, Run, Step};
use super::super::state::State;
use super::super::text::{cut, wrap};
use super::super::update::key_of;
use super::super::{markdown, places};
use super::theme::Theme;
use super::{bars, overlay};

/// The maximum number of calls that are shown.
const CALLS: usize = 4;
/// The maximum number of lines of a step's output that are shown at a gate.
const OUTPUT_LINES: usize = 6;
/// The maximum number of lines of the text being written that are shown.
const TEXT_LINES: usize = 6;

/// Draws the window, nearly as large as the screen.
pub(super) fn draw(frame: &mut Frame<'_>, state: &mut State) {
    let area = frame.area();
    let size = (area.width.saturating_sub(4), area.height.saturating_sub(2));
    let title = format!(" {} ", cut(&state.group.title, usize::from(size.0).saturating_sub(4)));
    let hint = match &state.group.answering {
        Some(answering) if answering.writes.is_some() => " Enter answers · Esc goes back ",
        Some(_) => " Esc goes back to the text ",
        None => " Enter sends · Tab completes @ · PgUp, PgDn scroll · Esc closes ",
    };
    let inner = overlay::window_of(frame, &state.theme, size, &title, &state.theme.say(hint));
    let width = usize::from(inner.width);
    let mut below: Vec<Line<'static>> = bars::notices(state, inner.width);
    below.extend(calls(&state.group, &state.theme, width));
    if let Some(run) = &state.group.run {
        below.extend(chain(run, &state.theme, width));
        below.extend(gate(state, run, width));
    }
    let text = written(state, width);
    let text_height = u16::try_from(text.len()).unwrap_or(u16::MAX);
    // The text and a part of the log are always visible.
    let most = inner.height.saturating_sub(text_height) * 2 / 3;
    let below_height = u16::try_from(below.len()).unwrap_or(u16::MAX).min(most);
    let heights = [Constraint::Min(1), Constraint::Length(below_height), Constraint::Length(text_height)];
    let [top, middle, bottom] = Layout::vertical(heights).areas(inner);
    log(frame, state, top);
    // The gate's answers, at the end, are more important than its beginning.
    let skipped = below.len().saturating_sub(usize::from(below_height));
    frame.render_widget(Paragraph::new(below.split_off(skipped)), middle);
    frame.render_widget(Paragraph::new(text), bottom);
}

/// Draws the log from its end, and records how far it can be scrolled.
fn log(frame: &mut Frame<'_>, state: &mut State, area: Rect) {
    let (width, height) = (usize::from(area.width), usize::from(area.height));
    let (group, theme) = (&state.group, &state.theme);
    let wanted = height + group.scrolled;
    let mut lines: Vec<Line<'static>> = Vec::new();
    let mut is_whole = true;
    for entry in group.entries.iter().rev() {
        if lines.len() > wanted {
            is_whole = false;
            break;
        }
        lines.extend(entry_lines(group, entry, theme, width).into_iter().rev());
    }
    if group.entries.is_empty() {
        let words = if group.is_known { "There are no messages yet. @ asks an agent." } else { "…" };
        lines.push(Line::styled(theme.say(words), theme.dim));
    }
    // Until everything is laid out, the log can be scrolled by one more page.
    let most = lines.len().saturating_sub(height) + if is_whole { 0 } else { height };
    let scrolled = group.scrolled.min(lines.len().saturating_sub(height));
    let mut shown: Vec<Line<'static>> = lines.into_iter().skip(scrolled).take(height).collect();
    shown.reverse();
    frame.render_widget(Paragraph::new(shown), area);
    state.group.scrolled = scrolled;
    state.group.scrolled_most = most;
}

fn entry_lines(group: &Group, entry: &Entry, theme: &Theme, width: usize) -> Vec<Line<'static>> {
    let head = match entry.kind {
        EntryAuthor::Agent => {
            let place =
                group.place(&entry.author).map(|place| format!(" · {}", theme.say(&places::shown(place))));
            vec![
                Span::styled(format!("@{}", entry.author), theme.accent),
                Span::styled(place.unwrap_or_default(), theme.dim),
            ]
        }
        EntryAuthor::Person => vec![Span::styled(entry.author.clone(), theme.strong)],
        _ => Vec::new(),
    };
    let indent = |line: Line<'static>| {
        let mut spans = vec![Span::raw("  ")];
        spans.extend(line.spans);
        Line::from(spans).style(line.style)
    };
    let room = width.saturating_sub(2).max(1);
    let body: Vec<Line<'static>> = match entry.kind {
        EntryAuthor::Agent => markdown::lines(&entry.text, room, theme),
        EntryAuthor::Person => plain(&entry.text, room, Style::default()),
        _ => plain(&entry.text, room, theme.dim),
    };
    let mut lines = if head.is_empty() { Vec::new() } else { wrap(&head, width, &[], &[]) };
    lines.extend(body.into_iter().map(indent));
    lines
}

fn plain(text: &str, width: usize, style: Style) -> Vec<Line<'static>> {
    text.split('\n').flat_map(|line| wrap(&[Span::styled(line.to_owned(), style)], width, &[], &[])).collect()
}

fn calls(group: &Group, theme: &Theme, width: usize) -> Vec<Line<'static>> {
    let line = |call: &Call| {
        let Call { agent, place, person, is_running, reason } = call;
        let place = places::shown(place);
        let text = match (is_running, reason.is_empty()) {
            (true, _) => theme.say(&format!("▸ @{agent} works on {place} for {person}")),
            (false, true) => theme.say(&format!("… @{agent} is queued for {person}")),
            (false, false) => format!("… @{agent}: {}", theme.say(reason)),
        };
        Line::styled(cut(&text, width), theme.dim)
    };
    let mut lines: Vec<Line<'static>> = group.calls.iter().take(CALLS).map(line).collect();
    if group.calls.len() > CALLS {
        lines.push(Line::styled(theme.say(&format!("… {} more", group.calls.len() - CALLS)), theme.dim));
    }
    lines
}

/// The steps of a run in a line, each with its state and machine.
fn chain(run: &Run, theme: &Theme, width: usize) -> Vec<Line<'static>> {
    let mut spans = vec![Span::styled(theme.say(&format!("{}, run {}: ", run.chain, run.id)), theme.strong)];
    for (at, step) in run.steps.iter().enumerate() {
        if at > 0 {
            spans.push(Span::styled(" › ", theme.dim));
        }
        let (mark, style) = match step.state {
            StepState::Done => ("✓", theme.good),
            StepState::Running => ("▸", theme.accent),
            StepState::Asking => ("?", theme.warning),
            StepState::Failed => ("✗", theme.bad),
            StepState::Stopped => ("■", theme.dim),
            StepState::Queued | StepState::Waiting => ("…", theme.accent),
            _ => ("·", theme.dim),
        };
        let place =
            if step.place.is_empty() { String::new() } else { format!(" {}", places::shown(&step.place)) };
        spans.push(Span::styled(format!("{mark} @{}{place}", step.agent), style));
    }
    let mut lines = wrap(&spans, width, &[], &[Span::raw("  ")]);
    let errors = run.steps.iter().filter(|Step { error, .. }| !error.is_empty());
    lines.extend(errors.map(|step| {
        Line::styled(cut(&format!("  @{}: {}", step.agent, theme.say(&step.error)), width), theme.warning)
    }));
    lines
}

/// The gate that waits for an answer, with the keys of its answers.
fn gate(state: &State, run: &Run, width: usize) -> Vec<Line<'static>> {
    let (theme, Some(gate)) = (&state.theme, &run.gate) else { return Vec::new() };
    let question = Span::styled(theme.say(&gate.question), theme.warning);
    let mut lines = wrap(&[question], width, &[Span::styled("? ", theme.warning)], &[Span::raw("  ")]);
    let bar = [Span::styled("│ ", theme.warning)];
    let output: Vec<Line<'static>> = gate
        .output
        .trim_end()
        .lines()
        .take(OUTPUT_LINES + 1)
        .flat_map(|line| wrap(&[Span::raw(line.to_owned())], width, &bar, &bar))
        .collect();
    let is_cut = output.len() > OUTPUT_LINES || gate.output.trim_end().lines().count() > OUTPUT_LINES;
    lines.extend(output.into_iter().take(OUTPUT_LINES));
    if is_cut {
        lines.push(Line::styled("│ …", theme.warning));
    }
    let words = match &state.group.answering {
        _ if !state.group.may_post => String::new(),
        None => theme.say("Tab: answer it"),
        Some(answering) if answering.is_sent => theme.say("the answer is being sent"),
        Some(answering) => match &answering.writes {
            Some((GateReply::Edit, _)) => theme.say("Write the new output:"),
            Some(_) => theme.say("Write what to change:"),
            None => {
                let keys = gate.replies.iter().filter_map(|reply| Some((key_of(reply)?, reply)));
                let words: Vec<String> =
                    keys.map(|(key, reply)| format!("{key} {}", theme.say(about(reply)))).collect();
                words.join("   ")
            }
        },
    };
    if !words.is_empty() {
        lines.extend(wrap(
            &[Span::styled(words, theme.strong)],
            width,
            &[Span::raw("  ")],
            &[Span::raw("  ")],
        ));
    }
    lines
}

fn about(reply: &GateReply) -> &'static str {
    match reply {
        GateReply::Approve => "approve",
        GateReply::Edit => "edit the output",
        GateReply::Redo => "do it again",
        GateReply::More => "use the budget once more",
        GateReply::Stop => "stop the run",
        GateReply::Unknown(_) => "",
    }
}

/// The text being written, with the completions above it.
fn written(state: &State, width: usize) -> Vec<Line<'static>> {
    let (group, theme) = (&state.group, &state.theme);
    let mut lines = Vec::new();
    let answering = group.answering.as_ref();
    let completions = group.completions();
    if answering.is_none() && !completions.is_empty() {
        let chosen = group.completion.min(completions.len() - 1);
        let spans: Vec<Span<'static>> = completions
            .iter()
            .enumerate()
            .skip(chosen.saturating_sub(2))
            .flat_map(|(at, agent)| {
                let style = if at == chosen { theme.selected } else { theme.accent };
                let shown = format!("@{} {}", agent.handle, theme.say(&places::shown(&agent.place)));
                [Span::styled(shown, style), Span::raw("  ")]
            })
            .collect();
        lines.extend(wrap(&spans, width, &[], &[]).into_iter().take(1));
    }
    let (text, style) = match answering.map(|answering| &answering.writes) {
        Some(Some((_, text))) => (format!("{text}▏"), Style::default()),
        Some(None) => (group.text.clone(), theme.dim),
        None if group.is_posting => (theme.say(" sending… "), theme.dim),
        None if group.is_known && !group.may_post => (theme.say("you may only read this group"), theme.dim),
        None => (format!("{}▏", group.text), Style::default()),
    };
    let mark = [Span::styled("› ", theme.accent)];
    let text = text.split('\n').enumerate().flat_map(|(at, line)| {
        let first = if at == 0 { mark.clone() } else { [Span::raw("  ")] };
        wrap(&[Span::styled(line.to_owned(), style)], width, &first, &[Span::raw("  ")])
    });
    let mut text: Vec<Line<'static>> = text.collect();
    let skipped = text.len().saturating_sub(TEXT_LINES);
    lines.extend(text.split_off(skipped));
    lines
}
