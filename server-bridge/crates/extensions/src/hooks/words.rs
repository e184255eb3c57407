//! Results of hooks as words for the engine.

use agent::hooks::Words;
use hooks::event::Effect;
use hooks::{Combined, Happening, Verdict};

use super::turns::TurnHooks;

/// Adds the result of one event to the words on a place.
pub(super) fn add(words: &mut Words, combined: Combined, happening: &Happening, hooks: &TurnHooks) {
    let why = combined.for_model();
    let event = happening.event();
    let context = combined
        .contexts
        .into_iter()
        .map(|line| format!("A hook ({}) adds: {}", line.speaker.origin, line.text));
    words.notes.extend(context);
    if let Some(stop) = combined.stop {
        // Before the model is asked, the turn ends at once; else after the calls in progress.
        match event.effect() {
            Effect::Denies | Effect::EndsTurn => drop(words.denied.get_or_insert(stop.clone())),
            Effect::WorksOn | Effect::Tells | Effect::Nothing => {}
        }
        hooks.stop(stop);
    }
    let why = |default: &str| why.clone().unwrap_or_else(|| default.to_owned());
    match (combined.verdict, event.effect()) {
        (Some(Verdict::Deny), Effect::Denies | Effect::WorksOn) => {
            words.denied.get_or_insert_with(|| why("a hook denies this"));
        }
        (Some(Verdict::Deny), Effect::EndsTurn) => {
            words.denied.get_or_insert_with(|| why("a hook ends the turn"));
        }
        (Some(Verdict::Deny), Effect::Tells) => {
            words.notes.push(format!("A hook says: {}", why("this is not right")))
        }
        (Some(Verdict::Ask), Effect::Denies) if event.can_ask() => {
            words.asks.get_or_insert_with(|| why("a hook wants you to decide"));
        }
        (Some(Verdict::Allow), Effect::Denies) => words.allows = true,
        (Some(_), _) | (None, _) => {}
    }
    if let (Some(call), Happening::PreToolUse(_)) = (combined.updated, happening) {
        words.arguments = Some(call.input);
    }
}
