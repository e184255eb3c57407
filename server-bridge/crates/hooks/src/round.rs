//! A round: all handlers of one event, one after the other.
//!
//! ```text
//!   begin ─▶ next ─▶ Step ─▶ the caller runs it ─▶ answer ─▶ next … ─▶ end ─▶ Combined
//!             │  ▲                                   │
//!             │  └────────── next arguments ◀────────┘
//!             └ a handler without time left has failed
//! ```
//! The caller runs the step's handler and measures the time; it may cancel the round at any time by dropping it. A denial does not
//! end a round, because handlers that only log depend on being called.

use std::collections::VecDeque;
use std::time::Duration;

use crate::combine::{Combined, Combiner, Line, Speaker};
use crate::condition::{Call, Condition};
use crate::happening::{Happening, Session};
use crate::layers::{Asked, Hook, Hooks, Layer};
use crate::limits::{CONTEXT_BYTES, EVENT_PATIENCE, LOWER_PATIENCE, PAYLOAD_BYTES};
use crate::outcome::{Raw, Said, bounded, read};
use crate::payload::{Payload, Redactor};

/// The data that a round needs.
#[derive(Clone, Copy)]
pub struct Setting<'a> {
    /// The hooks of all events.
    pub hooks: &'a Hooks,
    /// The session in which the event occurs.
    pub session: &'a Session,
    /// The secrets that no payload may show.
    pub redactor: &'a Redactor,
    /// The grammar in which conditions are written.
    pub condition: &'a dyn Condition,
    /// True if the hook with this id has run in this session: hooks with `once` do not run again.
    pub has_run: &'a (dyn Fn(&str) -> bool + Sync),
}

/// The run of all handlers of one event.
pub struct Round<'a> {
    setting: Setting<'a>,
    happening: &'a Happening,
    queue: VecDeque<(&'a Hook, Option<Asked>)>,
    call: Option<Call>,
    /// The hook whose result is awaited.
    awaited: Option<&'a Hook>,
    combiner: Combiner,
}

/// A handler that is to be run.
#[derive(Debug)]
pub struct Step<'a> {
    /// The hook whose handler is to be run.
    pub hook: &'a Hook,
    /// The payload for its handler.
    pub payload: Payload,
    /// The time limit for the handler.
    pub timeout: Duration,
    /// True if it runs in the background: the round does not wait for it, and [`Round::answer`] is not called.
    pub is_background: bool,
}

impl<'a> Round<'a> {
    /// Begins a round.
    pub fn begin(setting: Setting<'a>, happening: &'a Happening) -> Self {
        let event = happening.event();
        let mut combiner = Combiner::new(event);
        if let Some(why) = setting.hooks.closed(event) {
            combiner.close(why);
        }
        let queue = setting.hooks.of(event).filter_map(|hook| Some((hook, asks(hook, happening)?))).collect();
        Self { setting, happening, queue, call: happening.call().cloned(), awaited: None, combiner }
    }

    /// The next handler to run; `spent` is the total time of all handlers so far.
    pub fn next(&mut self, spent: Duration) -> Option<Step<'a>> {
        self.give_up();
        while let Some((hook, asked)) = self.queue.pop_front() {
            if !self.runs(hook) {
                continue;
            }
            let patience = hook.handler.patience();
            let is_background = hook.handler.is_async;
            let timeout = if is_background { patience } else { patience.min(self.time_left(hook, spent)) };
            if timeout.is_zero() {
                self.combiner.fail(hook, "the other hooks of this event left no time for it");
                continue;
            }
            let asked = self.call.as_ref().zip(asked.as_ref());
            let Setting { session, redactor, .. } = self.setting;
            let payload = Payload::new(session, self.happening, asked, hook, redactor, PAYLOAD_BYTES);
            self.awaited = (!is_background).then_some(hook);
            return Some(Step { hook, payload, timeout, is_background });
        }
        None
    }

    /// Takes the result of a handler that did not run in the background.
    pub fn answer(&mut self, step: Step<'a>, raw: Raw) {
        if step.is_background {
            return;
        }
        self.awaited = None;
        let said = read(raw, step.hook.event);
        self.combiner.add(step.hook, said, &step.payload, &mut self.call);
    }

    /// The result of the round. Handlers that were not run, or whose result is missing, have failed.
    pub fn end(mut self) -> Combined {
        self.give_up();
        while let Some((hook, _)) = self.queue.pop_front() {
            if !hook.handler.is_async && self.runs(hook) {
                self.combiner.fail(hook, "it was not run");
            }
        }
        self.combiner.end()
    }

    fn give_up(&mut self) {
        if let Some(hook) = self.awaited.take() {
            self.combiner.fail(hook, "it gave no result");
        }
    }

    fn runs(&self, hook: &Hook) -> bool {
        let has_run = hook.handler.once && (self.setting.has_run)(&hook.id);
        let holds = match (&hook.handler.condition, &self.call) {
            (None, _) => true,
            (Some(condition), Some(call)) => self.setting.condition.holds(condition, call),
            (Some(_), None) => false,
        };
        holds && !has_run
    }

    /// The time that is left for a handler. Other handlers cannot use up the time that the administrator's handlers
    /// need.
    fn time_left(&self, hook: &Hook, spent: Duration) -> Duration {
        let is_managed = |hook: &Hook| hook.layer == Layer::Managed;
        let is_awaited = self.queue.iter().any(|(other, _)| is_managed(other) && !other.handler.is_async);
        let most = if is_awaited && !is_managed(hook) { LOWER_PATIENCE } else { EVENT_PATIENCE };
        most.saturating_sub(spent)
    }
}

/// The name with which a hook refers to the call of this event; the outer `None` means that the hook does not apply.
fn asks(hook: &Hook, happening: &Happening) -> Option<Option<Asked>> {
    match (happening.call(), happening.subject()) {
        (Some(call), _) => hook.asks_for(&call.tool).map(Some),
        (None, Some(subject)) => hook.matcher.fits(subject).then_some(None),
        (None, None) => Some(None),
    }
}

/// The output of a handler that ran in the background, for the agent's next request: it can no longer decide anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Later {
    /// Additional context for the model.
    pub context: Option<Line>,
    /// A message for people, if there is one.
    pub message: Option<Line>,
    /// The reason for a failure, for people.
    pub failure: Option<Line>,
}

/// Reads the result of a handler that ran in the background.
pub fn later(hook: &Hook, raw: Raw) -> Later {
    let Said { context, message, failure, reason, decision, .. } = read(raw, hook.event);
    let line = |text: String| Line { speaker: Speaker::of(hook), text };
    let late = decision.and(reason).map(|reason| format!("this came too late to decide anything: {reason}"));
    Later {
        context: context.map(|text| line(bounded(&text, CONTEXT_BYTES))),
        message: message.or(late).map(line),
        failure: failure.map(line),
    }
}

#[cfg(test)]
pub(crate) mod tests;
