//! Windows over the screen.

use ratatui::Frame;
use ratatui::layout::{Constraint, Flex, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, BorderType, Clear, Paragraph};

use super::super::event::Effect;
use super::super::picker::Picker;
use super::super::state::{Overlay, State};
use super::super::text::{cut, wrap};
use super::theme::Theme;

/// All keys, for the help.
const KEYS: &[(&str, &str)] = &[
    ("Enter", "send"),
    ("Alt+Enter, Ctrl+J", "a new line"),
    ("Ctrl+W, Ctrl+U, Ctrl+Z", "delete a word, the line before the cursor; undo"),
    ("Up, Down", "earlier messages; choose a completion"),
    ("Tab", "complete; else go to the question, the cards, the text"),
    ("Esc", "close; cancel what is running"),
    ("Ctrl+C", "cancel what is running; else quit (asks first)"),
    ("Ctrl+D", "quit, if the input is empty"),
    ("Ctrl+K", "all commands"),
    ("Ctrl+N", "a new chat"),
    ("Ctrl+O", "the chats"),
    ("Ctrl+R", "where commands run"),
    ("Ctrl+G", "the groups; in one: Tab completes a handle, or answers a gate"),
    ("PgUp, PgDn, wheel", "scroll"),
    ("Ctrl+Home, Ctrl+End", "the first message, the last one"),
    ("Ctrl+L", "redraw the screen; reconnect now"),
    ("", ""),
    ("Tab, then a, A, d", "an approval: allow once, allow always, deny"),
    ("1…9, Up, Down, Enter", "a question: choose an answer; or write your own"),
    ("Up, Down, Enter", "cards: choose, fold and unfold"),
    ("", ""),
    ("!command", "run a command; /help lists the slash commands"),
    ("Shift+drag", "select text with the mouse, in most terminals"),
];

/// Draws the open window, if there is one.
pub(super) fn draw(frame: &mut Frame<'_>, state: &State) {
    let theme = &state.theme;
    match &state.overlay {
        None | Some(Overlay::Group) => {}
        Some(Overlay::Pick(picker) | Overlay::Chats(picker)) => pick(frame, picker, theme),
        Some(Overlay::Confirm { question, yes, .. }) => {
            let keys = if *yes == Effect::Quit && !state.has_unsent() {
                "y, Enter or Ctrl+C: yes   n, Esc: no"
            } else {
                "y: yes   n, Esc: no"
            };
            let width = usize::from(frame.area().width).saturating_sub(6).clamp(1, 70);
            let lines =
                question.lines().flat_map(|line| wrap(&[Span::raw(line.to_owned())], width, &[], &[]));
            let lines = lines.chain([Line::default(), Line::styled(theme.say(keys), theme.accent)]).collect();
            window(frame, theme, " Sure? ", "", lines);
        }
        Some(Overlay::Rename { title, .. }) => {
            let lines = vec![Line::raw(format!("{title}▏"))];
            window(frame, theme, " Title ", " Enter renames · Esc closes ", lines);
        }
        Some(Overlay::Help(scrolled)) => {
            let line = |(keys, what): &(&'static str, &'static str)| {
                Line::from(vec![Span::styled(format!("{keys:23}"), theme.accent), Span::raw(theme.say(what))])
            };
            let room = usize::from(frame.area().height).saturating_sub(4);
            let first = (*scrolled).min(KEYS.len().saturating_sub(room));
            window(
                frame,
                theme,
                " Keys ",
                " Up, Down, PgUp, PgDn scroll · any other key closes ",
                KEYS.iter().skip(first).map(line).collect(),
            );
        }
    }
}

fn pick(frame: &mut Frame<'_>, picker: &Picker, theme: &Theme) {
    let area = frame.area();
    let (width, height) = (area.width.saturating_sub(4).min(90), area.height.saturating_sub(4).min(20));
    let area = window_of(
        frame,
        theme,
        (width, height),
        &format!(" {} ", picker.title),
        &format!(" {} ", picker.hint),
    );
    let found = picker.found();
    let room = usize::from(area.height).saturating_sub(1);
    let first = (picker.selected + 1).saturating_sub(room.max(1));
    let width = usize::from(area.width);
    let mut lines =
        vec![Line::from(vec![Span::styled("› ", theme.accent), Span::raw(format!("{}▏", picker.query))])];
    if found.is_empty() {
        lines.push(Line::styled(theme.say("  nothing matches"), theme.dim));
    }
    for (at, item) in found.iter().enumerate().skip(first).take(room) {
        let label = cut(&format!(" {} ", item.label), width / 2 + width / 4);
        let detail = cut(&item.detail, width.saturating_sub(Span::raw(label.as_str()).width() + 1));
        let gap =
            width.saturating_sub(Span::raw(label.as_str()).width() + Span::raw(detail.as_str()).width());
        let style = if at == picker.selected { theme.selected } else { Default::default() };
        lines.push(
            Line::from(vec![Span::raw(label), Span::raw(" ".repeat(gap)), Span::styled(detail, theme.dim)])
                .patch_style(style),
        );
    }
    frame.render_widget(Paragraph::new(lines), area);
}

fn window(frame: &mut Frame<'_>, theme: &Theme, title: &str, hint: &str, lines: Vec<Line<'_>>) {
    let (title, hint) = (&theme.say(title), &theme.say(hint));
    let wide = lines.iter().map(Line::width).chain([title.len() + 4, hint.len() + 4]).max().unwrap_or(0);
    let size = (u16::try_from(wide + 2).unwrap_or(u16::MAX), u16::try_from(lines.len()).unwrap_or(u16::MAX));
    let area = window_of(frame, theme, size, title, hint);
    frame.render_widget(Paragraph::new(lines), area);
}

/// Draws a frame around an area of this size, in the middle, and returns the area.
pub(super) fn window_of(
    frame: &mut Frame<'_>,
    theme: &Theme,
    size: (u16, u16),
    title: &str,
    hint: &str,
) -> Rect {
    let [area] = Layout::horizontal([Constraint::Length(size.0.saturating_add(2))])
        .flex(Flex::Center)
        .areas(frame.area());
    let [area] =
        Layout::vertical([Constraint::Length(size.1.saturating_add(2))]).flex(Flex::Center).areas(area);
    let block = Block::bordered()
        .border_type(BorderType::Rounded)
        .border_style(theme.accent)
        .title(title.to_owned())
        .title_bottom(Line::styled(hint.to_owned(), theme.dim));
    let inner = block.inner(area);
    frame.render_widget(Clear, area);
    frame.render_widget(block, area);
    inner
}
