//! The messages, from the scroll position on.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::Paragraph;

use super::super::state::{Focus, Scroll, State};
use super::cards;

/// Draws as many messages as fit, and records the heights of all. Unchanged messages are not laid out again.
pub(super) fn draw(frame: &mut Frame<'_>, state: &mut State, area: Rect) {
    let width = usize::from(area.width);
    let chosen = state.card.filter(|_| state.focus == Focus::Cards);
    if state.drawn.width != width {
        state.drawn.lines.clear();
        state.drawn.width = width;
    }
    let mut heights = Vec::new();
    for entry in state.transcript.entries() {
        let id = entry.message.id;
        let drawn = state.drawn.lines.get(&id);
        // Running work shows its elapsed time.
        let is_kept = drawn.is_some_and(|(revision, _)| *revision == entry.revision) && !entry.is_open();
        if !is_kept {
            let lines = cards::lines(entry, width, &state.theme, state.now_ms);
            state.drawn.lines.insert(id, (entry.revision, lines));
        }
        let lines = state.drawn.lines.get(&id).map_or(0, |(_, lines)| lines.len());
        heights.push((id, lines));
    }
    if state.drawn.lines.len() > heights.len() {
        let known: std::collections::HashSet<i64> = heights.iter().map(|(id, _)| *id).collect();
        state.drawn.lines.retain(|id, _| known.contains(id));
    }
    let height = usize::from(area.height);
    let total: usize = heights.iter().map(|(_, lines)| lines).sum();
    let last_top = total.saturating_sub(height);
    let top = match state.scroll {
        Scroll::End => last_top,
        Scroll::At { id, line } => {
            let before: usize =
                heights.iter().take_while(|(known, _)| *known < id).map(|(_, lines)| lines).sum();
            (before + line).min(last_top)
        }
    };
    let mut shown = Vec::with_capacity(height);
    if total == 0 {
        shown.extend(welcome(state));
    }
    let mut at = 0;
    for (id, lines) in &heights {
        if at + lines > top && at < top + height {
            let drawn = state.drawn.lines.get(id).map(|(_, lines)| lines.as_slice()).unwrap_or_default();
            let from = top.saturating_sub(at);
            for line in drawn.iter().skip(from).take(height - shown.len()) {
                let style = if chosen == Some(*id) { state.theme.selected } else { Default::default() };
                shown.push(line.clone().patch_style(style));
            }
        }
        at += lines;
    }
    frame.render_widget(Paragraph::new(shown), area);
    if last_top > top {
        let below = state.theme.say(&format!(" ↓ {} more · Ctrl+End ", last_top - top));
        let width = (Line::raw(below.as_str()).width() as u16).min(area.width);
        let corner = Rect { x: area.right() - width, y: area.bottom().saturating_sub(1), width, height: 1 };
        frame.render_widget(Line::styled(below, state.theme.bar), corner.intersection(area));
    }
    state.layout.heights = heights;
    state.layout.height = height;
}

fn welcome(state: &State) -> Vec<Line<'static>> {
    let place = state.place();
    let lines = [
        String::new(),
        format!("  There are no messages yet. Where commands run: {}.", place.name),
        String::new(),
        "  !ls            runs a command there".to_owned(),
        "  /help          lists the slash commands".to_owned(),
        "  Ctrl+K         lists all actions".to_owned(),
        "  F1             lists the keys".to_owned(),
    ];
    lines.into_iter().map(|line| Line::styled(state.theme.say(&line), state.theme.dim)).collect()
}
