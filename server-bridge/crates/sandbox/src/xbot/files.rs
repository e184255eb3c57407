//! Files in xbot's dialect: whole ones, as base64 in one message.
//!
//! A write there is neither atomic nor synced, a listing does not reliably distinguish symlinks from files, and there is no
//! rename: `mv` is run for it. The permissions of an existing file are set by `chmod`.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use proto::limits::MAX_PATH_BYTES;
use proto::message::{
    DirBatch, DirEntry, DirRead, Done, FileKind, FileOpened, FileRead, FileWritten, Metadata,
};
use proto::{Channel, ErrorKind, Message, WirePath, codec, request};

use super::convert::go_mode;
use super::job::{Job, accounted};
use super::wire::{
    DirEntries, Entry, ExecBody, ExecResult, FileContent, FileInfo, MakeBody, PathBody, WriteBody, meaning,
};
use crate::driver::StreamEvent;
use crate::error::SandboxError;
use crate::limits::{XBOT_CONTENT_BYTES, XBOT_LISTING_PIECE, XBOT_REQUEST_TIMEOUT};

/// Permissions of a new file or directory if none are given.
const FILE_MODE: u32 = 0o644;
const DIRECTORY_MODE: u32 = 0o755;

pub(super) async fn metadata(job: &Job, path: &[u8]) -> Result<Metadata, SandboxError> {
    let path = job.workspace.relative(path)?;
    let answer = job.ask("stat", &PathBody { path: &path }).await?;
    let info: FileInfo = job.calls.body(&answer, "file_info")?;
    info.metadata().ok_or_else(|| job.calls.broken("something that is not a time"))
}

pub(super) async fn stat(job: &Job, stat: &request::Stat) -> Result<Message, SandboxError> {
    metadata(job, stat.path.as_bytes()).await.map(Into::into)
}

pub(super) async fn read(job: &Job, read: &request::ReadFile) -> Result<Message, SandboxError> {
    let path = job.workspace.relative(read.path.as_bytes())?;
    // Reading a FIFO would block forever there, and a file that is too large would close the link.
    let metadata = metadata(job, read.path.as_bytes()).await?;
    match metadata.kind {
        FileKind::File => {}
        FileKind::Directory => {
            return Err(refused(ErrorKind::IsADirectory, "the path is a directory, not a file"));
        }
        FileKind::Symlink | FileKind::Other => {
            return Err(refused(ErrorKind::SpecialFile, "the path is a device, FIFO or socket, not a file"));
        }
    }
    if metadata.size_bytes > XBOT_CONTENT_BYTES {
        return Err(job.too_large(metadata.size_bytes));
    }
    let answer = job.ask("read_file", &PathBody { path: &path }).await?;
    let content: FileContent<'_> = job.calls.body(&answer, "file_content")?;
    let content = STANDARD
        .decode(content.data.as_bytes())
        .map_err(|_| job.calls.broken("file content that is not base64"))?;
    let size_bytes = content.len() as u64;
    job.tell(FileOpened { size_bytes, mode: metadata.mode, modified_ms: metadata.modified_ms });
    let start = read.offset.min(size_bytes);
    let end = read.length.map_or(size_bytes, |length| start.saturating_add(length).min(size_bytes));
    let position =
        |offset: u64| usize::try_from(offset).expect("it is within the content, which is in memory");
    let whole = accounted(content, Arc::new(answer.into_account()));
    job.deliver(Channel::Main, whole.slice(position(start)..position(end)));
    Ok(FileRead { bytes: end - start }.into())
}

pub(super) async fn write(job: &mut Job, write: request::WriteFile) -> Result<Message, SandboxError> {
    let path = job.workspace.relative_entry(write.path.as_bytes())?;
    if write.if_match.is_some() {
        return Err(job.unsupported("writing only if the content is still the same"));
    }
    if let Some(bytes) = write.size_bytes.filter(|bytes| *bytes > XBOT_CONTENT_BYTES) {
        return Err(job.too_large(bytes));
    }
    let mut encoded = Encoder::default();
    let account = job.take_input(|piece| encoded.push(piece)).await?;
    let bytes = encoded.total_bytes;
    if write.size_bytes.is_some_and(|announced| announced != bytes) {
        let message = format!("{bytes} bytes arrived, not as many as announced; nothing was written");
        return Err(refused(ErrorKind::InvalidBody, &message));
    }
    if let (true, Some((parent, _))) = (write.parents, path.rsplit_once('/')) {
        make(job, parent, DIRECTORY_MODE).await?;
    }
    let data = encoded.finish();
    let body = WriteBody { path: &path, data: &data, perm: go_mode(write.mode.unwrap_or(FILE_MODE)) };
    let answer = job.ask_with("write_file", &body, Some(account)).await?;
    job.calls.expect(&answer, "ok")?;
    if let Some(mode) = write.mode {
        set_mode(job, &path, mode).await?;
    }
    Ok(FileWritten { bytes }.into())
}

/// An existing file keeps its permissions, and the runner's umask reduces those of a new one.
async fn set_mode(job: &Job, path: &str, mode: u32) -> Result<(), SandboxError> {
    if metadata(job, path.as_bytes()).await?.mode == mode {
        return Ok(());
    }
    run_tool(job, &["chmod", &format!("{mode:04o}"), &format!("./{path}")]).await
}

pub(super) async fn read_dir(job: &Job, read: &request::ReadDir) -> Result<Message, SandboxError> {
    let path = job.workspace.relative(read.path.as_bytes())?;
    let answer = job.ask("read_dir", &PathBody { path: &path }).await?;
    let DirEntries { entries } = job.calls.body(&answer, "dir_entries")?;
    let account = Arc::new(answer.into_account());
    let total = entries.len() as u64;
    let mut entries = entries.into_iter().map(|entry| entry_of(job, entry));
    loop {
        let entries: Vec<_> = entries.by_ref().take(XBOT_LISTING_PIECE).collect::<Result<_, _>>()?;
        if entries.is_empty() {
            return Ok(DirRead { entries: total }.into());
        }
        let piece = accounted(codec::encode(&DirBatch { entries })?, Arc::clone(&account));
        // Each piece is a separate record.
        job.stream.push(StreamEvent::Data(Channel::Main, piece));
    }
}

fn entry_of(job: &Job, entry: Entry) -> Result<DirEntry, SandboxError> {
    let Entry { name, is_dir, size } = entry;
    let is_name = !matches!(name.as_str(), "" | "." | "..")
        && name.len() <= MAX_PATH_BYTES / 2
        && !name.contains(['/', '\0']);
    if !is_name {
        return Err(job.calls.broken("a listing with an invalid name"));
    }
    let kind = if is_dir { FileKind::Directory } else { FileKind::File };
    Ok(DirEntry { name: name.into_bytes(), kind, size_bytes: size })
}

pub(super) async fn mkdir_all(job: &Job, mkdir: &request::MkdirAll) -> Result<Message, SandboxError> {
    let path = job.workspace.relative(mkdir.path.as_bytes())?;
    make(job, &path, mkdir.mode).await?;
    Ok(Done {}.into())
}

async fn make(job: &Job, path: &str, mode: u32) -> Result<(), SandboxError> {
    let answer = job.ask("mkdir_all", &MakeBody { path, perm: go_mode(mode) }).await?;
    job.calls.expect(&answer, "ok")
}

/// Removes an entry, or with `remove_all` a tree.
pub(super) async fn remove(job: &Job, kind: &str, path: &WirePath) -> Result<Message, SandboxError> {
    let path = job.workspace.relative_entry(path.as_bytes())?;
    let answer = job.ask(kind, &PathBody { path: &path }).await?;
    job.calls.expect(&answer, "ok")?;
    Ok(Done {}.into())
}

pub(super) async fn rename(job: &Job, rename: &request::Rename) -> Result<Message, SandboxError> {
    let from = job.workspace.relative_entry(rename.from.as_bytes())?;
    let to = job.workspace.relative_entry(rename.to.as_bytes())?;
    match metadata(job, rename.to.as_bytes()).await {
        // `mv` would move into it.
        Ok(found) if found.kind == FileKind::Directory => {
            return Err(refused(ErrorKind::AlreadyExists, "a directory is there already"));
        }
        Ok(_) | Err(SandboxError::Remote { kind: ErrorKind::NotFound, .. }) => {}
        Err(error) => return Err(error),
    }
    run_tool(job, &["mv", "-f", &format!("./{from}"), &format!("./{to}")]).await?;
    Ok(Done {}.into())
}

/// Runs a program for an operation that the dialect does not have.
async fn run_tool(job: &Job, arguments: &[&str]) -> Result<(), SandboxError> {
    let body = ExecBody {
        command: String::new(),
        args: arguments.iter().map(|&argument| argument.to_owned()).collect(),
        shell: false,
        dir: None,
        stdin: String::new(),
        timeout: XBOT_REQUEST_TIMEOUT.as_secs(),
        run_as_user: None,
    };
    let answer = job.ask("exec", &body).await?;
    let result: ExecResult = job.calls.body(&answer, "exec_result")?;
    match result.exit_code {
        0 => Ok(()),
        _ => Err(refused(meaning(&result.stderr).unwrap_or(ErrorKind::Io), result.stderr.trim_end())),
    }
}

fn refused(kind: ErrorKind, message: &str) -> SandboxError {
    proto::WireError::new(kind, message).into()
}

/// Encodes bytes that arrive in pieces as base64.
#[derive(Default)]
struct Encoder {
    text: String,
    /// Fewer than three bytes, left over for the next group.
    rest: Vec<u8>,
    total_bytes: u64,
}

impl Encoder {
    fn push(&mut self, mut piece: &[u8]) {
        self.total_bytes += piece.len() as u64;
        if !self.rest.is_empty() {
            let (head, tail) = piece.split_at(piece.len().min(3 - self.rest.len()));
            self.rest.extend_from_slice(head);
            piece = tail;
            if self.rest.len() < 3 {
                return;
            }
            STANDARD.encode_string(&self.rest, &mut self.text);
            self.rest.clear();
        }
        let (whole, rest) = piece.split_at(piece.len() / 3 * 3);
        STANDARD.encode_string(whole, &mut self.text);
        self.rest.extend_from_slice(rest);
    }

    fn finish(mut self) -> String {
        STANDARD.encode_string(&self.rest, &mut self.text);
        self.text
    }
}

#[cfg(test)]
mod encoder_tests {
    use super::*;

    #[test]
    fn pieces_of_any_size_make_the_same_text() {
        let bytes: Vec<u8> = (0..=255).collect();
        for size in 1..20 {
            let mut encoder = Encoder::default();
            for piece in bytes.chunks(size) {
                encoder.push(piece);
            }
            assert_eq!(encoder.total_bytes, 256);
            assert_eq!(encoder.finish(), STANDARD.encode(&bytes));
        }
    }
}
