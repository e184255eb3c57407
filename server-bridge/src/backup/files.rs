//! Files that take others' places whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

/// A file beside another one whose place it shall take; gone unless it does.
#[derive(Debug)]
pub(super) struct Beside {
    path: PathBuf,
    target: PathBuf,
    is_placed: bool,
}

impl Beside {
    /// An empty file for its owner alone.
    pub(super) fn make(target: &Path) -> anyhow::Result<Self> {
        let mut name = target.as_os_str().to_owned();
        name.push(format!(".{:016x}.part", rand::random::<u64>()));
        let path = PathBuf::from(name);
        let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
        made.with_context(|| {
            format!("cannot write beside {}; name a file in a folder of yours", target.display())
        })?;
        Ok(Self { path, target: target.to_owned(), is_placed: false })
    }

    /// The same with what another file holds.
    pub(super) fn copy(from: &Path, target: &Path) -> anyhow::Result<Self> {
        let beside = Self::make(target)?;
        let copied = File::open(from).and_then(|mut from| {
            let mut to = OpenOptions::new().write(true).open(&beside.path)?;
            io::copy(&mut from, &mut to)
        });
        copied.with_context(|| format!("cannot copy {} to {}", from.display(), target.display()))?;
        Ok(beside)
    }

    /// Where it is until it is placed.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes it through to the disk.
    pub(super) fn sync(&self) -> anyhow::Result<()> {
        let synced = File::open(&self.path).and_then(|file| file.sync_all());
        synced.with_context(|| format!("cannot write {}", self.target.display()))
    }

    /// Puts it in the other one's place, in one step.
    pub(super) fn place(mut self) -> anyhow::Result<()> {
        let folder = match self.target.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            Some(_) | None => Path::new("."),
        };
        let placed = fs::rename(&self.path, &self.target).and_then(|()| File::open(folder)?.sync_all());
        placed.with_context(|| format!("cannot put {} in its place", self.target.display()))?;
        self.is_placed = true;
        Ok(())
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        if !self.is_placed {
            // It was made here, so nothing of anybody else's is removed.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Refuses a path where something else is than an earlier file of this kind, which begins with `magic`.
pub(super) fn check_target(path: &Path, magic: &[u8]) -> anyhow::Result<()> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error).with_context(|| format!("cannot look at {}", path.display())),
        Ok(metadata) if metadata.is_file() => {}
        Ok(_) => bail!("{} is no regular file; name another one", path.display()),
    }
    let mut beginning = Vec::new();
    let read = File::open(path).and_then(|file| file.take(magic.len() as u64).read_to_end(&mut beginning));
    read.with_context(|| format!("cannot read {}", path.display()))?;
    if beginning != magic {
        bail!(
            "{} is there and is no earlier backup, so it is not replaced; name another file",
            path.display()
        );
    }
    Ok(())
}

/// The path with something at its end.
pub(super) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}
