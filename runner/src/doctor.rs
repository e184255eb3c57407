//! What confinement holds on this machine, tried for real and told in words.

use crate::confine::{ConfinePolicy, LayerReport, Profile, layer_name};
use crate::spawn::{SpawnError, Spawner};

/// Confines a thread that is thrown away, and reports what held.
///
/// # Errors
/// The workspace cannot be opened, or no thread can be started.
pub fn probe(policy: &ConfinePolicy) -> Result<LayerReport, SpawnError> {
    Ok(Spawner::start(Profile::Workspace, policy)?.report().clone())
}

/// The report as lines for a terminal: what holds, what does not, and what to do about it.
pub fn render(report: &LayerReport) -> String {
    let mut text = String::new();
    for layer in &report.layers {
        let is_missing = report.missing().any(|missing| missing.name == layer.name);
        let sign = if layer.holds {
            "ok     "
        } else if is_missing {
            "MISSING"
        } else {
            "not set"
        };
        text.push_str(&format!("{sign}  {:<16} {}\n", layer.name, layer.detail));
        if let Some(advice) = advice(layer.name).filter(|_| !layer.holds) {
            text.push_str(&format!("         {:<16} {advice}\n", ""));
        }
    }
    text.push_str(if report.confined() {
        "Commands are confined.\n"
    } else {
        "Commands are NOT confined: a server's own sandbox (none) will be refused here.\n"
    });
    text
}

fn advice(name: &str) -> Option<&'static str> {
    match name {
        layer_name::MOUNT_NAMESPACE | layer_name::PID_NAMESPACE => {
            Some("run the runner as root, or allow unprivileged user namespaces on this machine")
        }
        layer_name::LANDLOCK => Some("use Linux 5.13 or newer with \"landlock\" in the kernel's lsm= list"),
        layer_name::LANDLOCK_SCOPE => Some("use Linux 6.12 or newer"),
        layer_name::SECCOMP => Some("the kernel needs CONFIG_SECCOMP_FILTER"),
        layer_name::NON_DUMPABLE => Some("start sandbridge-runner itself, which brings its guardian"),
        _ => None,
    }
}
