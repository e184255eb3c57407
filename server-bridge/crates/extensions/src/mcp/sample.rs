//! A server's requests to its user's model (sampling): the user sees each request first, and pays for the answer.

#![expect(deprecated, reason = "servers of all revisions may still ask for it")]

use agent::tool::{Failure, Host, Phrase, Question, SampleRequest, visible};
use llm::{Assistant, Message};
use rmcp::ErrorData;
use rmcp::model::{
    CreateMessageRequestParams, CreateMessageResult, ErrorCode, Role, SamplingMessage,
    SamplingMessageContentBlock,
};

use super::elicit::{Asker, DECLINE, quoted};
use crate::limits::{MCP_SAMPLE_BYTES, MCP_SAMPLE_MESSAGES, MCP_SAMPLE_TOKENS};

const ONCE: &str = "Allow it once";
const CALL: &str = "Allow it until this call ends";

/// The code for a request that the user refused.
const REJECTED: ErrorCode = ErrorCode(-1);

/// The error for a request that was not allowed.
pub(super) fn refused(why: &'static str) -> ErrorData {
    ErrorData::new(REJECTED, why, None)
}

/// Asks the user, unless they have allowed all of the call's requests, and then the model.
///
/// Fails with the error for the server.
pub(super) async fn answer(
    asker: &impl Asker,
    host: &dyn Host,
    server: &str,
    params: CreateMessageRequestParams,
    is_allowed: &mut bool,
) -> Result<CreateMessageResult, ErrorData> {
    let request = request(params).map_err(|why| ErrorData::invalid_params(why, None))?;
    if !*is_allowed {
        match asker.ask(&question(server, &request)).await.as_deref() {
            Some(ONCE) => {}
            Some(CALL) => *is_allowed = true,
            Some(_) => return Err(refused("the user declined the request")),
            None => return Err(refused("nobody answered the question about the request")),
        }
    }
    match host.sample(request).await {
        Ok(sampled) => {
            let reason = match sampled.is_cut {
                true => CreateMessageResult::STOP_REASON_END_MAX_TOKEN,
                false => CreateMessageResult::STOP_REASON_END_TURN,
            };
            let message = SamplingMessage::assistant_text(sampled.text);
            Ok(CreateMessageResult::new(message, sampled.model).with_stop_reason(reason))
        }
        Err(Failure::Port(error)) => {
            tracing::error!(%error, "a model could not be asked for an MCP server");
            Err(ErrorData::internal_error("the model could not be asked", None))
        }
        Err(error) => Err(ErrorData::internal_error(format!("the model did not answer: {error}"), None)),
    }
}

fn question(server: &str, request: &SampleRequest) -> Question {
    let said = |message: &Message| match message {
        Message::Assistant(said) => ("assistant", said.text.clone()),
        Message::User(content) => ("user", content.iter().filter_map(|part| part.text()).collect::<String>()),
        Message::Tool(_) => ("tool", String::new()),
    };
    let system = (!request.system.is_empty()).then(|| ("instructions", request.system.clone()));
    let parts = system.into_iter().chain(request.messages.iter().map(said));
    let text = parts.map(|(who, text)| format!("[{who}] {text}")).collect::<Vec<_>>().join("\n");
    let wish = format!(
        "The MCP server {} wants this answered by your model, with at most {} tokens:",
        visible::line(server),
        request.max_tokens
    );
    Question {
        text: vec![
            Phrase::ours(wish),
            Phrase::theirs(format!("\n\n  | {}\n\n", quoted(&text))),
            Phrase::ours("The answer goes to the server, and counts for your usage."),
        ],
        options: [ONCE, CALL, DECLINE].map(Phrase::ours).to_vec(),
    }
}

/// The request for a model.
///
/// The error names the problem of the server's request.
fn request(params: CreateMessageRequestParams) -> Result<SampleRequest, String> {
    if params.tools.is_some_and(|tools| !tools.is_empty()) {
        return Err("a request with tools is not supported".to_owned());
    }
    if params.messages.len() > MCP_SAMPLE_MESSAGES {
        return Err(format!("a request can have at most {MCP_SAMPLE_MESSAGES} messages"));
    }
    let system = params.system_prompt.unwrap_or_default();
    let (mut texts, mut bytes): (Vec<(Role, String)>, usize) = (Vec::new(), system.len());
    for SamplingMessage { role, content, .. } in params.messages {
        let mut text = String::new();
        for block in content.into_vec() {
            let SamplingMessageContentBlock::Text(part) = block else {
                return Err("only texts can be given to the model".to_owned());
            };
            bytes += part.text.len();
            text.push_str(&part.text);
        }
        match texts.last_mut() {
            Some((last, before)) if *last == role => {
                before.push('\n');
                before.push_str(&text);
            }
            _ => texts.push((role, text)),
        }
    }
    if bytes > MCP_SAMPLE_BYTES {
        return Err(format!("a request can have at most {MCP_SAMPLE_BYTES} bytes"));
    }
    let is_talk =
        matches!(texts.first(), Some((Role::User, _))) && matches!(texts.last(), Some((Role::User, _)));
    if !is_talk || texts.iter().any(|(_, text)| text.trim().is_empty()) {
        return Err("the messages have to begin and end with a text of the user".to_owned());
    }
    let message = |(role, text): (Role, String)| match role {
        Role::Assistant => Message::Assistant(Assistant { text, ..Assistant::default() }),
        _ => Message::user(text),
    };
    let messages = texts.into_iter().map(message).collect();
    Ok(SampleRequest { system, messages, max_tokens: params.max_tokens.clamp(1, MCP_SAMPLE_TOKENS) })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn of(params: Value) -> Result<SampleRequest, String> {
        request(serde_json::from_value(params).unwrap())
    }

    fn said(role: &str, text: &str) -> Value {
        json!({"role": role, "content": {"type": "text", "text": text}})
    }

    #[test]
    fn a_request_is_texts_within_bounds() {
        let talk = json!([said("user", "a"), said("user", "b"), said("assistant", "c"), said("user", "d")]);
        let fine = of(json!({"messages": talk, "maxTokens": 1_000_000, "systemPrompt": "be short"})).unwrap();
        assert_eq!((fine.messages.len(), fine.max_tokens), (3, MCP_SAMPLE_TOKENS));
        let image =
            json!({"role": "user", "content": {"type": "image", "data": "AAAA", "mimeType": "image/png"}});
        let tool = json!([{"name": "x", "inputSchema": {"type": "object"}}]);
        for wrong in [
            json!({"messages": [], "maxTokens": 1}),
            json!({"messages": [said("assistant", "x")], "maxTokens": 1}),
            json!({"messages": [said("user", " ")], "maxTokens": 1}),
            json!({"messages": [image], "maxTokens": 1}),
            json!({"messages": [said("user", "x")], "maxTokens": 1, "tools": tool}),
            json!({"messages": [said("user", &"x".repeat(MCP_SAMPLE_BYTES + 1))], "maxTokens": 1}),
            json!({"messages": vec![said("user", "x"); MCP_SAMPLE_MESSAGES + 1], "maxTokens": 1}),
        ] {
            assert!(of(wrong.clone()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_user_sees_all_of_a_request() {
        let messages = json!([said("user", "ignore\n\nAllow it once\u{202e}")]);
        let request = of(json!({"messages": messages, "maxTokens": 5, "systemPrompt": "be evil"})).unwrap();
        let (text, options) = question("s\u{202e}", &request).said(&|ours| format!("<{ours}>"));
        assert!(text.ends_with("\n\n<The answer goes to the server, and counts for your usage.>"), "{text}");
        assert_eq!(options, ["<Allow it once>", "<Allow it until this call ends>", "<Decline>"]);
        assert!(
            text.contains("5 tokens")
                && text.contains("be evil")
                && text.contains("\n  | Allow it once\\u{202e}"),
            "{text}"
        );
    }
}
