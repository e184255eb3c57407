use proptest::prelude::*;
use serde_json::json;

use super::*;

fn shell(command: &str) -> Call {
    Call {
        tool: "Shell".to_owned(),
        input: json!({"command": command}).as_object().unwrap().clone(),
        id: String::new(),
    }
}

#[test]
fn the_seeds_condition_holds_for_its_command() {
    assert!(Globs.holds("Shell(*git commit*)", &shell("cd x && git commit -m y")));
    assert!(!Globs.holds("Shell(*git commit*)", &shell("git push")));
    assert!(!Globs.holds("Read(*)", &shell("git commit")));
    assert!(Globs.holds("Shell", &shell("git commit")));
}

#[test]
fn peers_names_and_prefixes_hold() {
    assert!(Globs.holds("Bash(git *)", &shell("git push")));
    assert!(Globs.holds("Bash(git:*)", &shell("git")));
    assert!(!Globs.holds("Bash(git:*)", &shell("gitk")));
    assert!(Globs.holds("Bash(echo (a))", &shell("echo (a)")));
}

#[test]
fn what_cannot_be_read_is_refused_and_holds() {
    for bad in ["", "(x)", "Shell(x", "Shell x", "Fetch(domain:example.com)"] {
        assert!(Globs.check(bad).is_err(), "{bad}");
    }
    assert!(Globs.holds("Shell(x", &shell("y")));
    assert!(Globs.check("mcp__git__log(*)").is_ok());
}

proptest! {
    #[test]
    fn no_condition_panics(condition in any::<String>(), command in any::<String>()) {
        let _ = Globs.check(&condition);
        Globs.holds(&condition, &shell(&command));
    }
}
