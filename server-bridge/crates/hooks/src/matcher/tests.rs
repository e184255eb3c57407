use proptest::prelude::*;

use super::*;

fn own(pattern: &str) -> Matcher {
    Matcher::parse(pattern, Dialect::Own).unwrap()
}

fn peer(pattern: &str) -> Matcher {
    Matcher::parse(pattern, Dialect::Peer).unwrap()
}

#[test]
fn nothing_and_a_star_match_all() {
    for pattern in ["", "*", "  "] {
        assert!(own(pattern).fits("Shell") && own(pattern).fits(""));
    }
    assert!(Matcher::all().fits("x"));
}

#[test]
fn names_match_exactly() {
    let matcher = own("Shell | FileCreate");
    assert!(matcher.is_exact() && matcher.fits("Shell") && matcher.fits("FileCreate"));
    assert!(!matcher.fits("Shel") && !matcher.fits("shell") && !matcher.fits("MyShell"));
    assert!(peer("Edit, Write").fits("Write"));
    assert!(peer("my-plugin:reviewer").fits("my-plugin:reviewer"));
}

#[test]
fn a_star_is_a_glob_here_and_a_regular_expression_there() {
    assert!(own("File*").fits("FileCreate") && !own("File*").fits("MyFile"));
    assert!(own("mcp__*__read|Re*").fits("mcp__git__read"));
    assert!(peer("mcp__git__*").fits("mcp__git__log"));
    assert!(peer("Notebook.*").fits("NotebookEdit"));
    assert!(peer("*Edit").fits("MultiEdit"));
    assert!(own("^(Shell|Read)$").fits("Read") && !own("^Shell$").fits("Shells"));
}

#[test]
fn bad_patterns_are_refused_with_a_reason() {
    let refusal = |pattern: &str| Matcher::parse(pattern, Dialect::Peer).unwrap_err();
    assert!(refusal("(unclosed").contains("regular expression"));
    assert!(refusal("^(?!Read)").contains("look-around"), "{}", refusal("^(?!Read)"));
    assert!(refusal("(a{1000}){1000}").contains("memory"));
    assert!(refusal("(x{9999}.)*[\\w]{500}").contains("memory"));
    assert!(refusal(&"a".repeat(PATTERN_BYTES + 1)).contains("longer"));
    assert!(refusal("|").contains("names nothing"));
}

#[test]
fn a_pattern_that_explodes_elsewhere_is_linear_here() {
    assert!(!own("^(a+)+$").fits(&format!("{}b", "a".repeat(50_000))));
}

proptest! {
    #[test]
    fn no_pattern_panics(pattern in any::<String>(), name in any::<String>()) {
        for dialect in Dialect::ALL {
            if let Ok(matcher) = Matcher::parse(&pattern, dialect) {
                matcher.fits(&name);
            }
        }
    }
}
