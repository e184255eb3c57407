//! A downloaded body, as text.

use extract::html;
use reqwest::Url;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::limits::FETCH_TEXT_BYTES;

/// The form in which a page is returned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// Text with headings, lists and links.
    #[default]
    Markdown,
    /// Plain text.
    Text,
    /// The body unchanged, HTML or not.
    Raw,
}

/// How much of a page is examined to find its type, in bytes.
const SNIFFED_BYTES: usize = 1024;

/// Converts a body to text; `base` is the page's address.
///
/// Fails with the actual type if the body is not text.
pub(super) fn text(content: &[u8], media_type: &str, base: &Url, format: Format) -> Result<String, String> {
    let (kind, parameters) = media_type.split_once(';').unwrap_or((media_type, ""));
    let kind = kind.trim().to_ascii_lowercase();
    let head = &content[..content.len().min(SNIFFED_BYTES)];
    if !is_text(&kind) || head.contains(&0) {
        let kind: String = kind.chars().filter(|c| !c.is_control()).take(100).collect();
        return Err(if kind.is_empty() { "something binary".to_owned() } else { kind });
    }
    let mut text = decoded(content, parameters);
    let is_html = kind.contains("html") || kind.is_empty() && looks_like_html(head);
    if is_html && format != Format::Raw {
        text = html::of(&text, Some(base), format == Format::Markdown, FETCH_TEXT_BYTES);
    }
    Ok(text)
}

fn is_text(kind: &str) -> bool {
    const OTHERS: [&str; 8] = [
        "",
        "application/json",
        "application/xml",
        "application/javascript",
        "application/x-javascript",
        "application/yaml",
        "application/x-yaml",
        "application/toml",
    ];
    kind.starts_with("text/")
        || kind.ends_with("+json")
        || kind.ends_with("+xml")
        || kind == "application/x-ndjson"
        || OTHERS.contains(&kind)
}

fn looks_like_html(head: &[u8]) -> bool {
    let head = String::from_utf8_lossy(head).trim_start().to_ascii_lowercase();
    head.starts_with("<!doctype html") || head.starts_with("<html")
}

/// Decodes bytes: UTF-8, or one of the two old encodings that still occur.
fn decoded(content: &[u8], parameters: &str) -> String {
    let parameters = parameters.to_ascii_lowercase();
    let is_old = ["iso-8859-1", "windows-1252", "us-ascii"].iter().any(|name| parameters.contains(name));
    if is_old && std::str::from_utf8(content).is_err() {
        return content.iter().copied().map(char::from).collect();
    }
    String::from_utf8_lossy(content).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(content: &[u8], media_type: &str, format: Format) -> Result<String, String> {
        text(content, media_type, &"https://a.example/".parse().unwrap(), format)
    }

    #[test]
    fn text_is_told_from_what_is_none() {
        let html = b"<p>a <b>b</b>";
        assert_eq!(read(html, "text/html; charset=utf-8", Format::Text).unwrap(), "a b");
        assert_eq!(read(html, "text/html", Format::Raw).unwrap(), "<p>a <b>b</b>");
        assert_eq!(read(html, "text/plain", Format::Markdown).unwrap(), "<p>a <b>b</b>");
        assert_eq!(read(b"<!DOCTYPE html><p>x", "", Format::Markdown).unwrap(), "x");
        assert_eq!(read(b"{}", "application/ld+json", Format::Markdown).unwrap(), "{}");
        assert_eq!(read(b"caf\xe9", "text/plain; charset=ISO-8859-1", Format::Markdown).unwrap(), "café");
        assert_eq!(read(b"caf\xff", "text/plain", Format::Markdown).unwrap(), "caf\u{fffd}");
        assert_eq!(read(b"x", "image/png", Format::Raw).unwrap_err(), "image/png");
        assert_eq!(read(b"a\0b", "text/plain", Format::Raw).unwrap_err(), "text/plain");
        assert_eq!(read(b"a\0b", "", Format::Raw).unwrap_err(), "something binary");
    }
}
