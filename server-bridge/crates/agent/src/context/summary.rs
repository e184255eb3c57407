//! Summaries of a result, in one line and in a few lines, with rules for each tool.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::limits::{
    OFFLOAD_LINE_CHARS, OFFLOAD_SHOWN_LINES, SUMMARY_ERRORS, SUMMARY_LINE_CHARS, SUMMARY_ROWS,
};

/// Summarises the result of a tool in one line.
pub(super) fn line(tool: &str, text: &str) -> String {
    let lines = number(text.lines().count(), "line");
    match tool {
        "Read" | "Glob" => lines,
        "Grep" => format!("{lines} of {}", number(files(text).len(), "file")),
        "Shell" => format!("{lines}, the last one: {}", cut(last(text), SUMMARY_LINE_CHARS)),
        _ => format!("{lines}, the first one: {}", cut(first(text), SUMMARY_LINE_CHARS)),
    }
}

/// Summarises the long result of a tool in a few lines.
pub(super) fn lines(tool: &str, text: &str) -> String {
    match tool {
        "Read" => read(text),
        "Grep" => grep(text),
        "Glob" => glob(text),
        "Shell" => shell(text),
        _ => both_ends(text),
    }
}

/// The first lines of a file, and later lines that begin a new part of it.
fn read(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let (first, rest) = lines.split_at(lines.len().min(OFFLOAD_SHOWN_LINES));
    let outline: Vec<&str> = rest.iter().copied().filter(|line| begins_something(line)).collect();
    let mut summary = joined(first);
    if !outline.is_empty() {
        let more = outline.len().saturating_sub(SUMMARY_ROWS);
        let _ = write!(summary, "\n… further down:\n{}", joined(&outline[..outline.len() - more]));
        if more > 0 {
            let _ = write!(summary, "\n… and {more} more like these");
        }
    }
    summary
}

/// True if a numbered line looks like the head of a function, a type or a chapter.
fn begins_something(line: &str) -> bool {
    const HEADS: [&str; 20] = [
        "fn ",
        "pub ",
        "impl",
        "struct ",
        "enum ",
        "trait ",
        "mod ",
        "def ",
        "class ",
        "async ",
        "function ",
        "export ",
        "interface ",
        "type ",
        "func ",
        "package ",
        "public ",
        "private ",
        "# ",
        "## ",
    ];
    let code = line.split_once('\t').map_or(line, |(_, code)| code);
    let indent = code.len() - code.trim_start().len();
    /// The deepest indentation of a method's head, in characters.
    const DEEPEST: usize = 4;
    indent <= DEEPEST && HEADS.iter().any(|head| code.trim_start().starts_with(head))
}

/// The number of matches in each file, and the first lines.
fn grep(text: &str) -> String {
    let files = files(text);
    let row = |(file, count): (&&str, &usize)| format!("{file}: {}", number(*count, "line"));
    let rows: Vec<String> = files.iter().take(SUMMARY_ROWS).map(row).collect();
    let rows = joined(&rows.iter().map(String::as_str).collect::<Vec<_>>());
    format!("{}{rows}\n… such as:\n{}", counted(files.len(), "files"), beginning(text))
}

/// The files of a search by content, with the number of lines of each.
fn files(text: &str) -> BTreeMap<&str, usize> {
    let mut files = BTreeMap::new();
    for line in text.lines().filter(|line| *line != "--") {
        if let Some(file) = file_of(line) {
            *files.entry(file).or_insert(0) += 1;
        }
    }
    files
}

/// The part before `:NUMBER:` or `-NUMBER-`.
fn file_of(line: &str) -> Option<&str> {
    line.char_indices().filter(|(_, c)| matches!(c, ':' | '-')).find_map(|(at, mark)| {
        let behind = &line[at + 1..];
        let digits = behind.bytes().take_while(u8::is_ascii_digit).count();
        (digits > 0 && behind[digits..].starts_with(mark)).then(|| &line[..at])
    })
}

/// The number of paths in each folder, and the first paths.
fn glob(text: &str) -> String {
    let mut folders: BTreeMap<&str, usize> = BTreeMap::new();
    for path in text.lines() {
        *folders.entry(path.rsplit_once('/').map_or(".", |(folder, _)| folder)).or_insert(0) += 1;
    }
    let rows: Vec<String> =
        folders.iter().take(SUMMARY_ROWS).map(|(folder, count)| format!("{folder}/: {count}")).collect();
    let rows = joined(&rows.iter().map(String::as_str).collect::<Vec<_>>());
    format!("{}{rows}\n… the first ones:\n{}", counted(folders.len(), "folders"), beginning(text))
}

/// The beginning and the end of a command's output, and the lines between them that mention errors.
fn shell(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    if lines.len() <= 2 * OFFLOAD_SHOWN_LINES {
        return joined(&lines);
    }
    let middle = &lines[OFFLOAD_SHOWN_LINES..lines.len() - OFFLOAD_SHOWN_LINES];
    let errors: Vec<&str> = middle.iter().copied().filter(|line| is_error(line)).collect();
    let (head, tail) =
        (joined(&lines[..OFFLOAD_SHOWN_LINES]), joined(&lines[lines.len() - OFFLOAD_SHOWN_LINES..]));
    let between = middle.len();
    if errors.is_empty() {
        return format!("{head}\n… {between} lines …\n{tail}");
    }
    let shown = joined(&errors[..errors.len().min(SUMMARY_ERRORS)]);
    let count = errors.len();
    format!("{head}\n… {between} lines, {count} of them with errors:\n{shown}\n…\n{tail}")
}

fn is_error(line: &str) -> bool {
    const WORDS: [&str; 6] = ["error", "failed", "failure", "panic", "exception", "fatal"];
    let line = line.to_ascii_lowercase();
    WORDS.iter().any(|word| line.contains(word))
}

fn both_ends(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let count = lines.len();
    if count <= 2 * OFFLOAD_SHOWN_LINES {
        return joined(&lines);
    }
    let between = count - 2 * OFFLOAD_SHOWN_LINES;
    let (head, tail) = (&lines[..OFFLOAD_SHOWN_LINES], &lines[count - OFFLOAD_SHOWN_LINES..]);
    format!("{}\n… {between} lines …\n{}", joined(head), joined(tail))
}

/// A count with its noun: `1 line`, `2 lines`.
pub(super) fn number(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// A heading with the total, if not all entries are shown; otherwise empty.
fn counted(count: usize, what: &str) -> String {
    if count > SUMMARY_ROWS { format!("{count} {what}, the first {SUMMARY_ROWS}:\n") } else { String::new() }
}

fn beginning(text: &str) -> String {
    /// The number of lines that are enough for an example.
    const LINES: usize = 5;
    joined(&text.lines().take(LINES).collect::<Vec<_>>())
}

fn joined(lines: &[&str]) -> String {
    lines.iter().map(|line| cut(line, OFFLOAD_LINE_CHARS)).collect::<Vec<_>>().join("\n")
}

fn cut(line: &str, chars: usize) -> String {
    match line.char_indices().nth(chars) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line.to_owned(),
    }
}

fn first(text: &str) -> &str {
    text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default()
}

fn last(text: &str) -> &str {
    text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_told_by_its_beginning_and_by_what_begins_in_it() {
        let body = (1..=100).map(|n| match n {
            50 => format!("{n}\tpub fn middle() {{\n"),
            60 => format!("{n}\t            let pub_deep = 1;\n"),
            _ => format!("{n}\t    let x = {n};\n"),
        });
        let summary = lines("Read", &body.collect::<String>());
        assert!(summary.starts_with("1\t    let x = 1;\n") && summary.contains("\n20\t"), "{summary}");
        assert!(summary.ends_with("… further down:\n50\tpub fn middle() {"), "{summary}");
    }

    #[test]
    fn a_search_is_told_by_its_files_and_how_much_is_in_them() {
        let text = "src/a-1.rs:3:x: 4\nsrc/a-1.rs-4-y\n--\nsrc/b.rs:1:z\n";
        assert_eq!(line("Grep", text), "4 lines of 2 files");
        let summary = lines("Grep", text);
        assert!(summary.starts_with("src/a-1.rs: 2 lines\nsrc/b.rs: 1 line\n… such as:\n"), "{summary}");
        let many: String = (0..100).map(|n| format!("{n:03}.rs:1:x\n")).collect();
        assert!(lines("Grep", &many).starts_with("100 files, the first 40:\n000.rs: 1 line\n"));
    }

    #[test]
    fn paths_are_told_by_their_folders() {
        let summary = lines("Glob", "src/a.rs\nsrc/b.rs\nc.rs\n");
        assert!(summary.starts_with(".: 1") || summary.starts_with("./: 1\nsrc/: 2\n"), "{summary}");
    }

    #[test]
    fn an_output_is_told_by_both_ends_and_its_errors() {
        let text: String = (0..100)
            .map(|n| if n == 50 { "Error: no such thing\n".to_owned() } else { format!("line {n}\n") })
            .collect();
        let summary = lines("Shell", &text);
        let expected = "line 19\n… 60 lines, 1 of them with errors:\nError: no such thing\n…\nline 80\n";
        assert!(summary.contains(expected) && summary.ends_with("line 99"), "{summary}");
        assert_eq!(line("Shell", "a\n(exit code 0)\n"), "2 lines, the last one: (exit code 0)");
        assert_eq!(lines("Shell", "a\nb"), "a\nb");
    }

    #[test]
    fn hostile_results_make_short_summaries() {
        for text in
            ["", "\n", ":", "a:1", ":1:", "-1-", "é\u{0}", &"x".repeat(100_000), &"é:9:\n".repeat(100_000)]
        {
            for tool in ["Read", "Grep", "Glob", "Shell", "Other"] {
                assert!(line(tool, text).len() < 1_000, "{tool}");
                assert!(lines(tool, text).chars().count() < 110 * (OFFLOAD_LINE_CHARS + 2), "{tool}");
            }
        }
    }
}
