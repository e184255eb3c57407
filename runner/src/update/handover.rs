//! Passes the new program from the runner to its guardian, which tries it when the runner ends for an update.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use rustix::fs::MemfdFlags;

/// A program that is to replace this one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Offer {
    /// The program's file: a download next to the program, or the program's own path if there already is a newer one.
    pub(crate) file: PathBuf,
    /// The path of the running program.
    pub(crate) program: PathBuf,
    /// The version of the new program.
    pub(crate) version: String,
}

impl Offer {
    /// True if the file was made for this update, and is removed if it fails.
    fn is_download(&self) -> bool {
        self.file != self.program
    }

    /// Removes the file if it was made for this update.
    pub(crate) fn discard(&self) {
        if self.is_download() {
            // If it is already gone, that is fine; any other error is the disk's, and a later update tries again.
            let _ = std::fs::remove_file(&self.file);
        }
    }
}

/// A file without a name that the guardian and the runner share. A killed runner has recorded in it the file that it was
/// writing.
#[derive(Debug)]
pub struct Handover(File);

impl Handover {
    /// Makes one; call this before the guardian forks.
    ///
    /// # Errors
    /// The system refuses.
    pub fn new() -> io::Result<Self> {
        Ok(Self(File::from(rustix::fs::memfd_create("update", MemfdFlags::CLOEXEC)?)))
    }

    /// Records the program to try, or being written.
    pub(crate) fn note(&self, offer: &Offer) -> io::Result<()> {
        let parts = [
            offer.version.as_bytes(),
            offer.program.as_os_str().as_bytes(),
            offer.file.as_os_str().as_bytes(),
        ];
        let text = parts.join(&0);
        self.0.set_len(0)?;
        self.0.write_all_at(&text, 0)
    }

    /// The offer that was recorded last and not taken.
    pub(crate) fn take(&self) -> Option<Offer> {
        let mut text = vec![0; usize::try_from(self.0.metadata().ok()?.len()).ok()?];
        self.0.read_exact_at(&mut text, 0).ok()?;
        self.0.set_len(0).ok()?;
        let mut parts = text.split(|byte| *byte == 0).map(<[u8]>::to_vec);
        let version = String::from_utf8(parts.next().filter(|version| !version.is_empty())?).ok()?;
        let mut path = || Some(PathBuf::from(OsString::from_vec(parts.next()?)));
        Some(Offer { version, program: path()?, file: path()? })
    }

    /// Removes a download that is not needed any more.
    pub fn discard(&self) {
        if let Some(offer) = self.take() {
            offer.discard();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_noted_is_taken_once_and_only_a_download_is_removed() {
        let directory = tempfile::tempdir().unwrap();
        let [program, file] = ["program", "new"].map(|name| directory.path().join(name));
        let handover = Handover::new().unwrap();
        assert_eq!(handover.take(), None);
        for file in [&program, &file] {
            std::fs::write(file, "").unwrap();
            let offer = Offer { file: file.clone(), program: program.clone(), version: "1.2.3".to_owned() };
            handover.note(&offer).unwrap();
            assert_eq!(handover.take(), Some(offer.clone()));
            assert_eq!(handover.take(), None);
            handover.note(&offer).unwrap();
            handover.discard();
        }
        assert!(program.exists() && !file.exists());
    }
}
