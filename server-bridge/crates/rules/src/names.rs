//! Names of tools: ours, and those of similar products (peers) for the same tools.

use crate::wild::Wild;

/// Our tools, in alphabetical order.
pub const TOOLS: &[&str] = &[
    "AskUser",
    "Cd",
    "Chain",
    "ChatHistory",
    "CreateChat",
    "Cron",
    "DownloadFile",
    "EventTrigger",
    "Fetch",
    "FileCreate",
    "FileReplace",
    "Glob",
    "Grep",
    "HandOff",
    "Http",
    "Logs",
    "ManageTools",
    "Message",
    "Read",
    "SendMessage",
    "Shell",
    "Skill",
    "SubAgent",
    "WebSearch",
    "Worktree",
    "archival_memory_insert",
    "archival_memory_search",
    "card_add_container",
    "card_add_content",
    "card_add_interactive",
    "card_create",
    "card_preview",
    "card_send",
    "config",
    "context_edit",
    "core_memory_append",
    "core_memory_replace",
    "knowledge_read",
    "knowledge_search",
    "mcp_resource",
    "memory_edit",
    "memory_list",
    "memory_search",
    "memory_write",
    "offload_recall",
    "recall_masked",
    "recall_memory_search",
    "search_tools",
    "task_kill",
    "task_read",
    "task_status",
    "todo_list",
    "todo_write",
    "tui_control",
];

/// Peers' names, each with our name.
const ALIASES: &[(&str, &str)] = &[
    ("Agent", "SubAgent"),
    ("AskUserQuestion", "AskUser"),
    ("Bash", "Shell"),
    ("BashOutput", "task_read"),
    ("Edit", "FileReplace"),
    ("KillShell", "task_kill"),
    ("MultiEdit", "FileReplace"),
    ("Task", "SubAgent"),
    ("TaskOutput", "task_read"),
    ("TaskStop", "task_kill"),
    ("TodoWrite", "todo_write"),
    ("WebFetch", "Fetch"),
    ("Write", "FileCreate"),
];

/// The common name of all HTTP tools; the rest of a tool's full name, after the prefix, names the tool.
pub(crate) const HTTP: &str = "Http";

/// The prefix of the names by which models call HTTP tools.
pub(crate) const HTTP_PREFIX: &str = "http__";

/// True for the full name of an HTTP tool.
pub fn is_http_tool(name: &str) -> bool {
    name.starts_with(HTTP_PREFIX)
}

/// Our name for a tool; all HTTP tools share one.
pub fn ours(name: &str) -> &str {
    if is_http_tool(name) {
        return HTTP;
    }
    ALIASES.iter().find(|(peer, _)| *peer == name).map_or(name, |(_, ours)| ours)
}

/// Returns a predicate that is true for tools with one of these names, ours or a peer's; `*` matches any text. The names are
/// parsed once.
pub fn among(names: &[String]) -> impl Fn(&str) -> bool {
    let read: Vec<(&str, Wild)> = names.iter().map(|name| (ours(name), Wild::stars(name))).collect();
    move |tool| read.iter().any(|(name, wild)| *name == tool || wild.matches(tool))
}

/// The most common name in similar products for one of our tools.
pub fn peers(name: &str) -> &str {
    ALIASES.iter().find(|(_, ours)| *ours == name).map_or(name, |(peer, _)| peer)
}

/// True if it names one of our tools, by our name or a peer's.
pub(crate) fn is_known(name: &str) -> bool {
    TOOLS.contains(&ours(name))
}

/// The most similar known name for an unknown one, if there is one.
pub(crate) fn nearest(name: &str) -> Option<&'static str> {
    let known = || TOOLS.iter().copied().chain(ALIASES.iter().map(|(peer, _)| *peer));
    let plain = |name: &str| name.chars().filter(|c| c.is_alphanumeric()).collect::<String>().to_lowercase();
    known()
        .find(|known| plain(known) == plain(name))
        .or_else(|| known().find(|known| is_one_off(known, name)))
}

/// True if the names differ in one letter, or in two letters that changed places.
fn is_one_off(one: &str, other: &str) -> bool {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    if one.len().abs_diff(other.len()) > 1 || one.len() < 3 {
        return false;
    }
    let same = one.iter().zip(&other).take_while(|(a, b)| a == b).count();
    let (rest, other_rest) = (&one[same..], &other[same..]);
    let tail = |slice: &[char], from: usize| slice.get(from..).map(<[char]>::to_vec);
    tail(rest, 1) == tail(other_rest, 1)
        || tail(rest, 1).as_deref() == Some(other_rest)
        || tail(other_rest, 1).as_deref() == Some(rest)
        || (rest.len() == other_rest.len()
            && rest.len() > 1
            && rest[0] == other_rest[1]
            && rest[1] == other_rest[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_has_our_names_those_of_peers_and_stars() {
        let names: Vec<String> = ["Read", "Bash", "mcp__git__*", "*_list"].map(str::to_owned).into();
        for (tool, is_among_them) in [
            ("Read", true),
            ("Reader", false),
            ("Shell", true),
            ("Bash", true),
            ("mcp__git__push", true),
            ("mcp__github__push", false),
            ("memory_list", true),
            ("memory_listing", false),
            ("http__notes", false),
        ] {
            assert_eq!(among(&names)(tool), is_among_them, "{tool}");
        }
        assert!(!among(&[])("Read") && among(&["*".to_owned()])("Read"));
        assert!(!among(&["Http".to_owned()])("http__notes"), "each HTTP tool is named");
    }
}
