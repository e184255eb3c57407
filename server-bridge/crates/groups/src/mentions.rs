//! Finds the agents that a text asks, by mentions such as `@handle`.
//!
//! The longest matching handle of an agent counts, in upper or lower case. Nothing in code, block quotes, e-mail addresses or URLs is a mention. In
//! scripts without spaces between words, a mention needs no spaces around it: `请@小说家写一段`.

use std::collections::HashMap;

use chains::check::is_handle;
use chains::limits::HANDLE_MAX_CHARS;

/// The words that mention everyone.
const EVERYONE: [&str; 2] = ["all", "所有人"];

/// The mentions of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mentions {
    /// The indices of the mentioned handles in the given list, in the order in which they are first mentioned.
    pub(crate) handles: Vec<usize>,
    /// True if the text mentions everyone.
    pub(crate) is_everyone: bool,
}

/// Returns the reason why a text cannot be a handle; `None` if it can be one.
pub(crate) fn unfit(handle: &str) -> Option<String> {
    if !is_handle(handle) {
        return Some(format!(
            "a handle must have 1 to {HANDLE_MAX_CHARS} letters, digits, '-' or '_', and begin with a letter or a digit"
        ));
    }
    is_everyone(handle).then(|| format!("@{handle} asks everyone; choose another handle"))
}

/// Returns true for a word that mentions everyone.
pub(crate) fn is_everyone(handle: &str) -> bool {
    EVERYONE.contains(&handle.to_lowercase().as_str())
}

/// Finds the mentions in a text. The time that this takes depends only on the length of the text.
pub(crate) fn mentions(text: &str, handles: &[&str]) -> Mentions {
    let mut known: Vec<(Vec<char>, Option<usize>)> =
        handles.iter().enumerate().map(|(place, handle)| (lower(handle), Some(place))).collect();
    known.extend(EVERYONE.iter().map(|word| (lower(word), None)));
    known.sort_by_key(|(handle, _)| std::cmp::Reverse(handle.len()));
    let mut found = Mentions::default();
    for paragraph in paragraphs(text) {
        scan(&paragraph, &known, &mut found);
    }
    found
}

fn lower(text: &str) -> Vec<char> {
    text.chars().flat_map(char::to_lowercase).collect()
}

/// Returns the paragraphs of a Markdown text, without code blocks and block quotes.
fn paragraphs(text: &str) -> Vec<Vec<char>> {
    let (mut paragraphs, mut paragraph) = (Vec::new(), Vec::new());
    let mut fence: Option<(char, usize)> = None;
    let (mut is_after_blank, mut is_in_list) = (true, false);
    for line in text.lines() {
        let indent = line.len() - line.trim_start_matches([' ', '\t']).len();
        let body = &line[indent..];
        let mark = body.chars().next().filter(|mark| matches!(mark, '`' | '~'));
        let run = mark.map_or(0, |mark| body.chars().take_while(|character| *character == mark).count());
        if let Some((open, length)) = fence {
            let closes = mark == Some(open) && run >= length && body.trim_end().chars().all(|c| c == open);
            if closes {
                fence = None;
            }
            continue;
        }
        // After a fence of backticks, the rest of the line contains no backtick.
        let opens =
            run >= 3 && !(mark == Some('`') && body.chars().skip(run).any(|character| character == '`'));
        let is_code =
            is_after_blank && !is_in_list && (indent >= 4 || line.starts_with('\t')) && !body.is_empty();
        if opens {
            fence = mark.map(|mark| (mark, run));
        } else if !body.is_empty() && !body.starts_with('>') && !is_code {
            is_in_list = is_item(body) || is_in_list && indent > 0;
            paragraph.extend(line.chars());
            paragraph.push('\n');
            is_after_blank = false;
            continue;
        }
        // An indented line that follows a line of code is code as well.
        is_after_blank = body.is_empty() || is_code;
        if !paragraph.is_empty() {
            paragraphs.push(std::mem::take(&mut paragraph));
        }
    }
    paragraphs.push(paragraph);
    paragraphs
}

fn is_item(body: &str) -> bool {
    let rest = body.trim_start_matches(|character: char| character.is_ascii_digit());
    let rest = if rest.len() < body.len() {
        rest.strip_prefix(['.', ')'])
    } else {
        body.strip_prefix(['-', '*', '+'])
    };
    rest.is_some_and(|rest| rest.starts_with([' ', '\t']))
}

/// Returns the ranges of a paragraph that are code spans.
fn code(paragraph: &[char]) -> Vec<(usize, usize)> {
    let (mut runs, mut at) = (Vec::new(), 0);
    while at < paragraph.len() {
        let length = paragraph[at..].iter().take_while(|character| **character == '`').count();
        if length > 0 {
            runs.push((at, length));
        }
        at += length.max(1);
    }
    // The positions of the runs of backticks, by length, the last run first.
    let mut by_length: HashMap<usize, Vec<usize>> = HashMap::new();
    for (index, (_, length)) in runs.iter().enumerate().rev() {
        by_length.entry(*length).or_default().push(index);
    }
    let (mut spans, mut index) = (Vec::new(), 0);
    while let Some((begin, length)) = runs.get(index).copied() {
        let of_length = by_length.entry(length).or_default();
        while of_length.last().is_some_and(|other| *other <= index) {
            of_length.pop();
        }
        match of_length.last().copied() {
            Some(end) => {
                spans.push((begin, runs[end].0 + length));
                index = end + 1;
            }
            None => index += 1,
        }
    }
    spans
}

fn scan(paragraph: &[char], known: &[(Vec<char>, Option<usize>)], found: &mut Mentions) {
    let spans = code(paragraph);
    let mut spans = spans.into_iter().peekable();
    let (mut at, mut is_in_url) = (0, false);
    while at < paragraph.len() {
        if let Some((_, end)) = spans.next_if(|(begin, _)| *begin <= at) {
            at = at.max(end);
            is_in_url = false;
            continue;
        }
        let character = paragraph[at];
        if character.is_whitespace() || !character.is_ascii() || matches!(character, '<' | '>' | '"') {
            is_in_url = false;
        }
        if paragraph[at..].starts_with(&[':', '/', '/']) {
            is_in_url = true;
        }
        let before = at.checked_sub(1).map(|before| paragraph[before]);
        if matches!(character, '@' | '＠') && !is_in_url && before.is_none_or(may_precede) {
            let longest = known.iter().find(|(handle, _)| is_here(&paragraph[at + 1..], handle));
            if let Some((handle, place)) = longest {
                match place {
                    Some(place) if !found.handles.contains(place) => found.handles.push(*place),
                    Some(_) => {}
                    None => found.is_everyone = true,
                }
                at += handle.len();
            }
        }
        at += 1;
    }
}

/// Returns true if a text begins with a handle that ends at a word boundary.
fn is_here(text: &[char], handle: &[char]) -> bool {
    let is_it = text.len() >= handle.len()
        && text.iter().zip(handle).all(|(is, wanted)| is == wanted || is.to_lowercase().eq([*wanted]));
    if !is_it {
        return false;
    }
    let Some(next) = text.get(handle.len()).copied() else { return true };
    let after = text.get(handle.len() + 1).copied();
    match next {
        '@' | '＠' | '/' | '\\' => false,
        // The text may continue as a longer name or a domain; at the end of a sentence it does not.
        '-' | '_' | '.' => {
            !after.is_some_and(|after| after.is_alphanumeric() && !is_unspaced(after)) && next != '_'
        }
        next => is_unspaced(next) || !next.is_alphanumeric(),
    }
}

/// Returns true if a mention can follow directly after this character.
fn may_precede(before: char) -> bool {
    let is_of_word = before.is_alphanumeric() && !is_unspaced(before);
    !is_of_word && !matches!(before, '@' | '＠' | '.' | '_' | '-' | '+' | '/' | '\\' | '=' | '&' | '#' | '%')
}

/// Returns true for a letter of a script that puts no spaces between words, or attaches particles to words.
fn is_unspaced(character: char) -> bool {
    matches!(u32::from(character),
        // Thai, Lao, Tibetan, Myanmar, Hangul, Khmer
        0x0e00..=0x0eff | 0x0f00..=0x109f | 0x1100..=0x11ff | 0x1780..=0x17ff
        // Kana, Bopomofo, Hangul compatibility, Han and its extensions
        | 0x3005..=0x3007 | 0x3040..=0x31ff | 0x3400..=0x4dbf | 0x4e00..=0x9fff | 0xac00..=0xd7ff
        | 0xf900..=0xfaff | 0xff66..=0xff9f | 0x20000..=0x3ffff)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HANDLES: [&str; 8] = ["a", "ab", "coder", "coder-2", "Writer", "小说家", "小说", "작가"];

    fn found(text: &str) -> String {
        let Mentions { handles, is_everyone } = mentions(text, &HANDLES);
        let mut words: Vec<_> = handles.iter().map(|place| HANDLES[*place]).collect();
        words.extend(is_everyone.then_some("*"));
        words.join(" ")
    }

    #[test]
    fn who_is_asked() {
        let cases = [
            ("@coder do it", "coder"),
            ("do it, @coder", "coder"),
            ("do it, @coder.", "coder"),
            ("(@coder)", "coder"),
            ("@coder: do it", "coder"),
            ("@coder's turn", "coder"),
            ("@CODER", "coder"),
            ("@writer", "Writer"),
            ("**@coder**", "coder"),
            ("@coder\n@Writer", "coder Writer"),
            ("@Writer then @coder, @Writer", "Writer coder"),
            ("@a", "a"),
            ("@ab", "ab"),
            ("@a @ab", "a ab"),
            ("@abc", ""),
            ("@coder-2", "coder-2"),
            ("@coder-3", ""),
            ("@coder-", "coder"),
            ("@coder_2", ""),
            ("@coder_", ""),
            ("@coder2", ""),
            ("@coder.io", ""),
            ("@coder...", "coder"),
            ("@coder!", "coder"),
            ("@ coder", ""),
            ("@", ""),
            ("@@coder", ""),
            ("coder", ""),
            ("@nobody", ""),
            ("@小说家，写一段", "小说家"),
            ("@小说家写一段", "小说家"),
            ("@小说，写", "小说"),
            ("请@小说家写一段", "小说家"),
            ("请 @小说家。", "小说家"),
            ("＠小说家：写", "小说家"),
            ("@小说家、@coder、@ab", "小说家 coder ab"),
            ("@coder写代码", "coder"),
            ("让@coder写", "coder"),
            ("“@小说家”", "小说家"),
            ("@작가가 쓴다", "작가"),
            ("mail a@coder", ""),
            ("mail me@coder.com", ""),
            ("x.y@coder", ""),
            ("x+@coder", ""),
            ("@coder@example.com", ""),
            ("https://example.com/@coder", ""),
            ("https://example.com/?q=1,@coder", ""),
            ("看https://example.com/x，@小说家", "小说家"),
            ("<https://x.y/> @coder", "coder"),
            ("@coder/package", ""),
            ("\\@coder", ""),
            ("`@coder`", ""),
            ("``@coder ` x`` @ab", "ab"),
            ("`@coder", "coder"),
            ("`a` @coder `b`", "coder"),
            ("`a\n@coder` @ab", "ab"),
            ("```\n@coder\n```\n@ab", "ab"),
            ("```sh\n@coder\n", ""),
            ("~~~\n@coder\n```\n@ab\n~~~", ""),
            ("````\n```\n@coder\n````\n@ab", "ab"),
            ("``` `` ```\n@coder", "coder"),
            ("> @coder said\n\n@ab", "ab"),
            ("  > @coder", ""),
            ("    @coder", ""),
            ("text\n    @coder", "coder"),
            ("- item\n\n    @coder", "coder"),
            ("1. @coder\n2. @ab", "coder ab"),
            ("@all look", "*"),
            ("@所有人", "*"),
            ("@all and @coder", "coder *"),
            ("@allies", ""),
            ("fooé@coder", ""),
            ("@coderé", ""),
            ("x=@coder", ""),
            ("/@coder", ""),
            ("#@coder", ""),
            ("\u{202e}@coder", "coder"),
            ("@\u{200b}coder", ""),
        ];
        assert!(cases.len() >= 60);
        for (text, expected) in cases {
            assert_eq!(found(text), expected, "{text:?}");
        }
    }

    #[test]
    fn a_megabyte_takes_no_longer_for_what_it_says() {
        let most = 1024 * 1024;
        let runs: String = (1..1400).map(|length| format!("{} ", "`".repeat(length))).collect();
        for text in [
            "@".repeat(most),
            "@coder ".repeat(most / 7),
            "`".repeat(most),
            "` ".repeat(most / 2),
            runs,
            "> ".repeat(most / 2),
        ] {
            mentions(&text, &HANDLES);
        }
        assert_eq!(found(&format!("{}@coder", "x ".repeat(most / 2))), "coder");
    }

    #[test]
    fn what_a_handle_may_be() {
        for fit in ["coder", "小说家", "coder-2", "x_y", "2nd", "작가"] {
            assert_eq!(unfit(fit), None, "{fit}");
        }
        for other in
            ["", "-x", "_x", "a b", "a.b", "@a", "a/b", "all", "ALL", "所有人", &"x".repeat(33), "a\u{202e}b"]
        {
            assert!(unfit(other).is_some(), "{other}");
        }
    }
}
