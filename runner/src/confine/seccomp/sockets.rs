//! The sockets that the filter lets commands create.
//!
//! | network | families | restriction |
//! |---|---|---|
//! | any | UNIX, INET, INET6, NETLINK | netlink only for routes, socket lists, devices and audit; pairs only UNIX |
//! | ports | the same | INET and INET6 only TCP, and UDP where 53 is a port; no connection in the first packet |
//! | none | UNIX | |
//!
//! Landlock only covers ports of plain TCP: its other forms (MPTCP, SMC), SCTP, and data sent with the connection request
//! would bypass it.

use seccompiler::{BackendError, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompRule};

use super::{Rules, all, condition, equal, masked, masked_equal};
use crate::bounds::{Network, Reach};

/// Socket families that ordinary programs use.
const FAMILIES: &[i32] = &[libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];

/// Netlink by protocol: `ip` and the C library, `ss`, device lists, and what `useradd` insists on opening.
const NETLINK: &[i32] =
    &[libc::NETLINK_ROUTE, libc::NETLINK_SOCK_DIAG, libc::NETLINK_AUDIT, libc::NETLINK_KOBJECT_UEVENT];

/// The part of a socket's type without its flags.
const TYPE: u64 = 0xf;

/// Types that are neither streams nor datagrams.
const ODD_TYPES: &[i32] = &[libc::SOCK_RAW, libc::SOCK_RDM, libc::SOCK_SEQPACKET, libc::SOCK_DCCP];

/// The type under which the internet family once provided packet sockets, and still does.
const PACKETS: i32 = 10;

/// Calls that can connect and send at once, and the position of their flags.
const SENDS: &[(i64, u8)] = &[(libc::SYS_sendto, 3), (libc::SYS_sendmsg, 2), (libc::SYS_sendmmsg, 3)];

/// Adds the rules for sockets.
pub(super) fn restrict(network: &Network, rules: &mut Rules) -> Result<(), BackendError> {
    let only_unix = none_of(0, &[libc::AF_UNIX])?;
    rules.insert(libc::SYS_socketpair, vec![all(&only_unix)?]);
    if network.reach == Reach::None {
        rules.insert(libc::SYS_socket, vec![all(&only_unix)?]);
        return Ok(());
    }
    let mut sockets =
        vec![all(&none_of(0, FAMILIES)?)?, with(number(0, libc::AF_NETLINK)?, none_of(2, NETLINK)?)?];
    sockets.push(of_type(libc::AF_INET, PACKETS)?);
    if !network.ports.is_empty() {
        for family in [libc::AF_INET, libc::AF_INET6] {
            sockets.extend(only_ports(network, family)?);
        }
        for (call, flags) in SENDS {
            let bit = u64::from(libc::MSG_FASTOPEN.cast_unsigned());
            rules.insert(*call, vec![all(&[masked(*flags, bit)?])?]);
        }
    }
    rules.insert(libc::SYS_socket, sockets);
    Ok(())
}

/// The calls refused for a family when ports are limited.
fn only_ports(network: &Network, family: i32) -> Result<Vec<SeccompRule>, BackendError> {
    let mut protocols = vec![0, libc::IPPROTO_TCP];
    let mut types = ODD_TYPES.to_vec();
    if network.has_datagrams() {
        protocols.push(libc::IPPROTO_UDP);
    } else {
        types.push(libc::SOCK_DGRAM);
    }
    let mut refused = types.into_iter().map(|kind| of_type(family, kind)).collect::<Result<Vec<_>, _>>()?;
    refused.push(with(number(0, family)?, none_of(2, &protocols)?)?);
    Ok(refused)
}

fn of_type(family: i32, kind: i32) -> Result<SeccompRule, BackendError> {
    all(&[number(0, family)?, masked_equal(1, TYPE, u64::from(kind.cast_unsigned()))?])
}

fn number(argument: u8, value: i32) -> Result<SeccompCondition, BackendError> {
    equal(argument, u64::from(value.cast_unsigned()))
}

fn none_of(argument: u8, values: &[i32]) -> Result<Vec<SeccompCondition>, BackendError> {
    let differs = |value: &i32| {
        condition(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, u64::from(value.cast_unsigned()))
    };
    values.iter().map(differs).collect()
}

fn with(first: SeccompCondition, mut rest: Vec<SeccompCondition>) -> Result<SeccompRule, BackendError> {
    rest.insert(0, first);
    all(&rest)
}
