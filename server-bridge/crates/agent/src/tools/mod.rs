//! What a model may do: one file per tool.
//!
//! Files and commands are the sandbox handle's, beneath the workspace of the place that the chat works in; the internet is
//! `crate::web`'s; lists, settings and what was said are the store's. A new tool: a file here with its arguments (their doc
//! comments are what the model reads) as a `Tool`, and a row of the table in `call`. One that changes a file does it by
//! `change`, so that it can be taken back.

mod address;
mod ask_user;
mod call;
mod cd;
mod change;
mod chat_history;
mod config;
mod context_edit;
mod download_file;
mod edit;
mod fetch;
mod file_create;
mod file_replace;
mod glob;
mod grep;
mod image;
mod look;
mod memory;
mod path;
mod read;
mod recall;
mod recall_masked;
mod shell;
mod skill;
mod sub_agent;
mod tasks;
mod todo;
mod toolbox;
mod utc;
mod visible;
mod web_search;

use std::sync::Arc;

use llm::Content;
use sandbox::{Approval, Present, RouteError, Sandbox, SandboxError, Wish};
use store::{ChatId, MessageId, TurnId};
use tokio_util::sync::CancellationToken;

use crate::ToolData;
use crate::engine::agents::Lineage;
use crate::engine::{ShownCall, SubAgentDocument};
use crate::place::sandbox_user;
use crate::service::Inner;
pub(crate) use call::{Call, Live, kept};
pub(crate) use context_edit::NAME as EDITS_CONTEXT;
pub(crate) use look::{Bound, Ground, Looked};
pub(crate) use read::{hash, whole};
pub(crate) use shell::NAME as COMMANDS;
pub(crate) use toolbox::{ForSubAgents, Toolbox};
pub use utc::utc_day;

/// Where a tool works, and for whom.
pub(crate) struct Workshop<'a> {
    pub(crate) service: &'a Arc<Inner>,
    pub(crate) user: &'a store::User,
    pub(crate) chat: &'a ChatId,
    /// What the turn is beneath, and what that allows it.
    pub(crate) lineage: &'a Lineage,
    /// What shows the call.
    pub(crate) card: MessageId,
    /// What is changed in it is taken back with it.
    pub(crate) turn: TurnId,
    /// Where the turn works; fixed at its beginning.
    pub(crate) wish: &'a Wish,
    /// Its user wants it to stop.
    pub(crate) cancelled: &'a CancellationToken,
    /// Whether nothing may be changed.
    pub(crate) is_plan: bool,
    /// The user's word that this very call may run as the privileged user, where they gave it.
    pub(crate) approval: Option<Approval>,
    /// What was looked at before its user was asked.
    pub(crate) bound: Bound,
    /// The card that shows the call.
    pub(crate) shown: ShownCall<'a>,
}

/// What a tool came to.
#[derive(Debug, PartialEq)]
pub(crate) struct Outcome {
    pub(crate) text: String,
    pub(crate) is_error: bool,
    /// Whether it was not allowed.
    pub(crate) is_denied: bool,
    /// Whether the text may be put aside when it is long: not what was asked for in parts.
    pub(crate) may_be_offloaded: bool,
    /// What the model is shown beside the text.
    pub(crate) images: Vec<Content>,
    /// What the card holds beside the text.
    pub(crate) data: Option<ToolData>,
    /// The sub-agent that was called.
    pub(crate) sub_agent: Option<SubAgentDocument>,
    /// The file that it is the content of.
    pub(crate) file: Option<FileSeen>,
}

/// A file as it was when it was read; without a hash, one that could not be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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

impl Failure {
    /// No machine can be reached to look at.
    fn unreachable() -> Self {
        Self::Away("no machine can be reached".to_owned())
    }
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
    pub(crate) async fn sandbox(&self) -> Result<Sandbox, Failure> {
        Ok(self.service.router.for_user(&sandbox_user(self.user), self.wish).await?)
    }

    /// Where a path of the model's leads, from the workspace: relative ones begin where the chat is.
    async fn path(&self, path: &str) -> Result<String, Failure> {
        path::readable(path)?;
        Ok(path::join(&self.service.store.chat_cwd(self.user.id, self.chat).await?, path))
    }

    /// The file that a path of the model's leads to, from the workspace, and what has to be there: that which was allowed,
    /// where somebody was asked.
    async fn target(&self, path: &str) -> Result<(String, Option<Present>), Failure> {
        let Some(file) = &self.bound.file else { return Ok((self.path(path).await?, None)) };
        if file.is_resolved {
            return Ok((file.path.clone(), Some(file.present)));
        }
        // An older runner cannot hold the change to what was allowed: that is looked at again.
        let found = self.sandbox().await?.stat(file.path.as_bytes()).await;
        let is_there = match found {
            Ok(_) => true,
            Err(SandboxError::Remote { kind: sandbox::ErrorKind::NotFound, .. }) => false,
            Err(error) => return Err(error.into()),
        };
        if is_there == (file.present == Present::Nothing) {
            let what = if is_there { "was made" } else { "went away" };
            let path = visible::line(&file.path);
            return Err(Failure::Told(format!(
                "{path} {what} since this was allowed; nothing was written: look again"
            )));
        }
        Ok((file.path.clone(), None))
    }

    /// The SHA-256 that the file had when its change was allowed.
    fn bound_content(&self) -> Option<[u8; 32]> {
        match self.bound.file.as_ref()?.present {
            Present::Content(sha256) => Some(sha256),
            Present::Nothing | Present::AnyFile => None,
        }
    }

    /// The directory that a command begins in; empty for the workspace.
    ///
    /// Fails where it is another one than somebody allowed.
    async fn directory(&self, sandbox: &Sandbox) -> Result<String, Failure> {
        let cwd = self.service.store.chat_cwd(self.user.id, self.chat).await?;
        let Some(allowed) = &self.bound.directory else { return Ok(cwd) };
        let now = sandbox.resolve(path::join(&cwd, ".").as_bytes()).await?;
        let now = now.map_or_else(|| path::join(&cwd, ".").into_bytes(), |now| now.path.as_bytes().to_vec());
        if now != allowed.as_bytes() {
            return Err(Failure::Told(
                "the directory leads somewhere else than when this was allowed; nothing was run: look where you are"
                    .to_owned(),
            ));
        }
        Ok(allowed.clone())
    }
}

impl Outcome {
    pub(crate) fn done(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            is_error: false,
            is_denied: false,
            may_be_offloaded: true,
            images: Vec::new(),
            data: None,
            sub_agent: None,
            file: None,
        }
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
