//! Changing a file so that the change can be undone: the earlier state is kept first, and the new state is recorded.

use crate::Ported;
use sandbox::{ErrorKind, Range, Sandbox, SandboxError, WriteOptions};
use sha2::{Digest as _, Sha256};
use store::limits::{CHECKPOINT_FILE_MAX_BYTES, EXEC_ERROR_MAX_BYTES};
use store::{Before, Left};

use super::{Failure, Work};

/// Writes a whole file; returns its size in bytes.
///
/// Fails with the sandbox's and the store's errors.
pub(super) async fn write(
    work: &Work<'_>,
    sandbox: &Sandbox,
    path: &str,
    content: &[u8],
    options: WriteOptions,
) -> Result<u64, Failure> {
    let left = Left::Content(hash(content));
    let write = async {
        let mut writer = sandbox.write_file(path.as_bytes(), options).await?;
        writer.write(content).await?;
        Ok(writer.finish().await?)
    };
    change(work, sandbox, path, left, write).await
}

/// Makes a change that leaves a file in the state `left`.
///
/// Fails as the change does, and with the store's errors.
pub(super) async fn change<T>(
    work: &Work<'_>,
    sandbox: &Sandbox,
    path: &str,
    left: Left,
    making: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    let (store, turn, place) = (&work.services.store, work.agent()?.turn, sandbox.place());
    let path = within(&sandbox.facts().workspace, path);
    if path.len() > EXEC_ERROR_MAX_BYTES {
        return Err(Failure::Message("the path is too long; use a shorter one".to_owned()));
    }
    let earlier = match store.checkpoint(turn, place, path).await.ported()? {
        Some(earlier) => earlier,
        None => {
            keep(work, sandbox, path).await?;
            Left::Unchanged
        }
    };
    // Recorded before it is made: otherwise the change of a killed server would be unknown.
    store.leave_checkpoint(turn, place, path, &left).await.ported()?;
    let done = making.await;
    if done.as_ref().is_err_and(|failure| failure.told().is_some()) {
        // The change was refused. If the runner became unreachable during it, the outcome is unknown, and the record stays.
        store.leave_checkpoint(turn, place, path, &earlier).await.ported()?;
    }
    done
}

/// The SHA-256 of `content`, in hex.
pub fn hash(content: &[u8]) -> String {
    store::hex(&Sha256::digest(content))
}

/// Parses a SHA-256 from its hexadecimal digits.
pub fn hash_of_hex(text: &str) -> Option<[u8; 32]> {
    store::unhex(text)?.try_into().ok()
}

async fn keep(work: &Work<'_>, sandbox: &Sandbox, path: &str) -> Result<(), Failure> {
    let (store, user, in_turn) = (&work.services.store, work.user.id, work.agent()?);
    let found = present(sandbox, path).await?;
    let before = match &found {
        Present::Absent => Before::Absent,
        Present::Content { mode, content } => Before::Content { mode: *mode, content },
        Present::TooLarge => Before::TooLarge,
        Present::Unreadable => Before::Unreadable,
    };
    store.keep_checkpoint(user, in_turn.root, in_turn.turn, sandbox.place(), path, before).await.ported()?;
    Ok(())
}

enum Present {
    Absent,
    Content { mode: u32, content: Vec<u8> },
    TooLarge,
    Unreadable,
}

/// The current state of a file. An unreadable file is marked as such; the change to it then reports the reason.
async fn present(sandbox: &Sandbox, path: &str) -> Result<Present, Failure> {
    let mut reader = match sandbox.read_file(path.as_bytes(), Range::default()).await {
        Ok(reader) => reader,
        Err(SandboxError::Remote { kind: ErrorKind::NotFound, .. }) => return Ok(Present::Absent),
        Err(error @ (SandboxError::Offline { .. } | SandboxError::Lost { .. })) => return Err(error.into()),
        Err(_) => return Ok(Present::Unreadable),
    };
    if reader.size_bytes() > CHECKPOINT_FILE_MAX_BYTES as u64 {
        return Ok(Present::TooLarge);
    }
    let mut content = Vec::new();
    while let Some(piece) = reader.next().await {
        match piece {
            Ok(piece) => content.extend_from_slice(&piece),
            Err(error @ (SandboxError::Offline { .. } | SandboxError::Lost { .. })) => {
                return Err(error.into());
            }
            Err(_) => return Ok(Present::Unreadable),
        }
        if content.len() > CHECKPOINT_FILE_MAX_BYTES {
            return Ok(Present::TooLarge);
        }
    }
    Ok(Present::Content { mode: reader.mode(), content })
}

/// A path relative to the workspace, even if it was given as an absolute path, so that each file has one name.
pub(super) fn within<'a>(workspace: &str, path: &'a str) -> &'a str {
    let rest = path.strip_prefix(workspace.trim_end_matches('/')).and_then(|rest| rest.strip_prefix('/'));
    rest.filter(|rest| !workspace.is_empty() && !rest.is_empty()).unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_64_digits() {
        let hash = hash_of_hex(&"0aF".repeat(22)[..64]).unwrap();
        assert_eq!(hash[..3], [0x0a, 0xf0, 0xaf]);
        for text in ["", "*", &"0".repeat(63), &"0".repeat(65), &"g".repeat(64), &"ä".repeat(32)] {
            assert_eq!(hash_of_hex(text), None, "{text}");
        }
    }

    #[test]
    fn a_file_has_one_name_however_it_is_written() {
        for (workspace, path, expected) in [
            ("/work", "/work/a/b", "a/b"),
            ("/work/", "/work/a", "a"),
            ("/work", "/workshop/a", "/workshop/a"),
            ("/work", "a", "a"),
            ("/work", "/work", "/work"),
            ("", "/a", "/a"),
            ("/", "/a", "a"),
        ] {
            assert_eq!(within(workspace, path), expected, "{workspace} {path}");
        }
    }
}
