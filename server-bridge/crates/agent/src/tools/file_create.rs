//! `FileCreate`: a new file, or a new content for an old one.

use sandbox::{SandboxError, WriteOptions};
use schemars::JsonSchema;
use serde::Deserialize;

use super::call::{Live, Tool};
use super::{Failure, Outcome, Workshop, change, edit, visible};
use crate::ToolData;
use crate::approval::Access;

/// What to write.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// The file, relative to the current directory or absolute.
    path: String,
    /// All of its content.
    content: String,
    /// Whether an existing file is replaced.
    #[serde(default)]
    rewrite: bool,
}

impl Tool for Arguments {
    const NAME: &'static str = "FileCreate";
    const DESCRIPTION: &'static str = "Writes a file of the workspace, with the directories that are missing on the way to it. \
An existing file is replaced only with rewrite; prefer FileReplace to change a part of a file.";
    const ACCESS: Access = Access::Edit;

    fn hint(&self) -> &str {
        &self.path
    }

    fn detail(&self) -> String {
        format!("{}\n\n{}", visible::line(&self.path), self.content)
    }

    fn edit(&self) -> Option<ToolData> {
        Some(edit::whole(None, &self.content))
    }

    async fn run(&self, workshop: &Workshop<'_>, _live: Live<'_>) -> Result<Outcome, Failure> {
        run(self, workshop).await
    }
}

async fn run(arguments: &Arguments, workshop: &Workshop<'_>) -> Result<Outcome, Failure> {
    let Arguments { content, rewrite, .. } = arguments;
    let path = workshop.path(&arguments.path).await?;
    let sandbox = workshop.sandbox().await?;
    let known = match sandbox.stat(path.as_bytes()).await {
        Ok(_) => true,
        Err(SandboxError::Remote { kind: sandbox::ErrorKind::NotFound, .. }) => false,
        Err(error) => return Err(error.into()),
    };
    if known && !rewrite {
        let path = visible::line(&path);
        return Err(Failure::Told(format!(
            "{path} exists; change it with FileReplace, or set rewrite to replace it"
        )));
    }
    let options =
        WriteOptions { parents: true, size_bytes: Some(content.len() as u64), ..WriteOptions::default() };
    let bytes = change::write(workshop, &sandbox, &path, content.as_bytes(), options).await?;
    let (verb, lines) = (if known { "replaced" } else { "made" }, content.lines().count());
    let path = visible::line(&path);
    let data = Some(edit::whole(None, content));
    Ok(Outcome { data, ..Outcome::done(format!("{verb} {path}: {lines} lines, {bytes} bytes")) })
}
