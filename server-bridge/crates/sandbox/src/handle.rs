//! The handle: one user's place to work in.

use proto::handshake::RESOLVE_CAPABILITY;
use proto::message::{ExecEntry, ExecReport, Metadata, Resolved};
use proto::request::Present;
use proto::{ExecId, WirePath, request};

use crate::driver::{Command, LinkHandle, StartedBy};
use crate::error::SandboxError;
use crate::exec::{AttachOptions, Exec, ExecRequest, approval};
use crate::facts::RunnerFacts;
use crate::files::{DirReader, FileReader, FileWriter, Range, WriteOptions};
use crate::llm::{LlmRequest, LlmStream};
use crate::path_text::visible;
use crate::search::{GlobQuery, GlobReader, GrepQuery, GrepReader, SearchReader};
use crate::trees::{TreeReader, TreeWriter};

/// A place to run commands and keep files in, bound to one user.
///
/// Get a fresh one from [`crate::SandboxRouter::for_user`] for each piece of work: this one stays with one life of its
/// runner. What is under way survives a lost connection; what is begun while there is none is `offline` at once, unless the
/// runner said that it will be back, as for an update: then it waits, at most 90 s. Once the runner was started again without
/// such a word, all is `offline`. Paths are relative to the workspace or absolute inside it;
/// one with characters that cannot be seen in it is refused.
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

    /// True if work there goes on when this server stops, as it does on machines that dialled in.
    pub fn outlives_server(&self) -> bool {
        self.link.started_by() == StartedBy::User
    }

    /// The runner's description of itself, its optional abilities included.
    pub fn facts(&self) -> &RunnerFacts {
        self.link.facts()
    }

    /// True if a command as this user of the runner's machine needs an approval.
    pub fn needs_approval(&self, user: &str) -> bool {
        approval::needs_approval(self.facts(), user)
    }

    /// A command as the audit trail shows it: with whom it runs as, where the runner tells of its users or one is named.
    pub fn shown_as(&self, named: Option<&str>, command: &str) -> String {
        let default = self.facts().run_as.as_ref().map(|names| names.default.as_str());
        match named.or(default) {
            Some(user) => format!("as {user}: {command}"),
            None => command.to_owned(),
        }
    }

    /// Starts a command. Returns once the request is on its way; why it did not start comes as its only event.
    ///
    /// Fails with `offline` where the connection has ended, with `busy` where too much is under way, and with
    /// `approval_required` where it names the privileged user without an approval.
    pub async fn exec(&self, request: ExecRequest) -> Result<Exec, SandboxError> {
        approval::check(self.place(), self.facts(), request.run_as.as_ref())?;
        Exec::start(&self.link, request)
    }

    /// Goes on with an exec that an earlier process of the server, or someone else, started: its events from this
    /// offset of its output on, its end included.
    ///
    /// Its last event is a failure with `no_such_exec` where the runner never had it in its present life, `expired` where
    /// its result was acknowledged or forgotten, and `detached` once someone else attaches and the output is not retained.
    pub async fn attach(
        &self,
        exec_id: ExecId,
        offset: u64,
        options: AttachOptions,
    ) -> Result<Exec, SandboxError> {
        Exec::attach(&self.link, exec_id, offset, options)
    }

    /// Says that an exec's result arrived where it belongs, so that the runner may forget it.
    pub fn acknowledge(&self, exec_id: ExecId) {
        self.link.send(Command::Acknowledge(exec_id));
    }

    /// How an exec stands, with at most so many bytes of the head and of the tail of its output; at most 128 KiB each.
    pub async fn exec_report(
        &self,
        exec_id: ExecId,
        head_bytes: u32,
        tail_bytes: u32,
    ) -> Result<ExecReport, SandboxError> {
        self.link.call(request::Report { exec_id, head_bytes, tail_bytes }).await
    }

    /// The execs that the runner has not forgotten, the newest first.
    pub async fn exec_list(&self) -> Result<Vec<ExecEntry>, SandboxError> {
        Ok(self.link.call(request::List {}).await?.execs)
    }

    /// Reads a regular file; fails with what the runner found wrong with it.
    pub async fn read_file(&self, path: &[u8], range: Range) -> Result<FileReader, SandboxError> {
        visible(path)?;
        let Range { offset, length } = range;
        FileReader::open(&self.link, request::ReadFile { path: path.into(), offset, length }).await
    }

    /// Replaces or creates a regular file; what is wrong comes from the writer's methods.
    pub async fn write_file(&self, path: &[u8], options: WriteOptions) -> Result<FileWriter, SandboxError> {
        visible(path)?;
        let WriteOptions { mode, parents, size_bytes, if_match, present } = options;
        let write =
            request::WriteFile { id: new_id(), path: path.into(), mode, parents, size_bytes, if_match };
        match present {
            Some(present) => FileWriter::open(&self.link, request::WriteResolved { write, present }),
            None => FileWriter::open(&self.link, write),
        }
    }

    /// Where a path leads, also where nothing is yet; none where the runner cannot tell, as an older one.
    ///
    /// Fails with what the runner finds wrong with the path.
    pub async fn resolve(&self, path: &[u8]) -> Result<Option<Resolved>, SandboxError> {
        visible(path)?;
        if !self.facts().capabilities.iter().any(|name| name == RESOLVE_CAPABILITY) {
            return Ok(None);
        }
        self.link.call(request::Resolve { path: path.into() }).await.map(Some)
    }

    /// Facts about a path, symlinks followed.
    pub async fn stat(&self, path: &[u8]) -> Result<Metadata, SandboxError> {
        visible(path)?;
        self.link.call(request::Stat { path: path.into() }).await
    }

    /// Lists a directory; what is wrong with it comes from the reader.
    pub async fn read_dir(&self, path: &[u8]) -> Result<DirReader, SandboxError> {
        visible(path)?;
        DirReader::open(&self.link, request::ReadDir { path: path.into() })
    }

    /// Finds paths by a pattern, the newest first; what is wrong with it comes from the reader.
    pub async fn glob(&self, query: GlobQuery) -> Result<GlobReader, SandboxError> {
        visible(&query.path)?;
        let GlobQuery { pattern, path, ignored, max_results } = query;
        let path = WirePath(path);
        SearchReader::open(&self.link, request::Glob { pattern, path, ignored, max_results })
    }

    /// Finds lines by a regular expression; what is wrong with it comes from the reader.
    pub async fn grep(&self, query: GrepQuery) -> Result<GrepReader, SandboxError> {
        visible(&query.path)?;
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

    /// Reads a directory with all that is in it, as a tar archive; what is wrong with it comes from the reader.
    pub async fn read_tree(&self, path: &[u8]) -> Result<TreeReader, SandboxError> {
        visible(path)?;
        TreeReader::open(&self.link, request::ReadTree { path: path.into() })
    }

    /// Fills a directory from a tar archive; with `delete_extra` it becomes a mirror, and what the archive has not is
    /// removed. What is wrong comes from the writer's methods.
    pub async fn write_tree(&self, path: &[u8], delete_extra: bool) -> Result<TreeWriter, SandboxError> {
        visible(path)?;
        TreeWriter::open(&self.link, request::WriteTree { id: new_id(), path: path.into(), delete_extra })
    }

    /// Lets the runner fetch a URL into a file; the file's size once it is on disk under its name.
    ///
    /// The runner connects from wherever it is, to private addresses too. Dropped, this stops it and leaves nothing.
    pub async fn download(&self, download: DownloadRequest) -> Result<u64, SandboxError> {
        visible(&download.path)?;
        let DownloadRequest { url, path, mode, parents, max_bytes, sha256, present } = download;
        let path = WirePath(path);
        let download = request::Download { id: new_id(), url, path, mode, parents, max_bytes, sha256 };
        let written = match present {
            Some(present) => self.link.call(request::DownloadResolved { download, present }).await?,
            None => self.link.call(download).await?,
        };
        Ok(written.bytes)
    }

    /// Asks the LLM endpoint that the runner was given, with the key that only the runner holds: write the body, then
    /// [`LlmStream::finish`]. [`RunnerFacts::llm_provider`] says whether there is one and what it speaks.
    ///
    /// Fails later with `unsupported` where there is none, and as `lost` with the link: it is never asked twice.
    pub async fn llm(&self, request: LlmRequest) -> Result<LlmStream, SandboxError> {
        LlmStream::open(&self.link, request)
    }

    /// Makes a directory and whatever parents are missing, with these permission bits.
    pub async fn mkdir_all(&self, path: &[u8], mode: u32) -> Result<(), SandboxError> {
        visible(path)?;
        self.link.call(request::MkdirAll { id: new_id(), path: path.into(), mode }).await.map(|_| ())
    }

    /// Removes a file, a symlink or an empty directory.
    pub async fn remove(&self, path: &[u8]) -> Result<(), SandboxError> {
        visible(path)?;
        self.link.call(request::Remove { id: new_id(), path: path.into() }).await.map(|_| ())
    }

    /// Removes a tree; a missing one is not an error.
    pub async fn remove_all(&self, path: &[u8]) -> Result<(), SandboxError> {
        visible(path)?;
        self.link.call(request::RemoveAll { id: new_id(), path: path.into() }).await.map(|_| ())
    }

    /// Renames within the workspace, replacing the target.
    pub async fn rename(&self, from: &[u8], to: &[u8]) -> Result<(), SandboxError> {
        visible(from)?;
        visible(to)?;
        let request = request::Rename { id: new_id(), from: WirePath::from(from), to: WirePath::from(to) };
        self.link.call(request).await.map(|_| ())
    }
}

/// A file that a runner is to fetch, and its destination.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DownloadRequest {
    /// `http` or `https`.
    pub url: String,
    /// The file.
    pub path: Vec<u8>,
    /// Permission bits; the old file's, or 0o644, when absent.
    pub mode: Option<u32>,
    /// True if missing parent directories are made.
    pub parents: bool,
    /// At most this many bytes; the runner has a limit of its own.
    pub max_bytes: u64,
    /// Fails with `precondition_failed` unless the content has this SHA-256.
    pub sha256: Option<[u8; 32]>,
    /// As [`WriteOptions::present`].
    pub present: Option<Present>,
}

/// Names a change, so that it is made once.
fn new_id() -> ExecId {
    ExecId(rand::random())
}
