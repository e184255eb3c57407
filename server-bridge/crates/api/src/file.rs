//! Files of the caller's sandbox.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::words::FileKind;

/// A path to rename.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Rename {
    /// The current path.
    pub from: String,
    /// The new path.
    pub to: String,
}

/// A file that was written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Written {
    /// The file's size in bytes.
    pub size: u64,
}

/// The metadata of a path.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct StatView {
    /// The last part of the path, with replacement characters for bytes that are not UTF-8.
    #[serde(default)]
    #[schema(required)]
    pub name: String,
    /// Whether it is a file, a directory, a symbolic link or something else.
    #[serde(default)]
    #[schema(required)]
    pub kind: FileKind,
    /// The size in bytes.
    #[serde(default)]
    #[schema(required)]
    pub size: u64,
    /// The permission bits of its mode.
    #[serde(default)]
    #[schema(required)]
    pub mode: u32,
    /// When it was last modified, in Unix milliseconds.
    #[serde(default)]
    #[schema(required)]
    pub modified_ms: i64,
}

/// The entries of a directory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Listing {
    /// The entries, in no particular order.
    pub entries: Vec<EntryView>,
}

/// One entry of a directory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct EntryView {
    /// The name, with replacement characters for bytes that are not UTF-8.
    pub name: String,
    /// The exact bytes of a name that is not UTF-8, in URL-safe base64 without padding.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name_base64: Option<String>,
    /// Whether it is a file, a directory, a symbolic link or something else.
    #[serde(default)]
    #[schema(required)]
    pub kind: FileKind,
    /// The size in bytes.
    #[serde(default)]
    #[schema(required)]
    pub size: u64,
}

/// A directory tree that was written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TreeView {
    /// The number of regular files.
    pub files: u64,
    /// The number of directories, including those that already existed.
    #[serde(default)]
    #[schema(required)]
    pub directories: u64,
    /// The number of symbolic links.
    #[serde(default)]
    #[schema(required)]
    pub symlinks: u64,
    /// The total size of the files, in bytes.
    #[serde(default)]
    #[schema(required)]
    pub size: u64,
    /// The number of entries that a mirror removed; a directory with all its content counts as one.
    #[serde(default)]
    #[schema(required)]
    pub removed: u64,
}

/// The download's source and target.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Download {
    /// An `http` or `https` address. The runner connects to it, so it is resolved in the network of the runner's machine.
    pub url: String,
    /// The file to write, relative to the workspace or absolute within it.
    pub path: String,
    /// The permission bits in octal; if absent, those of the file that is replaced, or 0644 for a new file.
    pub mode: Option<String>,
    /// Whether missing parent directories are created.
    #[serde(default)]
    pub parents: bool,
    /// The maximum size of the download, in bytes.
    pub max_bytes: u64,
    /// The SHA-256 that the content must have, in hexadecimal digits.
    pub sha256: Option<String>,
}

/// Suggestions for a path that is being typed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Completions {
    /// First the paths that begin with the prefix, by name; then those whose names contain it, the newest first.
    pub entries: Vec<CompletionView>,
    /// Whether there are more than these.
    #[serde(default)]
    #[schema(required)]
    pub more: bool,
}

/// A suggested path.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CompletionView {
    /// The path, relative to the workspace.
    pub path: String,
    /// Whether it is a file, a directory, a symbolic link or something else.
    #[serde(default)]
    #[schema(required)]
    pub kind: FileKind,
}
