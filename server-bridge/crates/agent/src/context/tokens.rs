//! Token estimates. Every provider counts differently; these err on the high side.

use llm::{Assistant, Content, Message, Request, SystemPart, Tool};

use crate::limits::{ASCII_PER_TOKEN, IMAGE_TOKENS, MESSAGE_TOKENS};

/// The estimate for a text: one token for four ASCII letters, and one for every other character.
pub fn of_text(text: &str) -> usize {
    /// The first byte of a multi-byte character has at least this value.
    const FIRST_OF_SEVERAL: u8 = 0xc0;
    let ascii = text.bytes().filter(u8::is_ascii).count();
    let others = text.bytes().filter(|byte| *byte >= FIRST_OF_SEVERAL).count();
    ascii.div_ceil(ASCII_PER_TOKEN) + others
}

/// The estimate for all that a request sends.
pub fn of_request(request: &Request) -> usize {
    let messages = request.messages.iter().map(|message| of_message(message)).sum::<usize>();
    of_system(&request.system) + of_tools(&request.tools) + messages
}

/// The estimate for a message of a conversation.
pub fn of_message(message: &Message) -> usize {
    MESSAGE_TOKENS
        + match message {
            Message::User(content) => of_content(content),
            Message::Assistant(said) => of_answer(said),
            Message::Tool(result) => of_content(&result.content),
        }
}

fn of_answer(said: &Assistant) -> usize {
    let thoughts = said.reasoning.iter().map(|thought| of_text(&thought.text)).sum::<usize>();
    let calls =
        said.tool_calls.iter().map(|call| MESSAGE_TOKENS + of_text(&call.name) + of_text(&call.arguments));
    of_text(&said.text) + thoughts + calls.sum::<usize>()
}

fn of_content(content: &[Content]) -> usize {
    content.iter().map(|content| content.text().map_or(IMAGE_TOKENS, of_text)).sum()
}

/// The estimate for the system prompt.
pub fn of_system(parts: &[SystemPart]) -> usize {
    parts.iter().map(|part| of_text(&part.text)).sum()
}

/// The estimate for the declared tools.
pub fn of_tools(tools: &[Tool]) -> usize {
    tools
        .iter()
        .map(|tool| of_text(&tool.name) + of_text(&tool.description) + of_text(&tool.parameters.to_string()))
        .sum()
}

#[cfg(test)]
mod tests {
    use llm::{ToolCall, ToolResult};

    use super::*;

    #[test]
    fn letters_are_a_quarter_and_other_characters_a_whole() {
        assert_eq!(
            (of_text(""), of_text("a"), of_text("abcde"), of_text("aé"), of_text("界界")),
            (0, 1, 2, 2, 2)
        );
    }

    #[test]
    fn all_that_is_sent_of_a_message_counts() {
        let call = |arguments: &str| ToolCall {
            id: "1".to_owned(),
            name: "Read".to_owned(),
            arguments: arguments.to_owned(),
        };
        let said = Assistant { tool_calls: vec![call(&"x".repeat(400))], ..Assistant::default() };
        assert_eq!(of_message(&Message::Assistant(said)), 2 * MESSAGE_TOKENS + 1 + 100);
        let image = Content::Image { media_type: "image/png".to_owned(), data: vec![0; 9].into() };
        let result =
            ToolResult { call_id: "1".to_owned(), content: vec!["abcd".into(), image], is_error: false };
        assert_eq!(of_message(&Message::Tool(result)), MESSAGE_TOKENS + 1 + IMAGE_TOKENS);
    }
}
