//! Whole trees as archives: [`Packer`] turns a directory into one, [`Unpacker`] turns one into a directory.
//!
//! Both work in pieces that their caller moves, so that no thread is held while a peer is slow. The format is a tar archive
//! (ustar, with pax records where a name is long or a file is large) of regular files, directories and symbolic links. It is
//! read strictly: a wrong checksum, an early end, content after the end, hard links, devices, FIFOs, sparse files, absolute
//! paths, `..`, and links that lead out of the tree end it with an error that names the entry.
//!
//! | module | holds |
//! |---|---|
//! | `pack` | [`Packer`] |
//! | `unpack` | [`Unpacker`]; `target` is the directory it fills |
//! | `archive` | [`Reader`] and [`Entry`]: archives that pass through, without a disk |
//! | `parse` | the archive as it arrives; `records` are its extended headers |
//! | `header` | the blocks in front of each entry |
//! | `name` | rules for names of entries and targets of links |

mod archive;
mod header;
mod name;
mod pack;
mod parse;
mod records;
mod target;
mod unpack;

pub use archive::{Entry, Reader, Receiver, end, pad};
pub use pack::Packer;
pub use unpack::{UnpackOptions, Unpacker};

use crate::Error;
use crate::limits::TREE_SHOWN_CHARACTERS;

/// The entries packed or unpacked so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TreeReport {
    /// Regular files.
    pub files: u64,
    /// Directories, including the top one if the archive names it.
    pub directories: u64,
    /// Symbolic links.
    pub symlinks: u64,
    /// The files' content, in bytes.
    pub size_bytes: u64,
    /// Entries that a mirror removed because the archive does not have them; a directory counts once with all its content.
    pub removed: u64,
    /// Entries that could not be packed and were left out: special files, links that lead out, unreadable files.
    pub skipped: u64,
    /// The first of the skipped entries with its reason, or the comment at the archive's end.
    pub note: Option<String>,
}

/// The reason why packing or unpacking a tree failed, and the entry at which it failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{error}", shown(entry))]
pub struct TreeError {
    /// The error, without the entry.
    pub error: Error,
    /// The entry's path in the tree; empty for the archive as a whole.
    pub entry: Vec<u8>,
}

impl TreeError {
    fn new(error: impl Into<Error>, entry: &[u8]) -> Self {
        Self { error: error.into(), entry: entry.to_vec() }
    }
}

fn shown(entry: &[u8]) -> String {
    if entry.is_empty() {
        return String::new();
    }
    let text = String::from_utf8_lossy(entry);
    let short: String = text.chars().take(TREE_SHOWN_CHARACTERS).collect();
    let cut = if short.len() < text.len() { "…" } else { "" };
    format!("{short:?}{cut}: ")
}
