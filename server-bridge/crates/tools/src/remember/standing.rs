//! Decides whether a model's call may write at once: only if the user's message asks for it and nothing else was read in the turn. For an
//! agent of a group, that message is the request of the person who asks it, without the group's log; requests of other agents do not
//! count.

use agent::context::history;
use llm::Message;
use memory::{MemoryHolder, MemoryScope, MemorySource, Standing};
use store::MessageId;

use super::Reach;
use crate::{Failure, Ported, Work};

/// Tools whose results contain no text from outside. A turn that called any other tool can only propose memories, because the text that
/// it read may have asked for them.
const HARMLESS: &[&str] = &[
    "AskUser",
    "Cd",
    "archival_memory_insert",
    "archival_memory_search",
    "config",
    "core_memory_append",
    "core_memory_replace",
    "memory_edit",
    "memory_list",
    "memory_search",
    "memory_write",
    "todo_list",
    "todo_write",
];

/// The beginning of a line that names an attachment: the name is not the user's own words.
const ATTACHED: &str = "[attached: ";

/// The authority of a call that keeps a text, and the user's message.
pub(super) async fn to_keep(work: &Work<'_>, text: &str) -> Result<(Standing, Option<MessageId>), Failure> {
    let Some(said) = own_words(work).await? else {
        return Ok((Standing::Proposes(MemorySource::Model), None));
    };
    let is_asked = said.is_clean && memory::asked::to_keep(&said.words, text);
    Ok((if is_asked { Standing::Asked } else { Standing::Proposes(MemorySource::Model) }, Some(said.message)))
}

/// True if the user's message asks to forget the memory with this name or text, and nothing else was read in the turn.
pub(super) async fn may_forget(work: &Work<'_>, name: &str, text: &str) -> Result<bool, Failure> {
    let said = own_words(work).await?;
    Ok(said.is_some_and(|said| said.is_clean && memory::asked::to_forget(&said.words, name, text)))
}

/// The user's message that the turn answers.
struct OwnWords {
    message: MessageId,
    words: String,
    /// True if the turn called only harmless tools.
    is_clean: bool,
}

/// `None` for sub-agents, and if the user's own words are unknown.
async fn own_words(work: &Work<'_>) -> Result<Option<OwnWords>, Failure> {
    let turn = work.agent()?;
    if turn.chat != turn.root {
        return Ok(None);
    }
    let (store, user) = (&work.services.store, work.user.id);
    let said = match super::holder(work).await?.agent {
        None => store.said_of_turn(user, turn.turn).await.ported()?,
        Some(_) => {
            let asked = store.asked_of_turn(user, turn.root, turn.turn).await.ported()?;
            asked.filter(|asked| asked.is_persons).map(|asked| (asked.message, asked.text))
        }
    };
    let Some((message, text)) = said else { return Ok(None) };
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim_start().starts_with(ATTACHED)).collect();
    let items = store.items_of_turn(user, turn.turn).await.ported()?;
    let is_clean = items.iter().all(|item| match history::from_json(item) {
        Some(Message::Assistant(said)) => {
            said.tool_calls.iter().all(|call| HARMLESS.contains(&call.name.as_str()))
        }
        Some(Message::User(_) | Message::Tool(_)) => true,
        None => false,
    });
    Ok(Some(OwnWords { message, words: lines.join("\n"), is_clean }))
}

/// The scope and its name for a reach; a project is the machine that the turn works on. An agent of a group works on one machine, and has one scope.
pub(super) async fn scope_of(
    work: &Work<'_>,
    holder: MemoryHolder,
    reach: Reach,
) -> Result<(MemoryScope, String), Failure> {
    Ok(match reach {
        _ if holder.agent.is_some() => (MemoryScope::Agent, String::new()),
        Reach::User => (MemoryScope::User, String::new()),
        Reach::Project => (MemoryScope::Project, work.sandbox().await?.place().to_owned()),
    })
}
