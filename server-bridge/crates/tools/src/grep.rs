//! `Grep`: finds lines with a regular expression.

use sandbox::{GrepFile, GrepQuery};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::Services;
use crate::Work;
use crate::limits::{GREP_BYTES, GREP_CONTEXT_LINES, GREP_RESULTS, PROGRAM_LISTED, PROGRAM_LISTED_BYTES};
use crate::services::left_out_words;
use agent::approval::Access;
use agent::tool::{Failure, Outcome};
use agent::tool::{Live, Rules, Subject, ToolContext, TypedTool};

/// The lines to find.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// The regular expression, in Rust's syntax, matched against one line at a time.
    pattern: String,
    /// The directory to look in, or one file; by default the current directory, or the workspace if there is no chat.
    #[serde(default)]
    path: Option<String>,
    /// Search only files whose name or path matches this, like *.rs.
    #[serde(default)]
    include: Option<String>,
    /// Whether to ignore the difference between upper and lower case.
    #[serde(default)]
    ignore_case: bool,
    /// The number of lines to show before and after each matching line, at most 20.
    #[serde(default)]
    context_lines: u32,
}

impl TypedTool for Arguments {
    type Services = Services;

    const NAME: &'static str = "Grep";
    const DESCRIPTION: &'static str = "Finds lines of the workspace's files by a regular expression (Rust's syntax, one line at \
a time): PATH:NUMBER:TEXT, and PATH-NUMBER-TEXT for lines around them. Binary files and files that .gitignore excludes are not searched.";
    const RULES: Rules = Rules::of(Access::Read).for_programs_as("grep");

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
    let is_program = work.program().is_some();
    let (most, most_bytes) =
        if is_program { (PROGRAM_LISTED, PROGRAM_LISTED_BYTES) } else { (GREP_RESULTS, GREP_BYTES) };
    let query = GrepQuery {
        pattern: arguments.pattern.clone(),
        path: path.clone().into_bytes(),
        include: arguments.include.clone(),
        ignore_case: arguments.ignore_case,
        context_lines: arguments.context_lines.min(GREP_CONTEXT_LINES),
        ignored: false,
        max_results: most,
    };
    let mut reader = work.sandbox().await?.grep(query).await?;
    let (mut text, mut left_out) = (String::new(), 0);
    while let Some(batch) = reader.next_batch().await {
        let files = batch?.files;
        let hidden = work.hidden(&path, files.iter().map(|file| &file.path[..])).await?;
        left_out += hidden.iter().filter(|is_hidden| **is_hidden).count();
        let seen = files.iter().zip(hidden).filter(|(_, is_hidden)| !is_hidden);
        seen.for_each(|(file, _)| show(file, &work.shown(&file.path), &mut text));
        if text.len() > most_bytes {
            let text = "the result is too large; make the pattern or the path narrower".to_owned();
            return Err(Failure::Refused { kind: "too_large", text });
        }
    }
    let note = left_out_words(left_out);
    if text.is_empty() {
        return Ok(Outcome::done(format!("no line matches{note}")));
    }
    if reader.done().is_some_and(|done| done.truncated.is_some()) {
        text.push_str("(there is more; make the pattern or the path narrower)\n");
    }
    text.push_str(note.trim_start());
    Ok(Outcome::done(text))
}

/// `PATH:NUMBER:TEXT` for matches, `PATH-NUMBER-TEXT` for lines near them, and `--` between groups that do not touch.
fn show(file: &GrepFile, path: &str, text: &mut String) {
    let mut last = None;
    for line in &file.lines {
        if last.is_some_and(|last| last + 1 < line.number) && file.lines.iter().any(|line| !line.is_match) {
            text.push_str("--\n");
        }
        last = Some(line.number);
        let (mark, cut) = (if line.is_match { ':' } else { '-' }, if line.is_cut { "…" } else { "" });
        let (number, line) = (line.number, String::from_utf8_lossy(&line.text));
        text.push_str(&format!("{path}{mark}{number}{mark}{line}{cut}\n"));
    }
}
