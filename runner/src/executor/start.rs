//! What is looked at before an executor starts.

use std::path::Path;

use super::ExecutorConfig;
use crate::confine::{ConfinePolicy, Profile};
use crate::error::Error;
use crate::settings;

/// Gives commands the user's settings; says what should be known of them, and of what is allowed besides.
pub(super) fn notes(config: &ExecutorConfig, policy: &ConfinePolicy) -> Vec<String> {
    if config.profile == Profile::FullControl || config.is_for_others {
        return Vec::new();
    }
    let copied = settings::copy(policy).into_iter().filter(|copied| !copied.is_copied);
    let copied =
        copied.map(|copied| format!("commands lack settings of {}: {}", copied.program, copied.detail));
    let withheld = policy.passed_variables().withheld.into_iter();
    let withheld = withheld.map(|what| format!("commands do not get the variable {what}"));
    copied.chain(withheld).chain(policy.allowances.warnings()).collect()
}

/// Refuses a workspace that holds the runner's own state: file operations reach everything in a workspace.
///
/// Where commands may touch the whole machine anyway, by profile or by workspace, there is nothing to keep from them.
pub(crate) fn check_state_dir(workspace: &Path, state_dir: &Path, profile: Profile) -> Result<(), Error> {
    let all_is_open = profile == Profile::FullControl || workspace == Path::new("/");
    if all_is_open || !state_dir.starts_with(workspace) {
        return Ok(());
    }
    Err(Error::Usage(format!(
        "the state directory must lie outside the workspace: {} is in {}. Pass --state-dir with a directory elsewhere, or a \
         narrower --workspace",
        state_dir.display(),
        workspace.display()
    )))
}
