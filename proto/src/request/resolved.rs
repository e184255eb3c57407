//! Requests about the place that a path leads to: one resolves it, others write only to the place that was resolved.

use super::{Download, WriteFile};
use crate::codec::{Decode, Encode};
use crate::path::WirePath;

/// Asks where a path leads: its place without symbolic links, and what is there. Known to runners with the capability
/// [`RESOLVE_CAPABILITY`](crate::handshake::RESOLVE_CAPABILITY), as are [`WriteResolved`] and [`DownloadResolved`].
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Resolve {
    /// The path; nothing has to be there.
    pub path: WirePath,
}

/// The content that a resolved place must still have when it is replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub enum Present {
    /// Nothing is there.
    Nothing,
    /// A file with this SHA-256.
    Content([u8; 32]),
    /// A file whose content nobody compares, such as one that is too large for it.
    AnyFile,
}

/// Does what [`WriteFile`] does, where [`Resolved::path`](crate::message::Resolved::path) leads.
///
/// Fails with `precondition_failed` where a symbolic link or another folder stands in the way meanwhile, or what is there
/// is not what it was.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct WriteResolved {
    /// The write; its path is a resolved one.
    pub write: WriteFile,
    /// The condition: what must be there before.
    pub present: Present,
}

/// Does what [`Download`] does, with the conditions of [`WriteResolved`].
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct DownloadResolved {
    /// The download; its path is a resolved one.
    pub download: Download,
    /// The condition: what must be there before.
    pub present: Present,
}
