//! Every limit of reading documents, with its unit in its name.

use std::time::Duration;

/// The largest document that is read, in bytes. It is in the child's memory as a whole.
pub const DOCUMENT_BYTES: u64 = 64 * MIB;
/// The largest document that is read without a confined process, in bytes. It is in the server's memory twice: as bytes and as pages.
pub const PLAIN_BYTES: usize = 4 * 1024 * 1024;
/// The limit on the text of one document, in bytes: more than 10,000 printed pages.
pub const TEXT_BYTES: usize = 32 * 1024 * 1024;
/// The maximum number of pages of one document.
pub const PAGES: u32 = 20_000;
/// The limit on the text of one page, in bytes; the rest of a longer one is left out, and counted as cut.
pub const PAGE_BYTES: usize = 256 * 1024;
/// The size of a page, in bytes, in a document without pages of its own: about four printed pages.
pub const CUT_PAGE_BYTES: usize = 12 * 1024;
/// The longest title of a page or a document, in bytes.
pub const TITLE_BYTES: usize = 256;
/// The longest line that a child may write, in bytes: a page whose every byte is escaped, and its frame.
pub(crate) const FRAME_BYTES: usize = 6 * PAGE_BYTES + 16 * 1024;

/// How much of a document is read to recognise its kind, in bytes.
pub(crate) const SNIFFED_BYTES: usize = 4096;
/// The share of control characters, in percent, from which a file does not count as text.
pub(crate) const CONTROL_PERCENT: usize = 5;
/// The limit on the unpacked size of one document, in bytes; pictures are not unpacked.
pub(crate) const UNPACKED_BYTES: u64 = 512 * MIB;
/// The maximum number of entries of a packed document.
pub(crate) const ENTRIES: usize = 10_000;
/// The limit on the shared texts of a workbook, in bytes.
pub(crate) const SHARED_TEXT_BYTES: usize = 128 * 1024 * 1024;
/// The maximum number of cells that are read of a workbook.
pub(crate) const CELLS: u64 = 5_000_000;
/// The deepest nesting of elements of a packed document.
pub(crate) const XML_DEPTH: usize = 256;

/// How long the server waits for a child in all, not counting its own work between the pages.
pub const WALL_CLOCK: Duration = Duration::from_secs(60);
/// The processor time of a child, in seconds.
pub(crate) const CPU_SECONDS: u64 = 50;
/// The address space of a child, in bytes. A program with debug information takes about 200 MiB of it.
pub(crate) const ADDRESS_SPACE_BYTES: u64 = 1536 * MIB;
/// The stack of the thread that reads, in bytes.
pub(crate) const STACK_BYTES: usize = 64 * 1024 * 1024;
/// The number of documents that are read at the same time.
pub const AT_ONCE: usize = 1;

const MIB: u64 = 1024 * 1024;
