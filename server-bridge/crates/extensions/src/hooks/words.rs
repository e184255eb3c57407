//! Converts results of hooks to the engine's form.

use agent::hooks::Words;
use hooks::event::Effect;
use hooks::{Combined, Happening, Verdict, result_text};

use super::turns::TurnHooks;

/// The result of one event, in the engine's form.
pub(super) fn of(combined: Combined, happening: &Happening, hooks: &TurnHooks) -> Words {
    let event = happening.event();
    let why = combined.for_model();
    let why = |default: &str| why.clone().unwrap_or_else(|| default.to_owned());
    let contexts = combined.contexts.into_iter();
    let notes =
        contexts.map(|line| format!("A hook ({}) adds: {}", line.speaker.origin, line.text)).collect();
    let mut words = Words { notes, ..Words::default() };
    match (combined.verdict, event.effect()) {
        (Some(Verdict::Deny), Effect::Denies | Effect::WorksOn) => {
            words.denied = Some(why("a hook denies this"))
        }
        (Some(Verdict::Deny), Effect::EndsTurn) => words.denied = Some(why("a hook ends the turn")),
        (Some(Verdict::Deny), Effect::Tells) => {
            words.notes.push(format!("A hook says: {}", why("this is not right")));
        }
        (Some(Verdict::Ask), Effect::Denies) if event.can_ask() => {
            words.asks = Some(why("a hook wants you to decide"));
        }
        (Some(Verdict::Allow), Effect::Denies) => words.allows = true,
        (Some(_), _) | (None, _) => {}
    }
    if let Some(stop) = combined.stop {
        // Nothing new begins; the turn ends after the calls in progress.
        if matches!(event.effect(), Effect::Denies | Effect::EndsTurn) {
            words.denied.get_or_insert_with(|| stop.clone());
        }
        hooks.stop(stop);
    }
    if let (Some(call), Happening::PreToolUse(_)) = (combined.updated, happening) {
        words.arguments = Some(call.input);
    }
    words.result = combined.updated_output.as_ref().map(result_text);
    words
}
