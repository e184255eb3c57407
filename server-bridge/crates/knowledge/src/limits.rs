//! Every limit of knowledge, with its unit in its name.

use std::time::Duration;

/// The largest document, in bytes.
pub const DOCUMENT_BYTES: u64 = extract::limits::DOCUMENT_BYTES;
/// The pieces in which an upload is stored, in bytes.
pub(crate) const PART_BYTES: usize = 1024 * 1024;
/// The most pages that are stored in one transaction, and the text from which a batch of them is complete, in bytes. While one batch is stored,
/// the next one is analysed, so that smaller batches begin earlier.
pub(crate) const BATCH_PAGES: usize = 64;
pub(crate) const BATCH_BYTES: usize = 256 * 1024;
/// How often a job is begun before its document is given up because it kills the server.
pub(crate) const ATTEMPTS: i64 = 3;
/// The pause before a job is tried again when the store fails.
pub(crate) const RETRY: Duration = Duration::from_secs(2);
/// The same while the database's disk is full: a document is read again for each attempt.
pub(crate) const FULL_RETRY: Duration = Duration::from_secs(10);
/// The pause after rewriting the database's file to remove deleted rows, as a multiple of the time that it took. Nothing else can write
/// during the rewrite.
pub(crate) const FORGET_PAUSES: u32 = 20;
/// How often the folders of runners are scanned.
pub(crate) const SYNC_INTERVAL: Duration = Duration::from_secs(10 * 60);
/// The timeout for scanning a folder, and for reading one of its files.
pub(crate) const SCAN_TIMEOUT: Duration = Duration::from_secs(120);
/// The most files of a folder; the runner's own limit for one search.
pub(crate) const FOLDER_FILES: u32 = 10_000;
/// The most files that are queued in one transaction.
pub(crate) const QUEUE_BATCH: usize = 500;
/// The number of documents from which the loss of more than half has to be confirmed; the loss of all documents always has to be.
pub(crate) const LOSS_DOCUMENTS: usize = 10;

/// The folders of runners that are worked on at once; each is of another runner.
pub(crate) const FOLDERS_AT_ONCE: usize = 16;
/// The contents of folders' files that are in memory at once, in KiB: those of one of the largest size, and of small ones beside it.
pub(crate) const CONTENT_KIB: u32 = 68 * 1024;

/// The passages whose words are made again in one change, and the pause after it.
pub(crate) const ANALYSED_PASSAGES: u32 = 64;
pub(crate) const ANALYSIS_PAUSE: Duration = Duration::from_millis(20);

/// The passages that are embedded in one turn of a collection, in this process: two seconds on one processor.
pub(crate) const LOCAL_BATCH: u32 = 8;
/// The same at a provider: one request.
pub(crate) const REMOTE_BATCH: u32 = 64;
/// How often the worker looks for another embedder in the settings.
pub(crate) const EMBEDDER_POLL: Duration = Duration::from_secs(5);
/// How long finding by meaning may take; then the search goes by words.
pub(crate) const MEANING_TIMEOUT: Duration = Duration::from_secs(4);
/// The memory for vectors, in bytes: 120,000 of 384 dimensions. Larger collections are read from the store for each search.
pub(crate) const CACHE_BYTES: usize = 48 * 1024 * 1024;
/// The passages of a collection that are counted as refused by the embedder.
pub(crate) const REFUSED_PASSAGES: usize = 1_000;

/// The most passages of each ranking.
pub(crate) const RANKED: u32 = 20;
/// The most passages of an answer.
pub(crate) const FOUND: usize = 10;
/// How many passages a model gets unless it asks for another number.
pub(crate) const TOLD: usize = 5;
/// The longest question, in bytes; the rest is ignored.
pub(crate) const QUESTION_BYTES: usize = 4096;
/// The most pages that a model reads at once.
pub(crate) const PAGES_AT_ONCE: u32 = 10;
/// The most text that one call gives to a model, in bytes.
pub(crate) const READ_BYTES: usize = 40 * 1024;
/// The most collections that the prompt lists.
pub(crate) const PROMPT_COLLECTIONS: usize = 30;
/// The most documents in one response of the API.
pub(crate) const LISTED: u32 = 500;
