//! Paths that the runner's user opens to commands beyond the profile.

use std::path::{Path, PathBuf};

use crate::error::Error;

/// Trees that are created for commands, or hold files that must never be open to them: parts of them may be allowed, but not
/// the whole.
const NEVER_WHOLE: &[&str] = &["/", "/dev", "/etc", "/proc", "/run", "/sys"];

/// Paths that the runner's user opens to commands beyond the profile; from the configuration, never from a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Allowances {
    /// Files and trees that may be read and run; canonical.
    pub read: Vec<PathBuf>,
    /// Files and trees that may be changed; canonical.
    pub write: Vec<PathBuf>,
    /// True if commands may change the hooks and the configuration of git repositories.
    pub git_config: bool,
}

impl Allowances {
    /// Resolves the paths. A path in both lists may be changed.
    ///
    /// # Errors
    /// A path does not exist.
    pub fn new(read: &[PathBuf], write: &[PathBuf], git_config: bool) -> Result<Self, Error> {
        let canonical = |paths: &[PathBuf]| {
            let mut paths = paths
                .iter()
                .map(|path| path.canonicalize().map_err(Error::file(path)))
                .collect::<Result<Vec<_>, _>>()?;
            paths.sort();
            paths.dedup();
            Ok::<_, Error>(paths)
        };
        let (mut read, write) = (canonical(read)?, canonical(write)?);
        read.retain(|path| !write.contains(path));
        Ok(Self { read, write, git_config })
    }

    /// Refuses paths that would open too much: a whole system tree, the whole `home`, or one of the named `secrets`.
    ///
    /// # Errors
    /// [`Error::Usage`] that names the path and what to allow instead.
    pub fn check(&self, home: Option<&Path>, secrets: &[(&str, PathBuf)]) -> Result<(), Error> {
        let home = home.and_then(|home| home.canonicalize().ok());
        let flagged = [("--allow-read", &self.read), ("--allow-write", &self.write)];
        for (flag, path) in
            flagged.iter().flat_map(|(flag, paths)| paths.iter().map(move |path| (flag, path)))
        {
            let refuse = |why: String| Err(Error::Usage(format!("{flag} {}: {why}", path.display())));
            if NEVER_WHOLE.iter().any(|tree| path == Path::new(tree)) {
                let why = "it opens too much of the machine: name only the paths in it that are needed";
                return refuse(why.to_owned());
            }
            if home.as_ref() == Some(path) {
                let why = "your home holds keys and tokens, and commands have one of their own: name only the paths in yours that are needed";
                return refuse(why.to_owned());
            }
            if let Some((name, secret)) = secrets.iter().find(|(_, secret)| secret.starts_with(path)) {
                return refuse(format!(
                    "it holds {name} ({}): name only the paths next to it that are needed",
                    secret.display()
                ));
            }
        }
        Ok(())
    }

    /// Warnings about risky allowances.
    pub fn warnings(&self) -> Vec<String> {
        use std::os::unix::fs::FileTypeExt;
        let is_socket =
            |path: &&PathBuf| path.metadata().is_ok_and(|metadata| metadata.file_type().is_socket());
        let sockets = self.read.iter().chain(&self.write).filter(is_socket);
        let mut warnings: Vec<String> = sockets
            .map(|path| {
                format!("{} is a socket: commands can do whatever the service behind it does", path.display())
            })
            .collect();
        if self.git_config {
            warnings.push(
                "commands may change git's hooks and configuration, which your own git obeys".to_owned(),
            );
        }
        warnings
    }
}
