//! The new program: downloaded from the runner's own server to a file next to the old one, and verified.

use std::fs::{self, File, OpenOptions};
use std::future::{Future, poll_fn};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Incoming};
use hyper::client::conn::http1;
use hyper::header::{ACCEPT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HOST, LOCATION, USER_AGENT};
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use proto::version::is_newer;
use sha2::{Digest, Sha256};

use super::handover::{Handover, Offer};
use super::{place, version};
use crate::blocking::blocking;
use crate::limits::{
    CONNECT_TIMEOUT_MS, UPDATE_ANSWER_BYTES, UPDATE_BYTES, UPDATE_IDLE_MS, UPDATE_STALE_MS, UPDATE_TOLD_BYTES,
};
use crate::link::websocket::Endpoint;
use crate::net::connection::Connection;
use crate::net::http::{self, innermost};
use crate::space::Space;

/// The server's name for the program, before its architecture.
const NAME: &str = "sandbridge-runner-linux-";
/// The prefix of files that are being downloaded.
const NEW: &str = ".sandbridge-runner.";
/// The header with the version of a download.
const VERSION_HEADER: &str = "x-sandbridge-version";
/// The mode of a program.
const MODE: u32 = 0o755;

/// Puts a verified program of this version next to `program`, or finds a newer one in its place; records it for the
/// guardian.
///
/// # Errors
/// No new file is left; as text.
pub(super) async fn prepare(
    endpoint: &Endpoint,
    program: &Path,
    wanted: &str,
    handover: &Arc<Handover>,
) -> Result<(), String> {
    let at_path = program.to_owned();
    let known = off_thread(move || {
        let version = (!place::is_running(&at_path)).then(|| version::of(&at_path)).transpose()?;
        Ok(version.filter(|version| is_newer(version, version::OWN)))
    });
    if let Some(version) = known.await? {
        let offer = Offer { file: program.to_owned(), program: program.to_owned(), version };
        let handover = Arc::clone(handover);
        return off_thread(move || handover.note(&offer).map_err(|error| error.to_string())).await;
    }
    let prepared = download(endpoint, program, wanted, handover).await;
    if prepared.is_err() {
        let handover = Arc::clone(handover);
        off_thread(move || {
            handover.discard();
            Ok(())
        })
        .await?;
    }
    prepared
}

async fn download(
    endpoint: &Endpoint,
    program: &Path,
    wanted: &str,
    handover: &Arc<Handover>,
) -> Result<(), String> {
    let name = format!("{NAME}{}", std::env::consts::ARCH);
    let expected = hash(&Answer::to(endpoint, &format!("{name}.sha256"), wanted).await?.text().await?)?;
    let mut answer = Answer::to(endpoint, &name, wanted).await?;
    let size = answer.size_bytes();
    if size.is_some_and(|size| size > UPDATE_BYTES) {
        return Err(too_large());
    }
    let (at, version, handover) = (program.to_owned(), wanted.to_owned(), Arc::clone(handover));
    let mut new = off_thread(move || New::beside(&at, version, size.unwrap_or(0), &handover)).await?;
    while let Some(piece) = answer.next().await? {
        new = off_thread(move || new.append(&piece)).await?;
    }
    off_thread(move || new.check(&expected)).await
}

async fn off_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    blocking(work).await.map_err(|error| error.to_string())?
}

fn too_large() -> String {
    format!("the download is larger than the limit for a runner ({} MiB)", UPDATE_BYTES >> 20)
}

/// Parses the output of `sha256sum`.
fn hash(text: &str) -> Result<String, String> {
    let hash = text.split_ascii_whitespace().next().unwrap_or_default();
    let is_one = hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_one
        .then(|| hash.to_ascii_lowercase())
        .ok_or_else(|| "the server's response is not a SHA-256".to_owned())
}

/// A file that is being written.
struct New {
    offer: Offer,
    file: File,
    hash: Sha256,
    size_bytes: u64,
}

impl New {
    fn beside(program: &Path, version: String, size: u64, handover: &Handover) -> Result<Self, String> {
        let directory = program.parent().unwrap_or(Path::new("/"));
        sweep(directory);
        if let Some(space) = Space::of(directory)
            && space.left.0 < size
        {
            let (left, size) = (space.left.0 >> 10, size >> 10);
            return Err(format!(
                "{} has {left} KiB left and the new program needs {size}",
                directory.display()
            ));
        }
        let file = directory.join(format!("{NEW}{:016x}", rand::random::<u64>()));
        let failed = |error: io::Error| format!("{}: {error}", file.display());
        let offer = Offer { file: file.clone(), program: program.to_owned(), version };
        // Recorded before it exists: if this process is killed, the guardian may remove it.
        handover.note(&offer).map_err(failed)?;
        let opened =
            OpenOptions::new().write(true).create_new(true).mode(MODE).open(&file).map_err(failed)?;
        Ok(Self { offer, file: opened, hash: Sha256::new(), size_bytes: 0 })
    }

    fn append(mut self, piece: &Bytes) -> Result<Self, String> {
        self.size_bytes += piece.len() as u64;
        if self.size_bytes > UPDATE_BYTES {
            return Err(too_large());
        }
        self.hash.update(piece);
        self.file.write_all(piece).map_err(|error| self.failed(&error))?;
        Ok(self)
    }

    fn failed(&self, error: &io::Error) -> String {
        let directory = self.offer.file.parent().unwrap_or(Path::new("/"));
        format!("the new program cannot be written to {}: {error}", directory.display())
    }

    fn check(self, expected: &str) -> Result<(), String> {
        let found: String = self.hash.clone().finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        if found != expected {
            return Err(
                "the download is not the runner that the server announced: it was cut off or changed on the way"
                    .to_owned(),
            );
        }
        let whole = self.file.set_permissions(PermissionsExt::from_mode(MODE));
        whole.and_then(|()| self.file.sync_all()).map_err(|error| self.failed(&error))?;
        let Offer { file, version, .. } = self.offer;
        // A file that is open for writing is not run.
        drop(self.file);
        let told = version::of(&file)?;
        match told == version {
            true => Ok(()),
            false => Err(format!(
                "the server hands out version {told} and calls it {version}: tell its administrator"
            )),
        }
    }
}

/// Removes downloads of runners that were killed with their guardian.
fn sweep(directory: &Path) {
    let is_old = |entry: &fs::DirEntry| {
        let written = entry.metadata().and_then(|file| file.modified());
        written.is_ok_and(|at| at.elapsed().is_ok_and(|age| age >= Duration::from_millis(UPDATE_STALE_MS)))
    };
    let ours = |entry: &fs::DirEntry| entry.file_name().to_string_lossy().starts_with(NEW);
    let left: Vec<PathBuf> = fs::read_dir(directory)
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| ours(entry) && is_old(entry))
        .map(|entry| entry.path())
        .collect();
    for file in left {
        // Another user's file stays.
        let _ = fs::remove_file(file);
    }
}

/// A response of the server whose content is still to come.
struct Answer {
    connection: Connection,
    response: Response<Incoming>,
}

impl Answer {
    /// Requests a download; succeeds with one of the wanted version.
    async fn to(endpoint: &Endpoint, name: &str, wanted: &str) -> Result<Self, String> {
        let timeout = Duration::from_millis(CONNECT_TIMEOUT_MS);
        let unreachable = |error: String| format!("the server cannot be reached: {error}");
        let opened = tokio::time::timeout(timeout, Box::pin(endpoint.open())).await;
        let opened =
            opened.map_err(|_| unreachable(format!("no connection within {} s", timeout.as_secs())))?;
        let (stream, _) = opened.map_err(|error| unreachable(error.to_string()))?;
        let broken = |error: hyper::Error| failed(&innermost(&error));
        let opened = http1::handshake::<_, String>(TokioIo::new(stream)).await;
        let (mut sender, connection) = opened.map_err(broken)?;
        let mut connection = Connection::new(connection);
        let request = Request::get(endpoint.download_path(name))
            .header(HOST, endpoint.authority())
            .header(USER_AGENT, http::USER_AGENT)
            .header(ACCEPT_ENCODING, "identity")
            .body(String::new())
            .map_err(|error| failed(&error))?;
        let asked = connection.beside(sender.send_request(request));
        let response = in_time(asked).await?.map_err(broken)?;
        Self { connection, response }.checked(wanted).await
    }

    async fn checked(self, wanted: &str) -> Result<Self, String> {
        let status = self.response.status();
        let header = |name: &str| self.response.headers().get(name).and_then(|value| value.to_str().ok());
        if status.is_redirection() {
            let to = header(LOCATION.as_str()).unwrap_or("somewhere else");
            return Err(format!(
                "the download is redirected to {to}, by a captive portal or a proxy and not by the server"
            ));
        }
        if header(CONTENT_TYPE.as_str()).is_some_and(|kind| kind.starts_with("text/html")) {
            return Err(
                "a web page arrived instead of the runner: a captive portal or a proxy answered for the server"
                    .to_owned(),
            );
        }
        if status != StatusCode::OK {
            let told: String = self.text().await?.chars().take(UPDATE_TOLD_BYTES).collect();
            return Err(format!("the server answered {status} instead of the runner: {told}"));
        }
        match header(VERSION_HEADER) {
            Some(found) if found == wanted => Ok(self),
            Some(found) => Err(format!("the server hands out version {found} but announced {wanted}")),
            None => {
                Err("the download has no version, so it does not come from a Sandbridge server".to_owned())
            }
        }
    }

    fn size_bytes(&self) -> Option<u64> {
        self.response.headers().get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
    }

    /// The next piece; `None` at the end.
    async fn next(&mut self) -> Result<Option<Bytes>, String> {
        let Self { connection, response } = self;
        loop {
            let frame = poll_fn(|cx| Pin::new(response.body_mut()).poll_frame(cx));
            match in_time(connection.beside(frame)).await? {
                None => return Ok(None),
                Some(Ok(frame)) => {
                    if let Ok(bytes) = frame.into_data() {
                        return Ok(Some(bytes));
                    }
                }
                Some(Err(error)) => return Err(failed(&innermost(&error))),
            }
        }
    }

    /// The beginning of the response, as text.
    async fn text(mut self) -> Result<String, String> {
        let mut text = Vec::new();
        while text.len() < UPDATE_ANSWER_BYTES
            && let Some(piece) = self.next().await?
        {
            text.extend_from_slice(&piece);
        }
        text.truncate(UPDATE_ANSWER_BYTES);
        Ok(String::from_utf8_lossy(&text).replace(char::is_control, " "))
    }
}

fn failed(reason: &dyn std::fmt::Display) -> String {
    format!("the download failed: {reason}")
}

/// Fails if nothing happens for too long.
async fn in_time<T>(wanted: impl Future<Output = T>) -> Result<T, String> {
    let timeout = Duration::from_millis(UPDATE_IDLE_MS);
    let silent = |_| failed(&format!("the server was silent for {} s", timeout.as_secs()));
    tokio::time::timeout(timeout, wanted).await.map_err(silent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_64_digits_before_a_blank() {
        let digits = "0123456789abcdef".repeat(4);
        assert_eq!(hash(&format!("{}  name\n", digits.to_uppercase())).unwrap(), digits);
        for text in ["", "<html>", &digits[1..], &format!("{digits}0"), &digits.replace('a', "g")] {
            assert!(hash(text).is_err(), "{text}");
        }
    }

    #[test]
    fn only_old_downloads_are_swept() {
        let directory = tempfile::tempdir().unwrap();
        let old = std::time::SystemTime::now() - Duration::from_millis(2 * UPDATE_STALE_MS);
        for (name, modified) in [
            (".sandbridge-runner.1", Some(old)),
            (".sandbridge-runner.2", None),
            ("sandbridge-runner.old", Some(old)),
        ] {
            let file = File::create(directory.path().join(name)).unwrap();
            if let Some(at) = modified {
                file.set_modified(at).unwrap();
            }
        }
        sweep(directory.path());
        let mut left: Vec<_> =
            fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, [".sandbridge-runner.2", "sandbridge-runner.old"]);
    }
}
