//! The frame: messages, questions, the text being written, and always the place of the next command.
//!
//! | module | draws |
//! |---|---|
//! | `messages`, `cards` | texts and cards |
//! | `asking` | a model's question |
//! | `bars` | the line of the chat, the line of the place, the banner, notes, to-dos |
//! | `overlay` | windows over everything else |
//! | `group` | the window of a group |
//! | `theme` | the styles |

mod asking;
mod bars;
mod cards;
mod group;
mod messages;
mod overlay;
pub(super) mod theme;

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders, Clear, Paragraph};

use super::state::{Focus, Overlay, State};
use super::text::is_unfit;

/// The maximum number of lines of the text being written; a longer text scrolls.
const INPUT_LINES: u16 = 10;
/// The maximum number of completions that are shown at once.
const COMPLETIONS: usize = 8;

/// The hint that is shown while the input is empty.
const PLACEHOLDER: &str = "Say something · ! runs a command · /help · Ctrl+K all commands";

/// Draws everything.
pub(super) fn draw(frame: &mut Frame<'_>, state: &mut State) {
    let area = frame.area();
    let asking = asking::lines(state, area.width, area.height / 2);
    let above = bars::above_input(state, area.width);
    let written = 2 + input_lines(state, area.width);
    let heights = [
        Constraint::Length(1),
        Constraint::Min(1),
        Constraint::Length(asking.len() as u16),
        Constraint::Length((above.len() as u16).min(area.height / 3)),
        Constraint::Length(written),
        Constraint::Length(1),
    ];
    let [top, middle, asked, over, input, bottom] = Layout::vertical(heights).areas(area);
    frame.render_widget(bars::chat_line(state, top.width), top);
    messages::draw(frame, state, middle);
    frame.render_widget(Paragraph::new(asking), asked);
    frame.render_widget(Paragraph::new(above), over);
    draw_input(frame, state, input);
    frame.render_widget(bars::where_line(state, bottom.width), bottom);
    draw_completions(frame, state, input);
    if matches!(state.overlay, Some(Overlay::Group)) {
        group::draw(frame, state);
    }
    overlay::draw(frame, state);
    if let Some(said) = bars::said_by_agent(state, bottom.width) {
        frame.render_widget(Clear, bottom);
        frame.render_widget(said, bottom);
    }
    keep_fit(frame.buffer_mut());
}

fn input_lines(state: &State, width: u16) -> u16 {
    let width = usize::from(width.saturating_sub(2)).max(1);
    let lines = state.input.area.lines().iter();
    let count: usize = lines.map(|line| Span::raw(line.as_str()).width() / width + 1).sum();
    u16::try_from(count).unwrap_or(u16::MAX).clamp(1, INPUT_LINES)
}

fn draw_input(frame: &mut Frame<'_>, state: &mut State, area: Rect) {
    let theme = &state.theme;
    let has_keys = state.focus == Focus::Input && state.overlay.is_none();
    let style = if has_keys { theme.accent } else { theme.dim };
    let hint = match state.focus {
        _ if state.is_posting => " sending… ",
        Focus::Input if state.asking.message != 0 => " Tab: answer the question ",
        Focus::Cards => " Up/Down choose · Enter folds and unfolds · Esc goes back to the text ",
        _ if state.transcript.is_running() => " Esc cancels ",
        _ => "",
    };
    let block = Block::new()
        .borders(Borders::TOP | Borders::BOTTOM)
        .border_style(style)
        .title_bottom(Line::styled(theme.say(hint), theme.dim).right_aligned());
    let cursor = if has_keys { theme.selected } else { theme.dim };
    state.input.area.set_cursor_style(cursor);
    state.input.area.set_placeholder_style(theme.dim);
    state.input.area.set_placeholder_text(theme.say(PLACEHOLDER));
    state.input.area.set_block(block);
    frame.render_widget(&state.input.area, area);
}

fn draw_completions(frame: &mut Frame<'_>, state: &State, input: Rect) {
    let completions = state.completions();
    if completions.is_empty() || state.focus != Focus::Input || state.overlay.is_some() {
        return;
    }
    let chosen = state.completion.unwrap_or(0).min(completions.len() - 1);
    let first = chosen.saturating_sub(COMPLETIONS - 1);
    let width = completions.iter().map(|completion| Span::raw(completion.shown.as_str()).width()).max();
    let lines: Vec<Line<'_>> = completions
        .iter()
        .enumerate()
        .skip(first)
        .take(COMPLETIONS)
        .map(|(at, completion)| {
            let shown = format!(" {:width$}  ", completion.shown, width = width.unwrap_or(0));
            let style = if at == chosen { state.theme.selected } else { state.theme.accent };
            Line::from(vec![
                Span::styled(shown, style),
                Span::styled(completion.about.clone(), state.theme.dim),
            ])
        })
        .collect();
    let height = (lines.len() as u16).min(input.y);
    let area = Rect { y: input.y - height, height, ..input };
    frame.render_widget(Clear, area);
    frame.render_widget(Paragraph::new(lines), area);
}

/// The last filter before the terminal: no cell contains anything that a terminal would obey.
fn keep_fit(buffer: &mut Buffer) {
    for cell in &mut buffer.content {
        if cell.symbol().chars().any(is_unfit) {
            cell.set_char(char::REPLACEMENT_CHARACTER);
        }
    }
}
