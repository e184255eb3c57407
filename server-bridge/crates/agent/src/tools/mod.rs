//! What a model may do: one file per tool.
//!
//! Everything is done through the sandbox handle, beneath the workspace of the place that the chat works in. A new tool: a
//! file here with its arguments (their doc comments are what the model reads) as a `Tool`, and a row of the table in `call`.

mod call;
mod cd;
mod context_edit;
mod file_create;
mod file_replace;
mod glob;
mod grep;
mod path;
mod read;
mod recall;
mod recall_masked;
mod shell;
mod tasks;

use std::sync::Arc;

use sandbox::{RouteError, Sandbox, SandboxError, Wish};
use store::{ChatId, TurnId};
use tokio_util::sync::CancellationToken;

use crate::place::sandbox_user;
use crate::service::Inner;
pub(crate) use call::{Call, Live, catalogue};
pub(crate) use context_edit::NAME as EDITS_CONTEXT;
pub(crate) use read::{hash, whole};

/// Where a tool works, and for whom.
pub(crate) struct Workshop<'a> {
    pub(crate) service: &'a Arc<Inner>,
    pub(crate) user: &'a store::User,
    pub(crate) chat: &'a ChatId,
    /// The turn that uses it.
    pub(crate) turn: TurnId,
    /// Where the turn works; fixed at its beginning.
    pub(crate) wish: &'a Wish,
    /// Its user wants it to stop.
    pub(crate) cancelled: &'a CancellationToken,
    /// Whether nothing may be changed.
    pub(crate) is_plan: bool,
}

/// What a tool came to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) text: String,
    pub(crate) is_error: bool,
    /// Whether it was not allowed.
    pub(crate) is_denied: bool,
    /// Whether the text may be put aside when it is long: not what was asked for in parts.
    pub(crate) may_be_offloaded: bool,
    /// The file that it is the content of.
    pub(crate) file: Option<FileSeen>,
}

/// A file as it was when it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileSeen {
    /// Where it is, from the workspace.
    pub(crate) path: String,
    /// Of its content: SHA-256, in hex.
    pub(crate) hash: String,
    /// Its size in bytes.
    pub(crate) size_bytes: u64,
    /// When it was changed last, in Unix milliseconds by its machine's clock.
    pub(crate) modified_ms: i64,
}

/// Why a tool did not do what it was asked for.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The model can do something about it.
    #[error("{0}")]
    Told(String),
    /// The place is away: nothing more can be done in this turn.
    #[error("{0}")]
    Away(String),
    /// The server cannot go on.
    #[error(transparent)]
    Store(#[from] store::Error),
}

impl From<SandboxError> for Failure {
    fn from(error: SandboxError) -> Self {
        match error {
            SandboxError::Offline { .. } | SandboxError::Lost { .. } => Self::Away(error.to_string()),
            error => Self::Told(error.to_string()),
        }
    }
}

impl From<RouteError> for Failure {
    fn from(error: RouteError) -> Self {
        Self::Away(error.to_string())
    }
}

impl Workshop<'_> {
    /// A fresh handle.
    async fn sandbox(&self) -> Result<Sandbox, Failure> {
        Ok(self.service.router.for_user(&sandbox_user(self.user), self.wish).await?)
    }

    /// Where a path of the model's leads, from the workspace: relative ones begin where the chat is.
    async fn path(&self, path: &str) -> Result<String, Failure> {
        Ok(path::join(&self.service.store.chat_cwd(self.user.id, self.chat).await?, path))
    }
}

impl Outcome {
    fn done(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_error: false, is_denied: false, may_be_offloaded: true, file: None }
    }

    /// One that is a part of something longer already.
    fn part(text: impl Into<String>) -> Self {
        Self { may_be_offloaded: false, ..Self::done(text) }
    }

    /// A tool that was not allowed to do it.
    pub(crate) fn denied(why: &str) -> Self {
        let text = format!(
            "{why}. Do not reach the same in another way; say what you would do, or ask what the user wants."
        );
        Self { is_error: true, is_denied: true, ..Self::done(text) }
    }

    /// A tool that could not do its work.
    pub(crate) fn failed(text: &str) -> Self {
        let text = format!("Error: {text}\nPlease fix the issue and try again.");
        Self { is_error: true, ..Self::done(text) }
    }
}

#[cfg(test)]
mod tests;
