use serde_json::{Map, Value, json};

use super::*;

fn map(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

fn texts(tool: &str) -> Vec<String> {
    names(tool).into_iter().map(|name| name.text).collect()
}

#[test]
fn tools_are_found_by_all_their_names() {
    assert_eq!(texts("Shell"), ["Shell", "Bash"]);
    assert_eq!(texts("SubAgent"), ["SubAgent", "Agent", "Task"]);
    assert_eq!(texts("Read"), ["Read"]);
    assert_eq!(texts("mcp__git__log__all"), ["mcp__git__log__all", "mcp_git_log__all"]);
    assert_eq!(texts("mcp__broken"), ["mcp__broken"]);
    assert_eq!(main_name("FileReplace", Dialect::Peer), "Edit");
    assert_eq!(main_name("FileReplace", Dialect::Own), "FileReplace");
    assert_eq!(main_name("mcp__git__log", Dialect::Peer), "mcp__git__log");
}

#[test]
fn arguments_go_to_peers_and_come_back() {
    let calls = [
        ("Shell", json!({"command": "ls", "timeout": 5, "background": true, "reason": "look"})),
        ("Read", json!({"path": "./src/a.rs", "offset": 3, "max_lines": 7})),
        ("FileCreate", json!({"path": "a", "content": "b", "rewrite": true})),
        ("FileReplace", json!({"path": "/a", "old_string": "b", "new_string": "c", "replace_all": true})),
        ("Grep", json!({"pattern": "x", "include": "*.rs", "ignore_case": true, "context_lines": 2})),
        ("SubAgent", json!({"task": "t", "role": "explorer"})),
        ("exec", json!({"argv": ["rm", "-rf", "a b"], "timeout_s": 1.5})),
        ("todo_write", json!({"items": [{"content": "a", "status": "pending"}]})),
        ("mcp__a__b", json!({"path": "a"})),
    ];
    for (tool, input) in calls {
        let input = map(input);
        let sent = to_peer(tool, &input, "/work");
        assert_eq!(to_own(tool, &input, &sent, &sent), input, "{tool}");
    }
}

#[test]
fn peers_get_their_names_and_absolute_paths() {
    let sent = to_peer("FileReplace", &map(json!({"path": "./src/a.rs", "old_string": "b"})), "/work/");
    assert_eq!(Value::Object(sent), json!({"file_path": "/work/src/a.rs", "old_string": "b"}));
    let sent = to_peer("Shell", &map(json!({"command": "ls", "timeout": 5})), "/work");
    assert_eq!(Value::Object(sent), json!({"command": "ls", "timeout": 5000}));
    let sent = to_peer("exec", &map(json!({"argv": ["rm", "-rf", "a b'c"]})), "/work");
    assert_eq!(sent["command"], json!(r"rm -rf 'a b'\''c'"));
}

#[test]
fn a_rewritten_argument_comes_back_under_our_name() {
    let input = map(json!({"command": "ls", "timeout": 5}));
    let sent = to_peer("Shell", &input, "/work");
    let updated = map(json!({"command": "ls -l", "timeout": 1500}));
    let own = to_own("Shell", &input, &sent, &updated);
    assert_eq!(Value::Object(own), json!({"command": "ls -l", "timeout": 2}));

    let own = to_own("Shell", &input, &sent, &map(json!({"command": "ls", "timeout": 9000.0})));
    assert_eq!(Value::Object(own), json!({"command": "ls", "timeout": 9}));

    let input = map(json!({"argv": ["rm", "a"]}));
    let sent = to_peer("exec", &input, "/work");
    let own = to_own("exec", &input, &sent, &map(json!({"argv": ["rm", "a"], "command": "rm -i a"})));
    assert_eq!(Value::Object(own), json!({"command": "rm -i a"}));
}

#[test]
fn modes_have_the_words_of_peers() {
    assert_eq!(mode("ask", Dialect::Peer), "default");
    assert_eq!(mode("auto-edit", Dialect::Peer), "acceptEdits");
    assert_eq!(mode("ask", Dialect::Own), "ask");
    assert_eq!(mode("new", Dialect::Peer), "new");
}

#[test]
fn a_call_is_about_its_main_arguments() {
    let input = map(json!({"path": "a", "content": "b"}));
    assert_eq!(subjects("FileCreate", &input), ["a"]);
    assert_eq!(subjects("mcp__x__y", &map(json!({"a": ["b", {"c": "d"}], "e": 1}))), ["b", "d"]);
    assert_eq!(subjects("exec", &map(json!({"argv": ["rm", "x"]}))), ["rm", "x"]);
}
