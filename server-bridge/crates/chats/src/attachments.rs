//! Files attached to a message: they are stored in the workspace where the chat's work is done, and its agent opens them there.

use std::fmt::Display;

use bytes::{Bytes, BytesMut};
use futures_util::{Stream, StreamExt};
use sandbox::{Range, Sandbox, SandboxError, WriteOptions};
use store::{ChatId, User};

use crate::limits::{
    ATTACHMENT_BYTES, ATTACHMENT_ENDING_BYTES, ATTACHMENT_NAME_BYTES, ATTACHMENT_PLACE_BYTES, ATTACHMENTS,
    OUTPUT_IGNORE_PATH,
};
use crate::{ChatService, Error, Result};

/// The folder for attachments in the workspace: each file gets its own directory in it, so that the file keeps its name.
const DIRECTORY: &str = ".sandbridge/attachments";
/// The length of a file's beginning that identifies an image, in bytes.
const IMAGE_MARK_BYTES: usize = 12;

/// An attached file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attached {
    /// The path relative to the workspace, which is part of the message.
    pub path: String,
    /// The file's name, as it is stored.
    pub name: String,
    /// The place that has the file: a runner's name, `__docker__` or `none`.
    pub place: String,
    /// The file's size.
    pub size_bytes: u64,
    /// True if the file is an image that the agent can see.
    pub is_image: bool,
}

impl ChatService {
    /// Stores a file where the chat's work is done, for a message that will name the file's path among its attachments; audited.
    /// `size_bytes` is the size that the sender declares.
    ///
    /// # Errors
    /// [`Error::Store`] for a chat that was deleted or belongs to another user; [`Error::Refused`] if there is no place for the file, for
    /// a file larger than [`ATTACHMENT_BYTES`], for an upload that broke off, and with the sandbox's error.
    pub async fn attach<E: Display>(
        &self,
        user: &User,
        chat: &ChatId,
        name: &str,
        size_bytes: Option<u64>,
        content: impl Stream<Item = Result<Bytes, E>> + Unpin,
    ) -> Result<Attached> {
        let name = safe_name(name);
        let path = format!("{DIRECTORY}/{:08x}/{name}", rand::random::<u32>());
        if size_bytes.is_some_and(|size_bytes| size_bytes > ATTACHMENT_BYTES) {
            return Err(too_large());
        }
        let sandbox = self.sandbox(user, chat).await?;
        let place = sandbox.place().to_owned();
        let written = receive(&sandbox, &path, size_bytes, content).await;
        let outcome = written.as_ref().map_or_else(|error| error.kind(), |_| "ok");
        self.0.note(user, "file.write", Some(&place), &path, outcome).await;
        let (size_bytes, is_image) = written?;
        Ok(Attached { path, name, place, size_bytes, is_image })
    }
}

impl ChatService {
    /// Reads a whole file from the place where the chat's work is done; audited.
    ///
    /// # Errors
    /// [`Error::Store`] for a chat that was deleted or belongs to another user; [`Error::Refused`] if there is no place, for a file
    /// larger than `most_bytes`, and with the sandbox's error.
    pub async fn read_file(&self, user: &User, chat: &ChatId, path: &str, most_bytes: u64) -> Result<Bytes> {
        let sandbox = self.sandbox(user, chat).await?;
        let read = read_whole(&sandbox, path, most_bytes).await;
        let outcome = read.as_ref().map_or_else(|error| error.kind(), |_| "ok");
        self.0.note(user, "file.read", Some(sandbox.place()), path, outcome).await;
        read
    }
}

async fn read_whole(sandbox: &Sandbox, path: &str, most_bytes: u64) -> Result<Bytes> {
    let too_large = || {
        let mebibytes = most_bytes / (1024 * 1024);
        Error::refused(
            "too_large",
            format!("{path} is larger than {mebibytes} MiB, the limit for sending a file"),
        )
    };
    let mut reader = sandbox.read_file(path.as_bytes(), Range::default()).await.map_err(refused)?;
    if reader.size_bytes() > most_bytes {
        return Err(too_large());
    }
    let mut content = BytesMut::new();
    while let Some(piece) = reader.next().await {
        content.extend_from_slice(&piece.map_err(refused)?);
        // The file may grow while it is read.
        if content.len() as u64 > most_bytes {
            return Err(too_large());
        }
    }
    Ok(content.freeze())
}

/// The text of a message, followed by the paths attached to it.
///
/// # Errors
/// [`Error::Refused`] for too many paths, for paths that are not attachments, and for a command, which would take the paths as arguments.
pub(crate) fn with_attachments(text: &str, paths: &[String]) -> Result<String> {
    if paths.len() > ATTACHMENTS {
        return Err(invalid(format!("a message can have at most {ATTACHMENTS} attachments")));
    }
    if !paths.iter().all(|path| is_reference(path)) {
        return Err(invalid(
            "an attachment must be a path that an upload to this chat returned, written as PATH or as PATH on PLACE",
        ));
    }
    let begun = text.trim_start();
    // Two slashes escape a literal one.
    let is_command = begun.starts_with('!') || begun.starts_with('/') && !begun.starts_with("//");
    if is_command && !paths.is_empty() {
        return Err(invalid("a command takes no attachments; send them in a separate message"));
    }
    let lines: Vec<String> = paths.iter().map(|path| format!("[attached: {path}]")).collect();
    Ok(match (text.trim_end(), lines.as_slice()) {
        (text, []) => text.to_owned(),
        ("", lines) => lines.join("\n"),
        (text, lines) => format!("{text}\n\n{}", lines.join("\n")),
    })
}

/// The attachments that a message names at its end, each with its path and, if given, its place.
pub(crate) fn attached(text: &str) -> Vec<(&str, Option<&str>)> {
    let mut found: Vec<_> = text.lines().rev().map_while(named).take(ATTACHMENTS).collect();
    found.reverse();
    found
        .into_iter()
        .map(|reference| match reference.split_once(" on ") {
            Some((path, place)) => (path, Some(place)),
            None => (reference, None),
        })
        .collect()
}

/// The attachment that a line of a message names.
fn named(line: &str) -> Option<&str> {
    line.strip_prefix("[attached: ")?.strip_suffix(']').filter(|reference| is_reference(reference))
}

/// True if a text names an attachment: the path that an upload returned, and the place if the mention gives one.
fn is_reference(reference: &str) -> bool {
    // A stored name contains no space.
    let (path, place) = match reference.split_once(" on ") {
        Some((path, place)) => (path, Some(place)),
        None => (reference, None),
    };
    let is_plain =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'_' | b'.' | b'-');
    let is_place =
        |place: &str| (1..=ATTACHMENT_PLACE_BYTES).contains(&place.len()) && place.bytes().all(is_plain);
    is_path(path) && place.is_none_or(is_place)
}

/// True if an upload could have returned this path: the directory, eight hexadecimal digits and a name.
fn is_path(path: &str) -> bool {
    let inner = path.strip_prefix(DIRECTORY).and_then(|rest| rest.strip_prefix('/'));
    inner.and_then(|inner| inner.split_once('/')).is_some_and(|(own, name)| {
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        own.len() == 8 && own.bytes().all(is_digit) && name == safe_name(name)
    })
}

/// Passes the content on to the file; returns the size, and true if the content begins like an image.
async fn receive<E: Display>(
    sandbox: &Sandbox,
    path: &str,
    size_bytes: Option<u64>,
    mut content: impl Stream<Item = Result<Bytes, E>> + Unpin,
) -> Result<(u64, bool)> {
    keep_out_of_git(sandbox).await.map_err(refused)?;
    let options = WriteOptions { parents: true, size_bytes, ..WriteOptions::default() };
    let mut writer = sandbox.write_file(path.as_bytes(), options).await.map_err(refused)?;
    let (mut written_bytes, mut beginning) = (0, Vec::new());
    while let Some(chunk) = content.next().await {
        let chunk = chunk
            .map_err(|error| invalid(format!("the upload broke off ({error}); attach the file again")))?;
        written_bytes += chunk.len() as u64;
        // Dropping the writer removes the incomplete file.
        if written_bytes > ATTACHMENT_BYTES {
            return Err(too_large());
        }
        if beginning.len() < IMAGE_MARK_BYTES {
            beginning.extend_from_slice(&chunk[..chunk.len().min(IMAGE_MARK_BYTES - beginning.len())]);
        }
        writer.write(&chunk).await.map_err(refused)?;
    }
    Ok((writer.finish().await.map_err(refused)?, is_image(&beginning)))
}

/// Hides attachments from version control with an ignore file, which also hides the kept output of commands.
async fn keep_out_of_git(sandbox: &Sandbox) -> Result<(), SandboxError> {
    if sandbox.stat(OUTPUT_IGNORE_PATH.as_bytes()).await.is_ok() {
        return Ok(());
    }
    let options = WriteOptions { parents: true, ..WriteOptions::default() };
    let mut writer = sandbox.write_file(OUTPUT_IGNORE_PATH.as_bytes(), options).await?;
    writer.write(b"*\n").await?;
    writer.finish().await?;
    Ok(())
}

fn invalid(text: impl Into<String>) -> Error {
    Error::refused("invalid", text)
}

fn refused(error: SandboxError) -> Error {
    Error::refused(error.kind(), error.to_string())
}

fn is_image(beginning: &[u8]) -> bool {
    let begins = |mark: &[u8]| beginning.starts_with(mark);
    begins(b"\x89PNG\r\n\x1a\n")
        || begins(b"\xff\xd8\xff")
        || begins(b"GIF87a")
        || begins(b"GIF89a")
        || begins(b"RIFF") && beginning.get(8..12) == Some(b"WEBP")
}

/// A name that is a single path component and is displayed unchanged. A name that is too long is cut in the middle, so that it keeps its extension.
fn safe_name(name: &str) -> String {
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let plain =
        |c: char| if c.is_control() || "[]\"'`$<>|*?".contains(c) || c.is_whitespace() { '_' } else { c };
    let name: String = last.chars().map(plain).collect();
    let name = name.trim_start_matches('.');
    if name.is_empty() {
        return "file".to_owned();
    }
    if name.len() <= ATTACHMENT_NAME_BYTES {
        return name.to_owned();
    }
    let ending = name.rfind('.').map_or("", |at| &name[at..]);
    let ending = if ending.len() <= ATTACHMENT_ENDING_BYTES { ending } else { "" };
    let begun = &name[..name.floor_char_boundary(ATTACHMENT_NAME_BYTES - ending.len())];
    format!("{begun}{ending}")
}

fn too_large() -> Error {
    let mebibytes = ATTACHMENT_BYTES / (1024 * 1024);
    Error::refused(
        "too_large",
        format!("an attachment can have at most {mebibytes} MiB; upload it as a file instead"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stays_one_and_harmless() {
        for (name, safe) in [
            ("shot.png", "shot.png"),
            ("../../etc/passwd", "passwd"),
            ("C:\\temp\\a b.txt", "a_b.txt"),
            ("..", "file"),
            ("", "file"),
            (".bashrc", "bashrc"),
            ("a\nb]`$(x)`", "a_b___(x)_"),
            ("图.png", "图.png"),
        ] {
            assert_eq!(safe_name(name), safe, "{name:?}");
        }
    }

    #[test]
    fn a_long_name_is_cut_by_bytes_and_keeps_its_ending() {
        assert_eq!(safe_name(&"x".repeat(1000)), "x".repeat(ATTACHMENT_NAME_BYTES));
        let name = safe_name(&format!("{}.png", "图".repeat(100)));
        assert_eq!(name, format!("{}.png", "图".repeat(65)));
        let odd = safe_name(&format!("a.{}", "图".repeat(100)));
        assert!(odd.len() <= ATTACHMENT_NAME_BYTES && odd.starts_with("a.图"), "{odd}");
        for name in [name, odd] {
            assert_eq!(safe_name(&name), name, "what was cut once stays");
        }
    }

    #[test]
    fn a_command_takes_no_attachments() {
        let path = ".sandbridge/attachments/0011aaff/a.png".to_owned();
        for command in ["!cat", " /help", "/", "\n! ls"] {
            let refused = with_attachments(command, std::slice::from_ref(&path)).unwrap_err();
            assert_eq!(refused.kind(), "invalid", "{command:?}");
            assert!(with_attachments(command, &[]).is_ok());
        }
        assert!(with_attachments("//usr is full", &[path]).is_ok());
    }

    #[test]
    fn what_came_with_a_message_is_read_from_its_end_and_from_nowhere_else() {
        let (a, b) =
            (".sandbridge/attachments/0011aaff/a.png", ".sandbridge/attachments/0011aaff/b.png on laptop");
        let text = with_attachments("look", &[a.to_owned(), b.to_owned()]).unwrap();
        assert_eq!(attached(&text), [(a, None), (".sandbridge/attachments/0011aaff/b.png", Some("laptop"))]);
        for quoted in [
            format!("[attached: {a}]\nwhat is that?"),
            "look\n\n[attached: ../../etc/passwd]".to_owned(),
            format!("look at [attached: {a}]"),
        ] {
            assert_eq!(attached(&quoted), [], "{quoted}");
        }
    }

    #[test]
    fn a_message_names_what_came_with_it() {
        let path = ".sandbridge/attachments/0011aaff/a.png".to_owned();
        assert_eq!(with_attachments("look", &[]).unwrap(), "look");
        assert_eq!(
            with_attachments("look ", std::slice::from_ref(&path)).unwrap(),
            "look\n\n[attached: .sandbridge/attachments/0011aaff/a.png]"
        );
        assert_eq!(
            with_attachments("", &[path]).unwrap(),
            "[attached: .sandbridge/attachments/0011aaff/a.png]"
        );
        for place in ["laptop", "__docker__", "none"] {
            let reference = format!(".sandbridge/attachments/0011aaff/a.png on {place}");
            assert_eq!(
                with_attachments("", std::slice::from_ref(&reference)).unwrap(),
                format!("[attached: {reference}]")
            );
        }
        for odd in [
            ".sandbridge/attachments/0011aaff/a on ",
            ".sandbridge/attachments/0011aaff/a on A]",
            ".sandbridge/attachments/0011aaff/a on a on b",
            "/etc/passwd on laptop",
            "/etc/passwd",
            ".sandbridge/attachments/../../x",
            ".sandbridge/attachments/a\nb",
            ".sandbridge/attachments-of-mine/x",
            ".sandbridge/attachments/0011aaff",
            ".sandbridge/attachments/0011aaff/",
            ".sandbridge/attachments/0011AAFF/a",
            ".sandbridge/attachments/0011aaff/..",
            ".sandbridge/attachments/0011aaff/a/b",
            ".sandbridge/attachments/0011aaff/a b",
            ".sandbridge/attachments/0011aaff/a]",
            "",
        ] {
            assert!(with_attachments("x", &[odd.to_owned()]).is_err(), "{odd:?}");
        }
        assert!(with_attachments("x", &vec![".sandbridge/attachments/0011aaff/a".to_owned(); 17]).is_err());
    }

    #[test]
    fn images_are_known_by_their_beginning() {
        assert!(is_image(b"\x89PNG\r\n\x1a\n0000") && is_image(b"RIFF0000WEBP") && is_image(b"GIF89a"));
        assert!(!is_image(b"") && !is_image(b"RIFF0000WAVE") && !is_image(b"<svg>"));
    }
}
