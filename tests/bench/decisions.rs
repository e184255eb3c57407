//! The time that one decision by 10,000 permission rules takes, in this process; the server makes such a decision before each tool call of a model.

use std::hint::black_box;
use std::time::{Duration, Instant};

use rules::{Call, Effect, Layer, LoadedRule, Origin, PathAccess, Place, Rule, RuleSet, Subject};

use crate::samples::{Row, Samples, WARM_UPS};

/// The number of rules in a set.
const RULES: usize = 10_000;
/// The number of decisions about each call.
const ROUNDS: usize = 400;
/// The limit on one decision.
const LIMIT: Duration = Duration::from_millis(1);

const PLACE: Place<'_> = Place { cwd: "/work/src", root: Some("/work"), home: Some("/home/ann") };

pub(crate) fn rows() -> Vec<Row> {
    let row = |rule, what| decided(&set(rule)).row_within(what, LIMIT);
    vec![
        row(mixed as fn(usize) -> String, "a decision of 10,000 rules of all kinds"),
        row(slowest, "a decision of 10,000 rules of the kinds that are slowest to look up"),
    ]
}

/// Returns the text of a rule that can be looked up by its literal beginning.
fn mixed(number: usize) -> String {
    match number % 6 {
        0 => format!("Bash(tool{number} sub *)"),
        1 => format!("Bash(git verb{number} *)"),
        2 => format!("Edit(/src/part{number}/**)"),
        3 => format!("Read(*.ending{number})"),
        4 => format!("WebFetch(domain:host{number}.example.com)"),
        _ => format!("mcp__server{number}__tool"),
    }
}

/// Returns the text of a rule that must be compared with many calls.
fn slowest(number: usize) -> String {
    match number % 6 {
        0 => format!("Bash(git * --option{number})"),
        1 => format!("Bash(*{number})"),
        2 => format!("Edit(/src/*{number}.rs)"),
        3 => format!("Edit(**/part{number}/*.rs)"),
        4 => format!("Edit(*{number}.rs)"),
        _ => format!("Bash(git commit -m x{number} *)"),
    }
}

fn set(rule: fn(usize) -> String) -> RuleSet {
    let effects = [Effect::Deny, Effect::Ask, Effect::Allow];
    let loaded = |number: usize| LoadedRule {
        id: number.to_string(),
        effect: effects[number % effects.len()],
        rule: Rule::parse(&rule(number)).unwrap(),
        justification: None,
    };
    let set = RuleSet::new([Layer { origin: Origin::User, rules: (0..RULES).map(loaded).collect() }]);
    assert_eq!(set.len(), RULES);
    set
}

/// Times decisions about several calls in turn.
fn decided(set: &RuleSet) -> Samples {
    let long = "echo a b c && ".repeat(20) + "git status";
    let line = |line| ("Shell", Subject::Shell { line });
    let calls = [
        line("git commit -m 'a message' --all"),
        line("cd x && git status | head -3 && sudo npm run build > /dev/null 2>&1"),
        line(&long),
        line("git \"not understood"),
        ("FileReplace", Subject::Path { path: "src/a/b/c/d/main.rs", access: PathAccess::Write }),
    ];
    let mut samples = Vec::new();
    for round in 0..ROUNDS + WARM_UPS {
        for (tool, subject) in &calls {
            let subjects = [*subject];
            let call = Call { tool, subjects: &subjects, place: PLACE };
            let begin = Instant::now();
            black_box(set.decide(black_box(&call)));
            let took = begin.elapsed();
            if round >= WARM_UPS {
                samples.push(took);
            }
        }
    }
    Samples::new(samples)
}
