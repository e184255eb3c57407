//! The languages of the server's texts, and their translation.
//!
//! Code writes every text in English, in place. [`Language::translated`] looks it up in the language's table (`zh`): rows of the English text
//! and its translation, in which `{}` stands for a value that the code fills in. A text that is not in the table stays English. A new text
//! needs no change here; its translation is one row, and if it is the content of a document's field, that field is marked as a text
//! (`texts`).
//!
//! A value is either another text of the server, which is translated too, or a name, which is left alone: one word counts as a name, and so
//! does everything in quotes. `{0*}` in the translation marks the value as a text even if it is one word, and allows it to contain text that
//! also appears between other values, such as an error of several sentences.

mod texts;
mod zh;

use std::borrow::Cow;

pub(crate) use texts::text;

/// The depth to which a text within a text is translated: an error within a sentence, and one within that.
const DEPTH: usize = 3;
/// The longest text that is looked up, in bytes: longer ones are output, not messages.
const TEXT_BYTES: usize = 16 * 1024;
/// The maximum number of lines, or of sentences in a line, that are looked up one by one.
const PARTS: usize = 256;

/// A language of the server's texts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Language {
    /// The language of the texts in the code.
    #[default]
    English,
    /// Simplified Chinese.
    Chinese,
}

/// A row of a table: the English text and its translation, in which `{0}`, or `{0*}` for a text, is the value of the first `{}` of
/// the English text.
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

    /// The language's tag in an `Accept-Language` header.
    pub fn tag(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::Chinese => "zh",
        }
    }

    /// A text of the server in this language; a text without translation stays as it is.
    pub fn translated(self, text: &str) -> Cow<'_, str> {
        let tables = match self {
            Self::English => return Cow::Borrowed(text),
            Self::Chinese => &zh::TABLES,
        };
        in_tables(tables, text).map_or(Cow::Borrowed(text), Cow::Owned)
    }
}

/// A text's translation in another table; `None` if the table does not contain it.
pub fn in_table(table: &[Row], text: &str) -> Option<String> {
    in_tables(&[table], text)
}

fn in_tables(tables: &[&[Row]], text: &str) -> Option<String> {
    if text.len() > TEXT_BYTES { None } else { translated(tables, text, DEPTH) }
}

/// Translates a text line by line, or else as a whole, or else sentence by sentence. A value may contain line breaks only if none of the
/// text's lines can be translated alone.
fn translated(tables: &[&[Row]], text: &str, depth: usize) -> Option<String> {
    if text.contains('\n') {
        return parts(tables, text.split('\n'), "\n", depth).or_else(|| whole(tables, text, depth));
    }
    if let Some(whole) = whole(tables, text, depth) {
        return Some(whole);
    }
    let indent = text.len() - text.trim_start().len();
    if indent > 0 {
        return Some(format!("{}{}", &text[..indent], translated(tables, &text[indent..], depth)?));
    }
    if text.contains(". ") { parts(tables, text.split_inclusive(". "), "", depth) } else { None }
}

/// The parts of a text, translated where possible; `None` if none of them is known.
fn parts<'a>(
    tables: &[&[Row]],
    parts: impl Iterator<Item = &'a str>,
    between: &str,
    depth: usize,
) -> Option<String> {
    let parts: Vec<&str> = parts.take(PARTS + 1).collect();
    if parts.len() > PARTS {
        return None;
    }
    let mut is_known = false;
    let parts: Vec<Cow<'_, str>> = parts
        .into_iter()
        .map(|part| {
            let known = whole(tables, part.trim_end_matches(' '), depth)
                .or_else(|| translated_line(tables, part, depth))
                .filter(|_| !part.is_empty());
            is_known |= known.is_some();
            known.map_or(Cow::Borrowed(part), Cow::Owned)
        })
        .collect();
    is_known.then(|| parts.join(between))
}

/// Translates a line of a longer text.
fn translated_line(tables: &[&[Row]], line: &str, depth: usize) -> Option<String> {
    let depth = depth.checked_sub(1)?;
    translated(tables, line, depth)
}

/// The translation of a text by a row that matches it as a whole; of several such rows the one with the most fixed text.
fn whole(tables: &[&[Row]], text: &str, depth: usize) -> Option<String> {
    let rows = tables.iter().copied().flatten().filter_map(|row| Some((row, filled(row, text)?)));
    let ((english, other), values) =
        rows.max_by_key(|((english, _), _)| english.len() - 2 * english.matches("{}").count())?;
    let mut said = String::new();
    // The values are put in once: a value that looks like a placeholder stays as it is.
    let mut pieces = other.split('{');
    said.push_str(pieces.next()?);
    for piece in pieces {
        let (place, rest) = piece.split_once('}')?;
        let at: usize = place.trim_end_matches('*').parse().ok()?;
        let value = *values.get(at)?;
        let is_name = is_quoted(english, at) || !place.ends_with('*') && !value.contains(' ');
        let depth = depth.checked_sub(1).filter(|_| !is_name);
        let within = depth.and_then(|depth| translated(tables, value, depth));
        said.push_str(within.as_deref().unwrap_or(value));
        said.push_str(rest);
    }
    Some(said)
}

/// True if the value at that place of the English form is in quotes.
fn is_quoted(english: &str, at: usize) -> bool {
    let mut pieces = english.split("{}").skip(at);
    let (before, after) = (pieces.next().unwrap_or_default(), pieces.next().unwrap_or_default());
    before.ends_with(['“', '"']) && after.starts_with(['”', '"'])
}

/// The values of each `{}` in the English form, if the text has that form.
///
/// One value takes the rest of the text: the first one with a `*`, else the last. Those before it end as early as they can,
/// those after it begin as late as they can.
fn filled<'a>((english, other): &Row, text: &'a str) -> Option<Vec<&'a str>> {
    let Some((first, rest)) = english.split_once("{}") else { return (*english == text).then(Vec::new) };
    let (between, last) =
        rest.rsplit_once("{}").map_or((None, rest), |(between, last)| (Some(between), last));
    let mut left = text.strip_prefix(first)?.strip_suffix(last)?;
    let between: Vec<&str> = between.into_iter().flat_map(|between| between.split("{}")).collect();
    let starred = other.split_once("*}").and_then(|(before, _)| before.rsplit('{').next()?.parse().ok());
    let (mut values, mut last_values) = (Vec::new(), Vec::new());
    let (early, late) = between.split_at(starred.unwrap_or(between.len()).min(between.len()));
    for piece in early {
        let (value, rest) = left.split_once(piece)?;
        values.push(value);
        left = rest;
    }
    for piece in late.iter().rev() {
        let (rest, value) = left.rsplit_once(piece)?;
        last_values.push(value);
        left = rest;
    }
    values.push(left);
    values.extend(last_values.into_iter().rev());
    // A missing value does not match.
    values.iter().all(|value| !value.is_empty()).then_some(values)
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeSet, HashSet};
    use std::path::Path;

    use aho_corasick::AhoCorasick;

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
        let within = zh("This chat's commands go to laptop now. However: runner laptop is offline");
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
        assert_eq!(zh(text), "没有命令 /x。可用的命令：\n\nfoo bar\n\n每条 Shell 命令限时 120 秒。");
        for own in
            ["hello", "", "runners", "there is no such thing", "a runner laptop is offline again", "   "]
        {
            assert_eq!(zh(own), own);
        }
        assert_eq!(Language::English.translated("runner laptop is offline"), "runner laptop is offline");
    }

    #[test]
    fn a_text_of_several_lines_is_known_by_its_lines() {
        let model = "server/one answers in this chat, which follows your default.\nWhen it is unavailable, server/two answers.\n\n\
                     /models lists what you can choose; /model NAME or /model TIER changes it here.";
        let expected = "此会话由 server/one 回答（沿用你的默认模型）。\n不可用时改由 server/two 回答。\n\n\
                        /models 列出可用的模型；/model 名称 或 /model 级别 可在此更改。";
        assert_eq!(zh(model), expected);
        let undo = zh(
            "Taken back: “one”\nRemoved: a.txt (laptop)\nA command ran in the part that was taken back; what it changed stays as it is.",
        );
        assert!(!undo.contains("Removed") && !undo.contains("command"), "{undo}");
    }

    #[test]
    fn an_error_of_several_sentences_is_one_value() {
        let told = "⚠️ server/one: the provider failed (503: Overloaded. Try again. Sorry: later.). server/two answers instead.";
        let expected =
            "⚠️ server/one：提供商出错（503: Overloaded. Try again. Sorry: later.）。改由 server/two 回答。";
        assert_eq!(zh(told), expected);
        assert_eq!(
            zh("Not restored: a.txt on laptop: cannot write: the disk is full"),
            "未恢复 laptop 上的 a.txt：cannot write: the disk is full"
        );
    }

    #[test]
    fn what_the_server_says_before_or_after_the_words_of_a_machine_is_translated() {
        assert_eq!(
            zh("cannot start the container: the engine reports: no such image: it was cancelled"),
            "无法启动容器：Docker 引擎的响应：no such image: it was cancelled"
        );
        assert_eq!(
            zh("the update to 1.2.0 failed: the download failed: the server was silent for 30 s; \
                the runner stays at version 1.1.0"),
            "更新到 1.2.0 失败：下载失败：服务器已 30 秒没有响应；运行器仍为版本 1.1.0"
        );
        let replace = "this runner cannot replace its program: /opt/bin is read-only; paste the install line again: \
                       `sandbridge runner rotate NAME` and the settings on the server's web page show one";
        assert!(
            zh(replace).starts_with("此运行器无法替换自己的程序：/opt/bin 是只读的；请重新粘贴"),
            "{}",
            zh(replace)
        );
        assert_eq!(
            zh("[the file \"it was cancelled\" was not stored: it is larger than 20 MiB]"),
            "[文件 \"it was cancelled\" 未保存：超过 20 MiB]"
        );
    }

    #[test]
    fn a_value_that_is_a_text_is_translated() {
        assert_eq!(
            zh("this was answered already (allow, from page); the first answer counts"),
            "已有回答（已允许，来源：网页）；以首次回答为准"
        );
        assert_eq!(
            zh("the password is too short; use at least 8 characters"),
            "密码过短；请至少使用 8 个字符"
        );
        let lacks =
            zh("runner laptop lacks landlock; this server requires it: it needs Linux 6.12 or newer \
                        (see `sandbridge-runner doctor`)");
        assert!(
            lacks.contains("缺少本服务器要求的 landlock") && lacks.contains("需要 Linux 6.12"),
            "{lacks}"
        );
        let missing = "Nothing was taken back: runner laptop is offline. Files can be restored only while their machine is connected; \
                       try again when it is back, or take back the conversation alone with /rewind.";
        assert!(zh(missing).starts_with("未撤回任何内容：运行器 laptop 已离线。只有机器"), "{}", zh(missing));
    }

    #[test]
    fn a_refusal_is_translated_with_its_beginning_and_the_noun_in_it() {
        assert_eq!(
            zh(
                "the core block cannot replace memories; change the block's text, and forget those memories separately"
            ),
            "核心块不能取代记忆；请修改核心块的文本，并另行忘记那些记忆"
        );
        assert_eq!(
            zh("the memory 12 and the new memory have different scopes; give both the same scope"),
            "记忆 12 与新记忆的作用域不同；请使用相同的作用域"
        );
        assert_eq!(
            zh(
                "the tool was not saved: `url` cannot be used: the path contains ' ', which must be percent-encoded"
            ),
            "未能保存工具：`url` 无法使用：路径含有 ' '，必须使用百分号编码"
        );
        assert_eq!(
            zh("the query contains '<', which must be percent-encoded"),
            "查询参数含有 '<'，必须使用百分号编码"
        );
        assert_eq!(zh(r#"there is no item "12""#), "找不到条目“12”");
        assert_eq!(zh(r#"there is no turn "12""#), "找不到轮次“12”");
        assert_eq!(zh("ada answered question 3: approve."), "ada 回答了问题 3：批准。");
    }

    #[test]
    fn what_a_tool_asks_is_translated_and_names_in_it_are_not() {
        assert_eq!(zh("changes 3 places in the file"), "修改文件中的 3 处");
        assert_eq!(
            zh("changes 1 place in the file, found by a regular expression"),
            "修改文件中的 1 处（由正则表达式找到）"
        );
        assert_eq!(
            zh("replaces the whole file (12 bytes) with 3 lines"),
            "将整个文件（12 字节）替换为 3 行内容"
        );
        let always = "this exact command in /work on runner as root, in this chat, until a file is changed or downloaded without asking";
        assert!(zh(always).starts_with("此会话中，以 root 身份在 runner 的 /work 运行"), "{}", zh(always));
    }

    #[test]
    fn values_and_rules_are_named_in_the_language_of_the_sentence() {
        assert_eq!(zh("the persona is longer than 8192 bytes; shorten it"), "人设超过 8192 字节；请缩短");
        assert_eq!(
            zh("the document of hooks is longer than 9 bytes; shorten it"),
            "钩子文档超过 9 字节；请缩短"
        );
        assert_eq!(
            zh("no tool is named `bash` (did you mean `Bash`?); the rule takes effect when one is added"),
            "没有这个工具：`bash`（你是不是想写 `Bash`？）；添加该工具后，规则才会生效"
        );
        assert_eq!(
            zh("`rm x` is denied by the user's rule `Bash(rm *)`: it is gone for good."),
            "根据用户的规则 `Bash(rm *)`，`rm x` 被拒绝：it is gone for good。"
        );
        assert_eq!(
            zh("It is allowed by the user's rule `Read` and the chat's rule `Bash(ls *)`."),
            "根据用户的规则 `Read`、会话的规则 `Bash(ls *)`，允许此调用。"
        );
        assert_eq!(
            zh(
                r#"the rule "Bash(a" is refused: its example `a b` does not match; correct the rule or the example"#
            ),
            "规则 \"Bash(a\" 无效：其示例 `a b` 应匹配却未匹配；请改正规则或示例"
        );
    }

    #[test]
    fn names_and_what_people_wrote_are_not_translated() {
        assert_eq!(zh("Taken back: “chat”"), "已撤回：“chat”");
        assert_eq!(zh("Taken back: “it was cancelled”"), "已撤回：“it was cancelled”");
        assert_eq!(zh(r#"there is no runner "no model is set up""#), "找不到运行器“no model is set up”");
        assert_eq!(zh("runner model is offline"), "运行器 model 已离线");
        assert_eq!(
            zh("There is no memory chat; /memory lists the memories."),
            "找不到记忆 chat；/memory 会列出所有记忆。"
        );
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
        let rows: Vec<&Row> = zh::TABLES.into_iter().flatten().collect();
        for (english, other) in &rows {
            let words = english.matches("{}").count();
            for at in 0..words {
                assert!(["", "*"].iter().any(|star| other.contains(&format!("{{{at}{star}}}"))), "{english}");
            }
            assert!(!other.contains(&format!("{{{words}")), "{english}");
            assert!(!other.is_ascii(), "{english}");
        }
        for (at, (english, _)) in rows.iter().enumerate() {
            assert!(rows[..at].iter().all(|(other, _)| other != english), "twice: {english}");
        }
    }

    /// The source of all code whose texts the server passes on, one line per file, with its texts unchanged.
    fn sources() -> String {
        let mut all = String::new();
        let server = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut open = vec![server.join("../runner/src"), server.join("../pathguard/src"), server];
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
        let pieces =
            |english: &'static str| english.split("{}").map(str::trim).filter(|piece| piece.len() > 2);
        // The store fills "the {what}" with a noun, so the sources contain that noun alone, in quotes.
        let noun = |piece: &str| piece.strip_prefix("the ").map(|noun| format!("\"{noun}\""));
        let rows: Vec<&str> = zh::TABLES.into_iter().flatten().map(|(english, _)| *english).collect();
        let wanted: BTreeSet<String> = rows
            .iter()
            .flat_map(|english| pieces(english))
            .flat_map(|piece| [Some(piece.to_owned()), noun(piece)].into_iter().flatten())
            .collect();
        let wanted: Vec<String> = wanted.into_iter().collect();
        // Searches for all of them in one pass over the sources: a pass for each would take minutes.
        let automaton = AhoCorasick::new(&wanted).unwrap();
        let sources = sources();
        let said: HashSet<&str> = automaton
            .find_overlapping_iter(&sources)
            .map(|found| wanted[found.pattern().as_usize()].as_str())
            .collect();
        for english in rows {
            for piece in pieces(english) {
                let is_said = said.contains(piece) || noun(piece).is_some_and(|noun| said.contains(&*noun));
                assert!(
                    is_said,
                    "no source contains {piece:?}, a part of the row {english:?}; correct or remove the row"
                );
            }
        }
    }
}
