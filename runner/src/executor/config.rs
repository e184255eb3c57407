//! The configuration of an executor.

use std::path::{Path, PathBuf};

use crate::account::RunAs;
use crate::bounds::Bounds;
use crate::confine::{Allowances, seen_by_commands};
use crate::error::Error;
use crate::layers::{LeftOut, Profile};
use crate::llm::LlmConfig;

/// The configuration of an executor; from the runner's own configuration, never from a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecutorConfig {
    /// The directory of commands and file operations.
    pub workspace: PathBuf,
    /// The directory of the runner's own state, outside the workspace.
    pub state_dir: PathBuf,
    /// The confinement of commands, unless a request asks for a narrower one.
    pub profile: Profile,
    /// Paths that commands may touch beyond the profile.
    pub allowances: Allowances,
    /// The LLM endpoint that servers may ask, if any.
    pub llm: Option<LlmConfig>,
    /// The users that commands run as.
    pub run_as: RunAs,
    /// Layers of confinement not to set up.
    pub left_out: LeftOut,
    /// The networks that commands may reach, and the resources they may take.
    pub bounds: Bounds,
    /// True if the commands belong to people other than the runner's user: they get none of that user's settings.
    pub is_for_others: bool,
}

impl ExecutorConfig {
    /// A configuration for one workspace under this profile, with default settings.
    pub fn new(workspace: PathBuf, state_dir: PathBuf, profile: Profile) -> Self {
        let (allowances, run_as, left_out, bounds, is_for_others) = Default::default();
        Self { workspace, state_dir, profile, allowances, llm: None, run_as, left_out, bounds, is_for_others }
    }

    /// The trees whose files commands may read, by their real names: a secret of the runner has to be elsewhere.
    ///
    /// Empty if commands may touch the whole machine anyway: there is nothing to protect from them.
    pub fn seen_by_commands(&self) -> Vec<PathBuf> {
        if all_is_open(&self.workspace, self.profile) {
            return Vec::new();
        }
        seen_by_commands(&self.workspace, &self.state_dir, &self.allowances)
    }
}

/// True if commands may touch the whole machine, by profile or by workspace.
fn all_is_open(workspace: &Path, profile: Profile) -> bool {
    profile == Profile::FullControl || workspace == Path::new("/")
}

/// Refuses a workspace that holds the runner's own state: file operations reach everything in a workspace.
///
/// If commands may touch the whole machine anyway, by profile or by workspace, there is nothing to protect from them.
pub(crate) fn check_state_dir(workspace: &Path, state_dir: &Path, profile: Profile) -> Result<(), Error> {
    if all_is_open(workspace, profile) || !state_dir.starts_with(workspace) {
        return Ok(());
    }
    Err(Error::Usage(format!(
        "the state directory must lie outside the workspace: {} is in {}. Pass --state-dir with a directory elsewhere, or a \
         narrower --workspace",
        state_dir.display(),
        workspace.display()
    )))
}
