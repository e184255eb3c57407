//! The encryption key: the operator's, or else the server's own in `HOME/sandbridge.key`.
//!
//! The server creates that file at its first start, accessible to its owner only. A file that others could read or replace is
//! refused. If the file is missing and keys are sealed with it, it is not created again: those keys would be lost silently.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use home::atomic_file;
use rustix::fs::OFlags;
use store::limits::ENCRYPTION_KEY_BYTES;
use store::{EncryptionKey, LostKeys, SealedWith, Store};

use super::StartError;
use crate::config::Config;
use crate::limits::KEY_FILE_MAX_BYTES;

/// The beginning of a key file; a file without it is not a key file.
pub(crate) const PREFIX: &str = "sandbridge-key-1:";

/// Unlocks the store with the right key.
///
/// # Errors
/// [`StartError::KeyFile`], [`StartError::KeyMissing`], [`StartError::Store`].
pub(super) async fn unlock(store: Store, config: &Config) -> Result<Store, StartError> {
    let path = home::key_file(&config.home);
    let sealed_with = store.sealed_with().await?;
    let lost = if config.forget_sealed_keys { LostKeys::Forget } else { LostKeys::Refuse };
    let (key, former) = match (&config.encryption_key, sealed_with) {
        // The server's own key was used until now; the configured one replaces it.
        (Some(key), SealedWith::File) => (key.clone(), read(&path)?),
        (Some(key), SealedWith::Nothing | SealedWith::Passphrase) => (key.clone(), None),
        (None, _) => (own(&path, sealed_with, lost)?, None),
    };
    if config.node.url.is_some() && !config.forget_sealed_keys {
        store.check_key(&key).await?;
    }
    let (store, done) = store.unlock(&key, former.as_ref(), lost).await?;
    if done.sealed > 0 {
        tracing::info!(keys = done.sealed, "the keys of models are now sealed with this encryption key");
    }
    if done.forgotten > 0 {
        tracing::warn!(
            keys = done.forgotten,
            "keys of models could not be decrypted and were removed; give them again"
        );
    }
    Ok(store)
}

/// The server's own key, which is created if it is missing, unless sealed keys would be lost by that.
fn own(path: &Path, sealed_with: SealedWith, lost: LostKeys) -> Result<EncryptionKey, StartError> {
    let missing = |what| Err(StartError::KeyMissing { path: path.to_owned(), what });
    match (read(path)?, sealed_with, lost) {
        (_, SealedWith::Passphrase, LostKeys::Refuse) => missing(
            "the keys of models are sealed with an encryption key that was not given: set SANDBRIDGE_ENCRYPTION_KEY or pass \
             --encryption-key-file",
        ),
        (Some(key), ..) => Ok(key),
        (None, SealedWith::File, LostKeys::Refuse) => {
            missing("the keys of models are sealed with it, and it is missing: restore it from a backup")
        }
        (None, ..) => make(path).map_err(|source| refused(path, &source)),
    }
}

/// The key in the file; `None` if there is no file.
pub(crate) fn read(path: &Path) -> Result<Option<EncryptionKey>, StartError> {
    // A link is not followed, and opening a pipe does not block.
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let file = match OpenOptions::new().read(true).custom_flags(flags).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) => {
            return Err(refused(path, &"it is a symbolic link; put the file itself there"));
        }
        Err(error) => return Err(refused(path, &format!("{error}; make it readable by the server's user"))),
    };
    check(&file).map_err(|reason| refused(path, &reason))?;
    let mut text = String::new();
    file.take(KEY_FILE_MAX_BYTES)
        .read_to_string(&mut text)
        .map_err(|error| refused(path, &format!("{error}; restore it from a backup")))?;
    let bytes = text.trim().strip_prefix(PREFIX).and_then(|key| STANDARD.decode(key).ok());
    match bytes.map(<[u8; ENCRYPTION_KEY_BYTES]>::try_from) {
        Some(Ok(bytes)) => Ok(Some(EncryptionKey::File(bytes))),
        Some(Err(_)) | None => {
            Err(refused(path, &"it does not contain a complete Sandbridge key; restore it from a backup"))
        }
    }
}

/// Returns an error unless the file is a regular one that belongs to the server's user and that only its owner can access.
fn check(file: &File) -> Result<(), String> {
    let metadata = file.metadata().map_err(|error| error.to_string())?;
    if !metadata.is_file() {
        return Err("it is not a regular file; put the key itself there".to_owned());
    }
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        return Err("it belongs to a user other than the server's; chown it".to_owned());
    }
    match metadata.mode() & 0o777 {
        mode if mode & 0o077 == 0 => Ok(()),
        mode => Err(format!("it has the mode {mode:03o}, so others can read it; run chmod 600 on it")),
    }
}

/// Creates a key and its file, which is completely on the disk before any key is sealed with it.
fn make(path: &Path) -> io::Result<EncryptionKey> {
    let bytes: [u8; ENCRYPTION_KEY_BYTES] = rand::random();
    atomic_file::write(path, format!("{PREFIX}{}\n", STANDARD.encode(bytes)).as_bytes())?;
    Ok(EncryptionKey::File(bytes))
}

fn refused(path: &Path, reason: &dyn std::fmt::Display) -> StartError {
    StartError::KeyFile { path: PathBuf::from(path), reason: reason.to_string() }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn mode(path: &Path, mode: u32) {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }

    fn nothing_sealed(path: &Path) -> Result<EncryptionKey, StartError> {
        own(path, SealedWith::Nothing, LostKeys::Refuse)
    }

    #[test]
    fn the_first_start_makes_a_key_for_its_owner_alone_and_the_next_one_finds_it() {
        let home = tempfile::tempdir().unwrap();
        let path = home::key_file(home.path());
        let key = nothing_sealed(&path).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        assert!(own(&path, SealedWith::File, LostKeys::Refuse).unwrap() == key);
        assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 1, "nothing is left next to it");
        std::fs::remove_file(&path).unwrap();
        assert!(nothing_sealed(&path).unwrap() != key, "each home has its own");
    }

    #[test]
    fn a_key_file_that_others_can_read_or_replace_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let path = home::key_file(home.path());
        nothing_sealed(&path).unwrap();
        let refusal = || read(&path).unwrap_err().to_string();
        for wide in [0o640, 0o604, 0o660, 0o777] {
            mode(&path, wide);
            assert!(refusal().contains("chmod 600"), "{}", refusal());
        }
        mode(&path, 0o600);
        assert!(read(&path).unwrap().is_some());
        let elsewhere = home.path().join("elsewhere");
        std::fs::rename(&path, &elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &path).unwrap();
        assert!(refusal().contains("symbolic link"), "{}", refusal());
        std::fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink("/nowhere", &path).unwrap();
        assert!(refusal().contains("symbolic link"), "{}", refusal());
        std::fs::remove_file(&path).unwrap();
        std::fs::create_dir(&path).unwrap();
        assert!(refusal().contains("not a regular file"), "{}", refusal());
        std::fs::remove_dir(&path).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::from_raw_mode(0o600)).unwrap();
        assert!(refusal().contains("not a regular file"), "{}", refusal());
    }

    #[test]
    fn a_key_file_without_a_whole_key_is_refused_and_left_as_it_is() {
        let home = tempfile::tempdir().unwrap();
        let path = home::key_file(home.path());
        nothing_sealed(&path).unwrap();
        let whole = std::fs::read_to_string(&path).unwrap();
        let binary = b"\xff\xfe".to_vec();
        let huge = format!("{whole}{}", "x".repeat(1 << 16));
        for broken in [&b""[..], b"sandbridge-key-1:", &whole.as_bytes()[..40], &binary, huge.as_bytes()] {
            std::fs::write(&path, broken).unwrap();
            let refusal = nothing_sealed(&path).unwrap_err().to_string();
            assert!(refusal.contains("backup"), "{refusal}");
            assert_eq!(std::fs::read(&path).unwrap(), broken);
        }
    }

    #[test]
    fn a_key_file_that_is_gone_is_not_made_again_while_keys_need_it() {
        let home = tempfile::tempdir().unwrap();
        let path = home::key_file(home.path());
        for (sealed_with, words) in [
            (SealedWith::File, "restore it from a backup"),
            (SealedWith::Passphrase, "SANDBRIDGE_ENCRYPTION_KEY"),
        ] {
            let refusal = own(&path, sealed_with, LostKeys::Refuse).unwrap_err().to_string();
            assert!(refusal.contains(words) && refusal.contains("--forget-sealed-keys"), "{refusal}");
            assert!(!path.exists());
        }
        own(&path, SealedWith::File, LostKeys::Forget).unwrap();
        assert!(path.exists());
    }
}
