//! The time that a decision takes with 10,000 rules: `cargo run --release -p rules --example decide`.

use std::hint::black_box;
use std::time::Instant;

use rules::{Call, Effect, Layer, LoadedRule, Origin, PathAccess, Place, Rule, RuleSet, Subject};

const PLACE: Place<'_> = Place { cwd: "/work/src", root: Some("/work"), home: Some("/home/ann") };
const ROUNDS: u32 = 200;

/// 10,000 rules of all kinds; with `true`, of the kinds that are slowest to look up.
fn rules(slowest: bool) -> Vec<LoadedRule> {
    let effects = [Effect::Deny, Effect::Ask, Effect::Allow];
    let made = (0..10_000).map(|number| {
        let text = match (slowest, number % 6) {
            (false, 0) => format!("Bash(tool{number} sub *)"),
            (false, 1) => format!("Bash(git verb{number} *)"),
            (false, 2) => format!("Edit(/src/part{number}/**)"),
            (false, 3) => format!("Read(*.ending{number})"),
            (false, 4) => format!("WebFetch(domain:host{number}.example.com)"),
            (false, _) => format!("mcp__server{number}__tool"),
            (true, 0) => format!("Bash(git * --option{number})"),
            (true, 1) => format!("Bash(*{number})"),
            (true, 2) => format!("Edit(/src/*{number}.rs)"),
            (true, 3) => format!("Edit(**/part{number}/*.rs)"),
            (true, 4) => format!("Edit(*{number}.rs)"),
            (true, _) => format!("Bash(git commit -m x{number} *)"),
        };
        let rule = Rule::parse(&text).expect("the text above is a rule");
        LoadedRule { id: number.to_string(), effect: effects[number % 3], rule, justification: None }
    });
    made.collect()
}

fn main() {
    let long = "echo a b c && ".repeat(20) + "git status";
    let calls = [
        ("git commit -m 'a message' --all", None),
        ("cd x && git status | head -3 && sudo npm run build > /dev/null 2>&1", None),
        (long.as_str(), None),
        ("git \"not understood", None),
        ("src/a/b/c/d/main.rs", Some(PathAccess::Write)),
    ];
    for slowest in [false, true] {
        let begin = Instant::now();
        let set = RuleSet::new([Layer { origin: Origin::User, rules: rules(slowest) }]);
        println!(
            "{} rules, {}: made in {:?}",
            set.len(),
            if slowest { "the slowest" } else { "mixed" },
            begin.elapsed()
        );
        for (text, access) in calls {
            let subject = match access {
                None => Subject::Shell { line: text },
                Some(access) => Subject::Path { path: text, access },
            };
            let tool = if access.is_some() { "FileReplace" } else { "Shell" };
            let subjects = [subject];
            let call = Call { tool, subjects: &subjects, place: PLACE };
            let begin = Instant::now();
            for _ in 0..ROUNDS {
                black_box(set.decide(black_box(&call)));
            }
            let shown: String = text.chars().take(40).collect();
            println!("  {:>9.1?} a decision  {shown}", begin.elapsed() / ROUNDS);
        }
    }
}
