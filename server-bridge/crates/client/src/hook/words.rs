//! Texts about hooks. Text from a workspace's file cannot imitate other output: anybody may have written the file.

use api::hooks::{HookList, HookRunView, HookView};
use api::words::{ExtensionLayer, HookState};

use crate::extension::{layer_words, short_hash, unseen, warning};
use crate::output;
use crate::output::{one_line, short_line};

/// The hooks that apply, and any problems.
pub(super) fn list(list: &HookList) -> String {
    let mut parts = vec![match list.hooks.as_slice() {
        [] => "there are no hooks; `sandbridge hook set FILE` sets yours".to_owned(),
        hooks => table(hooks),
    }];
    parts.extend(advice(&list.hooks));
    parts.extend(list.problems.iter().map(warning));
    if !list.callbacks.is_empty() {
        let names: Vec<String> = list.callbacks.iter().map(|callback| one_line(&callback.name)).collect();
        parts.push(format!("callbacks that a hook can name: {}", names.join(", ")));
    }
    parts.join("\n")
}

/// The result of setting the user's own document.
pub(super) fn set(list: &HookList) -> String {
    let own: Vec<&HookView> = list.hooks.iter().filter(|hook| hook.layer == ExtensionLayer::User).collect();
    let count = |state: &HookState| own.iter().filter(|hook| hook.state == *state).count();
    let (run, inert) = (count(&HookState::Runs), count(&HookState::Inert));
    let mut lines = vec![format!("your document of hooks was set; hooks of yours that run: {run}")];
    if inert > 0 {
        lines.push(format!(
            "warning: commands that do not run: {inert}; to enable them, put \"enable_command_hooks\": true in the document"
        ));
    }
    lines.extend(list.problems.iter().map(warning));
    lines.join("\n")
}

/// The newest runs, as a table.
pub(super) fn log(runs: &[HookRunView]) -> String {
    if runs.is_empty() {
        return "none of your hooks has run since the server was started".to_owned();
    }
    let heading = ["WHEN", "EVENT", "ACTION", "OUTCOME", "TOOK", "CHAT"].map(str::to_owned).to_vec();
    let rows = runs.iter().map(|run| {
        vec![
            output::ago(run.at),
            run.event.clone(),
            short_line(&run.action),
            short_line(&run.outcome),
            output::duration(run.took_ms),
            run.chat_id.clone(),
        ]
    });
    output::table(&std::iter::once(heading).chain(rows).collect::<Vec<_>>())
}

/// Everything that is approved with a hook.
pub(super) fn whole(hook: &HookView) -> String {
    let matcher = if hook.matcher.is_empty() { "everything".to_owned() } else { one_line(&hook.matcher) };
    let mut lines = vec![
        format!("event:   {}", one_line(&hook.event)),
        format!("matcher: {matcher}"),
        format!("file:    {} ({})", one_line(&hook.origin), layer_words(&hook.layer)),
        format!("hash:    {}", one_line(&hook.hash)),
        format!("{}:", one_line(&hook.kind)),
    ];
    lines.extend(hook.action.split('\n').map(|line| format!("  | {}", one_line(line))));
    lines.extend(hook.files.iter().map(|file| format!("covers:  {}", one_line(file))));
    lines.extend(unseen(&hook.unseen));
    lines.join("\n")
}

fn table(hooks: &[HookView]) -> String {
    let heading = ["HASH", "STATE", "EVENT", "MATCHER", "KIND", "ACTION", "SET BY", "FILE"];
    let rows = hooks.iter().map(|hook| {
        let matcher = if hook.matcher.is_empty() { "*".to_owned() } else { short_line(&hook.matcher) };
        vec![
            short_hash(&hook.hash),
            state_words(&hook.state).to_owned(),
            hook.event.clone(),
            matcher,
            hook.kind.clone(),
            short_line(&hook.action),
            layer_words(&hook.layer).to_owned(),
            short_line(&hook.origin),
        ]
    });
    output::table(&std::iter::once(heading.map(str::to_owned).to_vec()).chain(rows).collect::<Vec<_>>())
}

/// Advice about hooks that do not run.
fn advice(hooks: &[HookView]) -> Vec<String> {
    let has = |state: &HookState| hooks.iter().any(|hook| hook.state == *state);
    let mut lines = Vec::new();
    if has(&HookState::Waiting) {
        lines.push("to let a waiting hook run, approve it: `sandbridge hook approve HASH`".to_owned());
    }
    if has(&HookState::Inert) {
        lines.push(
            "a command that is not enabled needs \"enable_command_hooks\": true in its file".to_owned(),
        );
    }
    lines
}

fn state_words(state: &HookState) -> &str {
    match state {
        HookState::Runs => "runs",
        HookState::Waiting => "waits",
        HookState::Inert => "not enabled",
        HookState::Unknown(word) => word,
    }
}

#[cfg(test)]
pub(super) mod tests {
    use api::problem::Problem;

    use super::*;

    pub(in crate::hook) fn hook(hash: &str, layer: &str, state: &str) -> HookView {
        let json = format!(
            r#"{{"id": "PreToolUse-{hash}", "hash": "{hash}", "event": "PreToolUse", "matcher": "Shell", "kind": "command",
                "action": "./check.sh", "layer": "{layer}", "origin": ".sandbridge/hooks.json", "state": "{state}"}}"#
        );
        serde_json::from_str(&json).unwrap()
    }

    pub(in crate::hook) fn waiting(hash: &str) -> HookView {
        hook(hash, "workspace", "waiting")
    }

    #[test]
    fn the_list_says_what_to_do_about_hooks_that_do_not_run() {
        let hooks = vec![
            hook("0123456789abcdef", "user", "runs"),
            waiting("fedcba9876543210"),
            hook("aaaaaaaaaaaaaaaa", "workspace-local", "inert"),
        ];
        let words = list(&HookList {
            hooks,
            problems: vec![Problem::of("hooks.json", "not\nread")],
            callbacks: Vec::new(),
        });
        let lines: Vec<_> = words.lines().collect();
        assert!(lines[1].starts_with("0123456789ab  runs") && lines[1].contains("  you  "), "{words}");
        assert!(lines[2].starts_with("fedcba987654  waits") && lines[2].contains("  workspace  "), "{words}");
        assert!(lines[3].contains("not enabled") && lines[3].contains("workspace (local)"), "{words}");
        assert!(
            lines[4].contains("sandbridge hook approve") && lines[5].contains("enable_command_hooks"),
            "{words}"
        );
        assert_eq!(lines[6..], [r"warning: hooks.json: not\nread"]);
        let words = list(&HookList::default());
        assert_eq!(words, "there are no hooks; `sandbridge hook set FILE` sets yours");
    }

    #[test]
    fn a_document_that_was_set_names_its_commands_that_do_not_run() {
        let hooks = vec![
            hook("00", "user", "runs"),
            hook("01", "managed", "runs"),
            hook("02", "user", "inert"),
            waiting("03"),
        ];
        let words = set(&HookList { hooks, ..HookList::default() });
        assert_eq!(
            words,
            "your document of hooks was set; hooks of yours that run: 1\nwarning: commands that do not run: 1; to enable them, \
             put \"enable_command_hooks\": true in the document"
        );
    }

    #[test]
    fn an_approval_shows_the_whole_action_and_nothing_leaves_its_place() {
        let mut hook = waiting("0123");
        hook.action = format!("ls {}\nhash:    9999\u{202e}\u{1b}[2J\u{200b}", "x".repeat(300));
        hook.matcher = String::new();
        let words = whole(&hook);
        let expected = format!(
            "event:   PreToolUse\nmatcher: everything\nfile:    .sandbridge/hooks.json (workspace)\nhash:    0123\ncommand:\n  | ls \
             {}\n  | hash:    9999\\u{{202e}}\\u{{1b}}[2J\\u{{200b}}",
            "x".repeat(300)
        );
        assert_eq!(words, expected);
        // A list shows only the beginning of the command, on one line.
        let words = list(&HookList { hooks: vec![hook], ..HookList::default() });
        assert!(words.lines().count() == 3 && words.contains("xxx…  workspace"), "{words}");
    }

    #[test]
    fn a_run_is_a_line() {
        let runs = r#"[{"at": 0, "chat_id": "c1", "hook": "PreToolUse-01", "event": "PreToolUse", "action": "./check.sh",
            "outcome": "deny: no\nway", "took_ms": 1200}]"#;
        let words = log(&serde_json::from_str::<Vec<HookRunView>>(runs).unwrap());
        let lines: Vec<_> = words.lines().collect();
        assert!(lines.len() == 2 && lines[1].contains(r"./check.sh  deny: no\nway  1.2 s  c1"), "{words}");
        assert!(log(&[]).starts_with("none of your hooks"));
    }
}
