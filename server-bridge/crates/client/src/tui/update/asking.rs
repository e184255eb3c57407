//! Keys that answer a model's question. No key answers by accident: an approval gets the keys only after Tab, and no key counts until the
//! question was on the screen for a while.

use api::document::{AgentDocument, ToolData};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::super::event::Effect;
use super::super::state::State;
use super::super::text::one_line;

/// The kind of a question.
enum Asked {
    /// Permission to run a tool; `has_always` offers to allow it permanently.
    Approval { has_always: bool },
    /// A question, with answers to choose from.
    Question { options: Vec<String> },
}

fn asked(state: &State) -> Option<Asked> {
    let entry = state.transcript.asking().next()?;
    Some(match &entry.message.agent {
        Some(AgentDocument::Tool { data: Some(ToolData::Question { options }), .. }) => {
            Asked::Question { options: options.clone() }
        }
        Some(AgentDocument::Tool { data: Some(ToolData::Once), .. }) => Asked::Approval { has_always: false },
        _ => Asked::Approval { has_always: true },
    })
}

pub(super) fn key(state: &mut State, key: KeyEvent) -> Vec<Effect> {
    match asked(state) {
        Some(_) if !state.may_answer(state.asking.since_ms) || state.asking.is_sent => Vec::new(),
        Some(Asked::Approval { has_always }) => approval(state, key, has_always),
        Some(Asked::Question { options }) => question(state, key, &options),
        None => Vec::new(),
    }
}

fn approval(state: &mut State, key: KeyEvent, has_always: bool) -> Vec<Effect> {
    let (chat, message) = (state.chat.clone(), state.asking.message);
    let (allow, always) = match key.code {
        KeyCode::Char('a') => (true, false),
        KeyCode::Char('A') if has_always => (true, true),
        KeyCode::Char('A') => {
            state.note("this can only be allowed once: press a to allow it", true);
            return Vec::new();
        }
        KeyCode::Char('d') => (false, false),
        KeyCode::Up => {
            state.asking.scrolled = state.asking.scrolled.saturating_sub(1);
            return Vec::new();
        }
        KeyCode::Down => {
            state.asking.scrolled += 1;
            return Vec::new();
        }
        _ => return Vec::new(),
    };
    if !state.is_online() {
        state.note("not connected: answer it when the server is back", true);
        return Vec::new();
    }
    state.asking.is_sent = true;
    vec![Effect::Approve { chat, message, allow, always }]
}

fn question(state: &mut State, key: KeyEvent, options: &[String]) -> Vec<Effect> {
    // The user's own words are listed after the last answer.
    let count = options.len() + 1;
    let asking = &mut state.asking;
    match key.code {
        KeyCode::Up => asking.selected = (asking.selected + count - 1) % count,
        KeyCode::Down => asking.selected = (asking.selected + 1) % count,
        KeyCode::Backspace => drop(asking.own_words.pop()),
        KeyCode::Enter => {
            let own = Some(asking.own_words.trim().to_owned()).filter(|words| !words.is_empty());
            let text = options.get(asking.selected).cloned().or(own);
            if !state.is_online() {
                state.note("not connected: answer it when the server is back", true);
                return Vec::new();
            }
            state.asking.is_sent = true;
            return vec![Effect::Answer { chat: state.chat.clone(), message: state.asking.message, text }];
        }
        KeyCode::Char(character) if !key.modifiers.contains(KeyModifiers::CONTROL) => {
            let number = character.to_digit(10).map(|number| number as usize);
            match number.filter(|number| (1..count).contains(number) && asking.own_words.is_empty()) {
                Some(number) => asking.selected = number - 1,
                None => {
                    asking.own_words.push(character);
                    asking.selected = options.len();
                }
            }
        }
        _ => {}
    }
    Vec::new()
}

/// Inserts a text into a free answer; returns true if a question was open.
pub(super) fn paste(state: &mut State, text: &str) -> bool {
    let Some(Asked::Question { options }) = asked(state) else { return false };
    state.asking.own_words.push_str(&one_line(text));
    state.asking.selected = options.len();
    true
}
