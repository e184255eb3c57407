//! Loading: the documents of all layers become one list of hooks.
//!
//! ```text
//!   documents ─▶ read ─▶ disabled? ─▶ commands enabled? ─▶ same hook twice? ─▶ more than 10? ─▶ approved? ─▶ Hooks
//!                 │          │               │ inert                              │ refused        │ waiting
//!                 └ problems └ problems      ▼                                    ▼                ▼
//! ```
//! The handlers of all layers add up, and no layer overrides another: a decision of one layer is never revoked by another
//! (see [`combine`](crate::combine)). A layer's switches apply to that layer; `disableAllHooks` also applies to the layers
//! below it. A workspace's switches, which were not approved, apply only to its own document.

mod hook;

use std::collections::HashSet;

use serde_json::{Map, Value};

use crate::condition::Condition;
use crate::config::{Document, Format, Invalid, Problem, Severity};
use crate::event::Event;
use crate::handler::{Action, Handler};
use crate::limits::HANDLERS_OF_EVENT;

pub use hook::{Asked, Files, Hash, Hook, Layer};

/// A document of hooks, with its origin.
#[derive(Clone, Debug)]
pub struct Source<'a> {
    /// The layer that the document belongs to.
    pub layer: Layer,
    /// The format of the document.
    pub format: Format,
    /// The file or plugin, for people.
    pub origin: &'a str,
    /// The directory of the plugin that it belongs to.
    pub plugin_root: Option<&'a str>,
    /// The location of the workspace of its layer, such as `laptop:/work`. The same hook in another workspace needs another
    /// approval.
    pub workspace: Option<&'a str>,
    /// The document's text.
    pub text: &'a str,
    /// True if its commands are enabled by other means than a `hooks.json` of its layer, such as the user's consent to a plugin.
    pub enables_commands: bool,
}

/// The checks that loading leaves to its caller.
pub struct Checks<'a> {
    /// True if the user approved a hash.
    pub is_approved: &'a dyn Fn(&Hash) -> bool,
    /// The files that a handler of a document runs or reads, if it needs approval.
    pub files: &'a dyn Fn(&Source<'_>, &Handler) -> Files,
    /// The grammar in which conditions are written.
    pub condition: &'a dyn Condition,
    /// The reason why a handler may not call the function of the server with this name and these arguments at an event, if there is one.
    pub callback: &'a CallbackCheck<'a>,
}

/// A check of the name and the arguments of a function of the server at an event.
pub type CallbackCheck<'a> = dyn Fn(&str, &Map<String, Value>, Event) -> Result<(), String> + 'a;

/// A problem, with the document in which it occurs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// The layer of the document.
    pub layer: Layer,
    /// The file or plugin that the document is from.
    pub origin: String,
    /// The problem in the document.
    pub problem: Problem,
}

/// The hooks that run, by event.
#[derive(Clone, Debug, Default)]
pub struct Hooks {
    /// The hooks, in the order in which they run.
    hooks: Vec<Hook>,
    /// The events at which the administrator's hooks are incomplete, with the reason.
    closed: Vec<(Event, String)>,
}

impl Hooks {
    /// The hooks of an event, in the order in which they run.
    pub fn of(&self, event: Event) -> impl Iterator<Item = &Hook> {
        self.hooks.iter().filter(move |hook| hook.event == event)
    }

    /// True if nothing runs and nothing is denied at an event.
    pub fn is_free(&self, event: Event) -> bool {
        self.of(event).next().is_none() && self.closed(event).is_none()
    }

    /// The reason why everything is denied at an event: one of the administrator's hooks could not be loaded.
    pub fn closed(&self, event: Event) -> Option<&str> {
        self.closed.iter().find(|(closed, _)| *closed == event).map(|(_, why)| why.as_str())
    }

    /// Only this hook, without the events that are closed because of other hooks.
    pub fn only(&self, id: &str) -> Self {
        let hooks = self.hooks.iter().filter(|hook| hook.id == id).cloned().collect();
        Self { hooks, closed: Vec::new() }
    }

    /// All hooks, in the order in which they run.
    pub fn all(&self) -> &[Hook] {
        &self.hooks
    }
}

/// The result of loading the documents of all layers.
#[derive(Clone, Debug, Default)]
pub struct Loaded {
    /// The hooks that run.
    pub hooks: Hooks,
    /// The hooks that wait for the user's approval.
    pub waiting: Vec<Hook>,
    /// The commands that do not run because their layer does not enable commands.
    pub inert: Vec<Hook>,
    /// The hooks that do not run because their event has too many; each of them is also a problem.
    pub crowded_out: Vec<Hook>,
    /// The problems, in the order of the documents.
    pub troubles: Vec<Trouble>,
}

/// Loads the documents of all layers.
pub fn load(sources: &[Source<'_>], checks: &Checks<'_>) -> Loaded {
    let mut loader = Loader { checks, loaded: Loaded::default() };
    let mut ordered: Vec<&Source<'_>> = sources.iter().collect();
    // The most powerful first, so that a workspace cannot use up the number of hooks that an event may have.
    ordered.sort_by_key(|source| source.layer);
    let read: Vec<(&Source<'_>, Document)> =
        ordered.into_iter().filter_map(|source| Some((source, loader.read(source)?))).collect();
    let enabling: HashSet<Layer> = read
        .iter()
        .filter(|(_, document)| document.enable_command_hooks)
        .map(|(source, _)| source.layer)
        .collect();
    // A workspace's document can only turn off its own hooks, because it was not approved. The same applies to a plugin's
    // document, which does not express the user's own choices.
    let powerful =
        read.iter().filter(|(source, _)| source.layer.may_loosen() && source.plugin_root.is_none());
    let disabled =
        powerful.filter(|(_, document)| document.disables_all).map(|(source, _)| source.layer).min();
    let mut candidates: Vec<Hook> = Vec::new();
    for (source, document) in read {
        if document.disables_all || disabled.is_some_and(|layer| source.layer >= layer) {
            let text =
                "its hooks are disabled, by this document or by one of a more powerful layer".to_owned();
            loader.trouble(
                source,
                Problem { severity: Severity::Warning, place: String::new(), event: None, text },
            );
            continue;
        }
        let has_commands = source.enables_commands || enabling.contains(&source.layer);
        for hook in loader.hooks(source, document) {
            if matches!(hook.handler.action, Action::Command { .. }) && !has_commands {
                loader.loaded.inert.push(hook);
            } else if !candidates.iter().any(|other| other.hash == hook.hash) {
                candidates.push(hook);
            }
        }
    }
    loader.admit(candidates);
    let mut loaded = loader.loaded;
    loaded.hooks.hooks.sort_by_key(|hook| hook.layer.turn());
    loaded
}

struct Loader<'a> {
    checks: &'a Checks<'a>,
    loaded: Loaded,
}

impl Loader<'_> {
    fn trouble(&mut self, source: &Source<'_>, problem: Problem) {
        let is_closing = source.layer == Layer::Managed && problem.severity == Severity::Refused;
        if let Some(event) = problem.event.filter(|event| is_closing && event.fails_closed()) {
            let why = format!(
                "a hook of the administrator cannot be loaded ({}, {}: {})",
                source.origin, problem.place, problem.text
            );
            self.loaded.hooks.closed.push((event, why));
        }
        let (layer, origin) = (source.layer, source.origin.to_owned());
        self.loaded.troubles.push(Trouble { layer, origin, problem });
    }

    fn read(&mut self, source: &Source<'_>) -> Option<Document> {
        match Document::read(source.text, source.format) {
            Ok(mut document) => {
                for problem in std::mem::take(&mut document.problems) {
                    self.trouble(source, problem);
                }
                Some(document)
            }
            Err(error) => {
                self.unreadable(source, &error);
                None
            }
        }
    }

    /// Handles an administrator's document that cannot be read: its hooks are unknown, so no tool runs until the file can be read, but people can
    /// still chat.
    fn unreadable(&mut self, source: &Source<'_>, error: &Invalid) {
        let event = (source.layer == Layer::Managed).then_some(Event::PreToolUse);
        let text = format!("{error}; none of its hooks are used");
        let problem = Problem { severity: Severity::Refused, place: String::new(), event, text };
        self.trouble(source, problem);
    }

    fn hooks(&mut self, source: &Source<'_>, document: Document) -> Vec<Hook> {
        let mut hooks = Vec::new();
        for group in document.groups {
            for (place, handler) in group.handlers {
                if let Some(Err(why)) = handler.condition.as_deref().map(|it| self.checks.condition.check(it))
                {
                    let (place, event) = (format!("{place}.if"), Some(group.event));
                    let text = format!("the condition {why}");
                    self.trouble(source, Problem { severity: Severity::Refused, place, event, text });
                    continue;
                }
                if let Action::Callback { name, input } = &handler.action
                    && let Err(text) = (self.checks.callback)(name, input, group.event)
                {
                    let (place, event) = (place.clone(), Some(group.event));
                    self.trouble(source, Problem { severity: Severity::Refused, place, event, text });
                    continue;
                }
                let mut hook = Hook {
                    id: String::new(),
                    hash: Hook::unsealed(),
                    event: group.event,
                    spelling: group.spelling,
                    dialect: source.format.dialect(),
                    matcher: group.matcher.clone(),
                    layer: source.layer,
                    origin: source.origin.to_owned(),
                    place,
                    plugin_root: source.plugin_root.map(str::to_owned),
                    workspace: source.workspace.map(str::to_owned),
                    files: (self.checks.files)(source, &handler),
                    handler,
                };
                hook.seal();
                hooks.push(hook);
            }
        }
        hooks
    }

    /// True if a hook does not run before its user approves it.
    fn waits(&self, hook: &Hook) -> bool {
        hook.layer.needs_approval() && !(self.checks.is_approved)(&hook.hash)
    }

    /// Admits the hooks that fit into the limit of their event. Those that wait for approval come last: hooks without
    /// approval cannot displace others.
    fn admit(&mut self, mut candidates: Vec<Hook>) {
        candidates.sort_by_key(|hook| self.waits(hook));
        let mut admitted: Vec<Event> = Vec::new();
        for hook in candidates {
            if admitted.iter().filter(|event| **event == hook.event).count() >= HANDLERS_OF_EVENT {
                let text = format!(
                    "{} has {HANDLERS_OF_EVENT} hooks already; this one is refused: {}",
                    hook.event_name(),
                    hook.handler.describe().chars().take(crate::limits::QUOTED_CHARS).collect::<String>()
                );
                let source = Source {
                    layer: hook.layer,
                    format: Format::Own,
                    origin: &hook.origin,
                    plugin_root: None,
                    workspace: None,
                    text: "",
                    enables_commands: false,
                };
                let place = hook.place.clone();
                let problem = Problem { severity: Severity::Refused, place, event: Some(hook.event), text };
                self.trouble(&source, problem);
                self.loaded.crowded_out.push(hook);
                continue;
            }
            admitted.push(hook.event);
            if self.waits(&hook) {
                self.loaded.waiting.push(hook);
            } else {
                self.loaded.hooks.hooks.push(hook);
            }
        }
    }
}

#[cfg(test)]
mod tests;
