//! The documents that define hooks: our `hooks.json`, a peer's `settings.json`, a plugin's `hooks/hooks.json`. Peers
//! are similar products, whose files are read too.
//!
//! All have the same form, `{"hooks": {EVENT: [{"matcher": …, "hooks": [HANDLER …]}]}}`. A part that cannot be used does not make
//! the others unusable: it is reported as a [`Problem`].

mod fields;
mod handlers;

use serde_json::{Map, Value};

use crate::dialect::Dialect;
use crate::event::{Event, Named, Subject};
use crate::handler::Handler;
use crate::limits::{DOCUMENT_BYTES, GROUPS_OF_EVENT, QUOTED_CHARS, WARNINGS};
use crate::matcher::Matcher;
use crate::strict;

/// The form of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Our `hooks.json`.
    Own,
    /// A peer's settings, of which hooks are a part.
    Settings,
    /// A plugin's hooks, in the peers' form.
    Plugin,
}

impl Format {
    /// The dialect of documents of this form.
    pub fn dialect(self) -> Dialect {
        match self {
            Self::Own => Dialect::Own,
            Self::Settings | Self::Plugin => Dialect::Peer,
        }
    }
}

/// The severity of a problem in a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// A part of the document is not used here.
    Unused,
    /// A part may not do what its author expects.
    Warning,
    /// A group or handler is refused: it does not run.
    Refused,
}

/// A problem of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The severity of the problem.
    pub severity: Severity,
    /// The place in the document, such as `hooks.PreToolUse[0].hooks[1].timeout`.
    pub place: String,
    /// The event that the problem belongs to, if it belongs to one.
    pub event: Option<Event>,
    /// A description for people.
    pub text: String,
}

/// A document that cannot be used at all.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Invalid {
    /// The document is too large.
    #[error("the document has {0} bytes, and at most {DOCUMENT_BYTES} are allowed")]
    TooLarge(usize),
    /// The document is not valid JSON.
    #[error("the document is not valid JSON: {0}")]
    NotJson(String),
    /// A part on which everything depends has the wrong type.
    #[error("{place} must be {expected}")]
    WrongType {
        /// The name of the part.
        place: &'static str,
        /// The type that it must have.
        expected: &'static str,
    },
}

/// A group of handlers with one matcher.
#[derive(Clone, Debug)]
pub struct Group {
    /// The event at which the handlers run.
    pub event: Event,
    /// The dialect in which the event's name is written.
    pub spelling: Dialect,
    /// The matcher that all handlers of the group share.
    pub matcher: Matcher,
    /// The handlers, each with its place in the document.
    pub handlers: Vec<(String, Handler)>,
}

/// A document after reading it.
#[derive(Clone, Debug, Default)]
pub struct Document {
    /// True if it enables commands.
    pub enable_command_hooks: bool,
    /// True if it disables all hooks.
    pub disables_all: bool,
    /// The groups, in the document's order.
    pub groups: Vec<Group>,
    /// The problems; at most [`WARNINGS`] of them are not refusals.
    pub problems: Vec<Problem>,
}

impl Document {
    /// Reads a document.
    ///
    /// # Errors
    ///
    /// Fails if nothing of the document can be used.
    pub fn read(text: &str, format: Format) -> Result<Self, Invalid> {
        if text.len() > DOCUMENT_BYTES {
            return Err(Invalid::TooLarge(text.len()));
        }
        let text = text.trim_start_matches('\u{feff}');
        let value = strict::parse(text).map_err(|error| Invalid::NotJson(error.to_string()))?;
        let Value::Object(fields) = value else {
            return Err(Invalid::WrongType { place: "the document", expected: "an object" });
        };
        let mut reader = Reader { format, problems: Vec::new(), unlisted: 0 };
        let mut document = Self {
            enable_command_hooks: format == Format::Own && flag(&fields, "enable_command_hooks")?,
            disables_all: flag(&fields, "disableAllHooks")?,
            ..Self::default()
        };
        match fields.get("hooks") {
            None | Some(Value::Null) => {}
            Some(Value::Object(events)) => document.groups = reader.events(events),
            Some(_) => return Err(Invalid::WrongType { place: "hooks", expected: "an object" }),
        }
        reader.top(&fields);
        if reader.unlisted > 0 {
            let text = format!("{} more warnings are not listed", reader.unlisted);
            reader.problems.push(Problem {
                severity: Severity::Warning,
                place: String::new(),
                event: None,
                text,
            });
        }
        document.problems = reader.problems;
        Ok(document)
    }
}

fn flag(fields: &Map<String, Value>, name: &'static str) -> Result<bool, Invalid> {
    match fields.get(name) {
        None | Some(Value::Null) => Ok(false),
        Some(Value::Bool(flag)) => Ok(*flag),
        Some(_) => Err(Invalid::WrongType { place: name, expected: "true or false" }),
    }
}

/// Collects the problems of a document while it is read.
struct Reader {
    format: Format,
    problems: Vec<Problem>,
    unlisted: usize,
}

impl Reader {
    fn problem(&mut self, severity: Severity, place: &str, event: Option<Event>, text: String) {
        // Refusals are limited by the document's size; none is left out.
        let listed = self.problems.iter().filter(|problem| problem.severity != Severity::Refused).count();
        if severity != Severity::Refused && listed >= WARNINGS {
            self.unlisted += 1;
            return;
        }
        self.problems.push(Problem { severity, place: place.to_owned(), event, text });
    }

    fn top(&mut self, fields: &Map<String, Value>) {
        let known: &[&str] = match self.format {
            Format::Own => &["$schema", "description", "disableAllHooks", "enable_command_hooks", "hooks"],
            Format::Plugin => &["$schema", "description", "disableAllHooks", "hooks"],
            // The other settings belong to the other product and are not checked.
            Format::Settings => return,
        };
        for name in fields.keys().filter(|name| !known.contains(&name.as_str())) {
            let text = format!("{} is not a known field", quoted(name));
            self.problem(Severity::Warning, name, None, text);
        }
    }

    fn events(&mut self, events: &Map<String, Value>) -> Vec<Group> {
        let mut groups = Vec::new();
        for (name, value) in events {
            let place = format!("hooks.{name}");
            let event = match Event::named(name) {
                Named::Ours(event) => event,
                Named::Unused => {
                    let text = format!("{name} does not occur here: its hooks are not used");
                    self.problem(Severity::Unused, &place, None, text);
                    continue;
                }
                Named::Unknown => {
                    let text = format!("{} is not a known event: its hooks are not used", quoted(name));
                    self.problem(Severity::Warning, &place, None, text);
                    continue;
                }
            };
            let spelling = if self.format.dialect() == Dialect::Peer || event.name(Dialect::Own) != name {
                Dialect::Peer
            } else {
                Dialect::Own
            };
            match value {
                Value::Array(items) => {
                    for (at, item) in items.iter().enumerate() {
                        let place = format!("{place}[{at}]");
                        if at >= GROUPS_OF_EVENT {
                            let text = format!(
                                "an event can have at most {GROUPS_OF_EVENT} groups; the others are refused"
                            );
                            self.problem(Severity::Refused, &place, Some(event), text);
                            break;
                        }
                        groups.extend(self.group(event, spelling, &place, item));
                    }
                }
                _ => {
                    let text = "an event's groups must be a list".to_owned();
                    self.problem(Severity::Refused, &place, Some(event), text);
                }
            }
        }
        groups
    }

    fn group(&mut self, event: Event, spelling: Dialect, place: &str, value: &Value) -> Option<Group> {
        let refuse = |reader: &mut Self, place: &str, text: String| {
            reader.problem(Severity::Refused, place, Some(event), text);
        };
        let Value::Object(fields) = value else {
            refuse(self, place, "a group must be an object with a matcher and a list of hooks".to_owned());
            return None;
        };
        for name in fields.keys().filter(|name| !["matcher", "hooks", "description"].contains(&name.as_str()))
        {
            let text = format!("{} is not a known field of a group", quoted(name));
            self.problem(Severity::Warning, &format!("{place}.{name}"), Some(event), text);
        }
        let matcher = match fields.get("matcher") {
            None | Some(Value::Null) => Ok(Matcher::all()),
            Some(Value::String(pattern)) => Matcher::parse(pattern, self.format.dialect())
                .map_err(|why| format!("the matcher {} {why}", quoted(pattern))),
            Some(_) => Err("the matcher must be a string".to_owned()),
        };
        let matcher = match matcher {
            Ok(matcher) => matcher,
            Err(text) => {
                refuse(self, &format!("{place}.matcher"), text);
                return None;
            }
        };
        if event.subject() == Subject::None && !matcher.pattern().is_empty() && matcher.pattern() != "*" {
            let text = format!("{} has nothing to match: its hooks always run", event.name(spelling));
            self.problem(Severity::Warning, &format!("{place}.matcher"), Some(event), text);
        }
        let Some(Value::Array(items)) = fields.get("hooks") else {
            refuse(self, place, "a group must have a list of hooks".to_owned());
            return None;
        };
        let places = (0..items.len()).map(|at| format!("{place}.hooks[{at}]"));
        let handlers = places
            .zip(items)
            .filter_map(|(place, item)| self.handler(event, &place, item).map(|handler| (place, handler)))
            .collect();
        Some(Group { event, spelling, matcher, handlers })
    }
}

/// A text from a document, shortened for a message.
fn quoted(text: &str) -> String {
    let short: String = text.chars().take(QUOTED_CHARS).collect();
    let dots = if short.len() < text.len() { "…" } else { "" };
    format!("{short:?}{dots}")
}

#[cfg(test)]
pub(crate) mod tests;
