//! The result of a tool, as a model reads it.

use agent::tool::{Outcome, image};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use llm::Content;
use rmcp::model::{CallToolResult, ContentBlock, ReadResourceResult, ResourceContents};

use super::lists::Resources;
use crate::limits::{MCP_IMAGES, MCP_RESULT_BYTES};

/// The outcome of a call.
pub(super) fn outcome(result: CallToolResult) -> Outcome {
    let mut parts = Parts::default();
    for block in &result.content {
        parts.block(block);
    }
    if parts.is_empty()
        && let Some(data) = &result.structured_content
    {
        parts.text(&serde_json::to_string_pretty(data).unwrap_or_default());
    }
    Outcome { is_error: result.is_error == Some(true), ..parts.outcome("The tool returned no text.") }
}

/// The outcome of reading a resource.
pub(super) fn read(result: &ReadResourceResult) -> Outcome {
    let mut parts = Parts::default();
    for contents in &result.contents {
        parts.resource(contents);
    }
    parts.outcome("The resource is empty.")
}

/// A list of resources, and of the templates of their addresses.
pub(super) fn listed(found: &Resources) -> Outcome {
    let mut parts = Parts::default();
    // They come first: a long list is cut at its end.
    if !found.templates.is_empty() {
        parts.text("URI templates, of which each {variable} is replaced; `complete` lists values for one:");
    }
    for template in &found.templates {
        let about = template.description.as_deref().or(template.title.as_deref()).unwrap_or_default();
        parts.text(&format!("{} ({}) {about}", template.uri_template, template.name));
    }
    if !found.templates.is_empty() && !found.resources.is_empty() {
        parts.text("Resources:");
    }
    for resource in &found.resources {
        let about = resource.description.as_deref().or(resource.title.as_deref()).unwrap_or_default();
        parts.text(&format!("{} ({}) {about}", resource.uri, resource.name));
    }
    if found.are_more {
        parts.text("[the server has more resources, which are left out]");
    }
    parts.outcome("The server has no resources.")
}

/// Values that a server suggests.
pub(super) fn suggested(values: &[String]) -> Outcome {
    let mut parts = Parts::default();
    values.iter().for_each(|value| parts.text(value));
    parts.outcome("The server suggests no values.")
}

/// A part of a prompt as text.
pub(super) fn text(block: &ContentBlock) -> String {
    let mut parts = Parts::default();
    parts.block(block);
    parts.texts.join("\n\n")
}

#[derive(Default)]
struct Parts {
    texts: Vec<String>,
    bytes: usize,
    images: Vec<Content>,
    is_cut: bool,
}

impl Parts {
    fn is_empty(&self) -> bool {
        self.texts.is_empty() && self.images.is_empty()
    }

    fn text(&mut self, text: &str) {
        // Each part has a separator.
        self.bytes = (self.bytes + 2).min(MCP_RESULT_BYTES);
        let room = MCP_RESULT_BYTES - self.bytes;
        if room == 0 {
            self.is_cut = true;
            return;
        }
        let kept = &text[..text.floor_char_boundary(room)];
        self.is_cut |= kept.len() < text.len();
        self.bytes += kept.len();
        self.texts.push(kept.to_owned());
    }

    fn block(&mut self, block: &ContentBlock) {
        match block {
            ContentBlock::Text(text) => self.text(&text.text),
            ContentBlock::Image(image) => self.image(&image.data, &image.mime_type),
            ContentBlock::Audio(audio) => {
                self.text(&format!(
                    "[audio, {}, {} bytes, not shown]",
                    audio.mime_type,
                    audio.data.len() / 4 * 3
                ));
            }
            ContentBlock::Resource(resource) => self.resource(&resource.resource),
            ContentBlock::ResourceLink(link) => self.text(&format!("[resource {}: {}]", link.name, link.uri)),
            _ => self.text("[content of an unknown kind, not shown]"),
        }
    }

    fn resource(&mut self, contents: &ResourceContents) {
        match contents {
            ResourceContents::TextResourceContents { uri, text, .. } => {
                self.text(&format!("[resource {uri}]"));
                self.text(text);
            }
            ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
                let kind = mime_type.as_deref().unwrap_or_default();
                self.text(&format!("[resource {uri}, {kind}, {} bytes]", blob.len() / 4 * 3));
                if kind.starts_with("image/") {
                    self.image(blob, kind);
                }
            }
            _ => self.text("[a resource of an unknown kind, not shown]"),
        }
    }

    fn image(&mut self, data: &str, kind: &str) {
        if self.images.len() >= MCP_IMAGES {
            return self.text("[one more image, not shown: there are too many]");
        }
        // An image that a provider rejects would break every later request, so it is checked first.
        let checked = STANDARD.decode(data).ok().and_then(|bytes| image::shown(&bytes));
        match checked {
            Some(Ok((words, image))) => {
                self.text(&format!("[image: {words}]"));
                self.images.push(image);
            }
            Some(Err(why)) => self.text(&format!("[image, not shown: {why}]")),
            None => self.text(&format!("[image, not shown: it is not {kind}]")),
        }
    }

    fn outcome(self, nothing: &str) -> Outcome {
        let mut text = self.texts.join("\n\n");
        if text.is_empty() {
            nothing.clone_into(&mut text);
        }
        if self.is_cut {
            text.push_str("\n\n[the rest is left out]");
        }
        Outcome { images: self.images, ..Outcome::done(text) }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn told(result: Value) -> Outcome {
        outcome(serde_json::from_value(result).unwrap())
    }

    #[test]
    fn every_kind_of_content_is_told_and_images_are_checked() {
        let png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
        let given = told(json!({"content": [
            {"type": "text", "text": "one"},
            {"type": "image", "data": png, "mimeType": "image/png"},
            {"type": "image", "data": "AAAA", "mimeType": "image/png"},
            {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"},
            {"type": "resource", "resource": {"uri": "a://b", "text": "inside"}},
            {"type": "resource_link", "uri": "a://c", "name": "c"},
        ]}));
        assert_eq!((given.images.len(), given.is_error), (1, false));
        for part in [
            "one",
            "[image: image/png",
            "[image, not shown",
            "[audio, audio/wav",
            "inside",
            "[resource c: a://c]",
        ] {
            assert!(given.text.contains(part), "{part}: {}", given.text);
        }
    }

    #[test]
    fn an_error_is_one_and_data_alone_is_text() {
        let given = told(json!({"content": [], "structuredContent": {"a": 1}, "isError": true}));
        assert!(given.is_error && given.text.contains("\"a\": 1"));
        assert_eq!(told(json!({"content": []})).text, "The tool returned no text.");
    }

    #[test]
    fn a_long_result_is_cut() {
        let given = told(
            json!({"content": [{"type": "text", "text": "é".repeat(MCP_RESULT_BYTES)}, {"type": "text", "text": "x"}]}),
        );
        assert!(given.text.len() <= MCP_RESULT_BYTES + 64 && given.text.ends_with("left out]"));
    }
}
