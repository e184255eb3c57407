use serde_json::json;

use super::*;

fn callbacks() -> Callbacks {
    let callbacks = Callbacks::default();
    callbacks.put(Timing);
    callbacks.put(Approval);
    callbacks.put(Logging);
    callbacks
}

#[test]
fn a_handler_is_refused_with_the_reason_and_what_there_is() {
    let check = |name: &str, input: Value, event: Event| {
        callbacks().check(name, input.as_object().unwrap(), event).err().unwrap_or_default()
    };
    let unknown = check("aprovel", json!({}), Event::PreToolUse);
    assert_eq!(unknown, "there is no callback \"aprovel\"; the callbacks are approval, logging, timing");
    let elsewhere = check("timing", json!({}), Event::PreToolUse);
    assert_eq!(
        elsewhere,
        "the callback timing has no effect here; use it at PostToolUse, PostToolUseFailure"
    );
    for (name, input, why) in [
        ("approval", json!({"resaon": "x"}), "unknown field `resaon`"),
        ("approval", json!({"reason": 7}), "expected a string"),
        ("logging", json!({"level": "debug"}), "unknown field `level`"),
    ] {
        let refused = check(name, input, Event::PreToolUse);
        assert!(refused.contains(why), "{refused}");
    }
    let refused = check("timing", json!({"over_seconds": "long"}), Event::PostToolUse);
    assert!(refused.contains("expected f64"), "{refused}");
    assert_eq!(check("approval", json!({"reason": "${tool_name}"}), Event::PreToolUse), "");
}

#[test]
fn the_list_is_in_order_and_names_the_events() {
    let views = callbacks().views();
    let names: Vec<_> = views.iter().map(|view| view.name.as_str()).collect();
    assert_eq!(names, ["approval", "logging", "timing"]);
    assert_eq!((views[0].events.as_slice(), views[1].events.len()), (&["PreToolUse".to_owned()][..], 17));
}
