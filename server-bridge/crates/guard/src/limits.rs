//! Every limit and timeout for fetching a document.

use std::time::Duration;

/// The largest document that is fetched, in bytes; only the beginning of a larger one is read.
pub const DOCUMENT_BYTES: usize = 2 * 1024 * 1024;
/// How long a document may take, from the lookup to its last byte.
pub const PATIENCE: Duration = Duration::from_secs(30);
/// How long connecting to the document's server may take.
pub const CONNECT_PATIENCE: Duration = Duration::from_secs(10);
/// The maximum number of redirects that are followed.
pub const REDIRECTS: usize = 5;
/// The longest URL, in bytes.
pub const URL_BYTES: usize = 8 * 1024;
