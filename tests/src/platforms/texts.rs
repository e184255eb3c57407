//! Large texts in Markdown, for tests of what messengers accept.

use crate::random::Random;

/// One kind of markup each, to be repeated: what is slow, refused or lost with a platform shows with one of them.
const PIECES: [&str; 30] = [
    "x",
    "word ",
    "名字",
    "👩\u{200d}👩\u{200d}👧\u{200d}👦",
    "\u{301}",
    "\n",
    "a\n\n",
    "**b** _i_ ",
    "*",
    "**a ",
    "`",
    "`c` ",
    "\\*\\_",
    "&amp; < & \"",
    "<b>x</b> <at id=all> <@U1> @everyone ",
    "[",
    "![",
    "[l](http://a.example/x) ",
    "- [x](http://a.example) ~~s~~\n",
    "- ",
    "1. a\n   - b\n",
    "> ",
    "> quote\n\n",
    "# h\n",
    "```rust\nlet x = `1`;\n```\n",
    "    indented\n\n",
    "| a | b |\n|---|---|\n| 1 | 2 |\n\n",
    "| a ",
    "---\n",
    "http://a.example/x_y ",
];

/// By how much most texts are shorter unless `SANDBRIDGE_SOAK` is set.
const SHORTER: usize = 32;

/// Texts of about this many bytes, each of one kind of markup. Unless `SANDBRIDGE_SOAK` is set, only one of them is that long, which the seed chooses.
pub fn large(bytes: usize) -> impl Iterator<Item = String> {
    let (mut one, is_soak) = (None, std::env::var_os("SANDBRIDGE_SOAK").is_some());
    if !is_soak {
        let count = all(0).count() as u64;
        one = all(bytes).nth(Random::seeded().within(0..count) as usize);
    }
    all(if is_soak { bytes } else { bytes / SHORTER }).chain(one)
}

fn all(bytes: usize) -> impl Iterator<Item = String> {
    let repeated = PIECES.iter().map(move |piece| piece.repeat(bytes / piece.len()));
    let code = format!("```rust\n{}", "let x = 1; // not the end: ``\n".repeat(bytes / 30));
    let line = format!("```\n{}\n```", "x".repeat(bytes));
    // The head names many columns, and each of the other rows has one cell.
    let columns = bytes / 80;
    let table =
        format!("{}|\n{}|\n{}", "|a".repeat(columns), "|-".repeat(columns), "|b|\n".repeat(bytes / 8));
    repeated.chain([code, line, table])
}
