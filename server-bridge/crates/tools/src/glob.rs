//! `Glob`: finds files by their names.

use sandbox::GlobQuery;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::Services;
use crate::Work;
use crate::limits::{GLOB_RESULTS, PROGRAM_LISTED};
use crate::services::left_out_words;
use agent::approval::Access;
use agent::tool::{Failure, Outcome};
use agent::tool::{Live, Rules, Subject, ToolContext, TypedTool};

/// The files to find.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// The pattern, matched against paths relative to the directory: **/*.rs, src/{a,b}*.ts. End it with a slash to find directories.
    pattern: String,
    /// The directory to look in; by default the current one, or the workspace if there is no chat.
    #[serde(default)]
    path: Option<String>,
}

impl TypedTool for Arguments {
    type Services = Services;

    const NAME: &'static str = "Glob";
    const DESCRIPTION: &'static str = "Finds files of the workspace by name, the newest first: **/*.rs, src/{a,b}*.ts. Files that \
.gitignore excludes are not found.";
    const RULES: Rules = Rules::of(Access::Read).for_programs_as("glob");

    fn hint(&self) -> &str {
        &self.pattern
    }

    fn subject(&self) -> Subject<'_> {
        Subject::Reads(self.path.as_deref().unwrap_or("."))
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
    let path = work.path(arguments.path.as_deref().unwrap_or(".")).await?;
    let (most, end) = if work.program().is_some() { (PROGRAM_LISTED, "\n") } else { (GLOB_RESULTS, "") };
    let query = GlobQuery {
        pattern: arguments.pattern.clone(),
        path: path.clone().into_bytes(),
        ignored: false,
        max_results: most,
    };
    let mut reader = work.sandbox().await?.glob(query).await?;
    let (mut paths, mut left_out) = (Vec::new(), 0);
    while let Some(batch) = reader.next_batch().await {
        if paths.len() > most as usize {
            return Err(Failure::Message("the runner returned more paths than requested".to_owned()));
        }
        let entries = batch?.entries;
        let hidden = work.hidden(&path, entries.iter().map(|entry| &entry.path[..])).await?;
        left_out += hidden.iter().filter(|is_hidden| **is_hidden).count();
        let seen = entries.iter().zip(hidden).filter(|(_, is_hidden)| !is_hidden);
        paths.extend(seen.map(|(entry, _)| work.shown(&entry.path)));
    }
    let note = left_out_words(left_out);
    if paths.is_empty() {
        return Ok(Outcome::done(format!("no file matches{note}")));
    }
    let truncated = reader.done().is_some_and(|done| done.truncated.is_some());
    let more = if truncated { "\n(there are more; make the pattern narrower)" } else { end };
    let note = if note.is_empty() { note } else { format!("\n{}", note.trim_start()) };
    Ok(Outcome::done(format!("{}{more}{note}", paths.join("\n"))))
}
