//! Landlock: the view's list of paths, enforced by the kernel on every open; ports; the scope for signals and sockets.

use std::io;
use std::path::Path;

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, LandlockStatus, NetPort, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope, path_beneath_rules,
};

use super::bounds::Network;
use super::report::{LayerReport, layer_name};
use super::view::View;

/// The newest version whose rights are asked for; older kernels enforce the part they know.
const NEWEST: ABI = ABI::V9;

/// The first version that can limit signals and abstract sockets.
const FIRST_WITH_SCOPE: u32 = 6;

/// Puts the calling thread under Landlock, and reports it.
///
/// # Errors
/// The kernel has Landlock and did not take the rules.
pub(super) fn restrict(view: &View, network: &Network, report: &mut LayerReport) -> io::Result<()> {
    let (status, abi) = enforce(view, network).map_err(io::Error::other)?;
    if status == RulesetStatus::NotEnforced {
        let detail = "the kernel has no Landlock (5.13 or newer, and enabled at boot)";
        report.add(layer_name::LANDLOCK, false, detail);
    } else {
        report.set_landlock_abi(abi);
        report.add(layer_name::LANDLOCK, true, format!("ABI {abi}"));
    }
    let scoped = report.landlock_abi() >= FIRST_WITH_SCOPE;
    let detail =
        if scoped { "signals and abstract sockets stay inside" } else { "needs Landlock ABI 6 (Linux 6.12)" };
    report.add(layer_name::LANDLOCK_SCOPE, scoped, detail);
    Ok(())
}

fn enforce(view: &View, network: &Network) -> Result<(RulesetStatus, u32), RulesetError> {
    let mut ruleset =
        Ruleset::default().handle_access(AccessFs::from_all(NEWEST))?.scope(Scope::from_all(NEWEST))?;
    if !network.ports.is_empty() {
        ruleset = ruleset.handle_access(AccessNet::ConnectTcp)?;
    }
    let read = AccessFs::ReadFile | AccessFs::ReadDir;
    let run = AccessFs::from_read(NEWEST);
    // Nobody makes device files in a workspace; a root command must not be able to either.
    let write = AccessFs::from_all(NEWEST) & !(AccessFs::MakeChar | AccessFs::MakeBlock);
    let device = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::Truncate | AccessFs::IoctlDev;
    let ports = network.ports.iter().map(|port| NetPort::new(*port, AccessNet::ConnectTcp));
    let mut ruleset = ruleset.create()?.add_rules(ports.map(Ok::<_, RulesetError>))?;
    ruleset = allow(ruleset, &view.list, AccessFs::ReadDir.into())?;
    ruleset = allow(ruleset, &view.read, read)?;
    ruleset = allow(ruleset, &view.run, run)?;
    ruleset = allow(ruleset, &view.write, write)?;
    ruleset = allow(ruleset, &view.devices, device)?;
    let status = ruleset.restrict_self()?;
    let abi = match status.landlock {
        LandlockStatus::Available { effective_abi, .. } => effective_abi as u32,
        LandlockStatus::NotEnabled | LandlockStatus::NotImplemented => 0,
    };
    Ok((status.ruleset, abi))
}

/// Allows `access` beneath each path that exists.
fn allow<P: AsRef<Path>>(
    ruleset: RulesetCreated,
    paths: &[P],
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, RulesetError> {
    ruleset.add_rules(path_beneath_rules(paths, access))
}
