//! A user's memories, as the user sees and changes them.

use memory::{
    MemoryChange, MemoryItem, MemoryReplacement, MemoryRevision, MemorySource, Mode, Standing, Write, Written,
};
use store::{User, UserId};

use crate::{ChatService, Error, Result};

/// How a user's agents remember.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemorySettings {
    /// The mode.
    pub mode: Mode,
    /// True if the swift model proposes memories from chats that have ended.
    pub from_chats: bool,
}

impl ChatService {
    /// All memories and proposals of a user, in the order in which they were added; with a question, only those that share words or the
    /// meaning with it, the best match first.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub async fn memories(&self, user: UserId, question: Option<&str>) -> Result<Vec<MemoryItem>> {
        let items = self.0.store.memory_items(user).await?;
        let Some(question) = question else { return Ok(items) };
        let all: Vec<&MemoryItem> = items.iter().collect();
        let near = self.0.meaning.nearest(user, question).await;
        Ok(memory::recall::find(question, &near, &all).into_iter().map(|found| found.item.clone()).collect())
    }

    /// The memories that a user's proposals would replace, by the proposals' ids.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub async fn memory_replacements(&self, user: UserId) -> Result<Vec<MemoryReplacement>> {
        Ok(self.0.store.memory_replacements(user).await?)
    }

    /// A memory, and its earlier texts, the latest first.
    ///
    /// # Errors
    /// [`Error::Store`] if the memory is gone or another user's.
    pub async fn memory(&self, user: UserId, id: i64) -> Result<(MemoryItem, Vec<MemoryRevision>)> {
        let store = &self.0.store;
        Ok((store.memory_item(user, id).await?, store.memory_revisions(user, id).await?))
    }

    /// Keeps a memory that the user wrote. Audited.
    ///
    /// # Errors
    /// [`Error::Store`] for a text that is empty or too long, and beyond 1,000 memories.
    pub async fn keep_memory(&self, user: &User, wanted: &Write<'_>) -> Result<Written> {
        let store = &self.0.store;
        let written = memory::write(store, user.id, wanted, Standing::Person).await?;
        self.noted(user, "memory.keep", written.item().id).await;
        Ok(written)
    }

    /// Changes a memory for the user. Audited.
    ///
    /// # Errors
    /// [`Error::Store`] if the memory is gone or another user's, and for a text that is empty or too long.
    pub async fn change_memory(
        &self,
        user: &User,
        id: i64,
        name: Option<&str>,
        text: Option<&str>,
        valid_to_ms: Option<Option<i64>>,
    ) -> Result<MemoryItem> {
        let store = &self.0.store;
        let item = store.memory_item(user.id, id).await?;
        if item.kind == memory::MemoryKind::Core {
            memory::write::check_core(name.unwrap_or(&item.name), text.unwrap_or(&item.text))?;
        }
        let change = MemoryChange { name, text, valid_to_ms, by: MemorySource::Person };
        let changed = store.change_memory(user.id, id, &change).await?;
        self.noted(user, "memory.change", id).await;
        Ok(changed)
    }

    /// Accepts a proposal; returns what is kept. Audited.
    ///
    /// # Errors
    /// [`Error::Store`] if the proposal is gone, another user's or a memory already, and beyond 1,000 memories.
    pub async fn accept_memory(&self, user: &User, id: i64) -> Result<MemoryItem> {
        let kept = self.0.store.accept_memory(user.id, id).await?;
        self.noted(user, "memory.accept", id).await;
        Ok(kept)
    }

    /// Deletes a memory or a proposal with all of its earlier texts. Audited.
    ///
    /// # Errors
    /// [`Error::Refused`] if the memory is gone or another user's; [`Error::Store`].
    pub async fn forget_memory(&self, user: &User, id: i64) -> Result<()> {
        if self.0.store.forget_memories(user.id, &[id]).await? == 0 {
            return Err(Error::refused(
                "not_found",
                "there is no memory with this number; `sandbridge memory list` shows them",
            ));
        }
        self.noted(user, "memory.forget", id).await;
        Ok(())
    }

    /// Deletes all memories and proposals that have all words of this text, in their text, their name or an earlier text; returns how many. Audited.
    ///
    /// # Errors
    /// [`Error::Refused`] for a text without words; [`Error::Store`].
    pub async fn forget_about(&self, user: &User, about: &str) -> Result<u64> {
        let Some(about) = memory::About::of(about) else {
            return Err(Error::refused("invalid", "write the words of the memories to forget"));
        };
        let store = &self.0.store;
        let mut ids = Vec::new();
        for item in store.memory_items(user.id).await? {
            let mut texts = vec![item.name.clone(), item.text.clone()];
            if item.revision > 1 {
                let earlier = store.memory_revisions(user.id, item.id).await?;
                texts.extend(earlier.into_iter().flat_map(|revision| [revision.name, revision.text]));
            }
            if about.is_in(&texts) {
                ids.push(item.id);
            }
        }
        let forgotten = store.forget_memories(user.id, &ids).await?;
        self.0.note(user, "memory.forget_about", None, &forgotten.to_string(), "ok").await;
        Ok(forgotten)
    }

    /// How a user's agents remember.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub async fn memory_settings(&self, user: UserId) -> Result<MemorySettings> {
        let store = &self.0.store;
        Ok(MemorySettings {
            mode: Mode::of(store, user).await?,
            from_chats: memory::mode::memorises(store, user).await?,
        })
    }

    /// Changes how a user's agents remember, from the next turn on. Audited.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub async fn set_memory_settings(&self, user: &User, wanted: MemorySettings) -> Result<MemorySettings> {
        let store = &self.0.store;
        wanted.mode.set(store, user.id).await?;
        memory::mode::set_memorises(store, user.id, wanted.from_chats).await?;
        self.0.note(user, "settings.memory", None, wanted.mode.as_str(), "ok").await;
        Ok(wanted)
    }

    async fn noted(&self, user: &User, action: &str, id: i64) {
        self.0.note(user, action, None, &id.to_string(), "ok").await;
    }
}
