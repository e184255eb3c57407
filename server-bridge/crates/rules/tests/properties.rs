//! Properties that the verdict on any line must have.

#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use rules::{Call, Document, Effect, Layer, Origin, Place, Rule, RuleSet, Subject};

const PLACE: Place<'_> = Place { cwd: "/work", root: Some("/work"), home: Some("/home/ann") };

fn set(json: &str) -> RuleSet {
    let rules = Document::parse(json, Origin::User, &[]).unwrap().rules;
    RuleSet::new([Layer { origin: Origin::User, rules }])
}

fn decide(set: &RuleSet, line: &str) -> Option<Effect> {
    set.decide(&Call { tool: "Shell", subjects: &[Subject::Shell { line }], place: PLACE }).verdict
}

/// How permissive a verdict is: lowest for a denied call, highest for an allowed one.
fn freedom(verdict: Option<Effect>) -> usize {
    match verdict {
        Some(Effect::Deny) => 0,
        Some(Effect::Ask) => 1,
        None => 2,
        Some(Effect::Allow) => 3,
    }
}

/// Pieces of shell lines, which are more likely to be interesting than random characters.
fn piece() -> impl Strategy<Value = String> {
    let known = prop::sample::select(vec![
        "git status",
        "npm run x",
        "rm",
        "rm x",
        "echo",
        "cat",
        " ",
        " ",
        "\n",
        ";",
        "&&",
        "||",
        "|",
        "&",
        "(",
        ")",
        "{ ",
        "; }",
        "$(",
        "`",
        "'",
        "\"",
        "\\",
        "\\\n",
        "$'",
        "${x:-",
        "}",
        "<<EOF",
        "\nEOF\n",
        "<<'E'",
        "\nE\n",
        "<",
        ">",
        ">out",
        "2>&1",
        "<(",
        "$((",
        "))",
        "if ",
        "then ",
        "fi",
        "for x in a; do ",
        "done",
        "case x in a) ",
        ";; ",
        "esac",
        "f() ",
        "sudo ",
        "sh -c ",
        "eval ",
        "X=1 ",
        "#",
        "{a,b}",
        "[[ ",
        " ]]",
        "find . -exec ",
        "time ",
        "! ",
        "=",
        "~",
        "*",
        "\u{a0}",
        "\0",
        "é",
    ]);
    prop_oneof![8 => known.prop_map(str::to_owned), 1 => "\\PC{0,4}"]
}

fn line() -> impl Strategy<Value = String> {
    prop::collection::vec(piece(), 0..12).prop_map(|pieces| pieces.concat())
}

const RULES: &str = r#"{"deny": ["Bash(rm *)", "Edit(.env)"], "ask": ["Bash(git push *)"],
    "allow": ["Bash(git *)", "Bash(npm run *)", "Bash(echo *)", "Bash(cat *)", "Bash(sudo git *)", "Edit(/out/**)"]}"#;

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_line_panics(line in "\\PC{0,60}", pieces in line()) {
        let rules = set(RULES);
        let _ = decide(&rules, &line);
        let call = Subject::Shell { line: &pieces };
        let call = Call { tool: "Bash", subjects: &[call], place: PLACE };
        prop_assert_eq!(rules.explain(&call).decision, rules.decide(&call));
    }

    #[test]
    fn no_rule_panics(text in "\\PC{0,40}", inner in line()) {
        let _ = Rule::parse(&text);
        for tool in ["Bash", "Edit", "WebFetch", "Agent"] {
            if let Ok(rule) = Rule::parse(&format!("{tool}({inner})")) {
                prop_assert_eq!(Rule::parse(rule.text()), Ok(rule.clone()));
            }
        }
    }

    #[test]
    fn a_command_that_is_not_allowed_is_not_allowed_with_others(line in line(), joint in prop::sample::select(vec!["; ", " && ", " || ", " | ", " & ", "\n"])) {
        let rules = set(RULES);
        for whole in [format!("make{joint}{line}"), format!("{line}{joint}make"), format!("{line}\n{joint}make")] {
            let before = decide(&rules, &line);
            let after = decide(&rules, &whole);
            // A comment at the end of the line also covers what follows on that line.
            if before == Some(Effect::Allow) && (joint == "\n" || !line.contains('#')) {
                prop_assert_ne!(after, Some(Effect::Allow), "{:?}", whole);
            }
        }
    }

    #[test]
    fn more_commands_never_make_a_line_freer(line in line(), more in line()) {
        let rules = set(RULES);
        let line = format!("git status\n{line}");
        let (before, whole) = (decide(&rules, &line), format!("{line}\n{more}"));
        // A line that cannot be parsed may become one that can, once its quote is closed.
        if before != Some(Effect::Ask) && before != Some(Effect::Deny) {
            prop_assert!(freedom(decide(&rules, &whole)) <= freedom(before), "{:?}", whole);
        }
    }

    #[test]
    fn a_deny_rule_never_makes_a_line_freer(line in line(), denied in prop::sample::select(vec!["Bash(echo *)", "Bash", "Edit", "Bash(sudo *)", "Edit(/out/**)"])) {
        let rules = set(RULES);
        let stricter = set(&RULES.replacen("\"Edit(.env)\"", &format!("\"Edit(.env)\", \"{denied}\""), 1));
        prop_assert!(freedom(decide(&stricter, &line)) <= freedom(decide(&rules, &line)), "{:?}", line);
    }

    #[test]
    fn an_allow_rule_never_overrides_a_deny_or_an_ask(line in line()) {
        let rules = set(RULES);
        let looser = set(&RULES.replacen("\"allow\": [", "\"allow\": [\"Bash\", \"*\", ", 1));
        let before = decide(&rules, &line);
        if before.is_some() {
            prop_assert_eq!(decide(&looser, &line), before, "{:?}", line);
        }
    }

    #[test]
    fn a_denied_command_is_denied_wherever_it_stands(before in line(), wrapped in prop::sample::select(vec![
        "rm x", "sudo rm x", "{ rm x; }", "(rm x)", "echo $(rm x)", "if true; then rm x; fi", "sh -c 'rm x'", "find . -exec rm {} +",
    ])) {
        let rules = set(RULES);
        // The command is on a line of its own. Text that is itself asked about or denied is skipped, because it may change what
        // the command means: the `}` of `find . -exec rm {} +` closes a `${` left open before it, and a denied `rm` in between
        // becomes part of a word.
        let alone = decide(&rules, &before);
        if alone != Some(Effect::Ask) && alone != Some(Effect::Deny) {
            let whole = format!("{before}\n{wrapped}");
            prop_assert_eq!(decide(&rules, &whole), Some(Effect::Deny), "{:?}", whole);
        }
    }
}
