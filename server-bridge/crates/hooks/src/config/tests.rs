use std::time::Duration;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::handler::{Action, OnFailure};

fn read(format: Format, text: &str) -> Document {
    Document::read(text, format).unwrap()
}

fn with_handler(event: &str, handler: Value) -> Document {
    let text = json!({"hooks": {event: [{"matcher": "Shell", "hooks": [handler]}]}}).to_string();
    read(Format::Own, &text)
}

fn handler(value: Value) -> Handler {
    let document = with_handler("PreToolUse", value);
    assert_eq!(document.problems, []);
    document.groups[0].handlers[0].1.clone()
}

fn refusal(value: Value) -> String {
    let document = with_handler("PreToolUse", value);
    assert!(document.groups[0].handlers.is_empty());
    let refused: Vec<_> =
        document.problems.iter().filter(|problem| problem.severity == Severity::Refused).collect();
    assert_eq!(refused.len(), 1, "{:?}", document.problems);
    assert_eq!(refused[0].place, "hooks.PreToolUse[0].hooks[0]");
    refused[0].text.clone()
}

/// A document as it was written for xbot.
const WRITTEN_FOR_XBOT: &str = r#"{
  "enable_command_hooks": true,
  "hooks": {
    "PreToolUse": [
      {
        "matcher": "Shell",
        "hooks": [{
          "type": "command",
          "command": "make -C \"$XBOT_PROJECT_DIR\" lint || exit 2",
          "if": "Shell(*git commit*)",
          "timeout": 120
        }]
      }
    ],
    "UserPromptSubmit": [
      {"matcher": "", "hooks": [{"type": "command", "command": ".xbot/hooks/context-loader.sh"}]}
    ]
  }
}"#;

#[test]
fn the_seeds_example_is_read() {
    let document = read(Format::Own, WRITTEN_FOR_XBOT);
    assert!(document.enable_command_hooks);
    assert_eq!(document.groups.len(), 2);
    let (_, lint) = &document.groups[0].handlers[0];
    assert_eq!(lint.condition.as_deref(), Some("Shell(*git commit*)"));
    assert_eq!(lint.patience(), Duration::from_secs(60));
    let texts: Vec<_> = document.problems.iter().map(|problem| problem.text.as_str()).collect();
    assert_eq!(texts, ["it may take 60 s at most"]);
}

#[test]
fn a_peers_settings_and_a_plugins_hooks_are_read() {
    let settings = r#"{
        "permissions": {"allow": ["Bash(ls)"]}, "model": "x", "enable_command_hooks": true,
        "hooks": {
            "Stop": [{"hooks": [{"type": "prompt", "prompt": "Done? $ARGUMENTS", "timeout": 20}]}],
            "Notification": [{"hooks": [{"type": "command", "command": "notify-send x"}]}],
            "PreTolUse": []
        }
    }"#;
    let document = read(Format::Settings, settings);
    assert!(!document.enable_command_hooks, "only our own documents enable commands");
    assert_eq!(document.groups[0].event, Event::AgentStop);
    assert_eq!(document.groups[0].spelling, Dialect::Peer);
    let found: Vec<_> = document.problems.iter().map(|it| (it.severity, it.place.as_str())).collect();
    assert_eq!(found, [(Severity::Unused, "hooks.Notification"), (Severity::Warning, "hooks.PreTolUse")]);

    let plugin = r#"{"description": "d", "hooks": {"PostToolUse": [{"matcher": "Write|Edit", "hooks": [
        {"type": "command", "command": "${CLAUDE_PLUGIN_ROOT}/format.sh", "statusMessage": "Formatting"}]}]}}"#;
    let document = read(Format::Plugin, plugin);
    assert_eq!((document.problems.len(), document.groups.len()), (0, 1));
}

#[test]
fn every_kind_of_handler_is_read() {
    let command = handler(json!({
        "type": "command", "command": "node", "args": ["hook.js"], "timeout": 1.5, "async": false, "once": true,
        "onFailure": "ask",
    }));
    let args = Some(vec!["hook.js".to_owned()]);
    assert_eq!(command.action, Action::Command { command: "node".to_owned(), args });
    assert_eq!(command.on_failure, Some(OnFailure::Ask));
    assert_eq!((command.patience(), command.once), (Duration::from_millis(1500), true));

    let http = handler(json!({
        "type": "http", "url": "https://a/b", "headers": {"Authorization": "Bearer $T"}, "allowedEnvVars": ["T"],
    }));
    assert_eq!(http.kind(), "http");
    let via = handler(json!({"type": "http", "url": "http://localhost:3000/", "via": "laptop"}));
    assert_eq!(via.describe(), "http://localhost:3000/ via laptop");
    let direct = handler(json!({"type": "http", "url": "http://localhost:3000/", "via": ""}));
    assert_eq!(direct.describe(), "http://localhost:3000/");
    assert_ne!(via.canonical(), direct.canonical());
    let tool = handler(json!({
        "type": "mcp_tool", "server": "security", "tool": "scan_file", "input": {"path": "${tool_input.path}"},
    }));
    assert_eq!(tool.describe(), r#"mcp__security__scan_file {"path":"${tool_input.path}"}"#);
    assert_eq!(handler(json!({"type": "prompt", "prompt": "p", "model": "m"})).kind(), "prompt");
    assert_eq!(handler(json!({"type": "agent", "prompt": "p"})).kind(), "agent");
    assert_eq!(handler(json!({"type": "command", "command": "x", "timeout": 0})).timeout, None);
}

#[test]
fn unknown_kinds_and_fields_are_named_and_not_guessed() {
    let document = with_handler("PreToolUse", json!({"type": "comand", "command": "x"}));
    assert!(document.groups[0].handlers.is_empty());
    assert!(document.problems[0].text.contains("\"comand\" is not a known kind"));

    let document = with_handler("PreToolUse", json!({"type": "command", "command": "x", "timeoutSec": 1}));
    assert_eq!(document.groups[0].handlers.len(), 1);
    assert_eq!(document.problems[0].place, "hooks.PreToolUse[0].hooks[0].timeoutSec");

    let text = r#"{"Hooks": {}, "hooks": {"Stop": [{"matchers": "x", "hooks": []}]}}"#;
    let document = read(Format::Own, text);
    let places: Vec<_> = document.problems.iter().map(|problem| problem.place.as_str()).collect();
    assert_eq!(places, ["hooks.Stop[0].matchers", "Hooks"]);
}

#[test]
fn wrong_fields_refuse_their_handler_alone() {
    for (value, why) in [
        (json!("x"), "a hook must be an object"),
        (json!({}), "type is missing"),
        (json!({"type": "command"}), "command is missing"),
        (json!({"type": "command", "command": " "}), "command is empty"),
        (json!({"type": "command", "command": 7}), "command must be a string"),
        (json!({"type": "command", "command": "x", "args": "y"}), "args must be a list of strings"),
        (json!({"type": "command", "command": "x", "timeout": "30"}), "timeout must be a number of seconds"),
        (json!({"type": "command", "command": "x", "timeout": -1}), "timeout must be a number of seconds"),
        (json!({"type": "command", "command": "x", "timeout": 1e300}), "timeout must be a number of seconds"),
        (json!({"type": "command", "command": "x", "async": "yes"}), "async must be true or false"),
        (json!({"type": "command", "command": "x\u{0}"}), "command contains a NUL character"),
        (json!({"type": "command", "command": "x", "shell": "powershell"}), "not supported"),
        (json!({"type": "command", "command": "x", "onFailure": "block"}), "allow, deny or ask"),
        (json!({"type": "http", "url": "file:///etc/passwd"}), "https:// or http://"),
        (json!({"type": "http", "url": "https://${tool_input.host}/"}), "written out"),
        (json!({"type": "http", "url": "https://a/", "headers": {"a b": "c"}}), "not a valid name"),
        (json!({"type": "http", "url": "https://a/", "headers": {"a": "b\r\nc: d"}}), "more than one line"),
        (json!({"type": "http", "url": "https://a/", "via": "auto"}), "runner list"),
        (json!({"type": "http", "url": "https://a/", "via": "a b"}), "runner list"),
        (json!({"type": "http", "url": "https://a/", "via": 1}), "via must be a string"),
        (json!({"type": "mcp_tool", "server": "a"}), "tool is missing"),
        (json!({"type": "callback"}), "name is missing"),
        (json!({"type": "callback", "name": "audit", "input": []}), "input must be an object"),
        (json!({"type": "command", "command": "x".repeat(20_000)}), "longer than"),
    ] {
        let found = refusal(value);
        assert!(found.contains(why), "{found}");
    }
}

#[test]
fn a_bad_matcher_refuses_its_group() {
    for pattern in ["(", "(a{1000}){1000}", "^(?!Read)"] {
        let text = json!({"hooks": {"PreToolUse": [
            {"matcher": pattern, "hooks": [{"type": "prompt", "prompt": "x"}]},
            {"matcher": "Shell", "hooks": [{"type": "prompt", "prompt": "y"}]},
        ]}});
        let document = read(Format::Own, &text.to_string());
        assert_eq!(document.groups.len(), 1);
        assert_eq!(document.problems[0].severity, Severity::Refused);
        assert_eq!(document.problems[0].place, "hooks.PreToolUse[0].matcher");
    }
}

#[test]
fn what_an_author_may_not_expect_is_said() {
    let warned = |event: &str, value: Value| {
        let problems = with_handler(event, value).problems;
        problems.into_iter().map(|problem| problem.text).collect::<Vec<_>>().join("; ")
    };
    let text = warned("AgentStop", json!({"type": "prompt", "prompt": "x", "if": "Shell(a)"}));
    assert!(text.contains("nothing to match") && text.contains("never runs"), "{text}");
    let text =
        warned("PreToolUse", json!({"type": "prompt", "prompt": "x", "async": true, "onFailure": "deny"}));
    assert!(text.contains("cannot block") && text.contains("decides nothing"), "{text}");
}

#[test]
fn documents_of_which_nothing_can_be_used_are_refused() {
    let refused = |text: &str| Document::read(text, Format::Own).unwrap_err();
    assert!(matches!(refused("{"), Invalid::NotJson(_)));
    assert!(matches!(refused(r#"{"hooks": {}, "hooks": {}}"#), Invalid::NotJson(_)));
    assert!(matches!(refused("[]"), Invalid::WrongType { place: "the document", .. }));
    assert!(matches!(refused(r#"{"hooks": []}"#), Invalid::WrongType { place: "hooks", .. }));
    let wrong = refused(r#"{"enable_command_hooks": "true"}"#);
    assert_eq!(wrong.to_string(), "enable_command_hooks must be true or false");
    assert_eq!(refused(&" ".repeat(DOCUMENT_BYTES + 1)), Invalid::TooLarge(DOCUMENT_BYTES + 1));
    assert_eq!(read(Format::Own, "\u{feff}{}").groups.len(), 0);
}

#[test]
fn a_flood_of_warnings_is_bounded_and_refusals_are_not() {
    let names: Map<String, Value> = (0..200).map(|at| (format!("Event{at}"), json!([]))).collect();
    let mut names = names;
    names.insert("PreToolUse".to_owned(), json!(vec![json!(1); 60]));
    let document = read(Format::Own, &json!({"hooks": names}).to_string());
    let refused = document.problems.iter().filter(|problem| problem.severity == Severity::Refused);
    assert_eq!(refused.count(), 60);
    assert_eq!(document.problems.len(), 60 + WARNINGS + 1);
    assert_eq!(document.problems.last().unwrap().text, "150 more warnings are not listed");
}

#[test]
fn more_groups_than_allowed_are_refused() {
    let group = json!({"hooks": [{"type": "prompt", "prompt": "x"}]});
    let text = json!({"hooks": {"PreToolUse": vec![group; GROUPS_OF_EVENT + 5]}}).to_string();
    let document = read(Format::Own, &text);
    assert_eq!(document.groups.len(), GROUPS_OF_EVENT);
    assert_eq!(document.problems[0].severity, Severity::Refused);
}

/// Any JSON, in which names that documents have occur as well.
pub(crate) fn any_json() -> impl Strategy<Value = Value> {
    let word = prop_oneof![
        Just("command".to_owned()),
        Just("PreToolUse".to_owned()),
        Just("deny".to_owned()),
        Just("allow".to_owned()),
        ".{0,12}",
    ];
    let name = prop_oneof![
        prop::sample::select(vec![
            "hooks",
            "PreToolUse",
            "Stop",
            "matcher",
            "type",
            "command",
            "args",
            "timeout",
            "if",
            "url",
            "headers",
            "decision",
            "reason",
            "continue",
            "hookSpecificOutput",
            "permissionDecision",
            "updatedInput",
            "additionalContext",
            "async",
            "ok",
        ])
        .prop_map(str::to_owned),
        ".{0,8}",
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(|half| Value::from(f64::from(half) / 2.0)),
        any::<i64>().prop_map(Value::from),
        word.prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((name.clone(), inner), 0..5)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn no_document_panics(value in any_json(), text in any::<String>()) {
        for format in [Format::Own, Format::Settings, Format::Plugin] {
            let _ = Document::read(&value.to_string(), format);
            let _ = Document::read(&json!({"hooks": {"PreToolUse": [{"hooks": [value]}]}}).to_string(), format);
            let _ = Document::read(&text, format);
        }
    }
}
