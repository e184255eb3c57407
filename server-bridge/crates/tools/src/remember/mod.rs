//! The tools of memory: those of all modes, and those of the mode `letta`.
//!
//! | tool | mode |
//! |---|---|
//! | `memory_write`, `memory_list`, `memory_search`, `memory_edit` | all |
//! | `core_memory_append`, `core_memory_replace`, `archival_memory_insert`, `archival_memory_search`, `recall_memory_search` | `letta` |
//!
//! A tool keeps or changes a memory at once only if the user's own message asks for it and the turn has read nothing else; otherwise it
//! proposes the change.

mod edit;
mod letta;
mod source;
mod standing;
mod write;

use std::fmt::Write as _;

use memory::{MemoryItem, MemoryKind, Written, holds, reaches};
use schemars::JsonSchema;
use serde::Deserialize;

use self::standing::scope_of;
use super::{Failure, Outcome, Work};
use crate::{Ported, Services, ported};
use agent::approval::Access;
use agent::tool::{ForSubAgents, Live, Rules, ToolContext, TypedTool};

pub(crate) use self::edit::Edit;
pub(crate) use self::source::LettaTools;
pub(crate) use self::write::Write;

/// The rules of tools that read memory.
const READS: Rules = Rules::of(Access::Read).for_sub_agents(ForSubAgents::Named).without_machine();
/// The rules of tools that write memory. Memories outlive the chat, so the user is asked.
const WRITES: Rules = Rules::of(Access::Remember).for_sub_agents(ForSubAgents::Never).without_machine();

/// No arguments.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct List {}

impl TypedTool for List {
    type Services = Services;

    const NAME: &'static str = "memory_list";
    const DESCRIPTION: &'static str = "Lists everything that is remembered about the user from earlier conversations, with the id of each memory.";
    const RULES: Rules = READS;

    fn hint(&self) -> &str {
        ""
    }

    async fn run(
        &self,
        services: &Services,
        context: &ToolContext<'_>,
        _live: Live<'_>,
    ) -> Result<Outcome, Failure> {
        let work = &Work { services, context };
        let kept = visible(work).await?;
        let lines: Vec<String> = kept.iter().map(memory::prompt::line).collect();
        Ok(Outcome::done(if lines.is_empty() {
            "nothing is remembered".to_owned()
        } else {
            lines.join("\n")
        }))
    }
}

/// A search in memories.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Search {
    /// Words to find, or a question.
    query: String,
}

impl TypedTool for Search {
    type Services = Services;

    const NAME: &'static str = "memory_search";
    const DESCRIPTION: &'static str = "Finds memories about the user by their words and their meaning, the best match first. Use it before you say that you do not know something about the user, and before you write a memory.";
    const RULES: Rules = READS;

    fn hint(&self) -> &str {
        &self.query
    }

    async fn run(
        &self,
        services: &Services,
        context: &ToolContext<'_>,
        _live: Live<'_>,
    ) -> Result<Outcome, Failure> {
        let work = &Work { services, context };
        search(work, &self.query).await
    }
}

/// The items that a question finds, as a result.
async fn search(work: &Work<'_>, query: &str) -> Result<Outcome, Failure> {
    let kept = visible(work).await?;
    let kept: Vec<&MemoryItem> = kept.iter().collect();
    let near = work.services.meaning.nearest(work.user.id, query).await;
    let found = memory::recall::find(query, &near, &kept);
    let found = found.iter().take(memory::limits::SEARCH_ITEMS);
    let lines: Vec<String> = found.map(|found| memory::prompt::line(found.item)).collect();
    Ok(Outcome::done(if lines.is_empty() {
        "no memory has these words or this meaning".to_owned()
    } else {
        lines.join("\n")
    }))
}

/// The items that apply to the caller's chat now.
async fn visible(work: &Work<'_>) -> Result<Vec<MemoryItem>, Failure> {
    let now_ms = work.services.store.now_ms();
    // Without a machine there is no project.
    let project = work.sandbox().await.ok().map(|sandbox| sandbox.place().to_owned());
    let mut items = work.services.store.memory_items(work.user.id).await.ported()?;
    items.retain(|item| holds(item, now_ms) && reaches(item, project.as_deref()));
    Ok(items)
}

/// The kind of a memory.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    /// A fact about the user or their work.
    #[default]
    Semantic,
    /// Something that happened.
    Episodic,
    /// How the user wants something done.
    Procedural,
}

impl From<Kind> for MemoryKind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Semantic => Self::Semantic,
            Kind::Episodic => Self::Episodic,
            Kind::Procedural => Self::Procedural,
        }
    }
}

/// Where it applies.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Reach {
    /// In all of the user's chats.
    #[default]
    User,
    /// On the current machine.
    Project,
}

/// The result, in words for the model.
fn told(written: &Written) -> String {
    let id = written.item().id;
    match written {
        Written::Kept(_) => format!("kept as #{id}"),
        Written::Updated(_) => format!("#{id} was updated"),
        Written::Known(item) if item.is_proposed => format!("already proposed as #{id}; the user decides"),
        Written::Known(_) => format!("already known as #{id}"),
        Written::Proposed(_) => {
            let mut text =
                format!("proposed as #{id}: it is kept once the user accepts it in the settings, or with ");
            // Writing to a string does not fail.
            let _ = write!(text, "/memory accept {id}. Tell the user so; do not propose it again");
            text
        }
    }
}

/// The store's refusal as words for the model, and any other error as a failure.
fn refused(error: store::Error) -> Failure {
    match error {
        store::Error::Invalid { .. } | store::Error::Taken { .. } | store::Error::NotFound { .. } => {
            Failure::Told(error.to_string())
        }
        error => ported(error).into(),
    }
}

/// Keeps or proposes a text of this kind and reach.
async fn keep(work: &Work<'_>, wanted: memory::Write<'_>, reach: Reach) -> Result<Outcome, Failure> {
    let (scope, scope_name) = scope_of(work, reach).await?;
    let (standing, said) = standing::to_keep(work, wanted.text).await?;
    let chat = work.agent().ok().map(|turn| turn.root);
    let wanted = memory::Write { scope, scope_name: &scope_name, chat, message: said, ..wanted };
    let store = &work.services.store;
    let written = memory::write(store, work.user.id, &wanted, standing, &memory::likeness::lexical).await;
    Ok(Outcome::done(told(&written.map_err(refused)?)))
}
