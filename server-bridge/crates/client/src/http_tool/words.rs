//! Texts about HTTP tools. Text from a document or a service cannot imitate other output: anybody may have written it.

use api::http_tools::{HttpToolImported, HttpToolList, HttpToolSaved, HttpToolTried, HttpToolView};
use api::words::HttpToolState;

use crate::extension::{QUOTE, argument, layer_words, warning};
use crate::output;
use crate::output::{one_line, short_line};

/// The tools that apply, and any problems.
pub(super) fn list(list: &HttpToolList) -> String {
    let mut parts = vec![match list.tools.as_slice() {
        [] => "there are no HTTP tools; `sandbridge http-tool add FILE` adds one, and `sandbridge http-tool import OPENAPI` those of \
               an OpenAPI document"
            .to_owned(),
        tools => table(tools),
    }];
    parts.extend(list.tools.iter().filter_map(advice));
    parts.extend(list.problems.iter().map(warning));
    parts.join("\n")
}

/// Everything about a tool, and everything that is approved with it.
pub(super) fn whole(tool: &HttpToolView) -> String {
    let secret = |secret: &api::http_tools::HttpToolSecret| {
        format!("{} ({})", one_line(&secret.name), if secret.is_set { "set" } else { "not set" })
    };
    let secrets: Vec<String> = tool.secrets.iter().map(secret).collect();
    let mut lines = vec![
        format!("name:    {}", one_line(&tool.name)),
        format!("called:  {}", one_line(&tool.wire_name)),
        format!("state:   {}", state_words(&tool.state)),
        format!("from:    {}", layer_words(&tool.layer)),
        format!("origin:  {}", one_line(&tool.origin)),
        format!("server:  {}", one_line(&server(tool))),
        format!("hash:    {}", one_line(&tool.hash)),
        format!("secrets: {}", if secrets.is_empty() { "none".to_owned() } else { secrets.join(", ") }),
        "document:".to_owned(),
    ];
    lines.extend(quoted(&tool.document));
    lines.extend(advice(tool));
    lines.join("\n")
}

/// The result of saving a tool.
pub(super) fn saved(name: &str, saved: &HttpToolSaved) -> String {
    let (what, name) = (called(name), argument(name));
    let mut lines = vec![format!("{what} was saved; `sandbridge http-tool try {name} ARGUMENTS` tries it")];
    if !saved.dropped_secrets.is_empty() {
        let dropped = one_line(&saved.dropped_secrets.join(", "));
        lines.push(format!(
            "warning: its secrets {dropped} were removed: it no longer uses them, or its host changed"
        ));
    }
    for secret in &saved.missing_secrets {
        lines.push(format!("it needs a secret: `sandbridge http-tool secret {name} {}`", argument(secret)));
    }
    lines.join("\n")
}

/// The result of importing an OpenAPI document.
pub(super) fn imported(imported: &HttpToolImported, is_dry_run: bool) -> String {
    let done = if is_dry_run { "would be added" } else { "was added" };
    let mut lines: Vec<String> =
        imported.added.iter().map(|name| format!("{} {done}", called(name))).collect();
    if imported.added.is_empty() {
        lines.push("no HTTP tool was added".to_owned());
    }
    lines.extend(imported.problems.iter().map(|problem| format!("warning: {}", one_line(problem))));
    if !imported.missing_secrets.is_empty() {
        let secrets = one_line(&imported.missing_secrets.join(", "));
        lines.push(format!("they need secrets ({secrets}): `sandbridge http-tool secret NAME SECRET`"));
    }
    lines.join("\n")
}

/// The request and the response of a test call.
pub(super) fn tried(tried: &HttpToolTried) -> String {
    let mut lines = vec![format!("request: {} {}", one_line(&tried.method), one_line(&tried.url))];
    lines.extend(tried.headers.iter().flat_map(|header| quoted(header)));
    lines.extend(tried.body.iter().flat_map(|body| quoted(body)));
    lines.push(if tried.is_error { "it failed:" } else { "answer:" }.to_owned());
    lines.extend(quoted(&tried.answer));
    lines.join("\n")
}

/// A tool, as a part of a sentence.
pub(super) fn called(name: &str) -> String {
    format!("the HTTP tool {}", short_line(name))
}

/// The server of a tool, with the runner through which it is reached.
fn server(tool: &HttpToolView) -> String {
    match &tool.via {
        Some(via) => format!("{} via {via}", tool.server),
        None => tool.server.clone(),
    }
}

fn table(tools: &[HttpToolView]) -> String {
    let heading = ["NAME", "STATE", "FROM", "METHOD", "SERVER", "WHAT"].map(str::to_owned).to_vec();
    let rows = tools.iter().map(|tool| {
        vec![
            short_line(&tool.name),
            state_words(&tool.state).to_owned(),
            layer_words(&tool.layer).to_owned(),
            short_line(&tool.method),
            short_line(&server(tool)),
            short_line(&tool.description),
        ]
    });
    output::table(&std::iter::once(heading).chain(rows).collect::<Vec<_>>())
}

/// Advice about a tool that cannot be called yet.
fn advice(tool: &HttpToolView) -> Option<String> {
    let name = argument(&tool.name);
    match &tool.state {
        HttpToolState::Waiting => {
            Some(format!("{name} is waiting for approval: `sandbridge http-tool approve {name}`"))
        }
        HttpToolState::Ready => {
            let missing = tool.secrets.iter().find(|secret| !secret.is_set)?;
            let secret = argument(&missing.name);
            Some(format!("{name} needs a secret: `sandbridge http-tool secret {name} {secret}`"))
        }
        HttpToolState::Shadowed | HttpToolState::Unknown(_) => None,
    }
}

fn state_words(state: &HttpToolState) -> &str {
    match state {
        HttpToolState::Ready => "ready",
        HttpToolState::Waiting => "waits",
        HttpToolState::Shadowed => "shadowed",
        HttpToolState::Unknown(word) => word,
    }
}

/// A text that others wrote, each line marked as theirs.
fn quoted(text: &str) -> impl Iterator<Item = String> + '_ {
    text.trim_end().split('\n').map(|line| format!("{QUOTE}{}", one_line(line)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_service_says_stays_in_its_place() {
        let tried = HttpToolTried {
            method: "GET".to_owned(),
            url: "https://a.example/".to_owned(),
            answer: "HTTP 200\nanswer:\u{1b}[2J".to_owned(),
            ..HttpToolTried::default()
        };
        assert_eq!(
            super::tried(&tried),
            "request: GET https://a.example/\nanswer:\n  | HTTP 200\n  | answer:\\u{1b}[2J"
        );
    }

    #[test]
    fn a_saved_tool_says_what_it_needs() {
        let saved = HttpToolSaved {
            dropped_secrets: vec!["OLD".to_owned()],
            missing_secrets: vec!["KEY".to_owned()],
        };
        let words = super::saved("weather", &saved);
        assert!(words.contains("OLD") && words.contains("http-tool secret weather KEY"), "{words}");
    }
}
