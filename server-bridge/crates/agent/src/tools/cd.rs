//! `Cd`: where the chat is.

use sandbox::FileKind;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Failure, Outcome, Workshop};

pub(super) const DESCRIPTION: &str =
    "Changes the current directory, which Shell commands begin in and relative paths are meant from.";

/// Where to.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// The directory, relative to the current one or absolute; . is the workspace at first.
    pub(super) path: String,
}

pub(super) async fn run(arguments: &Arguments, workshop: &Workshop<'_>) -> Result<Outcome, Failure> {
    let path = workshop.path(&arguments.path).await?;
    let found = workshop.sandbox().await?.stat(path.as_bytes()).await?;
    if found.kind != FileKind::Directory {
        return Err(Failure::Told(format!("{path} is no directory")));
    }
    workshop.service.store.set_chat_cwd(workshop.user.id, workshop.chat, &path).await?;
    Ok(Outcome::done(format!("now in {path}")))
}
