//! The modes in which agents remember, and a user's choice.

use store::{Store, UserId};

/// The key of the setting for the mode.
const MODE: &str = "memory_mode";
/// The key of the setting for proposals from chats: `on`, or not set.
pub const MEMORISES: &str = "memory_from_chats";

/// How a user's agents remember.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// All memories are part of every prompt, with `MEMORY.md` and the notes of today and yesterday from the workspace.
    Flat,
    /// Core blocks are part of every prompt; tools search the rest.
    Letta,
    /// Core blocks are part of every prompt; items that match a message are recalled with it.
    #[default]
    Typed,
}

impl Mode {
    /// All modes.
    pub const ALL: [Self; 3] = [Self::Flat, Self::Letta, Self::Typed];

    /// The mode's name in settings and documents.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Flat => "flat",
            Self::Letta => "letta",
            Self::Typed => "typed",
        }
    }

    /// The mode with this name.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.as_str() == word)
    }

    /// A user's mode.
    ///
    /// # Errors
    /// [`store::Error::Database`].
    pub async fn of(store: &Store, user: UserId) -> store::Result<Self> {
        let word = store.setting(user, MODE).await?;
        Ok(word.as_deref().and_then(Self::parse).unwrap_or_default())
    }

    /// Sets a user's mode.
    ///
    /// # Errors
    /// [`store::Error::Database`].
    pub async fn set(self, store: &Store, user: UserId) -> store::Result<()> {
        store.set_setting(user, MODE, (self != Self::default()).then_some(self.as_str())).await
    }
}

/// True if a model proposes memories from chats that have ended. Off unless the user turned it on, because it costs a model call.
///
/// # Errors
/// [`store::Error::Database`].
pub async fn memorises(store: &Store, user: UserId) -> store::Result<bool> {
    Ok(store.setting(user, MEMORISES).await?.as_deref() == Some("on"))
}

/// Turns proposals from chats on or off.
///
/// # Errors
/// [`store::Error::Database`].
pub async fn set_memorises(store: &Store, user: UserId, is_on: bool) -> store::Result<()> {
    store.set_setting(user, MEMORISES, is_on.then_some("on")).await
}
