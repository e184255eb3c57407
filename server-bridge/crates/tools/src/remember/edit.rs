//! `memory_edit`: changes or forgets a memory by its id.

use memory::MemoryKind;
use schemars::JsonSchema;
use serde::Deserialize;

use super::write::NOT_ASKED;
use super::{Reach, WRITES, holder, refused, standing, told};
use crate::{Failure, Outcome, Services, Work};
use agent::tool::look::{Ground, Looked, part};
use agent::tool::{Live, Rules, ToolContext, TypedTool};
use memory::{MemoryChange, MemorySource, NewMemory, Standing, Written};

/// The change.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Edit {
    /// The memory's id, as listed.
    id: i64,
    /// The memory's new text; empty to forget the memory.
    text: String,
}

impl TypedTool for Edit {
    type Services = Services;

    const NAME: &'static str = "memory_edit";
    const DESCRIPTION: &'static str = "Changes the text of a memory, or forgets it. Use it when the user corrects something that is remembered; a change that the user did not ask for is only proposed to them.";
    const RULES: Rules = WRITES;

    fn hint(&self) -> &str {
        &self.text
    }

    async fn look(&self, _ground: Option<&Ground>) -> Result<Looked, Failure> {
        let id = part("id", &self.id.to_string());
        Ok(match self.text.trim().is_empty() {
            true => Looked::words("forgets something, for all chats", vec![id]),
            false => Looked::words("remembers something, for all chats", vec![id, part("text", &self.text)]),
        })
    }

    async fn run(
        &self,
        services: &Services,
        context: &ToolContext<'_>,
        _live: Live<'_>,
    ) -> Result<Outcome, Failure> {
        let work = &Work { services, context };
        let (store, holder, text) = (&services.store, holder(work).await?, self.text.trim());
        let item = store.memory_item(holder, self.id).await.map_err(refused)?;
        if text.is_empty() {
            if !standing::may_forget(work, &item.name, &item.text).await? {
                return Err(Failure::Message(NOT_ASKED.to_owned()));
            }
            store.forget_memories(holder, &[item.id]).await.map_err(refused)?;
            return Ok(Outcome::done("forgotten"));
        }
        if let Some(by) = item.superseded_by {
            let id = item.id;
            return Err(Failure::Message(format!(
                "memory {id} was replaced by memory {by}; change memory {by}"
            )));
        }
        replace(work, &item, text).await
    }
}

/// Replaces the text of an item, or proposes to replace it.
pub(super) async fn replace(
    work: &Work<'_>,
    item: &memory::MemoryItem,
    text: &str,
) -> Result<Outcome, Failure> {
    let (store, holder) = (&work.services.store, holder(work).await?);
    if item.kind == MemoryKind::Core {
        memory::write::check_core(&item.name, text).map_err(refused)?;
    }
    let (standing, said) = standing::to_keep(work, text).await?;
    let written = match standing {
        Standing::Person | Standing::Asked => {
            let change =
                MemoryChange { name: None, text: Some(text), valid_to_ms: None, by: MemorySource::Asked };
            Written::Updated(store.change_memory(holder, item.id, &change).await.map_err(refused)?)
        }
        Standing::Proposes(source) => {
            let new = NewMemory {
                kind: item.kind,
                scope: item.scope,
                scope_name: &item.scope_name,
                name: &item.name,
                text,
                source,
                chat: work.agent().ok().map(|turn| turn.root),
                message: said,
                is_proposed: true,
                replaces: Some(item.id),
                supersedes: &[],
                valid_to_ms: None,
            };
            Written::Proposed(store.add_memory(holder, &new).await.map_err(refused)?)
        }
    };
    Ok(Outcome::done(told(&written)))
}

/// The core block with this name for the turn's place of work, if there is one.
pub(super) async fn core(
    work: &Work<'_>,
    block: &str,
) -> Result<(Reach, Option<memory::MemoryItem>), Failure> {
    let holder = holder(work).await?;
    let reach = if block == "project" { Reach::Project } else { Reach::User };
    let (scope, scope_name) = standing::scope_of(work, holder, reach).await?;
    let items = work.services.store.memory_items(holder).await.map_err(refused)?;
    let is_it = |item: &memory::MemoryItem| {
        item.kind == MemoryKind::Core
            && !item.is_proposed
            && item.name == block
            && (item.scope, &item.scope_name) == (scope, &scope_name)
    };
    Ok((reach, items.into_iter().find(is_it)))
}
