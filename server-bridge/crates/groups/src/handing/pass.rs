//! Carries out one hand-over: files are read on one machine, written on the other one under a temporary name, read back, and renamed into place.

use std::time::Duration;

use pathguard::tree::{Entry, Reader, Receiver};
use pathguard::{Error as Guarded, Kind};
use sandbox::{ErrorKind, FileKind, Range, Sandbox, SandboxError, TreeWriter};
use store::HandedOver;
use tokio::time::timeout;

use super::fault::{At, Fault};
use super::find::{Found, Outputs};
use super::listing::{Listing, hex};
use super::relay::{Below, Limits, Relay};
use crate::folder::inside;
use crate::limits::{HANDED_FINISH_TIMEOUT, HANDED_NAMES_MAX, HANDED_READS_MAX, HANDED_STALL_TIMEOUT};

/// The permission bits of the directories that contain handed-over files.
const DIRECTORY_MODE: u32 = 0o755;

/// The prefix of the name of an incomplete hand-over; the hand-over's token and a random number of the attempt follow it.
const PART_PREFIX: &str = ".part-";

/// The names for a hand-over.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Names<'a> {
    /// The directory for the files, if that name is free.
    pub(crate) base: &'a str,
    /// The directory for all files that are handed over to the agent; incomplete hand-overs are written here too.
    pub(crate) handed: &'a str,
    /// The hand-over's token, which is part of its temporary name.
    pub(crate) token: &'a str,
}

/// Passes outputs on; after a failure, incomplete files are removed if the machine can be reached.
///
/// # Errors
/// [`Fault`]; in that case nothing was renamed into place.
pub(crate) async fn pass(
    from: &Outputs<'_>,
    to: &Sandbox,
    names: Names<'_>,
    limits: Limits,
) -> Result<HandedOver, Fault> {
    // The name is different for each attempt, so that a late write of an earlier attempt cannot disturb this one.
    let part = format!("{}/{PART_PREFIX}{}-{:08x}", names.handed, names.token, rand::random::<u32>());
    let passed = passed(from, to, names, &part, limits).await;
    if passed.is_err() {
        // If the machine is offline now, the next attempt removes the part.
        let _ = removed(to, &part).await;
    }
    passed
}

async fn passed(
    from: &Outputs<'_>,
    to: &Sandbox,
    names: Names<'_>,
    part: &str,
    limits: Limits,
) -> Result<HandedOver, Fault> {
    let listing = send(from, to, part).await?;
    let hash = listing.hash();
    if read_back(to, part, limits).await? != hash {
        let at = At { place: to.place(), reads: false, path: part.as_bytes() };
        return Err(Fault::Never(
            at.said("the files that arrived differ from those that were read; try again"),
        ));
    }
    let directory = put(to, part, names.base, hash, limits).await?;
    let count = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    Ok(HandedOver {
        directory,
        files: count(listing.files()),
        size_bytes: count(listing.size_bytes()),
        sha256: hex(&hash),
    })
}

/// Sends a consistent state of the outputs: if something changes them while they are being read, they are sent again.
async fn send(from: &Outputs<'_>, to: &Sandbox, part: &str) -> Result<Listing, Fault> {
    for read in 0..HANDED_READS_MAX {
        if read > 0 {
            removed(to, part).await?;
        }
        let before = from.find().await?;
        match send_found(from, &before, to, part).await {
            Ok(listing) => {
                if from.find().await? == before {
                    return Ok(listing);
                }
            }
            Err(Fault::Changed) => {}
            Err(fault) => return Err(fault),
        }
    }
    Err(Fault::Never(format!(
        "something on {} keeps changing the files while they are being read; try again when nothing changes them any more",
        from.sandbox.place()
    )))
}

async fn send_found(
    outputs: &Outputs<'_>,
    found: &Found,
    to: &Sandbox,
    part: &str,
) -> Result<Listing, Fault> {
    let Outputs { sandbox: from, limits, agent, .. } = *outputs;
    let writing = At { place: to.place(), reads: false, path: part.as_bytes() };
    let mut writer = to.write_tree(part.as_bytes(), false).await.map_err(|error| writing.fault(&error))?;
    let mut relay = Relay::new(limits);
    let folder = agent.folder.as_str();
    let mut piped = Pipe { from, folder, relay: &mut relay, writer: &mut writer, writing, limits };
    for directory in &found.directories {
        piped.directory(directory).await?;
    }
    for file in &found.files {
        piped.file(file).await?;
    }
    let (rest, listing) = relay.end();
    within(HANDED_STALL_TIMEOUT, writing, writer.write(&rest)).await?;
    within(HANDED_FINISH_TIMEOUT, writing, writer.finish()).await?;
    Ok(listing)
}

/// The path of an archive from one machine, through the relay, to the other one.
struct Pipe<'a> {
    from: &'a Sandbox,
    /// The folder with the outputs; their paths in the tree are relative to it.
    folder: &'a str,
    relay: &'a mut Relay,
    writer: &'a mut TreeWriter,
    writing: At<'a>,
    limits: Limits,
}

impl Pipe<'_> {
    async fn directory(&mut self, path: &[u8]) -> Result<(), Fault> {
        let (at, limits) = (At { place: self.from.place(), reads: true, path }, self.limits);
        let inner = self.inner(path, at)?;
        self.lead_to(inner, at)?;
        let mut tree = within(HANDED_STALL_TIMEOUT, at, self.from.read_tree(path)).await?;
        let mut reader = Reader::new();
        while let Some(piece) = next(at, tree.next()).await? {
            reader
                .push(&piece, &mut Below { relay: self.relay, path: inner })
                .map_err(|error| at.archive(&error, limits))?;
            self.flush().await?;
        }
        match reader.finish() {
            Ok(None) => self.flush().await,
            // The receiver must be able to rely on getting all files, so a note that some were left out is an error.
            Ok(Some(note)) => Err(Fault::Never(at.said(&note))),
            Err(error) => Err(at.archive(&error, limits)),
        }
    }

    async fn file(&mut self, path: &[u8]) -> Result<(), Fault> {
        let at = At { place: self.from.place(), reads: true, path };
        let inner = self.inner(path, at)?;
        self.lead_to(inner, at)?;
        let mut file = within(HANDED_STALL_TIMEOUT, at, self.from.read_file(path, Range::default())).await?;
        let (size_bytes, mode) = (file.size_bytes(), file.mode() & 0o777);
        let entry = Entry { kind: Kind::File, path: inner.to_vec(), link: Vec::new(), mode, size_bytes };
        self.relay.entry(entry).map_err(|error| self.refused(at, error))?;
        let mut left = size_bytes;
        while let Some(piece) = next(at, file.next()).await? {
            left = left.checked_sub(piece.len() as u64).ok_or(Fault::Changed)?;
            self.relay.content(&piece).map_err(|error| self.refused(at, error))?;
            self.flush().await?;
        }
        if left > 0 {
            return Err(Fault::Changed);
        }
        self.relay.end_of_file().map_err(|error| self.refused(at, error))?;
        self.flush().await
    }

    /// Returns the path in the tree for an entry of an output.
    fn inner<'p>(&self, path: &'p [u8], at: At<'_>) -> Result<&'p [u8], Fault> {
        // The runner is not trusted to return paths within the output.
        let outside = || Fault::Never(at.said("the machine returned a path outside the agent's folder"));
        inside(self.folder, path).ok_or_else(outside)
    }

    fn lead_to(&mut self, path: &[u8], at: At<'_>) -> Result<(), Fault> {
        self.relay.lead_to(path).map_err(|error| self.refused(at, error))
    }

    fn refused(&self, at: At<'_>, error: Guarded) -> Fault {
        match error {
            Guarded::TooLarge(_) => self.limits.exceeded(),
            error => Fault::Never(at.said(&error.to_string())),
        }
    }

    async fn flush(&mut self) -> Result<(), Fault> {
        let ready = self.relay.take();
        within(HANDED_STALL_TIMEOUT, self.writing, self.writer.write(&ready)).await
    }
}

/// Computes the hash of a directory as it is on the machine's disk.
async fn read_back(to: &Sandbox, path: &str, limits: Limits) -> Result<[u8; 32], Fault> {
    let at = At { place: to.place(), reads: true, path: path.as_bytes() };
    let mut tree = within(HANDED_STALL_TIMEOUT, at, to.read_tree(path.as_bytes())).await?;
    let (mut reader, mut listing) = (Reader::new(), Listing::new(limits));
    while let Some(piece) = next(at, tree.next()).await? {
        reader.push(&piece, &mut listing).map_err(|error| at.archive(&error, limits))?;
    }
    match reader.finish() {
        Ok(None) => Ok(listing.hash()),
        Ok(Some(note)) => Err(Fault::Never(at.said(&note))),
        Err(error) => Err(at.archive(&error, limits)),
    }
}

/// Renames a complete part into place; returns its name, which is the first name that is free or that already has the same content.
async fn put(to: &Sandbox, part: &str, base: &str, hash: [u8; 32], limits: Limits) -> Result<String, Fault> {
    let place = to.place();
    if let Some((above, _)) = base.rsplit_once('/') {
        let at = At { place, reads: false, path: above.as_bytes() };
        within(HANDED_STALL_TIMEOUT, at, to.mkdir_all(above.as_bytes(), DIRECTORY_MODE)).await?;
    }
    for number in 1..=HANDED_NAMES_MAX {
        let name = if number == 1 { base.to_owned() } else { format!("{base}-{number}") };
        let at = At { place, reads: false, path: name.as_bytes() };
        match to.stat(name.as_bytes()).await {
            Err(SandboxError::Remote { kind: ErrorKind::NotFound, .. }) => {}
            Err(error) => return Err(at.fault(&error)),
            Ok(metadata) => {
                // An earlier attempt may already have put the same content there.
                let is_same = metadata.kind == FileKind::Directory
                    && matches!(read_back(to, &name, limits).await, Ok(there) if there == hash);
                if is_same {
                    removed(to, part).await?;
                    return Ok(name);
                }
                continue;
            }
        }
        match to.rename(part.as_bytes(), name.as_bytes()).await {
            Ok(()) => return Ok(name),
            // An entry with this name appeared at the last moment.
            Err(SandboxError::Remote {
                kind: ErrorKind::AlreadyExists | ErrorKind::DirectoryNotEmpty | ErrorKind::NotADirectory,
                ..
            }) => {}
            Err(error) => return Err(at.fault(&error)),
        }
    }
    Err(Fault::Never(format!("{base} and {HANDED_NAMES_MAX} names like it are taken on {place}")))
}

/// An incomplete hand-over that an attempt left behind on a machine.
pub(crate) struct Part {
    /// The part's path, relative to the workspace.
    pub(crate) path: String,
    /// The token of the hand-over that the part belongs to.
    pub(crate) token: String,
}

/// Lists all incomplete hand-overs in the directory for files that are handed over to an agent.
///
/// # Errors
/// [`Fault`].
pub(crate) async fn parts(to: &Sandbox, handed: &str) -> Result<Vec<Part>, Fault> {
    let at = At { place: to.place(), reads: true, path: handed.as_bytes() };
    let mut parts = Vec::new();
    let mut reader = to.read_dir(handed.as_bytes()).await.map_err(|error| at.fault(&error))?;
    loop {
        match timeout(HANDED_STALL_TIMEOUT, reader.next_batch()).await {
            Ok(None) => return Ok(parts),
            Ok(Some(Ok(entries))) => {
                parts.extend(entries.iter().filter_map(|entry| part(handed, &entry.name)))
            }
            Ok(Some(Err(SandboxError::Remote { kind: ErrorKind::NotFound, .. }))) => return Ok(parts),
            Ok(Some(Err(error))) => return Err(at.fault(&error)),
            Err(_) => return Err(at.stalled()),
        }
    }
}

/// Parses the name of a part; `None` if the name is not that of a part.
fn part(handed: &str, name: &[u8]) -> Option<Part> {
    let name = std::str::from_utf8(name).ok()?;
    let (token, _) = name.strip_prefix(PART_PREFIX)?.split_once('-')?;
    Some(Part { path: format!("{handed}/{name}"), token: token.to_owned() })
}

/// Removes an incomplete hand-over.
///
/// # Errors
/// [`Fault`].
pub(crate) async fn removed(to: &Sandbox, path: &str) -> Result<(), Fault> {
    let at = At { place: to.place(), reads: false, path: path.as_bytes() };
    within(HANDED_FINISH_TIMEOUT, at, to.remove_all(path.as_bytes())).await
}

/// Returns the next piece of a stream; `None` after its end.
async fn next<T>(
    at: At<'_>,
    piece: impl Future<Output = Option<Result<T, SandboxError>>>,
) -> Result<Option<T>, Fault> {
    match timeout(HANDED_STALL_TIMEOUT, piece).await {
        Ok(None) => Ok(None),
        Ok(Some(Ok(piece))) => Ok(Some(piece)),
        Ok(Some(Err(error))) => Err(at.fault(&error)),
        Err(_) => Err(at.stalled()),
    }
}

/// Waits for the response of a machine, with a timeout.
async fn within<T>(
    most: Duration,
    at: At<'_>,
    answer: impl Future<Output = Result<T, SandboxError>>,
) -> Result<T, Fault> {
    match timeout(most, answer).await {
        Ok(answer) => answer.map_err(|error| at.fault(&error)),
        Err(_) => Err(at.stalled()),
    }
}
