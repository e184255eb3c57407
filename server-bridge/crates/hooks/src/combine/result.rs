//! The result of all handlers of an event.

use serde_json::Value;

use crate::condition::Call;
use crate::layers::{Hook, Layer};
use crate::limits::REASON_BYTES;
use crate::outcome::{Decision, bounded};

/// The decision of all handlers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The action is allowed without a question.
    Allow,
    /// The user is asked.
    Ask,
    /// The action is denied. The consequence depends on the event's [`Effect`](crate::event::Effect).
    Deny,
}

/// The hook to which a part of the result belongs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Speaker {
    /// The hook's id; empty if some of the administrator's hooks could not be loaded.
    pub hook: String,
    /// The layer that the hook belongs to.
    pub layer: Layer,
    /// The file or plugin that defines the hook.
    pub origin: String,
}

impl Speaker {
    pub(crate) fn of(hook: &Hook) -> Self {
        Self { hook: hook.id.clone(), layer: hook.layer, origin: hook.origin.clone() }
    }
}

/// The decision of one handler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    /// The hook that made the decision.
    pub speaker: Speaker,
    /// The decision that it made.
    pub decision: Decision,
    /// The reason that it gave, or a default text.
    pub text: String,
}

/// A text of one handler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The hook that wrote the text.
    pub speaker: Speaker,
    /// The text, cut to its limit.
    pub text: String,
}

/// The result of all handlers of an event.
#[derive(Clone, Debug, Default)]
pub struct Combined {
    /// The decision; `None` if no handler decided, and everything continues as it would without hooks.
    pub verdict: Option<Verdict>,
    /// The decisions of the handlers, in the order in which they ran.
    pub reasons: Vec<Reason>,
    /// Additional context for the model.
    pub contexts: Vec<Line>,
    /// Messages for people.
    pub messages: Vec<Line>,
    /// The failures of handlers, for people.
    pub failures: Vec<Line>,
    /// Comments for people who read the log, about unused parts of results and about plain output.
    pub notes: Vec<Line>,
    /// The call with its new arguments. They must be parsed again, and their access computed again.
    pub updated: Option<Call>,
    /// The new result of the call.
    pub updated_output: Option<Value>,
    /// The reason why the turn ends, if a handler ends it.
    pub stop: Option<String>,
}

impl Combined {
    /// The reasons of the verdict, for the model: those for a denial, or those for a question.
    pub fn for_model(&self) -> Option<String> {
        let decides = |reason: &&Reason| match self.verdict {
            Some(Verdict::Deny) => reason.decision == Decision::Deny,
            Some(Verdict::Ask) => matches!(reason.decision, Decision::Ask | Decision::Defer),
            Some(Verdict::Allow) => reason.decision == Decision::Allow,
            None => false,
        };
        let texts: Vec<&str> =
            self.reasons.iter().filter(decides).map(|reason| reason.text.as_str()).collect();
        (!texts.is_empty()).then(|| bounded(&texts.join("\n"), REASON_BYTES))
    }

    /// The reasons of the verdict for people, each with the file or plugin that defines its hook.
    pub fn for_people(&self) -> Vec<String> {
        let line = |reason: &Reason| {
            format!("{} ({}): {}", reason.speaker.origin, reason.speaker.layer.word(), reason.text)
        };
        self.reasons.iter().map(line).collect()
    }
}
