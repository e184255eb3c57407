//! The effect of an event, and the resulting requests: no I/O, no clock.
//!
//! | module | handles |
//! |---|---|
//! | `keys` | keys while nothing covers the screen |
//! | `asking` | keys that answer a model's question |
//! | `overlay` | keys of windows over the screen; the effects of choices |
//! | `control` | what agents ask this terminal for |
//! | `group` | the window of a group |
//! | `done` | results of requests |

mod asking;
mod control;
mod done;
mod group;
mod keys;
mod overlay;

use super::event::{Effect, Event};
use super::state::{Connection, Overlay, Scroll, State};
use super::wire::ServerNews;
use crate::limits::REFRESH_MS;

pub(super) use group::key_of;
pub(super) use overlay::chat_items;

/// Processes an event at a time, in milliseconds of this program.
pub(super) fn update(state: &mut State, now_ms: u64, event: Event) -> Vec<Effect> {
    state.now_ms = now_ms;
    let mut effects = match event {
        Event::Key(key) => keys::key(state, key),
        Event::Paste(text) => keys::paste(state, &text),
        Event::Wheel(lines) => scroll(state, lines as isize),
        Event::Interrupt => keys::interrupt(state),
        Event::Tick => Vec::new(),
        Event::Connected { is_whole } => connected(state, is_whole),
        Event::Lost { why, retry_ms } => {
            let why = super::text::one_line(&why);
            state.connection = Connection::Lost { why, retry_at_ms: now_ms + retry_ms };
            // A runner that was online a moment ago may be offline now.
            state.places.is_known = false;
            Vec::new()
        }
        Event::Ended(farewell) => {
            state.connection = Connection::Ended(super::text::one_line(&farewell));
            state.places.is_known = false;
            Vec::new()
        }
        Event::Server(told) => take(state, told),
        Event::Done(effect, result) => done::done(state, effect, result),
    };
    while state.notes.front().is_some_and(|note| note.until_ms <= now_ms) {
        state.notes.pop_front();
    }
    if !state.transcript.is_running() {
        state.is_cancelling = false;
    }
    state.follow_asking();
    effects.extend(refresh(state));
    effects
}

/// Reads everything again, because events were missed in the meantime, or data could not be read.
fn connected(state: &mut State, is_whole: bool) -> Vec<Effect> {
    if matches!(state.connection, Connection::Lost { .. }) {
        state.note("connected again", false);
    }
    state.connection = Connection::Online;
    if !is_whole {
        state.transcript.miss();
    }
    let (chat, asked) = (state.chat.clone(), state.transcript.clock());
    // Pending requests may have been lost with the connection.
    state.group.is_loading = false;
    let mut effects = vec![
        Effect::LoadChats,
        Effect::LoadPlaces,
        Effect::LoadCommands,
        Effect::LoadModels { chat: chat.clone() },
        Effect::LoadMessages { chat, asked },
    ];
    effects.extend(group::load(state));
    effects
}

fn take(state: &mut State, told: ServerNews) -> Vec<Effect> {
    let now_ms = state.now_ms;
    match told {
        ServerNews::Message(message) if message.chat == state.chat => state.transcript.told(*message, now_ms),
        ServerNews::Message(_) => {}
        ServerNews::Output { chat, message, channel, text } if chat == state.chat => {
            state.transcript.output(message, &channel, &text);
        }
        ServerNews::Output { .. } => {}
        ServerNews::Chat(chat) => {
            state.chats.retain(|known| known.id != chat.id);
            state.chats.push(chat);
            follow_chats(state);
        }
        ServerNews::ChatRemoved(id) => {
            state.chats.retain(|known| known.id != id);
            state.drafts.remove(&id);
            follow_chats(state);
            if id == state.chat {
                state.note("this chat was deleted", true);
                return match state.chats.first().map(|chat| chat.id.clone()) {
                    Some(chat) => state.open(&chat),
                    None => vec![Effect::NewChat],
                };
            }
        }
        ServerNews::Places => return vec![Effect::LoadPlaces],
        ServerNews::Control(control) => return control::asked(state, control),
        ServerNews::Group(id) => return group::changed(state, id),
        ServerNews::Notice { is_warning, text } => state.note(text, is_warning),
        ServerNews::Lagged => {
            state.transcript.miss();
            let (chat, asked) = (state.chat.clone(), state.transcript.clock());
            let mut effects =
                vec![Effect::LoadMessages { chat, asked }, Effect::LoadChats, Effect::LoadPlaces];
            effects.extend(group::load(state));
            return effects;
        }
    }
    Vec::new()
}

/// Updates the list of chats, which may be open.
fn follow_chats(state: &mut State) {
    state.chats.sort_by_key(|chat| std::cmp::Reverse(chat.updated_at));
    let items = chat_items(state);
    if let Some(Overlay::Chats(picker)) = &mut state.overlay {
        picker.replace(items);
    }
}

/// Reads the missed parts of a running message again, at intervals.
fn refresh(state: &mut State) -> Option<Effect> {
    let first = state.transcript.stale()?;
    if !state.is_online() || state.now_ms < state.refreshed_ms + REFRESH_MS {
        return None;
    }
    state.refreshed_ms = state.now_ms;
    Some(Effect::LoadFrom { chat: state.chat.clone(), first, asked: state.transcript.clock() })
}

/// Scrolls the messages by this many lines, downwards if positive.
pub(super) fn scroll(state: &mut State, by: isize) -> Vec<Effect> {
    if let Some(Overlay::Help(scrolled)) = &mut state.overlay {
        *scrolled = scrolled.saturating_add_signed(by);
        return Vec::new();
    }
    if matches!(state.overlay, Some(Overlay::Group)) {
        return group::scroll(state, by);
    }
    let heights = &state.layout.heights;
    let total: usize = heights.iter().map(|(_, lines)| lines).sum();
    let last_top = total.saturating_sub(state.layout.height);
    let mut top = last_top;
    if let Scroll::At { id, line } = state.scroll {
        let before: usize = heights.iter().take_while(|(known, _)| *known < id).map(|(_, lines)| lines).sum();
        top = (before + line).min(last_top);
    }
    let wanted = top.saturating_add_signed(by);
    if wanted >= last_top {
        state.scroll = Scroll::End;
    } else {
        let mut rest = wanted;
        for (id, lines) in heights {
            if rest < *lines {
                state.scroll = Scroll::At { id: *id, line: rest };
                break;
            }
            rest -= lines;
        }
    }
    if wanted == 0 && by < 0 { load_older(state) } else { Vec::new() }
}

fn load_older(state: &mut State) -> Vec<Effect> {
    let has_room = state.transcript.entries().count() < crate::limits::TRANSCRIPT_MESSAGES;
    match state.transcript.first() {
        Some(before)
            if state.transcript.has_older && has_room && !state.is_loading_older && state.is_online() =>
        {
            state.is_loading_older = true;
            vec![Effect::LoadOlder { chat: state.chat.clone(), before }]
        }
        _ => Vec::new(),
    }
}
