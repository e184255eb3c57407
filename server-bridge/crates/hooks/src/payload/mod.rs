//! Payloads: the data that a handler gets, without secrets and within a limit, in the dialect that its hook uses.
//!
//! A hook's new arguments are based on its payload. They are converted back to ours: a value that the hook did not
//! change becomes the original again, with its secrets. A value that still contains the mark of a secret or of a cut is
//! refused, because the mark would be written into files.

mod fit;
mod redact;
mod secret;

use serde_json::{Map, Value};

use crate::condition::Call;
use crate::dialect::{Dialect, mode, subject_fields, to_own, to_peer};
use crate::happening::{Happening, Session};
use crate::layers::{Asked, Hook};

pub use fit::{CUT, fit};
pub use redact::{MARK, Redactor};
pub use secret::{secret_in, token_in};

/// The payload of one handler.
#[derive(Clone, Debug)]
pub struct Payload {
    /// The payload as JSON text.
    pub text: String,
    /// The payload as a value.
    pub value: Value,
    /// True if something was cut off.
    pub is_cut: bool,
    /// True if part of what the call acts on, such as of its command, is not shown: a text that looks like a secret may be
    /// anything.
    pub hides_subject: bool,
    /// The dialect of the call's arguments.
    dialect: Dialect,
    /// The call's arguments in that dialect, with all secrets.
    plain: Map<String, Value>,
}

impl Payload {
    /// The payload for a hook. `asked` is the name and dialect with which the hook refers to the call's tool; the call
    /// has its current arguments.
    pub fn new(
        session: &Session,
        happening: &Happening,
        asked: Option<(&Call, &Asked)>,
        hook: &Hook,
        redactor: &Redactor,
        limit: usize,
    ) -> Self {
        let dialect = asked.map_or(hook.spelling, |(_, asked)| asked.dialect);
        let mut fields = Map::new();
        let mut put = |name: &str, value: Value| drop(fields.insert(name.to_owned(), value));
        put("session_id", session.id.as_str().into());
        put("transcript_path", session.transcript_path.as_deref().unwrap_or_default().into());
        put("cwd", session.cwd.as_str().into());
        if let Some(own) = &session.mode {
            put("permission_mode", mode(own, dialect).into());
        }
        put("hook_event_name", hook.event_name().into());
        let mut plain = Map::new();
        if let Some((call, asked)) = asked {
            plain = match asked.dialect {
                Dialect::Own => call.input.clone(),
                Dialect::Peer => to_peer(&call.tool, &call.input, &session.cwd),
            };
            put("tool_name", asked.name.as_str().into());
            put("tool_use_id", call.id.as_str().into());
            put("tool_input", Value::Object(plain.clone()));
        }
        fields.extend(happening.fields(dialect, &session.cwd));
        let (text, value, is_cut) = fit(redactor.redact(&Value::Object(fields)), limit);
        let hides_subject = asked.is_some_and(|(call, _)| {
            let fields = subject_fields(&call.tool, &call.input);
            let subject = Value::Object(fields.map(|(name, value)| (name.clone(), value.clone())).collect());
            redactor.redact(&subject) != subject
        });
        Self { text, value, is_cut, hides_subject, dialect, plain }
    }

    /// The new arguments of a call, in our dialect.
    ///
    /// # Errors
    ///
    /// The reason why they cannot be used, as a sentence without its subject.
    pub fn rewritten(
        &self,
        call: &Call,
        updated: &Map<String, Value>,
    ) -> Result<Map<String, Value>, &'static str> {
        if self.is_cut {
            return Err("are not used: the hook saw only a part of the arguments");
        }
        let nothing = Value::Null;
        let sent = self.value.get("tool_input").unwrap_or(&nothing);
        let plain = Value::Object(self.plain.clone());
        let Value::Object(restored) = restored(&Value::Object(updated.clone()), sent, &plain)? else {
            return Err("are not an object");
        };
        Ok(match self.dialect {
            Dialect::Own => restored,
            Dialect::Peer => to_own(&call.tool, &call.input, &self.plain, &restored),
        })
    }
}

/// A value in which secrets are restored where the hook did not change it.
fn restored(updated: &Value, sent: &Value, plain: &Value) -> Result<Value, &'static str> {
    if updated == sent {
        return Ok(plain.clone());
    }
    let nothing = Value::Null;
    match updated {
        Value::Object(fields) => {
            let mut all = Map::new();
            for (name, field) in fields {
                if name.contains(MARK) {
                    return Err("are not used: they contain a secret that the hook did not see");
                }
                let (sent, plain) = (sent.get(name).unwrap_or(&nothing), plain.get(name).unwrap_or(&nothing));
                all.insert(name.clone(), restored(field, sent, plain)?);
            }
            Ok(Value::Object(all))
        }
        Value::Array(items) => {
            let part = |at: usize| (sent.get(at).unwrap_or(&nothing), plain.get(at).unwrap_or(&nothing));
            let items = items.iter().enumerate();
            let items = items.map(|(at, item)| restored(item, part(at).0, part(at).1));
            items.collect::<Result<_, _>>().map(Value::Array)
        }
        Value::String(text) if text.contains(MARK) => {
            Err("are not used: they contain a secret that the hook did not see")
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(updated.clone()),
    }
}

#[cfg(test)]
mod tests;
