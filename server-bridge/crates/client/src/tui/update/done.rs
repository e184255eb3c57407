//! Results of requests.

use api::chat::PostedView;
use api::model::ModelList;

use super::super::event::{Answer, Effect};
use super::super::state::{Overlay, State, Unanswered};
use super::super::text::{one_line, visible};
use super::super::wire;
use super::{control, follow_chats, group};
use crate::failure::Failure;

/// Processes an answer, or shows the error.
pub(super) fn done(state: &mut State, effect: Effect, result: Result<Answer, Failure>) -> Vec<Effect> {
    if let Some(control) = control::waits(state, &effect) {
        return control::arrived(state, control, result);
    }
    match result {
        Ok(answer) => answered(state, effect, answer),
        Err(failure) => failed(state, effect, &failure),
    }
}

fn answered(state: &mut State, effect: Effect, answer: Answer) -> Vec<Effect> {
    let now_ms = state.now_ms;
    match (effect, answer) {
        (Effect::LoadChats, Answer::Chats(views)) => {
            state.chats = wire::chats(views);
            follow_chats(state);
        }
        (Effect::LoadPlaces, Answer::Places(settings, runners)) => {
            let places = &mut state.places;
            places.active = settings.active_runner.as_deref().map(one_line);
            places.choices = wire::choices(settings.choices);
            places.runners = wire::runners(runners);
            places.is_known = true;
        }
        (Effect::LoadCommands, Answer::Commands(views)) => state.commands = wire::commands(views),
        (Effect::LoadModels { chat }, Answer::Models(list)) if chat == state.chat => {
            take_models(state, &list)
        }
        (Effect::LoadMessages { chat, asked }, Answer::Messages(page)) if chat == state.chat => {
            let is_first = state.transcript.first().is_none();
            let messages = wire::messages(page.messages);
            state.transcript.page(messages, page.more, asked, true, now_ms);
            if is_first {
                state.follow_history();
            }
        }
        (Effect::LoadFrom { chat, asked, .. }, Answer::Messages(page)) if chat == state.chat => {
            let messages = wire::messages(page.messages);
            state.transcript.page(messages, false, asked, false, now_ms);
        }
        (Effect::LoadOlder { chat, .. }, Answer::Messages(page)) if chat == state.chat => {
            state.is_loading_older = false;
            state.transcript.older(wire::messages(page.messages), page.more);
        }
        (Effect::Post { chat, .. }, Answer::Posted(view)) => return posted(state, &chat, view),
        (Effect::Cancel { .. }, Answer::Cancelled(0)) => {
            state.is_cancelling = false;
            state.note("nothing is running here", false);
        }
        (Effect::NewChat | Effect::Fork { .. }, Answer::Chat(view)) => {
            return begun(state, wire::chat(view));
        }
        (Effect::TakeControl(control), Answer::Done) => return control::taken(state, control),
        (Effect::Use { .. }, Answer::Place(changed)) => {
            if let Some(warning) = &changed.warning {
                state.note(visible(warning), true);
            }
            return vec![Effect::LoadPlaces];
        }
        (Effect::SetMode { chat, mode }, Answer::Done) => {
            state.note(format!("approval mode: {mode}"), false);
            state.modes.insert(chat, mode.to_string());
        }
        (Effect::SetModel { chat, .. }, Answer::Done) => return vec![Effect::LoadModels { chat }],
        (Effect::Undo { chat, .. }, Answer::Undone(text)) => state.put_back(chat, &text),
        (Effect::LoadGroups, Answer::Groups(groups)) if state.overlay.is_none() => {
            group::listed(state, &groups)
        }
        (Effect::LoadGroup { group: id }, Answer::Group(news)) => return group::took(state, id, *news),
        (Effect::LoadOlderEntries { group: id, .. }, Answer::Entries(page)) if id == state.group.id => {
            state.group.is_loading_older = false;
            state.group.older(&page.entries, page.more);
        }
        (Effect::PostToGroup { group: id, .. }, Answer::Said(said)) => {
            return group::posted(state, id, &said);
        }
        (Effect::AnswerGate { group: id, .. }, Answer::Done) => return group::changed(state, id),
        _ => {}
    }
    Vec::new()
}

/// Opens the chat that was created.
pub(super) fn begun(state: &mut State, chat: wire::Chat) -> Vec<Effect> {
    let id = chat.id.clone();
    state.chats.retain(|known| known.id != id);
    state.chats.insert(0, chat);
    state.open(&id)
}

fn posted(state: &mut State, chat: &str, view: PostedView) -> Vec<Effect> {
    state.is_posting = false;
    if chat == state.chat {
        for message in wire::messages(view.messages) {
            state.transcript.posted(message, state.now_ms);
        }
        if let Some(text) = &view.input {
            state.input.put_back(text);
        }
    }
    // The message may have changed any of these.
    let mut effects = vec![Effect::LoadPlaces, Effect::LoadModels { chat: state.chat.clone() }];
    let next = view.chat.map(wire::chat);
    if let Some(next) = next.filter(|next| next.id != state.chat && chat == state.chat) {
        effects.extend(begun(state, next));
    }
    effects
}

/// The current model, and the possible ones: `NAME`, and `NAME/TIER` for each of its models.
fn take_models(state: &mut State, list: &ModelList) {
    let mut names = Vec::new();
    for subscription in &list.models {
        let name = one_line(&subscription.name);
        for (tier, model) in &subscription.models {
            names.push((format!("{name}/{}", one_line(tier)), one_line(&model.name)));
        }
    }
    let chosen = list.chosen.as_deref().map(one_line);
    let first = list.models.first().map(|first| {
        let model = first.models.get(first.default_tier.as_str());
        one_line(model.map_or(&first.name, |model| &model.name))
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
        Effect::Post { chat, text, send_id, .. } => {
            state.is_posting = false;
            let may_have_come = ["unreachable", "lost"].contains(&failure.kind.as_str());
            let hint = if may_have_come { "; send it again unchanged: it cannot arrive twice" } else { "" };
            state.note(format!("not sent: {why}{hint}"), true);
            state.put_back(chat.clone(), &text);
            state.unanswered = may_have_come.then_some(Unanswered { chat, text, send_id });
        }
        Effect::Approve { .. } | Effect::Answer { .. }
            if ["not_found", "conflict"].contains(&failure.kind.as_str()) =>
        {
            // Of two answers, the sender of the second learns which one counted.
            let which =
                if failure.kind == "conflict" { why } else { "it was answered elsewhere already".to_owned() };
            state.note(which, false);
            return vec![Effect::LoadMessages { chat: state.chat.clone(), asked: state.transcript.clock() }];
        }
        Effect::Undo { chat, force: false } if failure.kind == "conflict" => {
            if chat == state.chat && state.may_ask() {
                let question = state.theme.say(&format!("{why}\nRestore the files anyway?"));
                let (yes, since_ms) = (Effect::Undo { chat, force: true }, state.now_ms);
                state.overlay = Some(Overlay::Confirm { question, yes, since_ms });
            } else {
                state.note(format!("{why}\nCtrl+K, “Undo by force” undoes it anyway"), true);
            }
        }
        Effect::LoadMessages { chat, .. } if failure.kind == "not_found" && chat == state.chat => {
            state.note("this chat no longer exists; a new one was opened", true);
            return vec![Effect::NewChat];
        }
        effect @ (Effect::LoadGroup { .. }
        | Effect::LoadOlderEntries { .. }
        | Effect::PostToGroup { .. }
        | Effect::AnswerGate { .. }) => return group::failed(state, effect, failure),
        // The agent did not wait longer, or learns of nothing any more: neither is the person's concern.
        Effect::TakeControl(_) | Effect::EndControl { .. } => {}
        // The banner shows that the server cannot be reached; missed data is read after reconnecting.
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
