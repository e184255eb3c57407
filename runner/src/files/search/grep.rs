//! Finding lines by a regular expression.

use std::collections::VecDeque;

use globset::GlobMatcher;
use pathguard::{Error, Kind, OpenFile, Root};
use proto::message::{GrepBatch, GrepDone, GrepFile, GrepLine, Truncation};
use proto::request::Grep;
use proto::{Channel, DataBuf, WireError, codec};
use regex::bytes::{Regex, RegexBuilder};

use super::lines::{self, Lines};
use super::scan::{self, Clock, Scan};
use super::{bad_pattern, check_length, path_pattern};
use crate::files::{Files, path, path_error};
use crate::limits::{
    DIRECTORY_BATCH_BYTES, GREP_CONTEXT_LINES, GREP_RESULT_BYTES, GREP_RESULTS, SEARCH_PROGRAM_BYTES,
};
use crate::stream::{Stopped, StreamHandle};

/// The size of an encoded line without its text: number, two marks and length.
const LINE_BYTES: usize = 8 + 1 + 1 + 8;

/// The size of an encoded file without its path and lines: their two lengths.
const FILE_BYTES: usize = 8 + 8;

/// Answers a `Grep`.
pub(crate) async fn grep(files: Files, stream: StreamHandle, request: Grep) {
    let answer = transfer(files, &stream, request).await;
    stream.finish(answer);
}

async fn transfer(
    Files { root, disk }: Files,
    stream: &StreamHandle,
    request: Grep,
) -> Result<GrepDone, WireError> {
    let start = move || Search::start(&root, &request).map(Search::slice);
    let (mut search, mut batch) = disk.run(start).await??;
    loop {
        if stream.is_stopped() {
            return Err(Stopped.into());
        }
        if !batch.files.is_empty() {
            let body = codec::encode(&batch)?;
            // A batch has to fit one DATA frame, so this waits for room for all of it.
            stream.room(body.len()).await?;
            stream.data(Channel::Main, DataBuf::copy_from(&body));
        }
        if search.is_over() {
            break;
        }
        (search, batch) = disk.run(move || search.slice()).await?;
    }
    stream.end(Channel::Main);
    Ok(search.done)
}

struct Search {
    /// `None` once everything was searched; for a single file from the start.
    scan: Option<Scan>,
    clock: Clock,
    pattern: Regex,
    include: Option<GlobMatcher>,
    context_lines: usize,
    max_results: u64,
    current: Option<Current>,
    text_bytes: u64,
    done: GrepDone,
}

/// The file being searched.
struct Current {
    lines: Lines,
    path: Vec<u8>,
    /// Lines that no batch had room for yet.
    ready: VecDeque<GrepLine>,
    has_match: bool,
    /// True if nothing follows the ready lines.
    ended: bool,
}

impl Current {
    fn new(open: OpenFile, path: Vec<u8>, context_lines: usize) -> Self {
        let lines = Lines::new(open.into_file(), context_lines);
        Self { lines, path, ready: VecDeque::new(), has_match: false, ended: false }
    }
}

impl Search {
    fn start(root: &Root, request: &Grep) -> Result<Self, WireError> {
        check_length(&request.pattern)?;
        let pattern = RegexBuilder::new(&request.pattern)
            .case_insensitive(request.ignore_case)
            .size_limit(SEARCH_PROGRAM_BYTES)
            .build()
            .map_err(|error| bad_pattern(&request.pattern, error))?;
        let include = request.include.as_deref().map(|include| match include.contains('/') {
            true => path_pattern(include.strip_prefix("./").unwrap_or(include)),
            false => path_pattern(&format!("**/{include}")),
        });
        let mut search = Self {
            scan: None,
            clock: Clock::new(),
            pattern,
            include: include.transpose()?,
            context_lines: request.context_lines.min(GREP_CONTEXT_LINES) as usize,
            max_results: u64::from(request.max_results).min(GREP_RESULTS),
            current: None,
            text_bytes: 0,
            done: GrepDone { matches: 0, files: 0, searched: 0, binary: 0, unreadable: 0, truncated: None },
        };
        match root.open_file(path(&request.path)) {
            Ok(file) => {
                search.done.searched = 1;
                let path = request.path.as_bytes().to_vec();
                search.current = Some(Current::new(file, path, search.context_lines));
            }
            Err(Error::IsADirectory) => {
                let scan = Scan::new(root, path(&request.path), request.ignored, usize::MAX);
                search.scan = Some(scan.map_err(path_error)?);
            }
            Err(error) => return Err(path_error(error)),
        }
        Ok(search)
    }

    fn is_over(&self) -> bool {
        self.scan.is_none() && self.current.is_none()
    }

    /// Searches for a while, or until a batch is full.
    fn slice(mut self) -> (Self, GrepBatch) {
        let mut batch = Batch::default();
        self.clock.begin();
        while !self.is_over() && !self.clock.is_slice_over() {
            match self.current.take() {
                None => self.next_file(),
                Some(mut current) => {
                    let has_room = batch.take(&mut current, &mut self.text_bytes);
                    if !has_room {
                        self.current = Some(current);
                        break;
                    }
                    if self.text_bytes > GREP_RESULT_BYTES {
                        self.stop(Truncation::Results);
                    } else if !current.ended {
                        self.step(&mut current);
                        self.current = Some(current);
                    }
                }
            }
        }
        if !self.is_over() && self.clock.is_over() {
            self.stop(Truncation::Time);
        }
        (self, GrepBatch { files: batch.files })
    }

    fn next_file(&mut self) {
        let Some(scan) = &mut self.scan else { return };
        match scan.next() {
            scan::Step::Passed => {}
            scan::Step::End => {
                self.done.truncated = self.done.truncated.or(scan.truncated);
                self.done.unreadable += scan.unreadable;
                self.scan = None;
            }
            scan::Step::Found(visit, path) => {
                let is_wanted = visit.metadata.kind == Kind::File
                    && self.include.as_ref().is_none_or(|include| include.is_match(&visit.path));
                if is_wanted && let Some(file) = scan.open_file() {
                    self.done.searched += 1;
                    self.current = Some(Current::new(file, path, self.context_lines));
                }
            }
        }
    }

    fn step(&mut self, current: &mut Current) {
        match current.lines.step(&self.pattern) {
            Ok(lines::Step::Read | lines::Step::Nothing) => {}
            Ok(lines::Step::Context(line)) => current.ready.push_back(line),
            Ok(lines::Step::Match(_)) if self.done.matches >= self.max_results => {
                current.ended = true;
                self.stop(Truncation::Results);
            }
            Ok(lines::Step::Match(lines)) => {
                self.done.matches += 1;
                self.done.files += u64::from(!std::mem::replace(&mut current.has_match, true));
                current.ready.extend(lines);
            }
            Ok(lines::Step::LongLine) => {
                self.done.truncated.get_or_insert(Truncation::LongLine);
            }
            Ok(lines::Step::Binary) => {
                self.done.binary += 1;
                current.ended = true;
            }
            Ok(lines::Step::End) => current.ended = true,
            Err(_) => {
                self.done.unreadable += 1;
                current.ended = true;
            }
        }
    }

    /// Gives up the rest of the search.
    fn stop(&mut self, reason: Truncation) {
        let scan = self.scan.take();
        self.done.unreadable += scan.as_ref().map_or(0, |scan| scan.unreadable);
        self.done.truncated = self.done.truncated.or(scan.and_then(|scan| scan.truncated)).or(Some(reason));
        self.current = None;
    }
}

/// A batch being filled.
#[derive(Default)]
struct Batch {
    files: Vec<GrepFile>,
    bytes: usize,
}

impl Batch {
    /// Takes a file's ready lines; `false` if there is no room for all of them.
    fn take(&mut self, current: &mut Current, text_bytes: &mut u64) -> bool {
        while let Some(line) = current.ready.pop_front() {
            let is_new = self.files.last().is_none_or(|file| file.path != current.path);
            let head = if is_new { FILE_BYTES + current.path.len() } else { 0 };
            let bytes = head + LINE_BYTES + line.text.len();
            // The list's own length comes first.
            if 8 + self.bytes + bytes > DIRECTORY_BATCH_BYTES {
                current.ready.push_front(line);
                return false;
            }
            self.bytes += bytes;
            *text_bytes += line.text.len() as u64;
            if is_new {
                self.files.push(GrepFile { path: current.path.clone(), lines: Vec::new() });
            }
            if let Some(file) = self.files.last_mut() {
                file.lines.push(line);
            }
        }
        true
    }
}
