//! Restores files: all are checked before the first is changed.

use std::collections::HashMap;
use std::sync::Arc;

use sandbox::{ErrorKind, Range, Sandbox, SandboxError, WriteOptions};
use sha2::{Digest, Sha256};
use store::{AuditEntry, ChatId, Kept, Left, User};

use super::RestoredFile;
use super::plan::Planned;
use super::words;
use crate::house::House;
use crate::limits::RESTORE_LOOK_BYTES;
use crate::{Error, Result};
use execs::{route_request, sandbox_user};

/// The result of restoring files.
#[derive(Debug, Default)]
pub(super) struct Restored {
    /// The files that were restored; true for those that needed no change.
    pub(super) files: Vec<(RestoredFile, bool)>,
    /// The files that were not restored, with the reasons.
    pub(super) not_restored: Vec<(RestoredFile, String)>,
}

/// The current content of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Now {
    Absent,
    Content([u8; 32]),
    /// Not a regular file, a file that cannot be read, or one that is larger than any kept content.
    Other,
}

/// The user, the chat and the options of a restoration.
pub(super) struct Restore<'a> {
    pub(super) service: &'a Arc<House>,
    pub(super) user: &'a User,
    pub(super) chat: &'a ChatId,
    pub(super) turns: usize,
}

impl Restore<'_> {
    /// Restores all files, or none if one was changed since and `force` is not set.
    pub(super) async fn all(&self, planned: Vec<Planned>, force: bool) -> Result<Restored> {
        let mut restored = Restored::default();
        let mut found = Vec::new();
        let mut places: HashMap<String, Sandbox> = HashMap::new();
        let mut changed = Vec::new();
        for file in planned {
            if let Some(why) = words::not_kept(file.kept) {
                restored.not_restored.push((file.named(), why.to_owned()));
                continue;
            }
            let sandbox = match places.get(&file.place) {
                Some(sandbox) => sandbox.clone(),
                None => places.entry(file.place.clone()).or_insert(self.place(&file.place).await?).clone(),
            };
            let now = look(&sandbox, &file.path).await.map_err(|error| nothing_done(error.kind(), &error))?;
            if !file.is_left(&now) && !file.is_before(&now) {
                changed.push(file.named());
            }
            found.push((file, sandbox, now));
        }
        if !changed.is_empty() && !force {
            return Err(Error::refused("conflict", words::conflict(&changed, self.turns)));
        }
        let mut failed = Vec::new();
        for (file, sandbox, now) in found {
            if file.is_before(&now) {
                restored.files.push((file.named(), file.kept == Kept::Absent));
                continue;
            }
            let done = self.one(&file, &sandbox, &now).await?;
            let outcome = done.as_ref().map_or_else(|error| error.kind(), |()| "ok");
            self.audit(&file, outcome).await?;
            match done {
                Ok(()) => restored.files.push((file.named(), file.kept == Kept::Absent)),
                Err(error) => failed.push((file.named(), error.to_string())),
            }
        }
        if failed.is_empty() || force {
            restored.not_restored.extend(failed);
            return Ok(restored);
        }
        Err(Error::refused("not_restored", words::failed(&restored, &failed, self.turns)))
    }

    async fn place(&self, name: &str) -> Result<Sandbox> {
        let route_request = route_request(&self.service.store, self.user.id, Some(name)).await?;
        let found = self.service.router.for_user(&sandbox_user(self.user), &route_request).await;
        found.map_err(|error| nothing_done(error.kind(), &error))
    }

    /// Restores one file.
    async fn one(&self, file: &Planned, sandbox: &Sandbox, now: &Now) -> Result<Result<(), SandboxError>> {
        let Some(sha256) = &file.sha256 else {
            return Ok(sandbox.remove(file.path.as_bytes()).await);
        };
        let store = &self.service.store;
        let Some(content) = store.checkpoint_content(self.user.id, self.chat, sha256).await? else {
            return Err(Error::refused("conflict", "The content to restore is no longer kept; try again."));
        };
        let options = WriteOptions {
            mode: file.mode.and_then(|mode| u32::try_from(mode).ok()),
            parents: true,
            size_bytes: Some(content.len() as u64),
            // If something else changes the file at this very moment, its change is not overwritten.
            if_match: match now {
                Now::Content(hash) => Some(*hash),
                Now::Absent | Now::Other => None,
            },
            present: None,
        };
        let write = async {
            let mut writer = sandbox.write_file(file.path.as_bytes(), options).await?;
            writer.write(&content).await?;
            writer.finish().await.map(drop)
        };
        Ok(write.await)
    }

    async fn audit(&self, file: &Planned, outcome: &str) -> Result<()> {
        let entry = AuditEntry {
            user: Some(self.user.name.clone()),
            action: "undo".to_owned(),
            location: Some(file.place.clone()),
            target: file.path.clone(),
            outcome: outcome.to_owned(),
        };
        self.service.store.append_audit(&entry).await?;
        Ok(())
    }
}

impl Planned {
    fn named(&self) -> RestoredFile {
        RestoredFile { place: self.place.clone(), path: self.path.clone() }
    }

    /// True if the file is still as the turn left it.
    fn is_left(&self, now: &Now) -> bool {
        matches!((&self.left, now), (Left::Content(sha256), Now::Content(hash)) if *sha256 == store::hex(hash))
    }

    /// True if the file is already in its target state.
    fn is_before(&self, now: &Now) -> bool {
        match now {
            Now::Absent => self.kept == Kept::Absent,
            Now::Content(hash) => self.sha256.as_deref() == Some(store::hex(hash).as_str()),
            Now::Other => false,
        }
    }
}

/// The current state of a file. Fails only if its machine becomes unreachable.
async fn look(sandbox: &Sandbox, path: &str) -> Result<Now, SandboxError> {
    let is_away =
        |error: &SandboxError| matches!(error, SandboxError::Offline { .. } | SandboxError::Lost { .. });
    let mut reader = match sandbox.read_file(path.as_bytes(), Range::default()).await {
        Ok(reader) => reader,
        Err(SandboxError::Remote { kind: ErrorKind::NotFound, .. }) => return Ok(Now::Absent),
        Err(error) if is_away(&error) => return Err(error),
        Err(_) => return Ok(Now::Other),
    };
    if reader.size_bytes() > RESTORE_LOOK_BYTES {
        return Ok(Now::Other);
    }
    let (mut hash, mut read_bytes) = (Sha256::new(), 0);
    while let Some(piece) = reader.next().await {
        match piece {
            Ok(piece) => {
                read_bytes += piece.len() as u64;
                hash.update(&piece);
            }
            Err(error) if is_away(&error) => return Err(error),
            Err(_) => return Ok(Now::Other),
        }
        if read_bytes > RESTORE_LOOK_BYTES {
            return Ok(Now::Other);
        }
    }
    Ok(Now::Content(hash.finalize().into()))
}

fn nothing_done(kind: &'static str, why: &dyn std::fmt::Display) -> Error {
    let text = format!(
        "Nothing was taken back: {why}. Files can be restored only while their machine is connected; try again when it is back, \
         or take back the \
         conversation alone with /rewind."
    );
    Error::refused(kind, text)
}
