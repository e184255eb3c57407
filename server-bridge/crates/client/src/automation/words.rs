//! Automations and their runs as text.

use api::automation::{AutomationRun, AutomationSaved, AutomationView, Schedule};
use api::words::{AutomationKind, AutomationState, RunOutcome};

use crate::output::{ago, short_line, table, until};

/// The automations of one kind, as a table.
pub(super) fn list(kind: &AutomationKind, all: &[AutomationView]) -> String {
    if all.is_empty() {
        return match kind {
            AutomationKind::Trigger => {
                "there are no triggers; `sandbridge trigger add review --from github 'Look at this pull request.'` adds one"
            }
            _ => "there are no schedules; `sandbridge cron add morning --cron '0 9 * * 1-5' 'What is new?'` adds one",
        }
        .to_owned();
    }
    let heading = ["NAME", "STATE", "STARTED", "NEXT", "LAST RUN", "TEXT"].map(str::to_owned).to_vec();
    let rows = all.iter().map(|one| {
        let last = one.last_run.as_ref().map_or_else(
            || "never".to_owned(),
            |run| format!("{} {}", outcome(&run.outcome), ago(run.ended_at.unwrap_or(run.due_at))),
        );
        vec![
            one.name.clone(),
            state(one),
            started(one),
            one.next_at.map_or_else(|| "-".to_owned(), until),
            last,
            short_line(&one.automation.text),
        ]
    });
    table(&std::iter::once(heading).chain(rows).collect::<Vec<_>>())
}

fn state(one: &AutomationView) -> String {
    match (&one.state, &one.paused_because) {
        (AutomationState::Paused, Some(why)) => format!("paused: {}", short_line(why)),
        (state, _) => state.to_string(),
    }
}

fn started(one: &AutomationView) -> String {
    match (&one.automation.schedule, &one.automation.trigger) {
        (Some(Schedule { at, every, cron, zone }), _) => {
            let words = [
                at.as_ref().map(|at| format!("at {at}")),
                every.as_ref().map(|every| format!("every {every}")),
                cron.clone(),
                zone.as_ref().map(|zone| format!("({zone})")),
            ];
            words.into_iter().flatten().collect::<Vec<_>>().join(" ")
        }
        (None, Some(trigger)) => match trigger.events.is_empty() {
            true => format!("by {}", trigger.from),
            false => format!("by {}: {}", trigger.from, trigger.events.join(", ")),
        },
        (None, None) => "-".to_owned(),
    }
}

/// The runs of an automation, as a table.
pub(super) fn runs(name: &str, runs: &[AutomationRun]) -> String {
    if runs.is_empty() {
        return format!("{name} has not run yet");
    }
    let heading = ["NUMBER", "DUE", "OUTCOME", "CHAT", "REASON"].map(str::to_owned).to_vec();
    let rows = runs.iter().map(|run| {
        let times = match (run.times, &run.outcome) {
            (..=1, _) => String::new(),
            (times, RunOutcome::Refused) => format!(" ({times} times)"),
            // A repeated delivery is run once.
            (times, _) => format!(" (arrived {times} times)"),
        };
        vec![
            run.id.to_string(),
            ago(run.due_at),
            format!("{}{times}", outcome(&run.outcome)),
            run.chat_id.clone().unwrap_or_else(|| "-".to_owned()),
            short_line(&run.reason),
        ]
    });
    table(&std::iter::once(heading).chain(rows).collect::<Vec<_>>())
}

fn outcome(outcome: &RunOutcome) -> String {
    outcome.to_string()
}

/// The time of an automation's next run, as the rest of a sentence.
pub(super) fn next(one: &AutomationView) -> String {
    one.next_at.map_or_else(String::new, |at| format!("; its next run is {}", until(at)))
}

/// A saved automation, with the address and the secret of a new trigger.
pub(super) fn saved(server: &str, saved: &AutomationSaved) -> String {
    let one = &saved.automation;
    let mut lines = vec![format!("{} is saved{}", one.name, next(one))];
    if let Some(path) = &saved.delivery_path {
        lines.push(format!("address: {server}{path}"));
    }
    if let Some(secret) = &saved.secret {
        lines.push(format!("secret:  {secret}"));
    }
    if saved.delivery_path.is_some() || saved.secret.is_some() {
        lines.push("Enter them in the service that sends the events; they are not shown again.".to_owned());
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_trigger_shows_its_address_and_a_schedule_its_next_run() {
        let trigger = r#"{"automation": {"name": "review", "kind": "trigger", "automation": {"text": "Look.", "trigger": {"from": "github",
            "events": ["push"]}}, "state": "active", "paused_because": null, "next_at": null, "chat_id": null, "last_run": null,
            "created_at": 0}, "delivery_path": "/api/v1/deliveries/ab", "secret": "s3cret"}"#;
        let trigger: AutomationSaved = serde_json::from_str(trigger).unwrap();
        let words = saved("https://box.example", &trigger);
        assert!(
            words.contains("https://box.example/api/v1/deliveries/ab") && words.contains("s3cret"),
            "{words}"
        );
        let listed = list(&AutomationKind::Trigger, &[trigger.automation]);
        assert!(listed.contains("by github: push") && listed.contains("never"), "{listed}");
        assert!(list(&AutomationKind::Schedule, &[]).contains("sandbridge cron add"));
    }

    #[test]
    fn a_run_that_stands_for_several_says_so() {
        let run = r#"[{"id": 3, "outcome": "refused", "reason": "the signature is wrong", "times": 7, "chat_id": null, "message_id": null,
            "has_delivery": false, "due_at": 0, "ended_at": 0}]"#;
        let words = runs("review", &serde_json::from_str::<Vec<AutomationRun>>(run).unwrap());
        assert!(words.contains("refused (7 times)") && words.contains("signature"), "{words}");
        let words = runs(
            "review",
            &serde_json::from_str::<Vec<AutomationRun>>(&run.replace("refused", "done")).unwrap(),
        );
        assert!(words.contains("done (arrived 7 times)"), "{words}");
        assert!(runs("review", &[]).contains("not run yet"));
    }
}
