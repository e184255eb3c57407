//! The window of a group: its keys, and the results of its requests.

use api::group::{GroupPosted, GroupView};
use api::words::GateReply;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::super::event::{Effect, GroupNews};
use super::super::group::{Answering, Group};
use super::super::picker::{Action, Item, Picker};
use super::super::state::{Overlay, State};
use super::super::text::{one_line, visible};
use crate::failure::Failure;
use crate::limits::GROUP_PAGE_LINES;

/// Shows the groups to choose from.
pub(super) fn listed(state: &mut State, groups: &[GroupView]) {
    if groups.is_empty() {
        state.note("you are in no group; `sandbridge group create TITLE` creates one", false);
        return;
    }
    let item = |group: &GroupView| {
        let agents: Vec<_> =
            group.agents.iter().map(|agent| format!("@{}", one_line(&agent.handle))).collect();
        Item::new(one_line(&group.title), agents.join(" "), Action::Group(group.id, one_line(&group.title)))
    };
    let items = groups.iter().map(item).collect();
    let (title, hint) = (state.theme.say("Groups"), state.theme.say("Enter chooses · Esc closes"));
    state.overlay = Some(Overlay::Pick(Picker::new(title, hint, items)));
}

/// Opens the window of a group. Unsent text of the group that was open before is kept, unless it is empty.
pub(super) fn open(state: &mut State, id: i64, title: &str) -> Vec<Effect> {
    if state.group.id != id {
        let before = std::mem::replace(&mut state.group, Group::of(id, title));
        if !before.text.trim().is_empty() {
            state.group_drafts.insert(before.id, before.text);
        }
        state.group.text = state.group_drafts.remove(&id).unwrap_or_default();
    }
    state.group.scrolled = 0;
    state.group.answering = None;
    state.overlay = Some(Overlay::Group);
    load(state)
}

/// Reads the group again, with one request at a time.
pub(super) fn load(state: &mut State) -> Vec<Effect> {
    if !matches!(state.overlay, Some(Overlay::Group)) || !state.is_online() {
        return Vec::new();
    }
    if state.group.is_loading {
        state.group.is_stale = true;
        return Vec::new();
    }
    state.group.is_loading = true;
    vec![Effect::LoadGroup { group: state.group.id }]
}

/// Handles a change in a group.
pub(super) fn changed(state: &mut State, group: i64) -> Vec<Effect> {
    if group == state.group.id { load(state) } else { Vec::new() }
}

/// Handles the data that was read of a group.
pub(super) fn took(state: &mut State, group: i64, news: GroupNews) -> Vec<Effect> {
    if group != state.group.id {
        return Vec::new();
    }
    state.group.take(news, state.now_ms);
    state.group.is_loading = false;
    if std::mem::take(&mut state.group.is_stale) { load(state) } else { Vec::new() }
}

/// Handles a message that was posted.
pub(super) fn posted(state: &mut State, group: i64, posted: &GroupPosted) -> Vec<Effect> {
    if group == state.group.id {
        state.group.is_posting = false;
        state.group.unanswered = None;
        state.group.scrolled = 0;
    }
    for note in &posted.notes {
        state.note(visible(note), true);
    }
    changed(state, group)
}

/// Handles a request of the window that failed.
pub(super) fn failed(state: &mut State, effect: Effect, failure: &Failure) -> Vec<Effect> {
    let why = visible(&failure.message);
    let may_have_come = ["unreachable", "lost"].contains(&failure.kind.as_str());
    match effect {
        Effect::LoadGroup { group } if group == state.group.id => {
            state.group.is_loading = false;
            state.group.is_stale = false;
            if failure.kind == "not_found" {
                state.group = Group::default();
                if matches!(state.overlay, Some(Overlay::Group)) {
                    state.overlay = None;
                }
                state.note("you are not in this group any more", true);
                return Vec::new();
            }
        }
        Effect::LoadOlderEntries { group, .. } if group == state.group.id => {
            state.group.is_loading_older = false;
        }
        Effect::PostToGroup { group, text, send_id } => {
            let hint = if may_have_come { "; send it again unchanged: it cannot arrive twice" } else { "" };
            state.note(format!("not sent: {why}{hint}"), true);
            if group == state.group.id {
                state.group.is_posting = false;
                state.group.unanswered = may_have_come.then(|| (text.clone(), send_id));
                state.group.text.insert_str(0, &text);
            } else {
                state.group_drafts.insert(group, text);
            }
            return Vec::new();
        }
        Effect::AnswerGate { group, .. } if group == state.group.id => {
            // Another person may have answered: the error contains their name.
            state.group.answering = None;
            state.note(why, true);
            return load(state);
        }
        _ => {}
    }
    // The banner shows that the server cannot be reached; the group is read again after reconnecting.
    if !may_have_come {
        state.note(why, true);
    }
    Vec::new()
}

/// Handles a key.
pub(super) fn key(state: &mut State, key: KeyEvent) -> Vec<Effect> {
    let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
    match key.code {
        KeyCode::PageUp => return scroll(state, -GROUP_PAGE_LINES),
        KeyCode::PageDown => return scroll(state, GROUP_PAGE_LINES),
        KeyCode::End if is_control => {
            state.group.scrolled = 0;
            return Vec::new();
        }
        KeyCode::Char('l') if is_control => return vec![Effect::Redraw, Effect::Reconnect],
        _ => {}
    }
    if state.group.answering.is_some() {
        return answering(state, key);
    }
    let group = &mut state.group;
    let completions = group.completions().len();
    match key.code {
        KeyCode::Esc => state.overlay = None,
        KeyCode::Tab if completions > 0 => drop(group.complete()),
        KeyCode::Tab => focus_gate(state),
        KeyCode::Up if completions > 0 => {
            group.completion = (group.completion + completions - 1) % completions
        }
        KeyCode::Down if completions > 0 => group.completion = (group.completion + 1) % completions,
        KeyCode::Up => return scroll(state, -1),
        KeyCode::Down => return scroll(state, 1),
        KeyCode::Enter if key.modifiers.intersects(KeyModifiers::ALT | KeyModifiers::SHIFT) => {
            group.text.push('\n')
        }
        KeyCode::Char('j') if is_control => group.text.push('\n'),
        KeyCode::Enter => return post(state),
        _ => {
            write(&mut group.text, key);
            group.completion = 0;
        }
    }
    Vec::new()
}

/// Changes a text whose cursor is at its end.
fn write(text: &mut String, key: KeyEvent) {
    let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
    match key.code {
        KeyCode::Backspace => drop(text.pop()),
        KeyCode::Char('u') if is_control => text.truncate(text.rfind('\n').map_or(0, |at| at + 1)),
        KeyCode::Char('w') if is_control => {
            let kept = text.trim_end();
            let at = kept.rfind(char::is_whitespace).map_or(0, |at| kept.ceil_char_boundary(at + 1));
            text.truncate(at);
        }
        KeyCode::Char(character) if !is_control => text.push(character),
        _ => {}
    }
}

fn post(state: &mut State) -> Vec<Effect> {
    if state.group.text.trim().is_empty() || state.group.is_posting {
        return Vec::new();
    }
    if !state.group.may_post && state.group.is_known {
        state.note("you may only read this group", true);
        return Vec::new();
    }
    if !state.is_online() {
        state.note("not connected: what you wrote stays here; send it when the server is back", true);
        return vec![Effect::Reconnect];
    }
    state.group.is_posting = true;
    let text = std::mem::take(&mut state.group.text);
    let send_id = match state.group.unanswered.take() {
        Some((sent, send_id)) if sent == text => send_id,
        _ => state.new_send_id(),
    };
    vec![Effect::PostToGroup { group: state.group.id, text, send_id }]
}

/// Gives the keys to the gate that waits.
fn focus_gate(state: &mut State) {
    if !state.group.may_post {
        return;
    }
    if let Some(gate) = state.group.gate().map(|gate| gate.id) {
        let since_ms = state.group.gate_since.1;
        state.group.answering = Some(Answering { gate, since_ms, writes: None, is_sent: false });
    }
}

/// The key of each answer.
pub(in crate::tui) fn key_of(reply: &GateReply) -> Option<char> {
    match reply {
        GateReply::Approve => Some('a'),
        GateReply::Edit => Some('e'),
        GateReply::Redo => Some('r'),
        GateReply::More => Some('m'),
        GateReply::Stop => Some('s'),
        GateReply::Unknown(_) => None,
    }
}

fn answering(state: &mut State, key: KeyEvent) -> Vec<Effect> {
    let Some(mut answering) = state.group.answering.take() else { return Vec::new() };
    let Some(gate) = state.group.gate().filter(|gate| gate.id == answering.gate).cloned() else {
        return Vec::new();
    };
    let (group, is_ready) = (state.group.id, state.may_answer(answering.since_ms) && !answering.is_sent);
    let is_new_line = key.modifiers.intersects(KeyModifiers::ALT | KeyModifiers::SHIFT);
    let mut effects = Vec::new();
    match (key.code, &mut answering.writes) {
        (KeyCode::Esc, Some(_)) => answering.writes = None,
        (KeyCode::Esc | KeyCode::Tab, None) => return Vec::new(),
        (KeyCode::Enter, Some((_, text))) if is_new_line => text.push('\n'),
        (KeyCode::Enter, Some((reply, text))) if !text.trim().is_empty() && is_ready => {
            let (reply, text) = (reply.clone(), Some(text.clone()));
            effects.push(Effect::AnswerGate { group, gate: gate.id, reply, text });
        }
        (KeyCode::Enter, Some(_)) => {}
        (_, Some((_, text))) => write(text, key),
        (KeyCode::Char(character), None) if is_ready => {
            match gate.replies.iter().find(|reply| key_of(reply) == Some(character)) {
                Some(GateReply::Edit) => answering.writes = Some((GateReply::Edit, gate.output)),
                Some(GateReply::Redo) => answering.writes = Some((GateReply::Redo, String::new())),
                Some(reply) => {
                    effects.push(Effect::AnswerGate {
                        group,
                        gate: gate.id,
                        reply: reply.clone(),
                        text: None,
                    });
                }
                None => {}
            }
        }
        _ => {}
    }
    if !effects.is_empty() && !state.is_online() {
        state.note("not connected: answer it when the server is back", true);
        effects.clear();
    }
    answering.is_sent |= !effects.is_empty();
    state.group.answering = Some(answering);
    effects
}

/// Scrolls the log, downwards if positive.
pub(super) fn scroll(state: &mut State, by: isize) -> Vec<Effect> {
    let group = &mut state.group;
    let is_top = group.scrolled >= group.scrolled_most && by < 0;
    group.scrolled = group.scrolled.saturating_add_signed(-by).min(group.scrolled_most);
    let before = group.entries.first().map(|entry| entry.id);
    match before {
        Some(before) if is_top && group.has_older && !group.is_loading_older => {
            group.is_loading_older = true;
            vec![Effect::LoadOlderEntries { group: group.id, before }]
        }
        _ => Vec::new(),
    }
}

/// Inserts a text.
pub(super) fn paste(state: &mut State, text: &str) {
    let text = visible(text);
    match state.group.answering.as_mut().map(|answering| &mut answering.writes) {
        Some(Some((_, written))) => written.push_str(&text),
        Some(None) => {}
        None => state.group.text.push_str(&text),
    }
}
