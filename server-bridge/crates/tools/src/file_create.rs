//! `FileCreate`: a new file, or new content for an existing one.

use sandbox::{SandboxError, WriteOptions};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Failure, Outcome, Work, change, edit, visible};
use crate::Services;
use agent::approval::Access;
use agent::tool::look::{Ground, Looked, edited, size};
use agent::tool::{Live, Rules, Subject, ToolContext, TypedTool};

/// The file and its content.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// The file, relative to the current directory or absolute.
    path: String,
    /// The whole content.
    content: String,
    /// Whether to replace an existing file.
    #[serde(default)]
    rewrite: bool,
}

impl TypedTool for Arguments {
    type Services = Services;

    const NAME: &'static str = "FileCreate";
    const DESCRIPTION: &'static str = "Writes a file of the workspace, and creates missing parent directories. \
An existing file is replaced only with rewrite; prefer FileReplace to change part of a file.";
    const RULES: Rules = Rules::of(Access::Edit);

    fn hint(&self) -> &str {
        &self.path
    }

    fn subject(&self) -> Subject<'_> {
        Subject::Changes(&self.path)
    }

    async fn look(&self, ground: Option<&Ground>) -> Result<Looked, Failure> {
        let Some(ground) = ground else { return Err(Failure::unreachable()) };
        let target = ground.target(&self.path).await?;
        if target.exists && !self.rewrite {
            return Err(exists(&target.file.path));
        }
        let lines = in_lines(&self.content);
        let effect = match target.exists {
            true => format!("replaces the whole file ({}) with {lines}", size(target.size_bytes)),
            false => format!("makes a new file of {lines}"),
        };
        let parts = vec![edited("content", &self.content)];
        Ok(Looked {
            edit: Some(edit::whole(None, &self.content)),
            ..ground.file_change(target, effect, parts)
        })
    }

    async fn run(
        &self,
        services: &Services,
        context: &ToolContext<'_>,
        _live: Live<'_>,
    ) -> Result<Outcome, Failure> {
        let work = &Work { services, context };
        run(self, work).await
    }
}

async fn run(arguments: &Arguments, work: &Work<'_>) -> Result<Outcome, Failure> {
    let Arguments { content, rewrite, .. } = arguments;
    let (path, present) = work.target(&arguments.path).await?;
    let sandbox = work.sandbox().await?;
    let known = match sandbox.stat(path.as_bytes()).await {
        Ok(_) => true,
        Err(SandboxError::Remote { kind: sandbox::ErrorKind::NotFound, .. }) => false,
        Err(error) => return Err(error.into()),
    };
    if known && !rewrite {
        return Err(exists(&path));
    }
    let size_bytes = Some(content.len() as u64);
    let options = WriteOptions { parents: true, size_bytes, present, ..WriteOptions::default() };
    let bytes = change::write(work, &sandbox, &path, content.as_bytes(), options).await?;
    let (verb, lines) = (if known { "replaced" } else { "made" }, in_lines(content));
    let path = visible::line(&path);
    let data = Some(edit::whole(None, content));
    Ok(Outcome { data, ..Outcome::done(format!("{verb} {path}: {lines}, {bytes} bytes")) })
}

/// The number of a text's lines, in words.
fn in_lines(text: &str) -> String {
    match text.lines().count() {
        1 => "1 line".to_owned(),
        count => format!("{count} lines"),
    }
}

fn exists(path: &str) -> Failure {
    let path = visible::line(path);
    Failure::Message(format!("{path} exists; change it with FileReplace, or set rewrite to replace it"))
}
