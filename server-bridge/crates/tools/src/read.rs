//! `Read`: reads a file's lines.

use sandbox::{FileReader, Range, Sandbox};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Failure, FileSeen, Outcome, Work, change, visible};
use crate::Services;
use crate::limits::{READ_FILE_BYTES, READ_LINE_CHARS, READ_LINES, RECALL_CHARS};
use agent::approval::Access;
use agent::tool::{Live, Rules, Subject, ToolContext, TypedTool};

/// The lines to read.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// The file, relative to the current directory or absolute.
    path: String,
    /// The first line to return; the first line of the file is 1.
    #[serde(default)]
    offset: Option<u64>,
    /// The maximum number of lines to return, 2000 by default.
    #[serde(default)]
    max_lines: Option<u64>,
}

impl TypedTool for Arguments {
    type Services = Services;

    const NAME: &'static str = "Read";
    const DESCRIPTION: &'static str = "Reads a text file of the workspace. Lines are numbered; long lines are cut. \
Read a long file in parts, with offset and max_lines. A PNG, JPEG, GIF or WebP image is shown to you as it is.";
    const RULES: Rules = Rules::of(Access::Read);

    fn hint(&self) -> &str {
        &self.path
    }

    fn subject(&self) -> Subject<'_> {
        Subject::Reads(&self.path)
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
    let path = work.path(&arguments.path).await?;
    let sandbox = work.sandbox().await?;
    // Each file has one name; otherwise its changes would be reported for a different file.
    let mut seen = FileSeen {
        path: change::within(&sandbox.facts().workspace, &path).to_owned(),
        ..FileSeen::default()
    };
    let read = async {
        let (content, modified_ms) = whole_since(&sandbox, &path).await?;
        (seen.hash, seen.size_bytes, seen.modified_ms) =
            (change::hash(&content), content.len() as u64, modified_ms);
        shown(arguments, &path, content)
    };
    let outcome = match read.await {
        // A failed read also counts as reading the file, so the reminder that the file changed ends.
        Err(Failure::Message(why) | Failure::Refused { text: why, .. }) => Outcome::failed(&why),
        read => read?,
    };
    Ok(Outcome { file: Some(seen), ..outcome })
}

fn shown(arguments: &Arguments, path: &str, content: Vec<u8>) -> Result<Outcome, Failure> {
    if content.is_empty() {
        return Ok(Outcome::done("(the file is empty)"));
    }
    let shown_path = visible::line(path);
    match agent::tool::image::shown(&content) {
        Some(Ok((text, image))) => {
            return Ok(Outcome { images: vec![image], ..Outcome::part(format!("{shown_path}: {text}")) });
        }
        Some(Err(why)) => return Err(Failure::Message(format!("{shown_path}: {why}"))),
        None => {}
    }
    let text = text(path, content)?;
    let (first, count) = (arguments.offset.unwrap_or(1).max(1), arguments.max_lines.unwrap_or(READ_LINES));
    let is_part = arguments.offset.is_some() || arguments.max_lines.is_some();
    let shown = numbered(&text, first, count.clamp(1, READ_LINES), is_part);
    Ok(if is_part { Outcome::part(shown) } else { Outcome::done(shown) })
}

/// The lines in the form `NUMBER<tab>TEXT`, and a note about the lines that were left out.
///
/// A part is never put aside, so it is cut before it becomes too long for that.
fn numbered(text: &str, first: u64, count: u64, is_part: bool) -> String {
    let total = text.lines().count() as u64;
    if first > total {
        let lines = if total == 1 { "line" } else { "lines" };
        return format!("(the file has only {total} {lines})");
    }
    let mut shown = String::new();
    let mut last = total.min(first.saturating_add(count) - 1);
    for (number, line) in (1..).zip(text.lines()).skip((first - 1) as usize).take(count as usize) {
        let cut = line.char_indices().nth(READ_LINE_CHARS).map(|(at, _)| at);
        let (line, mark) = cut.map_or((line, ""), |at| (&line[..at], "…"));
        shown.push_str(&format!("{number}\t{line}{mark}\n"));
        if is_part && shown.len() > RECALL_CHARS {
            last = number;
            break;
        }
    }
    if first > 1 || last < total {
        shown.push_str(&format!("(lines {first} to {last} of {total})\n"));
    }
    shown
}

/// The whole content of a file that is not too large to be read at once.
pub async fn whole(sandbox: &Sandbox, path: &str) -> Result<Vec<u8>, Failure> {
    Ok(whole_since(sandbox, path).await?.0)
}

/// Like [`whole`], with the file's modification time in Unix milliseconds by its machine's clock.
async fn whole_since(sandbox: &Sandbox, path: &str) -> Result<(Vec<u8>, i64), Failure> {
    let mut reader: FileReader = sandbox.read_file(path.as_bytes(), Range::default()).await?;
    let (size_bytes, modified_ms) = (reader.size_bytes(), reader.modified_ms());
    if size_bytes > READ_FILE_BYTES {
        let limit_mib = READ_FILE_BYTES / 1024 / 1024;
        let path = visible::line(path);
        let text = format!(
            "{path} has {size_bytes} bytes, more than the {limit_mib} MiB that can be read at once; use Grep, or head and tail in Shell"
        );
        return Err(Failure::Message(text));
    }
    let mut content = Vec::with_capacity(usize::try_from(size_bytes).unwrap_or(0));
    while let Some(piece) = reader.next().await {
        content.extend_from_slice(&piece?);
        if content.len() as u64 > size_bytes {
            return Err(Failure::Message(format!(
                "{} grew while it was read; read it again",
                visible::line(path)
            )));
        }
    }
    Ok((content, modified_ms))
}

/// A file's content as text.
pub(super) fn text(path: &str, content: Vec<u8>) -> Result<String, Failure> {
    let no_text = |_| {
        let path = visible::line(path);
        Failure::Message(format!("{path} is not text in UTF-8; look at it with a command in Shell"))
    };
    String::from_utf8(content).map_err(no_text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_numbered_and_what_is_missing_is_told() {
        assert_eq!(numbered("a\nb\n", 1, 10, true), "1\ta\n2\tb\n");
        assert_eq!(numbered("a\nb\nc", 2, 1, true), "2\tb\n(lines 2 to 2 of 3)\n");
        assert_eq!(numbered("a\nb\nc", 2, u64::MAX, true), "2\tb\n3\tc\n(lines 2 to 3 of 3)\n");
        assert_eq!(numbered("a", 2, 1, true), "(the file has only 1 line)");
        let long = numbered(&"é".repeat(READ_LINE_CHARS + 1), 1, 1, true);
        assert_eq!(long.chars().count(), "1\t…\n".chars().count() + READ_LINE_CHARS);
    }
}
