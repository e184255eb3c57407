//! Preparations before an executor starts.

use super::ExecutorConfig;
use crate::confine::ConfinePolicy;
use crate::layers::Profile;

/// Gives commands the user's settings; returns notes about them, and about additional allowances.
pub(super) fn notes(config: &ExecutorConfig, policy: &ConfinePolicy) -> Vec<String> {
    if config.profile == Profile::FullControl || config.is_for_others {
        return Vec::new();
    }
    let copied = policy.copy_settings().into_iter().filter(|copied| !copied.is_copied);
    let copied = copied
        .map(|copied| format!("commands do not get the settings of {}: {}", copied.program, copied.detail));
    let withheld = policy.passed_variables().withheld.into_iter();
    let withheld = withheld.map(|what| format!("commands do not get the variable {what}"));
    copied.chain(withheld).chain(policy.allowances.warnings()).collect()
}
