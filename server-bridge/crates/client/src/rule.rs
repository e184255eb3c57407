//! `sandbridge rule`: the user's permission rules.

use std::process::ExitCode;

use api::rules::{NewRule, RuleTrial, RuleTrialView, RuleView};
use api::words::{RuleEffect, RuleOrigin, RuleVerdict};
use clap::{Parser, ValueEnum};
use serde::Serialize;

use super::failure::Failure;
use super::http::Client;
use super::output;
use super::output::both;
use crate::command::{Command, block_on};
use crate::globals::Globals;

/// Manage the rules that allow or deny a model's tool calls
#[derive(Parser)]
pub(crate) enum RuleCommand {
    /// List the rules that apply to you
    List,
    /// Add a rule
    Add {
        /// The rule's effect on the calls that match it
        #[arg(value_enum)]
        effect: Effect,
        /// The calls: a tool, or a tool with a pattern, such as 'Shell(git push *)', 'Read(.env)' or 'Fetch(domain:example.com)'
        rule: String,
        /// The reason, shown to you and given to the model
        #[arg(long, value_name = "TEXT")]
        because: Option<String>,
        /// Only in this chat
        #[arg(long, value_name = "ID")]
        chat: Option<String>,
    },
    /// Remove a rule of yours
    Remove {
        /// The rule's number, as `sandbridge rule list` shows it
        number: i64,
    },
    /// Test what the rules would do with a call, without running it
    Test {
        /// The tool, such as Shell, Read, FileReplace or Fetch
        tool: String,
        /// The command line, path or address
        #[arg(default_value = "")]
        subject: String,
        /// With the rules of this chat
        #[arg(long, value_name = "ID")]
        chat: Option<String>,
    },
}

/// The effect of a rule.
#[derive(Clone, Copy, ValueEnum)]
pub(super) enum Effect {
    /// The call is denied in every mode, and the model gets the reason
    Deny,
    /// You are asked each time, even in full mode
    Ask,
    /// You are not asked, except where approval is needed each time; what plan mode denies stays denied
    Allow,
}

impl From<Effect> for RuleEffect {
    fn from(effect: Effect) -> Self {
        match effect {
            Effect::Deny => Self::Deny,
            Effect::Ask => Self::Ask,
            Effect::Allow => Self::Allow,
        }
    }
}

impl Command for RuleCommand {
    const NAME: &'static str = "rule";

    fn run(self, globals: &Globals) -> Result<ExitCode, Failure> {
        block_on(run(globals, self))
    }
}

/// A removed rule, for `--json`.
#[derive(Serialize)]
struct Removed {
    id: i64,
}

async fn run(globals: &Globals, command: RuleCommand) -> Result<ExitCode, Failure> {
    let session = globals.session()?;
    let mut client = Client::new(&session)?;
    let (line, words) = match command {
        RuleCommand::List => {
            let rules = client.rules().await?;
            both(&rules, list_words(&rules))
        }
        RuleCommand::Add { effect, rule, because, chat } => {
            let new = NewRule { effect: effect.into(), rule, justification: because, chat_id: chat };
            let added = client.add_rule(&new).await?;
            both(&added, added_words(&added))
        }
        RuleCommand::Remove { number } => {
            client.remove_rule(number).await?;
            both(&Removed { id: number }, format!("rule {number} was removed"))
        }
        RuleCommand::Test { tool, subject, chat } => {
            let view = client.try_rules(&RuleTrial { tool, subject, chat_id: chat }).await?;
            both(&view, trial_words(&view))
        }
    };
    output::line(if globals.json { &line } else { &words });
    Ok(ExitCode::SUCCESS)
}

fn added_words(added: &RuleView) -> String {
    let number = added.id.unwrap_or_default();
    let first = format!("rule {number} was added: {} {}", added.effect, added.rule);
    let warnings = added.warnings.iter().map(|warning| format!("warning: {warning}"));
    std::iter::once(first).chain(warnings).collect::<Vec<_>>().join("\n")
}

fn list_words(rules: &[RuleView]) -> String {
    if rules.is_empty() {
        return "there are no rules; `sandbridge rule add deny 'Shell(git push *)'` adds one".to_owned();
    }
    let heading =
        ["NUMBER", "EFFECT", "RULE", "ORIGIN", "USED", "LAST USED", "REASON"].map(str::to_owned).to_vec();
    let rows = rules.iter().map(|rule| {
        let number = rule.id.map_or_else(|| "-".to_owned(), |id| id.to_string());
        let used = rule.hits.map_or_else(|| "-".to_owned(), |hits| hits.to_string());
        let last = match (rule.last_hit_at, rule.id) {
            (Some(at_ms), _) => output::ago(at_ms),
            (None, Some(_)) => "never".to_owned(),
            (None, None) => "-".to_owned(),
        };
        let reason = std::iter::once(rule.justification.clone())
            .filter(|reason| !reason.is_empty())
            .chain(rule.warnings.iter().map(|warning| format!("warning: {warning}")));
        vec![
            number,
            rule.effect.to_string(),
            rule.rule.clone(),
            rule_origin(rule),
            used,
            last,
            reason.collect::<Vec<_>>().join("; "),
        ]
    });
    output::table(&std::iter::once(heading).chain(rows).collect::<Vec<_>>())
}

/// Who made a rule, with its chat or file.
fn rule_origin(rule: &RuleView) -> String {
    let origin = origin_words(&rule.origin);
    match rule.chat_id.as_ref().or(rule.file.as_ref()) {
        Some(place) => format!("{origin} {}", output::one_line(place)),
        None => origin.to_owned(),
    }
}

fn origin_words(origin: &RuleOrigin) -> &str {
    match origin {
        RuleOrigin::Managed => "administrator",
        RuleOrigin::BuiltIn => "built in",
        RuleOrigin::User => "you",
        RuleOrigin::Chat => "chat",
        RuleOrigin::Workspace => "workspace",
        RuleOrigin::Unknown(word) => word,
    }
}

fn trial_words(view: &RuleTrialView) -> String {
    let verdict = match &view.verdict {
        RuleVerdict::Deny => "denied",
        RuleVerdict::Ask => "asked about",
        RuleVerdict::Allow => "allowed",
        RuleVerdict::Mode => "left to the chat's approval mode",
        RuleVerdict::Unknown(word) => word,
    };
    let mut lines = vec![format!("{verdict}: {}", view.reason)];
    for part in &view.parts {
        lines.push(format!("  {}", part.text));
        lines.extend(
            part.matches.iter().map(|found| {
                format!("    {} {} ({})", found.effect, found.rule, origin_words(&found.origin))
            }),
        );
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_of_the_administrator_has_no_number_and_no_count() {
        let rules = r#"[
            {"id": null, "origin": "managed", "effect": "deny", "rule": "Fetch", "justification": "no internet", "warnings": [],
             "created_at": null, "hits": null, "last_hit_at": null},
            {"id": 7, "origin": "user", "effect": "allow", "rule": "Shell(ls *)", "justification": "", "warnings": ["too wide"],
             "created_at": 0, "hits": 0, "last_hit_at": null}
        ]"#;
        let words = list_words(&serde_json::from_str::<Vec<RuleView>>(rules).unwrap());
        let lines: Vec<_> = words.lines().collect();
        assert!(
            lines[1].starts_with('-')
                && lines[1].contains("administrator")
                && lines[1].contains("no internet"),
            "{words}"
        );
        assert!(
            lines[2].starts_with('7') && lines[2].contains("never") && lines[2].contains("warning: too wide"),
            "{words}"
        );
        assert!(list_words(&[]).contains("sandbridge rule add"));
    }

    #[test]
    fn a_trial_says_which_rule_matches_which_part() {
        let view = r#"{"verdict": "deny", "reason": "a rule of yours denies it", "decided_by": null, "parts": [
            {"text": "git push", "matches": [{"origin": "user", "effect": "deny", "rule": "Shell(git push *)"}]},
            {"text": "ls", "matches": []}]}"#;
        let words = trial_words(&serde_json::from_str(view).unwrap());
        assert_eq!(
            words,
            "denied: a rule of yours denies it\n  git push\n    deny Shell(git push *) (you)\n  ls"
        );
    }
}
