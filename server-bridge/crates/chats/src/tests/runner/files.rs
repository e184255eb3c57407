//! The scripted runner's files, kept in memory.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use proto::message::{
    DirBatch, DirEntry, DirRead, Done, FileKind, FileOpened, FileRead, FileWritten, Metadata,
};
use proto::request::ReadFile;
use proto::{Channel, DataBuf, ErrorKind, Request, Session, StreamId, WireError, codec};

/// The workspace's path, as the runner declares it at registration.
const WORKSPACE: &str = "/workspace";

/// The largest piece of a file that is sent at once, in bytes.
const PIECE_BYTES: usize = 32 * 1024;

/// The default modification time of a file, in Unix milliseconds.
const MODIFIED_MS: i64 = 1_000_000;

/// The paths and contents of the files, and a switch that makes writing fail. Paths are relative to the workspace.
#[derive(Clone, Default)]
pub(in crate::tests) struct Files {
    pub(in crate::tests) written: Arc<Mutex<HashMap<String, Vec<u8>>>>,
    pub(in crate::tests) refuse: Arc<Mutex<bool>>,
    modified_ms: Arc<Mutex<HashMap<String, i64>>>,
    /// The requests, in order.
    pub(in crate::tests) asked: Arc<Mutex<Vec<String>>>,
    are_held: Arc<AtomicBool>,
    waiting: Arc<Mutex<Vec<(StreamId, ReadFile)>>>,
}

impl Files {
    /// Adds an empty file with this modification time.
    pub(in crate::tests) fn put(&self, path: &str, modified_ms: i64) {
        self.written.lock().unwrap().insert(path.to_owned(), Vec::new());
        self.modified_ms.lock().unwrap().insert(path.to_owned(), modified_ms);
    }

    /// Writes a file, replacing an earlier one.
    pub(in crate::tests) fn write(&self, path: &str, content: &str) {
        self.written.lock().unwrap().insert(path.to_owned(), content.as_bytes().to_vec());
    }

    /// A file's content, if it exists.
    pub(in crate::tests) fn content(&self, path: &str) -> Option<String> {
        self.written.lock().unwrap().get(path).map(|content| text(content))
    }

    /// Removes a file.
    pub(super) fn remove(&self, path: &str) {
        self.written.lock().unwrap().remove(path);
    }

    /// Makes reads wait from now on.
    pub(in crate::tests) fn hold(&self) {
        self.are_held.store(true, Ordering::SeqCst);
    }

    /// Answers a request about files; for a file that is to be written, returns the path.
    pub(super) fn answer(&self, session: &mut Session, id: StreamId, request: Request) -> Option<String> {
        match request {
            Request::WriteFile(_) if *self.refuse.lock().unwrap() => {
                session.fail(id, &WireError::new(ErrorKind::ReadOnly, "the workspace is read-only"));
            }
            Request::WriteFile(file) => {
                let path = path(&file.path.0);
                self.asked.lock().unwrap().push(format!("write {path}"));
                return Some(path);
            }
            Request::ReadFile(read) if self.written.lock().unwrap().contains_key(&path(&read.path.0)) => {
                self.asked.lock().unwrap().push(format!("read {}", path(&read.path.0)));
                self.waiting.lock().unwrap().push((id, read));
                if !self.are_held.load(Ordering::SeqCst) {
                    self.answer_reads(session);
                }
            }
            Request::ReadFile(_) => missing(session, id),
            Request::Stat(stat) => match self.metadata(&path(&stat.path.0)) {
                Some(metadata) => session.message(id, &metadata.into(), true).unwrap(),
                None => missing(session, id),
            },
            Request::ReadDir(read) => self.list(session, id, &path(&read.path.0)),
            Request::Remove(remove) => match self.written.lock().unwrap().remove(&path(&remove.path.0)) {
                Some(_) => session.message(id, &Done {}.into(), true).unwrap(),
                None => missing(session, id),
            },
            other => panic!("not in the script: {other:?}"),
        }
        None
    }

    /// Answers all pending reads.
    pub(super) fn answer_reads(&self, session: &mut Session) {
        for (id, read) in std::mem::take(&mut *self.waiting.lock().unwrap()) {
            let path = path(&read.path.0);
            let content = self.written.lock().unwrap()[&path].clone();
            let Metadata { size_bytes, mode, modified_ms, .. } = self.metadata(&path).unwrap();
            session.message(id, &FileOpened { size_bytes, mode, modified_ms }.into(), false).unwrap();
            let from = content.len().min(usize::try_from(read.offset).unwrap());
            let most = read.length.map_or(usize::MAX, |length| usize::try_from(length).unwrap());
            let part = &content[from..content.len().min(from.saturating_add(most))];
            assert!(part.len() <= session.writable(id), "{path} is longer than a script sends at once");
            for piece in part.chunks(PIECE_BYTES) {
                session.data(id, Channel::Main, DataBuf::copy_from(piece));
            }
            session.end(id, Channel::Main);
            session.message(id, &FileRead { bytes: part.len() as u64 }.into(), true).unwrap();
        }
    }

    /// Stores a completely received file.
    pub(super) fn keep(&self, session: &mut Session, id: StreamId, path: String, content: Vec<u8>) {
        let bytes = content.len() as u64;
        self.written.lock().unwrap().insert(path, content);
        session.message(id, &FileWritten { bytes }.into(), true).unwrap();
    }

    /// Metadata of a file, or of a directory implied by the files' paths.
    fn metadata(&self, path: &str) -> Option<Metadata> {
        let files = self.written.lock().unwrap();
        let Some(content) = files.get(path) else {
            let is_directory = path == "." || files.keys().any(|file| beneath(file, path).is_some());
            let metadata =
                Metadata { kind: FileKind::Directory, size_bytes: 0, mode: 0o700, modified_ms: MODIFIED_MS };
            return is_directory.then_some(metadata);
        };
        let modified_ms = self.modified_ms.lock().unwrap().get(path).copied().unwrap_or(MODIFIED_MS);
        Some(Metadata { kind: FileKind::File, size_bytes: content.len() as u64, mode: 0o600, modified_ms })
    }

    fn list(&self, session: &mut Session, id: StreamId, directory: &str) {
        let files = self.written.lock().unwrap();
        let within = files.keys().filter_map(|path| beneath(path, directory));
        let kinds: BTreeMap<&str, FileKind> = within
            .map(|path| match path.split_once('/') {
                Some((name, _)) => (name, FileKind::Directory),
                None => (path, FileKind::File),
            })
            .collect();
        let entry = |(name, kind): (&str, FileKind)| DirEntry { name: name.into(), kind, size_bytes: 0 };
        let entries: Vec<DirEntry> = kinds.into_iter().map(entry).collect();
        let count = entries.len() as u64;
        let batch = codec::encode(&DirBatch { entries }).unwrap();
        session.data(id, Channel::Main, DataBuf::copy_from(&batch));
        session.end(id, Channel::Main);
        session.message(id, &DirRead { entries: count }.into(), true).unwrap();
    }
}

/// The rest of a path within a directory.
fn beneath<'a>(path: &'a str, directory: &str) -> Option<&'a str> {
    if directory == "." { Some(path) } else { path.strip_prefix(directory)?.strip_prefix('/') }
}

/// A path relative to the workspace, without redundant parts.
fn path(path: &[u8]) -> String {
    let path = text(path);
    let path = path.strip_prefix(WORKSPACE).unwrap_or(&path);
    let mut parts = Vec::new();
    for part in path.split('/').filter(|part| !part.is_empty() && *part != ".") {
        match part {
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    if parts.is_empty() { ".".to_owned() } else { parts.join("/") }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn missing(session: &mut Session, id: StreamId) {
    session.fail(id, &WireError::new(ErrorKind::NotFound, "nothing is there"));
}
