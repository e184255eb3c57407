//! Finds outputs on a machine.

use std::collections::{BTreeMap, BTreeSet};

use chains::check::is_pattern;
use chats::ChatService;
use sandbox::{ErrorKind, FileKind, GlobEntry, GlobQuery, Sandbox, SandboxError, Truncation};
use store::{GroupAgent, User};

use super::fault::{At, Fault};
use super::relay::Limits;
use crate::folder::below;
use crate::limits::HANDED_DIRECTORY;

/// The outputs of a step, as they were on its agent's machine at one time.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Found {
    /// The outputs that are whole directories, none of them below another one.
    pub(crate) directories: BTreeSet<Vec<u8>>,
    /// The outputs that are files, none of them below one of the directories.
    pub(crate) files: BTreeSet<Vec<u8>>,
    /// The size of each file and the time of its last change, including files in directories; compared to notice that something changed them.
    seen: BTreeMap<Vec<u8>, (u64, i64)>,
}

/// The outputs of a step, to be looked for on the machine of its agent.
pub(crate) struct Outputs<'a> {
    pub(crate) sandbox: &'a Sandbox,
    /// The paths and patterns of the outputs.
    pub(crate) outputs: &'a [String],
    pub(crate) limits: Limits,
    pub(crate) chats: &'a ChatService,
    pub(crate) agent: &'a GroupAgent,
    pub(crate) owner: &'a User,
}

impl Outputs<'_> {
    /// Finds the outputs.
    ///
    /// # Errors
    /// [`Fault::Missing`], which lists all outputs that do not exist; [`Fault::Never`] if the owner's rules deny reading one.
    pub(crate) async fn find(&self) -> Result<Found, Fault> {
        let found = find(self.sandbox, &self.agent.folder, self.outputs, self.limits).await?;
        let Some(chat) = &self.agent.chat else { return Ok(found) };
        let paths: Vec<_> =
            found.seen.keys().map(|path| String::from_utf8_lossy(path).into_owned()).collect();
        let unreadable = self.chats.unreadable(self.owner, chat, &paths).await.map_err(|error| {
            tracing::warn!(%error, "the permission rules for files could not be read; the server will try again");
            Fault::Later(format!("the permission rules of @{} could not be read", self.agent.handle))
        })?;
        match paths.iter().zip(unreadable).find(|(_, is_unreadable)| *is_unreadable) {
            None => Ok(found),
            Some((path, _)) => {
                Err(Fault::Never(format!("a permission rule of {} denies reading {path}", self.owner.name)))
            }
        }
    }
}

/// Finds outputs in a folder, without checking permission rules.
async fn find(sandbox: &Sandbox, folder: &str, outputs: &[String], limits: Limits) -> Result<Found, Fault> {
    let mut found = Found { directories: BTreeSet::new(), files: BTreeSet::new(), seen: BTreeMap::new() };
    let mut missing = Vec::new();
    for output in outputs {
        let is_there = if is_pattern(output) {
            found.add_matches(sandbox, folder, output, limits).await?
        } else {
            let path = below(folder, output.trim_end_matches('/'));
            found.add(sandbox, path.as_bytes(), output.ends_with('/')).await?
        };
        if !is_there {
            missing.push(output.clone());
        }
    }
    if !missing.is_empty() {
        return Err(Fault::Missing(missing));
    }
    let all = std::mem::take(&mut found.directories);
    let is_below =
        |path: &[u8]| path.iter().enumerate().any(|(at, byte)| *byte == b'/' && all.contains(&path[..at]));
    found.files.retain(|path| !is_below(path));
    found.seen.retain(|path, _| !is_below(path));
    found.directories = all.iter().filter(|path| !is_below(path)).cloned().collect();
    for directory in found.directories.clone() {
        for entry in glob(sandbox, "**", &directory, limits).await? {
            found.see(entry);
        }
    }
    let bytes = found.seen.values().fold(0_u64, |sum, (size, _)| sum.saturating_add(*size));
    if found.seen.len() > limits.entries || bytes > limits.bytes {
        return Err(limits.exceeded());
    }
    Ok(found)
}

impl Found {
    /// Adds one file or directory; returns false if it does not exist.
    async fn add(&mut self, sandbox: &Sandbox, path: &[u8], is_directory: bool) -> Result<bool, Fault> {
        let metadata = match sandbox.stat(path).await {
            Ok(metadata) => metadata,
            Err(SandboxError::Remote { kind: ErrorKind::NotFound | ErrorKind::NotADirectory, .. }) => {
                return Ok(false);
            }
            Err(error) => return Err(At { place: sandbox.place(), reads: true, path }.fault(&error)),
        };
        match metadata.kind {
            FileKind::Directory => {
                self.directories.insert(path.to_vec());
            }
            _ if is_directory => return Ok(false),
            // Any other kind of entry is refused later, when it is read.
            _ => {
                self.seen.insert(path.to_vec(), (metadata.size_bytes, metadata.modified_ms));
                self.files.insert(path.to_vec());
            }
        }
        Ok(true)
    }

    /// Adds the files that match a pattern; returns false if there are none.
    async fn add_matches(
        &mut self,
        sandbox: &Sandbox,
        folder: &str,
        pattern: &str,
        limits: Limits,
    ) -> Result<bool, Fault> {
        let path = if folder.is_empty() { "." } else { folder };
        let mut entries = glob(sandbox, pattern, path.as_bytes(), limits).await?;
        // Files that were handed over to this agent are not its own outputs, unless the pattern names them.
        let handed = format!("{HANDED_DIRECTORY}/");
        if !pattern.starts_with(&handed) {
            let handed = below(folder, &handed);
            entries.retain(|entry| !entry.path.starts_with(handed.as_bytes()));
        }
        let is_there = !entries.is_empty();
        for entry in entries {
            if entry.kind == FileKind::Directory {
                self.directories.insert(entry.path);
            } else {
                self.files.insert(entry.path.clone());
                self.see(entry);
            }
        }
        Ok(is_there)
    }

    fn see(&mut self, entry: GlobEntry) {
        self.seen.insert(entry.path, (entry.size_bytes, entry.modified_ms));
    }
}

/// Returns the files that match a pattern below a directory.
async fn glob(
    sandbox: &Sandbox,
    pattern: &str,
    path: &[u8],
    limits: Limits,
) -> Result<Vec<GlobEntry>, Fault> {
    let at = At { place: sandbox.place(), reads: true, path };
    let query = GlobQuery {
        pattern: pattern.to_owned(),
        path: path.to_vec(),
        ignored: true,
        max_results: u32::try_from(limits.entries).unwrap_or(u32::MAX),
    };
    let mut reader = sandbox.glob(query).await.map_err(|error| at.fault(&error))?;
    let mut entries = Vec::new();
    while let Some(batch) = reader.next_batch().await {
        entries.extend(batch.map_err(|error| at.fault(&error))?.entries);
    }
    // The runner is not trusted to return only paths in the workspace.
    if entries.iter().any(|entry| !is_plain(&entry.path)) {
        return Err(Fault::Never(at.said("the machine returned a path outside the workspace")));
    }
    match reader.done().and_then(|done| done.truncated) {
        None => Ok(entries),
        Some(Truncation::Results) => Err(limits.exceeded()),
        Some(_) => {
            let why = format!(
                "the search for {pattern} would have to look through too many files; name a directory instead"
            );
            Err(Fault::Never(at.said(&why)))
        }
    }
}

/// Returns true for a path below the workspace.
fn is_plain(path: &[u8]) -> bool {
    path.split(|byte| *byte == b'/').all(|part| !matches!(part, b"" | b"." | b".."))
}
