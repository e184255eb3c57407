//! Commands: the program and arguments that are run, and their environment variables.

use crate::handler::{PLUGIN_ROOT, PROJECT_DIRS};
use crate::happening::Session;
use crate::layers::Hook;

/// A command that is about to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// A line for a shell. Its variables are left to the shell, because a path inserted into the text could be read as
    /// code.
    Shell(String),
    /// A program with its arguments, without a shell. Variables for directories have been replaced.
    Words(Vec<String>),
}

/// The command line, or the program and its arguments, of a command handler.
pub fn line(command: &str, args: Option<&[String]>, hook: &Hook, session: &Session) -> Line {
    let Some(args) = args else { return Line::Shell(command.to_owned()) };
    let words = std::iter::once(command).chain(args.iter().map(String::as_str));
    Line::Words(words.map(|word| placed(word, hook, session)).collect())
}

/// The variables of a command handler, in addition to those that its machine sets.
pub fn variables(hook: &Hook, session: &Session) -> Vec<(&'static str, String)> {
    let mut variables = vec![
        ("SANDBRIDGE_HOOK_EVENT", hook.event_name().to_owned()),
        ("SANDBRIDGE_SESSION_ID", session.id.clone()),
        ("XBOT_SESSION_ID", session.id.clone()),
    ];
    variables.extend(PROJECT_DIRS.map(|name| (name, session.project_dir.clone())));
    if let Some(home) = &session.home {
        variables.extend(["SANDBRIDGE_HOME", "XBOT_HOME"].map(|name| (name, home.clone())));
    }
    variables.extend(hook.plugin_root.clone().map(|root| (PLUGIN_ROOT, root)));
    // A variable cannot contain this character; a machine would refuse the command.
    variables.retain(|(_, value)| !value.contains('\0'));
    variables
}

fn placed(word: &str, hook: &Hook, session: &Session) -> String {
    let mut word = word.to_owned();
    for name in PROJECT_DIRS {
        word = word.replace(&format!("${{{name}}}"), &session.project_dir);
    }
    match &hook.plugin_root {
        Some(root) => word.replace(&format!("${{{PLUGIN_ROOT}}}"), root),
        None => word,
    }
}

#[cfg(test)]
mod tests;
