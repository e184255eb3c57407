use std::process::Command;

use super::*;

fn entry(json: Value) -> McpServerEntry {
    serde_json::from_value(json).unwrap()
}

fn refused(json: Value) -> String {
    Spec::of(&entry(json)).unwrap_err()
}

#[test]
fn a_definition_is_a_command_or_an_address_and_says_what_is_wrong() {
    let spec = Spec::of(&entry(json!({"command": "npx", "args": ["-y", "a b"], "env": {"TOKEN": "s3cret"}})))
        .unwrap();
    assert_eq!((spec.action().as_str(), spec.secrets()), ("npx -y 'a b'", vec!["TOKEN".to_owned()]));
    assert!(!format!("{spec:?}").contains("s3cret"));
    assert_eq!(spec.patience, MCP_CALL_PATIENCE);
    let spec =
        Spec::of(&entry(json!({"type": "http", "url": "https://a.example/mcp", "timeout": 1000}))).unwrap();
    assert_eq!((spec.action().as_str(), spec.patience.as_secs()), ("https://a.example/mcp", 1));
    for (json, why) in [
        (json!({}), "neither"),
        (json!({"command": "a", "url": "https://a.example"}), "both"),
        (json!({"type": "sse", "url": "https://a.example"}), "streamable HTTP"),
        (json!({"type": "pigeon", "url": "https://a.example"}), "unknown"),
        (json!({"type": "http", "command": "a"}), "stdio"),
        (json!({"type": "stdio", "url": "https://a.example"}), "http"),
        (json!({"command": " "}), "empty"),
        (json!({"command": "a\u{0}"}), "NUL"),
        (json!({"command": "a", "env": {"A B": "x"}}), "name of a variable"),
        (json!({"command": "a", "args": ["x".repeat(MCP_WORD_BYTES + 1)]}), "bytes"),
        (json!({"url": "javascript:alert(1)"}), "http"),
        (json!({"url": "https://user:pass@a.example"}), "password"),
        (json!({"url": "https://a.example/${TOKEN}"}), "not replaced"),
        (json!({"url": "https://a.example", "headers": {"A": "x\r\nB: y"}}), "header"),
        (json!({"url": "https://a.example", "timeout": 0}), "0 ms"),
        (json!({"command": "a", "via": "laptop"}), "belongs to an address"),
        (json!({"url": "https://a.example", "via": "auto"}), "runner list"),
        (json!({"url": "https://a.example", "via": ""}), "runner list"),
        (json!({"url": "https://a.example", "via": "a b"}), "runner list"),
    ] {
        let text = refused(json.clone());
        assert!(text.contains(why), "{json}: {text}");
    }
    let secret = refused(json!({"url": "https://a.example", "headers": {"A": "s3cret\n"}}));
    assert!(!secret.contains("s3cret"), "{secret}");
}

#[test]
fn names_are_short_and_visible() {
    for name in ["time", "my.server-1", "GitHub Copilot"] {
        assert_eq!(check_name(name), Ok(()));
    }
    for name in ["", " a", "a\u{202e}b", "a/b", "---", "a\nb", &"x".repeat(MCP_NAME_CHARS + 1)] {
        assert!(check_name(name).is_err(), "{name:?}");
    }
}

#[test]
fn an_approval_is_of_what_runs_of_the_files_it_names_and_of_one_workspace() {
    let spec = |json| Spec::of(&entry(json)).unwrap();
    let one = spec(json!({"command": "python3", "args": ["tools/a.py"]}));
    let at = |workspace: &str, files: &[(&str, &str)]| {
        let files: Vec<(String, String)> =
            files.iter().map(|(path, hash)| ((*path).to_owned(), (*hash).to_owned())).collect();
        one.hash("a", Some(&OfWorkspace { workspace, files: &files }))
    };
    let hash = at("laptop:/work", &[("tools/a.py", "1")]);
    assert_eq!(hash.len(), 64);
    let other = spec(json!({"command": "python3", "args": ["tools/a.py"], "env": {"A": "1"}}));
    for other in [
        at("laptop:/work", &[("tools/a.py", "2")]),
        at("laptop:/work", &[]),
        at("laptop:/elsewhere", &[("tools/a.py", "1")]),
        one.hash("a", None),
        other.hash("a", None),
    ] {
        assert_ne!(hash, other);
    }
}

#[test]
fn whatever_may_be_a_file_is_looked_at() {
    let paths = |args: &[&str]| {
        Spec::of(&entry(json!({"command": "run", "args": args, "env": {"PYTHONPATH": "lib:x"}})))
            .unwrap()
            .named()
            .words
    };
    for (argument, path) in [
        ("tool//s.py", "tool/s.py"),
        (".//s.py", "s.py"),
        ("server", "server"),
        ("S.PY", "S.PY"),
        ("my server.py", "my server.py"),
        ("a,b.py", "a,b.py"),
        ("${NOPE:-./s.py}", "-./s.py"),
        ("--require=./x.js", "x.js"),
        ("exec python3 t.py", "t.py"),
        ("~t/s.py", "~t/s.py"),
    ] {
        let found = paths(&[argument]);
        assert!(
            found.iter().any(|found| found == path || path == "-./s.py" && found == "s.py"),
            "{argument}: {found:?}"
        );
        assert!(found.contains(&"lib".to_owned()), "{found:?}");
    }
}

#[test]
fn what_a_variable_names_is_hashed_and_a_new_token_is_the_same_server() {
    let spec = |json| Spec::of(&entry(json)).unwrap();
    let with = spec(json!({"command": "npx", "args": ["x"], "env": {"NODE_OPTIONS": "--require ./evil.js"}}));
    assert!(with.named().words.contains(&"evil.js".to_owned()));
    assert_eq!(with.told_secrets(), ["NODE_OPTIONS=--require ./evil.js"]);
    let without = spec(json!({"command": "npx", "args": ["x"], "timeout": 5}));
    assert_eq!(with.identity("a"), without.identity("a"));
    assert_ne!(with.identity("a"), with.identity("b"));
}

#[test]
fn a_value_without_variables_stays_out_of_the_line() {
    let env = BTreeMap::from([("A".to_owned(), "s3cret".to_owned()), ("B".to_owned(), "${HOME}".to_owned())]);
    let made = request("run", &[], &env);
    assert_eq!(made.env, [(b"A".to_vec(), b"s3cret".to_vec())]);
    assert!(!format!("{:?}", made.command).contains("s3cret"));
}

#[test]
fn only_variables_are_replaced_by_the_machines_shell() {
    let ran = |word: &str| {
        let line = format!("printf %s {}", expanded(word));
        let output = Command::new("sh").args(["-c", &line]).env("HERE", "a 'b' $c").output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        if output.status.success() { text } else { String::from_utf8(output.stderr).unwrap() }
    };
    for plain in [
        "",
        "a b",
        "$(id)",
        "`id`",
        "$HOME",
        "\"; id; \"",
        "\\",
        "${}",
        "${a b}",
        "${HERE",
        "$${x",
        "a\nb",
        "*",
        "~",
    ] {
        assert_eq!(ran(plain), plain);
    }
    assert_eq!(ran("x${HERE}y"), "xa 'b' $cy");
    assert_eq!(ran("${NOT_SET:-$(id) `id` \"q\"}"), "$(id) `id` \"q\"");
    assert_eq!(ran("${NOT_SET:-}"), "");
    assert!(ran("${NOT_SET}").contains("NOT_SET"), "{}", ran("${NOT_SET}"));
}

#[test]
fn a_document_names_each_entry_that_is_none() {
    let text = r#"{"mcpServers": {"a": {"command": "x", "alwaysAllow": []}, "b": {"command": 1},
                   "c": {"command": "x", "disabled": true}}}"#;
    let found = entries(text).unwrap();
    assert_eq!(found.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    assert!(found[0].1.is_ok());
    assert_eq!(found[1].1, Err("the field \"command\" has the wrong type".to_owned()));
    let secret = entry_of(&json!({"command": "x", "env": {"TOKEN": 12345}})).unwrap_err();
    assert!(secret.contains("env") && !secret.contains("12345"), "{secret}");
    for broken in ["", "[]", "{}", "{\"mcpServers\": []}"] {
        assert!(entries(broken).is_err(), "{broken}");
    }
}

#[test]
fn the_same_address_in_another_network_is_another_server() {
    let spec =
        |via: Option<&str>| Spec::of(&entry(json!({"url": "http://10.0.0.5/mcp", "via": via}))).unwrap();
    let (none, one, two) = (spec(None), spec(Some("laptop")), spec(Some("desk")));
    assert_eq!(one.action(), "http://10.0.0.5/mcp via laptop");
    for (a, b) in [(&none, &one), (&one, &two), (&none, &two)] {
        assert_ne!(a.hash("a", None), b.hash("a", None));
        assert_ne!(a.identity("a"), b.identity("a"));
    }
}
