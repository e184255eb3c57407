//! The tools that have different names or arguments in peers' hooks.

use serde_json::{Map, Value};

use super::Dialect;

/// The difference between the dialects in the value of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    /// There is no difference.
    Same,
    /// Seconds in our dialect, milliseconds in the peers'.
    Seconds,
    /// Our path may be relative to the current directory; the peers' is absolute.
    Path,
}

/// An argument: our name, the peers' name, and the difference in its value.
pub(super) type Argument = (&'static str, &'static str, Unit);

/// A tool with its names and arguments.
pub(super) struct Tool {
    /// Our name for the tool.
    pub(super) own: &'static str,
    /// The names in peers' hooks; the first one is sent.
    pub(super) peers: &'static [&'static str],
    /// The arguments that differ between the dialects.
    pub(super) arguments: &'static [Argument],
    /// Our names for the arguments that identify what a call acts on.
    subjects: &'static [&'static str],
}

const PATH: Argument = ("path", "file_path", Unit::Path);
const TIMEOUT_S: Argument = ("timeout_s", "timeout", Unit::Seconds);

const TOOLS: &[Tool] = &[
    Tool {
        own: "Shell",
        peers: &["Bash"],
        arguments: &[
            ("timeout", "timeout", Unit::Seconds),
            ("background", "run_in_background", Unit::Same),
            ("reason", "description", Unit::Same),
        ],
        subjects: &["command"],
    },
    Tool { own: "exec", peers: &["Bash"], arguments: &[TIMEOUT_S], subjects: &["command", "argv"] },
    Tool { own: "task_start", peers: &["Bash"], arguments: &[TIMEOUT_S], subjects: &["command", "argv"] },
    Tool {
        own: "Read",
        peers: &["Read"],
        arguments: &[PATH, ("max_lines", "limit", Unit::Same)],
        subjects: &["path"],
    },
    Tool { own: "read_file", peers: &["Read"], arguments: &[PATH], subjects: &["path"] },
    Tool { own: "FileCreate", peers: &["Write"], arguments: &[PATH], subjects: &["path"] },
    Tool { own: "write_file", peers: &["Write"], arguments: &[PATH], subjects: &["path"] },
    Tool { own: "FileReplace", peers: &["Edit", "MultiEdit"], arguments: &[PATH], subjects: &["path"] },
    Tool { own: "list_directory", peers: &["LS"], arguments: &[], subjects: &["path"] },
    Tool { own: "Glob", peers: &["Glob"], arguments: &[], subjects: &["pattern", "path"] },
    Tool {
        own: "Grep",
        peers: &["Grep"],
        arguments: &[
            ("include", "glob", Unit::Same),
            ("ignore_case", "-i", Unit::Same),
            ("context_lines", "-C", Unit::Same),
        ],
        subjects: &["pattern", "path"],
    },
    Tool { own: "Fetch", peers: &["WebFetch"], arguments: &[], subjects: &["url"] },
    Tool { own: "WebSearch", peers: &["WebSearch"], arguments: &[], subjects: &["query"] },
    Tool { own: "DownloadFile", peers: &[], arguments: &[], subjects: &["url", "path"] },
    Tool {
        own: "SubAgent",
        peers: &["Agent", "Task"],
        arguments: &[("task", "prompt", Unit::Same), ("role", "subagent_type", Unit::Same)],
        subjects: &["role", "task"],
    },
    Tool {
        own: "Skill",
        peers: &["Skill"],
        arguments: &[("name", "skill", Unit::Same)],
        subjects: &["name"],
    },
    Tool { own: "Cd", peers: &[], arguments: &[], subjects: &["path"] },
    Tool {
        own: "todo_write",
        peers: &["TodoWrite"],
        arguments: &[("items", "todos", Unit::Same)],
        subjects: &[],
    },
    Tool { own: "AskUser", peers: &["AskUserQuestion"], arguments: &[], subjects: &["question"] },
    Tool {
        own: "task_read",
        peers: &["BashOutput", "TaskOutput"],
        arguments: &[("id", "bash_id", Unit::Same)],
        subjects: &["id"],
    },
    Tool {
        own: "task_kill",
        peers: &["KillShell", "KillBash", "TaskStop"],
        arguments: &[("id", "shell_id", Unit::Same)],
        subjects: &["id"],
    },
];

/// A name by which hooks may refer to a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// The name as it is written.
    pub text: String,
    /// The dialect in which the tool has this name. A name in both dialects counts as ours.
    pub dialect: Dialect,
}

pub(super) fn find(tool: &str) -> Option<&'static Tool> {
    TOOLS.iter().find(|known| known.own == tool)
}

/// The first tool with this name in peers' hooks.
pub(super) fn find_peer(name: &str) -> Option<&'static Tool> {
    TOOLS.iter().find(|known| known.peers.contains(&name))
}

impl Tool {
    /// True for an argument name that only peers use.
    pub(super) fn is_of_peer(&self, argument: &str) -> bool {
        let is = |name: fn(&Argument) -> &str| self.arguments.iter().any(|known| name(known) == argument);
        is(|(_, peer, _)| peer) && !is(|(own, ..)| own)
    }
}

/// All names by which hooks may refer to a tool, ours first.
pub fn names(tool: &str) -> Vec<Name> {
    let mut names = vec![Name { text: tool.to_owned(), dialect: Dialect::Own }];
    if let Some((server, rest)) = tool.strip_prefix("mcp__").and_then(|rest| rest.split_once("__")) {
        names.push(Name { text: format!("mcp_{server}_{rest}"), dialect: Dialect::Own });
    }
    let peers = find(tool).map_or(&[][..], |known| known.peers);
    let others = peers.iter().filter(|name| **name != tool);
    names.extend(others.map(|name| Name { text: (*name).to_owned(), dialect: Dialect::Peer }));
    names
}

/// The name that is sent to hooks.
pub fn main_name(tool: &str, dialect: Dialect) -> &str {
    match dialect {
        Dialect::Own => tool,
        Dialect::Peer => find(tool).and_then(|known| known.peers.first()).copied().unwrap_or(tool),
    }
}

/// The texts that identify what a call acts on, such as its command or its path; all of its texts if the tool is
/// unknown.
pub fn subjects<'a>(tool: &str, input: &'a Map<String, Value>) -> Vec<&'a str> {
    let mut found = Vec::new();
    subject_fields(tool, input).for_each(|(_, value)| texts(value, &mut found));
    found
}

/// The arguments that contain those texts.
pub fn subject_fields<'a>(
    tool: &str,
    input: &'a Map<String, Value>,
) -> impl Iterator<Item = (&'a String, &'a Value)> + use<'a> {
    let names = find(tool).map_or(&[][..], |known| known.subjects);
    input.iter().filter(move |(name, _)| names.is_empty() || names.contains(&name.as_str()))
}

fn texts<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
    match value {
        Value::String(text) => found.push(text),
        Value::Array(items) => items.iter().for_each(|item| texts(item, found)),
        Value::Object(fields) => fields.values().for_each(|field| texts(field, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
