//! Landlock: the view's list of paths, enforced by the kernel on every open; ports; the scope for signals and sockets.

use std::io;
use std::path::Path;

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, LandlockStatus, NetPort, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope, path_beneath_rules,
};

use super::view::View;
use crate::bounds::Network;
use crate::layers::{LayerReport, LeftOut, layer_name};

/// The newest version whose rights are requested; older kernels enforce the part they support.
const NEWEST: ABI = ABI::V9;

/// The first version that can limit signals and abstract sockets.
const FIRST_WITH_SCOPE: u32 = 6;

/// Puts the calling thread under Landlock, except for the left-out parts, and reports it.
///
/// # Errors
/// The kernel has Landlock and did not accept the rules.
pub(super) fn restrict(
    view: &View,
    network: &Network,
    left_out: LeftOut,
    report: &mut LayerReport,
) -> io::Result<()> {
    let parts = [layer_name::LANDLOCK, layer_name::LANDLOCK_SCOPE].map(|name| !left_out.contains(name));
    let [files, scope] = parts;
    // Ports belong to the network policy, regardless of the left-out layers.
    let (status, abi) = match parts {
        [false, false] if network.ports.is_empty() => (RulesetStatus::NotEnforced, 0),
        _ => enforce(files.then_some(view), scope, network).map_err(io::Error::other)?,
    };
    if status != RulesetStatus::NotEnforced {
        report.set_landlock_abi(abi);
    }
    if status == RulesetStatus::NotEnforced || !files {
        let detail = "the kernel has no Landlock (5.13 or newer, and enabled at boot)";
        report.add(layer_name::LANDLOCK, false, detail);
    } else {
        report.add(layer_name::LANDLOCK, true, format!("ABI {abi}"));
    }
    let scoped = scope && abi >= FIRST_WITH_SCOPE;
    let detail =
        if scoped { "signals and abstract sockets stay inside" } else { "needs Landlock ABI 6 (Linux 6.12)" };
    report.add(layer_name::LANDLOCK_SCOPE, scoped, detail);
    Ok(())
}

fn enforce(
    files: Option<&View>,
    scope: bool,
    network: &Network,
) -> Result<(RulesetStatus, u32), RulesetError> {
    let mut ruleset = Ruleset::default();
    if files.is_some() {
        ruleset = ruleset.handle_access(AccessFs::from_all(NEWEST))?;
    }
    if scope {
        ruleset = ruleset.scope(Scope::from_all(NEWEST))?;
    }
    if !network.ports.is_empty() {
        ruleset = ruleset.handle_access(AccessNet::ConnectTcp)?;
    }
    let ports = network.ports.iter().map(|port| NetPort::new(*port, AccessNet::ConnectTcp));
    let mut ruleset = ruleset.create()?.add_rules(ports.map(Ok::<_, RulesetError>))?;
    if let Some(view) = files {
        ruleset = list(ruleset, view)?;
    }
    let status = ruleset.restrict_self()?;
    let abi = match status.landlock {
        LandlockStatus::Available { effective_abi, .. } => effective_abi as u32,
        LandlockStatus::NotEnabled | LandlockStatus::NotImplemented => 0,
    };
    Ok((status.ruleset, abi))
}

/// Allows the paths of the view.
fn list(ruleset: RulesetCreated, view: &View) -> Result<RulesetCreated, RulesetError> {
    let read = AccessFs::ReadFile | AccessFs::ReadDir;
    let run = AccessFs::from_read(NEWEST);
    // No user creates device files in a workspace; a root command must not be able to either.
    let write = AccessFs::from_all(NEWEST) & !(AccessFs::MakeChar | AccessFs::MakeBlock);
    let device = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::Truncate | AccessFs::IoctlDev;
    let mut ruleset = allow(ruleset, &view.list, AccessFs::ReadDir.into())?;
    ruleset = allow(ruleset, &view.read, read)?;
    ruleset = allow(ruleset, &view.run, run)?;
    ruleset = allow(ruleset, &view.write, write)?;
    allow(ruleset, &view.devices, device)
}

/// Allows `access` below each path that exists.
fn allow<P: AsRef<Path>>(
    ruleset: RulesetCreated,
    paths: &[P],
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, RulesetError> {
    ruleset.add_rules(path_beneath_rules(paths, access))
}
