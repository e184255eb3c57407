//! Conditions: the `if` of a handler, such as `Shell(*git commit*)`.
//!
//! The grammar of permission rules, which parses shell lines, is not part of this crate: the caller provides it as a
//! [`Condition`]. [`Globs`] is a simple form.

use serde_json::{Map, Value};

use crate::dialect::{names, subjects};
use crate::glob::fits;

/// A call of a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// Our name for the tool.
    pub tool: String,
    /// The arguments under our names.
    pub input: Map<String, Value>,
    /// The call's id.
    pub id: String,
}

/// A grammar in which conditions are written.
pub trait Condition: Send + Sync {
    /// Checks a condition when it is loaded.
    ///
    /// # Errors
    ///
    /// The reason why it can never be used, as a sentence without its subject.
    fn check(&self, condition: &str) -> Result<(), String>;

    /// True if a condition is met by a call. A condition that cannot be decided, such as one on a shell line that cannot be
    /// parsed, counts as met: the handler can then check the call itself.
    fn holds(&self, condition: &str, call: &Call) -> bool;
}

/// Conditions of the form `Tool` or `Tool(glob)`; the glob is compared with the command, path or address that the call is about.
#[derive(Clone, Copy, Debug, Default)]
pub struct Globs;

impl Condition for Globs {
    fn check(&self, condition: &str) -> Result<(), String> {
        let (_, glob) = split(condition).ok_or("is not of the form Tool(pattern)")?;
        match glob {
            Some(glob) if glob.starts_with("domain:") => {
                Err("asks for a domain, which is not supported here".to_owned())
            }
            _ => Ok(()),
        }
    }

    fn holds(&self, condition: &str, call: &Call) -> bool {
        let Some((tool, glob)) = split(condition) else { return true };
        let is_named = names(&call.tool).iter().any(|name| name.text == tool);
        is_named
            && glob
                .is_none_or(|glob| subjects(&call.tool, &call.input).into_iter().any(|it| covers(glob, it)))
    }
}

/// The older form `git:*` means `git`, with or without arguments.
fn covers(glob: &str, subject: &str) -> bool {
    match glob.strip_suffix(":*") {
        Some(prefix) => fits(prefix, subject) || fits(&format!("{prefix} *"), subject),
        None => fits(glob, subject),
    }
}

fn split(condition: &str) -> Option<(&str, Option<&str>)> {
    let condition = condition.trim();
    let (tool, glob) = match condition.split_once('(') {
        Some((tool, rest)) => {
            (tool.trim_end(), Some(rest.strip_suffix(')')?.trim()).filter(|it| !it.is_empty()))
        }
        None => (condition, None),
    };
    let is_name = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '-';
    (!tool.is_empty() && tool.chars().all(is_name)).then_some((tool, glob))
}

#[cfg(test)]
mod tests;
