//! `read_file`: reads a file's bytes.

use agent::approval::Access;
use agent::tool::{Failure, FileBytes, ForPrograms, Live, Outcome, Rules, ToolContext, TypedTool};
use sandbox::Range;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::limits::{PROGRAM_READ_BYTES, PROGRAM_READ_MAX_BYTES};
use crate::{Services, change};

/// The part of a file to read.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// The file, relative to the workspace or absolute within it.
    path: String,
    /// The first byte to return; 0 if absent.
    #[serde(default)]
    offset: u64,
    /// The maximum number of bytes to return: 65536 if absent, 524288 at most.
    #[serde(default)]
    limit: Option<u64>,
}

impl TypedTool for Arguments {
    type Services = Services;

    const NAME: &'static str = "read_file";
    const DESCRIPTION: &'static str = "Reads a file, or a part of it by bytes. The first item of the result is the content, as text \
        or, if it is not UTF-8, as base64; the second one states which part it is and where to read on, and gives the \
        SHA-256 of a whole file.";
    const RULES: Rules = Rules::of(Access::Read).for_programs();

    fn hint(&self) -> &str {
        &self.path
    }

    async fn run(
        &self,
        _services: &Services,
        context: &ToolContext<'_>,
        _live: Live<'_>,
    ) -> Result<Outcome, Failure> {
        let Self { path, offset, limit } = self;
        let limit = limit.unwrap_or(PROGRAM_READ_BYTES).clamp(1, PROGRAM_READ_MAX_BYTES);
        let range = Range { offset: *offset, length: Some(limit) };
        let mut reader = context.sandbox().await?.read_file(path.as_bytes(), range).await?;
        let size = reader.size_bytes();
        let mut content = Vec::new();
        while let Some(piece) = reader.next().await {
            content.extend_from_slice(&piece?);
        }
        let is_whole = *offset == 0 && content.len() as u64 == size;
        let hash = is_whole.then(|| change::hash(&content));
        let end = offset.saturating_add(content.len() as u64);
        let (text, bytes, held_back) = shown(path, content, end < size);
        let end = end - held_back;
        let part = match hash {
            Some(hash) => format!("(all {size} bytes of the file; SHA-256 {hash})"),
            None if end >= size => format!("(bytes {offset} to {end} of {size}; this is the end)"),
            None => format!("(bytes {offset} to {end} of {size}; read on with offset {end})"),
        };
        Ok(Outcome::part(text).with(ForPrograms { bytes, note: Some(part), structured: None }))
    }
}

/// The content for display, and the number of its bytes that are left for the next part: those of a character that is cut in two. A part
/// that begins inside a character is shown as bytes, like everything that is not text.
fn shown(path: &str, mut content: Vec<u8>, goes_on: bool) -> (String, Option<FileBytes>, u64) {
    let whole_bytes = match std::str::from_utf8(&content) {
        // At least one character is shown, or the reader would never advance.
        Err(error) if goes_on && error.error_len().is_none() && error.valid_up_to() > 0 => {
            error.valid_up_to()
        }
        Ok(_) | Err(_) => content.len(),
    };
    let held_back = (content.len() - whole_bytes) as u64;
    content.truncate(whole_bytes);
    match String::from_utf8(content) {
        Ok(text) => (text, None, held_back),
        Err(error) => {
            let bytes = FileBytes { path: path.to_owned(), bytes: error.into_bytes() };
            (String::new(), Some(bytes), held_back)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_never_ends_inside_a_character_and_bytes_that_are_not_text_are_kept() {
        let text = |(text, bytes, held_back): (String, Option<FileBytes>, u64)| {
            (bytes.is_none().then_some(text), held_back)
        };
        assert_eq!(text(shown("a", "aé".into(), true)), (Some("aé".to_owned()), 0));
        assert_eq!(text(shown("a", "aé".as_bytes()[..2].into(), true)), (Some("a".to_owned()), 1));
        let at_the_end = text(shown("a", "aé".as_bytes()[..2].into(), false));
        assert_eq!(at_the_end, (None, 0), "it is the end of the file");
        let alone = text(shown("a", "é".as_bytes()[..1].into(), true));
        assert_eq!(alone, (None, 0), "or nobody would get further");
        let (_, found, _) = shown("/w/a", b"\xff\x00".to_vec(), false);
        let bytes = FileBytes { path: "/w/a".to_owned(), bytes: b"\xff\x00".to_vec() };
        assert_eq!(found, Some(bytes));
    }
}
