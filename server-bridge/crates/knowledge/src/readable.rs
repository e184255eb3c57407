//! The collections that an agent may read. An agent of a group reads only those that are shared with all users, because everyone in the
//! group asks it and reads its answers.

use store::{ChatId, Collection, DocumentId, SearchScope, UserId};

use crate::error::Result;
use crate::service::{Knowledge, named};

impl Knowledge {
    /// The collections that a user's agent may search in the chat `root`: all those of the user, the user's own first; for an agent of a
    /// group, only those that are shared with all users.
    ///
    /// # Errors
    /// [`crate::Error::Store`].
    pub(crate) async fn readable(&self, user: UserId, root: &ChatId) -> store::Result<Vec<Collection>> {
        self.listed(user, self.is_of_group(root).await?).await
    }

    /// The scope of a search: one collection by its id or name, or all of them. `root` is the chat of the agent that searches; `None`
    /// for people and their programs.
    ///
    /// # Errors
    /// [`crate::Error::Store`] if there is no such collection.
    pub(crate) async fn scope(
        &self,
        user: UserId,
        root: Option<&ChatId>,
        key: Option<&str>,
    ) -> Result<SearchScope> {
        let is_of_group = match root {
            Some(root) => self.is_of_group(root).await?,
            None => false,
        };
        if key.is_none() && !is_of_group {
            return Ok(SearchScope::All);
        }
        let readable = self.listed(user, is_of_group).await?;
        Ok(SearchScope::Collections(match key {
            Some(key) => vec![named(&readable, key)?.id],
            None => readable.iter().map(|one| one.id).collect(),
        }))
    }

    /// Checks that an agent may read a document.
    ///
    /// # Errors
    /// [`crate::Error::Store`] if it may not, as for a document that does not exist.
    pub(crate) async fn check_readable(&self, user: UserId, root: &ChatId, id: DocumentId) -> Result<()> {
        let document = self.0.store.document(user, id).await?;
        let readable = self.readable(user, root).await?;
        if readable.iter().any(|one| one.id == document.collection_id) {
            return Ok(());
        }
        Err(store::Error::NotFound { what: "document", name: id.0.to_string() }.into())
    }

    async fn listed(&self, user: UserId, is_of_group: bool) -> store::Result<Vec<Collection>> {
        let mut collections = self.0.store.collections(user).await?;
        collections.retain(|one| one.is_for_all || !is_of_group);
        Ok(collections)
    }

    async fn is_of_group(&self, root: &ChatId) -> store::Result<bool> {
        Ok(self.0.store.group_agent_in(root).await?.is_some())
    }
}
