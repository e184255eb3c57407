use std::sync::Arc;

use serde_json::{Value, json};

use super::*;
use crate::error::Error;
use crate::message::{Assistant, Content, Message, Reasoning, SystemPart, Tool, ToolCall, ToolResult};
use crate::reply::{Reply, Stop};

fn read(events: &[&str]) -> Result<Reply, Error> {
    crate::dialect::tests::read(&Anthropic, events)
}

fn request() -> Request {
    let tool = |name: &str| Tool {
        name: name.to_owned(),
        description: String::new(),
        parameters: json!({"type": "object"}),
    };
    let part = |text: &str, is_static| SystemPart { text: text.to_owned(), is_static };
    Request {
        model: "m".to_owned(),
        tools: vec![tool("Read"), tool("Glob")],
        system: vec![part("base", true), part("project", true), part("today", false)],
        messages: vec![Message::user("hello").into()],
        reminder: None,
        max_tokens: 100,
        thinking_tokens: None,
    }
}

fn shared<const N: usize>(messages: [Message; N]) -> Vec<Arc<Message>> {
    messages.into_iter().map(Arc::new).collect()
}

fn body(request: &Request) -> Vec<u8> {
    Anthropic.write(request, &mut Draft::default()).body.concat()
}

fn written(request: &Request) -> Value {
    serde_json::from_slice(&body(request)).unwrap()
}

#[test]
fn a_recorded_answer_with_thinking_text_and_a_tool_is_read() {
    let reply = read(&[
        r#"{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","content":[],"model":"claude-x","stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":25,"cache_creation_input_tokens":100,"cache_read_input_tokens":1000,"output_tokens":1}}}"#,
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}"#,
        r#"{"type":"ping"}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Let me see."}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"EqQB"}}"#,
        r#"{"type":"content_block_stop","index":0}"#,
        r#"{"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"EmwK"}}"#,
        r#"{"type":"content_block_stop","index":1}"#,
        r#"{"type":"content_block_start","index":2,"content_block":{"type":"text","text":""}}"#,
        r#"{"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"I look."}}"#,
        r#"{"type":"content_block_stop","index":2}"#,
        r#"{"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"toolu_1","name":"Read","input":{}}}"#,
        r#"{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":""}}"#,
        r#"{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"{\"path\": \"a"}}"#,
        r#"{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"\"}"}}"#,
        r#"{"type":"content_block_stop","index":3}"#,
        r#"{"type":"something_new","index":3}"#,
        r#"{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":89}}"#,
        r#"{"type":"message_stop"}"#,
    ])
    .unwrap();
    let message = &reply.message;
    assert_eq!(
        message.reasoning[0],
        Reasoning {
            text: "Let me see.".to_owned(),
            signature: Some("EqQB".to_owned()),
            ..Reasoning::default()
        }
    );
    assert_eq!(message.reasoning[1].redacted.as_deref(), Some("EmwK"));
    assert_eq!(message.text, "I look.");
    assert_eq!(message.tool_calls[0].parse().unwrap()["path"], "a");
    assert_eq!((&reply.stop, reply.usage.input_tokens), (&Stop::ToolCalls, 1125));
    assert_eq!((reply.usage.cache_write_tokens, reply.usage.output_tokens), (100, 89));
    // It is sent back unchanged.
    let mut request = request();
    request.messages.push(Message::Assistant(reply.message).into());
    let content = &written(&request)["messages"][1]["content"];
    assert_eq!(content[0], json!({"type": "thinking", "thinking": "Let me see.", "signature": "EqQB"}));
    assert_eq!(content[1], json!({"type": "redacted_thinking", "data": "EmwK"}));
    assert_eq!(
        content[3],
        json!({"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {"path": "a"}})
    );
}

#[test]
fn errors_within_a_stream_are_told() {
    let error = |data| read(&[r#"{"type":"ping"}"#, data]).unwrap_err();
    let overloaded = error(r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#);
    assert!(overloaded.is_passing() && overloaded.to_string().contains("Overloaded"), "{overloaded:?}");
    assert!(matches!(
        error(
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 2 > 1"}}"#
        ),
        Error::InputTooLong(_)
    ));
    assert!(matches!(error(r#"{"no":"type"}"#), Error::Nonsense(_)));
    assert_eq!(error(r#"{"type":"ping"}"#), Error::Interrupted);
}

#[test]
fn every_reason_to_stop_is_known() {
    let stopped = |reason: &str| {
        let end = format!(r#"{{"type":"message_delta","delta":{{"stop_reason":"{reason}"}},"usage":null}}"#);
        let text = r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"x"}}"#;
        read(&[text, &end, r#"{"type":"message_stop"}"#]).unwrap().stop
    };
    let known = [
        ("end_turn", Stop::End),
        ("max_tokens", Stop::MaxTokens),
        ("model_context_window_exceeded", Stop::ContextFull),
        ("refusal", Stop::Refused),
        ("tea_time", Stop::Other("tea_time".to_owned())),
    ];
    for (reason, stop) in known {
        assert_eq!(stopped(reason), stop);
    }
}

#[test]
fn what_stays_the_same_is_marked_for_the_cache() {
    let mut request = request();
    request.messages = shared([
        Message::user("a"),
        Message::Assistant(Assistant { text: "b".to_owned(), ..Assistant::default() }),
        Message::user("c"),
        Message::Assistant(Assistant { text: "d".to_owned(), ..Assistant::default() }),
        Message::user("e"),
        Message::user("f"),
    ]);
    let body = written(&request);
    let marked = |value: &Value| value.get("cache_control").is_some();
    assert!(!marked(&body["tools"][0]) && marked(&body["tools"][1]));
    let system: Vec<bool> = body["system"].as_array().unwrap().iter().map(marked).collect();
    assert_eq!(system, [false, true, false], "after the static part");
    let turns = body["messages"].as_array().unwrap();
    let ends: Vec<bool> =
        turns.iter().map(|turn| marked(turn["content"].as_array().unwrap().last().unwrap())).collect();
    assert_eq!(ends, [false, false, true, false, true], "two in a row are one turn");
    assert_eq!(body.to_string().matches("cache_control").count(), 4, "no more are allowed");
}

#[test]
fn results_of_tools_are_the_users_next_turn() {
    let mut request = request();
    let call = |id: &str, arguments: &str| ToolCall {
        id: id.to_owned(),
        name: "Read".to_owned(),
        arguments: arguments.to_owned(),
    };
    let result = |id: &str, is_error| {
        Message::Tool(ToolResult { call_id: id.to_owned(), content: vec!["r".into()], is_error })
    };
    let image = Content::Image { media_type: "image/png".to_owned(), data: vec![1, 2, 3].into() };
    let unsigned = Reasoning { text: "another provider's".to_owned(), ..Reasoning::default() };
    request.messages.extend(shared([
        Message::Assistant(Assistant {
            reasoning: vec![unsigned],
            text: " ".to_owned(),
            tool_calls: vec![call("1", "{}"), call("2", "{half")],
        }),
        result("1", false),
        result("2", true),
        Message::User(vec![image]),
    ]));
    request.thinking_tokens = Some(1000);
    let body = written(&request);
    assert_eq!(body["messages"][1]["content"].as_array().unwrap().len(), 2, "{body}");
    assert_eq!(body["messages"][1]["content"][1]["input"], json!({}));
    let content = &body["messages"][2]["content"];
    assert_eq!((&content[0]["tool_use_id"], &content[0]["is_error"]), (&json!("1"), &Value::Null));
    assert_eq!((&content[1]["is_error"], &content[2]["source"]["data"]), (&json!(true), &json!("AQID")));
    assert_eq!((&body["max_tokens"], &body["thinking"]["budget_tokens"]), (&json!(1100), &json!(1000)));
}

#[test]
fn a_reminder_stands_behind_all_that_a_cache_may_hold() {
    let mut request = request();
    let plain = written(&request);
    request.reminder = Some("it is late".to_owned());
    let mut reminded = written(&request);
    let content = reminded["messages"][0]["content"].as_array_mut().unwrap();
    assert_eq!(content.pop().unwrap(), json!({"type": "text", "text": "it is late"}));
    assert_eq!(reminded, plain, "and the marks are where they were");
    request
        .messages
        .push(Message::Assistant(crate::Assistant { text: "x".to_owned(), ..Default::default() }).into());
    assert_eq!(written(&request)["messages"][2]["role"], "user");
}
