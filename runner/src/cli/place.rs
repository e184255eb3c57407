//! The workspace, and the directory for the runner's own files.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::account::own_home;
use crate::error::Error;
use crate::executor::check_state_dir;
use crate::layers::Profile;

/// The workspace and the directory for the runner's own files.
#[derive(Debug, Clone, Default, Args)]
pub struct WhereOptions {
    /// Directory that commands work in [default: the current one]
    #[arg(long, value_name = "DIR", env = "SANDBRIDGE_WORKSPACE")]
    pub workspace: Option<PathBuf>,
    /// Where the runner keeps its own files, outside the workspace [default: /var/lib/sandbridge for root, else
    /// ~/.local/state/sandbridge]
    #[arg(long, value_name = "DIR", env = "SANDBRIDGE_STATE_DIR")]
    pub state_dir: Option<PathBuf>,
}

impl WhereOptions {
    /// The workspace's canonical path, and the state directory's path as it was given; each has its default if it was not given.
    ///
    /// # Errors
    /// The workspace is missing or holds the state directory, or none was given and it would be `/` or the home directory.
    pub(super) fn directories(&self, profile: Profile) -> Result<(PathBuf, PathBuf), Error> {
        let (workspace, state_dir) = (self.workspace()?, self.state_dir());
        // Checked before anything is created in it. A link on its path is found when the executor starts.
        check_state_dir(&workspace, &canonical(&state_dir)?, profile)?;
        Ok((workspace, state_dir))
    }

    fn workspace(&self) -> Result<PathBuf, Error> {
        let given = self.workspace.clone().unwrap_or_else(|| PathBuf::from("."));
        let workspace = given.canonicalize().map_err(Error::file(&given))?;
        if !workspace.is_dir() {
            return Err(Error::Usage(format!("--workspace {}: it is not a directory", given.display())));
        }
        let home = home().and_then(|home| home.canonicalize().ok());
        if self.workspace.is_none() && (workspace == Path::new("/") || Some(&workspace) == home.as_ref()) {
            return Err(Error::Usage(format!(
                "the workspace would be {}, with everything in it open to commands. Change to a project's directory, or confirm \
                 it with --workspace {}",
                workspace.display(),
                workspace.display()
            )));
        }
        Ok(workspace)
    }

    /// The directory of the runner's own files.
    pub fn state_dir(&self) -> PathBuf {
        let under =
            |variable| std::env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute());
        let root = rustix::process::geteuid().is_root();
        self.state_dir.clone().unwrap_or_else(|| match (root, under("XDG_STATE_HOME"), home()) {
            (true, ..) | (false, None, None) => PathBuf::from("/var/lib/sandbridge"),
            (false, Some(state), _) => state.join("sandbridge"),
            (false, None, Some(home)) => home.join(".local/state/sandbridge"),
        })
    }
}

/// The home directory of the runner's user.
pub(super) fn home() -> Option<PathBuf> {
    own_home().filter(|home| home.is_absolute())
}

/// A path without symbolic links where it exists; absolute in any case.
pub(super) fn canonical(path: &Path) -> Result<PathBuf, Error> {
    let absolute = std::path::absolute(path).map_err(Error::file(path))?;
    Ok(absolute.canonicalize().unwrap_or(absolute))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_directory_is_a_workspace_only_when_asked_for() {
        let place = WhereOptions { workspace: Some(PathBuf::from("/")), state_dir: None };
        assert_eq!(place.workspace().unwrap(), Path::new("/"));
    }

    #[test]
    fn a_state_directory_in_the_workspace_is_refused_before_it_is_made() {
        let workspace = tempfile::tempdir().unwrap();
        let state_dir = workspace.path().canonicalize().unwrap().join("state");
        let place =
            WhereOptions { workspace: Some(workspace.path().to_owned()), state_dir: Some(state_dir.clone()) };
        let text = place.directories(Profile::Workspace).unwrap_err().to_string();
        assert!(text.contains("--state-dir") && !state_dir.exists(), "{text}");
        assert!(place.directories(Profile::FullControl).is_ok());
    }

    #[test]
    fn a_missing_workspace_is_named() {
        let place = WhereOptions { workspace: Some(PathBuf::from("/nonexistent")), state_dir: None };
        assert!(place.workspace().unwrap_err().to_string().contains("/nonexistent"));
    }
}
