//! The files of a backup, and their destinations.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use home::atomic_file::{AtomicFile, PRIVATE};

/// An empty file, accessible to its owner only, that can be moved to `target`.
pub(super) fn create(target: &Path) -> anyhow::Result<AtomicFile> {
    AtomicFile::create(target, PRIVATE).with_context(|| {
        format!(
            "cannot create a file next to {}; name a file in a folder that you may write to",
            target.display()
        )
    })
}

/// As [`create`], with the content of another file.
pub(super) fn copy(from: &Path, target: &Path) -> anyhow::Result<AtomicFile> {
    let mut copy = create(target)?;
    let copied = File::open(from).and_then(|mut from| io::copy(&mut from, copy.file()));
    copied.with_context(|| format!("cannot copy {} to {}", from.display(), target.display()))?;
    Ok(copy)
}

/// Puts files in place, in this order, once all of them are on the disk.
pub(super) fn commit(files: impl IntoIterator<Item = AtomicFile>) -> anyhow::Result<()> {
    let files: Vec<AtomicFile> = files.into_iter().collect();
    for file in &files {
        file.sync().with_context(|| format!("cannot write {}", file.target().display()))?;
    }
    for file in files {
        let target = file.target().to_owned();
        file.commit().with_context(|| format!("cannot move {} into place", target.display()))?;
    }
    Ok(())
}

/// Refuses a path that exists, unless it is an earlier file of this kind, which begins with `magic`.
pub(super) fn check_target(path: &Path, magic: &[u8]) -> anyhow::Result<()> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error).with_context(|| format!("cannot access {}", path.display())),
        Ok(metadata) if metadata.is_file() => {}
        Ok(_) => bail!("{} is not a regular file; name another one", path.display()),
    }
    let mut beginning = Vec::new();
    let read = File::open(path).and_then(|file| file.take(magic.len() as u64).read_to_end(&mut beginning));
    read.with_context(|| format!("cannot read {}", path.display()))?;
    if beginning != magic {
        bail!(
            "{} exists and is not an earlier backup, so it is not replaced; name another file",
            path.display()
        );
    }
    Ok(())
}

/// The path with a suffix added to its file name.
pub(super) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}
