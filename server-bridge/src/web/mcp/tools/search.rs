//! `glob` and `grep`, which run where the files are.

use sandbox::{GlobQuery, GrepFile, GrepQuery};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Desk, Outcome, Tool};
use crate::limits::{MCP_CONTEXT_LINES, MCP_LISTED, MCP_LISTED_BYTES};
use crate::web::error::ApiError;

/// Which files.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Glob {
    /// Matched against the way down from the path: **/*.rs, src/{a,b}*.ts. Ends with a slash to find directories.
    pattern: String,
    /// The directory to look beneath; the workspace if absent.
    #[serde(default)]
    path: Option<String>,
    /// The runner to use instead of the active one.
    #[serde(default)]
    runner: Option<String>,
}

/// Which lines.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Grep {
    /// The regular expression, in Rust's syntax, matched against one line at a time.
    pattern: String,
    /// The directory to look beneath, or one file; the workspace if absent.
    #[serde(default)]
    path: Option<String>,
    /// Only files whose name or path matches this, like *.rs.
    #[serde(default)]
    include: Option<String>,
    /// Whether upper and lower case are the same.
    #[serde(default)]
    ignore_case: bool,
    /// How many lines around each one are wanted, at most 20.
    #[serde(default)]
    context_lines: u32,
    /// The runner to use instead of the active one.
    #[serde(default)]
    runner: Option<String>,
}

impl Tool for Glob {
    const NAME: &'static str = "glob";
    const DESCRIPTION: &'static str =
        "Finds files by name, the newest first. What .gitignore excludes is not found.";
    const ONLY_READS: bool = true;

    async fn run(self, desk: &Desk) -> Result<Outcome, ApiError> {
        let query = GlobQuery {
            pattern: self.pattern,
            path: self.path.unwrap_or_else(|| ".".to_owned()).into_bytes(),
            ignored: false,
            max_results: MCP_LISTED,
        };
        let mut reader = desk.sandbox(self.runner.as_deref()).await?.glob(query).await?;
        let mut text = String::new();
        while let Some(batch) = reader.next_batch().await {
            for entry in batch?.entries {
                text.push_str(&String::from_utf8_lossy(&entry.path));
                text.push('\n');
            }
            check_size(&text)?;
        }
        let is_cut = reader.done().is_some_and(|done| done.truncated.is_some());
        Ok(Outcome::text(listed(text, "no file matches", is_cut)))
    }
}

impl Tool for Grep {
    const NAME: &'static str = "grep";
    const DESCRIPTION: &'static str = "Finds lines of files by a regular expression: PATH:NUMBER:TEXT, and PATH-NUMBER-TEXT for lines around \
them. What .gitignore excludes and binary files are not searched.";
    const ONLY_READS: bool = true;

    async fn run(self, desk: &Desk) -> Result<Outcome, ApiError> {
        let query = GrepQuery {
            pattern: self.pattern,
            path: self.path.unwrap_or_else(|| ".".to_owned()).into_bytes(),
            include: self.include,
            ignore_case: self.ignore_case,
            context_lines: self.context_lines.min(MCP_CONTEXT_LINES),
            ignored: false,
            max_results: MCP_LISTED,
        };
        let mut reader = desk.sandbox(self.runner.as_deref()).await?.grep(query).await?;
        let mut text = String::new();
        while let Some(batch) = reader.next_batch().await {
            batch?.files.iter().for_each(|file| show(file, &mut text));
            check_size(&text)?;
        }
        let is_cut = reader.done().is_some_and(|done| done.truncated.is_some());
        Ok(Outcome::text(listed(text, "no line matches", is_cut)))
    }
}

/// A runner may find more than anybody can read.
fn check_size(text: &str) -> Result<(), ApiError> {
    if text.len() > MCP_LISTED_BYTES {
        return Err(ApiError::new("too_large", "that is too much; make the pattern or the path narrower"));
    }
    Ok(())
}

fn listed(text: String, nothing: &str, is_cut: bool) -> String {
    match (text.is_empty(), is_cut) {
        (true, _) => nothing.to_owned(),
        (false, true) => format!("{text}(there is more; make the pattern or the path narrower)"),
        (false, false) => text,
    }
}

fn show(file: &GrepFile, text: &mut String) {
    let path = String::from_utf8_lossy(&file.path);
    for line in &file.lines {
        let (mark, cut) = (if line.is_match { ':' } else { '-' }, if line.is_cut { "…" } else { "" });
        let (number, line) = (line.number, String::from_utf8_lossy(&line.text));
        text.push_str(&format!("{path}{mark}{number}{mark}{line}{cut}\n"));
    }
}
