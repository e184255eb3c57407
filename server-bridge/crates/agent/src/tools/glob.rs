//! `Glob`: files by their names.

use sandbox::GlobQuery;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Failure, Outcome, Workshop, visible};
use crate::approval::Access;
use crate::limits::GLOB_RESULTS;
use crate::service::Home;
use crate::tool::{Live, Rules, ToolContext, TypedTool};

/// What to find.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// The pattern, matched against the path from the directory on.
    pattern: String,
    /// The directory to look beneath; the current one by default.
    #[serde(default)]
    path: Option<String>,
}

impl TypedTool for Arguments {
    type Services = Home;

    const NAME: &'static str = "Glob";
    const DESCRIPTION: &'static str = "Finds files of the workspace by name, the newest first: **/*.rs, src/{a,b}*.ts. What \
.gitignore excludes is not found.";
    const RULES: Rules = Rules::of(Access::Read);

    fn hint(&self) -> &str {
        &self.pattern
    }

    async fn run(&self, home: &Home, context: &ToolContext<'_>, _live: Live<'_>) -> Result<Outcome, Failure> {
        let service = &home.service()?;
        let workshop = &Workshop { service, context };
        run(self, workshop).await
    }
}

async fn run(arguments: &Arguments, workshop: &Workshop<'_>) -> Result<Outcome, Failure> {
    let path = workshop.path(arguments.path.as_deref().unwrap_or(".")).await?;
    let query = GlobQuery {
        pattern: arguments.pattern.clone(),
        path: path.into_bytes(),
        ignored: false,
        max_results: GLOB_RESULTS,
    };
    let mut reader = workshop.sandbox().await?.glob(query).await?;
    let mut paths = Vec::new();
    while let Some(batch) = reader.next_batch().await {
        if paths.len() > GLOB_RESULTS as usize {
            return Err(Failure::Told("the runner found more than was asked for".to_owned()));
        }
        paths.extend(batch?.entries.iter().map(|entry| visible::path(&entry.path)));
    }
    if paths.is_empty() {
        return Ok(Outcome::done("no file matches"));
    }
    let truncated = reader.done().is_some_and(|done| done.truncated.is_some());
    let more = if truncated { "\n(there are more; make the pattern narrower)" } else { "" };
    Ok(Outcome::done(format!("{}{more}", paths.join("\n"))))
}
