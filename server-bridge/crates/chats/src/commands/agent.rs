//! `/agent`: sends the user's own words to a sub-agent that has a name.
//!
//! The message is queued like any other, and its turn is one call of the sub-agent: it has the chat's approval mode, can be undone and
//! stopped, and is recorded before it begins. The chat's model is not asked; it sees the message and the answer in its next request.

use agent::engine::Named;
use llm::ToolCall;
use serde_json::json;
use store::SubAgent;

use super::{Command, Context};
use crate::limits::TURNS_QUEUED;
use crate::stored::{RELAYED, named};
use crate::{Posted, Result, turns};

pub(super) const COMMAND: Command = Command {
    word: "agent",
    usage: &[
        ("/agent", "list this chat's sub-agents that you can write to"),
        ("/agent NAME TEXT", "write to a sub-agent; its answer appears here"),
    ],
    run: |context, argument| Box::pin(run(context, argument)),
};

/// The tool that calls sub-agents.
const TOOL: &str = "SubAgent";

async fn run(context: &Context<'_>, argument: Option<&str>) -> Result<Posted> {
    let Context { service, user, chat, said, .. } = context;
    let mut agents = service.store.sub_agents(user.id, &chat.id).await?;
    agents.retain(|agent| agent.instance.is_some());
    let Some(argument) = argument else { return list(context, &agents).await };
    let Some((name, text)) = addressed(argument, &agents) else {
        let text =
            "No sub-agent of this chat has that name; /agent lists the sub-agents that you can write to.";
        return context.refusal("not_found", text).await;
    };
    if text.is_empty() {
        return context
            .refusal("invalid", "Write the message after the sub-agent's name: /agent NAME TEXT.")
            .await;
    }
    match named(&service.store, user.id, &chat.id, name).await? {
        Named::Open(_) => {}
        Named::Closed | Named::Nobody => {
            let text = "This sub-agent was closed: nobody called it for 30 minutes. Ask this chat's agent to call a new one.";
            return context.refusal("gone", text).await;
        }
    }
    let task = format!("(A message from the user {}, who writes to you directly.)\n\n{text}", user.name);
    let arguments = json!({"task": task, "instance": name}).to_string();
    let call = ToolCall { id: format!("{RELAYED}{}", said.0), name: TOOL.to_owned(), arguments };
    let shown = format!("/agent {argument}");
    match turns::post_call(service, user, &chat.id, (*said, &shown), call).await? {
        Some(shown) => Ok(Posted { messages: vec![shown], ..Posted::default() }),
        None => {
            let full = format!(
                "{TURNS_QUEUED} messages are already waiting for an answer in this chat. This one will not be answered; send it again later."
            );
            context.notice(&full).await
        }
    }
}

/// The sub-agent's name at the beginning of an argument, and the text after it. If two names match, the longer one counts.
fn addressed<'a>(argument: &'a str, agents: &'a [SubAgent]) -> Option<(&'a str, &'a str)> {
    let names = agents.iter().filter_map(|agent| agent.instance.as_deref());
    let fits = names.filter_map(|name| {
        let rest = argument.strip_prefix(name)?;
        (rest.is_empty() || rest.starts_with(char::is_whitespace)).then_some((name, rest.trim()))
    });
    fits.max_by_key(|(name, _)| name.len())
}

async fn list(context: &Context<'_>, agents: &[SubAgent]) -> Result<Posted> {
    let Context { service, user, chat, .. } = context;
    let mut names: Vec<&str> = agents.iter().filter_map(|agent| agent.instance.as_deref()).collect();
    names.sort_unstable();
    names.dedup();
    let mut open = Vec::new();
    for name in names {
        if matches!(named(&service.store, user.id, &chat.id, name).await?, Named::Open(_)) {
            open.push(name);
        }
    }
    if open.is_empty() {
        let text = "This chat has no sub-agent that you can write to. You can write to a sub-agent that has a name, for 30 minutes after its last call.";
        return context.notice(text).await;
    }
    let head = context.in_words("Sub-agents that you can write to with /agent NAME TEXT:");
    context.notice_as_it_is(&format!("{head}\n{}", open.join("\n"))).await
}

#[cfg(test)]
mod tests {
    use store::ChatId;

    use super::*;

    fn agent(name: &str) -> SubAgent {
        SubAgent {
            chat: ChatId::random(),
            parent: ChatId::random(),
            message: None,
            role: None,
            instance: Some(name.to_owned()),
            place: None,
            worktree: None,
            tools_json: "[]".to_owned(),
            title: String::new(),
            status: None,
            created_at_ms: 0,
            used_at_ms: 0,
        }
    }

    #[test]
    fn a_message_is_for_the_sub_agent_with_the_longest_name() {
        let agents = ["x", "x two", "写手"].map(agent);
        for (argument, expected) in [
            ("x hello", Some(("x", "hello"))),
            ("x two  hello\nthere", Some(("x two", "hello\nthere"))),
            ("写手 你好", Some(("写手", "你好"))),
            ("x", Some(("x", ""))),
            ("xx hello", None),
            ("y hello", None),
        ] {
            assert_eq!(addressed(argument, &agents), expected, "{argument:?}");
        }
    }
}
