//! `20_memory`: the user's memories. They go into the prompt once, so that a conversation's beginning stays the same; later
//! memories are in the conversation itself.

use futures_util::future::BoxFuture;
use store::{Memory, Store};
use tools::Ported;

use crate::limits::MEMORY_PROMPT_BYTES;
use agent::engine::{Made, PromptContext, PromptPart};

/// `20_memory`.
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
    // A sub-agent has only its task.
    if context.ancestry.delegation().is_some() {
        return Ok(None);
    }
    let now = told(store.memories(context.user.id).await.ported()?);
    let told = store.chat_memory(context.user.id, context.chat, &now).await.ported()?;
    Ok((!told.is_empty()).then_some(told))
}

/// The latest ones, as many as there is room for, by name.
fn told(mut memories: Vec<Memory>) -> String {
    memories.sort_by(|one, other| (other.updated_at_ms, &one.name).cmp(&(one.updated_at_ms, &other.name)));
    let mut room = MEMORY_PROMPT_BYTES;
    let count = memories.len();
    let mut shown: Vec<Memory> = memories
        .into_iter()
        .take_while(|memory| {
            let size = memory.name.len() + memory.text.len();
            let fits = size <= room;
            room = room.saturating_sub(size);
            fits
        })
        .collect();
    if shown.is_empty() {
        return String::new();
    }
    let left_out = count - shown.len();
    shown.sort_by(|one, other| one.name.cmp(&other.name));
    let lines: Vec<String> =
        shown.iter().map(|memory| format!("- {}: {}", memory.name, memory.text)).collect();
    let more =
        if left_out == 0 { String::new() } else { format!("\n({left_out} older ones: see memory_list)") };
    format!("# What you remember about this user from earlier conversations\n\n{}{more}", lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(name: &str, length: usize, updated_at_ms: i64) -> Memory {
        Memory { name: name.to_owned(), text: "x".repeat(length), updated_at_ms }
    }

    #[test]
    fn what_was_written_last_is_told_as_far_as_there_is_room() {
        assert_eq!(told(Vec::new()), "");
        let all = told(vec![memory("b", 1, 1), memory("a", 1, 2)]);
        assert!(all.ends_with("\n\n- a: x\n- b: x"), "{all}");
        let full = MEMORY_PROMPT_BYTES - 1;
        let most = told(vec![memory("z", full, 9), memory("a", 1, 1)]);
        assert!(most.contains("- z: xxx") && most.ends_with("(1 older ones: see memory_list)"));
        assert!(most.len() < MEMORY_PROMPT_BYTES + 200);
    }
}
