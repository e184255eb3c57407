use super::*;
use crate::layer::LoadedRule;
use crate::rule::{Origin, Rule};

const PLACE: Place<'_> = Place { cwd: "/", root: None, home: None };

/// The work of comparing a line with ten rules that begin with this head, and the doubts.
fn worked(head: &str, line: &str) -> (usize, Vec<Doubt>) {
    let mut rules = Rules::default();
    for number in 0..10 {
        let rule = Rule::parse(&format!("Bash({head}*a*a*a*a*a*b{number}*)")).unwrap();
        let loaded = LoadedRule { id: String::new(), effect: Effect::Deny, rule, justification: None };
        rules.insert(Origin::User, loaded);
    }
    let (work, mut findings) = (Work::default(), Findings::default());
    rules.line_within(line, &PLACE, &mut findings, &work);
    (work.0.get(), findings.doubts)
}

#[test]
fn the_work_of_a_line_has_a_limit() {
    let line = format!("{}\"", "a ".repeat(32_000));
    let (work, doubts) = worked("", &line);
    assert!(work < 40 * line.len(), "{work}");
    assert_eq!(doubts, [Doubt::Unterminated("a double quote")]);
    let (work, doubts) = worked("a", &line);
    // Comparisons that are not made are counted, but nothing else.
    assert!(work > MATCH_BYTES && work < 20 * MATCH_BYTES + line.len(), "{work}");
    assert!(doubts.contains(&Doubt::TooMuchWork), "{doubts:?}");
}
