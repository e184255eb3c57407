//! Requests about the target of a path: one resolves it, others write only to the resolved place.

use super::{Download, WriteFile};
use crate::codec::{Decode, Encode};
use crate::path::WirePath;

/// Resolves a path: its place without symbolic links, and the file there. Supported by runners with the capability
/// [`RESOLVE_CAPABILITY`](crate::handshake::RESOLVE_CAPABILITY), as are [`WriteResolved`] and [`DownloadResolved`].
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Resolve {
    /// The path; it need not exist.
    pub path: WirePath,
}

/// The content that a resolved place must still have when it is replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub enum Present {
    /// Nothing exists there.
    Nothing,
    /// A file with this SHA-256.
    Content([u8; 32]),
    /// A file whose content is not compared, such as one that is too large for that.
    AnyFile,
}

/// Does what [`WriteFile`] does, where [`Resolved::path`](crate::message::Resolved::path) leads.
///
/// Fails with `precondition_failed` if a symbolic link or another folder is in the way by now, or the file there has
/// changed.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct WriteResolved {
    /// The write; its path is a resolved one.
    pub write: WriteFile,
    /// The condition: the file that must be there before.
    pub present: Present,
}

/// Does what [`Download`] does, with the conditions of [`WriteResolved`].
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct DownloadResolved {
    /// The download; its path is a resolved one.
    pub download: Download,
    /// The condition: the file that must be there before.
    pub present: Present,
}
