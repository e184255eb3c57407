//! The scripted runner's files, kept in memory.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use proto::message::{
    DirBatch, DirEntry, DirRead, Done, FileKind, FileOpened, FileRead, FileWritten, Metadata,
};
use proto::{Channel, DataBuf, ErrorKind, Request, Session, StreamId, WireError, codec};

/// When a file was changed, unless a test says otherwise, in Unix milliseconds.
const MODIFIED_MS: i64 = 1_000_000;

/// Path and content of the files, and whether writing works at all.
#[derive(Clone, Default)]
pub(in crate::tests) struct Files {
    pub(in crate::tests) written: Arc<Mutex<HashMap<String, Vec<u8>>>>,
    pub(in crate::tests) refuse: Arc<Mutex<bool>>,
    modified_ms: Arc<Mutex<HashMap<String, i64>>>,
    /// What was asked for, in the order it was; and reads that wait to be answered.
    pub(in crate::tests) asked: Arc<Mutex<Vec<String>>>,
    waiting: Arc<Mutex<Vec<(StreamId, String)>>>,
}

impl Files {
    /// Puts a file there that was changed at this time.
    pub(in crate::tests) fn put(&self, path: &str, modified_ms: i64) {
        self.written.lock().unwrap().insert(path.to_owned(), Vec::new());
        self.modified_ms.lock().unwrap().insert(path.to_owned(), modified_ms);
    }

    /// Answers what is asked about files; of a file that shall be written, the path.
    pub(super) fn answer(&self, session: &mut Session, id: StreamId, request: Request) -> Option<String> {
        match request {
            Request::WriteFile(_) if *self.refuse.lock().unwrap() => {
                session.fail(id, &WireError::new(ErrorKind::ReadOnly, "the workspace is read-only"));
            }
            Request::WriteFile(file) => {
                let path = text(&file.path.0);
                self.asked.lock().unwrap().push(format!("write {path}"));
                return Some(path);
            }
            Request::ReadFile(read) if self.written.lock().unwrap().contains_key(&text(&read.path.0)) => {
                let path = text(&read.path.0);
                self.asked.lock().unwrap().push(format!("read {path}"));
                self.waiting.lock().unwrap().push((id, path));
            }
            Request::ReadFile(_) => missing(session, id),
            Request::Stat(stat) => match self.metadata(&text(&stat.path.0)) {
                Some(metadata) => session.message(id, &metadata.into(), true).unwrap(),
                None => missing(session, id),
            },
            Request::ReadDir(read) => self.list(session, id, &text(&read.path.0)),
            Request::Remove(remove) => match self.written.lock().unwrap().remove(&text(&remove.path.0)) {
                Some(_) => session.message(id, &Done {}.into(), true).unwrap(),
                None => missing(session, id),
            },
            other => panic!("not in the script: {other:?}"),
        }
        None
    }

    /// Answers all reads that wait.
    pub(super) fn answer_reads(&self, session: &mut Session) {
        for (id, path) in std::mem::take(&mut *self.waiting.lock().unwrap()) {
            let content = self.written.lock().unwrap()[&path].clone();
            let opened =
                FileOpened { size_bytes: content.len() as u64, mode: 0o600, modified_ms: MODIFIED_MS };
            session.message(id, &opened.into(), false).unwrap();
            session.data(id, Channel::Main, DataBuf::copy_from(&content));
            session.end(id, Channel::Main);
            session.message(id, &FileRead { bytes: content.len() as u64 }.into(), true).unwrap();
        }
    }

    /// Keeps a file that arrived whole.
    pub(super) fn keep(&self, session: &mut Session, id: StreamId, path: String, content: Vec<u8>) {
        let bytes = content.len() as u64;
        self.written.lock().unwrap().insert(path, content);
        session.message(id, &FileWritten { bytes }.into(), true).unwrap();
    }

    fn metadata(&self, path: &str) -> Option<Metadata> {
        let size_bytes = self.written.lock().unwrap().get(path)?.len() as u64;
        let modified_ms = self.modified_ms.lock().unwrap().get(path).copied().unwrap_or(MODIFIED_MS);
        Some(Metadata { kind: FileKind::File, size_bytes, mode: 0o600, modified_ms })
    }

    fn list(&self, session: &mut Session, id: StreamId, directory: &str) {
        let files = self.written.lock().unwrap();
        let within = files.keys().filter_map(|path| path.strip_prefix(directory)?.strip_prefix('/'));
        let entry = |name: &str| DirEntry { name: name.into(), kind: FileKind::File, size_bytes: 0 };
        let entries: Vec<DirEntry> = within.map(entry).collect();
        let count = entries.len() as u64;
        let batch = codec::encode(&DirBatch { entries }).unwrap();
        session.data(id, Channel::Main, DataBuf::copy_from(&batch));
        session.end(id, Channel::Main);
        session.message(id, &DirRead { entries: count }.into(), true).unwrap();
    }
}

fn text(path: &[u8]) -> String {
    String::from_utf8(path.to_vec()).unwrap()
}

fn missing(session: &mut Session, id: StreamId) {
    session.fail(id, &WireError::new(ErrorKind::NotFound, "nothing is there"));
}
