//! Splits a text into plain text, shell lines and files.

/// A part of a text, before arguments are inserted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Segment {
    Text(String),
    Shell(String),
    File(String),
}

/// Splits a text into its parts. Code, in fences or between backquotes, is text; a fence marked `!` contains shell
/// lines.
pub(super) fn segments(text: &str) -> Vec<Segment> {
    let mut segments = Vec::new();
    let mut plain = String::new();
    let mut lines = text.split_inclusive('\n');
    while let Some(line) = lines.next() {
        let Some(fence) = fence(line) else {
            inline(line, &mut plain, &mut segments);
            continue;
        };
        let is_shell = line.trim()[fence.len()..].trim() == "!";
        let mut inside = String::new();
        let mut end = "";
        for line in lines.by_ref() {
            if line.trim().starts_with(fence) && line.trim().trim_start_matches(['`', '~']).is_empty() {
                end = line;
                break;
            }
            inside.push_str(line);
        }
        if is_shell && !inside.trim().is_empty() {
            flush(&mut plain, &mut segments);
            segments.push(Segment::Shell(inside.trim().to_owned()));
            // The line of the fence ended with a newline.
            plain.push('\n');
        } else {
            plain.push_str(line);
            plain.push_str(&inside);
            plain.push_str(end);
        }
    }
    flush(&mut plain, &mut segments);
    segments
}

fn flush(plain: &mut String, segments: &mut Vec<Segment>) {
    if !plain.is_empty() {
        segments.push(Segment::Text(std::mem::take(plain)));
    }
}

/// The characters that begin a code block.
fn fence(line: &str) -> Option<&str> {
    let line = line.trim();
    let mark = line.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
    let length = line.len() - line.trim_start_matches(mark).len();
    // If there are backquotes later on the same line, this is code within a line.
    (length >= 3 && !line[length..].contains('`')).then(|| &line[..length])
}

/// Splits one line into its parts.
fn inline(line: &str, plain: &mut String, segments: &mut Vec<Segment>) {
    let mut rest = line;
    let mut before = None;
    while let Some(letter) = rest.chars().next() {
        let is_begin = before.is_none_or(|before: char| before.is_whitespace() || before == '(');
        let found = match letter {
            '!' if is_begin => {
                code(&rest[1..]).map(|(code, rest)| (Segment::Shell(code.trim().to_owned()), rest))
            }
            '@' if is_begin => file(&rest[1..]).map(|(path, rest)| (Segment::File(path.to_owned()), rest)),
            _ => None,
        };
        if let Some((segment, after)) = found {
            flush(plain, segments);
            segments.push(segment);
            rest = after;
            before = Some('`');
            continue;
        }
        let taken = match code(rest) {
            Some((_, after)) => rest.len() - after.len(),
            None => letter.len_utf8(),
        };
        let (text, after) = rest.split_at(taken);
        plain.push_str(text);
        before = text.chars().next_back();
        rest = after;
    }
}

/// Code between backquotes at the beginning of a text, and the rest of the text.
fn code(text: &str) -> Option<(&str, &str)> {
    let (code, rest) = text.strip_prefix('`')?.split_once('`')?;
    (!code.trim().is_empty()).then_some((code, rest))
}

/// A path at the beginning of a text, and the rest of the text. A word without a period or a slash counts as a person's
/// name.
fn file(text: &str) -> Option<(&str, &str)> {
    let ends = |letter: char| {
        letter.is_whitespace() || matches!(letter, '`' | '"' | '\'' | '(' | ')' | '<' | '>' | ',' | ';')
    };
    let end = text.find(ends).unwrap_or(text.len());
    let path = text[..end].trim_end_matches(['.', ':', '!', '?', '*']);
    let is_path = path.contains(['/', '.', '$']) && !path.starts_with('@');
    is_path.then(|| (path, &text[path.len()..]))
}
