//! `05_channel`: who reads the model's texts.

use futures_util::future::BoxFuture;

use agent::engine::{Made, PromptContext, PromptPart};

const CHAT: &str = "A person reads your text in a chat while you write it: use plain words, Markdown where it helps, and no HTML.";

const SUB_AGENT: &str = "\
You are a sub-agent: another agent, which works for the user, gave you a task. No person reads what you write, and nobody \
answers questions: decide yourself, and say what you assumed. Your last message is your result, and all that the other agent gets: say what you found or did, with the paths and lines it needs, and what remains open. Do what you were asked and no more.";

/// The part `05_channel` of the prompt.
pub(super) struct Channel;

impl PromptPart for Channel {
    fn key(&self) -> &str {
        "05_channel"
    }

    fn make<'a>(&'a self, context: &'a PromptContext<'a>) -> BoxFuture<'a, Made> {
        Box::pin(async { Ok(Some(text(context))) })
    }
}

fn text(context: &PromptContext<'_>) -> String {
    let Some(delegation) = context.ancestry.delegation() else { return CHAT.to_owned() };
    match delegation.role_text() {
        "" => SUB_AGENT.to_owned(),
        role => format!("{SUB_AGENT}\n\n# Your role\n\n{role}"),
    }
}
