//! Finding paths by a pattern, the newest first.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use globset::GlobMatcher;
use pathguard::{Kind, Metadata, Root};
use proto::message::{GlobBatch, GlobDone, GlobEntry, Truncation};
use proto::request::Glob;
use proto::{Channel, DataBuf, WireError, codec};

use super::path_pattern;
use super::scan::{Clock, Scan, Step};
use crate::files::{Files, path, path_error, unix_ms, wire_kind};
use crate::limits::{DIRECTORY_BATCH_BYTES, GLOB_RESULTS};
use crate::stream::{Stopped, StreamHandle};

/// The size of an encoded entry without its path: length, kind, size and time.
const ENTRY_BYTES: usize = 8 + 4 + 8 + 8;

/// Answers a `Glob`.
pub(crate) async fn glob(files: Files, stream: StreamHandle, request: Glob) {
    let answer = transfer(files, &stream, request).await;
    stream.finish(answer);
}

async fn transfer(
    Files { root, disk }: Files,
    stream: &StreamHandle,
    request: Glob,
) -> Result<GlobDone, WireError> {
    let start = move || Search::start(&root, &request).map(Search::slice);
    let mut search = disk.run(start).await??;
    while !search.is_over {
        if stream.is_stopped() {
            return Err(Stopped.into());
        }
        search = disk.run(move || search.slice()).await?;
    }
    let (done, entries) = search.finish();
    let mut entries = entries.into_iter().peekable();
    while entries.peek().is_some() {
        let mut batch = GlobBatch { entries: Vec::new() };
        let mut bytes = 8;
        while let Some(entry) =
            entries.next_if(|entry| bytes + ENTRY_BYTES + entry.path.len() <= DIRECTORY_BATCH_BYTES)
        {
            bytes += ENTRY_BYTES + entry.path.len();
            batch.entries.push(entry);
        }
        let body = codec::encode(&batch)?;
        // A batch has to fit one DATA frame, so this waits for room for all of it.
        stream.room(body.len()).await?;
        stream.data(Channel::Main, DataBuf::copy_from(&body));
    }
    stream.end(Channel::Main);
    Ok(done)
}

/// A result, ordered by age: the greatest is the newest; of equally old ones the first by path.
struct Found(GlobEntry);

impl Ord for Found {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_age = self.0.modified_ms.cmp(&other.0.modified_ms);
        by_age.then_with(|| other.0.path.cmp(&self.0.path))
    }
}

impl PartialOrd for Found {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Found {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Found {}

struct Search {
    scan: Scan,
    clock: Clock,
    pattern: GlobMatcher,
    /// True if directories are searched for.
    directories: bool,
    /// The newest so far, with the oldest of them on top.
    newest: BinaryHeap<Reverse<Found>>,
    max_results: usize,
    matched: u64,
    is_over: bool,
}

impl Search {
    fn start(root: &Root, request: &Glob) -> Result<Self, WireError> {
        let directories = request.pattern.ends_with('/');
        let text = request.pattern.trim_end_matches('/');
        let text = text.strip_prefix("./").unwrap_or(text);
        let pattern = path_pattern(text)?;
        // Without `**` each level of a match needs its own slash in the pattern.
        let slashes = text.bytes().filter(|byte| *byte == b'/').count();
        let depth_limit = if text.contains("**") { usize::MAX } else { slashes };
        let scan = Scan::new(root, path(&request.path), request.ignored, depth_limit).map_err(path_error)?;
        let max_results = usize::try_from(request.max_results).unwrap_or(usize::MAX).min(GLOB_RESULTS);
        let (clock, newest) = (Clock::new(), BinaryHeap::new());
        Ok(Self { scan, clock, pattern, directories, newest, max_results, matched: 0, is_over: false })
    }

    fn slice(mut self) -> Self {
        self.clock.begin();
        while !self.is_over && !self.clock.is_slice_over() {
            match self.scan.next() {
                Step::End => self.is_over = true,
                Step::Passed => {}
                Step::Found(visit, path) => {
                    let is_wanted = (visit.metadata.kind == Kind::Directory) == self.directories;
                    if is_wanted && self.pattern.is_match(&visit.path) {
                        self.keep(path, &visit.metadata);
                    }
                }
            }
        }
        if !self.is_over && self.clock.is_over() {
            self.scan.truncate(Truncation::Time);
            self.is_over = true;
        }
        self
    }
    /// Keeps a result if it is among the newest.
    fn keep(&mut self, path: Vec<u8>, metadata: &Metadata) {
        self.matched += 1;
        let kind = wire_kind(metadata.kind);
        let (size_bytes, modified_ms) = (metadata.size_bytes, unix_ms(metadata.modified));
        self.newest.push(Reverse(Found(GlobEntry { path, kind, size_bytes, modified_ms })));
        if self.newest.len() > self.max_results {
            self.newest.pop();
            self.scan.truncate(Truncation::Results);
        }
    }

    fn finish(self) -> (GlobDone, Vec<GlobEntry>) {
        let entries: Vec<_> =
            self.newest.into_sorted_vec().into_iter().map(|Reverse(Found(entry))| entry).collect();
        let truncated = self.scan.truncated;
        (GlobDone { entries: entries.len() as u64, matched: self.matched, truncated }, entries)
    }
}
