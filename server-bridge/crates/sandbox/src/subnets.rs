//! The range of addresses that users' networks are cut from: each gets 16 of them.
//!
//! The engine's own ranges are used up by about 30 networks, and every user has one.

use std::fmt;
use std::net::Ipv4Addr;
use std::str::FromStr;

use crate::limits::{SUBNET_POOL_PREFIX_MIN, USER_SUBNET_PREFIX};

/// The addresses of one user's network, such as `10.213.0.16/28`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Subnet {
    first: u32,
    prefix: u8,
}

/// A private range, such as `10.213.0.0/16`, and the users' subnets in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SubnetPool(Subnet);

/// The error for a text that is not a range of private addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "use the first address of a private IPv4 network and a prefix from /{SUBNET_POOL_PREFIX_MIN} to /{USER_SUBNET_PREFIX}, \
     such as 10.213.0.0/16"
)]
pub struct SubnetPoolError;

impl Default for SubnetPool {
    fn default() -> Self {
        Self(Subnet { first: Ipv4Addr::new(10, 213, 0, 0).to_bits(), prefix: 16 })
    }
}

impl SubnetPool {
    /// The number of networks that fit in the range.
    pub fn networks(self) -> u32 {
        1 << (USER_SUBNET_PREFIX - self.0.prefix)
    }

    /// The subnets that overlap none of these, in ascending order.
    pub(crate) fn free(self, used: &[Subnet]) -> impl Iterator<Item = Subnet> {
        let size = Subnet { first: 0, prefix: USER_SUBNET_PREFIX }.size();
        let all = (0..self.networks()).map(move |number| Subnet {
            // Saturates, because a range cannot extend beyond the last address.
            first: self.0.first + u32::try_from(u64::from(number) * size).unwrap_or(u32::MAX),
            prefix: USER_SUBNET_PREFIX,
        });
        all.filter(|subnet| !used.iter().any(|other| subnet.overlaps(*other)))
    }
}

impl Subnet {
    fn size(self) -> u64 {
        1 << (32 - self.prefix)
    }

    fn overlaps(self, other: Self) -> bool {
        let end = |subnet: Self| u64::from(subnet.first) + subnet.size();
        u64::from(self.first) < end(other) && u64::from(other.first) < end(self)
    }
}

impl FromStr for Subnet {
    type Err = SubnetPoolError;

    fn from_str(text: &str) -> Result<Self, SubnetPoolError> {
        let (address, prefix) = text.split_once('/').ok_or(SubnetPoolError)?;
        let address: Ipv4Addr = address.parse().map_err(|_| SubnetPoolError)?;
        let prefix = prefix.parse().ok().filter(|prefix| (1..=32).contains(prefix)).ok_or(SubnetPoolError)?;
        let subnet = Self { first: address.to_bits(), prefix };
        if u64::from(subnet.first) % subnet.size() == 0 { Ok(subnet) } else { Err(SubnetPoolError) }
    }
}

impl FromStr for SubnetPool {
    type Err = SubnetPoolError;

    fn from_str(text: &str) -> Result<Self, SubnetPoolError> {
        let subnet: Subnet = text.parse()?;
        let has_room = (SUBNET_POOL_PREFIX_MIN..=USER_SUBNET_PREFIX).contains(&subnet.prefix);
        if has_room && Ipv4Addr::from_bits(subnet.first).is_private() {
            Ok(Self(subnet))
        } else {
            Err(SubnetPoolError)
        }
    }
}

impl fmt::Display for Subnet {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", Ipv4Addr::from_bits(self.first), self.prefix)
    }
}

impl fmt::Display for SubnetPool {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn free(pool: &str, used: &[&str]) -> Vec<String> {
        let used: Vec<Subnet> = used.iter().map(|text| text.parse().unwrap()).collect();
        pool.parse::<SubnetPool>().unwrap().free(&used).map(|subnet| subnet.to_string()).collect()
    }

    #[test]
    fn each_user_has_addresses_that_nobody_else_has() {
        assert_eq!(SubnetPool::default().networks(), 4096);
        assert_eq!(SubnetPool::default().to_string(), "10.213.0.0/16");
        assert_eq!(free("10.213.0.0/28", &[]), ["10.213.0.0/28"]);
        assert_eq!(free("192.168.7.0/27", &[]), ["192.168.7.0/28", "192.168.7.16/28"]);
        assert_eq!(free("10.0.0.0/26", &["10.0.0.16/28", "172.17.0.0/16"]).len(), 3);
        assert_eq!(free("10.0.0.0/26", &["10.0.0.20/30"])[1], "10.0.0.32/28", "a smaller one within");
        assert_eq!(free("10.0.0.0/26", &["10.0.0.0/8"]), [""; 0], "a larger one around");
        assert_eq!(free("10.255.255.0/24", &[]).last().unwrap(), "10.255.255.240/28");
    }

    #[test]
    fn a_range_is_private_and_holds_a_network() {
        for text in [
            "",
            "10.213.0.0",
            "10.213.0.0/",
            "10.213.0.0/29",
            "10.213.0.0/7",
            "10.213.0.1/16",
            "8.8.0.0/16",
            "10.213.0.0/99",
            "::/16",
            "10.213.0/16",
            "10.213.0.0/-1",
            "0.0.0.0/0",
            "10.0.0.0/16,10.1.0.0/16",
            "172.32.0.0/16",
        ] {
            assert_eq!(text.parse::<SubnetPool>(), Err(SubnetPoolError), "{text}");
        }
    }
}
