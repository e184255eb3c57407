//! Limits on password attempts: guessing is slow, and one person's guesses do not lock another out.
//!
//! An attempt counts for the pair of its account and its address. If the pair's limit allows it and that address never logged
//! in to the account, the attempt also counts for the account over all addresses and for the address over all accounts. So one
//! address cannot use up an account's attempts from other addresses, and many addresses cannot keep an account's owner from
//! logging in from an address where they did before.

use std::net::IpAddr;
use std::time::Instant;

use crate::limits::{
    LOGINS_PER_ACCOUNT_PER_MINUTE, LOGINS_PER_ADDRESS_PER_MINUTE, LOGINS_PER_NAME_PER_MINUTE, RATE_LIMIT_KEYS,
};
use crate::web::rate::RateLimiter;

/// Failed attempts. An attempt counts before its password is checked, and is given back if that was correct.
#[derive(Debug)]
pub struct LoginLimits {
    by_pair: RateLimiter<(IpAddr, String)>,
    by_account: RateLimiter<String>,
    by_address: RateLimiter<IpAddr>,
}

/// An attempt that is allowed.
#[derive(Debug)]
pub struct Attempt<'a> {
    limits: &'a LoginLimits,
    pair: (IpAddr, String),
    is_known: bool,
}

impl Default for LoginLimits {
    fn default() -> Self {
        Self {
            by_pair: RateLimiter::new(LOGINS_PER_NAME_PER_MINUTE, RATE_LIMIT_KEYS),
            by_account: RateLimiter::new(LOGINS_PER_ACCOUNT_PER_MINUTE, RATE_LIMIT_KEYS),
            by_address: RateLimiter::new(LOGINS_PER_ADDRESS_PER_MINUTE, RATE_LIMIT_KEYS),
        }
    }
}

impl LoginLimits {
    /// Counts an attempt at an account from an address, as [`crate::web::rate::address_key`] groups them. `is_known` is true
    /// if that address logged in to the account before, or is doing so.
    ///
    /// # Errors
    /// The seconds until another attempt is allowed. A refused attempt does not count.
    pub fn take(
        &self,
        address: IpAddr,
        account: &str,
        is_known: bool,
        now: Instant,
    ) -> Result<Attempt<'_>, u64> {
        let pair = (address, account.to_owned());
        self.by_pair.take(&pair, now)?;
        if !is_known {
            if let Err(seconds) = self.by_account.take(&pair.1, now) {
                self.by_pair.refund(&pair);
                return Err(seconds);
            }
            if let Err(seconds) = self.by_address.take(&address, now) {
                self.by_pair.refund(&pair);
                self.by_account.refund(&pair.1);
                return Err(seconds);
            }
        }
        Ok(Attempt { limits: self, pair, is_known })
    }
}

impl Attempt<'_> {
    /// The password was correct: the attempt does not count.
    pub fn succeeded(self) {
        self.limits.by_pair.refund(&self.pair);
        if !self.is_known {
            self.limits.by_account.refund(&self.pair.1);
            self.limits.by_address.refund(&self.pair.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(number: u32) -> IpAddr {
        IpAddr::from([198, 51, (number >> 8) as u8, number as u8])
    }

    /// How many of `attempts` wrong passwords are checked, from as many addresses in turn.
    fn guess(limits: &LoginLimits, account: &str, addresses: u32, attempts: u32, now: Instant) -> u32 {
        let guess = |at| limits.take(address(at % addresses), account, false, now).is_ok();
        (0..attempts).map(guess).filter(|looked_at| *looked_at).count() as u32
    }

    #[test]
    fn guesses_from_one_address_are_few_and_keep_nobody_out_elsewhere() {
        let (limits, now) = (LoginLimits::default(), Instant::now());
        assert_eq!(guess(&limits, "alice", 1, 200, now), LOGINS_PER_NAME_PER_MINUTE);
        assert!(limits.take(address(7), "alice", false, now).is_ok());
    }

    #[test]
    fn guesses_from_many_addresses_share_the_accounts_limit() {
        let (limits, now) = (LoginLimits::default(), Instant::now());
        assert_eq!(guess(&limits, "alice", 5_000, 5_000, now), LOGINS_PER_ACCOUNT_PER_MINUTE);
        assert!(limits.take(address(6_000), "alice", false, now).is_err());
        assert!(limits.take(address(6_000), "bob", false, now).is_ok());
    }

    #[test]
    fn where_an_account_is_at_home_others_guesses_do_not_keep_it_out() {
        let (limits, now) = (LoginLimits::default(), Instant::now());
        guess(&limits, "alice", 5_000, 5_000, now);
        assert!(limits.take(address(6_000), "alice", true, now).is_ok());
        for account in 0..500 {
            let _ = limits.take(address(6_000), &format!("guessed-{account}"), false, now);
        }
        assert!(limits.take(address(6_000), "bob", false, now).is_err());
        assert!(limits.take(address(6_000), "alice", true, now).is_ok());
    }

    #[test]
    fn a_known_address_may_guess_no_faster() {
        let (limits, now) = (LoginLimits::default(), Instant::now());
        let looked_at = (0..200).filter(|_| limits.take(address(1), "alice", true, now).is_ok());
        assert_eq!(looked_at.count() as u32, LOGINS_PER_NAME_PER_MINUTE);
    }

    #[test]
    fn names_tried_from_one_address_share_its_limit() {
        let (limits, now) = (LoginLimits::default(), Instant::now());
        let try_name = |name: u32| limits.take(address(1), &name.to_string(), false, now).is_ok();
        assert_eq!((0..500).filter(|name| try_name(*name)).count() as u32, LOGINS_PER_ADDRESS_PER_MINUTE);
    }

    #[test]
    fn right_passwords_and_refused_attempts_count_for_nothing() {
        let (limits, now) = (LoginLimits::default(), Instant::now());
        for _ in 0..1_000 {
            limits.take(address(1), "alice", false, now).unwrap().succeeded();
            limits.take(address(1), "alice", true, now).unwrap().succeeded();
        }
        // Refused attempts of one address do not use up the account's limit.
        guess(&limits, "alice", 1, 1_000, now);
        assert!(limits.take(address(2), "alice", false, now).is_ok());
    }
}
