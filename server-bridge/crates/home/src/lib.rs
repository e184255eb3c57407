//! The home directory of Sandbridge: its path, the settings in it, and files that are replaced atomically.
//!
//! Server and client share one directory, `~/.sandbridge` by default, and read the same two files in it. The crate contains
//! no option of either: the code that reads a setting names it.
//!
//! - [`find`], [`ensure`], [`key_file`]: the directory, and the server's key in it
//! - [`Settings`]: `.env`, `config.json` and the environment, as one (`settings`)
//! - [`atomic_file`]: files that are replaced atomically
//! - [`Error`]: each text names what to change
#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod atomic_file;
mod settings;

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

pub use settings::Settings;

/// The reason why the home directory, or a file in it, cannot be used. Each text names what to change.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Neither a flag nor the environment names the home directory.
    #[error("there is no home directory: set HOME or SANDBRIDGE_HOME, or pass --home DIR")]
    NoHome,
    /// The home directory cannot be created because its parent is missing.
    #[error(
        "cannot make the home directory {}: {} does not exist; make it, or pass --home DIR",
        home.display(), parent.display()
    )]
    NoParent {
        /// The home directory.
        home: PathBuf,
        /// The missing parent.
        parent: PathBuf,
    },
    /// The home directory cannot be created or used.
    #[error("cannot use the home directory {}: {source}; check its owner and mode, or pass --home DIR", home.display())]
    Home {
        /// The home directory that was tried.
        home: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A configuration file cannot be read or understood.
    #[error("cannot read {}: {reason}", path.display())]
    File {
        /// The path of the file.
        path: PathBuf,
        /// The problem, in words.
        reason: String,
    },
}

/// The server's own encryption key, next to the database.
pub fn key_file(home: &Path) -> PathBuf {
    home.join("sandbridge.key")
}

/// The path of the home directory: the flag, else `SANDBRIDGE_HOME`, else `~/.sandbridge`. Creates nothing.
///
/// # Errors
/// [`Error::NoHome`].
pub fn find(flag: Option<&Path>) -> Result<PathBuf, Error> {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    flag.map(Path::to_owned)
        .or_else(|| variable("SANDBRIDGE_HOME"))
        .or_else(|| variable("HOME").map(|home| home.join(".sandbridge")))
        .ok_or(Error::NoHome)
}

/// Creates the home directory, readable by its owner only, unless it exists; its parent must exist.
///
/// # Errors
/// [`Error::NoParent`], [`Error::Home`].
pub fn ensure(home: &Path) -> Result<(), Error> {
    let unusable = |source| Error::Home { home: home.to_owned(), source };
    match fs::DirBuilder::new().mode(0o700).create(home) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        // Some file systems, like /proc, report "not found" for files that cannot be created.
        Err(error) if error.kind() == io::ErrorKind::NotFound => match parent(home) {
            parent if parent.exists() => {
                return Err(unusable(io::Error::other("nothing can be created there")));
            }
            parent => return Err(Error::NoParent { home: home.to_owned(), parent: parent.to_owned() }),
        },
        Err(error) => return Err(unusable(error)),
    }
    let metadata = fs::metadata(home).map_err(unusable)?;
    if !metadata.is_dir() {
        return Err(unusable(io::Error::new(io::ErrorKind::NotADirectory, "it is not a directory")));
    }
    // Asks the kernel, which also considers read-only mounts and ACLs.
    rustix::fs::access(home, rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK)
        .map_err(|error| unusable(error.into()))?;
    if metadata.mode() & 0o022 != 0 {
        tracing::warn!(home = %home.display(), "others may write to the home directory; run chmod go-w on it");
    }
    Ok(())
}

/// The parent of a path; a lone name is in the current directory.
fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
        Some(parent) => parent,
        None => path,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_home_without_a_parent_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let error = ensure(&folder.path().join("a/b")).unwrap_err().to_string();
        assert!(error.contains("does not exist; make it, or pass --home DIR"), "{error}");
        ensure(&folder.path().join("a")).unwrap();
        assert_eq!(fs::metadata(folder.path().join("a")).unwrap().mode() & 0o777, 0o700);
    }

    #[test]
    fn a_home_where_nothing_can_be_made_does_not_blame_its_parent() {
        let error = ensure(Path::new("/proc/sandbridge-home")).unwrap_err().to_string();
        assert!(error.starts_with("cannot use the home directory /proc/sandbridge-home"), "{error}");
    }

    #[test]
    fn a_home_that_is_a_file_is_refused() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let error = ensure(file.path()).unwrap_err().to_string();
        assert!(error.contains("it is not a directory"), "{error}");
    }
}
