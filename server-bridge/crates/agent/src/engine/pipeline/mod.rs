//! The system prompt, and the notes within the conversation: parts with keys, assembled in the order of their keys.
//!
//! ```text
//!   parts that stay the same ─▶ the system prompt, in front of all: a provider's cache holds it, and what was said after it
//!   parts that change        ─▶ a note in front of the user's next message, wherever it differs from the one before
//! ```
//! So nothing is ever sent again in a different form, as long as the user's files and settings stay the same. All parts are made at each
//! turn, concurrently. To add a part, add a [`PromptPart`] in crate `chats` (`prompt/`), and a line in its list; an extension registers
//! its own.

mod note;

use std::collections::BTreeMap;
use std::mem;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use futures_util::future::{BoxFuture, try_join_all};
use llm::SystemPart;
use records::{ChatId, User};
use sandbox::{Sandbox, SandboxError};
use tokio::sync::OnceCell;

use super::agents::TurnAncestry;
use super::ports::Workplace;
use crate::PortError;
use crate::approval::Mode;
use crate::context::tokens;
use crate::library::{Skill, skills};
pub(super) use note::put as put_note;

/// The input for the parts.
pub struct PromptContext<'a> {
    /// The user whose agent gets the prompt.
    pub user: &'a User,
    /// The chat that the agent works in.
    pub chat: &'a ChatId,
    /// The turn's ancestors.
    pub ancestry: &'a TurnAncestry,
    /// The chat's mode, which determines what may be done without asking.
    pub mode: Mode,
    /// The place where the work is done, or the reason why there is none.
    pub sandbox: Result<&'a Sandbox, &'a str>,
    /// The machine on which the work is done.
    pub workplace: &'a dyn Workplace,
    /// The workspace's skills, once a part has asked for them.
    pub(super) skills: OnceCell<Vec<Skill>>,
    /// See [`PromptContext::holds`].
    pub(super) documents: Mutex<Vec<Document>>,
}

/// A document in the system prompt: its name, and its approximate tokens.
pub(super) type Document = (String, usize);

impl PromptContext<'_> {
    /// The beginnings of the workspace's skills, read once for all parts; empty without a machine.
    ///
    /// Fails if the place cannot be reached.
    pub async fn skills(&self) -> Result<&[Skill], SandboxError> {
        let Ok(sandbox) = self.sandbox else { return Ok(&[]) };
        Ok(self.skills.get_or_try_init(|| skills::heads(sandbox)).await?)
    }

    /// Records that the system prompt contains a document, for the list that `/context` shows.
    pub fn holds(&self, name: &str, text: &str) {
        // A push is a single step, so the data stays consistent if another thread panics.
        let mut documents = self.documents.lock().unwrap_or_else(PoisonError::into_inner);
        documents.push((name.to_owned(), tokens::of_text(text)));
    }
}

/// All parts, assembled.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Prompt {
    pub(super) system: Vec<SystemPart>,
    /// The documents in the system prompt, the longest first.
    pub(super) documents: Vec<Document>,
    /// The part that may differ at the next turn.
    pub(super) note: String,
}

/// The reason why a part could not be made.
#[derive(Debug, thiserror::Error)]
pub enum PartError {
    #[error(transparent)]
    Away(#[from] SandboxError),
    #[error(transparent)]
    Port(#[from] PortError),
}

/// A part's text; `None` if it has nothing to add.
pub type Made = Result<Option<String>, PartError>;

/// A part of the prompt.
pub trait PromptPart: Send + Sync {
    /// The part's position among the others: parts are sorted alphabetically by key.
    fn key(&self) -> &str;

    /// True if the part normally stays the same from turn to turn. Such a part belongs to the system prompt, others to the note before
    /// the user's message.
    fn is_static(&self) -> bool {
        true
    }

    /// Makes the part's text.
    ///
    /// Fails if the place cannot be reached, or the store fails.
    fn make<'a>(&'a self, context: &'a PromptContext<'a>) -> BoxFuture<'a, Made>;
}

/// All parts. Cheap to clone; all clones share the same parts.
#[derive(Clone, Default)]
pub struct PromptParts(Arc<RwLock<Parts>>);

type Parts = Arc<[Arc<dyn PromptPart>]>;

impl From<Vec<Arc<dyn PromptPart>>> for PromptParts {
    fn from(parts: Vec<Arc<dyn PromptPart>>) -> Self {
        Self(Arc::new(RwLock::new(parts.into())))
    }
}

impl PromptParts {
    /// Adds a part for the turns that begin from now on.
    pub fn put(&self, part: impl PromptPart + 'static) {
        let mut parts = self.0.write().unwrap_or_else(PoisonError::into_inner);
        *parts = parts.iter().cloned().chain([Arc::new(part) as Arc<dyn PromptPart>]).collect();
    }

    fn snapshot(&self) -> Parts {
        // Each change is a single step, so the data stays consistent if another thread panics.
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Makes all parts and assembles them.
    ///
    /// Fails if the place cannot be reached, or the store fails.
    pub(super) async fn assemble(&self, context: &PromptContext<'_>) -> Result<Prompt, PartError> {
        let parts = self.snapshot();
        let made = try_join_all(parts.iter().map(|part| part.make(context))).await?;
        let told = parts.iter().zip(made);
        let by_key: BTreeMap<&str, (bool, String)> =
            told.filter_map(|(part, text)| Some((part.key(), (part.is_static(), text?)))).collect();
        let (mut system, mut news) = (Vec::new(), Vec::new());
        for (is_static, text) in by_key.into_values() {
            if is_static {
                system.push(SystemPart { text, is_static: true });
            } else {
                news.push(text);
            }
        }
        let mut documents = mem::take(&mut *context.documents.lock().unwrap_or_else(PoisonError::into_inner));
        // The parts are built concurrently, so their order varies.
        documents.sort_by(|(one, tokens), (other, others)| others.cmp(tokens).then_with(|| one.cmp(other)));
        Ok(Prompt { system, documents, note: news.join("\n") })
    }

    /// The keys of the parts; each is true if the part normally stays the same.
    pub fn keys(&self) -> Vec<(String, bool)> {
        self.snapshot().iter().map(|part| (part.key().to_owned(), part.is_static())).collect()
    }
}
