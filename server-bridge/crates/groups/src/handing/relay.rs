//! Joins the archives of outputs into one archive while they pass through, and counts and lists the entries.

use std::mem::take;

use pathguard::tree::{Entry, Receiver, end, pad};
use pathguard::{Kind, Result};

use super::fault::Fault;
use super::listing::Listing;
use crate::limits::{HANDED_ENTRIES_MAX, HANDED_MAX_BYTES};

/// The permission bits of directories that lead to an output without being part of one.
const PARENT_MODE: u32 = 0o755;

/// The limits on what one hand-over may contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    /// The maximum number of files, directories and links.
    pub(crate) entries: usize,
    /// The maximum total size of all files, in bytes.
    pub(crate) bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { entries: HANDED_ENTRIES_MAX, bytes: HANDED_MAX_BYTES }
    }
}

impl Limits {
    /// Creates the fault for outputs that exceed these limits.
    pub(crate) fn exceeded(self) -> Fault {
        let mebibytes = self.bytes / (1024 * 1024);
        Fault::Never(format!(
            "the limit is {} files, directories and links, and {mebibytes} MiB in total; name fewer outputs, or pack them into an archive",
            self.entries
        ))
    }
}

/// A tree that is being passed on.
#[derive(Debug)]
pub(crate) struct Relay {
    listing: Listing,
    /// The part of the archive that has not been sent yet.
    out: Vec<u8>,
    /// The size of the file that is being passed on, in bytes.
    file_bytes: u64,
}

impl Relay {
    pub(crate) fn new(limits: Limits) -> Self {
        let mut out = Vec::new();
        let (path, link) = (Vec::new(), Vec::new());
        Entry { kind: Kind::Directory, path, link, mode: PARENT_MODE, size_bytes: 0 }.write(&mut out);
        Self { listing: Listing::new(limits), out, file_bytes: 0 }
    }

    /// Adds the directories that lead to an output, unless they have been added already.
    ///
    /// # Errors
    /// The same as for [`Receiver::entry`].
    pub(crate) fn lead_to(&mut self, path: &[u8]) -> Result<()> {
        for (at, byte) in path.iter().enumerate() {
            if *byte == b'/' && !self.listing.has(&path[..at]) {
                let (kind, link) = (Kind::Directory, Vec::new());
                let parent =
                    Entry { kind, path: path[..at].to_vec(), link, mode: PARENT_MODE, size_bytes: 0 };
                self.entry(parent)?;
            }
        }
        Ok(())
    }

    /// Takes the bytes that are ready to be sent.
    pub(crate) fn take(&mut self) -> Vec<u8> {
        take(&mut self.out)
    }

    /// Ends the archive; returns its last bytes, and the listing of everything that passed through.
    pub(crate) fn end(mut self) -> (Vec<u8>, Listing) {
        end(&mut self.out);
        (self.out, self.listing)
    }
}

impl Receiver for Relay {
    fn entry(&mut self, entry: Entry) -> Result<()> {
        entry.write(&mut self.out);
        self.file_bytes = entry.size_bytes;
        self.listing.entry(entry)
    }

    fn content(&mut self, bytes: &[u8]) -> Result<()> {
        self.out.extend_from_slice(bytes);
        self.listing.content(bytes)
    }

    fn end_of_file(&mut self) -> Result<()> {
        pad(self.file_bytes, &mut self.out);
        self.listing.end_of_file()
    }
}

/// Receives the archive of a directory, and passes its entries on below that directory's path in the tree.
#[derive(Debug)]
pub(crate) struct Below<'a> {
    pub(crate) relay: &'a mut Relay,
    /// The directory's path in the tree.
    pub(crate) path: &'a [u8],
}

impl Receiver for Below<'_> {
    fn entry(&mut self, mut entry: Entry) -> Result<()> {
        if entry.path.is_empty() {
            entry.path = self.path.to_vec();
        } else {
            entry.path = [self.path, b"/", &entry.path].concat();
        }
        self.relay.entry(entry)
    }

    fn content(&mut self, bytes: &[u8]) -> Result<()> {
        self.relay.content(bytes)
    }

    fn end_of_file(&mut self) -> Result<()> {
        self.relay.end_of_file()
    }
}
