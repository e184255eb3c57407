//! Shell lines that are meant to deceive the parser: each line of `adversarial.txt` must get its verdict.

#![allow(clippy::unwrap_used)]

use rules::{Call, Document, Effect, Layer, Origin, Place, RuleSet, Subject};

const PLACE: Place<'_> = Place { cwd: "/work", root: Some("/work"), home: Some("/home/ann") };

fn decide(set: &RuleSet, line: &str) -> Option<Effect> {
    set.decide(&Call { tool: "Shell", subjects: &[Subject::Shell { line }], place: PLACE }).verdict
}

fn set(json: &str) -> RuleSet {
    if json.trim() == "dangerous" {
        return RuleSet::new([rules::dangerous()]);
    }
    let Document { rules, problems } = Document::parse(json, Origin::User, &[]).unwrap();
    let errors: Vec<_> = problems.iter().filter(|problem| problem.kind.is_error()).collect();
    assert!(errors.is_empty(), "{errors:?}");
    RuleSet::new([Layer { origin: Origin::User, rules }])
}

/// The shell line for a line of the file.
fn decoded(written: &str) -> String {
    let marks = [('␤', '\n'), ('␍', '\r'), ('␀', '\0'), ('␛', '\u{1b}')];
    let plain: String = written
        .chars()
        .map(|c| marks.iter().find(|(mark, _)| *mark == c).map_or(c, |(_, meant)| *meant))
        .collect();
    let mut parts = plain.split('⟨');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (code, rest) = part.split_once('⟩').unwrap();
        text.push(char::from_u32(u32::from_str_radix(code, 16).unwrap()).unwrap());
        text.push_str(rest);
    }
    text
}

#[test]
fn each_adversarial_line_gets_its_verdict() {
    let (mut rules, mut wrong, mut count) = (RuleSet::default(), Vec::new(), 0);
    for (number, written) in include_str!("adversarial.txt").lines().enumerate() {
        if let Some(json) = written.strip_prefix("%%") {
            rules = set(json);
        } else if let Some((expected, line)) = written.split_once("| ").filter(|_| !written.starts_with('#'))
        {
            count += 1;
            let found = decide(&rules, &decoded(line)).map_or("none", Effect::as_str);
            if found != expected.trim() {
                wrong.push(format!("{}: {found} instead of {written}", number + 1));
            }
        }
    }
    assert!(count >= 200, "{count} lines");
    assert!(wrong.is_empty(), "{} of {count} are wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// Lines that are long or deeply nested.
#[test]
fn lines_beyond_a_limit_are_asked_and_a_visible_deny_holds() {
    let rules = set(r#"{"deny": ["Bash(rm *)"], "allow": ["Bash(echo *)", "Bash(sudo *)", "Bash(bash *)"]}"#);
    let nested = |open: &str, inside: &str, close: &str, count| {
        format!("{}{inside}{}", open.repeat(count), close.repeat(count))
    };
    for count in [20, 2_000] {
        for (open, close) in [
            ("$(", ")"),
            ("\"$(", ")\""),
            ("echo $(", ")"),
            ("${x:-", "}"),
            ("echo \"${x:-", "}\""),
            ("cat <(", ")"),
            ("sudo ", ""),
            ("eval ", ""),
            ("$((", "))"),
        ] {
            let line = nested(open, "echo x", close, count);
            assert_ne!(decide(&rules, &line), Some(Effect::Allow), "{open} {count}");
            let line = format!("rm x; {}", nested(open, "echo x", close, count));
            assert_eq!(decide(&rules, &line), Some(Effect::Deny), "{open} {count}");
            let line = nested(open, " rm x", close, count);
            assert_eq!(decide(&rules, &line), Some(Effect::Deny), "{open} {count}");
        }
    }
    let line = nested("( ", "echo x", ")", 10_000);
    assert_eq!(decide(&rules, &line), Some(Effect::Allow), "subshells need no stack");
    assert_eq!(decide(&rules, &"echo x; ".repeat(1_000)), Some(Effect::Ask));
    assert_eq!(decide(&rules, &format!("{} rm x", "echo x; ".repeat(1_000))), Some(Effect::Deny));
    assert_eq!(decide(&rules, &format!("echo {}", "x".repeat(70_000))), Some(Effect::Ask));
    assert_eq!(decide(&rules, &format!("echo {}; rm x", "x".repeat(70_000))), Some(Effect::Deny));
    assert_eq!(decide(&rules, &format!("echo {}", "x ".repeat(30_000))), Some(Effect::Allow));
    for filler in ["=", "{a,b}", "{", "$", "`", "'", "\"", "\\", "[", "((", "<<A ", "~", "\u{301}"] {
        let _no_panic = decide(&rules, &format!("echo {}", filler.repeat(20_000)));
    }
}
