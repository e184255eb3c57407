//! A turn that is resumed after a restart does not carry out a call that a rule denies, in any mode: neither if the chat's own agent
//! makes the call, nor if a sub-agent does.

use agent::approval::Mode;
use api::rules::NewRule;
use api::words::RuleEffect;
use serde_json::json;
use tests::{Asked, Reply, ScriptedModel};

use super::sub_agents::{RecoveryTest, is_child};
use super::*;

/// A command that runs at once in every mode, because a rule allows it. The server is killed while it waits.
const ALLOWED: &str = "out:before wait out:after";

/// The next command of the same answer, which has not begun when the server is killed.
const DENIED: &str = "append:log:x";

/// An agent that runs both commands and repeats their results: the chat's own agent, or a sub-agent of it.
fn runs_both(is_delegated: bool) -> impl FnMut(&Asked) -> Reply + Send + 'static {
    let run = |command: &str| ("Shell", json!({"command": command}));
    move |asked| match asked.results().len() {
        0 if is_delegated && !is_child(asked) => Reply::Call(vec![("SubAgent", json!({"task": "work"}))]),
        0 => Reply::Call(vec![run(ALLOWED), run(DENIED)]),
        _ => Reply::Say(format!("got: {}", asked.results().join(" | "))),
    }
}

async fn add_rule(bench: &Bench, effect: RuleEffect, rule: &str) {
    let new = NewRule { effect, rule: rule.to_owned(), ..NewRule::default() };
    bench.service.add_rule(&bench.user, &new).await.unwrap();
}

#[tokio::test]
async fn a_denial_that_came_while_no_server_was_there_holds_in_every_mode_and_for_a_sub_agent() {
    for is_delegated in [false, true] {
        for mode in Mode::ALL {
            let model = ScriptedModel::start(runs_both(is_delegated));
            let allows = async |bench: &Bench| {
                add_rule(bench, RuleEffect::Allow, &format!("Bash({ALLOWED})")).await;
            };
            let mut test = RecoveryTest::begin_after(&model, mode, allows).await;
            assert_eq!(test.runner.started.recv().await.unwrap(), ALLOWED, "{mode}");
            let denies = async |bench: &Bench| add_rule(bench, RuleEffect::Deny, "Bash(append*)").await;
            let mut next = test.next_after(&model, mode, denies).await;
            next.runner.release();
            let (status, text) = next.told().await;
            assert_eq!(status, "done", "{mode}, {is_delegated}: {text}");
            assert!(text.contains("beforeafter"), "{mode}, {is_delegated}: {text}");
            let rules = next.bench.service.rules(&next.bench.user).await.unwrap();
            let deny =
                rules.iter().find(|rule| rule.id.is_some() && rule.effect == RuleEffect::Deny).unwrap();
            assert_eq!(deny.hits, Some(1), "{mode}, {is_delegated}: {text}");
            assert!(
                text.contains("denied by the user's rule `Bash(append*)`"),
                "{mode}, {is_delegated}: {text}"
            );
            assert_eq!(next.runner.files.content("log"), None, "{mode}, {is_delegated}");
            assert!(next.runner.started.try_recv().is_err(), "{mode}, {is_delegated}: nothing else was sent");
        }
    }
}
