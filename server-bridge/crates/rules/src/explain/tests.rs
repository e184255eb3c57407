use super::*;
use crate::call::{Place, Subject};
use crate::document::Document;
use crate::layer::Layer;
use crate::rule::Origin;

fn explained(line: &str) -> (Option<Effect>, Vec<String>) {
    let json = r#"{"deny": ["Bash(rm *)"], "allow": ["Bash(git *)", "Bash(sudo git *)", "Edit(/out/**)"]}"#;
    let rules = Document::parse(json, Origin::User, &[]).unwrap().rules;
    let set = RuleSet::new([Layer { origin: Origin::User, rules }]);
    let place = Place { cwd: "/work", root: Some("/work"), home: None };
    let explanation = set.explain(&Call { tool: "Shell", subjects: &[Subject::Shell { line }], place });
    (explanation.decision.verdict, explanation.parts.into_iter().map(|part| part.reason).collect())
}

#[test]
fn each_part_has_its_sentence() {
    let (verdict, reasons) = explained("sudo git pull > out/log && make && find . -exec rm {} +");
    assert_eq!(verdict, Some(Effect::Deny));
    let expected = [
        "`sudo git pull` is allowed by the user's rule `Bash(sudo git *)`.",
        "No rule matches `make`.",
        "No rule matches `find . -exec rm {} +`.",
        "`git pull` is allowed by the user's rule `Bash(git *)`.",
        "`rm {} +` is denied by the user's rule `Bash(rm *)`.",
        "No rule matches `out/log`.",
    ];
    assert_eq!(reasons, expected);
}

#[test]
fn a_line_that_is_not_understood_is_named() {
    let (verdict, reasons) = explained("git status \"");
    assert_eq!(verdict, Some(Effect::Ask));
    assert_eq!(reasons.last().unwrap(), "The line cannot be parsed: a double quote is unfinished.");
}
