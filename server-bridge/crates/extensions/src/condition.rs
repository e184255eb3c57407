//! Conditions of hooks in the grammar of permission rules: a shell line is split into its commands.

use hooks::condition::{Call, Condition, Globs};
use rules::{Effect, Layer, LoadedRule, Origin, PathAccess, Place, Rule, RuleSet, Subject};
use serde_json::{Map, Value};

/// The grammar of permission rules. A condition that is not a rule is a glob that is compared with the call's subject.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Grammar;

impl Condition for Grammar {
    fn check(&self, condition: &str) -> Result<(), String> {
        match Rule::parse(condition) {
            Ok(_) => Ok(()),
            Err(error) => Globs.check(condition).map_err(|why| format!("{why} ({error})")),
        }
    }

    fn holds(&self, condition: &str, call: &Call) -> bool {
        let Ok(rule) = Rule::parse(condition) else { return Globs.holds(condition, call) };
        // A deny rule matches any part of a call, and also a call that cannot be parsed.
        let loaded = LoadedRule { id: String::new(), effect: Effect::Deny, rule, justification: None };
        let set = RuleSet::new([Layer { origin: Origin::User, rules: vec![loaded] }]);
        let subjects = subjects(&call.tool, &call.input);
        let place = Place { cwd: "/", root: Some("/"), home: None };
        set.decide(&rules::Call { tool: &call.tool, subjects: &subjects, place }).verdict.is_some()
    }
}

/// The subjects of a call: the arguments that name what it acts on.
fn subjects<'a>(tool: &str, input: &'a Map<String, Value>) -> Vec<Subject<'a>> {
    let text = |name: &str| input.get(name).and_then(Value::as_str);
    if tool == "DownloadFile" {
        let path = text("path").map(|path| Subject::Path { path, access: PathAccess::Write });
        let from = text("url").and_then(|url| Subject::of(tool, url));
        return from.into_iter().chain(path).collect();
    }
    let named = ["command", "path", "url", "role", "name"].into_iter().find_map(text);
    named.and_then(|text| Subject::of(tool, text)).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn call(tool: &str, input: Value) -> Call {
        let Value::Object(input) = input else { panic!() };
        Call { tool: tool.to_owned(), input, id: String::new() }
    }

    #[test]
    fn a_condition_sees_what_a_line_hides() {
        let commits =
            |line: &str| Grammar.holds("Shell(git commit *)", &call("Shell", json!({"command": line})));
        for line in [
            "git commit -m x",
            "cd a && git commit",
            "sh -c 'git commit -a'",
            "echo $(git commit)",
            "$X commit",
        ] {
            assert!(commits(line), "{line}");
        }
        assert!(!commits("git status") && !commits("echo git commit"));
        assert!(
            Grammar.holds("Bash(*git commit*)", &call("Shell", json!({"command": "true; git commit -a"})))
        );
        assert!(Grammar.holds("Edit(*.rs)", &call("FileReplace", json!({"path": "src/a.rs"}))));
        assert!(!Grammar.holds("Edit(*.rs)", &call("FileReplace", json!({"path": "src/a.py"}))));
        assert!(
            Grammar.holds(
                "WebFetch(domain:example.com)",
                &call("Fetch", json!({"url": "https://example.com/x"}))
            )
        );
        assert!(!Grammar.holds("Shell", &call("Read", json!({"path": "x"}))));
    }

    #[test]
    fn a_condition_that_is_none_is_refused() {
        assert_eq!(Grammar.check("Shell(git *)"), Ok(()));
        assert!(Grammar.check("Shell(").is_err());
    }
}
