//! A page of `docs/`: its blocks of code, and the commands in those that are marked `sh`.

use std::fs;
use std::path::{Path, PathBuf};

/// A block of code.
pub(super) struct Block {
    /// The word after the fence.
    pub(super) language: String,
    /// The number of the block's first line.
    first: usize,
    /// The block's lines.
    pub(super) text: String,
}

/// A command; it may have several lines.
pub(super) struct Command {
    /// The number of its first line.
    pub(super) line: usize,
    /// The command as it is written, with its comment.
    pub(super) text: String,
}

/// The names of all pages.
pub(super) fn names() -> Vec<String> {
    let entries = fs::read_dir(root().join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let pages = entries.filter(|path| path.extension().is_some_and(|extension| extension == "md"));
    pages.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).collect()
}

/// The repository.
pub(super) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// The blocks of a page, in their order.
pub(super) fn blocks(page: &str) -> Vec<Block> {
    let text = fs::read_to_string(root().join(format!("docs/{page}.md"))).unwrap();
    let mut blocks: Vec<Block> = Vec::new();
    let mut is_inside = false;
    for (number, line) in text.lines().enumerate() {
        match (line.trim_start().strip_prefix("```"), is_inside) {
            (Some(language), false) => {
                blocks.push(Block { language: language.to_owned(), first: number + 2, text: String::new() });
                is_inside = true;
            }
            (Some(_), true) => is_inside = false,
            (None, true) => {
                let block = blocks.last_mut().expect("a line inside a block");
                block.text.push_str(line);
                block.text.push('\n');
            }
            (None, false) => {}
        }
    }
    assert!(!is_inside, "docs/{page}.md ends inside a block");
    blocks
}

/// The commands of a page, in their order.
pub(super) fn commands(page: &str) -> Vec<Command> {
    let mut commands: Vec<Command> = Vec::new();
    for block in blocks(page).iter().filter(|block| block.language == "sh") {
        let mut is_open = false;
        for (number, line) in block.text.lines().enumerate() {
            if is_open {
                let command = commands.last_mut().expect("a line to continue");
                command.text.push('\n');
                command.text.push_str(line);
            } else if !line.is_empty() && !line.starts_with('#') {
                commands.push(Command { line: block.first + number, text: line.to_owned() });
            }
            is_open = line.ends_with('\\');
        }
        assert!(!is_open, "docs/{page}.md: a block ends with a backslash");
    }
    commands
}
