//! The handle of a user's place to work in.

use proto::handshake::{HASH_TREE_CAPABILITY, RESOLVE_CAPABILITY, WORKTREE_CAPABILITY};
use proto::message::{ExecEntry, ExecReport, Metadata, Resolved};
use proto::request::{Present, WorktreeAction};
use proto::{ExecId, WirePath, request};

use crate::driver::{Command, LinkHandle, StartedBy};
use crate::error::SandboxError;
use crate::exec::{AttachOptions, Exec, ExecRequest, approval};
use crate::facts::RunnerFacts;
use crate::files::{DirReader, FileReader, FileWriter, Range, WriteOptions};
use crate::http::{HttpAnswer, HttpRequest};
use crate::llm::{LlmRequest, LlmStream};
use crate::path_text::visible;
use crate::search::{GlobQuery, GlobReader, GrepQuery, GrepReader, SearchReader};
use crate::trees::{TreeReader, TreeWriter};

/// A place to run commands and keep files in, bound to one user.
///
/// Get a fresh one from [`crate::SandboxRouter::for_user`] for each piece of work: this one stays with one process of its
/// runner. Requests in progress survive a lost connection; requests begun without one are `offline` at once, unless the
/// runner announced that it will be back, as for an update: then they wait, at most 90 s. After a restart of the runner
/// without such an announcement, all are `offline`. Paths are relative to the workspace or absolute inside it; a path with
/// invisible characters is refused.
#[derive(Debug, Clone)]
pub struct Sandbox {
    link: LinkHandle,
}

impl Sandbox {
    pub(crate) fn new(link: LinkHandle) -> Self {
        Self { link }
    }

    #[cfg(test)]
    pub(crate) fn link(&self) -> &LinkHandle {
        &self.link
    }

    /// The name shown to the user: a runner's, [`crate::DOCKER`] or [`crate::NONE`].
    pub fn place(&self) -> &str {
        self.link.place()
    }

    /// True if work there continues when this server stops, as it does on machines that dialled in.
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

    /// A command as the audit trail shows it: with the user it runs as, if the runner reports its users or one is named.
    pub fn shown_as(&self, named: Option<&str>, command: &str) -> String {
        let default = self.facts().run_as.as_ref().map(|names| names.default.as_str());
        match named.or(default) {
            Some(user) => format!("as {user}: {command}"),
            None => command.to_owned(),
        }
    }

    /// Starts a command. Returns once the request is sent; if the command does not start, the reason is its only event.
    ///
    /// Fails with `offline` if the connection has ended, with `busy` if too much is in progress, and with
    /// `approval_required` if it names the privileged user without an approval.
    pub async fn exec(&self, request: ExecRequest) -> Result<Exec, SandboxError> {
        approval::check(self.place(), self.facts(), request.run_as.as_ref())?;
        Exec::start(&self.link, request)
    }

    /// Attaches to an exec that an earlier process of the server, or another caller, started: returns its events from this
    /// offset of its output on, including its end.
    ///
    /// The exec's last event is a failure with `no_such_exec` if the runner's current process never had it, `expired` if its result was acknowledged
    /// or discarded, and `detached` once another client attaches and the output is not retained.
    pub async fn attach(
        &self,
        exec_id: ExecId,
        offset: u64,
        options: AttachOptions,
    ) -> Result<Exec, SandboxError> {
        Exec::attach(&self.link, exec_id, offset, options)
    }

    /// Reports that an exec's result reached its destination, so that the runner may discard it.
    pub fn acknowledge(&self, exec_id: ExecId) {
        self.link.send(Command::Acknowledge(exec_id));
    }

    /// The state of an exec, with at most this many bytes of the head and of the tail of its output; at most 128 KiB each.
    pub async fn exec_report(
        &self,
        exec_id: ExecId,
        head_bytes: u32,
        tail_bytes: u32,
    ) -> Result<ExecReport, SandboxError> {
        self.link.call(request::Report { exec_id, head_bytes, tail_bytes }).await
    }

    /// The execs that the runner still remembers, the newest first.
    pub async fn exec_list(&self) -> Result<Vec<ExecEntry>, SandboxError> {
        Ok(self.link.call(request::List {}).await?.execs)
    }

    /// Reads a regular file; fails with the runner's error.
    pub async fn read_file(&self, path: &[u8], range: Range) -> Result<FileReader, SandboxError> {
        visible(path)?;
        let Range { offset, length } = range;
        FileReader::open(&self.link, request::ReadFile { path: path.into(), offset, length }).await
    }

    /// The beginning of a regular file, at most `most_bytes`; fails with the runner's error. To detect a file that is too long, ask for one
    /// byte more than the limit.
    pub async fn read_beginning(&self, path: &[u8], most_bytes: u64) -> Result<Vec<u8>, SandboxError> {
        let range = Range { offset: 0, length: Some(most_bytes) };
        let mut reader = self.read_file(path, range).await?;
        let mut content = Vec::new();
        while let Some(piece) = reader.next().await {
            content.extend_from_slice(&piece?);
            // Another program's runner may send more than it was asked for.
            if content.len() as u64 >= most_bytes {
                break;
            }
        }
        content.truncate(usize::try_from(most_bytes).unwrap_or(usize::MAX));
        Ok(content)
    }

    /// Replaces or creates a regular file; errors are returned by the writer's methods.
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

    /// The resolved target of a path, even if nothing exists there yet; `None` if the runner does not support this, such as
    /// an older one.
    ///
    /// Fails with the runner's error about the path.
    pub async fn resolve(&self, path: &[u8]) -> Result<Option<Resolved>, SandboxError> {
        visible(path)?;
        if !self.facts().capabilities.iter().any(|name| name == RESOLVE_CAPABILITY) {
            return Ok(None);
        }
        self.link.call(request::Resolve { path: path.into() }).await.map(Some)
    }

    /// The hash of a directory with all that is in it, as [`tree_bytes`](proto::request::tree_bytes) defines it; `None` if the runner does not support
    /// this, such as an older one.
    ///
    /// Fails with the runner's error, such as `too_large` for a tree with more entries or bytes than this.
    pub async fn hash_tree(
        &self,
        path: &[u8],
        most_entries: u32,
        most_bytes: u64,
    ) -> Result<Option<[u8; 32]>, SandboxError> {
        visible(path)?;
        if !self.facts().capabilities.iter().any(|name| name == HASH_TREE_CAPABILITY) {
            return Ok(None);
        }
        let hashed =
            self.link.call(request::HashTree { path: path.into(), most_entries, most_bytes }).await?;
        Ok(Some(hashed.sha256))
    }

    /// Metadata of a path, following symlinks.
    pub async fn stat(&self, path: &[u8]) -> Result<Metadata, SandboxError> {
        visible(path)?;
        self.link.call(request::Stat { path: path.into() }).await
    }

    /// Lists a directory; errors are returned by the reader.
    pub async fn read_dir(&self, path: &[u8]) -> Result<DirReader, SandboxError> {
        visible(path)?;
        DirReader::open(&self.link, request::ReadDir { path: path.into() })
    }

    /// Finds paths by a pattern, the newest first; errors are returned by the reader.
    pub async fn glob(&self, query: GlobQuery) -> Result<GlobReader, SandboxError> {
        visible(&query.path)?;
        let GlobQuery { pattern, path, ignored, max_results } = query;
        let path = WirePath(path);
        SearchReader::open(&self.link, request::Glob { pattern, path, ignored, max_results })
    }

    /// Finds lines by a regular expression; errors are returned by the reader.
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

    /// Reads a directory with all its content, as a tar archive; errors are returned by the reader.
    pub async fn read_tree(&self, path: &[u8]) -> Result<TreeReader, SandboxError> {
        visible(path)?;
        TreeReader::open(&self.link, request::ReadTree { path: path.into() })
    }

    /// Fills a directory from a tar archive; with `delete_extra` it becomes a mirror, and entries missing from the archive
    /// are removed. Errors are returned by the writer's methods.
    pub async fn write_tree(&self, path: &[u8], delete_extra: bool) -> Result<TreeWriter, SandboxError> {
        visible(path)?;
        TreeWriter::open(&self.link, request::WriteTree { id: new_id(), path: path.into(), delete_extra })
    }

    /// Makes the runner fetch a URL into a file; returns the file's size once it is on disk under its name.
    ///
    /// The runner connects from its own network; private addresses are refused unless the machine's user named the host.
    /// Dropping the future stops it and leaves no file.
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

    /// Asks the LLM endpoint that is configured on the runner, with the key that only the runner has: write the body, then
    /// call [`LlmStream::finish`]. [`RunnerFacts::llm_provider`] shows whether there is an endpoint and which protocol it
    /// speaks.
    ///
    /// Fails later with `unsupported` if there is none, and as `lost` with the link: a request is never sent twice.
    pub async fn llm(&self, request: LlmRequest) -> Result<LlmStream, SandboxError> {
        LlmStream::open(&self.link, request)
    }

    /// Makes the runner send an HTTP request from its own network, to a host that its machine's user named; returns the response once its status and
    /// headers have arrived. Redirects are not followed but returned. Dropping the future, or the response, closes the runner's connection.
    ///
    /// Fails with `unsupported` if the runner is too old for it, `sandbox_denied` for a host that was not named, and as `lost` with
    /// the link: a request is never sent twice.
    pub async fn http(&self, request: HttpRequest) -> Result<HttpAnswer, SandboxError> {
        HttpAnswer::of(&self.link, request).await
    }

    /// Makes a directory and any missing parents, with these permission bits.
    pub async fn mkdir_all(&self, path: &[u8], mode: u32) -> Result<(), SandboxError> {
        visible(path)?;
        self.link.call(request::MkdirAll { id: new_id(), path: path.into(), mode }).await.map(|_| ())
    }

    /// Removes a file, a symlink or an empty directory.
    pub async fn remove(&self, path: &[u8]) -> Result<(), SandboxError> {
        visible(path)?;
        self.link.call(request::Remove { id: new_id(), path: path.into() }).await.map(|_| ())
    }

    /// Removes a tree; a missing one is fine.
    pub async fn remove_all(&self, path: &[u8]) -> Result<(), SandboxError> {
        visible(path)?;
        self.link.call(request::RemoveAll { id: new_id(), path: path.into() }).await.map(|_| ())
    }

    /// Makes or removes a linked worktree of the git repository with this top directory; see [`request::Worktree`].
    ///
    /// Fails with `unsupported` if the runner is too old for it.
    pub async fn worktree(
        &self,
        repository: &[u8],
        name: &str,
        action: WorktreeAction,
    ) -> Result<(), SandboxError> {
        visible(repository)?;
        if !self.facts().capabilities.iter().any(|name| name == WORKTREE_CAPABILITY) {
            let message = format!("the runner {} is too old to make worktrees; update it", self.place());
            return Err(SandboxError::Remote { kind: proto::ErrorKind::Unsupported, message });
        }
        let (id, repository) = (new_id(), repository.into());
        self.link.call(request::Worktree { id, repository, name: name.to_owned(), action }).await.map(|_| ())
    }

    /// Renames within the workspace, replacing the target.
    pub async fn rename(&self, from: &[u8], to: &[u8]) -> Result<(), SandboxError> {
        visible(from)?;
        visible(to)?;
        let request = request::Rename { id: new_id(), from: WirePath::from(from), to: WirePath::from(to) };
        self.link.call(request).await.map(|_| ())
    }
}

/// A file for a runner to fetch, and its destination.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DownloadRequest {
    /// `http` or `https`.
    pub url: String,
    /// The path of the file on the runner's machine.
    pub path: Vec<u8>,
    /// Permission bits; the old file's, or 0o644, when absent.
    pub mode: Option<u32>,
    /// True if missing parent directories are made.
    pub parents: bool,
    /// The maximum size of the file, in bytes; the runner has its own limit.
    pub max_bytes: u64,
    /// Fails with `precondition_failed` unless the content has this SHA-256.
    pub sha256: Option<[u8; 32]>,
    /// See [`WriteOptions::present`].
    pub present: Option<Present>,
}

/// An id for a change, so that it is made once.
fn new_id() -> ExecId {
    ExecId(rand::random())
}
