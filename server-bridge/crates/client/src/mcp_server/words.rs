//! Texts about MCP servers. Text from a server or a workspace's file cannot imitate other output: anybody may have written it.

use api::mcp::{McpInstructions, McpServerList, McpServerView, McpToolView};
use api::words::{ExtensionLayer, McpServerState, McpToolState, McpTransport};

use super::import::Imported;
use crate::extension::{QUOTE, argument, layer_words, short_hash, unseen, warning};
use crate::failure::Failure;
use crate::output;
use crate::output::{one_line, short_line};

/// The servers that apply, and any problems.
pub(super) fn list(list: &McpServerList) -> String {
    let mut parts = vec![match list.servers.as_slice() {
        [] => "there are no MCP servers; `sandbridge mcp-server add NAME -- COMMAND` adds one".to_owned(),
        servers => table(servers),
    }];
    parts.extend(advice(&list.servers));
    parts.extend(list.problems.iter().map(warning));
    parts.join("\n")
}

/// Everything about a server; the others have the same name and are not used.
pub(super) fn show<'a>(server: &McpServerView, others: impl Iterator<Item = &'a McpServerView>) -> String {
    let mut parts = vec![whole(server)];
    parts.push(format!("listed:    {}", server.listed_at.map_or_else(|| "never".to_owned(), output::ago)));
    if server.transport == McpTransport::Http || server.logged_in {
        parts.push(format!("logged in: {}", if server.logged_in { "yes" } else { "no" }));
    }
    parts.extend(others.map(|other| {
        let (layer, origin) = (layer_words(&other.layer), one_line(&other.origin));
        format!("not used:  another with this name: {layer}, {origin}, hash {}", one_line(&other.hash))
    }));
    if let Some(McpInstructions { text, .. }) = &server.instructions {
        parts.push("instructions for models, in its own words:".to_owned());
        parts.extend(text.lines().map(|line| format!("{QUOTE}{}", one_line(line))));
    }
    if !server.tools.is_empty() {
        parts.push("tools:".to_owned());
    }
    for tool in &server.tools {
        let state = tool_state(&tool.state).map(|state| format!(" ({state})")).unwrap_or_default();
        parts.push(format!("  {}{state}", one_line(&tool.name)));
        if !about(tool).is_empty() {
            parts.push(format!("      {}", one_line(about(tool))));
        }
    }
    if server.changes.is_some() {
        parts.push(changes(server));
    }
    parts.extend(advice(std::slice::from_ref(server)));
    parts.join("\n")
}

/// Everything that is approved with a server.
pub(super) fn whole(server: &McpServerView) -> String {
    let (transport, secrets, action) = match &server.transport {
        McpTransport::Stdio => ("a program on the machine", "variables", "command"),
        McpTransport::Http => ("HTTP", "headers", "address"),
        McpTransport::Unknown(word) => (word.as_str(), "secrets", "action"),
    };
    let secrets = format!("{secrets}:");
    let is_of_workspace = matches!(server.layer, ExtensionLayer::Workspace | ExtensionLayer::WorkspaceLocal);
    let mut lines = vec![
        format!("name:      {}", one_line(&server.name)),
        format!("state:     {}", state_words(&server.state)),
        format!("from:      {}", layer_words(&server.layer)),
        format!("origin:    {}", one_line(&server.origin)),
        format!("transport: {}", one_line(transport)),
        format!("hash:      {}", one_line(&server.hash)),
    ];
    lines.extend(listed(&secrets, &server.secrets, "none"));
    if is_of_workspace {
        let none = "none: changes to what the command runs go unnoticed";
        lines.extend(listed("files:", &server.files, none));
        lines.extend(unseen(&server.unseen));
    }
    lines.push(format!("{action}:"));
    lines.extend(server.action.split('\n').map(|line| format!("{QUOTE}{}", one_line(line))));
    lines.join("\n")
}

/// A heading and the items below it, each on its own line, or `none` if there are no items.
fn listed(heading: &str, items: &[String], none: &str) -> Vec<String> {
    if items.is_empty() {
        return vec![format!("{heading:10} {none}")];
    }
    let quoted = items.iter().map(|item| format!("{QUOTE}{}", one_line(item)));
    std::iter::once(heading.to_owned()).chain(quoted).collect()
}

/// A server's changed tools and instructions: each as it was accepted and as it is now.
pub(super) fn changes(server: &McpServerView) -> String {
    let tools = server.tools.iter().filter_map(|tool| {
        let now = tool.changed.as_deref()?;
        Some((one_line(&tool.name), tool.definition.as_str(), now))
    });
    let instructions = server.instructions.iter().filter_map(|said| {
        let now = said.changed.as_deref()?;
        Some(("the instructions for models".to_owned(), said.text.as_str(), now))
    });
    let parts = tools.chain(instructions).map(|(name, before, now)| {
        let heading = format!("{name} changed: '-' was accepted, '+' is new, the rest is the same");
        format!("{heading}\n{}", difference(before, now))
    });
    parts.collect::<Vec<_>>().join("\n")
}

/// The result of checking a server: its tools.
pub(super) fn checked(server: &McpServerView) -> String {
    let count = match server.tools.len() {
        0 => "no tools".to_owned(),
        1 => "1 tool".to_owned(),
        many => format!("{many} tools"),
    };
    let mut parts = vec![format!("{} has {count}", called(server))];
    let rows: Vec<_> = server.tools.iter().map(tool_row).collect();
    parts.extend(Some(output::table(&rows)).filter(|table| !table.is_empty()));
    parts.extend(advice(std::slice::from_ref(server)));
    parts.join("\n")
}

/// The warning that a server of the user's own is not used, because another layer has a server of the same name.
pub(super) fn hidden(name: &str, layer: &ExtensionLayer) -> String {
    let layer = match layer {
        ExtensionLayer::Managed => "administrator's",
        ExtensionLayer::Workspace | ExtensionLayer::WorkspaceLocal => "workspace's",
        ExtensionLayer::User | ExtensionLayer::Unknown(_) => "other",
    };
    format!(
        "warning: yours is not used: the {layer} MCP server {name} comes first; add yours with another name"
    )
}

/// The result of an import: the servers that were added, and those that were not.
pub(super) fn imported(imported: &Imported) -> String {
    let mut lines = Vec::new();
    for added in &imported.added {
        let (name, argument) = (one_line(&added.name), argument(&added.name));
        lines.push(format!(
            "the MCP server {name} was added; `sandbridge mcp-server check {argument}` lists its tools"
        ));
        if !added.unused.is_empty() {
            lines.push(format!(
                "warning: these fields of {name} are not used: {}",
                one_line(&added.unused.join(", "))
            ));
        }
    }
    for name in &imported.turned_off {
        lines.push(format!("the MCP server {} was left out: the document turns it off", one_line(name)));
    }
    for refused in &imported.refused {
        let (name, reason) = (one_line(&refused.name), one_line(&refused.reason));
        lines.push(format!("the MCP server {name} was refused: {reason}"));
    }
    lines.join("\n")
}

/// A server, as a part of a sentence.
pub(super) fn called(server: &McpServerView) -> String {
    called_by(&server.name)
}

/// A server of which only the name is known, as a part of a sentence.
pub(super) fn called_by(name: &str) -> String {
    format!("the MCP server {}", short_line(name))
}

/// A server of which only the hash is known, as a part of a sentence.
pub(super) fn hashed(hash: &str) -> String {
    format!("the MCP server with the hash {}", short_hash(hash))
}

/// The command that logs in to a server of a place.
pub(super) fn log_in(name: &str, on: Option<&str>) -> String {
    let on = on.map(|on| format!(" --on {}", argument(on))).unwrap_or_default();
    format!("`sandbridge mcp-server login {}{on}`", argument(name))
}

/// A failure whose message may contain text that others wrote, which is escaped for the terminal.
pub(super) fn quoted_failure(failure: Failure) -> Failure {
    let message = quoted(&failure.message);
    Failure { message, ..failure }
}

/// A message that may contain text that others wrote: each line after the first is marked as theirs.
pub(super) fn quoted(message: &str) -> String {
    message.trim_end().split('\n').map(one_line).collect::<Vec<_>>().join(&format!("\n{QUOTE}"))
}

fn table(servers: &[McpServerView]) -> String {
    let heading = ["NAME", "STATE", "FROM", "TOOLS", "WHAT"].map(str::to_owned).to_vec();
    let rows = servers.iter().map(|server| {
        vec![
            short_line(&server.name),
            state_words(&server.state).to_owned(),
            layer_words(&server.layer).to_owned(),
            tools_words(server),
            short_line(&server.action),
        ]
    });
    output::table(&std::iter::once(heading).chain(rows).collect::<Vec<_>>())
}

fn tool_row(tool: &McpToolView) -> Vec<String> {
    let state = tool_state(&tool.state).map(|state| format!("({state}) ")).unwrap_or_default();
    vec![format!("  {}", one_line(&tool.name)), format!("{state}{}", short_line(about(tool)))]
}

/// The reason why a tool is not offered, or else its description.
fn about(tool: &McpToolView) -> &str {
    tool.problem.as_ref().unwrap_or(&tool.description)
}

/// The number of a server's tools, and of those that are not offered.
fn tools_words(server: &McpServerView) -> String {
    if server.listed_at.is_none() && server.tools.is_empty() {
        return "unknown".to_owned();
    }
    let count = |state: &McpToolState| server.tools.iter().filter(|tool| tool.state == *state).count();
    let mut parts = vec![server.tools.len().to_string()];
    for state in [McpToolState::Changed, McpToolState::Invalid] {
        if let (number @ 1.., Some(word)) = (count(&state), tool_state(&state)) {
            parts.push(format!("{number} {word}"));
        }
    }
    parts.join(", ")
}

/// Advice about servers and tools that are not offered.
fn advice(servers: &[McpServerView]) -> Vec<String> {
    let of = |is_meant: fn(&McpServerView) -> bool| {
        let mut found = servers.iter().filter(move |server| is_meant(server));
        let first = found.next()?;
        Some(if found.next().is_none() { argument(&first.name) } else { "NAME" })
    };
    let waiting = of(|server| server.state == McpServerState::Waiting);
    let changed = of(|server| server.state != McpServerState::Shadowed && server.changes.is_some());
    let unasked = of(|server| server.state == McpServerState::Ready && server.listed_at.is_none());
    let waiting = waiting.map(|name| {
        format!("to use an MCP server that waits, approve it: `sandbridge mcp-server approve {name}`")
    });
    let changed = changed.map(|name| {
        format!(
            "tools and instructions that changed are not offered until you accept them: `sandbridge mcp-server accept {name}`"
        )
    });
    let unasked = unasked.map(|name| {
        format!("to list the tools of an MCP server, check it: `sandbridge mcp-server check {name}`")
    });
    [waiting, changed, unasked].into_iter().flatten().collect()
}

fn state_words(state: &McpServerState) -> &str {
    match state {
        McpServerState::Ready => "ready",
        McpServerState::Waiting => "waits",
        McpServerState::Shadowed => "shadowed",
        McpServerState::Unknown(word) => word,
    }
}

/// The state of a tool that is not offered.
fn tool_state(state: &McpToolState) -> Option<&str> {
    match state {
        McpToolState::Ready => None,
        McpToolState::Changed => Some("changed"),
        McpToolState::Invalid => Some("invalid"),
        McpToolState::Unknown(word) => Some(word),
    }
}

/// The difference of two texts, line by line; lines that are the same at the beginning and at the end appear once.
fn difference(old: &str, new: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let same = |(left, right): &(&&str, &&str)| left == right;
    let start = old.iter().zip(&new).take_while(same).count();
    let (old_rest, new_rest) = (&old[start..], &new[start..]);
    let end = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(same).count();
    let gone = &old_rest[..old_rest.len() - end];
    let (come, common) = new_rest.split_at(new_rest.len() - end);
    let marked = |mark: char, lines: &[&str]| {
        lines.iter().map(|line| format!("{mark} | {}", one_line(line))).collect::<Vec<_>>()
    };
    [marked(' ', &old[..start]), marked('-', gone), marked('+', come), marked(' ', common)]
        .concat()
        .join("\n")
}

#[cfg(test)]
pub(super) mod tests;
