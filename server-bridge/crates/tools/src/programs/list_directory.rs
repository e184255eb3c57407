//! `list_directory`: lists the names in a directory.

use agent::approval::Access;
use agent::tool::{Failure, Live, Outcome, Rules, ToolContext, TypedTool};
use sandbox::FileKind;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::Services;
use crate::limits::PROGRAM_LISTED;

/// The directory to list.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// The directory, relative to the workspace or absolute within it; the workspace if absent.
    #[serde(default)]
    path: Option<String>,
}

impl TypedTool for Arguments {
    type Services = Services;

    const NAME: &'static str = "list_directory";
    const DESCRIPTION: &'static str = "Lists the entries of a directory, sorted by name: directories end with a slash, links with @, and files are shown with their size in bytes.";
    const RULES: Rules = Rules::of(Access::Read).for_programs();

    fn hint(&self) -> &str {
        self.path.as_deref().unwrap_or(".")
    }

    async fn run(
        &self,
        _services: &Services,
        context: &ToolContext<'_>,
        _live: Live<'_>,
    ) -> Result<Outcome, Failure> {
        let mut reader = context.sandbox().await?.read_dir(self.hint().as_bytes()).await?;
        let (mut lines, mut more) = (Vec::new(), 0_u64);
        while let Some(batch) = reader.next_batch().await {
            for entry in batch? {
                if lines.len() >= PROGRAM_LISTED as usize {
                    more += 1;
                    continue;
                }
                let name = String::from_utf8_lossy(&entry.name).into_owned();
                lines.push(match entry.kind {
                    FileKind::Directory => format!("{name}/"),
                    FileKind::Symlink => format!("{name}@"),
                    FileKind::File => format!("{name}\t{}", entry.size_bytes),
                    FileKind::Other => format!("{name}\tother"),
                });
            }
        }
        lines.sort_unstable();
        if lines.is_empty() {
            return Ok(Outcome::done("(the directory is empty)"));
        }
        if more > 0 {
            lines.push(format!(
                "(and {more} more; the listed ones are an arbitrary choice, so use glob to find what you need)"
            ));
        }
        Ok(Outcome::done(lines.join("\n")))
    }
}
