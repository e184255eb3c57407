//! The languages of the server's texts, and their translation.
//!
//! Code writes every text in English, in place. [`Language::translated`] looks it up in the language's table (`zh`): rows of the
//! English text and its translation, in which `{}` stands for a value that the code fills in. A text that the table does not have
//! stays English. A new text needs no change here; its translation is one row.

mod zh;

use std::borrow::Cow;

/// The depth to which a text within a text is translated: an error within a sentence, and one within that.
const DEPTH: usize = 3;
/// The longest text that is looked up, in bytes: longer ones are output, not messages.
const TEXT_BYTES: usize = 16 * 1024;

/// A language of the server's texts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Language {
    /// The language of the texts in the code.
    #[default]
    English,
    /// Simplified Chinese.
    Chinese,
}

/// A row of a table: the English text and its translation, in which `{0}` is the value of the first `{}` of the English
/// text.
pub type Row = (&'static str, &'static str);

impl Language {
    /// The first language of an `Accept-Language` header that is supported.
    pub fn of_header(header: &str) -> Self {
        header.split(',').find_map(|tag| Self::of_tag(tag.split(';').next()?.trim())).unwrap_or_default()
    }

    /// The language of a locale, such as `zh_CN.UTF-8`.
    pub fn of_locale(locale: &str) -> Self {
        Self::of_tag(locale.split(['.', '@']).next().unwrap_or_default()).unwrap_or_default()
    }

    fn of_tag(tag: &str) -> Option<Self> {
        match tag.split(['-', '_']).next().unwrap_or_default().to_ascii_lowercase().as_str() {
            "zh" => Some(Self::Chinese),
            "en" => Some(Self::English),
            _ => None,
        }
    }

    /// Its tag in an `Accept-Language` header.
    pub fn tag(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::Chinese => "zh",
        }
    }

    /// A text of the server in this language; a text without translation stays as it is.
    pub fn translated(self, text: &str) -> Cow<'_, str> {
        let table = match self {
            Self::English => return Cow::Borrowed(text),
            Self::Chinese => zh::TABLE,
        };
        in_table(table, text).map_or(Cow::Borrowed(text), Cow::Owned)
    }
}

/// A text's translation in another table; `None` if the table does not have it.
pub fn in_table(table: &[Row], text: &str) -> Option<String> {
    if text.len() > TEXT_BYTES { None } else { translated(table, text, DEPTH) }
}

/// A text as a whole; else line by line; else sentence by sentence.
fn translated(table: &[Row], text: &str, depth: usize) -> Option<String> {
    if let Some(whole) = whole(table, text, depth) {
        return Some(whole);
    }
    if text.contains('\n') {
        return parts(table, text.split('\n'), "\n", depth);
    }
    let indent = text.len() - text.trim_start().len();
    if indent > 0 {
        return Some(format!("{}{}", &text[..indent], translated(table, &text[indent..], depth)?));
    }
    if text.contains(". ") { parts(table, text.split_inclusive(". "), "", depth) } else { None }
}

/// The parts of a text, if at least one of them is known.
fn parts<'a>(
    table: &[Row],
    parts: impl Iterator<Item = &'a str>,
    between: &str,
    depth: usize,
) -> Option<String> {
    let mut is_known = false;
    let parts: Vec<Cow<'_, str>> = parts
        .map(|part| {
            let known = whole(table, part.trim_end_matches(' '), depth)
                .or_else(|| translated_line(table, part, depth))
                .filter(|_| !part.is_empty());
            is_known |= known.is_some();
            known.map_or(Cow::Borrowed(part), Cow::Owned)
        })
        .collect();
    is_known.then(|| parts.join(between))
}

/// A line of a longer text.
fn translated_line(table: &[Row], line: &str, depth: usize) -> Option<String> {
    let depth = depth.checked_sub(1)?;
    translated(table, line, depth)
}

/// The translation of a text by a row that matches it as a whole; of several such rows the one with the most fixed text.
fn whole(table: &[Row], text: &str, depth: usize) -> Option<String> {
    let rows = table.iter().filter_map(|(english, other)| Some((english, other, filled(english, text)?)));
    let (_, other, words) =
        rows.max_by_key(|(english, ..)| english.len() - 2 * english.matches("{}").count())?;
    let mut said = String::new();
    // The values are put in once: a value that looks like a placeholder stays as it is.
    let mut pieces = other.split('{');
    said.push_str(pieces.next()?);
    for piece in pieces {
        let (at, rest) = piece.split_once('}')?;
        let word = *words.get(at.parse::<usize>().ok()?)?;
        let within = depth.checked_sub(1).and_then(|depth| translated(table, word, depth));
        said.push_str(within.as_deref().unwrap_or(word));
        said.push_str(rest);
    }
    Some(said)
}

/// The values of each `{}` in the English form, if the text has that form.
fn filled<'a>(form: &str, text: &'a str) -> Option<Vec<&'a str>> {
    let mut pieces = form.split("{}");
    let mut rest = text.strip_prefix(pieces.next()?)?;
    let (mut words, mut pieces) = (Vec::new(), pieces.peekable());
    while let Some(piece) = pieces.next() {
        let is_last = pieces.peek().is_none();
        let at = match (is_last, piece) {
            (true, "") => rest.len(),
            (true, piece) => rest.ends_with(piece).then(|| rest.len() - piece.len())?,
            (false, piece) => rest.find(piece)?,
        };
        words.push(&rest[..at]);
        rest = &rest[at + piece.len()..];
    }
    // A missing value does not match; and a form without values has to be the whole text.
    (rest.is_empty() && words.iter().all(|word| !word.is_empty())).then_some(words)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn zh(text: &str) -> String {
        Language::Chinese.translated(text).into_owned()
    }

    #[test]
    fn languages_are_read_from_headers_and_locales() {
        assert_eq!(Language::of_header("zh-CN,zh;q=0.9,en;q=0.8"), Language::Chinese);
        assert_eq!(Language::of_header("fr, en;q=0.8, zh"), Language::English);
        assert_eq!(Language::of_header("fr"), Language::English);
        for (locale, language) in [
            ("zh_CN.UTF-8", Language::Chinese),
            ("zh", Language::Chinese),
            ("en_US.UTF-8", Language::English),
            ("C", Language::English),
            ("", Language::English),
        ] {
            assert_eq!(Language::of_locale(locale), language, "{locale:?}");
        }
    }

    #[test]
    fn a_word_that_looks_like_a_place_for_another_stays() {
        let table = &[("{} is not {}", "{0} 不是 {1}")];
        assert_eq!(in_table(table, "{1} is not {0}").as_deref(), Some("{1} 不是 {0}"));
    }

    #[test]
    fn a_text_is_translated_with_what_it_names_and_the_error_within_it() {
        assert_eq!(zh("runner laptop is offline"), "运行器 laptop 已离线");
        let within = zh("This chat's commands go to laptop now. But: runner laptop is offline");
        assert_eq!(within, "此会话的命令现在改在 laptop 上运行。但请注意：运行器 laptop 已离线");
        assert_eq!(
            zh("The running command or answer is being stopped. The waiting message is answered next."),
            "正在停止运行中的命令或回答。接下来将回答等待中的消息。"
        );
    }

    #[test]
    fn lines_are_translated_one_by_one_and_what_is_unknown_stays() {
        let text = "There is no command /x. The commands are:\n\nfoo bar\n\n\
                    A shell command may run for at most 120 seconds.";
        assert_eq!(zh(text), "没有命令 /x。可用的命令：\n\nfoo bar\n\n每条命令限时 120 秒。");
        for own in
            ["hello", "", "runners", "there is no such thing", "a runner laptop is offline again", "   "]
        {
            assert_eq!(zh(own), own);
        }
        assert_eq!(Language::English.translated("runner laptop is offline"), "runner laptop is offline");
    }

    #[test]
    fn a_text_of_a_hostile_length_costs_nothing() {
        let long = "no ".repeat(TEXT_BYTES);
        assert_eq!(zh(&long), long);
        let dots = "a. ".repeat(TEXT_BYTES / 4);
        assert_eq!(zh(&dots), dots);
    }

    #[test]
    fn every_row_names_the_words_that_it_has() {
        for (english, other) in zh::TABLE {
            let words = english.matches("{}").count();
            for at in 0..words {
                assert!(other.contains(&format!("{{{at}}}")), "{english}");
            }
            assert!(!other.contains(&format!("{{{words}}}")), "{english}");
            assert!(!other.is_ascii(), "{english}");
        }
        for (at, (english, _)) in zh::TABLE.iter().enumerate() {
            assert!(zh::TABLE[..at].iter().all(|(other, _)| other != english), "twice: {english}");
        }
    }

    /// All of the server's code, one line per file, with its texts unchanged.
    fn sources() -> String {
        let mut all = String::new();
        let mut open = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")];
        while let Some(directory) = open.pop() {
            for entry in std::fs::read_dir(directory).unwrap() {
                let path = entry.unwrap().path();
                let name = path.file_name().unwrap().to_string_lossy().into_owned();
                if path.is_dir() && !["ui", "language", "tests", "target"].contains(&name.as_str()) {
                    open.push(path);
                } else if name.ends_with(".rs") && !["language.rs", "zh.rs"].contains(&name.as_str()) {
                    all.push_str(&std::fs::read_to_string(path).unwrap());
                }
            }
        }
        let mut joined = String::with_capacity(all.len());
        for (at, piece) in all.split("\\\n").enumerate() {
            joined.push_str(if at == 0 { piece } else { piece.trim_start() });
        }
        joined.replace("\\\"", "\"")
    }

    #[test]
    fn every_row_is_of_a_text_that_the_server_says() {
        let sources = sources();
        for (english, _) in zh::TABLE {
            for piece in english.split("{}").map(str::trim).filter(|piece| piece.len() > 2) {
                assert!(sources.contains(piece), "nothing says {piece:?} any more, of the row {english:?}");
            }
        }
    }
}
