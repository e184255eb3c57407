//! Capabilities: root commands keep what package managers, `chown` and `su` need, and nothing that reaches the machine.

use std::io;

use rustix::thread::{CapabilitySet, CapabilitySets};

/// The capabilities that commands keep, if the runner has them. FSETID is left out: without it, writing to a file clears its
/// set-user-id bit.
const KEPT: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::SETUID)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::KILL);

/// The capabilities that let commands become another user.
const CHANGES_USER: CapabilitySet = CapabilitySet::SETUID.union(CapabilitySet::SETGID);

/// Drops every other capability from all sets of the calling thread, the bounding set included.
pub(super) fn reduce() -> io::Result<String> {
    let own = rustix::thread::capabilities(None)?;
    for number in 0..u64::BITS {
        let capability = CapabilitySet::from_bits_retain(1 << number);
        if KEPT.contains(capability) {
            continue;
        }
        match rustix::thread::capability_is_in_bounding_set(capability) {
            Ok(true) if own.effective.contains(CapabilitySet::SETPCAP) => {
                rustix::thread::remove_capability_from_bounding_set(capability)?;
            }
            // Without privileges, the bounding set cannot be reduced and, under no_new_privs, does not matter.
            Ok(_) => {}
            // The kernel has no capability with this or a higher number.
            Err(_) => break,
        }
    }
    let mut kept = own.permitted & KEPT;
    if !own.effective.contains(CapabilitySet::KILL) {
        // Otherwise a command that became another user could not be killed.
        kept.remove(CHANGES_USER);
    }
    let sets = CapabilitySets { effective: kept, permitted: kept, inheritable: CapabilitySet::empty() };
    rustix::thread::set_capabilities(None, sets)?;
    let names: Vec<String> = kept.iter_names().map(|(name, _)| name.to_lowercase()).collect();
    Ok(if names.is_empty() { "none left".to_owned() } else { format!("only {}", names.join(", ")) })
}
