use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn payload() -> Value {
    json!({
        "session_id": "s1",
        "tool_input": {"path": "a b/${session_id}", "lines": [1, {"x": true}], "n": 7},
        "evil": "x\r\nHost: y",
    })
}

#[test]
fn paths_are_replaced_with_their_values() {
    let template = json!({"path": "${tool_input.path}", "n": "${tool_input.n}", "deep": ["is ${tool_input.lines.1.x}!"]});
    let filled = value(&template, &payload()).unwrap();
    assert_eq!(filled, json!({"path": "a b/${session_id}", "n": 7, "deep": ["is true!"]}));
    let filled = value(&json!("${session_id} ${tool_input.n} $${kept} $x {y}"), &payload()).unwrap();
    assert_eq!(filled, json!("s1 7 ${kept} $x {y}"));
}

#[test]
fn a_missing_path_is_named() {
    for path in ["tool_input.nope", "nope", "tool_input.lines.9", "session_id.x", ""] {
        let error = value(&json!(format!("a ${{{path}}}")), &payload()).unwrap_err();
        assert_eq!(error, Error::Missing(path.to_owned()));
    }
    assert_eq!(value(&json!("${open"), &payload()), Err(Error::Unclosed));
}

#[test]
fn a_result_that_explodes_is_refused() {
    let payload = json!({"a": "x".repeat(INTERPOLATED_BYTES / 4)});
    assert_eq!(value(&json!("${a} ${a} ${a} ${a} ${a}"), &payload), Err(Error::TooLarge));
    assert_eq!(value(&json!(["${a}", "${a}", "${a}", "${a}", "${a}"]), &payload), Err(Error::TooLarge));
}

#[test]
fn the_server_of_an_address_is_written_out() {
    for bad in
        ["ftp://a", "https://${x}/", "https://a.${x}/b", "https:///b", "https://u@a/", "https://a b/", "//a"]
    {
        assert!(check_url(bad).is_err(), "{bad}");
        assert_eq!(url(bad, &payload()), Err(Error::Host));
    }
    let filled = url("https://a/b/${tool_input.path}?q=${tool_input.n}", &payload()).unwrap();
    assert_eq!(filled, "https://a/b/a%20b%2F%24%7Bsession_id%7D?q=7");
    let payload = json!({"up": "..", "dot": "a.b"});
    assert_eq!(url("http://a/${up}/${dot}", &payload).unwrap(), "http://a/%2E%2E/a.b");
}

#[test]
fn headers_get_allowed_variables_and_nothing_else() {
    let templates = BTreeMap::from([
        ("A".to_owned(), "Bearer $TOKEN".to_owned()),
        ("B".to_owned(), "${TOKEN}-${HOME}$HOME-${tool_input.n}$".to_owned()),
    ]);
    let variable = |name: &str| Some(format!("<{name}>"));
    let filled = headers(&templates, &["TOKEN".to_owned()], &payload(), &variable).unwrap();
    assert_eq!(filled[0].1, "Bearer <TOKEN>");
    assert_eq!(filled[1].1, "<TOKEN>--7$");
    let evil = BTreeMap::from([("A".to_owned(), "${payload.evil}".to_owned())]);
    let nested = json!({"payload": payload()});
    assert_eq!(headers(&evil, &[], &nested, &variable), Err(Error::Lines("A".to_owned())));
}

#[test]
fn a_prompt_gets_its_payload() {
    assert_eq!(prompt("Check $ARGUMENTS now", "{}"), "Check {} now");
    assert_eq!(prompt("Check", "{}"), "Check\n\n{}");
}

proptest! {
    #[test]
    fn no_template_panics(template in any::<String>(), name in "[$A-Z{}a-z.]{0,20}") {
        let _ = value(&json!(template), &payload());
        let _ = url(&format!("https://a/{template}"), &payload());
        let pairs = BTreeMap::from([(name.clone(), template + &name)]);
        let _ = headers(&pairs, &[name], &payload(), &|_| None);
    }
}
