//! `read_file`, `write_file`, `list_directory`.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rmcp::model::{ContentBlock, ResourceContents};
use sandbox::{Range, WriteOptions};
use schemars::JsonSchema;
use serde::Deserialize;
use sha2::{Digest, Sha256};

use super::{Desk, Outcome, Tool};
use crate::limits::{MCP_LISTED, MCP_READ_BYTES, MCP_READ_MAX_BYTES};
use crate::web::error::ApiError;
use crate::web::files::{Change, kind_name, sha256};

/// What to read.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ReadFile {
    /// The file, relative to the workspace or absolute beneath it.
    path: String,
    /// The first byte wanted; 0 if absent.
    #[serde(default)]
    offset: u64,
    /// At most so many bytes: 65536 if absent, 524288 at most.
    #[serde(default)]
    limit: Option<u64>,
    /// The runner to use instead of the active one.
    #[serde(default)]
    runner: Option<String>,
}

/// What to write.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WriteFile {
    /// The file, relative to the workspace or absolute beneath it. Missing directories are made.
    path: String,
    /// All of its content, as text; or give content_base64.
    #[serde(default)]
    content: Option<String>,
    /// All of its content, of any bytes, in base64; or give content.
    #[serde(default)]
    content_base64: Option<String>,
    /// The SHA-256 that the present content must have, in hexadecimal digits, as read_file tells it; nothing is written if it
    /// has another one.
    #[serde(default)]
    if_match: Option<String>,
    /// The runner to use instead of the active one.
    #[serde(default)]
    runner: Option<String>,
}

/// What to list.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ListDirectory {
    /// The directory, relative to the workspace or absolute beneath it; the workspace if absent.
    #[serde(default)]
    path: Option<String>,
    /// The runner to use instead of the active one.
    #[serde(default)]
    runner: Option<String>,
}

impl Tool for ReadFile {
    const NAME: &'static str = "read_file";
    const DESCRIPTION: &'static str = "Reads a file, or a part of it by bytes. The answer's first item is the content, as text or, where \
it is no UTF-8, as base64; the second one says what part it is, where to read on, and, of a whole file, its SHA-256.";
    const ONLY_READS: bool = true;

    async fn run(self, desk: &Desk) -> Result<Outcome, ApiError> {
        let Self { path, offset, limit, runner } = self;
        let limit = limit.unwrap_or(MCP_READ_BYTES).clamp(1, MCP_READ_MAX_BYTES);
        let sandbox = desk.sandbox(runner.as_deref()).await?;
        let range = Range { offset, length: Some(limit) };
        let mut reader = sandbox.read_file(path.as_bytes(), range).await?;
        let size = reader.size_bytes();
        let mut content = Vec::new();
        while let Some(piece) = reader.next().await {
            content.extend_from_slice(&piece?);
        }
        let is_whole = offset == 0 && content.len() as u64 == size;
        let hash = is_whole.then(|| hex_sha256(&content));
        let end = offset + content.len() as u64;
        let (shown, held_back) = shown(&path, content, end < size);
        let end = end - held_back;
        let part = match hash {
            Some(hash) => format!("(all {size} bytes of it; SHA-256 {hash})"),
            None if end >= size => format!("(bytes {offset} to {end} of {size}; this is the end)"),
            None => format!("(bytes {offset} to {end} of {size}; read on with offset {end})"),
        };
        Ok(Outcome { content: vec![shown], ..Outcome::text("") }.and(part))
    }
}

impl Tool for WriteFile {
    const NAME: &'static str = "write_file";
    const DESCRIPTION: &'static str = "Writes a file: it replaces the old one when it is complete and on disk, or not at all. With \
if_match only if the old one is still what was read.";
    const ONLY_READS: bool = false;

    async fn run(self, desk: &Desk) -> Result<Outcome, ApiError> {
        let content = match (self.content, self.content_base64) {
            (Some(text), None) => text.into_bytes(),
            (None, Some(encoded)) => STANDARD
                .decode(encoded)
                .map_err(|_| ApiError::invalid("content_base64 is no base64; nothing was written"))?,
            _ => return Err(ApiError::invalid("give either content or content_base64")),
        };
        let no_hash =
            || ApiError::invalid("if_match must be a SHA-256 in 64 hexadecimal digits; nothing was written");
        let if_match = self.if_match.as_deref().map(|text| sha256(text).ok_or_else(no_hash)).transpose()?;
        let size_bytes = Some(content.len() as u64);
        let options = WriteOptions { parents: true, size_bytes, if_match, ..WriteOptions::default() };
        let path = self.path.as_bytes();
        let change = Change {
            state: &desk.state,
            caller: &desk.caller,
            on: self.runner.as_deref(),
            action: "file.write",
            path,
        };
        let written = change.make(async |sandbox| {
            let mut writer = sandbox.write_file(path, options).await?;
            writer.write(&content).await?;
            Ok((writer.finish().await?, sandbox.place().to_owned()))
        });
        let (bytes, runner) = written.await?;
        let hash = hex_sha256(&content);
        Ok(Outcome::text(format!("wrote {bytes} bytes to {} on {runner}; SHA-256 {hash}", self.path)))
    }
}

/// The SHA-256 of a content, as `if_match` takes it.
fn hex_sha256(content: &[u8]) -> String {
    Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Tool for ListDirectory {
    const NAME: &'static str = "list_directory";
    const DESCRIPTION: &'static str = "Lists a directory by name: directories end with a slash, links with @, and files have their size in bytes.";
    const ONLY_READS: bool = true;

    async fn run(self, desk: &Desk) -> Result<Outcome, ApiError> {
        let sandbox = desk.sandbox(self.runner.as_deref()).await?;
        let path = self.path.as_deref().unwrap_or(".");
        let mut reader = sandbox.read_dir(path.as_bytes()).await?;
        let (mut lines, mut more) = (Vec::new(), 0_u64);
        while let Some(batch) = reader.next_batch().await {
            for entry in batch? {
                if lines.len() >= MCP_LISTED as usize {
                    more += 1;
                    continue;
                }
                let name = String::from_utf8_lossy(&entry.name).into_owned();
                lines.push(match kind_name(entry.kind).as_str() {
                    "directory" => format!("{name}/"),
                    "symlink" => format!("{name}@"),
                    "file" => format!("{name}\t{}", entry.size_bytes),
                    other => format!("{name}\t{other}"),
                });
            }
        }
        lines.sort_unstable();
        if lines.is_empty() {
            return Ok(Outcome::text("(the directory is empty)"));
        }
        if more > 0 {
            lines.push(format!("(and {more} more, in no order; use glob to find what you look for)"));
        }
        Ok(Outcome::text(lines.join("\n")))
    }
}

/// Content as it is shown, and how many bytes of it are left for the next part: a character that is cut in two. A part's beginning
/// amid a character makes it base64, as does whatever else is no text.
fn shown(path: &str, mut content: Vec<u8>, goes_on: bool) -> (ContentBlock, u64) {
    let whole_bytes = match std::str::from_utf8(&content) {
        // At least one character is shown, or nobody would ever get further.
        Err(error) if goes_on && error.error_len().is_none() && error.valid_up_to() > 0 => {
            error.valid_up_to()
        }
        Ok(_) | Err(_) => content.len(),
    };
    let held_back = (content.len() - whole_bytes) as u64;
    content.truncate(whole_bytes);
    let block = match String::from_utf8(content) {
        Ok(text) => ContentBlock::text(text),
        Err(error) => {
            let blob = STANDARD.encode(error.as_bytes());
            let resource = ResourceContents::blob(blob, format!("file:///{}", path.trim_start_matches('/')));
            ContentBlock::resource(resource.with_mime_type("application/octet-stream"))
        }
    };
    (block, held_back)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_never_ends_amid_a_character_and_what_is_no_text_keeps_its_bytes() {
        let text = |(block, held_back): (ContentBlock, u64)| {
            (block.as_text().map(|text| text.text.clone()), held_back)
        };
        assert_eq!(text(shown("a", "aé".into(), true)), (Some("aé".to_owned()), 0));
        assert_eq!(text(shown("a", "aé".as_bytes()[..2].into(), true)), (Some("a".to_owned()), 1));
        assert_eq!(
            text(shown("a", "aé".as_bytes()[..2].into(), false)),
            (None, 0),
            "it is the end of the file"
        );
        assert_eq!(
            text(shown("a", "é".as_bytes()[..1].into(), true)),
            (None, 0),
            "or nobody would get further"
        );
        let (block, _) = shown("/w/a", b"\xff\x00".to_vec(), false);
        let json = serde_json::to_value(block).unwrap();
        assert_eq!(
            (&json["resource"]["blob"], &json["resource"]["uri"]),
            (&"/wA=".into(), &"file:///w/a".into())
        );
    }
}
