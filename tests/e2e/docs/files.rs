//! The files that commands of the pages read. Each is at alice's desk and in the workspace of her laptop.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::page::blocks;
use super::table::STAND_INS_OF_FILES;
use Content::{Block, Pdf, Text};

/// The content of a file.
enum Content {
    Text(&'static str),
    /// The n-th block of this language on the page.
    Block(&'static str, usize),
    /// A PDF with this text on its page.
    Pdf(&'static str),
}

/// The MCP server that stands for servers from PyPI.
const ECHO: &str = include_str!("../../fixtures/mcp_echo.py");

/// The page, the path and the content of each file; a file that begins with `#!` is executable.
const FILES: &[(&str, &str, Content)] = &[
    ("api", "Makefile", Text("test:\n\t@echo passed\n")),
    ("api", "build/report.html", Text("<p>passed</p>\n")),
    ("api", "build.log", Text("one\ntwo\nthree\n")),
    ("api", "notes.md", Text("# Notes\n")),
    ("api", "config.json", Text("{\"colour\": \"red\"}\n")),
    ("api", "old.json", Text("{\"colour\": \"red\"}\n")),
    ("api", "new.json", Text("{\"colour\": \"blue\"}\n")),
    ("approvals", "build/made", Text("made\n")),
    ("cluster", "key", Text("0123456789abcdef0123456789abcdef0123456789abcdef\n")),
    ("groups", "books/notes.md", Text("# Books\n")),
    ("groups", "SOUL.md", Text("You write plainly.\n")),
    ("groups", "chains/story.md", Block("text", 0)),
    ("hooks", "hooks.json", Block("json", 0)),
    ("hooks", ".sandbridge/hooks.json", Block("json", 0)),
    ("http-tools", "weather.json", Block("json", 0)),
    (
        "http-tools",
        "www/v1/forecast/Tokyo",
        Text("{\"data\": {\"items\": [{\"day\": 1, \"weather\": \"rain\"}]}}"),
    ),
    (
        "http-tools",
        "shop.json",
        Text(r#"{"name": "shop", "description": "Finds an item", "url": "http://{pages}/item.json"}"#),
    ),
    (
        "http-tools",
        "openapi.json",
        Text(
            r#"{
  "openapi": "3.0.3",
  "info": {"title": "Shop", "version": "1"},
  "servers": [{"url": "http://{pages}/v1"}],
  "paths": {
    "/items": {
      "get": {"operationId": "getItem", "summary": "Finds an item", "responses": {"200": {"description": "It"}}},
      "post": {"operationId": "addItem", "summary": "Adds an item", "responses": {"200": {"description": "It"}}}
    }
  }
}"#,
        ),
    ),
    (
        "http-tools",
        ".sandbridge/http-tools.json",
        Text(r#"[{"name": "weather", "description": "d", "url": "http://{pages}/w"}]"#),
    ),
    ("http-tools", "www/item.json", Text("{}")),
    ("install", "dist/README", Text("The output of scripts/build.\n")),
    ("knowledge", "kettle.pdf", Pdf("The guarantee lasts two years.")),
    ("knowledge", "notes.md", Text("# Notes\n\nThe kettle is in the kitchen.\n")),
    ("knowledge", "docs/guide.md", Text("# Guide\n\nHow long is the guarantee? Two years.\n")),
    ("mcp-servers", "echo.py", Text(ECHO)),
    ("mcp-servers", ".mcp.json", Block("json", 1)),
    ("models", "add.sh", Text("add() { echo $(($1 + $2)); }\n")),
    ("plugins", "my-plugin/.claude-plugin/plugin.json", Text(r#"{"name": "my-plugin", "version": "1.0"}"#)),
    ("plugins", "my-plugin/skills/write/SKILL.md", Text(SKILL)),
    ("plugins", "skills/release/SKILL.md", Text(SKILL)),
    ("plugins", "agents/reviewer.md", Text("---\ndescription: Reviews\n---\nYou review.\n")),
    ("plugins", "tools/market/.claude-plugin/marketplace.json", Text(MARKET)),
    ("plugins", "tools/market/review/.claude-plugin/plugin.json", Text(REVIEW)),
    ("plugins", "tools/market/review/skills/write/SKILL.md", Text(SKILL)),
    ("plugins", "www/README", Text("Archives.\n")),
    (
        "trust",
        ".sandbridge/http-tools.json",
        Text(r#"[{"name": "weather", "description": "d", "url": "https://api.example.com/w"}]"#),
    ),
    ("trust", "custom-tools/weather.py", Block("python", 0)),
];

const SKILL: &str = "---\nname: write\ndescription: How to write\n---\nWrite short sentences.\n";
const REVIEW: &str = r#"{"name": "review", "version": "1.0"}"#;
const MARKET: &str = r#"{
  "name": "tools",
  "owner": {"name": "Ada"},
  "plugins": [{"name": "review", "source": "./review", "description": "Reviews", "version": "1.0"}]
}"#;

/// The files of a page: paths and contents.
pub(super) fn of(page: &str) -> Vec<(String, Vec<u8>)> {
    let own = FILES.iter().filter(|(of, ..)| *of == page);
    own.map(|(_, path, content)| ((*path).to_owned(), bytes(page, path, content))).collect()
}

fn bytes(page: &str, path: &str, content: &Content) -> Vec<u8> {
    match content {
        Text(text) => text.as_bytes().to_vec(),
        Block(language, number) => {
            let mut blocks = blocks(page).into_iter().filter(|block| block.language == *language);
            let block = blocks.nth(*number);
            let mut text = block.unwrap_or_else(|| panic!("docs/{page}.md has no block for {path}")).text;
            for (_, named, instead) in STAND_INS_OF_FILES.iter().filter(|(of, ..)| *of == path) {
                assert!(text.contains(named), "docs/{page}.md: the block for {path} has no {named:?}");
                text = text.replace(named, instead);
            }
            text.into_bytes()
        }
        Pdf(text) => pdf(text),
    }
}

/// Writes a file.
pub(super) fn put(path: &Path, content: &[u8]) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
    let mode = if content.starts_with(b"#!") { 0o755 } else { 0o644 };
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// A PDF with one page.
fn pdf(text: &str) -> Vec<u8> {
    let content = format!("BT /F 12 Tf 72 720 Td ({text}) Tj ET");
    let objects = [
        "<</Type/Catalog/Pages 2 0 R>>".to_owned(),
        "<</Type/Pages/Count 1/Kids[4 0 R]>>".to_owned(),
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>".to_owned(),
        "<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Resources<</Font<</F 3 0 R>>>>/Contents 5 0 R>>"
            .to_owned(),
        format!("<</Length {}>>\nstream\n{content}\nendstream", content.len()),
    ];
    let mut out = "%PDF-1.7\n".to_owned();
    let mut places = String::new();
    for (at, object) in objects.iter().enumerate() {
        places.push_str(&format!("{:010} 00000 n \n", out.len()));
        out.push_str(&format!("{} 0 obj\n{object}\nendobj\n", at + 1));
    }
    let (start, count) = (out.len(), objects.len() + 1);
    out.push_str(&format!("xref\n0 {count}\n0000000000 65535 f \n{places}"));
    out.push_str(&format!("trailer\n<</Size {count}/Root 1 0 R>>\nstartxref\n{start}\n%%EOF\n"));
    out.into_bytes()
}
