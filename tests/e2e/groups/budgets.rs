//! Budgets of chains: no request to a model is made once the budget is used up, except the one with which an agent ends its answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Value, json};
use tests::{Asked, Reply, eventually};

use super::tools::fresh;
use super::{PATIENCE, Team, handle};
use crate::agent_subagents::is_child;

/// The tokens that one request to the scripted model counts for: 100 of input, 10 of output.
const REQUEST_TOKENS: i64 = 110;

/// The number of runs, from the environment; `scripts/soak` sets 100.
fn runs() -> u64 {
    std::env::var("SANDBRIDGE_BUDGET_RUNS").ok().and_then(|count| count.parse().ok()).unwrap_or(15)
}

/// Waits until a run asks a person or has ended.
fn until_settled(team: &Team, run: &Value) -> Value {
    eventually("the run asks or ends", PATIENCE, || {
        let shown = team.run(run);
        (!shown["gate"].is_null() || !shown["ended_at"].is_null()).then_some(shown)
    })
}

/// The tokens that each answer of a run used, in the order of the steps.
fn used(team: &Team, run: &Value) -> Vec<i64> {
    let mut calls: Vec<_> = team.calls().into_iter().filter(|call| call["run_id"] == *run).collect();
    calls.sort_by_key(|call| call["id"].as_i64());
    calls.iter().map(|call| call["tokens"].as_i64().unwrap()).collect()
}

#[test]
fn a_run_exceeds_its_budget_by_one_answer_at_most() {
    let requests = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&requests);
    // An answer takes one request, or two with a tool between them.
    let team = Team::new(move |asked| {
        let is_more = counted.fetch_add(1, Ordering::Relaxed) % 5 < 3;
        let after_tool = asked.body["messages"].as_array().unwrap().last().unwrap()["role"] == "tool";
        match is_more && !after_tool {
            true => Reply::Call(vec![("Shell", json!({"command": "true"}))]),
            false => Reply::Say("said".to_owned()),
        }
    });
    let mut asked = 0;
    for run in 0..runs() {
        let steps: String =
            (1..=2 + run % 4).map(|number| format!("{number}. @coder: part {number}\n")).collect();
        let budget = 1 + i64::try_from(run * 137 % 800).unwrap();
        let run = team.begin(&format!("{steps}budget: {budget} tokens\n"));
        let shown = until_settled(&team, &run);
        let used = used(&team, &run);
        let (last, before) = used.split_last().unwrap();
        let before: i64 = before.iter().sum();
        assert!(before < budget, "an answer began after {before} of {budget} tokens: {shown}");
        assert_eq!(shown["tokens"], before + last);
        if shown["gate"].is_null() {
            assert_eq!(
                (&shown["state"], used.len()),
                (&json!("done"), shown["steps"].as_array().unwrap().len())
            );
            continue;
        }
        asked += 1;
        assert_eq!(shown["gate"]["kind"], "budget", "{shown}");
        assert!(before + last >= budget, "{shown}");
        team.alice(&["chain", "stop", &team.group, &run.to_string()]);
    }
    assert!(asked > 0);
}

#[test]
fn many_agents_at_once_exceed_a_budget_by_one_request_and_their_last_ones() {
    const BRANCHES: i64 = 8;
    /// The requests that fit, of which the last one uses the budget up.
    const REQUESTS: i64 = 20;
    const BUDGET: i64 = REQUESTS * REQUEST_TOKENS - 1;
    // The coder asks the others at once. All of them would work for ever, and end when they are told that they make their last request.
    let names: Vec<_> = (1..=BRANCHES).map(|number| format!("helper{number}")).collect();
    let helpers = names.clone();
    let team = Team::new(move |asked: &Asked| {
        let body = asked.body.to_string();
        let is_last = body.contains("this is your last request");
        let is_stubborn = body.contains("never end");
        if is_last && !is_stubborn {
            return Reply::Say("ended".to_owned());
        }
        let is_asked = asked.body["messages"].as_array().unwrap().last().unwrap()["role"] == "user";
        if handle(asked) == "coder" && is_asked && !is_stubborn {
            let ask = |to: &String| ("SendMessage", json!({"to": to, "message": "go", "background": true}));
            return Reply::Call(helpers.iter().map(ask).collect());
        }
        Reply::Call(vec![("Shell", json!({"command": "true"}))])
    });
    for name in &names {
        team.alice(&["add-agent", &team.group, name, "--on", "laptop", "--approval", "full"]);
    }
    for round in 0..runs().min(3) {
        let before = team.calls().len();
        let run = team.begin(&format!("1. @coder: begin\n2. @coder: end\nbudget: {BUDGET} tokens\n"));
        let gate = team.until_run(&run, "asking")["gate"].clone();
        assert_eq!((&gate["kind"], &gate["step"]), (&json!("budget"), &json!(1)), "{gate}");
        let mut calls = eventually("nothing is under way", PATIENCE, || {
            let calls = team.calls();
            calls.iter().all(|call| !call["ended_at"].is_null()).then_some(calls)
        });
        calls.truncate(calls.len().saturating_sub(before));
        for call in calls.iter().filter(|call| call["run_id"].is_null()) {
            let is_ended = call["state"] == "done" && call["tokens"].as_i64() > Some(REQUEST_TOKENS);
            let is_refused =
                call["reason"] == "the budget of the chain's run is used up" && call["tokens"] == 0;
            assert!(is_ended || is_refused, "round {round}: {call}");
        }
        let requests = team.run(&run)["tokens"].as_i64().unwrap() / REQUEST_TOKENS;
        assert!((REQUESTS..=REQUESTS + 1 + BRANCHES).contains(&requests), "round {round}: {requests}");
        team.alice(&["chain", "stop", &team.group, &run.to_string()]);
    }
    // An agent that does not end with its last request has not answered: a person decides if it gets more.
    let run = team.begin(&format!("1. @coder: never end\nbudget: {REQUEST_TOKENS} tokens\n"));
    let shown = team.until_run(&run, "asking");
    let gate = &shown["gate"];
    assert_eq!((&gate["kind"], &gate["step"]), (&json!("budget"), &json!(0)), "{gate}");
    let question = gate["question"].as_str().unwrap();
    assert!(question.contains("used up during step 1 (@coder): 220 tokens"), "{question}");
    team.answer(&team.world.alice, gate, &["stop"]);
    team.until_run(&run, "stopped");
}

#[test]
fn an_increased_budget_applies_to_all_agents_of_the_run() {
    let team = Team::new(|asked: &Asked| {
        let messages = asked.body["messages"].as_array().unwrap();
        let is_asked = messages.last().unwrap()["role"] == "user";
        match handle(asked) == "coder" && asked.last_of_user().contains("ask the writer") && is_asked {
            true => Reply::Call(vec![("SendMessage", json!({"to": "writer", "message": "go"}))]),
            false if handle(asked) == "writer" => Reply::Say("written".to_owned()),
            false => Reply::Say(messages.last().unwrap()["content"].as_str().unwrap_or("said").to_owned()),
        }
    });
    team.of(&team.bob, &["grant", &team.group, "writer", "alice", "--mode", "own"]);
    let run = team.begin("1. @coder: one\n2. @coder: ask the writer\nbudget: 110 tokens\n");
    let gate = team.until_run(&run, "asking")["gate"].clone();
    assert_eq!(gate["kind"], "budget", "{gate}");
    team.answer(&team.world.alice, &gate, &["more"]);
    // The coder's request uses up the second part of the budget, so the coder asks nobody, and reports that.
    let shown = team.until_run(&run, "done");
    let output = shown["steps"][1]["output"].as_str().unwrap();
    assert!(output.contains("the budget of the chain's run is used up"), "{shown}");

    let run = team.begin("1. @coder: one\n2. @coder: ask the writer\nbudget: 150 tokens\n");
    let shown = team.until_run(&run, "done");
    assert!(shown["steps"][1]["output"].as_str().unwrap().contains("is used up"), "220 of 150: {shown}");
    let run = team.begin("1. @coder: one\n2. @coder: two\n3. @coder: ask the writer\nbudget: 170 tokens\n");
    let gate = team.until_run(&run, "asking")["gate"].clone();
    team.answer(&team.world.alice, &gate, &["more"]);
    // 330 of 2 × 170 tokens are used when the writer is asked.
    let shown = team.until_run(&run, "done");
    assert!(shown["steps"][2]["output"].as_str().unwrap().contains("written"), "{shown}");
    assert_eq!(team.said().iter().filter(|(who, _)| who == "writer").count(), 1);
}

#[test]
fn sub_agents_share_the_rest_of_the_budget_and_their_tokens_count() {
    // A sub-agent that would work forever: each of its requests calls a tool. The coder repeats its result.
    let team = Team::with(
        |asked: &Asked| match (is_child(asked), fresh(asked).as_slice()) {
            (true, _) => Reply::Call(vec![("Shell", json!({"command": "true"}))]),
            (false, []) if asked.last_of_user().contains("dig") => {
                Reply::Call(vec![("SubAgent", json!({"task": "dig"}))])
            }
            (false, results) => Reply::Say(format!("said {}", results.join(" | "))),
        },
        &["--llm-price", "scripted=100/100"],
    );
    let requests = || team.world.model.asked().iter().filter(|asked| is_child(asked)).count();
    // The coder makes one request and its sub-agent two, of which the second one exhausts the budget. Then the coder ends its
    // answer.
    for budget in [format!("{} tokens", 3 * REQUEST_TOKENS - 1), "$0.025".to_owned()] {
        let before = requests();
        let run = team.begin(&format!("1. @coder: dig\n2. @coder: end\nbudget: {budget}\n"));
        let shown = team.until_run(&run, "asking");
        assert_eq!(
            (&shown["gate"]["kind"], &shown["gate"]["step"]),
            (&json!("budget"), &json!(1)),
            "{shown}"
        );
        let output = shown["steps"][0]["output"].as_str().unwrap();
        assert!(output.contains("did not finish: the budget of the chain's run is used up"), "{output}");
        assert_eq!(requests() - before, 2, "{shown}");
        assert_eq!(
            (&shown["tokens"], &shown["steps"][0]["tokens"]),
            (&json!(4 * REQUEST_TOKENS), &shown["tokens"])
        );
        assert!(shown["cost_micro_usd"].as_i64() >= Some(40_000), "{shown}");
        assert_eq!(used(&team, &run), [4 * REQUEST_TOKENS]);
        team.alice(&["chain", "stop", &team.group, &run.to_string()]);
    }
    // If the coder itself has exhausted the budget, its sub-agent makes no request.
    let before = requests();
    let run = team.begin(&format!("1. @coder: dig\nbudget: {REQUEST_TOKENS} tokens\n"));
    let shown = team.until_run(&run, "done");
    assert!(shown["steps"][0]["output"].as_str().unwrap().contains("is used up"), "{shown}");
    assert_eq!((requests(), &shown["tokens"]), (before, &json!(2 * REQUEST_TOKENS)));
}

#[test]
fn a_budget_in_money_has_no_effect_without_a_known_price() {
    let say = |_: &Asked| Reply::Say("said".to_owned());
    let team = Team::new(say);
    let run = team.begin("1. @coder: one\n2. @coder: two\n3. @coder: three\nbudget: $0.01\n");
    let shown = team.until_run(&run, "done");
    assert_eq!((&shown["cost_micro_usd"], &shown["tokens"]), (&json!(0), &json!(3 * REQUEST_TOKENS)));
    let run = team.begin("1. @coder: one\n2. @coder: two\n3. @coder: three\nbudget: 200 tokens, $0.01\n");
    let gate = team.until_run(&run, "asking")["gate"].clone();
    assert_eq!((&gate["kind"], &gate["step"]), (&json!("budget"), &json!(2)), "{gate}");
    assert!(gate["question"].as_str().unwrap().contains("220 tokens, $0.00"), "{gate}");

    // At $100 for a million tokens an answer costs a cent or more.
    let team = Team::with(say, &["--llm-price", "scripted=100/100"]);
    let run = team.begin("1. @coder: one\n2. @coder: two\n3. @coder: three\nbudget: $0.01\n");
    let shown = team.until_run(&run, "asking");
    assert_eq!((&shown["gate"]["kind"], &shown["gate"]["step"]), (&json!("budget"), &json!(1)), "{shown}");
    assert!(shown["cost_micro_usd"].as_i64() >= Some(10_000), "{shown}");
}
