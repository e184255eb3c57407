use super::*;

fn problems(json: &str) -> Vec<String> {
    Document::parse(json, Origin::User, &[]).unwrap().problems.iter().map(Problem::to_string).collect()
}

#[test]
fn entries_are_texts_or_objects() {
    let json = r#"{"$schema": "x", "permissions": {"defaultMode": "plan", "deny": ["Bash(rm *)"],
        "allow": [{"rule": "Bash(npm run *)", "justification": "tests",
            "examples": {"matches": ["npm run x", "npm run"], "not_matches": ["npm install", "npm run x && rm y"]}}]}}"#;
    let document = Document::parse(json, Origin::User, &[]).unwrap();
    assert_eq!(document.problems, []);
    let rules: Vec<_> =
        document.rules.iter().map(|rule| (rule.id.as_str(), rule.effect, rule.rule.text())).collect();
    let expected = [("deny[0]", Effect::Deny, "Bash(rm *)"), ("allow[0]", Effect::Allow, "Bash(npm run *)")];
    assert_eq!(rules, expected);
    assert_eq!(document.rules[1].justification.as_deref(), Some("tests"));
}

#[test]
fn an_example_that_does_not_hold_refuses_its_rule() {
    let json = r#"{"deny": [{"rule": "Bash(rm *)", "examples": {"matches": ["rmdir x"]}},
        {"rule": "Edit(.env)", "examples": {"not_matches": ["a/.env"]}},
        {"rule": "WebFetch(domain:*.example.com)", "examples": {"matches": ["https://a.example.com/x"], "not_matches": ["example.com"]}},
        {"rule": "mcp__git", "examples": {"matches": ["mcp__git__push"], "not_matches": ["mcp__github__push"]}},
        {"rule": "Agent(scout)", "examples": {"matches": ["scout"]}}]}"#;
    assert_eq!(
        problems(json),
        [
            "deny[0] `Bash(rm *)`: its example `rmdir x` does not match; correct the rule or the example",
            "deny[1] `Edit(.env)`: its example `a/.env` matches, but must not; correct the rule or the example",
        ]
    );
}

#[test]
fn an_unparsable_line_is_no_match_of_an_ask_rule() {
    assert_eq!(
        problems(r#"{"ask": [{"rule": "Bash(make *)", "examples": {"not_matches": ["$X y"]}}]}"#),
        [""; 0]
    );
}

#[test]
fn entries_of_another_shape_are_named() {
    let json = r#"{"ask": [1, {"rules": "x"}, {"rule": "Read", "justification": 1}, {"rule": "Read", "examples": {"match": []}},
        {"rule": "Read", "examples": {"matches": [1]}}, "", "Read"]}"#;
    let found = problems(json);
    assert_eq!(found.len(), 6, "{found:#?}");
    assert!(found[0].starts_with("ask[0] ``: an entry must be"), "{found:#?}");
    assert!(found[5].starts_with("ask[5] ``: the rule is empty"), "{found:#?}");
    for json in ["", "[]", r#"{"permissions": []}"#, r#"{"deny": "Bash"}"#] {
        assert!(Document::parse(json, Origin::User, &[]).is_err(), "{json}");
    }
}

#[test]
fn a_workspace_that_allows_is_warned_about() {
    let document =
        Document::parse(r#"{"allow": ["Bash"], "deny": ["Read"]}"#, Origin::Workspace, &[]).unwrap();
    assert_eq!(document.rules.len(), 1);
    assert_eq!(document.problems[0].kind, ProblemKind::Warning(Warning::WorkspaceAllows));
}

#[test]
fn keys_that_would_lose_rules_are_errors() {
    let errors = |json: &str| {
        let problems = Document::parse(json, Origin::User, &[]).unwrap().problems;
        problems
            .iter()
            .filter(|problem| problem.kind.is_error())
            .map(|it| it.place.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        errors(r#"{"permissions": {"Deny": ["Bash"], "denied": [], "defaultMode": "plan"}}"#),
        ["Deny", "denied"]
    );
    assert_eq!(errors(r#"{"permissions": {"deny": ["Bash"], "deny": []}}"#), ["deny"]);
    assert_eq!(errors(r#"{"permissions": {"deny": ["Bash"]}, "permissions": {}}"#), ["permissions"]);
    assert_eq!(errors(r#"{"deny": ["Bash"], "d\u0065ny": []}"#), ["deny"]);
    assert_eq!(errors(r#"{"x": 1, "x": 2, "Deny": [], "permissions": {"deny": []}}"#), [""; 0]);
    assert_eq!(errors(r#"{"x": {"deny": 1, "deny": 2}, "Deny": [], "deny": []}"#), [""; 0]);
}
