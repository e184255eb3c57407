//! The messages of xbot's dialect: requests, answers, error codes.

use std::borrow::Cow;

use proto::ErrorKind;
use proto::message::{FileKind, Metadata};
use serde::{Deserialize, Serialize};

use super::convert::{kind_of, permissions, unix_ms};
use super::path::escapes;
use crate::error::SandboxError;
use crate::facts::harmless;
use crate::limits::ERROR_TEXT_BYTES;

/// One of our requests.
#[derive(Debug, Serialize)]
pub(super) struct Asked<'a, B> {
    pub(super) id: &'a str,
    pub(super) r#type: &'a str,
    pub(super) user_id: &'a str,
    pub(super) body: &'a B,
}

/// The beginning of every message of a runner; its body is parsed where its type is known.
#[derive(Debug, Deserialize)]
pub(super) struct Head<'a> {
    #[serde(borrow, default)]
    pub(super) id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(super) r#type: Cow<'a, str>,
}

/// An answer's body in its message.
#[derive(Debug, Deserialize)]
pub(super) struct Answered<B> {
    pub(super) body: B,
}

#[derive(Debug, Serialize)]
pub(super) struct ExecBody {
    /// The shell line, if `shell` is set.
    pub(super) command: String,
    /// The program, followed by its arguments, if `shell` is not set.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) args: Vec<String>,
    pub(super) shell: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) dir: Option<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) stdin: String,
    /// Seconds, 1 to 3600.
    pub(super) timeout: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) run_as_user: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct ExecResult {
    pub(super) stdout: String,
    pub(super) stderr: String,
    /// -1 for a signal, a time limit, or a descendant that kept the output open beyond it.
    pub(super) exit_code: i32,
    /// True only if a descendant kept the output open beyond the time limit.
    pub(super) timed_out: bool,
}

#[derive(Debug, Serialize)]
pub(super) struct PathBody<'a> {
    pub(super) path: &'a str,
}

/// A directory to be created. An absent `perm` would mean mode 0000.
#[derive(Debug, Serialize)]
pub(super) struct MakeBody<'a> {
    pub(super) path: &'a str,
    pub(super) perm: u32,
}

#[derive(Debug, Serialize)]
pub(super) struct WriteBody<'a> {
    pub(super) path: &'a str,
    /// Base64.
    pub(super) data: &'a str,
    pub(super) perm: u32,
}

#[derive(Debug, Deserialize)]
pub(super) struct FileContent<'a> {
    /// Base64.
    #[serde(borrow)]
    pub(super) data: Cow<'a, str>,
}

#[derive(Debug, Deserialize)]
pub(super) struct FileInfo {
    pub(super) size: u64,
    /// The mode as Go's FileMode.
    pub(super) mode: u32,
    pub(super) mod_time: String,
    pub(super) is_dir: bool,
}

impl FileInfo {
    /// The metadata in our form; `None` if its time is invalid.
    pub(super) fn metadata(&self) -> Option<Metadata> {
        Some(Metadata {
            kind: if self.is_dir { FileKind::Directory } else { kind_of(self.mode) },
            size_bytes: self.size,
            mode: permissions(self.mode),
            modified_ms: unix_ms(&self.mod_time)?,
        })
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct DirEntries {
    pub(super) entries: Vec<Entry>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) is_dir: bool,
    pub(super) size: u64,
}

#[derive(Debug, Deserialize)]
pub(super) struct Fault {
    #[serde(default)]
    pub(super) message: String,
    #[serde(default)]
    pub(super) code: String,
}

/// Texts at the end of an error's message, and their meaning: most failures are reported as EIO.
const MEANINGS: &[(&str, ErrorKind)] = &[
    ("no such file or directory", ErrorKind::NotFound),
    ("file exists", ErrorKind::AlreadyExists),
    ("directory not empty", ErrorKind::DirectoryNotEmpty),
    ("not a directory", ErrorKind::NotADirectory),
    ("is a directory", ErrorKind::IsADirectory),
    ("file name too long", ErrorKind::NameTooLong),
    ("too many levels of symbolic links", ErrorKind::TooManySymlinks),
    ("invalid argument", ErrorKind::InvalidPath),
    ("no space left on device", ErrorKind::NoSpace),
    ("disk quota exceeded", ErrorKind::NoSpace),
    ("read-only file system", ErrorKind::ReadOnly),
    ("permission denied", ErrorKind::PermissionDenied),
    ("operation not permitted", ErrorKind::PermissionDenied),
];

impl Fault {
    pub(super) fn into_error(self) -> SandboxError {
        let kind = match self.code.as_str() {
            // Its text names where the path leads, which must not be revealed.
            "EPERM" if self.message.contains("escapes workspace") => return escapes(),
            "EINVAL" if self.message.starts_with("unknown request type") => ErrorKind::Unsupported,
            "EINVAL" => ErrorKind::InvalidBody,
            "ENOTSUP" => ErrorKind::Unsupported,
            _ => meaning(&self.message).unwrap_or(match self.code.as_str() {
                "ENOENT" => ErrorKind::NotFound,
                "EEXIST" => ErrorKind::AlreadyExists,
                "EPERM" => ErrorKind::PermissionDenied,
                _ => ErrorKind::Io,
            }),
        };
        SandboxError::Remote { kind, message: harmless(&self.message, ERROR_TEXT_BYTES) }
    }
}

/// The meaning of an error text of the runner's operating system, if a message ends with it.
pub(super) fn meaning(message: &str) -> Option<ErrorKind> {
    let message = message.trim_end().to_ascii_lowercase();
    MEANINGS.iter().find(|(words, _)| message.ends_with(words)).map(|(_, kind)| *kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_keep_their_meaning() {
        let kind = |code: &str, message: &str| {
            Fault { code: code.to_owned(), message: message.to_owned() }.into_error().kind()
        };
        assert_eq!(kind("ENOENT", "open /ws/x: no such file or directory"), "not_found");
        assert_eq!(kind("ENOENT", "pty stream not found: x"), "not_found");
        assert_eq!(kind("EEXIST", "remove /ws/x: directory not empty"), "directory_not_empty");
        assert_eq!(kind("EEXIST", "stream already exists: s1"), "already_exists");
        assert_eq!(kind("EPERM", "open /ws/x: permission denied"), "permission_denied");
        assert_eq!(
            kind("EPERM", "path \"x\" (resolved to \"/secret\") escapes workspace \"/ws\""),
            "escapes_workspace"
        );
        assert_eq!(kind("EIO", "open /ws: is a directory"), "is_a_directory");
        assert_eq!(kind("EIO", "open /ws/a/b: not a directory"), "not_a_directory");
        assert_eq!(kind("EIO", "open /ws/xx: file name too long"), "name_too_long");
        assert_eq!(kind("EIO", "exec error: whatever"), "io");
        assert_eq!(kind("EINVAL", "unknown request type: pty_stdin"), "unsupported");
        assert_eq!(kind("EINVAL", "invalid exec request: unexpected end of JSON input"), "invalid_body");
        assert_eq!(kind("ENOTSUP", "local LLM not configured on this runner"), "unsupported");
        assert_eq!(kind("", "words of a later version"), "io");
        let leak = Fault {
            code: "EPERM".to_owned(),
            message: "(resolved to \"/secret\") escapes workspace".to_owned(),
        };
        assert!(!leak.into_error().to_string().contains("/secret"));
    }
}
