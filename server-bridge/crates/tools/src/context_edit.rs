//! `context_edit`: removes useless parts from the conversation.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Failure, Outcome, Work};
use crate::{Ported, Services};
use agent::approval::Access;
use agent::context::Conversation;
use agent::context::edit::{self, Action};
use agent::tool::{Beside, ForSubAgents, Live, Rules, ToolContext, TypedTool};

/// The message to edit, and the change.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// The action on the message.
    action: Kind,
    /// A part of the message's text that is in no other message.
    contains: String,
    /// For truncate: the number of characters of the message to keep.
    #[serde(default)]
    keep_chars: Option<usize>,
    /// For replace: the text to replace, everywhere in the message.
    #[serde(default)]
    old_string: Option<String>,
    /// For replace: the new text.
    #[serde(default)]
    new_string: Option<String>,
    /// For replace: whether old_string is a regular expression (Rust's syntax).
    #[serde(default)]
    regex: bool,
}

/// The kind of edit.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Kind {
    DeleteTurn,
    Delete,
    Truncate,
    Replace,
}

impl TypedTool for Arguments {
    type Services = Services;

    const NAME: &'static str = "context_edit";
    const DESCRIPTION: &'static str = "Edits what you see of this conversation, to save room or to remove misleading text: \
delete a message (with an answer, the results of its calls are deleted too), delete_turn (from a message of the user to the next one), truncate, or \
replace. The last 3 messages cannot be edited. The user still sees everything.";
    // An undo of the turn that calls this tool reverts the edits, so the turn must be a user's own. Two calls at once would not see each
    // other's edits.
    const RULES: Rules = Rules::of(Access::Read)
        .beside(Beside::Nothing)
        .for_sub_agents(ForSubAgents::Never)
        .without_machine()
        .edits_conversation();

    fn hint(&self) -> &str {
        &self.contains
    }

    async fn run(
        &self,
        services: &Services,
        context: &ToolContext<'_>,
        _live: Live<'_>,
    ) -> Result<Outcome, Failure> {
        let work = &Work { services, context };
        let action = self.action().map_err(|missing| Failure::Message(format!("{missing} is missing")))?;
        let (store, agent) = (&work.services.store, work.agent()?);
        let stored = store.stored_context(work.user.id, agent.chat, agent.turn).await.ported()?;
        let conversation = Conversation::of_stored(u32::MAX, stored);
        let edits = edit::edits(&conversation, &self.contains, &action).map_err(Failure::Message)?;
        store.edit_context(agent.turn, &edits).await.ported()?;
        Ok(Outcome::done(match edits.len() {
            1 => "1 message edited".to_owned(),
            count => format!("{count} messages edited"),
        }))
    }
}

impl Arguments {
    /// The requested action, or the missing argument.
    fn action(&self) -> Result<Action<'_>, &'static str> {
        Ok(match self.action {
            Kind::DeleteTurn => Action::DeleteTurn,
            Kind::Delete => Action::Delete,
            Kind::Truncate => Action::Truncate(self.keep_chars.ok_or("keep_chars")?),
            Kind::Replace => Action::Replace {
                old: self.old_string.as_deref().ok_or("old_string")?,
                new: self.new_string.as_deref().ok_or("new_string")?,
                is_regex: self.regex,
            },
        })
    }
}
