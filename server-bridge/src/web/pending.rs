//! Room for runners' sockets that have not registered yet: in all, and for each address.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use crate::limits::{PENDING_HANDSHAKES, PENDING_HANDSHAKES_PER_ADDRESS, PENDING_HANDSHAKES_PER_LOOPBACK};

/// The sockets in their handshake, counted by address; at most [`PENDING_HANDSHAKES`] addresses are in it.
#[derive(Debug, Default)]
pub struct PendingHandshakes(Mutex<HashMap<IpAddr, usize>>);

/// A place of one socket, given back when dropped.
#[derive(Debug)]
pub struct PendingHandshake {
    all: Arc<PendingHandshakes>,
    address: IpAddr,
}

impl PendingHandshakes {
    /// A place for a socket from this address, as [`crate::web::rate::address_key`] groups them; `None` while the
    /// address, or everybody together, has all of theirs.
    pub fn enter(self: &Arc<Self>, address: IpAddr) -> Option<PendingHandshake> {
        // Behind a proxy on this machine everybody has its address.
        let limit = match address.is_loopback() {
            true => PENDING_HANDSHAKES_PER_LOOPBACK,
            false => PENDING_HANDSHAKES_PER_ADDRESS,
        };
        // Every change is one step, so a panic elsewhere leaves the map whole.
        let mut pending = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if pending.values().sum::<usize>() >= PENDING_HANDSHAKES {
            return None;
        }
        let count = pending.entry(address).or_default();
        if *count >= limit {
            return None;
        }
        *count += 1;
        Some(PendingHandshake { all: Arc::clone(self), address })
    }
}

impl Drop for PendingHandshake {
    fn drop(&mut self) {
        let mut pending = self.all.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = pending.get_mut(&self.address) {
            *count -= 1;
            if *count == 0 {
                pending.remove(&self.address);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn enter(pending: &Arc<PendingHandshakes>, address: &str) -> Vec<PendingHandshake> {
        let address = address.parse().unwrap();
        std::iter::from_fn(|| pending.enter(address)).collect()
    }

    #[test]
    fn one_address_cannot_take_every_place() {
        let pending = Arc::new(PendingHandshakes::default());
        let taken = enter(&pending, "192.0.2.1");
        assert_eq!(taken.len(), PENDING_HANDSHAKES_PER_ADDRESS);
        assert_eq!(enter(&pending, "127.0.0.1").len(), PENDING_HANDSHAKES_PER_LOOPBACK);
        assert_eq!(enter(&pending, "192.0.2.2").len(), PENDING_HANDSHAKES_PER_ADDRESS);
    }

    #[test]
    fn all_addresses_together_have_a_limit_and_a_place_given_back_is_free() {
        let pending = Arc::new(PendingHandshakes::default());
        let mut taken = Vec::new();
        for last in 0..=255 {
            taken.extend(enter(&pending, &format!("192.0.2.{last}")));
        }
        assert_eq!(taken.len(), PENDING_HANDSHAKES);
        assert!(enter(&pending, "198.51.100.1").is_empty());
        taken.pop();
        assert_eq!(enter(&pending, "198.51.100.1").len(), 1);
        drop(taken);
        assert!(pending.0.lock().unwrap().is_empty(), "an address without sockets is forgotten");
    }
}
