//! The lines around the messages: the chat, the place, the connection, notes, to-dos.

use ratatui::text::{Line, Span};

use super::super::places::Standing;
use super::super::state::{Connection, State};
use super::super::text::{cut, one_line};
use super::cards::usage_words;
use crate::limits::NOTE_MS;

/// The maximum number of to-dos that are shown.
const TODOS: usize = 6;

/// The open chat, and its server.
pub(super) fn chat_line(state: &State, width: u16) -> Line<'static> {
    let title = match state.open_chat().map(|chat| chat.title.as_str()) {
        Some("") | None => &state.theme.say("New chat"),
        Some(title) => title,
    };
    let whose = format!("{}  ", cut(&format!("{} · {}", state.user, state.server), usize::from(width) / 2));
    let room = usize::from(width).saturating_sub(Span::raw(whose.as_str()).width() + 2);
    let title = cut(title, room);
    let gap = room.saturating_sub(Span::raw(title.as_str()).width());
    Line::from(vec![
        Span::styled(format!(" {title}"), state.theme.strong),
        Span::raw(" ".repeat(gap + 1)),
        Span::styled(whose, state.theme.dim),
    ])
}

/// The place of the next command: always shown.
pub(super) fn where_line(state: &State, width: u16) -> Line<'static> {
    let (place, theme) = (state.place(), &state.theme);
    let (mark, word, style) = match place.standing {
        _ if !state.places.is_known => ("○", "(not known)", theme.dim),
        Standing::Online => ("●", "online", theme.good),
        Standing::Offline => ("○", "offline", theme.bad),
        Standing::Unclear => ("?", "", theme.warning),
    };
    let mut facts = vec![if word.is_empty() {
        theme.say(&place.name)
    } else {
        format!("{} {}", theme.say(&place.name), theme.say(word))
    }];
    facts.extend(place.note.map(|note| theme.say(&note)));
    if place.is_bound {
        facts.push(theme.say("this chat's own"));
    }
    let mut left = facts.join(" · ");
    let mut facts = Vec::new();
    facts.push(state.model.clone().unwrap_or_else(|| theme.say("no model")));
    facts.extend(state.modes.get(&state.chat).map(|mode| theme.say(&format!("mode {mode}"))));
    let usage = state.transcript.usage();
    if usage.input_tokens > 0 {
        facts.push(theme.say(&usage_words(&usage)));
    }
    let mut right = facts.join(" · ");
    // Without space for both, the place is more important.
    let width = usize::from(width).saturating_sub(4);
    left = cut(&left, width);
    right = cut(&right, width.saturating_sub(Span::raw(left.as_str()).width() + 2));
    let gap = width.saturating_sub(Span::raw(left.as_str()).width() + Span::raw(right.as_str()).width());
    Line::from(vec![
        Span::styled(format!(" {mark} "), style),
        Span::styled(left, style),
        Span::raw(" ".repeat(gap)),
        Span::styled(right, theme.dim),
    ])
}

/// The lines above the input: to-dos, notes, and the banner while the server cannot be reached.
pub(super) fn above_input(state: &State, width: u16) -> Vec<Line<'static>> {
    let mut lines = todos(state, usize::from(width));
    lines.extend(notices(state, width));
    lines
}

/// Notes, and the banner while the server cannot be reached.
pub(super) fn notices(state: &State, width: u16) -> Vec<Line<'static>> {
    let theme = &state.theme;
    let width = usize::from(width);
    let mut lines = Vec::new();
    for note in &state.notes {
        let style = if note.is_warning { theme.warning } else { theme.dim };
        for (at, line) in theme.say(&note.text).lines().take(3).enumerate() {
            let mark = if at == 0 { "! " } else { "  " };
            lines.extend(super::super::text::wrap(
                &[Span::styled(line.to_owned(), style)],
                width,
                &[Span::styled(mark, style)],
                &[Span::raw("  ")],
            ));
        }
    }
    match &state.connection {
        Connection::Online => {}
        Connection::Connecting => lines.push(Line::styled(theme.say(" Connecting… "), theme.dim)),
        Connection::Lost { why, retry_at_ms } => {
            let seconds = retry_at_ms.saturating_sub(state.now_ms).div_ceil(1000);
            let when =
                if seconds == 0 { "trying again".to_owned() } else { format!("trying again in {seconds} s") };
            lines.push(Line::styled(
                cut(&theme.say(&format!(" Not connected, {when}: {why} ")), width),
                theme.bar,
            ));
        }
        Connection::Ended(farewell) => {
            let (space, words) =
                ([Span::styled(" ", theme.bar)], [Span::styled(theme.say(farewell), theme.bar)]);
            lines.extend(super::super::text::wrap(&words, width, &space, &space));
        }
    }
    lines
}

/// The newest note, while a window that an agent just opened may cover the notes.
pub(super) fn said_by_agent(state: &State, width: u16) -> Option<Line<'static>> {
    let is_news = state.led.at_ms.is_some_and(|at_ms| at_ms + NOTE_MS > state.now_ms);
    let note = state.notes.back().filter(|_| is_news && state.overlay.is_some())?;
    let said = cut(&format!("! {}", state.theme.say(&note.text)), usize::from(width));
    Some(Line::styled(said, state.theme.dim))
}

fn todos(state: &State, width: usize) -> Vec<Line<'static>> {
    let Some(items) = state.transcript.todos() else { return Vec::new() };
    let theme = &state.theme;
    let done = items.iter().filter(|item| item.status == "completed").count();
    let mut lines =
        vec![Line::styled(theme.say(&format!("To do: {done} of {} done", items.len())), theme.dim)];
    // Completed to-dos are dropped first.
    let skipped = done.min(items.len().saturating_sub(TODOS));
    let mut left_out = skipped;
    for item in items {
        let is_done = item.status == "completed";
        if is_done && left_out > 0 {
            left_out -= 1;
            continue;
        }
        if lines.len() > TODOS {
            lines.push(Line::styled("  …", theme.dim));
            break;
        }
        let (mark, style) = match item.status.as_str() {
            "completed" => ("✓", theme.dim),
            "in_progress" => ("▸", theme.accent),
            _ => ("·", Default::default()),
        };
        lines.push(Line::styled(cut(&format!("  {mark} {}", one_line(&item.content)), width), style));
    }
    lines
}
