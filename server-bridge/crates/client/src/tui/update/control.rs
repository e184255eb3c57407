//! What the agents of chats ask this terminal for, in turns that answer a message that was written in it.
//!
//! ```text
//!   event ─▶ take: the server accepts that once, and in time only ─▶ carried out ─▶ done, or refused with the reason
//! ```
//! An agent does nothing here that a person could not do with a key, sends nothing, and never takes keys away from a person: it does not
//! cover or change what somebody is writing or answering.

use api::tui::TuiAction;
use api::words::{TuiState, TuiView};

use super::super::event::{Answer, Effect};
use super::super::picker::Action;
use super::super::state::{Focus, Scroll, State};
use super::super::wire::{self, Control};
use super::{done, group, overlay, scroll};
use crate::failure::Failure;
use crate::limits::INPUT_MAX_BYTES;

/// The result of an action that was taken.
enum Carried {
    /// It is done: the note for the person, if anything changed; the words for the agent; what to load.
    Now(Option<String>, &'static str, Vec<Effect>),
    /// It is done when this request is.
    Later(Effect),
}

/// An action is asked for: the terminal that is meant takes it.
pub(super) fn asked(state: &State, control: Box<Control>) -> Vec<Effect> {
    if control.client == state.client { vec![Effect::TakeControl(control)] } else { Vec::new() }
}

/// An action was taken: carries it out.
pub(super) fn taken(state: &mut State, control: Box<Control>) -> Vec<Effect> {
    match carry_out(state, &control) {
        Ok(Carried::Now(note, words, mut effects)) => {
            if let Some(note) = note {
                state.note(note, false);
            }
            effects.push(end(control, TuiState::Done, words));
            effects
        }
        Ok(Carried::Later(effect)) => {
            state.led.waits = Some((control, effect.clone()));
            vec![effect]
        }
        Err(why) => vec![end(control, TuiState::Refused, why)],
    }
}

/// The action that waits for this request's result.
pub(super) fn waits(state: &mut State, effect: &Effect) -> Option<Box<Control>> {
    let (control, _) = state.led.waits.take_if(|(_, awaited)| awaited == effect)?;
    Some(control)
}

/// The result that an action waits for has arrived. The person may have begun to write since.
pub(super) fn arrived(
    state: &mut State,
    control: Box<Control>,
    result: Result<Answer, Failure>,
) -> Vec<Effect> {
    let carried = match (result, free(state, &control)) {
        (Err(failure), _) => return vec![end(control, TuiState::Refused, &failure.message)],
        (Ok(_), Err(why)) => Err(why),
        (Ok(Answer::Chat(view)), Ok(())) => {
            let effects = done::begun(state, wire::chat(view));
            led_to_chat(state, &control);
            Ok(("the agent opened a new chat", "a new chat is open", effects))
        }
        (Ok(Answer::Groups(groups)), Ok(())) if groups.is_empty() => Err("the user is in no group"),
        (Ok(Answer::Groups(groups)), Ok(())) => {
            group::listed(state, &groups);
            led(state);
            Ok(("the agent opened the list of groups", "the list is open", Vec::new()))
        }
        (Ok(_), Ok(())) => Err("the server did not answer as expected"),
    };
    match carried {
        Ok((note, words, mut effects)) => {
            state.note(note, false);
            effects.push(end(control, TuiState::Done, words));
            effects
        }
        Err(why) => vec![end(control, TuiState::Refused, why)],
    }
}

/// Fails with the reason, for the agent, if the action does not fit what the person is doing.
fn carry_out(state: &mut State, control: &Control) -> Result<Carried, &'static str> {
    is_about_the_open_chat(state, control)?;
    match &control.action {
        TuiAction::OpenChat { chat_id } if *chat_id == state.chat => {
            Ok(Carried::Now(None, "that chat is open already", Vec::new()))
        }
        TuiAction::OpenChat { chat_id } => {
            free(state, control)?;
            let known = state.chats.iter().find(|chat| chat.id == *chat_id).map(|chat| chat.title.as_str());
            let note = match known.filter(|title| !title.is_empty()) {
                Some(title) => format!("the agent opened the chat “{title}”"),
                None => "the agent opened another chat".to_owned(),
            };
            let effects = state.open(chat_id);
            led_to_chat(state, control);
            Ok(Carried::Now(Some(note), "the chat is open", effects))
        }
        TuiAction::NewChat => {
            free(state, control)?;
            Ok(Carried::Later(Effect::NewChat))
        }
        TuiAction::Show { view } => {
            free(state, control)?;
            show(state, view)
        }
        TuiAction::FoldCards => fold(state, false),
        TuiAction::UnfoldCards => fold(state, true),
        TuiAction::ScrollToStart => {
            uncovered(state)?;
            let effects = scroll(state, isize::MIN / 2);
            let note = "the agent scrolled to the beginning".to_owned();
            Ok(Carried::Now(Some(note), "the first loaded message is at the top", effects))
        }
        TuiAction::ScrollToEnd => {
            uncovered(state)?;
            state.scroll = Scroll::End;
            let note = "the agent scrolled to the end".to_owned();
            Ok(Carried::Now(Some(note), "the last message is shown", Vec::new()))
        }
        TuiAction::Write { text } => {
            free(state, control)?;
            write(state, text)
        }
        TuiAction::Unknown => Err("this terminal is an older version that does not know this action"),
    }
}

fn show(state: &mut State, view: &TuiView) -> Result<Carried, &'static str> {
    let (action, note) = match view {
        TuiView::Chats => (Action::OpenChats, "the agent opened the list of chats"),
        TuiView::Runners => (Action::OpenPlaces, "the agent opened the list of runners"),
        TuiView::Models => (Action::OpenModels, "the agent opened the list of models"),
        TuiView::Help => (Action::Help, "the agent opened the list of keys"),
        TuiView::Commands => {
            overlay::open_palette(state);
            led(state);
            let note = "the agent opened the list of commands".to_owned();
            return Ok(Carried::Now(Some(note), "the list is open", Vec::new()));
        }
        // A group may have changed since it was read last.
        TuiView::Groups => return Ok(Carried::Later(Effect::LoadGroups)),
        TuiView::Unknown(_) => return Err("this terminal is an older version that does not know this view"),
    };
    let effects = overlay::act(state, action);
    led(state);
    Ok(Carried::Now(Some(note.to_owned()), "the list is open", effects))
}

fn fold(state: &mut State, is_unfolded: bool) -> Result<Carried, &'static str> {
    if !overlay::fold_all(state, is_unfolded) {
        return Ok(Carried::Now(None, "there was nothing to change", Vec::new()));
    }
    let (note, words) = match is_unfolded {
        true => ("the agent unfolded all cards", "all cards are unfolded"),
        false => ("the agent folded all cards", "all cards are folded"),
    };
    Ok(Carried::Now(Some(note.to_owned()), words, Vec::new()))
}

/// Puts a text into the empty input. The server checks the text as well.
fn write(state: &mut State, text: &str) -> Result<Carried, &'static str> {
    if text.trim().is_empty() || text.len() > INPUT_MAX_BYTES {
        return Err("the text is empty or too long");
    }
    if text.trim_start().starts_with(['!', '/']) {
        return Err("commands are written by the user only");
    }
    state.input.set(text);
    state.focus = Focus::Input;
    led(state);
    let note = "the agent wrote into the input; nothing is sent before you press Enter".to_owned();
    Ok(Carried::Now(Some(note), "the text is in the input, and not sent", Vec::new()))
}

/// Fails if the person went to another chat by themselves: an agent acts on the chat that it was asked in, and on those that it opened.
fn is_about_the_open_chat(state: &State, control: &Control) -> Result<(), &'static str> {
    let is_open = state.chat == control.chat || state.led.by.as_ref() == Some(&control.chat);
    if is_open { Ok(()) } else { Err("the user has gone to another chat") }
}

/// Fails if a window covers the screen.
fn uncovered(state: &State) -> Result<(), &'static str> {
    match state.overlay {
        Some(_) => Err("a window is open on the user's screen, and only the user closes it"),
        None => Ok(()),
    }
}

/// Fails if the person needs the keys for what is on the screen.
fn free(state: &State, control: &Control) -> Result<(), &'static str> {
    is_about_the_open_chat(state, control)?;
    uncovered(state)?;
    if state.focus == Focus::Asking {
        return Err("the user is answering a question");
    }
    if !state.may_ask() {
        return Err("the user is writing, and the text stays as it is");
    }
    Ok(())
}

/// Records that what a key acts on has changed.
fn led(state: &mut State) {
    state.led.at_ms = Some(state.now_ms);
}

/// Records that the open chat was opened by the agent of another one.
fn led_to_chat(state: &mut State, control: &Control) {
    led(state);
    state.led.by = Some(control.chat.clone());
}

fn end(control: Box<Control>, state: TuiState, text: &str) -> Effect {
    Effect::EndControl { control, state, text: text.to_owned() }
}
