//! What a sub-agent's turn came to, as its parent is told.

use llm::Message;
use store::TurnStatus;

use crate::engine::AgentDocument;
use crate::engine::show::UsageDocument;
use crate::limits::SUB_AGENT_RESULT_BYTES;
use crate::tool::Outcome;

/// What an agent said last about what it was asked last.
pub(super) fn last_words(messages: &[Message]) -> Option<&str> {
    let is_user = |message: &Message| matches!(message, Message::User(_));
    let own = messages.iter().rev().take_while(|message| !is_user(message));
    let mut said = own.filter_map(|message| match message {
        Message::Assistant(said) => Some(said.text.trim()),
        Message::User(_) | Message::Tool(_) => None,
    });
    said.find(|text| !text.is_empty())
}

/// What its parent is told of a turn that has ended, and what that took.
pub(super) fn told(document: Option<&str>, words: Option<&str>) -> (Outcome, Option<UsageDocument>) {
    let words = words.map(bounded);
    let document = document.and_then(|json| serde_json::from_str(json).ok());
    let (status, error, usage) = match document {
        Some(AgentDocument::Reply { status, error, usage, .. }) => (status, error, usage),
        Some(AgentDocument::Tool { .. }) | None => Default::default(),
    };
    if status == TurnStatus::Done.as_str() {
        let words = words.unwrap_or_else(|| "(the sub-agent ended without a word)".to_owned());
        return (Outcome::done(words), usage);
    }
    let why = match error {
        Some(error) => error,
        None if status == TurnStatus::Cancelled.as_str() => "the user stopped it".to_owned(),
        None => "its end was not told".to_owned(),
    };
    let words = words.map_or_else(String::new, |words| format!("\nWhat it said last:\n{words}"));
    (Outcome::failed(&format!("the sub-agent did not finish: {why}{words}")), usage)
}

fn bounded(words: &str) -> String {
    if words.len() <= SUB_AGENT_RESULT_BYTES {
        return words.to_owned();
    }
    let kept = &words[..words.floor_char_boundary(SUB_AGENT_RESULT_BYTES)];
    format!("{kept}\n(it said {} bytes more, which are left out)", words.len() - kept.len())
}

#[cfg(test)]
mod tests {
    use llm::{Assistant, ToolCall, ToolResult};

    use super::*;

    fn said(text: &str) -> Message {
        Message::Assistant(Assistant { text: text.to_owned(), ..Assistant::default() })
    }

    #[test]
    fn the_last_words_are_those_about_the_last_task() {
        let result =
            Message::Tool(ToolResult { call_id: "1".to_owned(), content: vec!["x".into()], is_error: false });
        let call =
            Message::Assistant(Assistant { tool_calls: vec![ToolCall::default()], ..Assistant::default() });
        let mut messages = vec![Message::user("a"), said("old"), Message::user("b")];
        assert_eq!(last_words(&messages), None);
        messages.extend([said(" first "), call, result]);
        assert_eq!(last_words(&messages), Some("first"));
        messages.push(said("last"));
        assert_eq!(last_words(&messages), Some("last"));
    }

    #[test]
    fn a_parent_is_told_what_came_of_it_and_why_nothing_did() {
        let ended = |status, error: Option<&str>, words| {
            let mut document = AgentDocument::reply(status);
            if let AgentDocument::Reply { error: told, .. } = &mut document {
                *told = error.map(str::to_owned);
            }
            told(Some(&document.to_json()), words).0
        };
        assert_eq!(ended(TurnStatus::Done, None, Some("found it")), Outcome::done("found it"));
        let silent = ended(TurnStatus::Done, None, None);
        assert!(!silent.is_error && silent.text.contains("without a word"));
        let failed = ended(TurnStatus::Failed, Some("offline"), Some("half"));
        assert!(
            failed.is_error && failed.text.contains("offline\nWhat it said last:\nhalf"),
            "{}",
            failed.text
        );
        assert!(ended(TurnStatus::Cancelled, None, None).text.contains("the user stopped it"));
        assert!(told(None, None).0.is_error);
    }

    #[test]
    fn long_words_are_cut_where_it_is_said() {
        let most = "é".repeat(SUB_AGENT_RESULT_BYTES / 2);
        assert_eq!(bounded(&most), most);
        let cut = bounded(&format!("{most}é"));
        assert!(cut.starts_with(&most) && cut.ends_with("(it said 2 bytes more, which are left out)"));
    }
}
