//! The walk that both searches share, and its limits.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, Instant};

use pathguard::{Error, Kind, OpenFile, Root, Visit, Walk};
use proto::limits::MAX_PATH_BYTES;
use proto::message::Truncation;

use super::ignores::Ignores;
use crate::limits::{SEARCH_ENTRIES, SEARCH_SLICE_MS, SEARCH_TIME_MS};

/// Never searched: git's own files.
const GIT: &str = ".git";

/// A walk that skips ignored paths, and stops at its limits.
#[derive(Debug)]
pub(super) struct Scan {
    walk: Walk,
    /// The prefix of each visited path.
    prefix: Vec<u8>,
    ignores: Option<Ignores>,
    /// Directories at this depth are not entered.
    depth_limit: usize,
    looked_at: u64,
    /// The number of entries that could not be read.
    pub(super) unreadable: u64,
    /// The first reason why the search is incomplete.
    pub(super) truncated: Option<Truncation>,
}

/// One step of a scan.
#[derive(Debug)]
pub(super) enum Step {
    /// An entry that is not excluded, and its path as other requests accept it.
    Found(Visit, Vec<u8>),
    /// An excluded entry.
    Passed,
    End,
}

impl Scan {
    /// Starts at a directory; `ignored` also shows what `.gitignore` files exclude.
    pub(super) fn new(
        root: &Root,
        path: &Path,
        ignored: bool,
        depth_limit: usize,
    ) -> pathguard::Result<Self> {
        let walk = root.walk(path)?;
        let mut prefix = path.as_os_str().as_bytes().to_vec();
        while let Some(shorter) = prefix.strip_suffix(b"/").or_else(|| prefix.strip_suffix(b"/.")) {
            prefix.truncate(shorter.len());
        }
        if prefix == b"." {
            prefix.clear();
        } else {
            prefix.push(b'/');
        }
        let ignores = (!ignored).then(|| Ignores::new(root, path));
        Ok(Self { walk, prefix, ignores, depth_limit, looked_at: 0, unreadable: 0, truncated: None })
    }

    pub(super) fn next(&mut self) -> Step {
        let visit = match self.walk.next() {
            None => return Step::End,
            Some(Err(_)) => {
                self.unreadable += 1;
                return Step::Passed;
            }
            Some(Ok(visit)) => visit,
        };
        self.looked_at += 1;
        if self.looked_at > SEARCH_ENTRIES {
            self.truncate(Truncation::Entries);
            return Step::End;
        }
        let is_directory = visit.metadata.kind == Kind::Directory;
        if is_directory && Path::new(&visit.path).file_name() == Some(OsStr::new(GIT)) {
            return Step::Passed;
        }
        if self.ignores.as_mut().is_some_and(|ignores| ignores.excludes(&visit, is_directory)) {
            return Step::Passed;
        }
        let path = [&self.prefix[..], visit.path.as_bytes()].concat();
        if path.len() >= MAX_PATH_BYTES {
            self.truncate(Truncation::Depth);
            return Step::Passed;
        }
        if is_directory && visit.depth < self.depth_limit {
            self.enter(&visit);
        }
        Step::Found(visit, path)
    }

    /// Opens the file that was found last; `None`, counting it, if that fails.
    pub(super) fn open_file(&mut self) -> Option<OpenFile> {
        match self.walk.open_file() {
            Ok(file) => Some(file),
            Err(error) => {
                self.count(error);
                None
            }
        }
    }

    /// Records why the result is incomplete; the first reason stays.
    pub(super) fn truncate(&mut self, reason: Truncation) {
        self.truncated.get_or_insert(reason);
    }

    fn enter(&mut self, visit: &Visit) {
        match self.walk.enter() {
            Ok(()) => {
                if let Some(ignores) = &mut self.ignores {
                    ignores.enter(&self.walk, visit);
                }
            }
            Err(Error::TooDeep) => self.truncate(Truncation::Depth),
            Err(error) => self.count(error),
        }
    }

    fn count(&mut self, error: Error) {
        // An entry that vanished, or changed its type, since it was listed counts as one that never existed.
        if !matches!(error, Error::NotFound | Error::NotADirectory | Error::TooManySymlinks) {
            self.unreadable += 1;
        }
    }
}

/// The time budget of a search.
#[derive(Debug)]
pub(super) struct Clock {
    spent: Duration,
    slice: Instant,
}

impl Clock {
    pub(super) fn new() -> Self {
        Self { spent: Duration::ZERO, slice: Instant::now() }
    }

    /// Call this when a slice begins: the time since the last one does not count.
    pub(super) fn begin(&mut self) {
        self.slice = Instant::now();
    }

    /// True if the time slice is over.
    pub(super) fn is_slice_over(&mut self) -> bool {
        let elapsed = self.slice.elapsed();
        let is_over = elapsed >= Duration::from_millis(SEARCH_SLICE_MS);
        if is_over {
            self.spent += elapsed;
        }
        is_over
    }

    /// True if the whole time is spent.
    pub(super) fn is_over(&self) -> bool {
        self.spent >= Duration::from_millis(SEARCH_TIME_MS)
    }
}
