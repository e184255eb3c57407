//! Searches, by name and by content.

use std::marker::PhantomData;

use proto::codec::{self, Decode};
use proto::message::{GlobBatch, GlobDone, GrepBatch, GrepDone, MessageType};
use proto::request::RequestType;

use crate::driver::{LinkHandle, OpenStream, Piece};
use crate::error::SandboxError;

/// The criteria for paths to find.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GlobQuery {
    /// Matched against the path below `path`: `?`, `*`, `**`, `[a-z]`, `{a,b}`. Ends with a slash to find directories, which
    /// are not found otherwise.
    pub pattern: String,
    /// The directory to look in.
    pub path: Vec<u8>,
    /// True to find what `.gitignore` files exclude, too.
    pub ignored: bool,
    /// The maximum number of results, the newest first; the runner has its own limit.
    pub max_results: u32,
}

/// The criteria for lines to find.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrepQuery {
    /// A regular expression in the syntax of the crate `regex`, matched against one line at a time.
    pub pattern: String,
    /// The directory to look in, or one file.
    pub path: Vec<u8>,
    /// A pattern as [`GlobQuery::pattern`]; one without a slash is matched against the name alone.
    pub include: Option<String>,
    /// True to ignore differences between upper and lower case.
    pub ignore_case: bool,
    /// The number of lines to include around each match.
    pub context_lines: u32,
    /// True to search what `.gitignore` files exclude, too.
    pub ignored: bool,
    /// The maximum number of matching lines; the runner has its own limit.
    pub max_results: u32,
}

/// Paths as they are found, the newest first.
pub type GlobReader = SearchReader<GlobBatch, GlobDone>;

/// Lines as they are found.
pub type GrepReader = SearchReader<GrepBatch, GrepDone>;

/// Results as they arrive. Dropping this before the last result stops the search.
#[derive(Debug)]
pub struct SearchReader<Batch, Done> {
    stream: OpenStream,
    done: Option<Done>,
    batch: PhantomData<fn() -> Batch>,
}

impl<Batch: Decode<()>, Done: MessageType> SearchReader<Batch, Done> {
    pub(crate) fn open(
        link: &LinkHandle,
        request: impl RequestType<Response = Done>,
    ) -> Result<Self, SandboxError> {
        Ok(Self { stream: link.open(request)?, done: None, batch: PhantomData })
    }

    /// The next results; `None` after the last ones, and after an error.
    pub async fn next_batch(&mut self) -> Option<Result<Batch, SandboxError>> {
        match self.stream.next_piece().await? {
            Ok(Piece::Data(bytes)) => {
                let batch = codec::decode(&bytes);
                Some(batch.map_err(|_| self.stream.link().broken("results that cannot be decoded")))
            }
            Ok(Piece::Answer(message)) => {
                let done = self.stream.link().expect(message).map(|done| self.done = Some(done));
                done.err().map(Err)
            }
            Err(error) => Some(Err(error)),
        }
    }

    /// The search's totals, once [`SearchReader::next_batch`] returned `None`.
    pub fn done(&self) -> Option<&Done> {
        self.done.as_ref()
    }
}
