//! A user's memories, and those of their agents in groups, as the user sees and changes them.

use memory::{
    MemoryChange, MemoryHolder, MemoryItem, MemoryReplacement, MemoryRevision, MemorySource, Mode, Standing,
    Write, Written,
};
use store::{OwnAgent, User, UserId};

use crate::{ChatService, Error, Result};

/// How a user's agents remember.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemorySettings {
    /// The memory mode.
    pub mode: Mode,
    /// True if the swift model proposes memories from chats that have ended.
    pub from_chats: bool,
}

impl ChatService {
    /// The user's own agents in groups, whose memories the user sees.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub async fn memory_agents(&self, user: UserId) -> Result<Vec<OwnAgent>> {
        Ok(self.0.store.own_agents(user).await?)
    }

    /// Resolves the holder of memories: the user, or the user's agent of a group with this id or handle.
    ///
    /// # Errors
    /// [`Error::Refused`] if the user has no such agent, or several; [`Error::Store`].
    pub async fn memory_holder(&self, user: UserId, agent: Option<&str>) -> Result<MemoryHolder> {
        let Some(wanted) = agent.map(str::trim) else { return Ok(user.into()) };
        let handle = wanted.trim_start_matches('@');
        let mut agents = self.0.store.own_agents(user).await?;
        let number: Option<i64> = wanted.parse().ok();
        if let Some(agent) = agents.iter().find(|agent| number == Some(agent.id)) {
            return Ok(MemoryHolder::agent(user, agent.id));
        }
        agents.retain(|agent| agent.handle.to_lowercase() == handle.to_lowercase());
        match agents.as_slice() {
            [agent] => Ok(MemoryHolder::agent(user, agent.id)),
            [] => Err(Error::refused(
                "not_found",
                format!("you have no agent {wanted} in a group; `sandbridge group list` shows your groups"),
            )),
            several => {
                let group = |agent: &OwnAgent| format!("{} (in \"{}\")", agent.id, agent.group_title);
                let groups = several.iter().map(group).collect::<Vec<_>>().join(", ");
                let text =
                    format!("several of your agents are called {handle}; name one by its id: {groups}");
                Err(Error::refused("invalid", text))
            }
        }
    }

    /// All proposals that wait for a user, including those of the user's agents in groups.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub async fn proposed_memories(&self, user: UserId) -> Result<Vec<MemoryItem>> {
        Ok(self.0.store.proposed_memories(user).await?)
    }

    /// All memories and proposals of a holder, in the order in which they were added; with a query, only those that share words with it
    /// or are close to it in meaning, the best match first.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub async fn memories(
        &self,
        holder: impl Into<MemoryHolder>,
        question: Option<&str>,
    ) -> Result<Vec<MemoryItem>> {
        let holder = holder.into();
        let items = self.0.store.memory_items(holder).await?;
        let Some(question) = question else { return Ok(items) };
        let all: Vec<&MemoryItem> = items.iter().collect();
        let near = self.0.meaning.nearest(holder, question).await;
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
    /// [`Error::Store`] if the memory was deleted or belongs to another user.
    pub async fn memory(&self, user: UserId, id: i64) -> Result<(MemoryItem, Vec<MemoryRevision>)> {
        let store = &self.0.store;
        let holder = store.holder_of_memory(user, id).await?;
        Ok((store.memory_item(holder, id).await?, store.memory_revisions(holder, id).await?))
    }

    /// Stores a memory that the user wrote, for themselves or for an agent of theirs. Audited.
    ///
    /// # Errors
    /// [`Error::Store`] for a text that is empty or too long, and if there are already 1,000 memories.
    pub async fn keep_memory(&self, user: &User, agent: Option<i64>, wanted: &Write<'_>) -> Result<Written> {
        let store = &self.0.store;
        let written =
            memory::write(store, MemoryHolder { user: user.id, agent }, wanted, Standing::Person).await?;
        self.noted(user, "memory.keep", written.item().id).await;
        Ok(written)
    }

    /// Changes a memory for the user. Audited.
    ///
    /// # Errors
    /// [`Error::Store`] if the memory was deleted or belongs to another user, and for a text that is empty or too long.
    pub async fn change_memory(
        &self,
        user: &User,
        id: i64,
        name: Option<&str>,
        text: Option<&str>,
        valid_to_ms: Option<Option<i64>>,
    ) -> Result<MemoryItem> {
        let store = &self.0.store;
        let holder = store.holder_of_memory(user.id, id).await?;
        let item = store.memory_item(holder, id).await?;
        if item.kind == memory::MemoryKind::Core {
            memory::write::check_core(name.unwrap_or(&item.name), text.unwrap_or(&item.text))?;
        }
        let change = MemoryChange { name, text, valid_to_ms, by: MemorySource::Person };
        let changed = store.change_memory(holder, id, &change).await?;
        self.noted(user, "memory.change", id).await;
        Ok(changed)
    }

    /// Accepts a proposal; returns the memory that is kept. Audited.
    ///
    /// # Errors
    /// [`Error::Store`] if the proposal was deleted, belongs to another user or is already a memory, and if there are already 1,000 memories.
    pub async fn accept_memory(&self, user: &User, id: i64) -> Result<MemoryItem> {
        let holder = self.0.store.holder_of_memory(user.id, id).await?;
        let kept = self.0.store.accept_memory(holder, id).await?;
        self.noted(user, "memory.accept", id).await;
        Ok(kept)
    }

    /// Deletes a memory or a proposal with all of its earlier texts. Audited.
    ///
    /// # Errors
    /// [`Error::Refused`] if the memory was deleted or belongs to another user; [`Error::Store`].
    pub async fn forget_memory(&self, user: &User, id: i64) -> Result<()> {
        let forgotten = match self.0.store.holder_of_memory(user.id, id).await {
            Ok(holder) => self.0.store.forget_memories(holder, &[id]).await,
            Err(error) => Err(error),
        };
        if matches!(forgotten, Ok(0) | Err(store::Error::NotFound { .. })) {
            return Err(Error::refused(
                "not_found",
                "there is no memory with this id; `sandbridge memory list` lists your memories",
            ));
        }
        forgotten?;
        self.noted(user, "memory.forget", id).await;
        Ok(())
    }

    /// Deletes all memories and proposals of the user, or of an agent of theirs, that contain all words of `about` in their text, their
    /// name or an earlier text; returns the number of deleted ones. Audited.
    ///
    /// # Errors
    /// [`Error::Refused`] for a text without words; [`Error::Store`].
    pub async fn forget_about(&self, user: &User, agent: Option<i64>, about: &str) -> Result<u64> {
        let Some(about) = memory::About::of(about) else {
            let why = "the text contains no words; write some words from the memories to forget";
            return Err(Error::refused("invalid", why));
        };
        let (store, holder) = (&self.0.store, MemoryHolder { user: user.id, agent });
        let mut ids = Vec::new();
        for item in store.memory_items(holder).await? {
            let mut texts = vec![item.name.clone(), item.text.clone()];
            if item.revision > 1 {
                let earlier = store.memory_revisions(holder, item.id).await?;
                texts.extend(earlier.into_iter().flat_map(|revision| [revision.name, revision.text]));
            }
            if about.is_in(&texts) {
                ids.push(item.id);
            }
        }
        let forgotten = store.forget_memories(holder, &ids).await?;
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
