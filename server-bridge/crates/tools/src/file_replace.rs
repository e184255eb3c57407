//! `FileReplace`: replaces a part of a file.

use std::ops::Range;

use regex::RegexBuilder;
use sandbox::{Present, WriteOptions};
use schemars::JsonSchema;
use serde::Deserialize;
use sha2::{Digest, Sha256};

use super::read::{text, whole};
use super::{Failure, Outcome, Work, change, edit, visible};
use crate::Services;
use crate::limits::FILE_AFTER_BYTES;
use agent::approval::Access;
use agent::limits::REGEX_BYTES;
use agent::tool::CardData;
use agent::tool::look::{Ground, Looked, edited};
use agent::tool::{Live, Rules, Subject, ToolContext, TypedTool};

/// The text to replace.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// The file, relative to the current directory or absolute.
    path: String,
    /// The text that is there now.
    old_string: String,
    /// The text to put there.
    new_string: String,
    /// Whether to replace every occurrence.
    #[serde(default)]
    replace_all: bool,
    /// Whether old_string is a regular expression; new_string may then contain $1 or ${name}, and $$ for a dollar sign.
    #[serde(default)]
    regex: bool,
    /// Replace only from this line on; the first line is 1.
    #[serde(default)]
    start_line: Option<usize>,
    /// Replace only up to this line.
    #[serde(default)]
    end_line: Option<usize>,
}

impl TypedTool for Arguments {
    type Services = Services;

    const NAME: &'static str = "FileReplace";
    const DESCRIPTION: &'static str = "Replaces text in a file of the workspace. old_string must be there exactly once, unless \
replace_all is set. Read the file first and copy old_string exactly, with its white space; the line numbers are not part of it.";
    const RULES: Rules = Rules::of(Access::Edit);

    fn hint(&self) -> &str {
        &self.path
    }

    fn subject(&self) -> Subject<'_> {
        Subject::Changes(&self.path)
    }

    async fn look(&self, ground: Option<&Ground>) -> Result<Looked, Failure> {
        let Some(ground) = ground else { return Err(Failure::unreachable()) };
        let mut target = ground.target(&self.path).await?;
        let old = whole(ground.sandbox(), &target.file.path).await?;
        target.file.present = Present::Content(Sha256::digest(&old).into());
        let shown = visible::line(&target.file.path);
        let old = text(&target.file.path, old)?;
        let (new, count) = replaced(self, &old).map_err(|why| Failure::Message(format!("{shown}: {why}")))?;
        let places = if count == 1 { "1 place".to_owned() } else { format!("{count} places") };
        let kind = if self.regex { ", found by a regular expression" } else { "" };
        let mut parts = vec![edited("old text", &self.old_string), edited("new text", &self.new_string)];
        if self.regex {
            "regular expression".clone_into(&mut parts[0].label);
            "replacement".clone_into(&mut parts[1].label);
            parts.iter_mut().for_each(|part| part.is_in_edit = false);
        }
        let change = match edit::between(&old, &new) {
            CardData::Edit { is_cut: true, .. } if !self.regex => {
                edit::part(&self.old_string, &self.new_string, self.first_line(&old))
            }
            change => change,
        };
        let effect = format!("changes {places} in the file{kind}");
        Ok(Looked { edit: Some(change), ..ground.file_change(target, effect, parts) })
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

impl Arguments {
    /// The number of the line of the file in which the old text begins.
    fn first_line(&self, content: &str) -> usize {
        let region = region(content, self.start_line, self.end_line).unwrap_or(0..content.len());
        let at = content[region.clone()].find(&self.old_string).map_or(0, |at| region.start + at);
        content[..at].matches('\n').count() + 1
    }
}

async fn run(arguments: &Arguments, work: &Work<'_>) -> Result<Outcome, Failure> {
    let (path, present) = work.target(&arguments.path).await?;
    let sandbox = work.sandbox().await?;
    let old = whole(&sandbox, &path).await?;
    let digest: [u8; 32] = Sha256::digest(&old).into();
    if work.bound_content().is_some_and(|allowed| allowed != digest) {
        return Err(Failure::Message(format!(
            "{} has changed since the change was allowed; nothing was written: Read it again",
            visible::line(&path)
        )));
    }
    let old = text(&path, old)?;
    let shown = visible::line(&path);
    let (new, count) =
        replaced(arguments, &old).map_err(|why| Failure::Message(format!("{shown}: {why}")))?;
    // If something else changed the file meanwhile, its change is not overwritten.
    let if_match = present.is_none().then_some(digest);
    let size_bytes = Some(new.len() as u64);
    let options = WriteOptions { size_bytes, if_match, present, ..WriteOptions::default() };
    change::write(work, &sandbox, &path, new.as_bytes(), options).await?;
    let times = if count == 1 { "once".to_owned() } else { format!("{count} times") };
    let data = Some(edit::between(&old, &new));
    Ok(Outcome { data, ..Outcome::done(format!("replaced {times} in {shown}")) })
}

/// The new content, and the number of replacements.
fn replaced(arguments: &Arguments, content: &str) -> Result<(String, usize), String> {
    let Arguments { old_string, new_string, replace_all, start_line, end_line, .. } = arguments;
    if old_string.is_empty() {
        return Err("old_string is empty; FileCreate writes a whole file".to_owned());
    }
    let region = region(content, *start_line, *end_line)?;
    let within = &content[region.clone()];
    let mut new = content[..region.start].to_owned();
    let (mut from, mut count) = (0, 0_usize);
    let mut take = |range: Range<usize>, replacement: &dyn Fn(&mut String)| {
        count += 1;
        // If only one match is allowed, further matches are only counted.
        if count == 1 || *replace_all {
            new.push_str(&within[from..range.start]);
            replacement(&mut new);
            from = range.end;
        }
        if new.len() > FILE_AFTER_BYTES { Err("the file would become too large".to_owned()) } else { Ok(()) }
    };
    if arguments.regex {
        let regex = RegexBuilder::new(old_string).multi_line(true).size_limit(REGEX_BYTES).build();
        let regex = regex.map_err(|error| format!("old_string is not a regular expression: {error}"))?;
        for captures in regex.captures_iter(within) {
            let range = captures.get_match().range();
            let references = new_string.matches('$').count();
            if references.saturating_mul(range.len()) > FILE_AFTER_BYTES {
                return Err(
                    "new_string refers to the found text too many times: the file would become too large"
                        .to_owned(),
                );
            }
            take(range, &|new| captures.expand(new_string, new))?;
        }
    } else {
        for (at, found) in within.match_indices(old_string.as_str()) {
            take(at..at + found.len(), &|new| new.push_str(new_string))?;
        }
    }
    match count {
        0 => return Err(not_found(arguments, content)),
        1 => {}
        _ if *replace_all => {}
        count => {
            return Err(format!(
                "old_string occurs {count} times; make it longer, set start_line and end_line, or set replace_all"
            ));
        }
    }
    new.push_str(&within[from..]);
    new.push_str(&content[region.end..]);
    if new == content { Err("the replacement changes nothing".to_owned()) } else { Ok((new, count)) }
}

/// The byte range of the lines from `first` to `last`.
fn region(content: &str, first: Option<usize>, last: Option<usize>) -> Result<Range<usize>, String> {
    let (first, last) = (first.unwrap_or(1).max(1), last.unwrap_or(usize::MAX));
    if last < first {
        return Err(format!("end_line {last} comes before start_line {first}"));
    }
    let mut ends = content.split_inclusive('\n').scan(0, |end, line| {
        *end += line.len();
        Some(*end)
    });
    let start = if first == 1 { 0 } else { ends.nth(first - 2).unwrap_or(content.len()) };
    let end = ends.nth(last - first).unwrap_or(content.len());
    Ok(start..end)
}

/// The reason why the text was not found, as far as it is known.
fn not_found(arguments: &Arguments, content: &str) -> String {
    let squeezed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let Arguments { old_string, regex, .. } = arguments;
    if !regex && content.contains(old_string.as_str()) {
        return "old_string is not within these lines".to_owned();
    }
    if !regex && squeezed(content).contains(&squeezed(old_string)) {
        return "old_string is in the file with different white space; Read the file and copy it exactly"
            .to_owned();
    }
    "old_string is not in the file; Read the file again".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(old: &str, new: &str) -> Arguments {
        Arguments {
            path: String::new(),
            old_string: old.to_owned(),
            new_string: new.to_owned(),
            replace_all: false,
            regex: false,
            start_line: None,
            end_line: None,
        }
    }

    fn new(arguments: &Arguments, content: &str) -> String {
        replaced(arguments, content).unwrap().0
    }

    #[test]
    fn text_is_replaced_where_it_is_the_only_one() {
        assert_eq!(new(&arguments("b", "$1"), "abc"), "a$1c");
        let several = replaced(&arguments("a", "b"), "aXa").unwrap_err();
        assert!(several.contains("2 times"), "{several}");
        let all = Arguments { replace_all: true, ..arguments("a", "b") };
        assert_eq!(replaced(&all, "aXa").unwrap(), ("bXb".to_owned(), 2));
        assert!(replaced(&arguments("", "b"), "a").is_err());
        assert!(replaced(&arguments("a", "a"), "a").is_err());
    }

    #[test]
    fn the_line_that_a_change_begins_on_is_the_files() {
        let content = "a\nb\nx\nb\n";
        assert_eq!(arguments("a\nb", "").first_line(content), 1);
        assert_eq!(arguments("x\nb", "").first_line(content), 3);
        let later = Arguments { start_line: Some(3), ..arguments("b", "") };
        assert_eq!(later.first_line(content), 4);
    }

    #[test]
    fn lines_limit_where_it_is_looked_for() {
        let content = "x\nx\nx\n";
        let lines = |start_line, end_line| Arguments { start_line, end_line, ..arguments("x", "y") };
        assert_eq!(new(&lines(Some(2), Some(2)), content), "x\ny\nx\n");
        assert_eq!(new(&lines(Some(3), None), content), "x\nx\ny\n");
        assert_eq!(new(&lines(None, Some(1)), content), "y\nx\nx\n");
        assert!(replaced(&lines(Some(4), None), content).unwrap_err().contains("not within"));
        assert!(replaced(&lines(Some(3), Some(2)), content).unwrap_err().contains("before"));
    }

    #[test]
    fn regular_expressions_are_expanded_and_limited() {
        let by = |old: &str, new: &str| Arguments { regex: true, replace_all: true, ..arguments(old, new) };
        assert_eq!(new(&by(r"^(\w)=", "$1: "), "a=1\nb=2\n"), "a: 1\nb: 2\n");
        assert_eq!(new(&by("é*$", "."), "xé"), "x.");
        assert!(replaced(&by("(", ""), "x").unwrap_err().contains("regular expression"));
        assert!(replaced(&by(r"\w{1000}{1000}", ""), "x").is_err(), "one that is too large");
    }

    #[test]
    fn a_file_does_not_grow_without_bounds() {
        let all = |old: &str, new: &str, regex| Arguments { regex, replace_all: true, ..arguments(old, new) };
        let content = "x".repeat(1_000_000);
        let long = "y".repeat(1_000);
        assert!(replaced(&all("x", &long, false), &content).unwrap_err().contains("too large"));
        assert!(replaced(&all(".", &long, true), &content).unwrap_err().contains("too large"));
        assert!(
            replaced(&all("(?s).*", &"$0".repeat(100), true), &content)
                .unwrap_err()
                .contains("too many times")
        );
        assert!(replaced(&arguments("x", &long), &content).unwrap_err().contains("1000000 times"));
    }

    #[test]
    fn other_white_space_is_told() {
        let why = replaced(&arguments("a  b", "c"), "a\tb").unwrap_err();
        assert!(why.contains("white space"), "{why}");
        assert!(replaced(&arguments("q", "c"), "a\tb").unwrap_err().contains("not in the file"));
    }
}
