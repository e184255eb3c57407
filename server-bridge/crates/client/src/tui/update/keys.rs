//! Keys while nothing covers the screen.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::super::event::Effect;
use super::super::picker::Action;
use super::super::state::{Focus, Overlay, Scroll, State};
use super::overlay::act;
use super::{asking, overlay, scroll};

pub(super) fn key(state: &mut State, key: KeyEvent) -> Vec<Effect> {
    let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
    // Ctrl-C works everywhere.
    if is_control && key.code == KeyCode::Char('c') {
        return interrupt(state);
    }
    if state.overlay.is_some() {
        return overlay::key(state, key);
    }
    if let Some(effects) = anywhere(state, key) {
        return effects;
    }
    match state.focus {
        Focus::Asking => asking::key(state, key),
        Focus::Cards => cards(state, key),
        Focus::Input => input(state, key),
    }
}

/// Ctrl-C: closes a window over the screen, cancels running work, or else asks to quit; again, it quits, unless there is
/// unsent text.
pub(super) fn interrupt(state: &mut State) -> Vec<Effect> {
    match state.overlay.take() {
        Some(Overlay::Confirm { yes: Effect::Quit, .. }) if !state.has_unsent() => return vec![Effect::Quit],
        Some(_) => return Vec::new(),
        None => {}
    }
    if state.transcript.is_running() && !state.is_cancelling && state.is_online() {
        return act(state, Action::Cancel);
    }
    act(state, Action::Quit)
}

/// Keys with the same effect regardless of the focus.
fn anywhere(state: &mut State, key: KeyEvent) -> Option<Vec<Effect>> {
    let page = state.layout.height.saturating_sub(2).max(1) as isize;
    let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
    Some(match key.code {
        KeyCode::Char('k') if is_control => {
            overlay::open_palette(state);
            Vec::new()
        }
        KeyCode::Char('n') if is_control => act(state, Action::NewChat),
        KeyCode::Char('o') if is_control => act(state, Action::OpenChats),
        KeyCode::Char('r') if is_control => act(state, Action::OpenPlaces),
        KeyCode::Char('g') if is_control => act(state, Action::OpenGroups),
        KeyCode::Char('l') if is_control => vec![Effect::Redraw, Effect::Reconnect],
        KeyCode::Char('d') if is_control && state.input.is_empty() => act(state, Action::Quit),
        KeyCode::F(1) => act(state, Action::Help),
        KeyCode::PageUp => scroll(state, -page),
        KeyCode::PageDown => scroll(state, page),
        KeyCode::Home if is_control => scroll(state, isize::MIN / 2),
        KeyCode::End if is_control => {
            state.scroll = Scroll::End;
            Vec::new()
        }
        KeyCode::Tab if state.focus != Focus::Input || state.completions().is_empty() => {
            next_focus(state);
            Vec::new()
        }
        KeyCode::Esc if state.focus == Focus::Cards => {
            state.focus = Focus::Input;
            Vec::new()
        }
        KeyCode::Esc if state.focus == Focus::Input && !state.completions().is_empty() => {
            state.completion = None;
            Vec::new()
        }
        KeyCode::Esc if state.transcript.is_running() => act(state, Action::Cancel),
        _ => return None,
    })
}

fn next_focus(state: &mut State) {
    let is_asking = state.asking.message != 0;
    let cards: Vec<i64> = card_ids(state);
    state.focus = match state.focus {
        Focus::Input if is_asking => Focus::Asking,
        Focus::Input | Focus::Asking if !cards.is_empty() => Focus::Cards,
        _ => Focus::Input,
    };
    if state.focus == Focus::Cards && !state.card.is_some_and(|card| cards.contains(&card)) {
        state.card = cards.last().copied();
    }
}

fn card_ids(state: &State) -> Vec<i64> {
    let cards = state.transcript.entries().filter(|entry| entry.is_card());
    cards.map(|entry| entry.message.id).collect()
}

/// Keys for the cards: choose one, fold and unfold it.
fn cards(state: &mut State, key: KeyEvent) -> Vec<Effect> {
    let cards = card_ids(state);
    let at = cards.iter().position(|card| Some(*card) == state.card).unwrap_or(cards.len().saturating_sub(1));
    match key.code {
        KeyCode::Up | KeyCode::Char('k') => choose(state, &cards, at.saturating_sub(1)),
        KeyCode::Down | KeyCode::Char('j') => choose(state, &cards, at + 1),
        KeyCode::Enter | KeyCode::Char(' ') => {
            let entry = cards.get(at).and_then(|card| state.transcript.entry_mut(*card));
            if let Some(entry) = entry {
                entry.is_unfolded = Some(!entry.is_unfolded.unwrap_or(false));
                entry.revision += 1;
            }
        }
        // Typed text is meant for the input.
        KeyCode::Char(character) if !character.is_whitespace() => {
            state.focus = Focus::Input;
            return input(state, key);
        }
        _ => {}
    }
    Vec::new()
}

/// Selects a card, and shows it.
fn choose(state: &mut State, cards: &[i64], at: usize) {
    let Some(card) = cards.get(at.min(cards.len().saturating_sub(1))) else { return };
    state.card = Some(*card);
    let heights = &state.layout.heights;
    let before: usize = heights.iter().take_while(|(id, _)| id < card).map(|(_, lines)| lines).sum();
    let total: usize = heights.iter().map(|(_, lines)| lines).sum();
    state.scroll =
        if before + state.layout.height >= total { Scroll::End } else { Scroll::At { id: *card, line: 0 } };
}

/// Keys for the text.
fn input(state: &mut State, key: KeyEvent) -> Vec<Effect> {
    state.typed_ms = state.now_ms;
    let is_new_line = key.modifiers.intersects(KeyModifiers::ALT | KeyModifiers::SHIFT);
    let count = state.completions().len();
    match key.code {
        KeyCode::Enter if is_new_line => state.input.new_line(),
        KeyCode::Char('j') if key.modifiers.contains(KeyModifiers::CONTROL) => state.input.new_line(),
        // Deletes the line up to the cursor, as in shells.
        KeyCode::Char('u') if key.modifiers.contains(KeyModifiers::CONTROL) => {
            state.input.area.delete_line_by_head();
        }
        KeyCode::Char('z') if key.modifiers.contains(KeyModifiers::CONTROL) => {
            state.input.area.undo();
        }
        KeyCode::Enter => return enter(state),
        KeyCode::Tab => complete(state),
        KeyCode::Up | KeyCode::Down if count > 1 => {
            let step = if key.code == KeyCode::Up { count - 1 } else { 1 };
            state.completion = state.completion.map(|at| (at + step) % count);
        }
        KeyCode::Up => state.input.up(),
        KeyCode::Down => state.input.down(),
        _ => {
            state.input.key(key);
            state.completion = Some(0);
        }
    }
    Vec::new()
}

/// Accepts the selected completion.
fn complete(state: &mut State) {
    let completions = state.completions();
    let at = state.completion.unwrap_or(0).min(completions.len().saturating_sub(1));
    if let Some(completion) = completions.get(at) {
        state.input.set(&completion.text);
        state.completion = Some(0);
    }
}

fn enter(state: &mut State) -> Vec<Effect> {
    if state.was_just_led() {
        return Vec::new();
    }
    let text = state.input.text();
    // An incomplete command is completed first; a complete one is sent.
    let begun = state.completions();
    let is_begun =
        !begun.is_empty() && begun.iter().all(|completion| completion.text.trim_end() != text.trim_end());
    if is_begun && state.completion.is_some_and(|at| at > 0) {
        complete(state);
        return Vec::new();
    }
    if text.trim().is_empty() {
        return Vec::new();
    }
    if !state.is_online() {
        state.note("not connected: what you wrote stays here; send it when the server is back", true);
        return vec![Effect::Reconnect];
    }
    if state.is_posting {
        return Vec::new();
    }
    state.is_posting = true;
    // From now on the person is at work in this chat, whoever opened it.
    state.led.by = None;
    state.scroll = Scroll::End;
    // After sending, the user waits for the effect.
    state.typed_ms = 0;
    let text = state.input.take();
    let (chat, send_id) = (state.chat.clone(), state.send_id(&text));
    vec![Effect::Post { chat, text, send_id, client: state.client }]
}

/// Inserts a text where the keys go.
pub(super) fn paste(state: &mut State, text: &str) -> Vec<Effect> {
    if state.overlay.is_some() {
        overlay::paste(state, text);
        return Vec::new();
    }
    if state.focus == Focus::Asking && asking::paste(state, text) {
        return Vec::new();
    }
    state.focus = Focus::Input;
    state.typed_ms = state.now_ms;
    if !state.input.paste(text) {
        state.note("that was too long; only its beginning was kept", true);
    }
    Vec::new()
}
