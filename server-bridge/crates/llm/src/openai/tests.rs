use std::sync::Arc;

use serde_json::{Value, json};

use super::*;
use crate::error::Error;
use crate::message::{Assistant, Content, Message, Reasoning, SystemPart, Tool, ToolCall, ToolResult};
use crate::reply::{Reply, Stop};

fn read(events: &[&str]) -> Result<Reply, Error> {
    crate::dialect::tests::read(&OpenAi, events)
}

fn request() -> Request {
    Request {
        model: "m".to_owned(),
        tools: vec![Tool {
            name: "Read".to_owned(),
            description: "Reads.".to_owned(),
            parameters: json!({"type": "object"}),
        }],
        system: vec![SystemPart { text: "Be brief.".to_owned(), is_static: true }],
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
    OpenAi.write(request, &mut Draft::default()).body.concat()
}

fn written(request: &Request) -> Value {
    serde_json::from_slice(&body(request)).unwrap()
}

#[test]
fn a_recorded_answer_of_text_is_read() {
    let reply = read(&[
        r#"{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"gpt-x","system_fingerprint":"fp","choices":[{"index":0,"delta":{"role":"assistant","content":"","refusal":null},"logprobs":null,"finish_reason":null}],"usage":null}"#,
        r#"{"id":"chatcmpl-1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"Hel"},"finish_reason":null}]}"#,
        r#"{"id":"chatcmpl-1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"lo"},"finish_reason":null}]}"#,
        r#"{"id":"chatcmpl-1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
        r#"{"id":"chatcmpl-1","object":"chat.completion.chunk","choices":[],"usage":{"prompt_tokens":19,"completion_tokens":10,"total_tokens":29,"prompt_tokens_details":{"cached_tokens":8}}}"#,
        "[DONE]",
        "garbage after the end",
    ])
    .unwrap();
    assert_eq!((reply.message.text.as_str(), &reply.stop), ("Hello", &Stop::End));
    assert_eq!(
        (reply.usage.input_tokens, reply.usage.cache_read_tokens, reply.usage.output_tokens),
        (19, 8, 10)
    );
}

#[test]
fn recorded_parallel_tool_calls_are_read() {
    let reply = read(&[
        r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"call_a","type":"function","function":{"name":"Read","arguments":""}}]},"finish_reason":null}]}"#,
        r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"path\":"}}]}}]}"#,
        r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"a\"}"}}]}}]}"#,
        r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"call_b","type":"function","function":{"name":"Glob","arguments":"{}"}}]}}]}"#,
        r#"{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#,
        "[DONE]",
    ])
    .unwrap();
    let calls: Vec<_> = reply
        .message
        .tool_calls
        .iter()
        .map(|call| (call.id.as_str(), call.name.as_str(), call.arguments.as_str()))
        .collect();
    assert_eq!(calls, [("call_a", "Read", "{\"path\":\"a\"}"), ("call_b", "Glob", "{}")]);
    assert_eq!(reply.stop, Stop::ToolCalls);
}

#[test]
fn calls_that_are_all_counted_as_the_first_or_not_at_all_are_told_apart() {
    for index in [r#""index":0,"#, ""] {
        let call = |id: &str| {
            format!(
                r#"{{"choices":[{{"delta":{{"tool_calls":[{{{index}"id":"{id}","function":{{"name":"Read","arguments":"{{\"n\":\"{id}\"}}"}}}}]}}}}]}}"#
            )
        };
        let (a, b) = (call("a"), call("b"));
        let end = r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#;
        let reply = read(&[&a, &b, end, "[DONE]"]).unwrap();
        let arguments: Vec<_> = reply.message.tool_calls.iter().map(|call| call.arguments.as_str()).collect();
        assert_eq!(arguments, [r#"{"n":"a"}"#, r#"{"n":"b"}"#], "{index}");
        assert_eq!(reply.stop, Stop::ToolCalls);
    }
}

#[test]
fn thinking_is_read_in_both_spellings() {
    for name in ["reasoning_content", "reasoning"] {
        let thought = format!(r#"{{"choices":[{{"delta":{{"{name}":"hm","content":null}}}}]}}"#);
        let reply = read(&[
            &thought,
            r#"{"choices":[{"delta":{"content":"x"},"finish_reason":"length"}]}"#,
            "[DONE]",
        ])
        .unwrap();
        assert_eq!((reply.message.reasoning[0].text.as_str(), reply.stop), ("hm", Stop::MaxTokens));
    }
}

#[test]
fn errors_within_a_stream_are_told() {
    let error = |data| read(&[r#"{"choices":[{"delta":{"content":"x"}}]}"#, data]).unwrap_err();
    let overloaded =
        error(r#"{"error":{"message":"The server had an error","type":"server_error","code":null}}"#);
    assert!(overloaded.is_passing(), "{overloaded:?}");
    let too_long =
        error(r#"{"error":{"message":"maximum context length","code":"context_length_exceeded"}}"#);
    assert!(matches!(too_long, Error::InputTooLong(_)), "{too_long:?}");
    assert!(matches!(
        error(r#"{"error":{"message":"slow","type":"rate_limit_error"}}"#),
        Error::RateLimited { .. }
    ));
    assert!(matches!(error("<html>"), Error::Nonsense(_)));
    assert!(matches!(
        error(r#"{"choices":[{"delta":{"tool_calls":[{"index":4,"function":{"arguments":"{}"}}]}}]}"#),
        Error::Nonsense(_)
    ));
    assert_eq!(error(r#"{"choices":[]}"#), Error::Interrupted, "no end");
}

#[test]
fn a_conversation_is_written_in_its_words() {
    let mut request = request();
    let image = Content::Image { media_type: "image/png".to_owned(), data: vec![1, 2, 3].into() };
    request.messages = shared([
        Message::User(vec!["look".into(), image.clone()]),
        Message::Assistant(Assistant {
            reasoning: vec![Reasoning { text: "hm".to_owned(), ..Reasoning::default() }],
            text: String::new(),
            tool_calls: vec![
                ToolCall { id: "1".to_owned(), name: "Read".to_owned(), arguments: "{\"a\":1}".to_owned() },
                ToolCall { id: "2".to_owned(), name: "Read".to_owned(), arguments: "{\"half".to_owned() },
            ],
        }),
        Message::Tool(ToolResult { call_id: "1".to_owned(), content: vec!["ok".into()], is_error: false }),
        Message::Tool(ToolResult { call_id: "2".to_owned(), content: vec![image], is_error: true }),
    ]);
    let body = written(&request);
    assert_eq!(body["messages"][0], json!({"role": "system", "content": "Be brief."}));
    assert_eq!(body["messages"][1]["content"][1]["image_url"]["url"], "data:image/png;base64,AQID");
    let said = &body["messages"][2];
    assert_eq!((&said["content"], &said["reasoning_content"]), (&json!(""), &json!("hm")));
    assert_eq!(said["tool_calls"][0]["function"]["arguments"], "{\"a\":1}");
    assert_eq!(said["tool_calls"][1]["function"]["arguments"], "{}", "half a call would be refused");
    assert_eq!(body["messages"][3], json!({"role": "tool", "tool_call_id": "1", "content": "ok"}));
    assert_eq!(body["messages"][5]["role"], "user", "an image follows its tool's result");
    assert_eq!((&body["stream"], &body["max_completion_tokens"]), (&json!(true), &json!(100)));
    assert_eq!(body["tools"][0]["function"]["name"], "Read");
}

#[test]
fn a_longer_conversation_begins_with_the_same_bytes() {
    let mut request = request();
    let before = body(&request);
    assert_eq!(before, body(&request));
    request
        .messages
        .push(Message::Assistant(Assistant { text: "hi".to_owned(), ..Assistant::default() }).into());
    request.messages.push(Message::user("more").into());
    let after = body(&request);
    let shared = before.iter().zip(&after).take_while(|(left, right)| left == right).count();
    assert!(shared >= before.len() - "]}".len(), "{shared} of {}", before.len());
}

#[test]
fn images_of_results_stand_behind_all_results_of_an_answer() {
    let image = Content::Image { media_type: "image/png".to_owned(), data: vec![1].into() };
    let result =
        |id: &str, content| Message::Tool(ToolResult { call_id: id.to_owned(), content, is_error: false });
    let mut request = request();
    request.messages = shared([
        Message::user("look"),
        result("1", vec!["a".into(), image.clone()]),
        result("2", vec!["b".into(), image.clone()]),
        Message::user("again"),
        result("3", vec![image]),
    ]);
    let body = written(&request);
    let roles: Vec<&str> = body["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["role"].as_str().unwrap())
        .collect();
    assert_eq!(roles, ["system", "user", "tool", "tool", "user", "user", "tool", "user"]);
    assert_eq!(body["messages"][4]["content"].as_array().unwrap().len(), 2);
}

#[test]
fn a_reminder_stands_at_the_end_of_what_was_said_last() {
    let mut request = request();
    request.reminder = Some("it is late".to_owned());
    let last = |request: &Request| written(request)["messages"].as_array().unwrap().last().unwrap().clone();
    assert_eq!(last(&request), json!({"role": "user", "content": "hello\n\nit is late"}));
    request
        .messages
        .push(Message::Assistant(crate::Assistant { text: "x".to_owned(), ..Default::default() }).into());
    assert_eq!(last(&request), json!({"role": "user", "content": "it is late"}));
    let image = Content::Image { media_type: "image/png".to_owned(), data: vec![0].into() };
    request.messages.push(Message::User(vec!["see".into(), image]).into());
    assert_eq!(last(&request)["content"][2]["text"], "it is late");
}
