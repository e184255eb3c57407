//! The networks that commands may reach.
//!
//! ```text
//! all        the machine's network; with ports, Landlock lets TCP connect to those, and the filter lets nothing else out
//! loopback   a separate namespace, with nothing but `lo`: one for all commands of the runner, so that they reach each other
//! none       the filter refuses every socket but those of the file system
//! ```
//!
//! A namespace applies to a thread and everything that it starts, so the threads that start commands enter it. A socket
//! stays in the namespace of the thread that made it, so the runner's own sockets are made by threads that have not
//! entered it (`net::dial`). Anything unavailable is an error: a runner that was asked for a namespace does not start
//! without it.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Mutex, PoisonError};

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::bounds::{NAME_SERVER_PORT, Network, Reach};
use crate::layers::{LayerReport, layer_name};
use crate::sys;

/// The first version of Landlock that supports ports.
const FIRST_WITH_PORTS: u32 = 4;

/// The namespace that contains only `lo`: created once per process.
static LOOPBACK: Mutex<Option<OwnedFd>> = Mutex::new(None);

/// Moves the calling thread, which must be unconfined, into the network namespace of its commands.
///
/// # Errors
/// The namespace is not available here.
pub(super) fn enter(network: &Network) -> io::Result<()> {
    if network.reach != Reach::Loopback {
        return Ok(());
    }
    // A panic cannot leave this half-changed: every change is a single assignment.
    let mut shared = LOOPBACK.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(namespace) = &*shared {
        return Ok(move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))?);
    }
    sys::unshare_network().map_err(|error| {
        unavailable(&format!(
            "a separate network namespace is not permitted here ({error}). Run the runner as root, allow unprivileged user \
             namespaces, or choose --network none"
        ))
    })?;
    sys::raise_loopback().map_err(|error| unavailable(&format!("lo cannot be brought up: {error}")))?;
    *shared = Some(File::open("/proc/thread-self/ns/net")?.into());
    Ok(())
}

/// Adds the effective network rules to the report, once all of the thread's layers are set up.
///
/// # Errors
/// A requested rule is not in effect.
pub(super) fn report(network: &Network, report: &mut LayerReport) -> io::Result<()> {
    let Network { reach, ports } = network;
    let by_filter = *reach == Reach::None || !ports.is_empty();
    if by_filter && !report.holds(layer_name::SECCOMP) {
        return Err(unavailable("the kernel filters no system calls; it needs CONFIG_SECCOMP_FILTER"));
    }
    if !ports.is_empty() && report.landlock_abi() < FIRST_WITH_PORTS {
        let text = format!(
            "--allow-net needs Landlock ABI {FIRST_WITH_PORTS} (Linux 6.7), and here it is {}. Leave it out, or choose --network \
             loopback or none",
            report.landlock_abi()
        );
        return Err(unavailable(&text));
    }
    report.add(layer_name::NETWORK, network.restricts(), describe(network));
    Ok(())
}

fn describe(Network { reach, ports }: &Network) -> String {
    let place = match reach {
        Reach::All => "all: what this machine reaches, its own services included",
        Reach::Loopback => "loopback: commands reach each other and nothing else",
        Reach::None => "none: no sockets but those of the file system",
    };
    if ports.is_empty() {
        return place.to_owned();
    }
    let names: Vec<_> = ports.iter().map(u16::to_string).collect();
    let datagrams =
        if ports.contains(&NAME_SERVER_PORT) { "UDP to any port, as 53 is listed" } else { "no UDP" };
    format!(
        "{place}; connections to TCP ports {} only, {datagrams}; listening is not restricted",
        names.join(", ")
    )
}

fn unavailable(text: &str) -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, format!("network: {text}"))
}
