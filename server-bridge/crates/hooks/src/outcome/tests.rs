use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::config::tests::any_json;
use crate::limits::CONTEXT_BYTES;

fn exit(status: i32, stdout: &str, stderr: &str) -> Raw {
    Raw::Exit { status, stdout: stdout.into(), stderr: stderr.into(), is_cut: false }
}

fn said(stdout: &Value) -> Said {
    read(exit(0, &stdout.to_string(), ""), Event::PreToolUse)
}

#[test]
fn exit_2_blocks_whatever_standard_output_says() {
    let allows = json!({"hookSpecificOutput": {"permissionDecision": "allow"}}).to_string();
    let found = read(exit(2, &allows, " no rm\n"), Event::PreToolUse);
    assert_eq!(found.decision, Some(Decision::Deny));
    assert_eq!(found.reason.as_deref(), Some("no rm"));
    assert_eq!(read(exit(2, "", ""), Event::PreToolUse).reason, None);
    let cut = Raw::Exit { status: 2, stdout: Vec::new(), stderr: vec![b'x'; OUTPUT_BYTES], is_cut: true };
    let found = read(cut, Event::PreToolUse);
    assert_eq!(found.decision, Some(Decision::Deny));
    assert!(found.reason.unwrap().len() < REASON_BYTES + 40);
}

#[test]
fn plain_text_is_context_where_a_conversation_begins() {
    for event in Event::ALL {
        let found = read(exit(0, "  hello\n", "noise"), event);
        let expected = event.text_is_context().then(|| "hello".to_owned());
        assert_eq!((found.context, found.decision, found.failure), (expected, None, None), "{event:?}");
    }
    assert_eq!(read(exit(0, " \n", ""), Event::SessionStart), Said::default());
}

#[test]
fn other_ends_are_failures() {
    let why = |raw: Raw| read(raw, Event::PreToolUse).failure.unwrap();
    assert_eq!(why(exit(1, "x", "boom")), "it exited with 1: boom");
    assert_eq!(why(exit(127, "", "")), "it exited with 127");
    assert_eq!(why(Raw::Signal(9)), "it was ended by signal 9");
    assert_eq!(why(Raw::TimedOut(Duration::from_millis(1500))), "it did not end within 1.5 s");
    assert_eq!(why(Raw::Failed("the runner was lost".to_owned())), "the runner was lost");
    assert_eq!(
        why(Raw::Http { status: 302, body: b"{}".to_vec(), is_cut: false }),
        "its server answered with status 302"
    );
    assert_eq!(
        why(Raw::Http { status: 200, body: b"ok".to_vec(), is_cut: false }),
        "its answer is not a JSON object"
    );
    assert!(why(Raw::Tool { text: "x".to_owned(), is_error: true }).contains("its tool failed: x"));
    assert!(why(Raw::Model("I think so".to_owned())).contains("JSON"));
}

#[test]
fn output_over_the_limit_is_a_failure() {
    let much = || vec![b' '; OUTPUT_BYTES + 1];
    for raw in [
        Raw::Exit { status: 0, stdout: b"{}".to_vec(), stderr: Vec::new(), is_cut: true },
        Raw::Exit { status: 0, stdout: much(), stderr: Vec::new(), is_cut: false },
        Raw::Http { status: 200, body: b"{}".to_vec(), is_cut: true },
        Raw::Http { status: 200, body: much(), is_cut: false },
        Raw::Tool { text: " ".repeat(OUTPUT_BYTES + 1), is_error: false },
    ] {
        assert!(read(raw, Event::PreToolUse).failure.unwrap().contains("more than"));
    }
}

#[test]
fn output_that_is_almost_json_is_a_failure() {
    let why = |stdout: &str| read(exit(0, stdout, ""), Event::PreToolUse).failure;
    assert!(why(r#"{"decision": "block""#).unwrap().contains("begins like JSON"));
    assert!(why("Now using node v20\n{\"decision\": \"block\"}").unwrap().contains("text around"));
    assert_eq!(why("linted {3} files"), None);
    assert_eq!(why("[1, 2]"), None);
}

#[test]
fn all_fields_are_read() {
    let found = said(&json!({
        "suppressOutput": true, "systemMessage": "m",
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse", "permissionDecision": "ask", "permissionDecisionReason": "r",
            "updatedInput": {"command": "ls"}, "additionalContext": "c", "updatedToolOutput": [1],
        },
    }));
    assert_eq!(
        found,
        Said {
            decision: Some(Decision::Ask),
            reason: Some("r".to_owned()),
            context: Some("c".to_owned()),
            message: Some("m".to_owned()),
            updated_input: json!({"command": "ls"}).as_object().cloned(),
            updated_output: Some(json!([1])),
            is_quiet: true,
            ..Said::default()
        }
    );
    let found = said(&json!({"continue": false, "stopReason": "s"}));
    assert_eq!((found.stop.as_deref(), found.decision), (Some("s"), None));
    assert!(said(&json!({"continue": false})).stop.is_some());
    let found = said(&json!({"hookSpecificOutput": {"decision": {
        "behavior": "deny", "message": "no", "interrupt": true, "updatedInput": {"a": 1}}}}));
    assert_eq!(
        (found.decision, found.reason.as_deref(), found.stop.as_deref()),
        (Some(Decision::Deny), Some("no"), Some("no"))
    );
}

#[test]
fn decisions_are_read_in_all_their_words() {
    let decision = |output: Value| said(&output).decision;
    assert_eq!(decision(json!({"decision": "approve"})), Some(Decision::Allow));
    assert_eq!(decision(json!({"decision": "block", "reason": "x"})), Some(Decision::Deny));
    for (word, expected) in [
        ("allow", Decision::Allow),
        ("ask", Decision::Ask),
        ("defer", Decision::Defer),
        ("deny", Decision::Deny),
    ] {
        assert_eq!(decision(json!({"decision": word})), Some(expected));
        assert_eq!(decision(json!({"hookSpecificOutput": {"permissionDecision": word}})), Some(expected));
    }
    let both = json!({"decision": "block", "hookSpecificOutput": {"permissionDecision": "allow"}});
    assert_eq!(decision(both), Some(Decision::Deny));
}

#[test]
fn a_model_answers_with_ok() {
    let answer = |text: &str| read(Raw::Model(text.to_owned()), Event::AgentStop);
    let found = answer("```json\n{\"ok\": false, \"reason\": \"tests fail\"}\n```");
    assert_eq!((found.decision, found.reason.as_deref()), (Some(Decision::Deny), Some("tests fail")));
    assert_eq!(answer("{\"ok\": true}"), Said::default());
    assert!(answer("{\"ok\": \"no\"}").failure.is_some());
}

#[test]
fn what_is_not_known_is_a_failure_and_never_allows() {
    for output in [
        json!({"decision": "yes"}),
        json!({"decision": true}),
        json!({"hookSpecificOutput": {"permissionDecision": "block it"}}),
        json!({"hookSpecificOutput": {"permissionDecision": 1}}),
        json!({"hookSpecificOutput": "deny"}),
        json!({"hookSpecificOutput": {"decision": {"behavior": "maybe"}}}),
        json!({"continue": "false"}),
        json!({"updatedInput": "ls"}),
    ] {
        let found = said(&output);
        assert!(found.failure.is_some() && found.decision.is_none(), "{output}");
    }
    let found = said(&json!({"decision": "deny", "continue": 0, "systemMessage": 7}));
    assert_eq!(found.decision, Some(Decision::Deny), "a denial counts despite a mistake elsewhere");
    assert_eq!(found.notes, ["systemMessage is not a string and is ignored"]);
}

#[test]
fn an_answer_to_another_event_can_only_restrict() {
    let output = |decision: &str| {
        said(&json!({"hookSpecificOutput": {"hookEventName": "PostToolUse", "permissionDecision": decision,
            "updatedInput": {"command": "x"}}}))
    };
    let found = output("allow");
    assert_eq!((found.decision, found.updated_input, found.notes.len()), (None, None, 1));
    assert_eq!(output("deny").decision, Some(Decision::Deny));
    let stop = json!({"hookSpecificOutput": {"hookEventName": "Stop", "additionalContext": "c"}}).to_string();
    assert!(read(exit(0, &stop, ""), Event::AgentStop).notes.is_empty());
}

#[test]
fn a_command_may_go_to_the_background() {
    assert_eq!(
        goes_to_background("{\"async\": true, \"asyncTimeout\": 15000}\n"),
        Some(Duration::from_secs(15))
    );
    assert_eq!(goes_to_background("{\"async\": true}"), Some(BACKGROUND_PATIENCE));
    let long = json!({"async": true, "asyncTimeout": u64::MAX}).to_string();
    assert_eq!(goes_to_background(&long), Some(MAX_BACKGROUND_PATIENCE));
    for line in ["", "{\"async\": false}", "{\"async\": \"true\"}", "async"] {
        assert_eq!(goes_to_background(line), None);
    }
    let asks = read(Raw::Background(BACKGROUND_PATIENCE), Event::PreToolUse);
    assert_eq!((asks.background, asks.decision, asks.failure), (Some(BACKGROUND_PATIENCE), None, None));
}

#[test]
fn long_texts_are_bounded() {
    let found = said(&json!({"reason": "é".repeat(REASON_BYTES), "context": "x".repeat(2 * CONTEXT_BYTES)}));
    assert!(found.reason.unwrap().len() < REASON_BYTES + 40);
    assert!(found.context.unwrap().len() < CONTEXT_BYTES + 40);
}

#[test]
fn a_new_result_becomes_the_text_that_it_contains() {
    let texts = [
        (json!("plain"), "plain"),
        (json!([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]), "a\nb"),
        (json!({"content": [{"type": "text", "text": "a"}]}), "a"),
        (json!({"content": "a"}), "a"),
        (json!({"type": "text", "text": "a"}), "a"),
        (json!({"stdout": "out\n", "stderr": "err", "interrupted": false}), "out\nerr"),
        (json!([{"type": "image", "data": "x"}]), r#"[{"data":"x","type":"image"}]"#),
        (json!({"lines": 3}), r#"{"lines":3}"#),
        (json!(3), "3"),
    ];
    for (output, text) in texts {
        assert_eq!(result_text(&output), text, "{output}");
    }
}

proptest! {
    #[test]
    fn no_output_panics(value in any_json(), bytes in prop::collection::vec(any::<u8>(), 0..200), status in -1_i32..4) {
        for event in [Event::PreToolUse, Event::UserPromptSubmit, Event::AgentStop, Event::PermissionRequest] {
            read(exit(status, &value.to_string(), ""), event);
            read(Raw::Exit { status, stdout: bytes.clone(), stderr: bytes.clone(), is_cut: false }, event);
            read(Raw::Model(value.to_string()), event);
            read(Raw::Http { status: 200, body: bytes.clone(), is_cut: false }, event);
        }
        let line = String::from_utf8_lossy(&bytes);
        goes_to_background(&line);
    }

    #[test]
    fn an_exit_of_2_always_denies(stdout in any::<String>(), stderr in any::<String>()) {
        prop_assert_eq!(read(exit(2, &stdout, &stderr), Event::PreToolUse).decision, Some(Decision::Deny));
    }
}
