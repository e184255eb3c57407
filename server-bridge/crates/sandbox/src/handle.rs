//! The handle: one user's place to work in.

use proto::message::Metadata;
use proto::{ExecId, WirePath, request};

use crate::driver::LinkHandle;
use crate::error::SandboxError;
use crate::exec::{Exec, ExecRequest};
use crate::facts::RunnerFacts;
use crate::files::{DirReader, FileReader, FileWriter, Range, WriteOptions};
use crate::search::{GlobQuery, GlobReader, GrepQuery, GrepReader, SearchReader};

/// A place to run commands and keep files in, bound to one user.
///
/// Get a fresh one from [`crate::SandboxRouter::for_user`] for each piece of work: this one stays with its connection,
/// and everything on it is `offline` once that has ended. Paths are relative to the workspace or absolute beneath it.
#[derive(Debug, Clone)]
pub struct Sandbox {
    link: LinkHandle,
}

impl Sandbox {
    pub(crate) fn new(link: LinkHandle) -> Self {
        Self { link }
    }

    /// The name the user is shown: a runner's, [`crate::DOCKER`] or [`crate::NONE`].
    pub fn place(&self) -> &str {
        self.link.place()
    }

    /// What the runner said of itself, its optional abilities included.
    pub fn facts(&self) -> &RunnerFacts {
        self.link.facts()
    }

    /// Starts a command. Returns once the request is on its way; why it did not start comes as its only event.
    ///
    /// Fails with `offline` where the connection has ended, and with `busy` where too much is under way.
    pub async fn exec(&self, request: ExecRequest) -> Result<Exec, SandboxError> {
        Exec::start(&self.link, request)
    }

    /// Reads a regular file; fails with what the runner found wrong with it.
    pub async fn read_file(&self, path: &[u8], range: Range) -> Result<FileReader, SandboxError> {
        let Range { offset, length } = range;
        FileReader::open(&self.link, request::ReadFile { path: path.into(), offset, length }).await
    }

    /// Replaces or creates a regular file; what is wrong comes from the writer's methods.
    pub async fn write_file(&self, path: &[u8], options: WriteOptions) -> Result<FileWriter, SandboxError> {
        let WriteOptions { mode, parents, size_bytes, if_match } = options;
        let request =
            request::WriteFile { id: new_id(), path: path.into(), mode, parents, size_bytes, if_match };
        FileWriter::open(&self.link, request)
    }

    /// Facts about a path, symlinks followed.
    pub async fn stat(&self, path: &[u8]) -> Result<Metadata, SandboxError> {
        self.link.call(request::Stat { path: path.into() }).await
    }

    /// Lists a directory; what is wrong with it comes from the reader.
    pub async fn read_dir(&self, path: &[u8]) -> Result<DirReader, SandboxError> {
        DirReader::open(&self.link, request::ReadDir { path: path.into() })
    }

    /// Finds paths by a pattern, the newest first; what is wrong with it comes from the reader.
    pub async fn glob(&self, query: GlobQuery) -> Result<GlobReader, SandboxError> {
        let GlobQuery { pattern, path, ignored, max_results } = query;
        let path = WirePath(path);
        SearchReader::open(&self.link, request::Glob { pattern, path, ignored, max_results })
    }

    /// Finds lines by a regular expression; what is wrong with it comes from the reader.
    pub async fn grep(&self, query: GrepQuery) -> Result<GrepReader, SandboxError> {
        let request = request::Grep {
            pattern: query.pattern,
            path: WirePath(query.path),
            include: query.include,
            ignore_case: query.ignore_case,
            context_lines: query.context_lines,
            ignored: query.ignored,
            max_results: query.max_results,
        };
        SearchReader::open(&self.link, request)
    }

    /// Makes a directory and whatever parents are missing, with these permission bits.
    pub async fn mkdir_all(&self, path: &[u8], mode: u32) -> Result<(), SandboxError> {
        self.link.call(request::MkdirAll { id: new_id(), path: path.into(), mode }).await.map(|_| ())
    }

    /// Removes a file, a symlink or an empty directory.
    pub async fn remove(&self, path: &[u8]) -> Result<(), SandboxError> {
        self.link.call(request::Remove { id: new_id(), path: path.into() }).await.map(|_| ())
    }

    /// Removes a tree; nothing there is fine.
    pub async fn remove_all(&self, path: &[u8]) -> Result<(), SandboxError> {
        self.link.call(request::RemoveAll { id: new_id(), path: path.into() }).await.map(|_| ())
    }

    /// Renames within the workspace, replacing the target.
    pub async fn rename(&self, from: &[u8], to: &[u8]) -> Result<(), SandboxError> {
        let request = request::Rename { id: new_id(), from: WirePath::from(from), to: WirePath::from(to) };
        self.link.call(request).await.map(|_| ())
    }
}

/// Names a change, so that it is made once.
fn new_id() -> ExecId {
    ExecId(rand::random())
}
