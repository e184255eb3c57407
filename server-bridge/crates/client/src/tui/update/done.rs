//! What came of what was wanted.

use serde_json::Value;

use super::super::event::Effect;
use super::super::state::{Overlay, State, Unanswered};
use super::super::text::{one_line, visible};
use super::super::wire;
use super::follow_chats;
use crate::failure::Failure;

/// Takes an answer in, or says why there is none.
pub(super) fn done(state: &mut State, effect: Effect, result: Result<Value, Failure>) -> Vec<Effect> {
    match result {
        Ok(answer) => answered(state, effect, &answer),
        Err(failure) => failed(state, effect, &failure),
    }
}

fn answered(state: &mut State, effect: Effect, answer: &Value) -> Vec<Effect> {
    let now_ms = state.now_ms;
    match effect {
        Effect::LoadChats => {
            state.chats = wire::chats(answer);
            follow_chats(state);
        }
        Effect::LoadPlaces => {
            let places = &mut state.places;
            places.active = answer["settings"]["active_runner"].as_str().map(one_line);
            places.choices = wire::choices(&answer["settings"]);
            places.runners = wire::runners(&answer["runners"]);
            places.is_known = true;
        }
        Effect::LoadCommands => state.commands = wire::commands(answer),
        Effect::LoadModels { chat } if chat == state.chat => take_models(state, answer),
        Effect::LoadMessages { chat, asked } if chat == state.chat => {
            let is_first = state.transcript.first().is_none();
            let messages = wire::messages(&answer["messages"]);
            state.transcript.page(messages, answer["more"] == true, asked, true, now_ms);
            if is_first {
                state.follow_history();
            }
        }
        Effect::LoadFrom { chat, asked, .. } if chat == state.chat => {
            let messages = wire::messages(&answer["messages"]);
            state.transcript.page(messages, false, asked, false, now_ms);
        }
        Effect::LoadOlder { chat, .. } if chat == state.chat => {
            state.is_loading_older = false;
            state.transcript.older(wire::messages(&answer["messages"]), answer["more"] == true);
        }
        Effect::Post { chat, .. } => return posted(state, &chat, answer),
        Effect::Cancel { .. } if answer["cancelled"] == 0 => {
            state.is_cancelling = false;
            state.note("nothing runs here", false);
        }
        Effect::NewChat | Effect::Fork { .. } => {
            if let Some(chat) = wire::chat_of(answer) {
                let id = chat.id.clone();
                state.chats.retain(|known| known.id != id);
                state.chats.insert(0, chat);
                return state.open(&id);
            }
        }
        Effect::Use { .. } => {
            if let Some(warning) = answer["warning"].as_str() {
                state.note(visible(warning), true);
            }
            return vec![Effect::LoadPlaces];
        }
        Effect::SetMode { chat, mode } => {
            state.note(format!("approval mode: {mode}"), false);
            state.modes.insert(chat, mode.to_string());
        }
        Effect::SetModel { chat, .. } => return vec![Effect::LoadModels { chat }],
        Effect::Undo { chat, .. } => {
            if let Some(text) = answer["text"].as_str() {
                state.put_back(chat, text);
            }
        }
        _ => {}
    }
    Vec::new()
}

fn posted(state: &mut State, chat: &str, answer: &Value) -> Vec<Effect> {
    state.is_posting = false;
    if chat == state.chat {
        for message in wire::messages(&answer["messages"]) {
            state.transcript.posted(message, state.now_ms);
        }
        if let Some(text) = answer["input"].as_str() {
            state.input.put_back(text);
        }
    }
    // What was said may have changed any of these.
    let mut effects = vec![Effect::LoadPlaces, Effect::LoadModels { chat: state.chat.clone() }];
    if let Some(next) =
        wire::chat_of(&answer["chat"]).filter(|next| next.id != state.chat && chat == state.chat)
    {
        let id = next.id.clone();
        state.chats.retain(|known| known.id != id);
        state.chats.insert(0, next);
        effects.extend(state.open(&id));
    }
    effects
}

/// What answers, and what could: `NAME`, and `NAME/TIER` for each of its models.
fn take_models(state: &mut State, answer: &Value) {
    let list = answer["models"].as_array();
    let mut names = Vec::new();
    for subscription in list.into_iter().flatten() {
        let name = one_line(subscription["name"].as_str().unwrap_or_default());
        for (tier, model) in subscription["models"].as_object().into_iter().flatten() {
            let model = one_line(model["name"].as_str().unwrap_or_default());
            names.push((format!("{name}/{}", one_line(tier)), model));
        }
    }
    let chosen = answer["chosen"].as_str().map(one_line);
    let first = list.and_then(|list| list.first()).map(|first| {
        let tier = first["default_tier"].as_str().unwrap_or_default();
        one_line(first["models"][tier]["name"].as_str().or(first["name"].as_str()).unwrap_or_default())
    });
    let of_chosen = |chosen: &String| {
        names
            .iter()
            .find(|(name, _)| name == chosen)
            .map_or_else(|| chosen.clone(), |(_, model)| model.clone())
    };
    state.model = chosen.as_ref().map(of_chosen).or(first);
    state.models = names;
}

fn failed(state: &mut State, effect: Effect, failure: &Failure) -> Vec<Effect> {
    let why = visible(&failure.message);
    match effect {
        Effect::Post { chat, text, send_id } => {
            state.is_posting = false;
            let may_have_come = ["unreachable", "lost"].contains(&failure.kind.as_str());
            let hint = if may_have_come { "; send it again as it is: it arrives once" } else { "" };
            state.note(format!("not sent: {why}{hint}"), true);
            state.put_back(chat.clone(), &text);
            state.unanswered = may_have_come.then_some(Unanswered { chat, text, send_id });
        }
        Effect::Approve { .. } | Effect::Answer { .. } if failure.kind == "not_found" => {
            state.note("it was answered elsewhere already", false);
            return vec![Effect::LoadMessages { chat: state.chat.clone(), asked: state.transcript.clock() }];
        }
        Effect::Undo { chat, force: false } if failure.kind == "conflict" => {
            if chat == state.chat && state.may_ask() {
                let question = format!("{why}. Restore the files all the same?");
                let (yes, since_ms) = (Effect::Undo { chat, force: true }, state.now_ms);
                state.overlay = Some(Overlay::Confirm { question, yes, since_ms });
            } else {
                state.note(format!("{why}. Ctrl+K, “Undo by force” undoes it all the same"), true);
            }
        }
        Effect::LoadMessages { chat, .. } if failure.kind == "not_found" && chat == state.chat => {
            state.note("this chat is no longer there; here is a new one", true);
            return vec![Effect::NewChat];
        }
        // The banner says that the server is away; what was missed is read when it is back.
        Effect::LoadChats
        | Effect::LoadPlaces
        | Effect::LoadCommands
        | Effect::LoadModels { .. }
        | Effect::LoadMessages { .. }
        | Effect::LoadFrom { .. }
            if ["unreachable", "lost"].contains(&failure.kind.as_str()) => {}
        effect => {
            if matches!(effect, Effect::LoadOlder { .. }) {
                state.is_loading_older = false;
            }
            if matches!(effect, Effect::Approve { .. } | Effect::Answer { .. }) {
                state.asking.is_sent = false;
            }
            if matches!(effect, Effect::Cancel { .. }) {
                state.is_cancelling = false;
            }
            state.note(why, true);
        }
    }
    Vec::new()
}
