use std::collections::BTreeSet;

use llm::ToolCall;

use super::*;

fn call(name: &str, arguments: &str) -> Result<Call, String> {
    Call::parse(&ToolCall { id: String::new(), name: name.to_owned(), arguments: arguments.to_owned() })
}

#[test]
fn every_tool_is_described_with_all_its_arguments_and_can_be_called() {
    for tool in catalogue() {
        assert!(!tool.description.is_empty() && tool.parameters["type"] == "object", "{}", tool.name);
        let properties = tool.parameters["properties"].as_object().unwrap();
        for (name, property) in properties {
            let is_described = property["description"].as_str().is_some_and(|words| !words.is_empty());
            assert!(is_described, "{} of {}", name, tool.name);
        }
        // With what is required and nothing else; all of that is text, and some of it one of a few words.
        let required = tool.parameters["required"].as_array().cloned().unwrap_or_default();
        let word = |name: &str| match &properties[name]["enum"][0] {
            serde_json::Value::Null => "x".into(),
            word => word.clone(),
        };
        let names = required.iter().map(|name| name.as_str().unwrap());
        let arguments: serde_json::Map<_, _> = names.map(|name| (name.to_owned(), word(name))).collect();
        call(&tool.name, &serde_json::to_string(&arguments).unwrap()).unwrap();
        assert!(call(&tool.name, r#"{"nonsense":1}"#).is_err(), "{} takes what it does not know", tool.name);
    }
}

#[test]
fn the_catalogue_is_the_same_each_time_and_names_each_tool_once() {
    let (once, again) = (catalogue(), catalogue());
    assert_eq!(once, again);
    let names: BTreeSet<String> = once.iter().map(|tool| tool.name.clone()).collect();
    assert_eq!(names.len(), once.len());
}

#[test]
fn parameters_have_the_names_that_models_know() {
    let known = [
        ("Shell", &["command", "timeout", "background", "reason"][..]),
        ("Read", &["path", "offset", "max_lines"]),
        ("FileCreate", &["path", "content", "rewrite"]),
        (
            "FileReplace",
            &["path", "old_string", "new_string", "replace_all", "regex", "start_line", "end_line"],
        ),
        ("Glob", &["pattern", "path"]),
        ("Grep", &["pattern", "path", "include", "ignore_case", "context_lines"]),
        ("offload_recall", &["id", "offset", "limit"]),
    ];
    let catalogue = catalogue();
    for (name, parameters) in known {
        let tool = catalogue.iter().find(|tool| tool.name == name).unwrap();
        let properties: BTreeSet<&str> =
            tool.parameters["properties"].as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(properties, parameters.iter().copied().collect(), "{name}");
    }
}

#[test]
fn what_a_model_does_wrong_is_told_in_words() {
    assert!(call("Fly", "{}").unwrap_err().contains("there are Shell, Read"));
    assert!(call("Read", "{\"path\":").unwrap_err().contains("not a JSON object"));
    assert!(call("Read", "{}").unwrap_err().contains("path"));
    assert!(call("Read", r#"{"path":1}"#).unwrap_err().contains("string"));
}
