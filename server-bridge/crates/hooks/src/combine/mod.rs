//! Combining: the results of all handlers of an event become one result.
//!
//! deny > defer > ask > allow, over all layers. A denial stays a denial, whatever other handlers decide. `defer` leaves the
//! decision to the handlers after it and takes back an earlier permission; if none of them decides, the user is asked. An ask
//! stays an ask.
//!
//! | layer | may |
//! |---|---|
//! | managed, user | everything |
//! | workspace | deny, ask, add context, stop; what it allows or rewrites is dropped, with a note |
//!
//! New arguments go from one handler to the next: each handler sees those of the one before it. The administrator's hooks run
//! last, so they judge the arguments with which the call will run.

mod result;

use serde_json::{Map, Value};

use crate::condition::Call;
use crate::event::{Effect, Event};
use crate::handler::OnFailure;
use crate::layers::{Hook, Layer};
use crate::limits::{CONTEXT_BYTES, CONTEXTS_BYTES, MESSAGE_BYTES, REASON_BYTES};
use crate::outcome::{Decision, Said, bounded};
use crate::payload::Payload;

pub use result::{Combined, Line, Reason, Speaker, Verdict};

/// Combines the results of handlers in their order.
pub(crate) struct Combiner {
    event: Event,
    combined: Combined,
    denies: bool,
    asks: bool,
    allows: bool,
    /// True if a handler deferred and none after it has decided.
    is_open: bool,
    context_room: usize,
}

impl Combiner {
    pub(crate) fn new(event: Event) -> Self {
        Self {
            event,
            combined: Combined::default(),
            denies: false,
            asks: false,
            allows: false,
            is_open: false,
            context_room: CONTEXTS_BYTES,
        }
    }

    /// Denies everything, because the administrator's hooks are incomplete.
    pub(crate) fn close(&mut self, why: &str) {
        let speaker = Speaker { hook: String::new(), layer: Layer::Managed, origin: "server".to_owned() };
        self.decide(speaker, Decision::Deny, bounded(why, REASON_BYTES));
    }

    /// Adds the result of a handler. `call` is replaced by the call with its new arguments.
    pub(crate) fn add(&mut self, hook: &Hook, said: Said, payload: &Payload, call: &mut Option<Call>) {
        let speaker = Speaker::of(hook);
        let may_loosen = hook.layer.may_loosen();
        let Said { reason, message, updated_input, updated_output, stop, text, failure, notes, .. } = said;
        for note in notes.into_iter().chain(text.filter(|_| !said.is_quiet)) {
            self.note(&speaker, note);
        }
        let decision = said.decision.filter(|decision| {
            let refusal = match decision {
                Decision::Allow if !may_loosen => "a workspace's hook cannot allow anything",
                Decision::Allow if payload.is_cut || payload.hides_subject => {
                    "it saw only a part of the call, so it cannot allow it"
                }
                // Otherwise a failed handler would allow a call that it did not check completely.
                Decision::Allow if failure.is_some() => return false,
                _ => return true,
            };
            self.note(&speaker, refusal.to_owned());
            false
        });
        // If one part of an answer is wrong, its other parts may be wrong too.
        let is_whole = failure.is_none();
        if let Some(failure) = failure {
            self.failed(hook, &speaker, &failure);
        }
        if let Some(decision) = decision {
            let reason = reason.unwrap_or_else(|| format!("a hook from {} decided this", hook.origin));
            self.weigh(&speaker, decision, reason);
        }
        if let Some(context) = said.context {
            self.context(&speaker, &context);
        }
        if let Some(message) = message {
            let text = bounded(&message, MESSAGE_BYTES);
            self.combined.messages.push(Line { speaker: speaker.clone(), text });
        }
        if let Some(updated) = updated_input.filter(|_| is_whole) {
            self.rewrite(hook, &speaker, &updated, payload, call);
        }
        if let Some(output) = updated_output.filter(|_| is_whole) {
            if !may_loosen {
                self.note(&speaker, "a workspace's hook cannot change a result".to_owned());
            } else if self.event != Event::PostToolUse {
                self.note(&speaker, "only PostToolUse can change a result".to_owned());
            } else {
                self.combined.updated_output = Some(output);
            }
        }
        if let Some(stop) = stop {
            if self.event.effect() == Effect::Denies {
                self.decide(speaker, Decision::Deny, stop.clone());
            }
            self.combined.stop.get_or_insert(stop);
        }
    }

    /// Records that a handler has failed without any result.
    pub(crate) fn fail(&mut self, hook: &Hook, why: &str) {
        self.failed(hook, &Speaker::of(hook), why);
    }

    /// Returns the combined result.
    pub(crate) fn end(self) -> Combined {
        let verdict = if self.denies {
            Some(Verdict::Deny)
        } else if self.asks || self.is_open {
            Some(Verdict::Ask)
        } else {
            self.allows.then_some(Verdict::Allow)
        };
        Combined { verdict, ..self.combined }
    }

    fn note(&mut self, speaker: &Speaker, text: String) {
        self.combined.notes.push(Line { speaker: speaker.clone(), text });
    }

    /// Applies a decision, as far as the event supports it.
    fn weigh(&mut self, speaker: &Speaker, decision: Decision, reason: String) {
        match (self.event.effect(), decision) {
            (Effect::Denies | Effect::WorksOn | Effect::EndsTurn, Decision::Deny) => {
                self.decide(speaker.clone(), decision, reason);
            }
            (Effect::Tells, Decision::Deny) => self.context(speaker, &reason),
            (Effect::Nothing, Decision::Deny) => {
                self.combined.messages.push(Line { speaker: speaker.clone(), text: reason });
            }
            (_, Decision::Allow | Decision::Ask | Decision::Defer) if self.event.can_ask() => {
                self.decide(speaker.clone(), decision, reason);
            }
            // The user cannot be asked at this event, so the stricter meaning is used.
            (Effect::Denies, Decision::Ask) => self.decide(speaker.clone(), Decision::Deny, reason),
            (_, Decision::Ask) => self.note(speaker, "the user cannot be asked at this event".to_owned()),
            (_, Decision::Allow | Decision::Defer) => {}
        }
    }

    fn decide(&mut self, speaker: Speaker, decision: Decision, text: String) {
        match decision {
            Decision::Deny => self.denies = true,
            Decision::Ask => (self.asks, self.is_open) = (true, false),
            Decision::Defer => (self.allows, self.is_open) = (false, true),
            Decision::Allow => (self.allows, self.is_open) = (true, false),
        }
        self.combined.reasons.push(Reason { speaker, decision, text });
    }

    fn failed(&mut self, hook: &Hook, speaker: &Speaker, failure: &str) {
        let text = format!("a {} hook from {} failed: {failure}", hook.handler.kind(), hook.origin);
        self.combined.failures.push(Line { speaker: speaker.clone(), text: text.clone() });
        if !self.event.fails_closed() || hook.handler.is_async {
            return;
        }
        match hook.on_failure() {
            OnFailure::Allow => {}
            OnFailure::Deny => self.decide(speaker.clone(), Decision::Deny, text),
            OnFailure::Ask => self.weigh(speaker, Decision::Ask, text),
        }
    }

    fn context(&mut self, speaker: &Speaker, text: &str) {
        let room = self.context_room.min(CONTEXT_BYTES);
        if text.len() > room {
            self.note(speaker, format!("its context of {} bytes was cut to {room}", text.len()));
        }
        let text = &text[..text.floor_char_boundary(room)];
        self.context_room -= text.len();
        if !text.is_empty() {
            self.combined.contexts.push(Line { speaker: speaker.clone(), text: text.to_owned() });
        }
    }

    fn rewrite(
        &mut self,
        hook: &Hook,
        speaker: &Speaker,
        updated: &Map<String, Value>,
        payload: &Payload,
        call: &mut Option<Call>,
    ) {
        let Some(now) = call.as_mut().filter(|_| self.event.can_ask()) else {
            return self.note(speaker, "arguments can be changed only before a call".to_owned());
        };
        if !hook.layer.may_loosen() {
            return self.note(speaker, "a workspace's hook cannot change a call".to_owned());
        }
        if self.event != Event::PreToolUse {
            // The call was already judged with its own arguments; with new ones it would be a different call.
            let text = "arguments can be changed only at PreToolUse".to_owned();
            self.combined.failures.push(Line { speaker: speaker.clone(), text: text.clone() });
            return self.decide(speaker.clone(), Decision::Ask, text);
        }
        match payload.rewritten(now, updated) {
            Ok(input) => {
                now.input = input;
                self.combined.updated = Some(now.clone());
            }
            Err(why) => {
                // The hook's author wanted a different call to run.
                let text =
                    format!("the new arguments of a {} hook from {} {why}", hook.handler.kind(), hook.origin);
                self.combined.failures.push(Line { speaker: speaker.clone(), text: text.clone() });
                self.decide(speaker.clone(), Decision::Ask, text);
            }
        }
    }
}

#[cfg(test)]
mod tests;
