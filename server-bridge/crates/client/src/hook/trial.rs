//! Texts about a trial of hooks.

use api::hooks::{HookTrialRun, HookTrialView};
use api::words::HookDecision;

use crate::extension::QUOTE;
use crate::output::{duration, one_line, short_line};

/// The decision, the handlers that ran with their output, and what did not run.
pub(super) fn words(view: &HookTrialView) -> String {
    let mut lines =
        vec![format!("event:    {}", one_line(&view.event)), format!("decision: {}", decision(view))];
    let mut named = |name: &str, texts: &[String]| {
        lines.extend(texts.iter().map(|text| format!("{:<10}{}", format!("{name}:"), one_line(text))));
    };
    named("reason", &view.reasons);
    named("context", &view.context);
    named("message", &view.messages);
    named("failure", &view.failures);
    named("arguments", view.arguments.as_slice());
    for run in &view.runs {
        lines.extend(handler(run));
    }
    lines
        .extend(view.left_out.iter().map(|left_out| format!("not run: {}", one_line(&left_out.to_string()))));
    if view.runs.is_empty() && view.left_out.is_empty() {
        lines.push(
            "no hook of this event applies to you; `sandbridge hook list` shows those that do".to_owned(),
        );
    }
    lines.join("\n")
}

fn decision(view: &HookTrialView) -> String {
    let words = match &view.decision {
        HookDecision::Allow => "allow: the action would run without asking you",
        HookDecision::Ask => "ask: you would be asked",
        HookDecision::Deny if view.may_block => "deny: the action would be blocked",
        HookDecision::Deny => "deny: nothing is stopped at this event; the reason would be shown",
        HookDecision::Stop => "stop: the turn would end",
        HookDecision::None => "none: the hooks would have no effect",
        HookDecision::Unknown(word) => word,
    };
    words.to_owned()
}

fn handler(run: &HookTrialRun) -> Vec<String> {
    let background = if run.in_background { ", in the background" } else { "" };
    let code = run.exit_code.map_or_else(String::new, |code| format!(", exit code {code}"));
    let mut lines = vec![
        String::new(),
        format!(
            "{} ({}{code}{background}, {})",
            one_line(&run.hook),
            one_line(&run.kind),
            duration(run.took_ms)
        ),
        format!("  {}", short_line(&run.action)),
        format!("  {}", one_line(&run.outcome)),
    ];
    for (name, text) in [("output", &run.output), ("errors", &run.errors)] {
        if !text.trim().is_empty() {
            lines.push(format!("  {name}:"));
            lines.extend(text.trim_end().split('\n').map(|line| format!("{QUOTE}{}", one_line(line))));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trial_shows_the_decision_and_what_each_handler_wrote() {
        let view = r#"{"event": "PreToolUse", "decision": "deny", "may_block": true, "reasons": ["your hooks (user): no"],
            "runs": [{"hook": "PreToolUse-0123", "origin": "your hooks", "kind": "command", "action": "./check", "outcome": "deny: no",
            "errors": "no\n\u001b[2J", "exit_code": 2, "in_background": false, "took_ms": 12}], "left_out": [{"origin": "X", "place": "", "text": "it waits"}]}"#;
        let words = words(&serde_json::from_str(view).unwrap());
        let expected = "event:    PreToolUse\ndecision: deny: the action would be blocked\nreason:   your hooks (user): no\n\n\
                        PreToolUse-0123 (command, exit code 2, 12 ms)\n  ./check\n  deny: no\n  errors:\n  | no\n  | \\u{1b}[2J\n\
                        not run: X: it waits";
        assert_eq!(words, expected);
    }
}
