//! Classifies addresses as public, or as belonging to this machine or its network.
//!
//! Server and runner fetch URLs from untrusted sources. Both only connect to public addresses unless their operator or user
//! allowed more, and both use this crate, so that the rules are the same. An address has to be checked after its name was
//! looked up, and the connection has to use the checked address.
//!
//! - [`is_public`]: the open internet
//! - [`is_metadata`]: addresses at which a cloud hands out its machines' credentials, and others that belong to no service of a network
#![cfg_attr(test, allow(clippy::unwrap_used))]

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};

/// Addresses reserved for documentation: no machine has them.
const NOBODYS_V4: IpAddr = IpAddr::V4(Ipv4Addr::new(198, 51, 100, 1));
const NOBODYS_V6: IpAddr = IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1));

/// True if an address belongs to the open internet: not this machine's, not its network's, and not one that is translated to
/// either. The public addresses of its own interfaces are this machine's; one that a router in front of it translates cannot
/// be known.
///
/// An IPv6 address that contains an IPv4 address (mapped, NAT64, 6to4) is judged by that address.
pub fn is_public(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

/// True if an address never belongs to a service of a network: a link-local one, including those of the metadata services of clouds, which hand out
/// a machine's credentials; an unspecified, multicast, broadcast or reserved one.
///
/// An IPv6 address that contains an IPv4 address (mapped, NAT64, 6to4) is judged by that address.
pub fn is_metadata(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => is_metadata_v4(address),
        IpAddr::V6(address) => {
            let segments = address.segments();
            match segments {
                [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x2002, high, low, ..] => {
                    is_metadata_v4(carried(high, low))
                }
                [first, ..] => {
                    address.is_unspecified()
                        || address.is_multicast()
                        || first & 0xffc0 == 0xfe80
                        || METADATA_V6.contains(&address)
                }
            }
        }
    }
}

/// Metadata services within the unique local addresses: of Amazon's machines (`fd00:ec2::254`) and of Google's (`fd20:ce::254`), as their
/// manuals name them.
const METADATA_V6: [Ipv6Addr; 2] =
    [Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254), Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254)];

fn is_metadata_v4(address: Ipv4Addr) -> bool {
    let [first, second, third, _] = address.octets();
    match first {
        0 | 224.. => true,
        // The block for protocol assignments, which contains Oracle's older metadata service.
        192 => (second, third) == (0, 0),
        // The metadata services of Alibaba (here) and of Azure's platform (below).
        100 => address == Ipv4Addr::new(100, 100, 100, 200),
        168 => address == Ipv4Addr::new(168, 63, 129, 16),
        _ => address.is_link_local(),
    }
}

fn carried(high: u16, low: u16) -> Ipv4Addr {
    let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
    Ipv4Addr::new(a, b, c, d)
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [first, second, third, _] = address.octets();
    let is_special = address.is_loopback()
        || address.is_private()
        || address.is_link_local()
        || address.is_multicast()
        || address.is_broadcast()
        || address.is_documentation();
    let is_reserved = match first {
        0 | 240.. => true,
        // Addresses shared with a provider's other customers.
        100 => second & 0xc0 == 64,
        // The blocks for protocols, and for network benchmarks.
        192 => (second, third) == (0, 0),
        198 => second & 0xfe == 18,
        // Azure's platform, which only answers its own machines.
        168 => address == Ipv4Addr::new(168, 63, 129, 16),
        _ => false,
    };
    !is_special && !is_reserved && !is_own(IpAddr::V4(address))
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    match address.segments() {
        // NAT64, and 6to4.
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x2002, high, low, ..] => is_public_v4(carried(high, low)),
        // Teredo, and addresses for documentation.
        [0x2001, 0, ..] | [0x2001, 0xdb8, ..] => false,
        // Only these are assigned to hosts: no loopback, unique local, link-local, multicast.
        [first, ..] => first & 0xe000 == 0x2000 && !is_own(IpAddr::V6(address)),
    }
}

/// True if an address is this machine's: only those can be bound to. Nothing is sent.
fn is_own(address: IpAddr) -> bool {
    let nobodys = if address.is_ipv4() { NOBODYS_V4 } else { NOBODYS_V6 };
    // If the system allows binding to any address, this test is useless.
    can_bind(address) && !can_bind(nobodys)
}

fn can_bind(address: IpAddr) -> bool {
    UdpSocket::bind((address, 0)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machines_own_addresses_are_known_by_asking_it() {
        // The local address for connections to the internet, and for those to this machine.
        let outward =
            UdpSocket::bind("0.0.0.0:0").and_then(|socket| socket.connect("8.8.8.8:53").map(|()| socket));
        let outward = outward.and_then(|socket| socket.local_addr()).map(|address| address.ip());
        for own in outward.into_iter().chain(["127.0.0.1".parse().unwrap()]) {
            assert!(is_own(own) && !is_public(own), "{own}");
        }
        for other in ["8.8.8.8", "198.51.100.1", "2606:4700::1111", "2001:db8::1"] {
            assert!(!is_own(other.parse().unwrap()), "{other}");
        }
    }

    #[test]
    fn only_addresses_of_the_open_internet_are_public() {
        for public in ["8.8.8.8", "1.1.1.1", "100.128.0.1", "172.32.0.1", "192.0.1.1", "198.20.0.1"]
            .into_iter()
            .chain(["2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808", "2002:808:808::1"])
        {
            assert!(is_public(public.parse().unwrap()), "{public}");
        }
        let v4 = [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "100.64.0.1",
            "127.0.0.1",
            "127.255.255.254",
            "169.254.169.254",
            "172.16.0.1",
            "192.0.0.8",
            "192.168.1.1",
            "198.18.0.1",
            "203.0.113.1",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
        ];
        let v6 = [
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::7f00:1",
            "64:ff9b::7f00:1",
            "64:ff9b:1::1",
            "2001::1",
            "2001:db8::1",
            "2002:a00:1::1",
            "fc00::1",
            "fd12::1",
            "fe80::1",
            "fec0::1",
            "ff02::1",
        ];
        for private in v4.into_iter().chain(v6) {
            assert!(!is_public(private.parse().unwrap()), "{private}");
        }
    }

    #[test]
    fn metadata_services_are_known_in_every_notation() {
        for metadata in [
            "169.254.169.254",
            "169.254.0.1",
            "::ffff:169.254.169.254",
            "64:ff9b::a9fe:a9fe",
            "2002:a9fe:a9fe::1",
            "fd00:ec2::254",
            "fd20:ce::254",
            "fe80::1",
            "100.100.100.200",
            "168.63.129.16",
            "0.0.0.0",
            "::",
            "224.0.0.1",
            "255.255.255.255",
            "ff02::1",
        ] {
            assert!(is_metadata(metadata.parse().unwrap()), "{metadata}");
        }
        for service in ["127.0.0.1", "::1", "10.0.0.1", "192.168.1.1", "100.64.0.1", "fd00::1", "8.8.8.8"] {
            assert!(!is_metadata(service.parse().unwrap()), "{service}");
        }
    }
}
