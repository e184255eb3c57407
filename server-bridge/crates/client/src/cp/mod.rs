//! `sandbridge cp`: copy a file, or with `-r` a directory, to or from a runner.
//!
//! Bytes are streamed: neither side ever holds a whole file in memory. Both sides write to a temporary file next to the target and rename it,
//! so that an interrupted copy leaves the old file as it was.

pub(super) mod local;
pub(super) mod progress;
mod side;
mod tree;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use api::file::{StatView, TreeView, Written};
use api::words::FileKind;
use clap::Parser;
use hyper::Method;
use serde::Serialize;

use super::body::{FileBody, RequestBody};
use super::failure::{self, Failure};
use super::http::{Client, next_chunk, path_query};
use super::interrupts::Interrupts;
use super::routes::on_query;
use super::{names, output};
use crate::command::{Command, block_on};
use crate::globals::Globals;
use local::{Source, Target};
use progress::Progress;
use side::{Remote, Route};

/// Copy a file to or from a runner
#[derive(Parser)]
pub(crate) struct CpOptions {
    /// Copy directories with everything in them
    #[arg(short, long)]
    recursive: bool,
    /// Make the target directory a mirror of SRC: remove what SRC does not have. DST is then the directory itself
    #[arg(long, requires = "recursive")]
    delete: bool,
    /// The runner for a SRC or DST that begins with ':' [default: your active runner]
    #[arg(long, value_name = "NAME", add = names::places())]
    on: Option<String>,
    /// The file to copy; NAME:PATH or :PATH is on a runner, ./a:b is a local file with a colon
    #[arg(value_name = "SRC")]
    source: OsString,
    /// The destination; a file that is copied into a directory keeps its name
    #[arg(value_name = "DST")]
    target: OsString,
}

impl Command for CpOptions {
    const NAME: &'static str = "cp";

    fn run(self, globals: &Globals) -> Result<ExitCode, Failure> {
        block_on(run(globals, self))
    }
}

async fn run(globals: &Globals, options: CpOptions) -> Result<ExitCode, Failure> {
    let route = Route::parse(&options.source, &options.target, options.on.as_deref())?;
    let session = globals.session()?;
    let mut client = Client::new(&session)?;
    let copied = async {
        match &route {
            Route::Up { from, to } if options.recursive && from.is_dir() => {
                tree::upload(&mut client, from, to, options.delete).await
            }
            Route::Up { from, to } => upload(&mut client, from, to).await.map(Copied::file),
            Route::Down { from, to } => match stat(&mut client, from).await? {
                Some(stat) if options.recursive && stat.kind == FileKind::Directory => {
                    tree::download(&mut client, from, to, options.delete).await
                }
                stat => download(&mut client, from, stat, to).await.map(Copied::file),
            },
        }
    };
    let mut interrupts = Interrupts::listen()?;
    // Dropping the copy removes the partial file.
    let done = tokio::select! {
        copied = copied => copied?,
        () = interrupts.next() => return Ok(ExitCode::from(failure::INTERRUPTED)),
    };
    if globals.json {
        output::json_line(&done);
    }
    Ok(ExitCode::SUCCESS)
}

/// The result of a copy, for programs.
#[derive(Serialize)]
#[serde(untagged)]
enum Copied {
    /// The size of a file, in bytes.
    File { size: u64 },
    /// The size of a directory tree.
    Tree(TreeView),
}

impl Copied {
    fn file(size_bytes: u64) -> Self {
        Self::File { size: size_bytes }
    }
}

async fn upload(client: &mut Client, from: &Path, to: &Remote) -> Result<u64, Failure> {
    let source = Source::open(from)?;
    let mut path = to.path.clone();
    // The server is always asked, so that it can refuse before the first byte is sent.
    let is_directory = stat(client, to).await?.is_some_and(|stat| stat.kind == FileKind::Directory);
    if is_directory || to.is_directory_by_name() {
        path = side::inside(&path, &source.name);
    }
    let query = format!(
        "/api/v1/files?{}&mode={:04o}&parents=true{}",
        path_query(&path),
        source.mode,
        on_query(to.on.as_deref())
    );
    let progress = Progress::new(Some(source.size_bytes));
    let body = FileBody::new(source.file, source.size_bytes, progress.moved_bytes());
    let sent = async {
        let response =
            client.send(Method::PUT, &query, "application/octet-stream", RequestBody::File(body)).await?;
        let mut body = response.into_body();
        let mut answer = Vec::new();
        while let Some(chunk) = next_chunk(&mut body).await {
            answer.extend_from_slice(&chunk?);
        }
        Ok::<_, Failure>(answer)
    };
    let answer = progress.shown_while(sent).await?;
    match serde_json::from_slice(&answer).ok().map(|Written { size }| size) {
        Some(size_bytes) if size_bytes == source.size_bytes => Ok(size_bytes),
        Some(_) | None => {
            let why = "the server did not confirm that it stored the whole file; copy it again";
            Err(Failure::other("io", why))
        }
    }
}

async fn download(
    client: &mut Client,
    from: &Remote,
    stat: Option<StatView>,
    to: &Path,
) -> Result<u64, Failure> {
    let shown = String::from_utf8_lossy(&from.path).into_owned();
    let Some(stat) = stat else {
        return Err(Failure::other("not_found", format!("{shown}: there is no such file on the runner")));
    };
    match stat.kind {
        FileKind::File | FileKind::Symlink => {}
        FileKind::Directory => return Err(is_directory(&shown)),
        FileKind::Other | FileKind::Unknown(_) => {
            return Err(Failure::other("special_file", format!("{shown} is not a regular file")));
        }
    }
    let query = format!("/api/v1/files?{}{}", path_query(&from.path), on_query(from.on.as_deref()));
    let response = client.send(Method::GET, &query, "", RequestBody::Empty).await?;
    let target = Target::create(to, side::base_name(&from.path), stat.mode & 0o777, stat.size)?;
    target.receive(response.into_body(), &Progress::new(Some(stat.size))).await
}

/// The remote file's metadata; `None` if it does not exist.
async fn stat(client: &mut Client, remote: &Remote) -> Result<Option<StatView>, Failure> {
    match client.stat(&remote.path, remote.on.as_deref()).await {
        Ok(stat) => Ok(Some(stat)),
        Err(failure) if failure.kind == "not_found" => Ok(None),
        Err(failure) => Err(failure),
    }
}

fn is_directory(shown: &str) -> Failure {
    Failure::other("is_a_directory", format!("{shown} is a directory; copy it with -r"))
}
