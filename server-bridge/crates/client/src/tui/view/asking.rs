//! A model's question: its intended action, the machine, and the keys that answer.

use api::document::{AgentDocument, ToolData};
use ratatui::text::{Line, Span};

use super::super::places;
use super::super::state::{Focus, State};
use super::super::text::{one_line, visible, wrap};
use super::theme::Theme;
use crate::card::gutters;

/// The lines of the question, at most `height` if there is that much space.
pub(super) fn lines(state: &mut State, width: u16, height: u16) -> Vec<Line<'static>> {
    let has_keys = state.focus == Focus::Asking;
    let waiting = state.transcript.asking().count();
    let Some(entry) = state.transcript.asking().next() else { return Vec::new() };
    let Some(AgentDocument::Tool { tool, place, detail, approval, data, hint, .. }) = &entry.message.agent
    else {
        return Vec::new();
    };
    let theme = &state.theme;
    let width = usize::from(width);
    // A call that uses no machine names none, whatever the place of its chat is.
    let machine = match approval {
        Some(approval) => approval.place.as_ref().map(|place| place.machine.as_str()),
        None => place.as_deref(),
    };
    let others = if waiting > 1 { format!("  (1 of {waiting})") } else { String::new() };
    let options = match data {
        Some(ToolData::Question { options }) => Some(options),
        _ => None,
    };
    let head = match options {
        Some(_) => {
            vec![Span::styled(theme.say("? The model asks"), theme.warning), Span::raw(theme.say(&others))]
        }
        None => match machine {
            Some(machine) => vec![
                Span::styled(theme.say(&format!("? {} wants to run on ", one_line(tool))), theme.warning),
                Span::styled(format!(" {} ", places::shown(&one_line(machine))), theme.selected),
                Span::raw(theme.say(&others)),
            ],
            None => vec![
                Span::styled(theme.say(&format!("? {} wants to run", one_line(tool))), theme.warning),
                Span::raw(theme.say(&others)),
            ],
        },
    };
    let detail = if detail.is_empty() { hint } else { detail };
    let mut body: Vec<Line<'static>> = visible(detail)
        .trim_end()
        .split('\n')
        .flat_map(|line| {
            let (first, rest, text) = gutters(line);
            let gutter = |text| [Span::styled(text, theme.warning)];
            wrap(&[Span::raw(text.to_owned())], width, &gutter(first), &gutter(rest))
        })
        .collect();
    let foot = match options {
        Some(options) => question(state, options, theme, width),
        None => vec![keys(data.as_ref(), has_keys, theme)],
    };
    let room = usize::from(height).saturating_sub(1 + foot.len()).max(1);
    let (count, mut scrolled) = (body.len(), 0);
    if count > room {
        // One line is needed to show which part is visible.
        let room = room.saturating_sub(1);
        scrolled = state.asking.scrolled.min(count - room);
        body = body.split_off(scrolled);
        body.truncate(room);
        let more = format!("  │ lines {} to {} of {count}: Up and Down", scrolled + 1, scrolled + body.len());
        body.push(Line::styled(theme.say(&more), theme.warning));
    }
    let mut lines = wrap(&head, width, &[], &[]);
    lines.extend(body);
    lines.extend(foot);
    state.asking.scrolled = scrolled;
    lines
}

fn keys(data: Option<&ToolData>, has_keys: bool, theme: &Theme) -> Line<'static> {
    let always = if matches!(data, Some(ToolData::Once)) { "" } else { "   A allow always" };
    let words = if has_keys {
        format!("  a allow once{always}   d deny   Esc cancels all")
    } else {
        "  Tab: answer it".to_owned()
    };
    Line::styled(theme.say(&words), theme.strong)
}

fn question(state: &State, options: &[String], theme: &Theme, width: usize) -> Vec<Line<'static>> {
    let has_keys = state.focus == Focus::Asking;
    let own = format!("{} {}▏", theme.say("in your own words:"), state.asking.own_words);
    let rows = options.iter().map(|option| one_line(option)).chain([own]);
    let mut lines: Vec<Line<'static>> = rows
        .enumerate()
        .flat_map(|(at, text)| {
            let is_chosen = at == state.asking.selected && has_keys;
            let style = if is_chosen { theme.selected } else { Default::default() };
            let mark = if at < options.len() { format!("  {}) ", at + 1) } else { "  …  ".to_owned() };
            wrap(
                &[Span::styled(text, style)],
                width,
                &[Span::styled(mark, theme.accent)],
                &[Span::raw("     ")],
            )
        })
        .collect();
    let words = if has_keys {
        "  Enter answers; Enter on the empty last line declines to answer"
    } else {
        "  Tab: answer it"
    };
    lines.push(Line::styled(theme.say(words), theme.strong));
    lines
}
