//! Every limit of knowledge, with its unit in its name.

use std::time::Duration;

/// The largest document, in bytes.
pub const DOCUMENT_BYTES: u64 = extract::limits::DOCUMENT_BYTES;
/// The size of the pieces in which an upload is stored, in bytes.
pub(crate) const PART_BYTES: usize = 1024 * 1024;
/// The maximum number of pages in one transaction. While one batch is stored, the next one is analysed, so that smaller batches begin
/// earlier.
pub(crate) const BATCH_PAGES: usize = 64;
/// The size of the text, in bytes, at which a batch of pages is complete.
pub(crate) const BATCH_BYTES: usize = 256 * 1024;
/// The number of times that a job is begun before its document is given up, because it seems to kill the server, or the store
/// refuses it each time.
pub(crate) const ATTEMPTS: i64 = 3;
/// The pause before a job is tried again when the store fails.
pub(crate) const RETRY: Duration = Duration::from_secs(2);
/// The same while the database's disk is full: a document is read again for each attempt.
pub(crate) const FULL_RETRY: Duration = Duration::from_secs(10);
/// The pause after rewriting the database's file to remove deleted rows, as a multiple of the time that it took. Nothing else can write
/// during the rewrite.
pub(crate) const FORGET_PAUSES: u32 = 20;
/// The interval at which the folders of runners are scanned.
pub(crate) const SYNC_INTERVAL: Duration = Duration::from_secs(10 * 60);
/// The timeout for scanning a folder, and for reading one of its files.
pub(crate) const SCAN_TIMEOUT: Duration = Duration::from_secs(120);
/// The maximum number of files of a folder; the runner's own limit for one search.
pub(crate) const FOLDER_FILES: u32 = 10_000;
/// The maximum number of files that are queued in one transaction.
pub(crate) const QUEUE_BATCH: usize = 500;
/// In collections of at least this many documents, losing more than half of them has to be confirmed; losing all of them always has to be.
pub(crate) const LOSS_DOCUMENTS: usize = 10;

/// The number of folders that are worked on at once, each of a different runner.
pub(crate) const FOLDERS_AT_ONCE: usize = 16;
/// How much content of folders' files is in memory at once, in KiB: one file of the largest size, and some small ones.
pub(crate) const CONTENT_KIB: u32 = 68 * 1024;

/// The number of passages that get new words in one change.
pub(crate) const ANALYSED_PASSAGES: u32 = 64;
/// The pause after each change in which passages get new words.
pub(crate) const ANALYSIS_PAUSE: Duration = Duration::from_millis(20);

/// The number of passages that are embedded in one turn of a collection in this process: two seconds on one processor.
pub(crate) const LOCAL_BATCH: u32 = 8;
/// The number of passages that are embedded in one turn at a provider: one request.
pub(crate) const REMOTE_BATCH: u32 = 64;
/// The interval at which the worker looks for another embedder in the settings.
pub(crate) const EMBEDDER_POLL: Duration = Duration::from_secs(5);
/// How long finding by meaning may take; then the search uses words alone.
pub(crate) const MEANING_TIMEOUT: Duration = Duration::from_secs(4);
/// The memory for vectors, in bytes: 120,000 of 384 dimensions. Larger collections are read from the store for each search.
pub(crate) const CACHE_BYTES: usize = 48 * 1024 * 1024;
/// The maximum number of passages of a collection that are remembered as refused by the embedder.
pub(crate) const REFUSED_PASSAGES: usize = 1_000;

/// The maximum number of passages in each ranking.
pub(crate) const RANKED: u32 = 20;
/// The maximum number of passages in the result of a search.
pub(crate) const FOUND: usize = 10;
/// How many passages a model gets unless it asks for another number.
pub(crate) const TOLD: usize = 5;
/// The longest question, in bytes; the rest is ignored.
pub(crate) const QUESTION_BYTES: usize = 4096;
/// The maximum number of pages that a model reads at once.
pub(crate) const PAGES_AT_ONCE: u32 = 10;
/// The limit on the text that one call gives to a model, in bytes.
pub(crate) const READ_BYTES: usize = 40 * 1024;
/// The maximum number of collections that the prompt lists.
pub(crate) const PROMPT_COLLECTIONS: usize = 30;
/// The maximum number of documents in one response of the API.
pub(crate) const LISTED: u32 = 500;
