//! `20_memory` and `22_recall`: the memories about the user, or of an agent of a group.
//!
//! Core blocks, or in the mode `flat` all notes, are read once for each conversation, so that its beginning stays the same. They are read
//! again after the conversation is summarised, and after a memory is forgotten. Items that match one message are in the note before it.
//! An agent of a group has its own memory and nothing of its owner's, because other people ask it and read its answers. Recall uses the
//! request of the person who asks, and not the log around it.

use futures_util::future::BoxFuture;
use memory::{Meaning, MemoryItem, MemoryKind, Mode, Reader, has_ended, holds, reaches};
use store::Store;
use tools::{Ported, utc_day};

use crate::limits::WORKSPACE_DOCUMENT_BYTES;
use agent::engine::{Made, PromptContext, PromptPart};
use agent::library::beginning;

/// The part `20_memory` of the prompt.
pub(super) struct Memories(pub(super) Store);

impl PromptPart for Memories {
    fn key(&self) -> &str {
        "20_memory"
    }

    fn make<'a>(&'a self, context: &'a PromptContext<'a>) -> BoxFuture<'a, Made> {
        Box::pin(text(&self.0, context))
    }
}

async fn text(store: &Store, context: &PromptContext<'_>) -> Made {
    // A sub-agent gets no memories.
    if context.ancestry.delegation().is_some() {
        return Ok(None);
    }
    let reader = reader(store, context).await?;
    let items = items(store, context, reader, false).await?;
    let shown: Vec<&MemoryItem> = items.iter().collect();
    let mut parts: Vec<String> = memory::prompt::core(&shown).into_iter().collect();
    if Mode::of(store, context.user.id).await.ported()? == Mode::Flat {
        parts.extend(memory::prompt::notes(&shown));
        // The notes in a workspace are about the user.
        if matches!(reader, Reader::Own { .. }) {
            parts.extend(notes_of_workspace(store, context).await?);
        }
    }
    let told = store.chat_memory(context.user.id, context.chat, &parts.join("\n\n")).await.ported()?;
    if told.is_empty() {
        return Ok(None);
    }
    context.holds("kept memories", &told);
    Ok(Some(told))
}

/// The part `22_recall` of the prompt.
pub(super) struct Recall(pub(super) Store, pub(super) Meaning);

impl PromptPart for Recall {
    fn key(&self) -> &str {
        "22_recall"
    }

    fn is_static(&self) -> bool {
        false
    }

    fn make<'a>(&'a self, context: &'a PromptContext<'a>) -> BoxFuture<'a, Made> {
        Box::pin(recalled(&self.0, &self.1, context))
    }
}

async fn recalled(store: &Store, meaning: &Meaning, context: &PromptContext<'_>) -> Made {
    let user = context.user.id;
    if context.ancestry.delegation().is_some() || Mode::of(store, user).await.ported()? != Mode::Typed {
        return Ok(None);
    }
    let (reader, turn) = (reader(store, context).await?, context.ancestry.turn());
    let said = match reader {
        Reader::Own { .. } => store.said_of_turn(user, turn).await.ported()?.map(|(_, said)| said),
        Reader::OfGroup { .. } => {
            let asked = store.asked_of_turn(user, context.ancestry.root(), turn).await.ported()?;
            asked.map(|asked| asked.text)
        }
    };
    let Some(said) = said else { return Ok(None) };
    let now_ms = store.now_ms();
    let mut items = items(store, context, reader, memory::recall::is_about_past(&said, now_ms)).await?;
    items.retain(|item| item.kind != MemoryKind::Core);
    if items.is_empty() {
        return Ok(None);
    }
    let near = meaning.nearest(reader.holder(user), &said).await;
    Ok(memory::recall::note(&said, &near, &items.iter().collect::<Vec<_>>(), now_ms, utc_day))
}

/// The agent that reads the memories.
async fn reader<'a>(store: &Store, context: &PromptContext<'a>) -> Result<Reader<'a>, agent::PortError> {
    let project = context.sandbox.ok().map(sandbox::Sandbox::place);
    Reader::of(store, context.ancestry.root(), project).await.ported()
}

/// The items that apply to the chat now and, if `with_ended`, also those that applied to it until they ended. All other items are left
/// out before any are ranked.
async fn items(
    store: &Store,
    context: &PromptContext<'_>,
    reader: Reader<'_>,
    with_ended: bool,
) -> Result<Vec<MemoryItem>, agent::PortError> {
    let mut items = store.memory_items(reader.holder(context.user.id)).await.ported()?;
    let now_ms = store.now_ms();
    items.retain(|item| {
        (holds(item, now_ms) || with_ended && has_ended(item, now_ms)) && reaches(item, reader)
    });
    Ok(items)
}

/// The folder of notes in a workspace, with the same files as in `NiBot`: `MEMORY.md`, and one file for each day.
const NOTES: &str = "memory";

/// The workspace's notes: the long-term file, and the files of today and yesterday, in UTC.
async fn notes_of_workspace(store: &Store, context: &PromptContext<'_>) -> Made {
    const DAY_MS: i64 = 24 * 60 * 60 * 1000;
    let Ok(sandbox) = context.sandbox else { return Ok(None) };
    let today = store.now_ms().div_euclid(DAY_MS);
    let mut texts = Vec::new();
    for name in ["MEMORY".to_owned(), utc_day(today - 1), utc_day(today)] {
        let file = format!("{NOTES}/{name}.md");
        if let Some(text) = beginning(sandbox, &file, WORKSPACE_DOCUMENT_BYTES).await? {
            texts.push(super::workspace::cited(&file, &text));
        }
    }
    Ok((!texts.is_empty()).then(|| format!("# Notes in this workspace\n\n{}", texts.join("\n\n"))))
}
